// A page as a pager centre takes it: "PAGE NUMBER BYTES\n" and so many bytes of text. Pure.
#pragma once

#include <string>
#include <string_view>

#include "postrider/base/result.h"

namespace postrider::pager {

inline constexpr std::size_t kNumberDigitsMax = 15;
inline constexpr std::size_t kTextBytesMax = 160;

struct Page {
  std::string number;
  std::string text;
  friend bool operator==(const Page&, const Page&) = default;
};

bool is_number(std::string_view text);  // of a pager: 3 to 15 digits

std::string encode_page(const Page& page);
Result<Page> decode_page(std::string_view bytes);

// What the centre says: "TAKEN", "LATER" or "NEVER", and a reason behind it.
enum class Verdict : std::uint8_t { kTaken, kLater, kNever, kOther };
Verdict parse_verdict(std::string_view body);

}  // namespace postrider::pager
