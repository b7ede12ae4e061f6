// Destination: where messages go, and how the way there is doing. The configuration is what the
// operator said; the route is what we learnt. They are stored apart, because the second changes
// with every outage.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/attributes.h"
#include "postrider/model/ids.h"
#include "postrider/model/policy.h"

namespace postrider {

struct DestinationConfig {
  std::string name;
  std::string profile;
  NamedTexts settings;
  bool removed = false;   // a tombstone keeps the probes behind it findable
  bool draining = false;  // takes no new messages, and is removed when the last has ended
};

// Health of a route. kProbe is half-open: one attempt at a time, until one succeeds. kDeep is a
// wait that became too long to keep a window for; what is owed then is caught up with, by the lanes
// that the policy names, before all is normal. Stored, so only ever appended to.
enum class Health : std::uint8_t { kNormal, kWait, kProbe, kPaused, kDisabled, kDeep, kCatchUp };
inline constexpr std::size_t kHealths = 7;
std::string_view name_of(Health health);

struct Route {
  Health health = Health::kNormal;
  std::uint16_t strikes = 0;  // in a row
  std::uint16_t waits = 0;    // closings in a row: the exponent of the next wait
  Timestamp closed_until;     // unset: open
  Timestamp failing_since;    // first failure after the last success
  Timestamp health_since;
  Timestamp seen_at;     // last sign of life
  Timestamp held_since;  // paused or disabled since; unset: neither
  Duration held{0};      // time held before that
  Timestamp revive_at;   // some are parked for want of reach: one is tried then; unset: none is
  std::string reason;    // the operator's words, or ours
  Duration interval{0};  // the last wait, where the next one follows from it; 0: from `waits`
  // The last delivery, of routes that know a deep wait. A restart may know an older one, but knows
  // that there was one; unset: never.
  Timestamp delivered_at;
  Timestamp sweep_until;       // what was accepted up to then is to be swept; unset: nothing is
  std::uint64_t position = 0;  // the greatest that was delivered; 0: none had one

  friend bool operator==(const Route&, const Route&) = default;
};

// Existence and lower bound of the lanes with messages on disk only. A lane without any has no
// head.
struct Owed {
  std::array<MessageId, kLanes> heads{};  // unset: nothing owed in this lane

  bool any() const {
    for (const MessageId& head : heads) {
      if (head.is_set()) return true;
    }
    return false;
  }
  friend bool operator==(const Owed&, const Owed&) = default;
};

std::string encode_config(const DestinationConfig& config);
Result<DestinationConfig> decode_config(std::string_view record);
std::string encode_route(const Route& route);
Result<Route> decode_route(std::string_view record);
std::string encode_owed(const Owed& owed);
Result<Owed> decode_owed(std::string_view record);

}  // namespace postrider
