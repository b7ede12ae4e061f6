// Feeds arbitrary bytes to the readers of rpc sessions: single frames, the stream of a connection,
// and cards. The first byte picks the reader.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/protocols/rpc/frame_reader.h"
#include "postrider/protocols/rpc/frames.h"
#include "postrider/protocols/rpc/session.h"

namespace postrider::rpc {
namespace {

void read_frame(std::string_view bytes) {
  const auto frame = decode(bytes);
  if (!frame) {
    POSTRIDER_CHECK(frame.error().detail.size() <= kDetailBytesMax);
    encode(frame.error());
    return;
  }
  // There is one way to write a frame.
  POSTRIDER_CHECK(encode(*frame).substr(kLengthBytes) == bytes);
}

struct Heard {
  std::vector<Frame> frames;
  std::optional<ErrorFrame> error;
};

void hear(FrameReader& reader, std::string_view bytes, Heard& heard) {
  const auto error = reader.feed(bytes, [&](Frame frame) {
    reader.set_bytes_max(kFrameBytesMax);
    heard.frames.push_back(std::move(frame));
    return heard.frames.size() < 100;
  });
  if (error && !heard.error) heard.error = error;
}

// Pieces of the size that the first byte says hear the same as one piece.
void read_stream(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t size = static_cast<unsigned char>(bytes[0]) % 16 + 1U;
  bytes.remove_prefix(1);
  FrameReader whole;
  FrameReader parts;
  Heard one;
  Heard many;
  hear(whole, bytes, one);
  for (std::size_t at = 0; at < bytes.size(); at += size) hear(parts, bytes.substr(at, size), many);
  POSTRIDER_CHECK(one.frames == many.frames);
  POSTRIDER_CHECK(one.error == many.error);
}

void read_card(std::string_view bytes) {
  const auto card = decode_card(bytes);
  if (!card) return;
  POSTRIDER_CHECK(*decode_card(encode_card(*card)) == *card);
  const ShownKey shown{.generation = card->generation, .hash = card->key};
  if (judge_claim(&*card, card->principal, shown) == ClaimVerdict::kResumed)
    POSTRIDER_CHECK(resume_session(*card, shown, {}).generation == card->generation + 1);
  POSTRIDER_CHECK(confirm_session(*card).former_generation == 0);
}

}  // namespace
}  // namespace postrider::rpc

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider::rpc;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: read_frame(bytes); break;
    case 1: read_stream(bytes); break;
    default: read_card(bytes); break;
  }
  return 0;
}
