#include "postrider/transports/wire/loop_wire.h"

#include <filesystem>
#include <sys/resource.h>
#include <sys/stat.h>

#include "postrider/transports/wire/loop_wire_testing.h"

namespace postrider {
namespace {

TEST_F(LoopWireTest, CarriesBytesBothWays) {  // req: station.line.1
  const LineId listener = listen();
  const LineId ours = open({.address = "tcp://" + of(listener).peer});
  const LineId theirs = accept();
  EXPECT_EQ(of(theirs).listener, listener);
  EXPECT_NE(theirs.value() & kAcceptedLine, 0U);
  wire->write(ours, "ping", "");
  until([&] { return of(theirs).took == "ping"; });
  wire->write(theirs, "pong", "");
  until([&] { return of(ours).took == "pong"; });
  wire->close(ours);
  EXPECT_EQ(end_of(theirs), "lost");
  EXPECT_TRUE(of(ours).ends.empty()) << "nothing is told after a close";
  wire->close(listener);
  EXPECT_EQ(wire->lines(), 0U);
}

TEST_F(LoopWireTest, WhatIsWrittenBeforeALineIsOpenWaits) {  // req: station.line.1
  const LineId listener = listen();
  const LineId ours(++last);
  wire->open(ours, {.address = "tcp://" + of(listener).peer});
  wire->write(ours, "early ", "");
  wire->write(ours, "words", "");
  const LineId theirs = accept();
  until([&] { return of(theirs).took == "early words"; });
}

TEST_F(LoopWireTest, AnAddressWithoutAListenerIsRefused) {  // req: station.line.2
  const LineId listener = listen();
  const std::string address = of(listener).peer;
  wire->close(listener);
  const LineId ours = open({.address = "tcp://" + address});
  EXPECT_EQ(end_of(ours), "refused");
  EXPECT_EQ(wire->lines(), 0U);
}

TEST_F(LoopWireTest, AnAddressThatIsTakenIsRefused) {  // req: station.line.2
  const LineId listener = listen();
  EXPECT_EQ(end_of(open({.address = "tcp://" + of(listener).peer, .listens = true})), "refused");
}

TEST_F(LoopWireTest, WaysThatAreNotBuiltAreNamed) {  // req: station.line.3
  const LineId socks = open({.address = "socks5://127.0.0.1:9050/abc.onion:443"});
  EXPECT_EQ(end_of(socks), "bad-address");
  EXPECT_NE(of(socks).ends[0].second.find("SOCKS5"), std::string::npos);
  const LineId group = open({.address = "udp://[::]:0", .listens = true, .group = "ff12::1%lo"});
  EXPECT_EQ(end_of(group), "bad-address");
  EXPECT_NE(of(group).ends[0].second.find("multicast"), std::string::npos);
  EXPECT_EQ(end_of(open({.address = "smoke:signals"})), "bad-address");
  EXPECT_EQ(end_of(open({.address = "tcp://x.example:0", .listens = true})), "bad-address");
  EXPECT_EQ(end_of(open({.address = "tcp://127.0.0.1:1", .peer_key = "short"})), "bad-address");
}

TEST_F(LoopWireTest, ARefusalThatIsClosedFirstIsNotTold) {  // req: station.line.4
  wire->open(LineId(++last), {.address = "smoke:signals"});
  wire->close(LineId(last));
  settle();
  EXPECT_TRUE(lines.empty());
}

TEST_F(LoopWireTest, ANameIsResolvedAndAForeignPrivateAddressIsNot) {  // req: station.guard.1
  names.known["here.example"] = {{.address = "127.0.0.1"}};
  const LineId listener = listen();
  const std::string port = of(listener).peer.substr(of(listener).peer.find(':'));
  const LineId ours = open({.address = "tcp://Here.example" + port});
  EXPECT_TRUE(of(ours).opened) << "an address of the configuration may be private";
  const auto foreign = [&](const std::string& host) {
    return end_of(open({.address = host + port, .foreign = true}));
  };
  EXPECT_EQ(foreign("tcp://here.example"), "forbidden");
  EXPECT_EQ(foreign("tcp://127.0.0.1"), "forbidden");
  EXPECT_EQ(foreign("tcp://[::ffff:127.0.0.1]"), "forbidden");
  EXPECT_EQ(foreign("tcp://2130706433"), "forbidden");
  EXPECT_EQ(foreign("udp://127.0.0.1"), "forbidden");
  EXPECT_EQ(end_of(open({.address = "unix:/run/x", .foreign = true})), "forbidden");
  EXPECT_EQ(end_of(open({.address = "tcp://0.0.0.0:0", .listens = true, .foreign = true})),
            "forbidden");
  EXPECT_EQ(foreign("tcp://nowhere.example"), "no-name");
  make({.allow = {"127.0.0.0/8"}});
  const LineId again = listen();
  EXPECT_TRUE(of(open({.address = "tcp://" + of(again).peer, .foreign = true})).opened);
}

TEST_F(LoopWireTest, AFarSideThatDoesNotAnswerIsGivenUp) {  // req: station.line.2
  // A queue for no connection at all: two are kept there by the system, and others hear nothing.
  const int deaf = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const SocketPlace any = place_of({IpAddress::v4(0x7F000001), 0});
  ASSERT_EQ(::bind(deaf, any.raw(), any.size), 0);
  ASSERT_EQ(::listen(deaf, 0), 0);
  const std::string address = own_place(deaf);
  std::vector<LineId> ours;
  for (int i = 0; i < 4; ++i) {
    ours.emplace_back(++last);
    wire->open(ours.back(), {.address = "tcp://" + address});
  }
  settle();
  now = now + Duration(9'999);
  wire->sweep();
  settle();
  EXPECT_TRUE(of(ours.back()).ends.empty());
  now = now + Duration(1);
  wire->sweep();
  EXPECT_EQ(end_of(ours.back()), "refused");
  EXPECT_EQ(of(ours.back()).ends[0].second, "no answer in time");
  ::close(deaf);
}

TEST_F(LoopWireTest, AHalfClosedStreamIsTheEndOfTheLine) {  // req: station.foreign.1
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  client.send("last words");
  client.half_close();
  const LineId theirs = accept();
  EXPECT_EQ(end_of(theirs), "lost");
  EXPECT_EQ(of(theirs).took, "last words");
  until([&] {
    client.read();
    return client.ended;
  });
}

TEST_F(LoopWireTest, AResetIsTheEndOfTheLine) {  // req: station.foreign.1
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  client.reset();
  EXPECT_EQ(end_of(theirs), "lost");
  wire->write(theirs, "too late", "");
  settle();
  EXPECT_EQ(of(theirs).ends.size(), 1U);
}

TEST_F(LoopWireTest, AWriteIntoABrokenLineEndsItOnce) {  // req: station.foreign.1
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  wire->hold(theirs, true);  // so that reading does not notice it first
  client.reset();
  for (int i = 0; i < 3; ++i) {
    wire->write(theirs, "x", "");
    settle();
  }
  EXPECT_EQ(end_of(theirs), "lost");
}

TEST_F(LoopWireTest, ASlowFarSideOverflowsAtItsLimit) {  // req: station.limit.6
  constexpr std::size_t kLimit = 8 * kMiB;
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  const std::string piece(64 * 1024, 'x');
  std::size_t written = 0;
  while (of(theirs).ends.empty() && written < 64 * kMiB) {
    wire->write(theirs, piece, "");
    written += piece.size();
    settle();
  }
  EXPECT_EQ(end_of(theirs), "overflow");
  // What the system had taken still arrives; the rest was unsent.
  std::size_t got = 0;
  until([&] {
    got += client.read().size();
    return client.ended;
  });
  EXPECT_GT(written - got, kLimit) << "not before";
  EXPECT_LE(written - got, kLimit + piece.size()) << "and not later";
}

TEST_F(LoopWireTest, TheLimitOfUnsentBytesIsExact) {  // req: station.limit.6
  make({.limits = {.unsent_bytes_max = 1000}});
  const int deaf = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const SocketPlace any = place_of({IpAddress::v4(0x7F000001), 0});
  ASSERT_EQ(::bind(deaf, any.raw(), any.size), 0);
  ASSERT_EQ(::listen(deaf, 0), 0);
  // Lines that are not open yet keep everything that is written.
  std::vector<LineId> ours;
  for (int i = 0; i < 4; ++i) {
    ours.emplace_back(++last);
    wire->open(ours.back(), {.address = "tcp://" + own_place(deaf)});
  }
  wire->write(ours[3], std::string(999, 'x'), "");
  wire->write(ours[3], "x", "");
  settle();
  EXPECT_TRUE(of(ours[3]).ends.empty());
  wire->write(ours[3], "x", "");
  EXPECT_EQ(end_of(ours[3]), "overflow");
  ::close(deaf);
}

TEST_F(LoopWireTest, ALineThatHadToWaitTellsThatItIsDrained) {  // req: station.line.5
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  wire->write(theirs, "little", "");
  settle();
  EXPECT_EQ(of(theirs).drained, 0) << "it did not have to wait";
  const std::size_t size = 7 * kMiB;
  wire->write(theirs, std::string(size, 'x'), "");
  std::size_t got = 0;
  until([&] {
    got += client.read().size();
    return got == size + 6;
  });
  until([&] { return of(theirs).drained == 1; });
  settle();
  EXPECT_EQ(of(theirs).drained, 1);
}

TEST_F(LoopWireTest, WhatWasWrittenBeforeACloseStillLeaves) {  // req: station.line.4
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  const std::size_t size = 6 * kMiB;
  wire->write(theirs, std::string(size, 'x'), "");
  wire->close(theirs);
  EXPECT_EQ(wire->lines(), 2U) << "it lingers";
  std::size_t got = 0;
  until([&] {
    got += client.read().size();
    return client.ended;
  });
  EXPECT_EQ(got, size);
  EXPECT_EQ(wire->lines(), 1U);
  EXPECT_TRUE(of(theirs).ends.empty());
  EXPECT_EQ(of(theirs).drained, 0);
}

TEST_F(LoopWireTest, AClosedLineLingersForItsTimeOnly) {  // req: station.line.4
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  wire->write(theirs, std::string(7 * kMiB, 'x'), "");
  wire->close(theirs);
  settle();
  now = now + Duration(4'999);
  wire->sweep();
  EXPECT_EQ(wire->lines(), 2U);
  now = now + Duration(1);
  wire->sweep();
  EXPECT_EQ(wire->lines(), 1U);
  settle();
  EXPECT_TRUE(of(theirs).ends.empty());
}

TEST_F(LoopWireTest, NothingIsReadFromAHeldLine) {  // req: station.hold.1
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  wire->hold(theirs, true);
  // A far side that floods fills what the system keeps, and then has to wait.
  std::size_t sent = 0;
  const std::string flood(kMiB, 'f');
  for (ssize_t took = 1; took > 0;) {
    took = client.send(flood);
    if (took > 0) sent += static_cast<std::size_t>(took);
    settle();
  }
  EXPECT_EQ(of(theirs).inputs, 0);
  EXPECT_LT(sent, 64 * kMiB);
  wire->hold(theirs, false);
  until([&] { return of(theirs).took.size() == sent; });
  client.send("more");
  until([&] { return of(theirs).took.size() == sent + 4; });
}

TEST_F(LoopWireTest, AFloodTakesTurnsWithOtherLines) {  // req: station.foreign.2
  const LineId listener = listen();
  RawSocket flooding = RawSocket::to(of(listener).peer);
  RawSocket modest = RawSocket::to(of(listener).peer);
  const LineId loud = accept();
  const LineId quiet = accept();
  const std::string flood(kMiB, 'f');
  while (flooding.send(flood) > 0) continue;
  modest.send("hello");
  const int before = of(loud).inputs;
  until([&] {
    flooding.send(flood);
    return of(quiet).took == "hello";
  });
  EXPECT_LE(of(loud).inputs - before, 8) << "one read for one wake-up";
}

TEST_F(LoopWireTest, OneReadIsOneInput) {  // req: station.line.1
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  const LineId theirs = accept();
  client.send("a");
  until([&] { return of(theirs).inputs == 1; });
  client.send("b");
  until([&] { return of(theirs).inputs == 2; });
  EXPECT_EQ(of(theirs).took, "ab");
}

TEST_F(LoopWireTest, AsManyLinesAsMayBeAndTheNextIsRefusedByName) {  // req: station.limit.7
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  if (files.rlim_max < 9'000) GTEST_SKIP() << "the system gives fewer than 9,000 descriptors";
  const rlimit before = files;
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  const LineId listener = listen();
  std::vector<RawSocket> clients;
  for (std::size_t i = 1; i < 4095; ++i) {
    clients.push_back(RawSocket::to(of(listener).peer));
    if (i % 256 == 0) until([&] { return accepted.size() == clients.size(); });
  }
  until([&] { return accepted.size() == 4094; });
  EXPECT_EQ(wire->lines(), 4095U);
  const LineId fits = open({.address = "udp://127.0.0.1:0", .listens = true});
  EXPECT_TRUE(of(fits).opened);
  EXPECT_EQ(wire->lines(), 4096U);
  EXPECT_EQ(wire->counts().refused, 0U);
  EXPECT_EQ(end_of(open({.address = "tcp://" + of(listener).peer})), "full");
  RawSocket surplus = RawSocket::to(of(listener).peer);
  until([&] {
    surplus.read();
    return surplus.ended;
  });
  EXPECT_EQ(wire->counts().refused, 2U);
  EXPECT_EQ(accepted.size(), 4094U);
  clients.pop_back();
  until([&] { return wire->lines() == 4095U; });
  RawSocket next = RawSocket::to(of(listener).peer);
  until([&] { return accepted.size() == 4095U; });
  wire.reset();
  ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST_F(LoopWireTest, DatagramsGoBothWays) {  // req: station.datagram.1
  const LineId here = open({.address = "udp://127.0.0.1:0", .listens = true});
  const LineId there = open({.address = "udp://" + of(here).peer});
  EXPECT_EQ(of(there).peer, of(here).peer);
  wire->write(there, "one", "");
  wire->write(there, "two", "");
  until([&] { return of(here).datagrams.size() == 2; });
  EXPECT_EQ(of(here).datagrams[0].second, "one");
  EXPECT_EQ(of(here).datagrams[1].second, "two");
  wire->write(here, "back", of(here).datagrams[0].first);
  until([&] { return of(there).datagrams.size() == 1; });
  EXPECT_EQ(of(there).datagrams[0].second, "back");
}

TEST_F(LoopWireTest, ADatagramIsLostWhenItCannotBeSent) {  // req: station.datagram.2
  const LineId here = open({.address = "udp://127.0.0.1:0", .listens = true});
  const LineId there = open({.address = "udp://" + of(here).peer});
  wire->write(there, std::string(65'507, 'x'), "");
  until([&] { return of(here).datagrams.size() == 1; });
  EXPECT_EQ(of(here).datagrams[0].second.size(), 65'507U);
  EXPECT_EQ(wire->counts().datagrams_lost, 0U);
  wire->write(there, std::string(65'508, 'x'), "");
  wire->write(here, "x", "nowhere.example:1");
  wire->write(here, "x", "");
  EXPECT_EQ(wire->counts().datagrams_lost, 3U);
  EXPECT_TRUE(of(here).ends.empty());
}

TEST_F(LoopWireTest, ADatagramToAForeignPrivateAddressIsLost) {  // req: station.guard.1
  const LineId here = open({.address = "udp://127.0.0.1:0", .listens = true});
  const LineId guarded = open({.address = "udp://127.0.0.1:0", .listens = true, .foreign = true});
  ASSERT_TRUE(of(guarded).opened);
  wire->write(guarded, "x", of(here).peer);
  EXPECT_EQ(wire->counts().datagrams_lost, 1U);
}

TEST_F(LoopWireTest, AHeldDatagramLineReadsNothing) {  // req: station.hold.1
  const LineId here = open({.address = "udp://127.0.0.1:0", .listens = true});
  wire->hold(here, true);
  RawSocket client = RawSocket::to(of(here).peer, SOCK_DGRAM);
  client.send("x");
  settle();
  EXPECT_TRUE(of(here).datagrams.empty());
  wire->hold(here, false);
  until([&] { return of(here).datagrams.size() == 1; });
  client.reset();
  settle();
  EXPECT_TRUE(of(here).ends.empty()) << "a datagram line has no far side that could close it";
}

TEST_F(LoopWireTest, UnixSocketsAreLinesToo) {  // req: station.unix.1
  const std::string path = ::testing::TempDir() + "postrider-wire-" + std::to_string(::getpid());
  const LineId listener = listen({.address = "unix:" + path});
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const LineId ours = open({.address = "unix:" + path});
  const LineId theirs = accept();
  wire->write(ours, "hello", "");
  until([&] { return of(theirs).took == "hello"; });
  EXPECT_EQ(end_of(open({.address = "unix:" + path, .listens = true})), "refused")
      << "the file of a living listener stays";
  wire->close(listener);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(end_of(open({.address = "unix:" + path})), "refused");
}

TEST_F(LoopWireTest, AFileThatACrashLeftIsReplaced) {  // req: station.unix.1
  const std::string path = ::testing::TempDir() + "postrider-left-" + std::to_string(::getpid());
  const SocketPlace place = place_of_unix(path, false);
  const int dead = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(dead, place.raw(), place.size), 0);
  ::close(dead);
  ASSERT_TRUE(std::filesystem::exists(path));
  const LineId listener = listen({.address = "unix:" + path});
  EXPECT_TRUE(of(open({.address = "unix:" + path})).opened);
  wire->close(listener);
}

TEST_F(LoopWireTest, AbstractNamesNeedNoFile) {  // req: station.unix.1
  const std::string name = "unix:@postrider-" + std::to_string(::getpid());
  listen({.address = name});
  EXPECT_TRUE(of(open({.address = name})).opened);
}

TEST_F(LoopWireTest, NothingIsToldAfterTheWireIsGone) {  // req: station.line.4
  const LineId listener = listen();
  RawSocket client = RawSocket::to(of(listener).peer);
  accept();
  client.send("x");
  wire->open(LineId(++last), {.address = "smoke:signals"});
  wire.reset();
  lines.clear();
  settle();
  EXPECT_TRUE(lines.empty());
}

TEST_F(LoopWireTest, ALineMayBeClosedByWhatItTells) {  // req: station.line.4
  const LineId listener = listen();
  on_note = [this](const station::Happened& happened) {
    if (const auto* took = std::get_if<station::LineTook>(&happened)) wire->close(took->line);
    if (const auto* opened = std::get_if<station::LineOpened>(&happened);
        opened != nullptr && opened->listener.is_set() && accepted.size() == 1)
      wire->close(opened->line);
  };
  RawSocket first = RawSocket::to(of(listener).peer);
  RawSocket second = RawSocket::to(of(listener).peer);
  second.send("x");
  until([&] {
    first.read();
    second.read();
    return first.ended && second.ended;
  });
  EXPECT_EQ(wire->lines(), 1U);
}

}  // namespace
}  // namespace postrider
