#include "postrider/base/crc.h"

#include <array>
#include <bit>
#include <cstring>

#include "postrider/base/running_crc.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace postrider {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}
constexpr auto kTable = make_table();

std::uint32_t by_table(std::uint32_t crc, std::string_view bytes) {
  for (const char byte : bytes)
    crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (crc >> 8);
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::uint32_t crc,
                                                               std::string_view bytes) {
  std::uint64_t wide = crc;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    wide = _mm_crc32_u64(wide, word);
    bytes.remove_prefix(8);
  }
  auto narrow = static_cast<std::uint32_t>(wide);
  for (const char byte : bytes) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(byte));
  return narrow;
}
#endif

std::uint32_t extended(std::uint32_t crc, std::string_view bytes) {
#if defined(__x86_64__)
  static const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
  if (kHasInstruction) return by_instruction(crc, bytes);
#endif
  return by_table(crc, bytes);
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) { return ~extended(~0U, bytes); }

void RunningCrc::add(std::string_view bytes) { state_ = extended(state_, bytes); }

}  // namespace postrider
