// AnnounceGate: how many announces of unknown destinations one interface may bring. A signature
// costs a tenth of a millisecond, so a flood of them must neither take the time of other interfaces
// nor be lost as a whole: the newest of each destination waits. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/time.h"
#include "postrider/protocols/reticulum/bytes.h"

namespace postrider::reticulum {

class AnnounceGate {
 public:
  static constexpr std::uint32_t kPerSecond = 6;
  static constexpr std::size_t kHeldMax = 256;

  // True: look at it now. Else it is held, or dropped when too many are.
  bool offer(const Address& destination, std::string_view raw, std::uint8_t hops, Timestamp now);

  struct Held {
    std::string raw;
    std::uint8_t hops = 0;
  };
  std::optional<Held> release(Timestamp now);  // nothing: none is held, or none is due
  std::optional<Timestamp> next_deadline() const;

  std::size_t held() const { return held_.size(); }
  std::uint64_t dropped() const { return dropped_; }

 private:
  bool take_turn(Timestamp now);

  std::map<Address, Held> held_;
  std::deque<Address> order_;
  std::deque<Timestamp> turns_;  // of the last second
  std::uint64_t dropped_ = 0;
};

}  // namespace postrider::reticulum
