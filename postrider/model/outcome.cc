#include "postrider/model/outcome.h"

#include <array>

#include "postrider/base/check.h"

namespace postrider {
namespace {

constexpr std::array<std::string_view, 3> kCertaintyNames = {"not-sent", "unknown", "answered"};
constexpr std::array<std::string_view, kFailureClasses> kFailureNames = {
    "none",     "connect", "timeout", "server",  "throttled",
    "rejected", "gone",    "other",   "expired", "held-back"};

}  // namespace

std::string_view name_of(Certainty certainty) {
  const auto index = static_cast<std::size_t>(certainty);
  POSTRIDER_CHECK(index < kCertaintyNames.size());
  return kCertaintyNames[index];
}

std::string_view name_of(FailureClass failure) {
  const auto index = static_cast<std::size_t>(failure);
  POSTRIDER_CHECK(index < kFailureNames.size());
  return kFailureNames[index];
}

}  // namespace postrider
