// LaneKeys: which messages in memory are values of which key of their lane. Messages that sleep,
// outside the window or on disk, are known as far as the table has room; what else is on disk is
// not, and a sweep finds it there.
//
// Invariants
//   - An entry of the window whose message has a key is found by it, with its slot.
//   - A message without a slot is asleep, and at most `asleep_max` of them are known.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "postrider/base/hash.h"
#include "postrider/core/rules/slab.h"
#include "postrider/model/ids.h"
#include "postrider/model/message.h"

namespace postrider::core {

class LaneKeys {
 public:
  struct Value {
    MessageId id;
    Slot slot = kNoSlot;  // none: it is asleep, and not in memory
  };
  explicit LaneKeys(const std::uint32_t& asleep_max) : asleep_max_(asleep_max) {}

  void add(const Message& message, Slot slot);
  void leave(const Message& message);  // the window
  // It leaves the window for a while, and nothing else of its lane waits for it.
  void fall_asleep(const Message& message);
  void wake(const Message& message);  // it is in the window for good
  void forget(MessageId id, std::string_view key);
  // Those of this lane whose key has the same hash, the oldest first: their texts must be compared.
  std::vector<Value> of(MessageId any_of_lane, std::string_view key) const;

 private:
  struct Place {
    std::uint64_t lane = 0;
    std::uint64_t hash = 0;
    std::uint64_t sequence = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Held {
    MessageId id;
    Slot slot = kNoSlot;
    bool asleep = false;
  };
  static std::uint64_t lane_of(MessageId id) { return id.high >> 16; }  // without its priority
  static Place place_of(MessageId id, std::string_view key) {
    return {lane_of(id), hash64(key), id.low};
  }
  void set_asleep(Held& held, bool asleep);

  const std::uint32_t& asleep_max_;
  std::map<Place, Held> values_;
  std::uint64_t asleep_ = 0;
};

}  // namespace postrider::core
