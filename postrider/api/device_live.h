// LiveBound: how many messages may be alive, as far as the door needs to know. It is an upper
// bound that is never too low: whoever is refused by it asks the engine for the real number first.
// On the loop's thread.
#pragma once

#include <cstdint>

namespace postrider::api {

class LiveBound {
 public:
  explicit LiveBound(std::uint64_t live_max) : live_max_(live_max) {}

  // For how many more there is room for certain.
  std::uint64_t room() const { return live_ >= live_max_ ? 0 : live_max_ - live_; }
  void posted() {
    ++live_;
    ++open_;
  }
  void answered(bool accepted) {
    --open_;
    if (!accepted) --live_;
  }
  // The engine's number. Those under way may be in it or not, and count as if they were not.
  void heard(std::uint64_t live) { live_ = live + open_; }

 private:
  std::uint64_t live_max_;
  std::uint64_t live_ = UINT64_MAX / 2;  // nobody knows yet
  std::uint64_t open_ = 0;
};

}  // namespace postrider::api
