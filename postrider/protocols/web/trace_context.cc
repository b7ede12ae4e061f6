#include "postrider/protocols/web/trace_context.h"

#include <cstddef>

#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr std::size_t kTraceStateBytesMax = 512;

bool is_trace_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

}  // namespace

bool is_traceparent(std::string_view text) {
  constexpr std::string_view kNoTrace = "00000000000000000000000000000000";
  if (text.size() != 55 || !text.starts_with("00-") || text[35] != '-' || text[52] != '-')
    return false;
  for (std::size_t i = 3; i < text.size(); ++i) {
    if (i != 35 && i != 52 && !is_trace_digit(text[i])) return false;
  }
  return text.substr(3, 32) != kNoTrace && text.substr(36, 16) != kNoTrace.substr(0, 16);
}

bool is_tracestate(std::string_view text) {
  return !text.empty() && text.size() <= kTraceStateBytesMax && is_header_value(text);
}

}  // namespace postrider
