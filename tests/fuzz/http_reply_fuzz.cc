// Feeds arbitrary bytes to the reader of HTTP answers, once whole and once in pieces. Both must
// come to the same end, within the limits, and must never take more than there is.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/transports/http/reply_reader.h"

namespace postrider {
namespace {

constexpr ReplyLimits kLimits{
    .head_bytes_max = 512, .body_bytes_max = 256, .excerpt_bytes_max = 32, .interim_max = 3};

struct Outcome {
  ReplyProgress progress = ReplyProgress::kMore;
  WireReply reply;
};

// As a connection does it: what was not taken comes again with more behind it.
Outcome read(std::string_view bytes, std::size_t step, bool to_head) {
  ReplyReader reader(kLimits);
  reader.begin(to_head);
  Outcome out;
  std::string held;
  while (!bytes.empty() && out.progress == ReplyProgress::kMore) {
    const std::size_t room = kLimits.head_bytes_max - held.size();
    const std::string_view piece = bytes.substr(0, std::min(step, room));
    held.append(piece);
    bytes.remove_prefix(piece.size());
    std::size_t taken = 0;
    out.progress = reader.feed(held, held.size() >= kLimits.head_bytes_max, taken);
    POSTRIDER_CHECK(taken <= held.size());
    held.erase(0, taken);
    POSTRIDER_CHECK(out.progress != ReplyProgress::kMore || held.size() < kLimits.head_bytes_max);
  }
  if (out.progress == ReplyProgress::kMore) out.progress = reader.finish();
  out.reply = reader.take();
  POSTRIDER_CHECK(out.reply.body.size() <= kLimits.excerpt_bytes_max);
  return out;
}

}  // namespace
}  // namespace postrider

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider;  // NOLINT(google-build-using-namespace): one function, one namespace
  if (size == 0) return 0;
  const std::size_t step = 1 + data[0] % 64;
  const bool to_head = data[0] >= 192;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = read(bytes, bytes.size() + 1, to_head);
  const Outcome pieces = read(bytes, step, to_head);
  // Where a limit of the buffer or of all bytes is met depends on the pieces, and so does what of a
  // broken answer is seen. An answer that is whole is the same for both.
  if (whole.progress == ReplyProgress::kWhole && pieces.progress == ReplyProgress::kWhole) {
    POSTRIDER_CHECK(whole.reply.status == pieces.reply.status);
    POSTRIDER_CHECK(whole.reply.headers == pieces.reply.headers);
    POSTRIDER_CHECK(whole.reply.body == pieces.reply.body);
  }
  const auto counts = [](ReplyProgress progress) {
    return progress == ReplyProgress::kWhole || progress == ReplyProgress::kEnough;
  };
  if (bytes.size() < kLimits.body_bytes_max)
    POSTRIDER_CHECK(counts(whole.progress) == counts(pieces.progress));
  return 0;
}
