#include "postrider/core/rules/job_pace.h"

#include <algorithm>

namespace postrider {
namespace {

constexpr std::uint64_t kSecond = 1000;  // ms

}  // namespace

JobPace::JobPace(std::uint32_t rate, Timestamp now)
    : rate_(std::max<std::uint32_t>(1, rate)), base_(now) {}

std::uint64_t JobPace::earned(Timestamp now) const {
  const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(0, (now - base_).count()));
  return ms * rate_ / kSecond;
}

std::uint64_t JobPace::due(Timestamp now) {
  if (earned(now) > taken_ + rate_) {
    base_ = now - Duration(kSecond);
    taken_ = 0;
  }
  return earned(now) - std::min(earned(now), taken_);
}

void JobPace::took(std::uint64_t actions) {
  taken_ += actions;
  const std::uint64_t seconds = taken_ / rate_;
  base_ = base_ + Duration(seconds * kSecond);
  taken_ -= seconds * rate_;
}

Timestamp JobPace::when_due(std::uint64_t wanted) const {
  const std::uint64_t ms = ((taken_ + wanted) * kSecond + rate_ - 1) / rate_;
  return base_ + Duration(ms);
}

}  // namespace postrider
