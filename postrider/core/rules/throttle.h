// How many attempts of a route may be open at a time, learnt from how they end. Successes let it
// grow, quickly until it is near where it failed last, slowly from there on; a failure halves it,
// once per round of attempts, because those that were open together tell of one trouble only. A
// route that was closed begins with one.
#pragma once

#include <algorithm>
#include <cstdint>

namespace postrider {

class Throttle {
 public:
  void begin(std::uint32_t most) {
    places_ = most * kUnit;
    quick_below_ = places_;
    deaf_ = 0;
  }
  void begin_slowly() {
    quick_below_ = std::max(kUnit, places_ / 2);
    places_ = kUnit;
    deaf_ = 0;
  }

  void succeeded(std::uint32_t most) {
    hear();
    const std::uint32_t step = places_ < quick_below_ ? kUnit : kUnit * kUnit / places_;
    places_ = std::min(places_ + std::max<std::uint32_t>(1, step), most * kUnit);
  }
  void failed() {
    if (!hear()) return;
    deaf_ = static_cast<std::uint16_t>(places() - 1);
    quick_below_ = std::max(kUnit, places_ / 2);
    places_ = quick_below_;
  }

  std::uint32_t places() const { return std::max<std::uint32_t>(1, places_ / kUnit); }

 private:
  static constexpr std::uint32_t kUnit = 256;

  // False: this one was open when an earlier failure was heard.
  bool hear() {
    if (deaf_ == 0) return true;
    --deaf_;
    return false;
  }

  std::uint32_t places_ = kUnit;
  std::uint32_t quick_below_ = kUnit;
  std::uint16_t deaf_ = 0;  // so many outcomes are of attempts that were open at the last failure
};

}  // namespace postrider
