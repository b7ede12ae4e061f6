#include "postrider/protocols/device/reply.h"

#include <array>

namespace postrider::device {

Decimal make_decimal(std::int64_t units, std::uint8_t scale) {
  while (scale > 0 && units % 10 == 0) {
    units /= 10;
    --scale;
  }
  return {units, scale};
}

std::string to_text(const Decimal& value) {
  const bool negative = value.units < 0;
  // Negated as unsigned: the smallest number has no positive twin.
  const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(value.units)
                                      : static_cast<std::uint64_t>(value.units);
  std::string text = std::to_string(size);
  if (text.size() <= value.scale) text.insert(0, value.scale + 1 - text.size(), '0');
  if (value.scale > 0) text.insert(text.size() - value.scale, 1, '.');
  if (negative) text.insert(0, 1, '-');
  return text;
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::int64_t units = 0;
  std::size_t digits = 0;
  std::uint8_t scale = 0;
  bool behind_point = false;
  for (const char c : text) {
    if (c == '.' && !behind_point && digits > 0) {
      behind_point = true;
      continue;
    }
    if (c < '0' || c > '9' || ++digits > kDecimalDigitsMax) return std::nullopt;
    units = units * 10 + (c - '0');
    if (behind_point) ++scale;
  }
  if (digits == 0 || text.ends_with('.')) return std::nullopt;
  return make_decimal(negative ? -units : units, scale);
}

Response executed(Command command) {
  Response response;
  response.command = command;
  response.executed = true;
  return response;
}

Response not_executed(Command command, std::string_view reason) {
  Response response;
  response.command = command;
  response.reason = reason;
  return response;
}

std::string_view name_of(SendVerdict verdict) {
  constexpr std::array<std::string_view, 6> kNames = {"accepted",     "rejected",     "failed",
                                                      "failed-alarm", "login-needed", "unknown"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

std::string_view name_of(PollVerdict verdict) {
  constexpr std::array<std::string_view, 6> kNames = {"pending", "answered",   "rejected",
                                                      "error",   "mismatched", "login-needed"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

}  // namespace postrider::device
