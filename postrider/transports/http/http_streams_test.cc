// Streamed exchanges over real sockets: bodies that come and go in pieces, and what holds them up.
#include "postrider/transports/http/http_streams.h"

#include <ostream>
#include <string>
#include <vector>

#include <boost/asio/ssl/context.hpp>
#include <gtest/gtest.h>

#include "postrider/transports/http/peers_testing.h"

namespace postrider {
namespace {

class StreamsRig final : public WireRig {
 public:
  explicit StreamsRig(HttpStreamLimits limits = {},
                      std::vector<std::string> allow = {"127.0.0.0/8"}) {
    HttpTransportOptions options;
    options.allow = std::move(allow);
    options.now = [this] { return now; };
    options.name_servers = {names.address()};
    streams = std::move(
        *HttpStreams::make(loop, options, limits, [this](AttemptId attempt, WireReply reply) {
          ended[attempt.value()].push_back(std::move(reply));
          order.push_back(attempt.value());
          if (on_end) on_end(attempt);
        }));
  }
  ~StreamsRig() override { streams->close(); }

  std::unique_ptr<HttpStreams> streams;

 private:
  Transport& tested() override { return *streams; }
  void sweep() override { streams->sweep(); }
};

// A user that writes what it was given when it may, and notes what comes.
class NotingUser final : public StreamUser {
 public:
  NotingUser(StreamsRig& rig, std::uint64_t number) : rig_(rig), attempt(number) {}

  void stream_ready() override {
    ++ready;
    for (std::size_t i = 0; i < pieces.size(); ++i)
      rig_.streams->write(attempt, pieces[i], i + 1 == pieces.size());
  }
  void stream_has_room() override { ++rooms; }
  void stream_piece(std::string_view bytes) override {
    body.append(bytes);
    if (pause_at > 0 && body.size() >= pause_at) rig_.streams->pause(attempt);
    if (abort_at > 0 && body.size() >= abort_at) rig_.streams->abort(attempt);
  }
  void stream_over(bool is_whole) override {
    ++overs;
    whole = is_whole;
  }
  StreamForm form() const {
    std::uint64_t length = 0;
    for (const std::string& piece : pieces) length += piece.size();
    return {.body = pieces.empty() ? StreamBody::kNone : StreamBody::kLength, .length = length};
  }
  void start(const std::string& url, StreamForm form, std::string verb = "PUT") {
    rig_.streams->prepare(attempt, form, *this);
    rig_.streams->start(
        attempt,
        WireRequest{
            .verb = std::move(verb), .target = url, .headers = {{"x-ours", "1"}}, .time_out = 60s});
  }
  void start(const std::string& url) { start(url, form()); }

 private:
  StreamsRig& rig_;

 public:
  const AttemptId attempt;
  std::vector<std::string> pieces;
  std::string body;
  std::size_t pause_at = 0;
  std::size_t abort_at = 0;
  int ready = 0;
  int rooms = 0;
  int overs = 0;
  bool whole = false;
};

std::string big(std::size_t bytes) {
  std::string out;
  while (out.size() < bytes) out.append("0123456789abcdef");
  out.resize(bytes);
  return out;
}

TEST(HttpStreams, CarryBodiesBothWays) {
  StreamsRig rig;
  std::string asked;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    asked = co_await link.request();
    co_await link.write(answer(201, big(300'000), "x-theirs: 2\r\n"));
    co_await link.gone();
  });
  NotingUser user(rig, 1);
  user.pieces = {"{\"a\":", "1}"};
  user.start(peer.url());
  const WireReply head = rig.end_of(user.attempt);
  EXPECT_EQ(head.end, WireEnd::kAnswered);
  EXPECT_EQ(head.status, 201);
  EXPECT_EQ(*find_text(head.headers, "x-theirs"), "2");
  EXPECT_EQ(head.body, "");
  rig.until([&] { return user.overs > 0; });
  EXPECT_TRUE(user.whole);
  EXPECT_EQ(user.body, big(300'000));
  EXPECT_TRUE(asked.starts_with("PUT /hook HTTP/1.1\r\nhost: "));
  EXPECT_NE(asked.find("\r\nx-ours: 1\r\n"), std::string::npos);
  EXPECT_NE(asked.find("\r\ncontent-length: 7\r\n"), std::string::npos);
  EXPECT_TRUE(asked.ends_with("\r\n\r\n{\"a\":1}"));
  EXPECT_EQ(rig.streams->connections(), 0U);
}

TEST(HttpStreams, WriteChunksOfABodyWhoseLengthIsUnknown) {
  StreamsRig rig;
  std::string asked;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    asked = co_await link.some(1);
    while (asked.find("0\r\n\r\n") == std::string::npos) asked += co_await link.some(1);
    co_await link.write(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
    co_await link.gone();
  });
  NotingUser user(rig, 1);
  user.pieces = {"one", "four"};
  user.start(peer.url(), {.body = StreamBody::kChunked});
  rig.until([&] { return user.overs > 0; });
  EXPECT_TRUE(user.whole);
  EXPECT_EQ(user.body, "abc");
  EXPECT_TRUE(
      asked.ends_with("\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n4\r\nfour\r\n0\r\n\r\n"))
      << asked;
}

// Nothing is read from a peer while its reader pauses, so the peer's own buffers fill up.
TEST(HttpStreams, DoNotReadWhilePaused) {
  StreamsRig rig;
  constexpr std::size_t kBytes = 16U << 20;
  bool all_written = false;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    co_await link.request();
    co_await link.write(answer(200, big(kBytes)));
    all_written = true;
    co_await link.gone();
  });
  NotingUser user(rig, 1);
  user.pause_at = 1;
  user.start(peer.url(), {}, "GET");
  rig.until([&] { return !user.body.empty(); });
  rig.settle();
  EXPECT_LE(user.body.size(), 16'384U);
  EXPECT_FALSE(all_written);
  user.pause_at = 0;
  rig.streams->resume(user.attempt);
  rig.until([&] { return user.overs > 0; });
  EXPECT_TRUE(user.whole);
  EXPECT_EQ(user.body.size(), kBytes);
}

TEST(HttpStreams, TellWhenAPeerThatReadsSlowlyHasTakenAll) {
  StreamsRig rig;
  bool reads = false;
  std::size_t got = 0;
  constexpr std::size_t kBytes = 16U << 20;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    co_await link.until([&] { return reads; });
    while (got < kBytes) got += (co_await link.some(1)).size();
    co_await link.write(answer(200));
    co_await link.gone();
  });
  NotingUser user(rig, 1);
  user.pieces = {big(kBytes)};
  user.start(peer.url());
  rig.until([&] { return user.ready > 0; });
  rig.settle();
  EXPECT_GT(rig.streams->unsent(user.attempt), 0U);
  EXPECT_EQ(user.rooms, 0);
  reads = true;
  rig.until([&] { return user.overs > 0; });
  EXPECT_EQ(user.rooms, 1);
  EXPECT_TRUE(user.whole);
}

struct BrokenCase {
  std::string name;
  std::string bytes;
  bool reset = false;
  bool has_head = true;
  bool whole = false;
};
void PrintTo(const BrokenCase& each, std::ostream* out) { *out << each.name; }

class HttpStreamsBroken : public ::testing::TestWithParam<BrokenCase> {};

TEST_P(HttpStreamsBroken, IsTold) {
  const BrokenCase& broken = GetParam();
  StreamsRig rig;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    co_await link.request();
    co_await link.write(broken.bytes);
    broken.reset ? link.reset() : link.close();
  });
  NotingUser user(rig, 1);
  user.start(peer.url(), {}, "GET");
  const WireReply head = rig.end_of(user.attempt);
  EXPECT_EQ(head.end, broken.has_head ? WireEnd::kAnswered : WireEnd::kReset);
  if (!broken.has_head) return;
  rig.until([&] { return user.overs > 0; });
  EXPECT_EQ(user.whole, broken.whole);
}

INSTANTIATE_TEST_SUITE_P(
    HttpStreams, HttpStreamsBroken,
    ::testing::Values(
        BrokenCase{"Nothing", "", false, false},
        BrokenCase{"HalfAHead", "HTTP/1.1 200 OK\r\nx: ", false, false},
        BrokenCase{"AHeadWithoutEnd", "HTTP/1.1 200 OK\r\nx: " + std::string(40'000, 'x'), false,
                   false},
        BrokenCase{"AnotherProtocol", "HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n", false, false},
        BrokenCase{"ALengthThatIsNotReached", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf"},
        BrokenCase{"NoLastChunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf"},
        BrokenCase{"AnEndByClosing", "HTTP/1.1 200 OK\r\n\r\nall of it", false, true, true},
        BrokenCase{"AnInterimAnswerFirst",
                   "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", false, true,
                   true}),
    [](const auto& each) { return each.param.name; });

TEST(HttpStreams, EndWhenTheHeadDoesNotComeInTime) {
  StreamsRig rig;
  Peer peer(rig.loop, [](Link& link) -> Task { co_await link.forever(); });
  NotingUser user(rig, 1);
  user.start(peer.url(), {}, "GET");
  rig.until([&] { return user.ready > 0; });
  rig.advance(59s);
  EXPECT_FALSE(rig.has_ended(user.attempt));
  rig.advance(2s);
  EXPECT_EQ(rig.end_of(user.attempt).end, WireEnd::kTimedOut);
}

TEST(HttpStreams, EndWhenABodyFallsSilent) {
  StreamsRig rig({.silence_max = 60s});
  Peer peer(rig.loop, [](Link& link) -> Task {
    co_await link.request();
    co_await link.write("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
    co_await link.forever();
  });
  NotingUser user(rig, 1);
  user.start(peer.url(), {}, "GET");
  rig.until([&] { return user.body == "half"; });
  rig.advance(59s);
  EXPECT_EQ(user.overs, 0);
  rig.advance(2s);
  EXPECT_EQ(user.overs, 1);
  EXPECT_FALSE(user.whole);
}

TEST(HttpStreams, AreGuardedLikeAllOthers) {
  StreamsRig rig({}, {});
  Peer peer(rig.loop, always(answer(200)));
  NotingUser user(rig, 1);
  user.start(peer.url(), {}, "GET");
  EXPECT_EQ(rig.end_of(user.attempt).end, WireEnd::kForbidden);
  EXPECT_EQ(peer.accepted, 0);
}

// What stands in front may try another place with the same user.
TEST(HttpStreams, MayBeStartedAgainBeforeTheyAreAnswered) {
  StreamsRig rig;
  Peer gone(rig.loop, always(answer(200)));
  const std::string nowhere = gone.url();
  gone.stop();
  Peer peer(rig.loop, always(answer(200, "here")));
  NotingUser user(rig, 1);
  user.pieces = {"{}"};
  user.start(nowhere);
  EXPECT_EQ(rig.end_of(user.attempt).end, WireEnd::kRefused);
  EXPECT_EQ(user.ready, 0);
  rig.streams->start(user.attempt, WireRequest{.verb = "PUT", .target = peer.url()});
  rig.until([&] { return user.overs > 0; });
  EXPECT_EQ(user.body, "here");
  EXPECT_EQ(user.ready, 1);
}

TEST(HttpStreams, TellNothingAfterAnAbort) {
  StreamsRig rig;
  Peer peer(rig.loop, always(answer(200, big(100'000))));
  NotingUser user(rig, 1);
  user.abort_at = 1;  // from inside
  user.start(peer.url(), {}, "GET");
  rig.until([&] { return peer.accepted == 1 && peer.open == 0; });
  EXPECT_LE(user.body.size(), 16'384U);
  EXPECT_EQ(user.overs, 0);
  EXPECT_FALSE(rig.streams->is_prepared(user.attempt));
}

TEST(HttpStreams, BeyondTheirNumberAreHeldBack) {
  StreamsRig rig({.streams_max = 1});
  Peer peer(rig.loop, [](Link& link) -> Task { co_await link.forever(); });
  NotingUser first(rig, 1);
  NotingUser second(rig, 2);
  first.start(peer.url(), {}, "GET");
  second.start(peer.url(), {}, "GET");
  EXPECT_EQ(rig.end_of(second.attempt).end, WireEnd::kHeldBack);
  rig.until([&] { return first.ready > 0; });
}

TEST(HttpStreams, SayWhichOptionIsWrong) {
  boost::asio::io_context loop;
  const auto problem = [&](HttpTransportOptions options, HttpStreamLimits limits = {}) {
    const auto made = HttpStreams::make(loop, std::move(options), limits, nullptr);
    return made ? std::string() : made.error().detail;
  };
  HttpTransportOptions no_names;
  no_names.names_max = 0;
  EXPECT_EQ(problem(no_names), "names_max must be at least 1");
  HttpTransportOptions no_patience;
  no_patience.connect_time_out = Duration(0);
  EXPECT_EQ(problem(no_patience), "connect_time_out must not be 0");
  EXPECT_EQ(problem({}, {.streams_max = 0}), "streams_max must be at least 1");
  EXPECT_EQ(problem({}), "");
}

}  // namespace
}  // namespace postrider
