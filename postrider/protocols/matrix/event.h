// Events (PDUs) as a sender sees them: who sent what where, and the ids under which a receiver may
// name them. The version of the room is not in the event, and it decides how an id is made: which
// parts of the event are hashed, and in which base64. There are at most four different ids. An
// event is never written anew. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/protocols/matrix/canonical_json.h"

namespace postrider::matrix {

inline constexpr std::size_t kEventBytesMax = 65'536;
inline constexpr std::size_t kEventIdsMax = 4;

struct EventFacts {
  std::string type;
  std::string sender;
  std::string room_id;  // of a create event of version 12: made of its id
  std::optional<std::string> state_key;
  std::string event_id;  // carried by events of versions 1 and 2; else empty
  bool has_previous = false;

  bool operator==(const EventFacts&) const = default;
};

// kInvalid names what is missing, or a depth beyond ±(2^53 − 1); kLimit: it is too large.
Result<EventFacts> read_event(std::string_view event);

// The ids that the event has in the room versions 1 to 12, without doubles, the newest version
// first. Empty when it is no object.
std::vector<std::string> event_ids(std::string_view event);

}  // namespace postrider::matrix
