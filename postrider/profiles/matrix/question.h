// The question to the host while a server catches up: is this event still worth sending, or others
// of its room instead? Pure; any thread.
//
// Asked:    POST {"event":{…},"position":17,"room_id":"!r:us","server":"them.example"}
// Answered: {"send":true}, or {"instead":[{…},…]} with 1 to 10 events of the same room. Any other
// answer, and none, means that the event is sent.
#pragma once

#include "postrider/profiles/matrix/types.h"

namespace postrider::matrix {

inline constexpr std::size_t kInsteadMax = kNestedMax;

WireRequest encode_question(const Facts& facts);
Reading classify_question(const Facts& facts, const WireReply& reply);

}  // namespace postrider::matrix
