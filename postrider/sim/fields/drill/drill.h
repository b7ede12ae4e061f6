// Drill: a protocol that exists for practice only. It uses every signal, verb, lane kind, curve,
// jitter, gate and rule that the engine has, so that nothing is tested by one real profile alone.
#pragma once

#include <string_view>

#include "postrider/model/profile.h"

namespace postrider::sim {

const ProfileSpec& drill_profile();

// Methods, in the order of the profile: a relay's next method is the post. A task is given a name
// by the far side, which is asked about it by that name, and tells of it unasked. A patient one is
// never given up.
enum class DrillMethod : std::uint8_t { kRelay, kPost, kOnce, kTask, kPatient };
inline constexpr std::uint8_t kDrillMethods = 5;

// Messages with the attribute "order", 0 to this, are sent one after the other until their ends.
inline constexpr int kDrillOrders = 4;

// Messages of one destination and lane with the same attribute "line" are sent one after the other,
// in the order of acceptance; 0 to this.
inline constexpr int kDrillLines = 3;

// Nobody passes this gate for a while after so many refused connections in a row; then one call
// decides. Messages with durable intent and the attribute "frail" go through it.
inline constexpr std::string_view kDrillFrail = "frail";
inline constexpr std::uint16_t kDrillStrikes = 3;
inline constexpr Duration kDrillClosed{60'000};
inline constexpr Duration kDrillClosedMost{240'000};

// Two pieces of news with one key are one answer when they are less than this apart.
inline constexpr Duration kDrillPairWindow{10'000};

// Gates that messages of several destinations share.
struct DrillGate {
  std::string_view name;
  GateLimits limits;
};
std::span<const DrillGate> drill_gates();
GateName drill_gate_name(std::string_view name);
GateName drill_order_gate(std::string_view order);

// How a request to a sealed destination is marked with its key.
std::uint64_t drill_seal(std::string_view key, std::string_view body);

}  // namespace postrider::sim
