#include "postrider/protocols/rpc/frame_reader.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider::rpc {
namespace {

struct Heard {
  std::vector<Frame> frames;
  std::optional<ErrorFrame> error;
};

Heard hear(FrameReader& reader, const std::vector<std::string>& pieces) {
  Heard heard;
  for (const std::string& piece : pieces) {
    auto error = reader.feed(piece, [&](Frame frame) {
      heard.frames.push_back(std::move(frame));
      return true;
    });
    if (error && !heard.error) heard.error = error;
  }
  return heard;
}

const std::vector<Frame> kSaid = {PingFrame{1}, QueryFrame{7, true},
                                  CallFrame{.service = "s", .method = "m", .arguments = "hi"},
                                  ByeFrame{}};

std::string said() {
  std::string out;
  for (const Frame& frame : kSaid) out += encode(frame);
  return out;
}

TEST(RpcFrameReader, CutsMayBeAnywhere) {
  const std::string bytes = said();
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    FrameReader reader;
    const Heard heard = hear(reader, {bytes.substr(0, cut), bytes.substr(cut)});
    EXPECT_EQ(heard.frames, kSaid) << cut;
    EXPECT_FALSE(heard.error);
    EXPECT_FALSE(reader.in_frame());
  }
  FrameReader reader;
  std::vector<std::string> single;
  for (const char byte : bytes) single.emplace_back(1, byte);
  EXPECT_EQ(hear(reader, single).frames, kSaid);
}

TEST(RpcFrameReader, KnowsThatAFrameIsUnderWay) {
  FrameReader reader;
  const std::string ping = encode(PingFrame{1});
  for (std::size_t size = 0; size < ping.size(); ++size) {
    FrameReader part;
    EXPECT_TRUE(hear(part, {ping.substr(0, size)}).frames.empty());
    EXPECT_EQ(part.in_frame(), size > 0) << size;
  }
}

// req: rpc.own.10
TEST(RpcFrameReader, LengthsHaveBounds) {
  struct Case {
    std::uint8_t length[4];
    std::size_t bytes_max;
    std::optional<FaultCode> want;
  };
  const Case cases[] = {
      {{0, 0, 0, 0}, kFrameBytesMax, FaultCode::kMalformed},
      {{0, 0, 0x10, 0}, kGreetingBytesMax, std::nullopt},
      {{0, 0, 0x10, 1}, kGreetingBytesMax, FaultCode::kTooLong},
      {{1, 0, 0, 0}, kFrameBytesMax, std::nullopt},
      {{1, 0, 0, 1}, kFrameBytesMax, FaultCode::kTooLong},
      {{0xff, 0xff, 0xff, 0xff}, kFrameBytesMax, FaultCode::kTooLong},
  };
  for (const Case& one : cases) {
    FrameReader reader(one.bytes_max);
    const Heard heard = hear(reader, {std::string(std::begin(one.length), std::end(one.length))});
    EXPECT_EQ(heard.error ? std::optional(heard.error->code) : std::nullopt, one.want);
    EXPECT_TRUE(heard.frames.empty());
  }
}

TEST(RpcFrameReader, ALimitHoldsFromTheNextLengthOn) {
  FrameReader reader;
  const Frame large = ItemFrame{1, std::string(10'000, 'x')};
  std::vector<Frame> frames;
  const auto error = reader.feed(encode(PingFrame{}) + encode(large), [&](Frame frame) {
    reader.set_bytes_max(kFrameBytesMax);  // welcomed
    frames.push_back(std::move(frame));
    return true;
  });
  EXPECT_FALSE(error);
  EXPECT_EQ(frames, (std::vector<Frame>{PingFrame{}, large}));
}

TEST(RpcFrameReader, ReadsNothingAfterABadFrame) {
  FrameReader reader;
  const Heard heard =
      hear(reader, {encode(PingFrame{1}), std::string("\0\0\0\x01\x0f", 5), encode(PingFrame{2})});
  EXPECT_EQ(heard.frames, std::vector<Frame>{PingFrame{1}});
  ASSERT_TRUE(heard.error);
  EXPECT_EQ(heard.error->code, FaultCode::kUnknownType);
  EXPECT_FALSE(hear(reader, {encode(PingFrame{3})}).error);
}

TEST(RpcFrameReader, StopsWhenNothingMoreIsWanted) {
  FrameReader reader;
  int frames = 0;
  const auto stop = [&](Frame) { return ++frames < 2; };
  EXPECT_FALSE(reader.feed(said(), stop));
  EXPECT_FALSE(reader.feed(said(), stop));
  EXPECT_EQ(frames, 2);
}

RC_GTEST_PROP(RpcFrameReader, PiecesChangeNothing, (std::string bytes)) {
  if (bytes.size() > 4) bytes.replace(0, 4, std::string("\0\0\0\x09", 4));
  FrameReader whole;
  FrameReader pieces;
  std::vector<std::string> single;
  for (const char byte : bytes) single.emplace_back(1, byte);
  const Heard one = hear(whole, {bytes});
  const Heard many = hear(pieces, single);
  RC_ASSERT(one.frames == many.frames);
  RC_ASSERT(one.error == many.error);
}

}  // namespace
}  // namespace postrider::rpc
