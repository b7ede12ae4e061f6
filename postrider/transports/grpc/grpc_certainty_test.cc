// Calls that go wrong, and how sure we are of what became of them.
#include <fstream>

#include <boost/asio/ssl/context.hpp>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include "postrider/transports/grpc/grpc_peer_testing.h"
#include "postrider/transports/grpc/grpc_transport.h"

namespace postrider {
namespace {

const Certificate& authority() {
  static const Certificate kAuthority = make_certificate({.name = "", .authority = true});
  return kAuthority;
}

GrpcPeer::Handler good_always() {
  return [](const GrpcPeer::Call& call) { call.answer(good_answer("ok")); };
}

// req: daemon.grpc.6
TEST(GrpcNotSent, WhenNobodyListens) {
  GrpcRig rig;
  GrpcPeer peer(rig.loop, good_always());
  const std::string url = peer.url();
  peer.stop();
  EXPECT_EQ(rig.call(url).end, WireEnd::kRefused);
  EXPECT_EQ(rig.transport->connections(), 0U);
}

// req: daemon.grpc.6
TEST(GrpcNotSent, WhenTheNameOrTheTargetIsNone) {
  GrpcRig rig;
  EXPECT_EQ(rig.call("http://nobody.example:1/a.B/C").end, WireEnd::kNoName);
  for (const char* nonsense :
       {"", "ftp://x/a.B/C", "http:///a.B/C", "http://127.0.0.1:1", "http://127.0.0.1:1?x",
        "http://127.0.0.1:1/a b", "http://1.2.3.4.5/x", "http://127.0.0.1:99999/a.B/C"})
    EXPECT_EQ(rig.call(nonsense).end, WireEnd::kNoName) << nonsense;
}

// req: daemon.grpc.6
TEST(GrpcNotSent, WhenTheGuardForbidsAllAddresses) {
  GrpcRig rig;
  rig.names.known["inner.example"] = {{"10.0.0.1"}, {"169.254.169.254"}};
  EXPECT_EQ(rig.call("http://inner.example:1/a.B/C").end, WireEnd::kForbidden);
  EXPECT_EQ(rig.call("http://10.0.0.1:1/a.B/C").end, WireEnd::kForbidden);
  GrpcRig strict{GrpcTransportOptions{}};
  GrpcPeer peer(strict.loop, good_always());
  EXPECT_EQ(strict.call(peer.url()).end, WireEnd::kForbidden);
  EXPECT_EQ(peer.accepted, 0);
}

// req: daemon.grpc.6
TEST(GrpcNotSent, WhenThePeerDoesNotSpeakHttp2) {
  for (const char* words : {"HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-x\r\n"}) {
    GrpcRig rig;
    Peer peer(rig.loop, [&](Link& link) -> Task {
      co_await link.write(words);
      co_await link.gone();
    });
    EXPECT_EQ(rig.call(peer.url("/a.B/C")).end, WireEnd::kRefused) << words;
  }
  GrpcRig rig;
  std::string heard;
  Peer silent(rig.loop, [&](Link& link) -> Task {
    heard = co_await link.some(1);
    co_await link.gone();
  });
  const AttemptId attempt = rig.start(silent.url("/a.B/C"));
  rig.until([&] { return !heard.empty(); });
  rig.advance(5s);
  EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kRefused);
  EXPECT_EQ(heard.find("/a.B/C"), std::string::npos) << "a call was sent to somebody unknown";
}

// req: daemon.grpc.6
TEST(GrpcNotSent, WhenItsTimeIsUpBeforeItHasAStream) {
  GrpcTransportOptions options = GrpcRig::local();
  options.streams_max = 1;
  GrpcRig rig(options);
  int calls = 0;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call&) { ++calls; });
  rig.start(peer.url(), "hi", 60s);
  rig.until([&] { return calls == 1; });
  const AttemptId second = rig.start(peer.url(), "hi", 2s);
  rig.advance(1'999ms);
  EXPECT_FALSE(rig.has_ended(second));
  rig.advance(1ms);
  EXPECT_EQ(rig.end_of(second).end, WireEnd::kRefused);
  EXPECT_EQ(calls, 1);
  rig.names.silent = true;
  const AttemptId third = rig.start("http://slow.example:1/a.B/C", "hi", 1s);
  rig.advance(1s);
  EXPECT_EQ(rig.end_of(third).end, WireEnd::kNoName);
}

// req: daemon.grpc.6
TEST(GrpcNotSent, WhenThePeerRefusesTheStream) {
  GrpcRig rig;
  GrpcPeer peer(rig.loop, [](const GrpcPeer::Call& call) { call.reset(NGHTTP2_REFUSED_STREAM); });
  EXPECT_EQ(rig.call(peer.url()).end, WireEnd::kRefused);
  EXPECT_EQ(peer.accepted, 1);
}

// req: daemon.grpc.6, daemon.grpc.7
TEST(GrpcNotSent, WhenGoAwayNamesALowerStream) {
  GrpcRig rig;
  std::vector<GrpcPeer::Call> held;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) { held.push_back(call); });
  const AttemptId first = rig.start(peer.url());
  const AttemptId second = rig.start(peer.url());
  const AttemptId third = rig.start(peer.url());
  rig.until([&] { return held.size() == 3; });
  ASSERT_EQ(held[1].stream, 3);
  held[0].go_away(3);
  EXPECT_EQ(rig.end_of(third).end, WireEnd::kRefused);
  EXPECT_FALSE(rig.has_ended(first) || rig.has_ended(second));
  held[1].answer(good_answer("still"));
  EXPECT_EQ(rig.end_of(second).body, "still");
  held[0].cut();
  EXPECT_EQ(rig.end_of(first).end, WireEnd::kReset) << "the peer may have seen that one";
}

// req: daemon.grpc.7
TEST(GrpcUnknown, WhenTheStreamIsReset) {
  for (const std::uint32_t error : {NGHTTP2_INTERNAL_ERROR, NGHTTP2_CANCEL, NGHTTP2_NO_ERROR,
                                    NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_HTTP_1_1_REQUIRED}) {
    GrpcRig rig;
    GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) { call.reset(error); });
    EXPECT_EQ(rig.call(peer.url()).end, WireEnd::kReset) << error;
    EXPECT_EQ(rig.transport->connections(), 1U);
  }
}

// req: daemon.grpc.7
TEST(GrpcUnknown, WhenAPeerRefusesWhatItHasBegunToAnswer) {
  GrpcRig rig;
  std::vector<GrpcPeer::Call> held;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) {
    GrpcAnswer answer = good_answer("begun");
    answer.stops = true;
    call.answer(answer);
    held.push_back(call);
  });
  const AttemptId attempt = rig.start(peer.url());
  rig.until([&] { return held.size() == 1; });
  rig.settle();
  held[0].reset(NGHTTP2_REFUSED_STREAM);
  EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kReset);
}

// req: daemon.grpc.7
TEST(GrpcUnknown, WhenTheConnectionIsLostAfterBytesHaveLeft) {
  GrpcRig rig;
  GrpcPeer peer(rig.loop, [](const GrpcPeer::Call& call) { call.cut(); });
  const AttemptId first = rig.start(peer.url());
  const AttemptId second = rig.start(peer.url());
  EXPECT_EQ(rig.end_of(first).end, WireEnd::kReset);
  EXPECT_EQ(rig.end_of(second).end, WireEnd::kReset);
  EXPECT_EQ(peer.accepted, 1) << "nothing is repeated";
}

// req: daemon.grpc.6, daemon.grpc.11
TEST(GrpcUnknown, ButWhatWaitedForAStreamGoesOverTheNextConnection) {
  GrpcTransportOptions options = GrpcRig::local();
  options.streams_max = 1;
  GrpcRig rig(options);
  GrpcPeer peer(rig.loop, [](const GrpcPeer::Call& call) {
    if (call.connection == 1) return call.cut();
    call.answer(good_answer("ok"));
  });
  const AttemptId first = rig.start(peer.url());
  const AttemptId second = rig.start(peer.url());
  EXPECT_EQ(rig.end_of(first).end, WireEnd::kReset);
  EXPECT_EQ(rig.end_of(second).end, WireEnd::kAnswered);
  EXPECT_EQ(peer.accepted, 2);
}

// req: daemon.grpc.3, daemon.grpc.7
TEST(GrpcUnknown, WhenThereIsNoAnswerInTime) {
  GrpcRig rig;
  std::vector<GrpcPeer::Call> held;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) { held.push_back(call); });
  const AttemptId slow = rig.start(peer.url(), "hi", 3s);
  const AttemptId other = rig.start(peer.url(), "hi", 30s);
  rig.until([&] { return held.size() == 2; });
  EXPECT_EQ(held[0].head.at("grpc-timeout"), "3000m");
  rig.advance(2'999ms);
  EXPECT_FALSE(rig.has_ended(slow));
  rig.advance(1ms);
  EXPECT_EQ(rig.end_of(slow).end, WireEnd::kTimedOut);
  rig.until([&] { return peer.resets == 1; });
  held[0].answer(good_answer("late"));
  held[1].answer(good_answer("in time"));
  EXPECT_EQ(rig.end_of(other).body, "in time");
}

// req: daemon.grpc.10
TEST(GrpcUnknown, ATimeOutInSilenceMakesTheConnectionProveItself) {
  GrpcRig rig;
  int calls = 0;
  GrpcPeer peer(rig.loop,
                [&](const GrpcPeer::Call& call) {
                  if (++calls > 1) call.answer(good_answer("ok"));
                },
                {.answers_pings = false});
  const AttemptId slow = rig.start(peer.url(), "hi", 3s);
  rig.until([&] { return calls == 1; });
  rig.advance(3s);
  EXPECT_EQ(rig.end_of(slow).end, WireEnd::kTimedOut);
  const AttemptId next = rig.start(peer.url());
  rig.until([&] { return peer.pings == 1; });
  EXPECT_FALSE(rig.has_ended(next));
  rig.advance(5s);
  EXPECT_EQ(rig.end_of(next).end, WireEnd::kAnswered);
  EXPECT_EQ(peer.accepted, 2);
}

// req: daemon.grpc.3
TEST(GrpcDeadline, IsBoundedAlsoWhenNoneIsGiven) {
  GrpcTransportOptions options = GrpcRig::local();
  options.call_time_out_max = 20s;
  GrpcRig rig(options);
  std::vector<std::string> told;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) {
    told.push_back(call.head.at("grpc-timeout"));
    call.answer(good_answer("ok"));
  });
  for (const Duration given : {Duration(0), Duration(19'999), Duration(20'000), Duration(20'001)})
    rig.end_of(rig.start(peer.url(), "hi", given));
  EXPECT_EQ(told, (std::vector<std::string>{"20000m", "19999m", "20000m", "20000m"}));
}

// req: daemon.grpc.7, daemon.grpc.8
TEST(GrpcUnknown, WhenTheAnswerCannotBeRead) {
  struct Case {
    const char* name;
    GrpcAnswer answer;
    std::string problem;
  };
  const auto with_data = [](std::string data) {
    GrpcAnswer answer;
    answer.data = std::move(data);
    return answer;
  };
  const auto with_trailers = [](Fields trailers) {
    GrpcAnswer answer = good_answer("ok");
    answer.trailers = std::move(trailers);
    return answer;
  };
  GrpcAnswer huge_head = only_trailers(0, std::string(16'384, 'x'));
  GrpcAnswer endless = good_answer(std::string(1024 * 1024 + 1, 'x'));
  const Case cases[] = {
      {"compressed", with_data(framed("zip", 1)), "compressed"},
      {"no frame", with_data("<html>"), "no message of gRPC"},
      {"two messages", with_data(framed("a") + framed("b")), "more than one"},
      {"cut off", with_data(framed("abcdef").substr(0, 8)), "cut off"},
      {"half a prefix", with_data(std::string(2, 0)), "cut off"},
      {"too large", endless, "larger than 1048576 bytes"},
      {"huge head", huge_head, "header fields are larger"},
      {"no status", with_trailers({{"x", "y"}}), "no grpc-status"},
      {"no trailers", with_trailers({}), "no grpc-status"},
      {"a bad status", with_trailers({{"grpc-status", "fine"}}), "no number"},
  };
  for (const Case& c : cases) {
    GrpcRig rig;
    bool bad = true;
    GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) {
      call.answer(bad ? c.answer : good_answer("ok"));
    });
    const WireReply reply = rig.call(peer.url());
    EXPECT_EQ(reply.end, WireEnd::kReset) << c.name;
    EXPECT_NE(reply.body.find(c.problem), std::string::npos) << c.name << ": " << reply.body;
    bad = false;
    EXPECT_EQ(rig.call(peer.url()).end, WireEnd::kAnswered) << c.name;
    EXPECT_EQ(peer.accepted, 1) << c.name << ": the connection is as good as before";
  }
}

// req: daemon.grpc.4, daemon.grpc.9
TEST(GrpcAnswerEarly, CountsBeforeAllOfTheRequestHasLeft) {
  GrpcRig rig;
  GrpcPeer peer(rig.loop, [](const GrpcPeer::Call&) {}, {.window = 100});
  peer.on_call_begun([](const GrpcPeer::Call& call) { call.answer(only_trailers(16, "")); });
  const WireReply reply = rig.call(peer.url(), std::string(1'000'000, 'x'));
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.status, 16);
  rig.until([&] { return peer.resets == 1; });
}

// req: daemon.grpc.7
TEST(GrpcUnknown, WhenThePeerBreaksTheProtocol) {
  GrpcRig rig;
  Peer peer(rig.loop, [](Link& link) -> Task {
    co_await link.some(24 + 9);
    co_await link.write(std::string("\0\0\0\4\0\0\0\0\0", 9));  // SETTINGS
    co_await link.some(9 + 9);
    // DATA on a stream that nobody has opened.
    co_await link.write(std::string("\0\0\1\0\0\0\0\0\x09x", 10));
    co_await link.gone();
  });
  const WireReply reply = rig.call(peer.url("/a.B/C"));
  EXPECT_EQ(reply.end, WireEnd::kReset);
  EXPECT_EQ(rig.transport->connections(), 0U);
}

struct TlsCase {
  const char* name;
  Certificate certificate;
  std::string trust;
  bool speaks_h2 = true;
  WireEnd want = WireEnd::kNoTls;
};

// req: daemon.grpc.13
TEST(GrpcTls, TalksOnlyToWhomItTrustsAndWhoSpeaksHttp2) {
  const Certificate good = make_certificate({.name = "DNS:ns.example"}, &authority());
  const TlsCase cases[] = {
      {"good", good, authority().pem(), true, WireEnd::kAnswered},
      {"no ALPN", good, authority().pem(), false},
      {"unknown authority", good, ""},
      {"another name", make_certificate({.name = "DNS:other.example"}, &authority()),
       authority().pem()},
      {"expired", make_certificate({.name = "DNS:ns.example", .expired = true}, &authority()),
       authority().pem()},
      {"trust that cannot be read", good, "nonsense"},
  };
  for (const TlsCase& c : cases) {
    GrpcRig rig;
    rig.names.known["ns.example"] = {{"127.0.0.1"}};
    const auto context = grpc_server_context(c.certificate, c.speaks_h2);
    int calls = 0;
    GrpcPeer peer(rig.loop,
                  [&](const GrpcPeer::Call& call) {
                    ++calls;
                    EXPECT_EQ(call.head.at(":scheme"), "https");
                    call.answer(good_answer(std::string(100'000, 'x')));
                  },
                  {.tls = context.get()});
    const std::string url = peer.url("/a.B/C", "ns.example");
    const WireReply reply = rig.end_of(rig.start(url, std::string(100'000, 'y'), 15s, c.trust));
    EXPECT_EQ(reply.end, c.want) << c.name;
    EXPECT_EQ(calls, c.want == WireEnd::kAnswered ? 1 : 0) << c.name;
    EXPECT_EQ(reply.body.size(), c.want == WireEnd::kAnswered ? 100'000U : 0U) << c.name;
  }
}

// req: daemon.grpc.6, daemon.grpc.13
TEST(GrpcTls, APeerThatHangsInTheHandshakeIsGivenUp) {
  GrpcRig rig;
  Peer silent(rig.loop, [](Link& link) -> Task { co_await link.gone(); });
  const std::string url = "https" + silent.url("/a.B/C").substr(4);
  const AttemptId attempt = rig.start(url, "hi", 60s, authority().pem());
  rig.until([&] { return silent.accepted == 1; });
  rig.settle();
  rig.advance(10s);
  EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kNoTls);
}

// req: daemon.grpc.6
TEST(GrpcNotSent, TheNextAddressIsTriedWhenOneRefuses) {
  GrpcRig rig;
  GrpcPeer peer(rig.loop, good_always());
  rig.names.known["two.example"] = {{"127.0.0.9"}, {"127.0.0.1"}};
  EXPECT_EQ(rig.call(peer.url("/a.B/C", "two.example")).end, WireEnd::kAnswered);
}

}  // namespace
}  // namespace postrider
