// The two policies as numbers: `better`, the default, and `compatible`, which behaves like the
// sender that hosts bring along. docs/spec/matrix.md has the same table; a test compares. Pure; any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "postrider/base/time.h"

namespace postrider::matrix {

enum class PolicyChoice : std::uint8_t { kCompatible, kBetter };
std::string_view name_of(PolicyChoice choice);
std::optional<PolicyChoice> parse_policy(std::string_view name);

struct PolicyNumbers {
  // Tries of one attempt of a transaction; the last pause holds for all behind it.
  std::uint16_t tries_max = 0;
  std::array<Duration, 3> pauses{};
  Duration try_time_out{60'000};  // of the whole exchange
  // Pauses and intervals are multiplied by a number drawn between these, per mille.
  std::uint16_t jitter_low = 800;
  std::uint16_t jitter_high = 1'400;
  // The interval for which a server backs off.
  Duration interval_first{0};
  std::uint16_t interval_percent = 200;  // of the last one
  Duration interval_max{7 * 24h};
  Duration deep_after{1h};       // a longer one is deep
  Duration single_try_after{0};  // from such an interval on there is one try; 0: never
  // What is kept for a server that was away: events of this age and number, and the newest of each
  // room. 0: only that.
  Duration keep_age{0};
  std::uint32_t keep_count = 0;
  bool catch_up_at_start = false;  // not only after a deep wait
  bool catch_up_units = false;     // messages to devices, device lists and signing keys go first
  bool room_by_room = false;       // one room in a transaction while catching up
  bool splits = false;             // a refused batch is halved, and one bad item set aside
  bool honours_retry_after = false;
  bool starts_small = false;  // with one member after a deep wait
  // Of one transaction.
  std::uint32_t bytes_max = 8U << 20;
  std::uint16_t pdus_max = 50;
  std::uint16_t edus_max = 100;
  std::uint16_t members_max = 512;
  Duration linger{0};  // between two starts of a server
  std::uint32_t open_requests_max = 0;
};
const PolicyNumbers& numbers_of(PolicyChoice choice);

// The pause after try n ≥ 1, before chance.
Duration pause_after(const PolicyNumbers& numbers, std::uint32_t tries);

}  // namespace postrider::matrix
