// Calls that go well, and how they share a connection.
#include "postrider/transports/grpc/grpc_transport.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include "postrider/transports/grpc/grpc_peer_testing.h"

namespace postrider {
namespace {

GrpcPeer::Handler always_good(std::string message = "ok") {
  return [message](const GrpcPeer::Call& call) { call.answer(good_answer(message)); };
}

std::string text_of(const WireReply& reply, std::string_view name) {
  const std::string* found = find_text(reply.headers, name);
  return found == nullptr ? "(none)" : *found;
}

// req: daemon.grpc.1
TEST(GrpcCall, CarriesTheMessageInItsFrameWithItsMetadata) {
  GrpcRig rig;
  GrpcPeer::Call seen;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) {
    seen = call;
    call.answer(good_answer("the id"));
  });
  const Blob body = Blob::copy_of("hello");
  const WireReply reply =
      rig.end_of(rig.start(WireRequest{.verb = "POST",
                                       .target = peer.url(),
                                       .headers = {{"Authorization", "Bearer secret"},
                                                   {"Content-Type", "text/plain"},
                                                   {"connection", "close"},
                                                   {"x-trace", "7"}},
                                       .owner = body,
                                       .body = body.view(),
                                       .time_out = 15s,
                                       .trust = {}}));
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.status, 0);
  EXPECT_EQ(reply.body, "the id");
  EXPECT_TRUE(reply.headers.empty());
  EXPECT_EQ(seen.data, framed("hello"));
  const std::string authority = peer.url("").substr(7);
  const std::map<std::string, std::string> want = {{":method", "POST"},
                                                   {":scheme", "http"},
                                                   {":path", "/api.DeviceService/Enqueue"},
                                                   {":authority", authority},
                                                   {"te", "trailers"},
                                                   {"content-type", "application/grpc"},
                                                   {"user-agent", "postrider"},
                                                   {"grpc-timeout", "15000m"},
                                                   {"authorization", "Bearer secret"},
                                                   {"x-trace", "7"}};
  EXPECT_EQ(seen.head, want);
}

// req: daemon.grpc.1
TEST(GrpcCall, TakesEmptyMessages) {
  GrpcRig rig;
  std::string data;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) {
    data = call.data;
    call.answer(good_answer(""));
  });
  const WireReply reply = rig.call(peer.url(), "");
  EXPECT_EQ(reply.end, WireEnd::kAnswered);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(data, framed(""));
}

// req: daemon.grpc.4
TEST(GrpcCall, EveryStatusIsAnAnswer) {
  for (const bool alone : {false, true}) {
    for (const int status : {0, 1, 3, 4, 5, 8, 13, 14, 16, 77}) {
      GrpcRig rig;
      GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) {
        GrpcAnswer answer = good_answer("left over");
        answer.trailers = {{"grpc-status", std::to_string(status)}, {"grpc-message", "why%20not"}};
        call.answer(alone ? only_trailers(status, "why%20not") : answer);
      });
      const WireReply reply = rig.call(peer.url());
      EXPECT_EQ(reply.end, WireEnd::kAnswered);
      EXPECT_EQ(reply.status, status);
      EXPECT_EQ(text_of(reply, "grpc-message"), "why not");
      EXPECT_EQ(reply.body, alone ? "" : "left over");
    }
  }
}

// req: daemon.grpc.4
TEST(GrpcCall, AStatusOfHttpStandsInWhenThereIsNone) {
  const std::pair<std::string, int> cases[] = {{"401", 16}, {"403", 7},  {"404", 12}, {"429", 14},
                                               {"502", 14}, {"503", 14}, {"504", 14}, {"500", 2}};
  for (const auto& [http, status] : cases) {
    GrpcRig rig;
    GrpcPeer peer(rig.loop, [&http = http](const GrpcPeer::Call& call) {
      GrpcAnswer answer;
      answer.head = {{":status", http}, {"content-type", "text/html"}};
      answer.data = "<h1>no gRPC here</h1>";
      answer.trailers.clear();
      call.answer(answer);
    });
    const WireReply reply = rig.call(peer.url());
    EXPECT_EQ(reply.end, WireEnd::kAnswered) << http;
    EXPECT_EQ(reply.status, status) << http;
    EXPECT_EQ(text_of(reply, "http-status"), http);
    EXPECT_EQ(reply.body, "");
  }
}

// req: daemon.grpc.5
TEST(GrpcCall, CleansWhatTheServerSays) {
  GrpcRig rig;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) {
    call.answer(only_trailers(13, "line%0aone%1B[2J" + std::string(5000, 'x')));
  });
  const std::string text = text_of(rig.call(peer.url()), "grpc-message");
  EXPECT_TRUE(text.starts_with("line one [2Jxxx")) << text;
  EXPECT_EQ(text.size(), 1024U);
}

// req: daemon.grpc.9
TEST(GrpcCall, IsUnderstoodHoweverTheAnswerIsCut) {
  for (const std::size_t step : {1U, 2U, 7U, 100U}) {
    GrpcRig rig;
    GrpcPeer peer(rig.loop,
                  [&](const GrpcPeer::Call& call) {
                    GrpcAnswer answer = good_answer("0123456789");
                    answer.step = step;
                    call.answer(answer);
                  },
                  {.write_step = step});
    const WireReply reply = rig.call(peer.url());
    EXPECT_EQ(reply.end, WireEnd::kAnswered);
    EXPECT_EQ(reply.body, "0123456789");
  }
}

// req: daemon.grpc.9
TEST(GrpcCall, MovesLargeMessagesThroughSmallWindows) {
  GrpcRig rig;
  const std::string large(300'000, 'L');
  GrpcPeer peer(rig.loop,
                [&](const GrpcPeer::Call& call) {
                  EXPECT_EQ(call.data.size(), large.size() + 5);
                  call.answer(good_answer(large));
                },
                {.window = 1000});
  std::vector<AttemptId> all;
  for (int i = 0; i < 10; ++i) all.push_back(rig.start(peer.url(), large));
  for (const AttemptId attempt : all) EXPECT_EQ(rig.end_of(attempt).body.size(), large.size());
  EXPECT_EQ(peer.accepted, 1);
}

// req: daemon.grpc.2
TEST(GrpcConnection, IsSharedByAllCallsOfAnAuthority) {
  GrpcRig rig;
  std::vector<GrpcPeer::Call> held;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) { held.push_back(call); });
  std::vector<AttemptId> all;
  for (int i = 0; i < 50; ++i) all.push_back(rig.start(peer.url()));
  rig.until([&] { return held.size() == 50; });
  EXPECT_EQ(peer.accepted, 1);
  // Answered in another order than asked.
  for (auto call = held.rbegin(); call != held.rend(); ++call)
    call->answer(good_answer(std::to_string(call->stream)));
  for (std::size_t i = 0; i < all.size(); ++i)
    EXPECT_EQ(rig.end_of(all[i]).body, std::to_string(2 * i + 1));
  const AttemptId other = rig.start(peer.url("/other.Service/Method"));
  rig.until([&] { return held.size() == 51; });
  held.back().answer(good_answer("other"));
  EXPECT_EQ(rig.end_of(other).body, "other");
  EXPECT_EQ(peer.accepted, 1);
}

// req: daemon.grpc.2
TEST(GrpcConnection, OpensNoMoreStreamsThanBothSidesAllow) {
  struct Case {
    std::uint32_t ours, theirs;
    int want;
  };
  for (const Case& c : {Case{100, 3, 3}, Case{2, 100, 2}, Case{1, 1, 1}}) {
    GrpcTransportOptions options = GrpcRig::local();
    options.streams_max = c.ours;
    GrpcRig rig(options);
    std::vector<GrpcPeer::Call> held;
    GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) { held.push_back(call); },
                  {.streams_max = c.theirs});
    std::vector<AttemptId> all;
    for (int i = 0; i < 7; ++i) all.push_back(rig.start(peer.url()));
    rig.until([&] { return held.size() == static_cast<std::size_t>(c.want); });
    rig.settle();
    EXPECT_EQ(held.size(), static_cast<std::size_t>(c.want));
    EXPECT_EQ(rig.transport->waiting(), 7U - static_cast<std::size_t>(c.want));
    while (rig.order.size() < all.size()) {
      rig.until([&] { return !held.empty(); });
      held.back().answer(good_answer("x"));
      held.pop_back();
      const std::size_t before = rig.order.size();
      rig.until([&] { return rig.order.size() > before; });
    }
    for (const AttemptId attempt : all) EXPECT_EQ(rig.end_of(attempt).status, 0);
    EXPECT_EQ(peer.most_streams, c.want);
    EXPECT_EQ(peer.accepted, 1);
  }
}

// req: daemon.grpc.2
TEST(GrpcConnection, IsNotSharedBetweenDifferentTrusts) {
  GrpcRig rig;
  GrpcPeer peer(rig.loop, always_good());
  EXPECT_EQ(rig.call(peer.url()).status, 0);
  EXPECT_EQ(rig.end_of(rig.start(peer.url(), "hi", 15s, "other")).status, 0);
  EXPECT_EQ(peer.accepted, 2);
}

// req: daemon.grpc.8
TEST(GrpcLimits, CallsThatWaitAreBounded) {
  GrpcTransportOptions options = GrpcRig::local();
  options.waiting_max = 2;
  options.streams_max = 1;
  GrpcRig rig(options);
  std::vector<GrpcPeer::Call> held;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) { held.push_back(call); });
  rig.start(peer.url());
  rig.until([&] { return held.size() == 1; });
  const AttemptId second = rig.start(peer.url());
  const AttemptId third = rig.start(peer.url());
  EXPECT_EQ(rig.end_of(rig.start(peer.url())).end, WireEnd::kHeldBack);
  EXPECT_FALSE(rig.has_ended(second) || rig.has_ended(third));
}

// req: daemon.grpc.8
TEST(GrpcLimits, RequestsAreBounded) {
  GrpcTransportOptions options = GrpcRig::local();
  options.request_bytes_max = 10;
  GrpcRig rig(options);
  GrpcPeer peer(rig.loop, always_good());
  EXPECT_EQ(rig.call(peer.url(), std::string(10, 'x')).end, WireEnd::kAnswered);
  EXPECT_EQ(rig.call(peer.url(), std::string(11, 'x')).end, WireEnd::kForbidden);
}

// req: daemon.grpc.8
TEST(GrpcLimits, ConnectionsAreBoundedAndAnIdleOneMakesRoom) {
  GrpcTransportOptions options = GrpcRig::local();
  options.connections_max = 2;
  GrpcRig rig(options);
  std::vector<GrpcPeer::Call> held;
  const auto hold = [&](const GrpcPeer::Call& call) { held.push_back(call); };
  GrpcPeer first(rig.loop, always_good());
  GrpcPeer second(rig.loop, hold);
  GrpcPeer third(rig.loop, hold);
  GrpcPeer fourth(rig.loop, hold);
  EXPECT_EQ(rig.call(first.url()).status, 0);
  rig.start(second.url());
  rig.start(third.url());
  rig.until([&] { return held.size() == 2; });
  EXPECT_EQ(rig.transport->connections(), 2U);
  rig.until([&] { return first.open == 0; });
  const AttemptId waits = rig.start(fourth.url());
  rig.advance(2'999ms);
  EXPECT_FALSE(rig.has_ended(waits));
  rig.advance(1ms);
  EXPECT_EQ(rig.end_of(waits).end, WireEnd::kHeldBack);
  const AttemptId served = rig.start(fourth.url());
  held.front().answer(good_answer(""));
  rig.until([&] { return held.size() == 3; });
  held.back().answer(good_answer(""));
  EXPECT_EQ(rig.end_of(served).status, 0);
}

// req: daemon.grpc.10
TEST(GrpcConnection, IsClosedAfterItsIdleTime) {
  GrpcRig rig;
  GrpcPeer peer(rig.loop, always_good());
  EXPECT_EQ(rig.call(peer.url()).status, 0);
  rig.advance(299'999ms);
  EXPECT_EQ(rig.transport->connections(), 1U);
  rig.advance(1ms);
  EXPECT_EQ(rig.transport->connections(), 0U);
  rig.until([&] { return peer.open == 0; });
  EXPECT_EQ(rig.call(peer.url()).status, 0);
  EXPECT_EQ(peer.accepted, 2);
}

// req: daemon.grpc.10
TEST(GrpcConnection, ThatWasSilentIsProvenByAPingBeforeTheNextCall) {
  GrpcRig rig;
  GrpcPeer peer(rig.loop, always_good());
  EXPECT_EQ(rig.call(peer.url()).status, 0);
  rig.advance(9'999ms);
  EXPECT_EQ(rig.call(peer.url()).status, 0);
  EXPECT_EQ(peer.pings, 0);
  rig.advance(10s);
  EXPECT_EQ(rig.call(peer.url()).status, 0);
  EXPECT_EQ(peer.pings, 1);
  EXPECT_EQ(peer.accepted, 1);
}

// req: daemon.grpc.10
TEST(GrpcConnection, ThatDoesNotAnswerThePingIsReplacedAndNothingIsLost) {
  GrpcRig rig;
  int calls = 0;
  GrpcPeer peer(rig.loop,
                [&](const GrpcPeer::Call& call) {
                  ++calls;
                  call.answer(good_answer("ok"));
                },
                {.answers_pings = false});
  EXPECT_EQ(rig.call(peer.url()).status, 0);
  rig.advance(10s);
  const AttemptId next = rig.start(peer.url());
  rig.until([&] { return peer.pings == 1; });
  EXPECT_EQ(calls, 1);
  rig.advance(5s);
  EXPECT_EQ(rig.end_of(next).end, WireEnd::kAnswered);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(peer.accepted, 2);
}

// req: daemon.grpc.11
TEST(GrpcConnection, AfterGoAwayNewCallsUseANewOneAndOldOnesEndOnTheOld) {
  GrpcRig rig;
  std::vector<GrpcPeer::Call> held;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) { held.push_back(call); });
  const AttemptId old = rig.start(peer.url());
  rig.until([&] { return held.size() == 1; });
  held[0].go_away((1U << 31) - 1);  // the first, polite one
  rig.settle();
  const AttemptId fresh = rig.start(peer.url());
  rig.until([&] { return held.size() == 2; });
  EXPECT_EQ(held[1].connection, 2);
  held[1].answer(good_answer("new"));
  EXPECT_EQ(rig.end_of(fresh).body, "new");
  held[0].answer(good_answer("old"));
  EXPECT_EQ(rig.end_of(old).body, "old");
  rig.until([&] { return peer.open == 1; });
  EXPECT_EQ(rig.transport->connections(), 1U);
}

// req: daemon.grpc.11
TEST(GrpcConnection, IsReplacedWhenItsStreamNumbersAreUsedUp) {
  GrpcTransportOptions options = GrpcRig::local();
  options.calls_per_connection_max = 3;
  GrpcRig rig(options);
  GrpcPeer peer(rig.loop, always_good());
  for (int i = 0; i < 7; ++i) EXPECT_EQ(rig.call(peer.url()).status, 0);
  EXPECT_EQ(peer.accepted, 3);
  EXPECT_EQ(rig.transport->connections(), 1U);
}

// req: daemon.grpc.12
TEST(GrpcAbort, TakesACallOffWhereverItIs) {
  GrpcTransportOptions options = GrpcRig::local();
  options.streams_max = 1;
  GrpcRig rig(options);
  std::vector<GrpcPeer::Call> held;
  GrpcPeer peer(rig.loop, [&](const GrpcPeer::Call& call) { held.push_back(call); });
  const AttemptId on_stream = rig.start(peer.url());
  rig.until([&] { return held.size() == 1; });
  const AttemptId waiting = rig.start(peer.url());
  const AttemptId last = rig.start(peer.url());
  rig.transport->abort(waiting);
  rig.transport->abort(on_stream);
  rig.transport->abort(AttemptId(999));
  rig.until([&] { return held.size() == 2; });
  EXPECT_EQ(peer.resets, 1);
  held[0].answer(good_answer("late"));
  held[1].answer(good_answer("mine"));
  EXPECT_EQ(rig.end_of(last).body, "mine");
  EXPECT_FALSE(rig.has_ended(on_stream) || rig.has_ended(waiting));
  EXPECT_EQ(peer.accepted, 1);
}

// req: daemon.grpc.12
TEST(GrpcAbort, ToldAttemptsMayStartAbortAndClose) {
  GrpcRig rig;
  GrpcPeer peer(rig.loop, always_good());
  int more = 3;
  rig.on_end = [&](AttemptId) {
    if (more-- > 0) rig.start(peer.url());
    if (more == 0) rig.transport->close();
  };
  rig.start(peer.url());
  rig.until([&] { return more == 0; });
  rig.settle();
  EXPECT_EQ(rig.order.size(), 3U);
}

TEST(GrpcOptions, NameWhatIsWrong) {
  boost::asio::io_context loop;
  const auto problem = [&](const std::function<void(GrpcTransportOptions&)>& change) {
    GrpcTransportOptions options;
    change(options);
    const auto made = GrpcTransport::make(loop, options, {});
    return made ? std::string("none") : made.error().detail;
  };
  EXPECT_EQ(problem([](auto& o) { o.streams_max = 0; }), "streams_max must be at least 1");
  EXPECT_EQ(problem([](auto& o) { o.ping_time_out = Duration(0); }), "ping_time_out must not be 0");
  EXPECT_TRUE(problem([](auto& o) { o.allow = {"nonsense"}; }).starts_with("allow: "));
  EXPECT_TRUE(problem([](auto& o) { o.trust_file = "/nowhere"; }).starts_with("trust_file: "));
  EXPECT_EQ(problem([](auto&) {}), "none");
}

}  // namespace
}  // namespace postrider
