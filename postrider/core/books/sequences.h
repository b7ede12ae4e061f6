// Sequences: one rising number for everything that needs an order: messages, pages, jobs, names of
// fan-outs. An epoch begins with its own first number.
//
// Invariants
//   - No number is given twice, not even over a restart: the next epoch begins behind all of
//     this one.
#pragma once

#include <cstdint>

#include "postrider/core/step.h"
#include "postrider/model/ids.h"

namespace postrider::core {

class Sequences {
 public:
  explicit Sequences(Epoch epoch) : first_(first_sequence(epoch).value()), last_(first_) {}
  Sequences(const Sequences&) = delete;
  Sequences& operator=(const Sequences&) = delete;

  Sequence next() { return Sequence(++last_); }
  std::uint64_t first() const {
    return first_;
  }  // of this epoch; smaller ones are of former owners
  std::uint64_t last() const { return last_; }

 private:
  std::uint64_t first_;
  std::uint64_t last_;
};

}  // namespace postrider::core
