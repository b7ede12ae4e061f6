// What all authorities share on the way out by gRPC, and that none of them, and no crowd of them,
// can keep the others from it: names, connections, room to wait.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/transports/grpc/grpc_peer_testing.h"
#include "postrider/transports/grpc/grpc_transport.h"

namespace postrider {
namespace {

GrpcPeer::Handler answers() {
  return [](const GrpcPeer::Call& call) { call.answer(good_answer("")); };
}

std::string url_of(const std::string& name, std::uint16_t port) {
  return "http://" + name + ":" + std::to_string(port) + "/api.DeviceService/Enqueue";
}

// req: daemon.ways.8
TEST(GrpcIsolation, ManyAuthoritiesThatHangLeaveAConnectionForOneThatAnswers) {
  GrpcTransportOptions options = GrpcRig::local();
  options.connections_max = 16;
  GrpcRig rig(options);
  GrpcPeer good(rig.loop, answers());
  Peer hangs(rig.loop, [](Link& link) -> Task { co_await link.gone(); });  // and greets nobody
  EXPECT_EQ(rig.call(good.url()).status, 0);
  rig.advance(300s);  // its connection is closed for being idle
  EXPECT_EQ(rig.transport->connections(), 0U);
  std::vector<AttemptId> crowd;
  for (int i = 0; i < 50; ++i) {
    const std::string name = "hang" + std::to_string(i) + ".example";
    rig.names.known[name] = {{"127.0.0.1", 3600}};
    crowd.push_back(rig.start(url_of(name, hangs.port())));
  }
  rig.until([&] { return hangs.accepted == 14; });
  rig.settle();
  EXPECT_EQ(rig.transport->connections(), 14U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(rig.call(good.url()).status, 0);
  // Who had no connection of ours is held back; who had one and was not greeted is not.
  rig.advance(3s);
  int held_back = 0;
  for (const AttemptId attempt : crowd) {
    if (!rig.has_ended(attempt)) continue;
    EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kHeldBack);
    ++held_back;
  }
  EXPECT_EQ(held_back, 36);
}

// req: daemon.ways.8
TEST(GrpcIsolation, AnAuthorityThatWaitsGetsTheConnectionThatIsGivenUp) {
  GrpcTransportOptions options = GrpcRig::local();
  options.connections_max = 1;
  GrpcRig rig(options);
  std::vector<GrpcPeer::Call> held;
  GrpcPeer slow(rig.loop, [&](const GrpcPeer::Call& call) { held.push_back(call); });
  GrpcPeer good(rig.loop, answers());
  const AttemptId first = rig.start(slow.url());
  rig.until([&] { return held.size() == 1; });
  const AttemptId waits = rig.start(good.url());
  rig.settle();
  EXPECT_FALSE(rig.has_ended(waits));
  held.front().answer(good_answer(""));
  EXPECT_EQ(rig.end_of(first).status, 0);
  EXPECT_EQ(rig.end_of(waits).status, 0);
  EXPECT_EQ(rig.transport->connections(), 1U);
}

// req: daemon.ways.7
TEST(GrpcIsolation, NamesThatAreNeverAnsweredDoNotStopThoseThatAnsweredLately) {
  GrpcTransportOptions options = GrpcRig::local();
  options.names_asking_max = 16;
  GrpcRig rig(options);
  GrpcPeer good(rig.loop, answers());
  rig.names.silent_below = "void.example";
  rig.names.known["good.example"] = {{"127.0.0.1", 1}};
  const std::string url = good.url("/api.DeviceService/Enqueue", "good.example");
  EXPECT_EQ(rig.call(url).status, 0);
  rig.advance(300s);
  EXPECT_EQ(rig.transport->connections(), 0U);
  std::vector<AttemptId> silent;
  for (int i = 0; i < 300; ++i)
    silent.push_back(rig.start(url_of("s" + std::to_string(i) + ".void.example", 1)));
  rig.settle();
  EXPECT_EQ(rig.call(url).status, 0);
  for (int i = 0; i < 3; ++i) rig.advance(1s);
  int held_back = 0;
  for (const AttemptId attempt : silent) {
    if (!rig.has_ended(attempt)) continue;
    EXPECT_EQ(rig.end_of(attempt).end, WireEnd::kHeldBack);
    ++held_back;
  }
  EXPECT_GT(held_back, 200);
}

// req: daemon.ways.8
TEST(GrpcIsolation, CallsThatWaitForOneAuthorityLeaveRoomForOthers) {
  GrpcTransportOptions options = GrpcRig::local();
  options.waiting_max = 16;
  options.streams_max = 1;
  GrpcRig rig(options);
  int calls = 0;
  GrpcPeer slow(rig.loop, [&](const GrpcPeer::Call&) { ++calls; });
  GrpcPeer good(rig.loop, answers());
  rig.start(slow.url());
  rig.until([&] { return calls == 1; });
  for (int i = 0; i < 20; ++i) rig.start(slow.url());
  EXPECT_EQ(rig.transport->waiting(), 14U);
  EXPECT_EQ(rig.call(good.url()).status, 0);
}

}  // namespace
}  // namespace postrider
