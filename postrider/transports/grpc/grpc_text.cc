#include "postrider/transports/grpc/grpc_text.h"

#include <algorithm>
#include <charconv>

#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr std::size_t kStatusDigitsMax = 3;
constexpr std::int64_t kTimeoutMax = 99'999'999;  // eight digits

int hex_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

GrpcPrefix grpc_prefix(std::uint32_t message_bytes) {
  return {0, static_cast<char>(message_bytes >> 24), static_cast<char>(message_bytes >> 16),
          static_cast<char>(message_bytes >> 8), static_cast<char>(message_bytes)};
}

std::optional<int> parse_grpc_status(std::string_view text) {
  int value = 0;
  const char* end = text.data() + text.size();
  if (text.empty() || text.size() > kStatusDigitsMax || text.front() == '-') return std::nullopt;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string decode_grpc_message(std::string_view text, std::size_t bytes_max) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool code = text[i] == '%' && text.size() - i > 2 && hex_of(text[i + 1]) >= 0 &&
                      hex_of(text[i + 2]) >= 0;
    if (!code) {
      out.push_back(text[i]);
      continue;
    }
    out.push_back(static_cast<char>(hex_of(text[i + 1]) * 16 + hex_of(text[i + 2])));
    i += 2;
  }
  return clean_excerpt(out, bytes_max);
}

std::string grpc_timeout(Duration left) {
  const std::int64_t ms = std::max<std::int64_t>(left.count(), 1);
  if (ms <= kTimeoutMax) return std::to_string(ms) + "m";
  return std::to_string(std::min(ms / 1000, kTimeoutMax)) + "S";
}

int grpc_status_of_http(int status) {
  switch (status) {
    case 400: return 13;  // internal
    case 401: return 16;  // unauthenticated
    case 403: return 7;   // permission denied
    case 404: return 12;  // unimplemented
    case 429:
    case 502:
    case 503:
    case 504: return 14;  // unavailable
    default: return 2;    // unknown
  }
}

}  // namespace postrider
