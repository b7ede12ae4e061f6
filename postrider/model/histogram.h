// Histogram: how long things took, in powers of two of a millisecond. Cheap enough for every
// message.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "postrider/base/time.h"

namespace postrider {

struct Histogram {
  // Bucket n holds what took less than 2^n ms, and not less than the bucket before; the last one
  // holds everything longer.
  static constexpr std::size_t kBuckets = 32;
  std::array<std::uint64_t, kBuckets> counts{};
  std::uint64_t sum_ms = 0;

  void add(Duration took) {
    const auto ms = took.count() < 0 ? 0U : static_cast<std::uint64_t>(took.count());
    const auto bucket = static_cast<std::size_t>(std::bit_width(ms));
    ++counts[bucket < kBuckets ? bucket : kBuckets - 1];
    sum_ms += ms;
  }
  friend bool operator==(const Histogram&, const Histogram&) = default;
};

}  // namespace postrider
