#include "postrider/profiles/matrix/numbers.h"

#include <algorithm>

#include "postrider/base/check.h"

namespace postrider::matrix {
namespace {

constexpr PolicyNumbers kCompatibleNumbers{.tries_max = 11,
                                           .pauses = {4s, 16s, 60s},
                                           .interval_first = 600s,
                                           .catch_up_at_start = true,
                                           .room_by_room = true,
                                           .open_requests_max = 2'000};

constexpr PolicyNumbers kBetterNumbers{.tries_max = 3,
                                       .pauses = {1s, 4s, 4s},
                                       .interval_first = 5s,
                                       .single_try_after = 1h,
                                       .keep_age = 24h,
                                       .keep_count = 10'000,
                                       .catch_up_units = true,
                                       .splits = true,
                                       .honours_retry_after = true,
                                       .starts_small = true,
                                       .bytes_max = 1U << 20,
                                       .linger = 5ms,
                                       .open_requests_max = 256};

}  // namespace

std::string_view name_of(PolicyChoice choice) {
  switch (choice) {
    case PolicyChoice::kCompatible: return "compatible";
    case PolicyChoice::kBetter: return "better";
  }
  POSTRIDER_CHECK(false);
}

std::optional<PolicyChoice> parse_policy(std::string_view name) {
  for (const PolicyChoice choice : {PolicyChoice::kCompatible, PolicyChoice::kBetter}) {
    if (name_of(choice) == name) return choice;
  }
  return std::nullopt;
}

const PolicyNumbers& numbers_of(PolicyChoice choice) {
  switch (choice) {
    case PolicyChoice::kCompatible: return kCompatibleNumbers;
    case PolicyChoice::kBetter: return kBetterNumbers;
  }
  POSTRIDER_CHECK(false);
}

Duration pause_after(const PolicyNumbers& numbers, std::uint32_t tries) {
  POSTRIDER_CHECK(tries > 0);
  return numbers.pauses[std::min<std::size_t>(tries, numbers.pauses.size()) - 1];
}

}  // namespace postrider::matrix
