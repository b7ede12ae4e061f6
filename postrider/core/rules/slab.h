// Slab: objects with stable numbers and addresses. A Slot is the number of one; it is good as long
// as the object is there, and is given to another one afterwards.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "postrider/base/check.h"

namespace postrider {

using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = UINT32_MAX;

// Objects with stable numbers and addresses; freed ones are used again.
template <class T>
class Slab {
 public:
  Slot add(T value) {
    const Slot slot = add();
    (*this)[slot] = std::move(value);
    return slot;
  }
  // A default value, to be filled in where it stands.
  Slot add() {
    ++size_;
    if (free_.empty()) {
      if (used_ == chunks_.size() * kChunk)
        chunks_.push_back(std::make_unique<std::array<T, kChunk>>());
      free_.push_back(used_++);
    }
    const Slot slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void remove(Slot slot) {
    (*this)[slot] = T{};
    free_.push_back(slot);
    --size_;
  }
  // Inlined by order: a step does this a hundred times, and g++ 12 would rather call it. One check
  // instead of one for each container on the way.
  [[gnu::always_inline]] T& operator[](Slot slot) {
    POSTRIDER_CHECK(slot < used_);
    return chunks_.data()[slot / kChunk].get()->data()[slot % kChunk];
  }
  [[gnu::always_inline]] const T& operator[](Slot slot) const {
    POSTRIDER_CHECK(slot < used_);
    return chunks_.data()[slot / kChunk].get()->data()[slot % kChunk];
  }
  std::size_t size() const { return size_; }
  Slot capacity() const { return used_; }  // all slots ever used are below it

 private:
  static constexpr std::size_t kChunk = 64;
  std::vector<std::unique_ptr<std::array<T, kChunk>>> chunks_;
  std::vector<Slot> free_;
  Slot used_ = 0;
  std::size_t size_ = 0;
};

}  // namespace postrider
