#include "postrider/sinks/common/sink_http.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace postrider {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kChunkLineBytesMax = 256;

bool same_word(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() &&
         std::equal(a.begin(), a.end(), lower.begin(), [](char x, char y) {
           return (x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x) == y;
         });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct Framing {
  std::optional<std::uint64_t> length;
  bool chunked = false;
};

bool read_length(std::string_view value, Framing& framing) {
  std::uint64_t length = 0;
  const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), length);
  if (value.empty() || error != std::errc() || rest != value.data() + value.size()) return false;
  if (framing.length && *framing.length != length) return false;
  framing.length = length;
  return true;
}

// False: the head makes no sense.
bool read_header(std::string_view line, SinkRequest& request, Framing& framing) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  // Most names are told apart by their length alone.
  switch (name.size()) {
    case 6:
      if (same_word(name, "expect")) request.wants_continue = same_word(value, "100-continue");
      return true;
    case 10:
      if (same_word(name, "webhook-id")) request.id = value;
      if (same_word(name, "connection") && same_word(value, "close")) request.keep = false;
      return true;
    case 13:
      if (same_word(name, "authorization")) request.authorization = value;
      return true;
    case 14: return !same_word(name, "content-length") || read_length(value, framing);
    case 17:
      if (same_word(name, "webhook-timestamp")) request.timestamp = value;
      if (same_word(name, "webhook-signature")) request.signature = value;
      if (!same_word(name, "transfer-encoding")) return true;
      framing.chunked = same_word(value, "chunked");
      return framing.chunked;
    default: return true;
  }
}

bool read_head(std::string_view head, SinkRequest& request, Framing& framing) {
  const std::size_t first = std::min(head.find(kLineEnd), head.size());
  const std::string_view line = head.substr(0, first);
  const std::size_t method = line.find(' ');
  const std::size_t target = method == std::string_view::npos ? method : line.find(' ', method + 1);
  if (target == std::string_view::npos || method == 0 || target == method + 1) return false;
  const std::string_view version = line.substr(target + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return false;
  request.method = line.substr(0, method);
  request.path = line.substr(method + 1, target - method - 1);
  request.keep = version == "HTTP/1.1";
  head.remove_prefix(std::min(first + 2, head.size()));
  while (!head.empty()) {
    const std::size_t end = std::min(head.find(kLineEnd), head.size());
    if (!read_header(head.substr(0, end), request, framing)) return false;
    head.remove_prefix(std::min(end + 2, head.size()));
  }
  return !(framing.chunked && framing.length);
}

SinkParse read_chunks(std::string_view rest, SinkParseLimits limits, SinkRequest& request) {
  request.chunks.clear();
  std::size_t used = 0;
  while (true) {
    const std::string_view left = rest.substr(used);
    const std::size_t end = left.find(kLineEnd);
    if (end == std::string_view::npos)
      return left.size() > kChunkLineBytesMax ? SinkParse::kBad : SinkParse::kMore;
    std::uint64_t size = 0;
    const auto [stop, error] = std::from_chars(left.data(), left.data() + end, size, 16);
    if (error != std::errc() || (stop != left.data() + end && *stop != ';')) return SinkParse::kBad;
    if (size > limits.body_bytes_max - request.chunks.size()) return SinkParse::kTooLarge;
    const std::size_t whole = end + 2 + static_cast<std::size_t>(size) + 2;
    if (left.size() < whole) return SinkParse::kMore;
    if (left.substr(whole - 2, 2) != kLineEnd) return SinkParse::kBad;  // trailers are not for us
    request.chunks.append(left.substr(end + 2, static_cast<std::size_t>(size)));
    used += whole;
    if (size > 0) continue;
    request.body = request.chunks;
    request.size += used;
    return SinkParse::kWhole;
  }
}

}  // namespace

SinkParse parse_sink_request(std::string_view bytes, SinkParseLimits limits, SinkRequest& request) {
  const std::size_t head_size = bytes.substr(0, limits.head_bytes_max + 4).find("\r\n\r\n");
  if (head_size == std::string_view::npos)
    return bytes.size() > limits.head_bytes_max ? SinkParse::kTooLarge : SinkParse::kMore;
  Framing framing;
  request = SinkRequest{};
  if (!read_head(bytes.substr(0, head_size), request, framing)) return SinkParse::kBad;
  request.size = head_size + 4;
  const std::string_view rest = bytes.substr(request.size);
  SinkParse parsed = SinkParse::kWhole;
  if (framing.chunked) {
    parsed = read_chunks(rest, limits, request);
  } else if (framing.length.value_or(0) > limits.body_bytes_max) {
    return SinkParse::kTooLarge;
  } else if (rest.size() < framing.length.value_or(0)) {
    parsed = SinkParse::kMore;
  } else {
    request.body = rest.substr(0, static_cast<std::size_t>(framing.length.value_or(0)));
    request.size += request.body.size();
  }
  const bool waits = parsed == SinkParse::kMore && request.wants_continue && rest.empty();
  return waits ? SinkParse::kContinue : parsed;
}

}  // namespace postrider
