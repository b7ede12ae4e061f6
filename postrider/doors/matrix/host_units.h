// HostUnits: ephemeral units that a homeserver hands over with the servers that they are for. Each
// value of a unit is a message of its own for each server, kept once. On the loop's thread; owned
// by the door.
//
// A unit has no id, so the same call again adds it again: of what has a key the last value goes
// anyway, and receivers know messages to devices by their message_id.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/api/door.h"
#include "postrider/doors/matrix/host_events.h"

namespace postrider::matrix_door {

inline constexpr std::size_t kHostUnitsMax = 100;  // of one call
inline constexpr Duration kHostUnitLifeMax{7 * 24h};

class HostUnits final : public std::enable_shared_from_this<HostUnits> {
 public:
  HostUnits(HostEventsOptions options, api::Desk& desk);
  void take(api::Call& call);  // {"edus":[…]}

 private:
  struct Unit;
  struct Told {
    std::size_t servers = 0;
    std::size_t values = 0;
    std::string why;
  };
  struct Job;
  static Result<Unit> read(json::JsonValue value);
  Result<void> plan(Job& job, json::JsonValue units) const;
  Result<void> plan_one(Job& job, const Unit& unit) const;
  Result<std::vector<std::string>> servers_of(const Unit& unit) const;
  void finish(const Job& job);

  HostEventsOptions options_;
  api::Desk& desk_;
};

}  // namespace postrider::matrix_door
