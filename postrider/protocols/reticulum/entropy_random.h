// The entropy of a turn, as machines of this folder take their unguessable bytes.
#pragma once

#include "postrider/base/entropy.h"
#include "postrider/protocols/reticulum/bytes.h"

namespace postrider::reticulum {

class EntropyRandom final : public Random {
 public:
  explicit EntropyRandom(Entropy& entropy) : entropy_(entropy) {}  // which outlives it
  void fill(std::span<std::uint8_t> out) override { entropy_.fill(out); }

 private:
  Entropy& entropy_;
};

}  // namespace postrider::reticulum
