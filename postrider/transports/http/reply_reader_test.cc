#include "postrider/transports/http/reply_reader.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace postrider {
namespace {

constexpr ReplyLimits kLimits{
    .head_bytes_max = 200, .body_bytes_max = 64, .excerpt_bytes_max = 16, .interim_max = 2};

struct Reading {
  ReplyProgress progress = ReplyProgress::kMore;
  std::size_t left = 0;  // bytes behind the answer
  bool keeps_alive = false;
  WireReply reply;
};

// Reads as a connection does: what was not taken comes again with more behind it.
Reading read(std::string_view bytes, std::size_t step, bool closed = false, bool to_head = false) {
  ReplyReader reader(kLimits);
  reader.begin(to_head);
  Reading out;
  std::string held;
  std::size_t at = 0;
  while (at < bytes.size() && out.progress == ReplyProgress::kMore) {
    held.append(bytes.substr(at, step));
    at = std::min(at + step, bytes.size());
    std::size_t taken = 0;
    out.progress = reader.feed(held, held.size() >= kLimits.head_bytes_max, taken);
    held.erase(0, taken);
  }
  if (closed && out.progress == ReplyProgress::kMore) out.progress = reader.finish();
  out.left = held.size() + (bytes.size() - at);
  out.keeps_alive = out.progress == ReplyProgress::kWhole && reader.keeps_alive();
  out.reply = reader.take();
  return out;
}

constexpr auto kWhole = ReplyProgress::kWhole;
constexpr auto kMore = ReplyProgress::kMore;
constexpr auto kEnough = ReplyProgress::kEnough;
constexpr auto kBroken = ReplyProgress::kBroken;

struct Case {
  std::string name;
  std::string bytes;
  bool closed = false;
  ReplyProgress progress = kWhole;
  int status = 0;
  std::string body;
  bool keeps_alive = false;
  bool to_head = false;
};

std::vector<Case> cases() {
  const std::string ok = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = ok + "Transfer-Encoding: chunked\r\n\r\n";
  return {
      {"a length", ok + "Content-Length: 2\r\n\r\nhi", false, kWhole, 200, "hi", true},
      {"no body", ok + "Content-Length: 0\r\n\r\n", false, kWhole, 200, "", true},
      {"204", "HTTP/1.1 204 No Content\r\n\r\n", false, kWhole, 204, "", true},
      {"304 with a length", "HTTP/1.1 304 x\r\ncontent-length: 5\r\n\r\n", false, kWhole, 304, "",
       true},
      {"chunks", chunked + "2\r\nhi\r\n3\r\n yo\r\n0\r\n\r\n", false, kWhole, 200, "hi yo", true},
      {"no chunks", chunked + "0\r\n\r\n", false, kWhole, 200, "", true},
      {"chunks and a trailer", chunked + "2;a=b\r\nhi\r\n0\r\nx: y\r\n\r\n", false, kWhole, 200,
       "hi", true},
      {"until the end", ok + "\r\nhello", true, kWhole, 200, "hello", false},
      {"until the end, not there yet", ok + "\r\nhello", false, kMore, 200, "hello", false},
      {"close", ok + "connection: close\r\ncontent-length: 1\r\n\r\nx", false, kWhole, 200, "x"},
      {"old", "HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\nx", false, kWhole, 200, "x"},
      {"old, kept", "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\nx",
       false, kWhole, 200, "x", true},
      {"interim", "HTTP/1.1 100 Continue\r\n\r\n" + ok + "content-length: 1\r\n\r\nx", false,
       kWhole, 200, "x", true},
      {"as many interim as may be",
       "HTTP/1.1 100 a\r\n\r\nHTTP/1.1 103 b\r\nlink: c\r\n\r\n" + ok + "content-length: 0\r\n\r\n",
       false, kWhole, 200, "", true},
      {"one interim more", "HTTP/1.1 100 a\r\n\r\nHTTP/1.1 100 a\r\n\r\nHTTP/1.1 100 a\r\n\r\n",
       false, kBroken, 100, ""},
      {"switching", "HTTP/1.1 101 Switching\r\n\r\n", false, kWhole, 101, "", false},
      {"to a HEAD", ok + "content-length: 500\r\n\r\n", false, kWhole, 200, "", true, true},
      {"cut in the head", ok + "content-le", true, kBroken, 200, ""},
      {"cut in the body", ok + "content-length: 5\r\n\r\nhi", true, kBroken, 200, "hi"},
      {"cut in a chunk", chunked + "5\r\nhi", true, kBroken, 200, "hi"},
      {"cut after interim", "HTTP/1.1 100 Continue\r\n\r\n", true, kBroken, 0, ""},
      {"longer than the excerpt", ok + "content-length: 20\r\n\r\n01234567890123456789", false,
       kWhole, 200, "0123456789012345", true},
      {"as long as the limit", ok + "content-length: 64\r\n\r\n" + std::string(64, 'x'), false,
       kWhole, 200, std::string(16, 'x'), true},
      {"longer than the limit", ok + "content-length: 65\r\n\r\n" + std::string(65, 'x'), false,
       kEnough, 200, std::string(16, 'x')},
      {"chunks beyond the limit",
       chunked + "40\r\n" + std::string(64, 'x') + "\r\n1\r\nx\r\n0\r\n\r\n", false, kEnough, 200,
       std::string(16, 'x')},
      {"endless", ok + "\r\n" + std::string(65, 'x'), false, kEnough, 200, std::string(16, 'x')},
      {"an endless extension", chunked + "1;" + std::string(300, 'x'), false, kEnough, 200, ""},
      {"an endless trailer", chunked + "0\r\nx: " + std::string(300, 'y'), false, kEnough, 200, ""},
      {"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", false, kBroken, 0, ""},
      {"a status of letters", "HTTP/1.1 2xx OK\r\n\r\n", false, kBroken, 0, ""},
      {"both lengths", ok + "content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
       false, kBroken, 200, ""},
      {"two lengths", ok + "content-length: 1\r\ncontent-length: 2\r\n\r\nab", false, kBroken, 200,
       ""},
      {"a length of letters", ok + "content-length: x\r\n\r\n", false, kBroken, 200, ""},
      {"a chunk of letters", chunked + "zz\r\nhi\r\n0\r\n\r\n", false, kBroken, 200, ""},
      {"a chunk without its end", chunked + "2\r\nhixx0\r\n\r\n", false, kBroken, 200, "hi"},
  };
}

TEST(ReplyReader, ReadsEveryKindOfAnswerInPiecesOfEverySize) {
  for (const Case& c : cases()) {
    for (std::size_t step = 1; step <= c.bytes.size(); ++step) {
      const Reading got = read(c.bytes, step, c.closed, c.to_head);
      ASSERT_EQ(got.progress, c.progress) << c.name << " in steps of " << step;
      if (c.progress == kBroken) continue;
      ASSERT_EQ(got.reply.status, c.status) << c.name << " in steps of " << step;
      if (c.progress != kMore) {
        ASSERT_EQ(got.reply.body, c.body) << c.name << " in steps of " << step;
      }
      ASSERT_EQ(got.keeps_alive, c.keeps_alive) << c.name << " in steps of " << step;
    }
  }
}

// req: webhook.wire.8
TEST(ReplyReader, TakesAHeadUpToItsLimitAndNoLonger) {
  const auto head_of = [](std::size_t size) {
    const std::string start = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: ";
    return start + std::string(size - start.size() - 4, 'y') + "\r\n\r\n";
  };
  for (const std::size_t step : {1UL, 7UL, 1000UL}) {
    EXPECT_EQ(read(head_of(199), step).progress, kWhole) << step;
    EXPECT_EQ(read(head_of(200), step).progress, kWhole) << step;
    EXPECT_EQ(read(head_of(201), step).progress, kBroken) << step;
    EXPECT_EQ(read(head_of(5000), step).progress, kBroken) << step;
  }
}

TEST(ReplyReader, LowersTheNamesOfHeadersAndKeepsTheirOrder) {
  const Reading got = read(
      "HTTP/1.1 503 x\r\nRetry-After:  120 \r\nSet-Cookie: a\r\nset-COOKIE: b\r\ncontent-length: "
      "0\r\n\r\n",
      1000);
  const NamedTexts want = {
      {"retry-after", "120"}, {"set-cookie", "a"}, {"set-cookie", "b"}, {"content-length", "0"}};
  EXPECT_EQ(got.reply.headers, want);
}

TEST(ReplyReader, LeavesWhatFollowsTheAnswer) {
  const Reading got = read("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nxHTTP/1.1 500", 1000);
  EXPECT_EQ(got.progress, kWhole);
  EXPECT_EQ(got.left, 12U);
}

TEST(ReplyReader, ForgetsTheFormerAnswer) {
  ReplyReader reader(kLimits);
  for (const int status : {200, 404, 503}) {
    reader.begin(false);
    const std::string bytes =
        "HTTP/1.1 " + std::to_string(status) + " x\r\ncontent-length: 1\r\n\r\nx";
    std::size_t taken = 0;
    ASSERT_EQ(reader.feed(bytes, false, taken), kWhole);
    ASSERT_EQ(taken, bytes.size());
    const WireReply reply = reader.take();
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.headers.size(), 1U);
    EXPECT_EQ(reply.body, "x");
  }
}

// req: engine.limit.large.3
TEST(ReplyReader, ReadsAsMuchAsWasOrdered) {
  const auto got = [](std::size_t size, std::uint32_t wanted) {
    ReplyReader reader(kLimits);
    reader.begin(false, wanted);
    const std::string bytes = "HTTP/1.1 200 OK\r\ncontent-length: " + std::to_string(size) +
                              "\r\n\r\n" + std::string(size, 'x');
    std::size_t taken = 0;
    const ReplyProgress progress = reader.feed(bytes, false, taken);
    return std::pair(progress, reader.take().body.size());
  };
  using Got = std::pair<ReplyProgress, std::size_t>;
  EXPECT_EQ(got(64, 0), Got(kWhole, 16));
  EXPECT_EQ(got(65, 0), Got(kEnough, 16));
  EXPECT_EQ(got(65, 100), Got(kWhole, 65)) << "more than the transport's measure";
  EXPECT_EQ(got(101, 100), Got(kEnough, 100));
  ASSERT_EQ(kReplyBytesOrderMax, 512U * 1024);
  EXPECT_EQ(got(kReplyBytesOrderMax - 1, UINT32_MAX), Got(kWhole, kReplyBytesOrderMax - 1));
  EXPECT_EQ(got(kReplyBytesOrderMax, UINT32_MAX), Got(kWhole, kReplyBytesOrderMax));
  EXPECT_EQ(got(kReplyBytesOrderMax + 1, UINT32_MAX), Got(kEnough, kReplyBytesOrderMax));
}

}  // namespace
}  // namespace postrider
