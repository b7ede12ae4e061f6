#include "postrider/protocols/grpc/grpc.h"

#include <array>
#include <charconv>

#include "postrider/base/check.h"

namespace postrider::grpc {
namespace {

constexpr std::array<std::string_view, 17> kNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string_view name_of(Status status) { return kNames.at(static_cast<std::size_t>(status)); }

std::optional<Status> parse_status(std::string_view text) {
  unsigned number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) return std::nullopt;
  return number < kNames.size() ? static_cast<Status>(number) : Status::kUnknown;
}

std::string encode_frame(std::string_view message) {
  POSTRIDER_CHECK(message.size() <= kMessageBytesMax);
  std::string frame(1, '\0');
  for (int shift = 24; shift >= 0; shift -= 8)
    frame.push_back(static_cast<char>((message.size() >> shift) & 0xFF));
  return frame.append(message);
}

Result<std::string_view> decode_frame(std::string_view bytes) {
  if (bytes.size() < kFrameHeadBytes) return fail(ErrorCode::kCorrupt, "the gRPC frame is cut off");
  if (bytes[0] != '\0') return fail(ErrorCode::kCorrupt, "the gRPC frame is compressed");
  std::size_t size = 0;
  for (const char c : bytes.substr(1, 4)) size = size << 8 | static_cast<std::uint8_t>(c);
  if (size > kMessageBytesMax) return fail(ErrorCode::kLimit, "the gRPC message is too large");
  bytes.remove_prefix(kFrameHeadBytes);
  if (bytes.size() < size) return fail(ErrorCode::kCorrupt, "the gRPC frame is cut off");
  if (bytes.size() > size) return fail(ErrorCode::kCorrupt, "more than one gRPC frame");
  return bytes;
}

std::string decode_message(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
                        hex_digit(text[i + 2]) >= 0;
    if (!escape) {
      out.push_back(text[i]);
      continue;
    }
    out.push_back(static_cast<char>(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2])));
    i += 2;
  }
  return out;
}

std::string encode_message(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (c >= 0x20 && c <= 0x7E && c != '%') {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(c);
    out.append({'%', kHex[byte >> 4], kHex[byte & 0x0F]});
  }
  return out;
}

}  // namespace postrider::grpc
