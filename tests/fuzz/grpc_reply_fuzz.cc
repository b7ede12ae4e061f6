// Feeds arbitrary fields and pieces of data to the reader of gRPC answers, once with the data whole
// and once cut into pieces. Both must come to the same end, within the limits.
#include "postrider/transports/grpc/grpc_reply.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/transports/grpc/grpc_text.h"

namespace postrider {
namespace {

constexpr GrpcReplyLimits kLimits{
    .head_bytes_max = 512, .message_bytes_max = 64, .text_bytes_max = 32};
constexpr std::string_view kNames[] = {":status", "grpc-status", "grpc-message",
                                       "grpc-retry-pushback-ms", "x"};

std::string_view take(std::string_view& bytes, std::size_t most) {
  const std::string_view out = bytes.substr(0, most);
  bytes.remove_prefix(out.size());
  return out;
}

// The first byte of each step says what it is, the second how long.
WireReply read(std::string_view bytes, std::size_t step) {
  GrpcReply reply(kLimits);
  bool good = true;
  while (bytes.size() >= 2 && good) {
    const auto kind = static_cast<unsigned char>(bytes[0]);
    const auto size = static_cast<unsigned char>(bytes[1]);
    bytes.remove_prefix(2);
    std::string_view rest = take(bytes, size);
    if (kind < 64) {
      reply.begin_fields();
    } else if (kind < 160) {
      good = reply.field(kNames[kind % std::size(kNames)], rest);
    } else {
      while (good && !rest.empty()) good = reply.data(take(rest, step));
    }
    POSTRIDER_CHECK(good == reply.problem().empty());
  }
  const WireReply out = reply.finish();
  POSTRIDER_CHECK(out.end == WireEnd::kAnswered || out.end == WireEnd::kReset);
  if (out.end == WireEnd::kReset) {
    POSTRIDER_CHECK(!reply.problem().empty() && out.status == 0 && out.headers.empty());
  } else {
    POSTRIDER_CHECK(out.body.size() <= kLimits.message_bytes_max);
    POSTRIDER_CHECK(out.status >= 0 && out.status <= 999);
  }
  return out;
}

void check_text(std::string_view bytes) {
  const std::string text = decode_grpc_message(bytes, kLimits.text_bytes_max);
  POSTRIDER_CHECK(text.size() <= kLimits.text_bytes_max);
  for (const char c : text) POSTRIDER_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  const auto status = parse_grpc_status(bytes);
  POSTRIDER_CHECK(!status || (*status >= 0 && *status <= 999));
}

}  // namespace
}  // namespace postrider

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider;  // NOLINT(google-build-using-namespace): one function, one namespace
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  check_text(bytes);
  const WireReply whole = read(bytes, 256);
  const WireReply pieces = read(bytes, 1 + data[0] % 16);
  POSTRIDER_CHECK(whole.end == pieces.end);
  POSTRIDER_CHECK(whole.status == pieces.status);
  POSTRIDER_CHECK(whole.headers == pieces.headers);
  POSTRIDER_CHECK(whole.body == pieces.body);
  return 0;
}
