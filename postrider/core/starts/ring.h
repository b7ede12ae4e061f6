// Order of starts: deficit round robin over tenants, and over the destinations of each. A tenant
// may spend its weight on starts before the next one's turn comes; what it spends beyond that it
// waits for later, so large messages count for more and none gets more than its share for long.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/core/window/entries.h"

namespace postrider {

class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // At the end of its tenant's line; it must not be in the ring.
  void add(Slot slot, std::uint64_t name, std::uint32_t weight) {
    Tenant& tenant = find(name);
    tenant.weight = std::max<std::uint32_t>(1, weight);
    if (!std::exchange(tenant.has_turns, true)) {
      tenant.left = tenant.weight;
      turns_.push_back(&tenant);
    }
    tenant.slots.push_back(slot);
    ++size_;
  }

  // Takes out whose turn it is. The ring must not be empty.
  Slot next() {
    POSTRIDER_CHECK(size_ > 0);
    for (;;) {
      Tenant& tenant = *turns_.front();
      if (tenant.slots.empty()) {  // it has nothing to do; what it saved is gone
        turns_.pop_front();
        tenant.has_turns = false;
        if (tenants_.size() > kIdleMax) forget(tenant);
      } else if (tenant.left <= 0) {
        tenant.left += tenant.weight;
        turns_.push_back(&tenant);
        turns_.pop_front();
      } else {
        const Slot slot = tenant.slots.front();
        tenant.slots.pop_front();
        --size_;
        return slot;
      }
    }
  }

  // What the start of a message of this tenant cost.
  void charge(std::uint64_t name, std::uint32_t cost) { find(name).left -= cost; }

  void remove(Slot slot, std::uint64_t name) { size_ -= std::erase(find(name).slots, slot); }

 private:
  static constexpr std::size_t kIdleMax = 64;  // tenants that are kept without anything to do

  struct Tenant {
    std::uint64_t name = 0;
    std::deque<Slot> slots = {};
    std::int64_t left = 0;  // that it may spend before the next one's turn
    std::int64_t weight = 1;
    bool has_turns = false;
  };

  Tenant& find(std::uint64_t name) {
    if (last_ == nullptr || last_->name != name)
      last_ = &tenants_.try_emplace(name, Tenant{.name = name}).first->second;
    return *last_;
  }
  void forget(Tenant& tenant) {
    if (last_ == &tenant) last_ = nullptr;
    tenants_.erase(tenant.name);
  }

  std::unordered_map<std::uint64_t, Tenant> tenants_;
  Tenant* last_ = nullptr;     // asked for last: most have one tenant only
  std::deque<Tenant*> turns_;  // each that has something to do once
  std::size_t size_ = 0;
};

}  // namespace postrider
