// RunningCrc: the CRC-32C of content that comes in pieces; equal to crc32c of the whole.
#pragma once

#include <cstdint>
#include <string_view>

namespace postrider {

class RunningCrc {
 public:
  void add(std::string_view bytes);
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = ~std::uint32_t{0};
};

}  // namespace postrider
