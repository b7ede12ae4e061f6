// CRC-32C (Castagnoli), the checksum at the end of every stored record.
#pragma once

#include <cstdint>
#include <string_view>

namespace postrider {

std::uint32_t crc32c(std::string_view bytes);

}  // namespace postrider
