#include "tests/example_profile/wire_format.h"

#include <algorithm>
#include <charconv>

namespace postrider::pager {
namespace {

constexpr std::string_view kWord = "PAGE ";
constexpr std::size_t kNumberDigitsMin = 3;

}  // namespace

bool is_number(std::string_view text) {
  return text.size() >= kNumberDigitsMin && text.size() <= kNumberDigitsMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string encode_page(const Page& page) {
  std::string out(kWord);
  out.append(page.number).append(" ").append(std::to_string(page.text.size()));
  return out.append("\n").append(page.text);
}

Result<Page> decode_page(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  if (!bytes.starts_with(kWord) || end == std::string_view::npos)
    return fail(ErrorCode::kInvalid, "a page begins with 'PAGE NUMBER BYTES'");
  std::string_view head = bytes.substr(kWord.size(), end - kWord.size());
  const std::size_t blank = std::min(head.find(' '), head.size());
  Page page{.number = std::string(head.substr(0, blank)), .text = {}};
  if (!is_number(page.number))
    return fail(ErrorCode::kInvalid, "the number of a pager has 3 to 15 digits");
  head.remove_prefix(std::min(blank + 1, head.size()));
  std::size_t size = 0;
  const auto [rest, error] = std::from_chars(head.data(), head.data() + head.size(), size);
  const std::string_view text = bytes.substr(end + 1);
  if (error != std::errc() || rest != head.data() + head.size() || size != text.size())
    return fail(ErrorCode::kInvalid, "the text is not as long as its head says");
  if (size > kTextBytesMax) return fail(ErrorCode::kLimit, "a page has at most 160 bytes of text");
  page.text = text;
  return page;
}

Verdict parse_verdict(std::string_view body) {
  if (body.starts_with("TAKEN")) return Verdict::kTaken;
  if (body.starts_with("LATER")) return Verdict::kLater;
  if (body.starts_with("NEVER")) return Verdict::kNever;
  return Verdict::kOther;
}

}  // namespace postrider::pager
