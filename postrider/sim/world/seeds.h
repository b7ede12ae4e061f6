// Seeds: the entropy of a world, one seed for each turn that draws something. A stream of its own:
// what is drawn from it shifts nothing else, so worlds that draw nothing are as they were without.
#pragma once

#include <cstdint>

#include "postrider/base/entropy.h"
#include "postrider/base/rng.h"

namespace postrider::sim {

class Seeds {
 public:
  explicit Seeds(std::uint64_t seed) : rng_(seed * 0xD6E8FEB86659FD93ULL + 0x5EED) {}

  EntropySeed next() {
    EntropySeed out{};
    for (std::size_t at = 0; at < out.size(); at += 8) {
      const std::uint64_t word = rng_.next();
      for (std::size_t i = 0; i < 8; ++i) out[at + i] = static_cast<std::uint8_t>(word >> (8 * i));
    }
    return out;
  }

 private:
  Rng rng_;
};

}  // namespace postrider::sim
