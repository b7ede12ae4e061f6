#include "postrider/transports/http/http_transport.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/transports/http/peers_testing.h"

namespace postrider {
namespace {

HttpTransportOptions small() {
  HttpTransportOptions options = Rig::local();
  options.reply_head_bytes_max = 8192;
  options.reply_bytes_max = 10'000;
  options.excerpt_bytes_max = 16;
  return options;
}

TEST(HttpTransport, SendsTheRequestByteForByteAndFramesItItself) {
  Rig rig;
  std::string seen;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    seen = co_await link.request();
    co_await link.write(answer(202, "thanks", "X-Thing: One\r\n"));
    co_await link.gone();
  });
  const Blob body = Blob::copy_of("{\"a\":1}");
  const WireReply reply = rig.end_of(rig.start(
      WireRequest{.verb = "POST",
                  .target = peer.url("/hook?x=%20y"),
                  .headers = {{"content-type", "application/json"}, {"X-Odd-Case", "Kept"}},
                  .owner = body,
                  .body = body.view(),
                  .time_out = 5s}));
  EXPECT_EQ(seen, "POST /hook?x=%20y HTTP/1.1\r\nhost: 127.0.0.1:" + std::to_string(peer.port()) +
                      "\r\ncontent-type: application/json\r\nX-Odd-Case: Kept\r\n"
                      "content-length: 7\r\n\r\n{\"a\":1}");
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.body, "thanks");
  const NamedTexts headers = {{"content-length", "6"}, {"x-thing", "One"}};
  EXPECT_EQ(reply.headers, headers);
}

TEST(HttpTransport, ReadsAnswersThatComeByteByByte) {
  Rig rig;
  Peer peer(rig.loop, [](Link& link) -> Task {
    co_await link.request();
    const std::string bytes =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    for (const char byte : bytes) co_await link.write(std::string(1, byte));
    co_await link.gone();
  });
  const WireReply reply = rig.post(peer.url());
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.body, "abcde");
}

// req: webhook.wire.1
TEST(HttpTransport, DoesNotFollowRedirects) {
  Rig rig;
  Peer other(rig.loop, always(answer(200)));
  for (const int status : {301, 302, 303, 307, 308}) {
    Peer peer(rig.loop, always(answer(status, "", "location: " + other.url() + "\r\n")));
    EXPECT_EQ(rig.post(peer.url()).status, status);
  }
  EXPECT_EQ(other.accepted, 0);
}

// req: webhook.wire.9
TEST(HttpTransport, IgnoresProxiesOfTheEnvironment) {
  const char* const names[] = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"};
  // Nobody listens there, and the transport is made while it is set.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  for (const char* name : names) setenv(name, "http://127.0.0.1:1", 1);
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  EXPECT_EQ(rig.post(peer.url()).status, 200);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
  for (const char* name : names) unsetenv(name);
}

// req: webhook.wire.8
TEST(HttpTransport, NeverDecompresses) {
  Rig rig;
  const std::string packed("\x1f\x8b\x08\x00garbage\x00\xff", 13);
  Peer peer(rig.loop, always(answer(200, packed, "content-encoding: gzip\r\n")));
  const WireReply reply = rig.post(peer.url());
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.body, packed);
}

// req: webhook.wire.8
TEST(HttpTransport, ReadsABodyUpToItsLimitAndKeepsAnExcerpt) {
  for (const std::size_t size : {15UL, 16UL, 17UL, 9'999UL, 10'000UL, 10'001UL, 100'000UL}) {
    Rig rig(small());
    Peer peer(rig.loop, always(answer(200, std::string(size, 'x'))));
    const WireReply reply = rig.post(peer.url());
    EXPECT_EQ(reply.end, WireEnd::kAnswered) << size;
    EXPECT_EQ(reply.body, std::string(std::min(size, 16UL), 'x')) << size;
    EXPECT_EQ(rig.transport->idle_connections(), size <= 10'000 ? 1U : 0U) << size;
    EXPECT_EQ(rig.transport->connections(), size <= 10'000 ? 1U : 0U) << size;
  }
}

// req: daemon.ways.3
TEST(HttpTransport, KeepsAsMuchOfABodyAsTheRequestWants) {
  for (const std::uint32_t wanted : {1U, 15U, 17U, 9'999U, 10'000U, 10'001U, UINT32_MAX}) {
    Rig rig(small());
    Peer peer(rig.loop, always(answer(200, std::string(20'000, 'x'))));
    WireRequest request;
    request.verb = "POST";
    request.target = peer.url();
    request.time_out = 15s;
    request.reply_bytes = wanted;
    const WireReply reply = rig.end_of(rig.start(request));
    EXPECT_EQ(reply.end, WireEnd::kAnswered);
    EXPECT_EQ(reply.body.size(), std::min(wanted, 20'000U)) << "more than the usual measure";
  }
}

// req: webhook.wire.8
TEST(HttpTransport, ReadsAHeadUpToItsLimit) {
  for (const std::size_t size : {100UL, 5'000UL, 8'191UL, 8'192UL, 8'193UL, 40'000UL}) {
    Rig rig(small());
    const std::string start = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx: ";
    Peer peer(rig.loop, always(start + std::string(size - start.size() - 4, 'y') + "\r\n\r\n"));
    const WireReply reply = rig.post(peer.url());
    EXPECT_EQ(reply.end, size <= 8'192 ? WireEnd::kAnswered : WireEnd::kReset) << size;
  }
}

TEST(HttpTransport, ReadsABodyThatEndsWithTheConnection) {
  Rig rig;
  Peer peer(rig.loop, [](Link& link) -> Task {
    co_await link.request();
    co_await link.write("HTTP/1.1 200 OK\r\n\r\nall of it");
    link.close();
  });
  const WireReply reply = rig.post(peer.url());
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.body, "all of it");
  EXPECT_EQ(rig.transport->connections(), 0U);
}

TEST(HttpTransport, CallsAnAnswerThatIsCutOffAtAnyByteAReset) {
  const std::string whole = "HTTP/1.1 100 Continue\r\n\r\n" + answer(200, "hello");
  for (const bool rudely : {false, true}) {
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
      Rig rig;
      Peer peer(rig.loop, [&](Link& link) -> Task {
        co_await link.request();
        co_await link.write(whole.substr(0, cut));
        rudely ? link.reset() : link.close();
      });
      const WireReply reply = rig.post(peer.url());
      ASSERT_EQ(reply.end, WireEnd::kReset) << "after " << cut << " bytes";
      ASSERT_EQ(peer.accepted, 1) << "a fresh connection is not repeated";
      ASSERT_EQ(rig.transport->connections(), 0U);
    }
  }
}

TEST(HttpTransport, CallsAConnectionThatIsCutOffDuringTheRequestAReset) {
  Rig rig;
  Peer peer(rig.loop, [](Link& link) -> Task {
    co_await link.some(1000);
    link.reset();
  });
  EXPECT_EQ(rig.post(peer.url(), std::string(8'000'000, 'x')).end, WireEnd::kReset);
}

// req: webhook.wire.13
TEST(HttpTransport, CallsGarbageAReset) {
  for (const std::string& garbage :
       {std::string("SSH-2.0-OpenSSH_9.2\r\n\r\n"), std::string("\x16\x03\x01\x00\x00\r\n\r\n", 9),
        std::string("HTTP/9.9 banana\r\n\r\n"), std::string(100'000, 'A')}) {
    Rig rig;
    Peer peer(rig.loop, always(garbage));
    EXPECT_EQ(rig.post(peer.url()).end, WireEnd::kReset) << garbage.substr(0, 20);
    EXPECT_EQ(rig.transport->connections(), 0U);
  }
}

// req: webhook.wire.13
TEST(HttpTransport, SkipsInterimAnswersUpToALimit) {
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
  for (const int count : {1, 16, 17, 5000}) {
    Rig rig;
    std::string bytes;
    for (int i = 0; i < count; ++i) bytes += interim;
    Peer peer(rig.loop, always(bytes + answer(200)));
    EXPECT_EQ(rig.post(peer.url()).end, count <= 16 ? WireEnd::kAnswered : WireEnd::kReset)
        << count;
  }
}

// req: webhook.wire.12
TEST(HttpTransport, HonoursAnAnswerThatComesBeforeTheRequestIsSent) {
  HttpTransportOptions options = Rig::local();
  options.request_bytes_max = 64 * 1024 * 1024;
  Rig rig(options);
  Peer peer(rig.loop, [](Link& link) -> Task {
    co_await link.some(10);
    co_await link.write(answer(413, "too much"));
    co_await link.forever();  // never reads on
  });
  // NOLINTNEXTLINE(bugprone-string-constructor): more than the buffers of both sockets hold
  const WireReply reply = rig.post(peer.url(), std::string(16'000'000, 'x'));
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(rig.transport->connections(), 0U);
}

TEST(HttpTransport, SendsALargeBodyToASlowReader) {
  Rig rig;
  std::size_t size = 0;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    const std::string request = co_await link.request();
    size = request.size();
    co_await link.write(answer(200));
    co_await link.gone();
  });
  EXPECT_EQ(rig.post(peer.url(), std::string(8'000'000, 'x')).status, 200);
  EXPECT_GT(size, 8'000'000U);
  EXPECT_EQ(rig.transport->idle_connections(), 1U);
}

TEST(HttpTransport, DoesNotReuseAConnectionWithBytesBehindTheAnswer) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200) + "HTTP/1.1 500 Smuggled\r\n\r\n"));
  EXPECT_EQ(rig.post(peer.url()).status, 200);
  EXPECT_EQ(rig.transport->connections(), 0U);
  EXPECT_EQ(rig.post(peer.url()).status, 200);
  EXPECT_EQ(peer.accepted, 2);
}

TEST(HttpTransport, DropsAKeptConnectionOnWhichSomethingComes) {
  Rig rig;
  bool asked = false;
  Peer peer(rig.loop, [&](Link& link) -> Task {
    co_await link.request();
    co_await link.write(answer(200));
    co_await link.until([&] { return asked; });
    co_await link.write(answer(408));
    co_await link.gone();
  });
  EXPECT_EQ(rig.post(peer.url()).status, 200);
  asked = true;
  rig.until([&] { return rig.transport->connections() == 0; });
}

TEST(HttpTransport, AnswersToAHeadHaveNoBody) {
  Rig rig;
  Peer peer(rig.loop, always("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"));
  const auto head = [&] {
    return rig.end_of(rig.start(WireRequest{.verb = "HEAD", .target = peer.url(), .time_out = 5s}));
  };
  EXPECT_EQ(head().status, 200);
  EXPECT_EQ(head().status, 200);
  EXPECT_EQ(peer.accepted, 1);
}

TEST(HttpTransport, SaysRefusedWhenNobodyListens) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  peer.stop();
  EXPECT_EQ(rig.post(peer.url()).end, WireEnd::kRefused);
}

TEST(HttpTransport, SaysNoNameForATargetThatIsNone) {
  Rig rig;
  for (const char* target :
       {"", "ftp://x/", "http://", "http://256.1.1.1/", "http://a..b/", "http://user@127.0.0.1/",
        "http://127.0.0.1/a b", "http://127.0.0.1:0/"})
    EXPECT_EQ(rig.post(target).end, WireEnd::kNoName) << target;
}

// req: webhook.wire.2, webhook.wire.11
TEST(HttpTransport, RefusesForbiddenAddressesInEverySpelling) {
  HttpTransportOptions options;
  Rig rig(options);
  Peer peer(rig.loop, always(answer(200)));
  const std::string port = ":" + std::to_string(peer.port()) + "/";
  for (const char* host :
       {"127.0.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "0", "127.1", "[::1]",
        "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
        "[fd00::1]", "169.254.169.254", "10.0.0.1", "localhost"})
    EXPECT_EQ(rig.post("http://" + std::string(host) + port).end, WireEnd::kForbidden) << host;
  EXPECT_EQ(peer.accepted, 0);
}

TEST(HttpTransport, ReachesOtherSpellingsOfWhatIsAllowed) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  const std::string port = ":" + std::to_string(peer.port()) + "/";
  for (const char* host : {"127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "localhost"})
    EXPECT_EQ(rig.post("http://" + std::string(host) + port).status, 200) << host;
}

// req: webhook.wire.15
TEST(HttpTransport, TellsNothingAfterAnAbortAtEveryByteOfTheExchange) {
  const std::string whole = answer(200, "hello");
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    Rig rig;
    bool written = false;
    bool left = false;
    Peer peer(rig.loop, [&](Link& link) -> Task {
      co_await link.request();
      co_await link.write(whole.substr(0, cut));
      written = true;
      co_await link.gone();
      left = true;
    });
    const AttemptId attempt = rig.start(peer.url());
    rig.until([&] { return written; });
    rig.settle();
    rig.transport->abort(attempt);
    EXPECT_EQ(rig.transport->connections(), 0U);
    rig.until([&] { return left; });
    rig.settle();
    ASSERT_FALSE(rig.has_ended(attempt));
  }
}

TEST(HttpTransport, TellsNothingAfterAnAbortBeforeTheExchangeBegan) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  const AttemptId nowhere = rig.start("http://999.1.1.1/");  // has ended, and is not told yet
  rig.transport->abort(nowhere);
  const AttemptId connecting = rig.start(peer.url());
  rig.transport->abort(connecting);
  rig.transport->abort(connecting);
  rig.transport->abort(AttemptId(4711));
  EXPECT_EQ(rig.post(peer.url()).status, 200);
  EXPECT_EQ(rig.ended.size(), 1U);
  EXPECT_EQ(rig.transport->connections(), 1U);
}

TEST(HttpTransport, CanBeCalledWhileItTells) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  int more = 50;
  rig.on_end = [&](AttemptId) {
    if (more-- <= 0) return;
    rig.start(peer.url());
    rig.transport->abort(rig.start(peer.url()));
    rig.start("http://256.1.1.1/");
  };
  rig.start(peer.url());
  rig.until([&] { return more < -50; });
  EXPECT_EQ(rig.ended.size(), 101U);
}

TEST(HttpTransport, TellsNothingAfterAClose) {
  Rig rig;
  Peer slow(rig.loop, [](Link& link) -> Task { co_await link.gone(); });
  Peer quick(rig.loop, always(answer(200)));
  EXPECT_EQ(rig.post(quick.url()).status, 200);
  rig.start(slow.url());
  rig.start("http://256.1.1.1/");
  rig.start("http://localhost.invalid/");
  rig.until([&] { return slow.open == 1; });
  rig.order.clear();
  rig.start("http://256.1.1.1/");
  rig.transport->close();
  rig.transport->close();
  EXPECT_EQ(rig.transport->connections(), 0U);
  rig.until([&] { return slow.open == 0 && quick.open == 0; });
  const std::size_t told = rig.order.size();
  rig.transport->start(AttemptId(99), WireRequest{.verb = "POST", .target = quick.url()});
  rig.transport->abort(AttemptId(99));
  rig.settle();
  EXPECT_EQ(told, 0U);
  EXPECT_EQ(rig.order.size(), 0U);
}

TEST(HttpTransport, CanBeClosedWhileItTells) {
  Rig rig;
  Peer peer(rig.loop, always(answer(200)));
  rig.on_end = [&](AttemptId) { rig.transport->close(); };
  for (int i = 0; i < 5; ++i) rig.start("http://256.1.1.1/");
  rig.until([&] { return !rig.order.empty(); });
  rig.settle();
  EXPECT_EQ(rig.order.size(), 1U);
}

TEST(HttpTransport, NamesTheOptionThatIsWrong) {
  boost::asio::io_context loop;
  const auto detail = [&](const std::function<void(HttpTransportOptions&)>& spoil) {
    HttpTransportOptions options;
    spoil(options);
    const auto made = HttpTransport::make(loop, options, [](AttemptId, const WireReply&) {});
    return made ? std::string("fine") : made.error().detail;
  };
  EXPECT_EQ(detail([](auto&) {}), "fine");
  EXPECT_NE(detail([](auto& o) { o.allow = {"x"}; }).find("allow"), std::string::npos);
  EXPECT_NE(detail([](auto& o) { o.trust_file = "/nowhere"; }).find("trust_file"),
            std::string::npos);
  EXPECT_NE(detail([](auto& o) { o.name_servers = {"x"}; }).find("name_servers"),
            std::string::npos);
  EXPECT_NE(detail([](auto& o) { o.connections_max = 0; }).find("connections_max"),
            std::string::npos);
  EXPECT_NE(detail([](auto& o) { o.connect_time_out = 0ms; }).find("connect_time_out"),
            std::string::npos);
}

// req: engine.limit.large.2
TEST(HttpTransport, SendsNoLargerBodyThanItsLimit) {
  HttpTransportOptions options = small();
  ASSERT_EQ(options.request_bytes_max, 8U * 1024 * 1024);
  options.request_bytes_max = 100;
  Rig rig(options);
  Peer peer(rig.loop, [](Link& link) -> Task {
    while (!(co_await link.request()).empty()) co_await link.write(answer(200, "ok"));
    co_await link.gone();
  });
  const auto end_with = [&](std::size_t size) {
    const Blob body = Blob::copy_of(std::string(size, 'x'));
    return rig
        .end_of(rig.start(WireRequest{.verb = "POST",
                                      .target = peer.url("/"),
                                      .headers = {},
                                      .owner = body,
                                      .body = body.view(),
                                      .time_out = 5s}))
        .end;
  };
  EXPECT_EQ(end_with(99), WireEnd::kAnswered);
  EXPECT_EQ(end_with(100), WireEnd::kAnswered);
  EXPECT_EQ(end_with(101), WireEnd::kForbidden);
}

}  // namespace
}  // namespace postrider
