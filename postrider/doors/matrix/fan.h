// Which servers an event of the host goes to. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/json/json_reader.h"

namespace postrider::matrix_door {

inline constexpr std::size_t kHostEventsMax = 100;  // of one call

// An event as the host hands it over, with what it knows of its room.
struct HostEvent {
  std::string_view body;  // the event, as it came
  std::string event_id;   // in the newest room version that it may be of
  std::string room_id;
  std::string sender;
  bool has_previous = false;
  std::string on_behalf_of;  // the server in whose name it is sent; empty: our own
  bool out_of_band = false;
  bool proactively_send = true;
  std::vector<std::string> servers;  // in the room before the event
  // Of a room whose state is known in part: the servers that the join told. Nothing: it is whole.
  std::optional<std::vector<std::string>> partial_servers;
  std::string rescinded_invitee;  // a user whose invitation a leave takes back; empty: none
  std::uint64_t position = 0;
};

// One element of "events"; kInvalid says what is wrong with it.
Result<HostEvent> read_host_event(json::JsonValue value);

struct FanRules {
  std::string_view origin;                     // our server
  std::span<const std::string> allow_servers;  // none: all
};
// The servers, each once, in the order of the host's list. None: `why` says so for people.
struct Fan {
  std::vector<std::string> servers;
  std::string why;
};
Result<Fan> fan_of(const HostEvent& event, const FanRules& rules);

}  // namespace postrider::matrix_door
