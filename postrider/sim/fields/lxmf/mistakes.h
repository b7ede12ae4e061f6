// Mistakes of the profile, planted around it, which the world must notice.
#pragma once

#include "postrider/model/profile.h"

namespace postrider::sim {

// The ids of messages that arrived are not kept.
Received forget_seen(const Inbound& inbound);
// The stamp is not put into the notes, so the next look asks for one.
Reading forget_stamp(const Facts& facts, AttemptKind kind, const WireReply& reply);
// After a failure on the way to a node the message is sealed anew.
Reading reseal(const Facts& facts, AttemptKind kind, const WireReply& reply);

}  // namespace postrider::sim
