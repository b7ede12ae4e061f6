#include "postrider/protocols/device/ulid.h"

namespace postrider::device {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

char capital(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::string to_ulid(std::uint64_t high, std::uint64_t low) {
  std::string text(kUlidDigits, '0');
  for (std::size_t i = kUlidDigits; i > 0; --i) {
    text[i - 1] = kDigits[low & 31];
    low = (low >> 5) | (high << 59);
    high >>= 5;
  }
  return text;
}

std::optional<Ulid> parse_ulid(std::string_view text) {
  // 26 digits hold 130 bits, so the first one has two bits too many.
  if (text.size() != kUlidDigits || text[0] < '0' || text[0] > '7') return std::nullopt;
  Ulid ulid;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(capital(c));
    if (digit == std::string_view::npos) return std::nullopt;
    ulid.high = (ulid.high << 5) | (ulid.low >> 59);
    ulid.low = (ulid.low << 5) | digit;
  }
  return ulid;
}

}  // namespace postrider::device
