// Strong identifiers: a MessageId is never an AttemptId.
#pragma once

#include <compare>
#include <cstdint>

namespace postrider {

template <class Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(std::uint64_t value) : value_(value) {}
  constexpr std::uint64_t value() const { return value_; }
  constexpr bool is_set() const { return value_ != 0; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  std::uint64_t value_ = 0;
};

}  // namespace postrider
