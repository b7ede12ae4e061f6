#include "postrider/protocols/device/text.h"

#include <array>
#include <cstdio>

namespace postrider::device {

std::string to_text(const Date& date) {
  std::array<char, 32> text{};
  const int size =
      std::snprintf(text.data(), text.size(), "%04d-%02d-%02d", date.year, date.month, date.day);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string to_text(const TimeOfDay& time) {
  std::array<char, 32> text{};
  const int size = std::snprintf(text.data(), text.size(), "%02d:%02d:%02d", time.hour, time.minute,
                                 time.second);
  return {text.data(), static_cast<std::size_t>(size)};
}

}  // namespace postrider::device
