// Rng: seeded, small, and the same on every machine (the standard distributions differ between
// libraries). For jitter and for the simulator; never for keys, nonces or ids.
#pragma once

#include <cstdint>

namespace postrider {

class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {  // splitmix64
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound); 0 for an empty range. The bias of the multiplication is below 2^-32 for
  // bounds under 2^32.
  constexpr std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next()) * bound) >> 64);
  }
  constexpr std::int64_t between(std::int64_t low, std::int64_t high) {  // inclusive
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  constexpr bool chance(std::uint32_t numerator, std::uint32_t denominator) {
    return below(denominator) < numerator;
  }

  // An independent stream: what one part of a simulation draws must not shift what another draws.
  constexpr Rng fork(std::uint64_t salt) { return Rng(next() ^ (salt * 0xD6E8FEB86659FD93ULL)); }

 private:
  std::uint64_t state_;
};

}  // namespace postrider
