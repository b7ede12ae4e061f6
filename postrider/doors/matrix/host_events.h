// HostEvents: events that a homeserver hands over with the servers that they are for, one fan-out
// each, in their order. On the loop's thread; owned by the door.
//
// The key of an event is its id, so that the same call again adds nothing and completes what a
// crash interrupted. A list of more servers than the engine takes in one step goes in parts, each
// with a key of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/api/door.h"
#include "postrider/doors/matrix/fan.h"

namespace postrider::matrix_door {

struct HostEventsOptions {
  std::string server_name;
  std::vector<std::string> allow_servers;
  std::size_t part_max = 1'000;
};

// Under which a part of an event's servers is remembered.
OperationKey host_event_key(std::string_view event_id, std::size_t part);

class HostEvents final : public std::enable_shared_from_this<HostEvents> {
 public:
  HostEvents(HostEventsOptions options, api::Desk& desk);
  void take(api::Call& call);  // {"events":[…]}

 private:
  struct Part {
    std::size_t event = 0;
    FanOut order;
  };
  struct Told {
    std::string event_id;
    std::size_t servers = 0;
    std::string why;
  };
  struct Job;
  Result<void> plan(Job& job, json::JsonValue events) const;
  void send(const std::shared_ptr<Job>& job);
  void finish(const std::shared_ptr<Job>& job);

  HostEventsOptions options_;
  api::Desk& desk_;
};

}  // namespace postrider::matrix_door
