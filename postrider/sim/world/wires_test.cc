#include "postrider/sim/world/wires.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace postrider::sim {
namespace {

// Two machines with a wire each, and what the wires told.
class TwoWires {
 public:
  explicit TwoWires(WireFaults faults = {}, std::uint64_t seed = 1, LineLimits limits = {})
      : agenda_(Timestamp(1'000'000)),
        wires_({agenda_, [](const std::string&, LineId, std::string_view) {},
                [this](std::string what) { violations.push_back(std::move(what)); }},
               limits, faults, Rng(seed)) {
    for (int i = 0; i < 2; ++i) plug(i);
  }
  void plug(int machine) {
    wire[machine] = std::make_unique<SimWire>(
        wires_, machine == 0 ? "a" : "b",
        [this, machine](const station::Happened& happened) { note(machine, happened); },
        [this] { ++writes; });
  }
  void note(int machine, const station::Happened& happened) {
    Told& told = tolds[machine];
    if (const auto* opened = std::get_if<station::LineOpened>(&happened)) {
      told.opened.push_back(opened->line);
      if (opened->listener.is_set()) told.accepted.push_back(opened->line);
    } else if (const auto* took = std::get_if<station::LineTook>(&happened)) {
      ++told.pieces;
      told.took += took->bytes;
      told.from = took->from;
    } else if (std::holds_alternative<station::LineDrained>(happened)) {
      ++told.drained;
    } else if (const auto* closed = std::get_if<station::LineClosed>(&happened)) {
      told.ends.emplace_back(closed->line, closed->end);
    }
  }
  void run(Duration span = Duration(600'000)) {
    const Timestamp end = agenda_.now() + span;
    while (!agenda_.empty() && agenda_.next_at() <= end) agenda_.run_next();
  }
  // A stream from a to b: its line at a is 1, at b the one that was accepted.
  void connect() {
    wire[1]->open(LineId(1), {.address = "tcp://b:1", .listens = true});
    run(Duration(1));
    wire[0]->open(LineId(1), {.address = "tcp://b:1"});
    run(Duration(30'000));
  }
  struct Told {
    std::vector<LineId> opened;
    std::vector<LineId> accepted;
    std::vector<std::pair<LineId, LineEnd>> ends;
    std::string took;
    std::string from;
    int pieces = 0;
    int drained = 0;
  };
  const Wires::Counts& counts() const { return wires_.counts(); }

  Agenda agenda_;
  Wires wires_;
  std::unique_ptr<SimWire> wire[2];
  Told tolds[2];
  std::vector<std::string> violations;
  int writes = 0;
};

std::string numbers(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += std::to_string(i) + " ";
  return out;
}

// req: station.sim.2
RC_GTEST_PROP(SimWires, AStreamIsCutAnywhereAndKeepsItsOrder, (std::uint16_t seed)) {
  TwoWires world({.clogged = 100, .late = 300}, seed);
  world.connect();
  RC_ASSERT(world.tolds[1].accepted.size() == 1U);
  const std::string text = numbers(300);
  for (std::size_t at = 0; at < text.size(); at += 100)
    world.wire[0]->write(LineId(1), text.substr(at, 100), {});
  world.run();
  RC_ASSERT(world.tolds[1].took == text);
  RC_ASSERT(world.tolds[0].ends.empty());
}

TEST(SimWires, CutsStreamsIntoPieces) {  // req: station.sim.2
  int pieces = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TwoWires world({}, seed);
    world.connect();
    world.wire[0]->write(LineId(1), numbers(1000), {});
    world.run();
    EXPECT_EQ(world.tolds[1].took, numbers(1000));
    EXPECT_EQ(world.writes, 1);
    pieces += world.tolds[1].pieces;
  }
  EXPECT_GT(pieces, 25);
}

TEST(SimWires, AnOpeningWithoutAListenerIsRefused) {  // req: station.sim.2
  TwoWires world;
  world.wire[0]->open(LineId(1), {.address = "tcp://b:1"});
  world.run();
  ASSERT_EQ(world.tolds[0].ends.size(), 1U);
  EXPECT_EQ(world.tolds[0].ends[0].second, LineEnd::kRefused);
  world.wire[1]->open(LineId(1), {.address = "tcp://b:1", .listens = true});
  world.wire[1]->open(LineId(2), {.address = "tcp://b:1", .listens = true});
  world.run();
  ASSERT_EQ(world.tolds[1].ends.size(), 1U) << "one address, one listener";
}

TEST(SimWires, NothingReachesAHeldLineAndNothingIsLost) {  // req: station.sim.2
  TwoWires world;
  world.connect();
  const LineId there = world.tolds[1].accepted.at(0);
  world.wire[1]->hold(there, true);
  world.wire[0]->write(LineId(1), "patience", {});
  world.run();
  EXPECT_EQ(world.tolds[1].took, "");
  world.wire[1]->hold(there, false);
  world.run();
  EXPECT_EQ(world.tolds[1].took, "patience");
}

TEST(SimWires, WhatWasWrittenBeforeACloseArrivesBeforeItsEnd) {  // req: station.sim.2
  TwoWires world;
  world.connect();
  world.wire[0]->write(LineId(1), numbers(200), {});
  world.wire[0]->close(LineId(1));
  world.run();
  EXPECT_EQ(world.tolds[1].took, numbers(200));
  ASSERT_EQ(world.tolds[1].ends.size(), 1U);
  EXPECT_TRUE(world.tolds[0].ends.empty()) << "nothing is told after a close";
}

TEST(SimWires, MoreThanMayWaitIsAnOverflow) {  // req: station.sim.2
  TwoWires world({}, 1, {.unsent_bytes_max = 1000});
  world.connect();
  world.wire[1]->hold(world.tolds[1].accepted.at(0), true);
  world.wire[0]->write(LineId(1), std::string(1000, 'x'), {});
  world.run();
  EXPECT_TRUE(world.tolds[0].ends.empty());
  world.wire[0]->write(LineId(1), "x", {});
  world.run();
  ASSERT_EQ(world.tolds[0].ends.size(), 1U);
  EXPECT_EQ(world.tolds[0].ends[0].second, LineEnd::kOverflow);
  ASSERT_EQ(world.tolds[1].ends.size(), 1U);
  EXPECT_EQ(world.tolds[1].ends[0].second, LineEnd::kLost);
}

TEST(SimWires, ALineThatHadToWaitTellsThatItIsDrained) {  // req: station.sim.2
  TwoWires world;
  world.connect();
  world.wire[0]->write(LineId(1), "little", {});
  world.run();
  EXPECT_EQ(world.tolds[0].drained, 0);
  world.wire[0]->write(LineId(1), std::string(100'000, 'x'), {});
  world.run();
  EXPECT_EQ(world.tolds[0].drained, 1);
}

TEST(SimWires, ACrashLeavesTheFarSideHalfOpenUntilItWrites) {  // req: station.sim.2
  int told = 0;
  int never = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    TwoWires world({}, seed);
    world.connect();
    world.wire[1]->die();
    world.run();
    EXPECT_TRUE(world.tolds[0].ends.empty()) << "nothing tells it";
    world.wire[0]->write(LineId(1), "hello?", {});
    world.run();
    (world.tolds[0].ends.empty() ? never : told) += 1;
    world.wire[1]->write(world.tolds[1].accepted.at(0), "ghost", {});
    EXPECT_TRUE(world.violations.empty()) << "a process that is dead does nothing";
  }
  EXPECT_GT(told, 0);
  EXPECT_GT(never, 0);
}

TEST(SimWires, AResetEndsBothSides) {  // req: station.sim.2
  TwoWires world({.reset = 1000});
  world.connect();
  world.wire[0]->write(LineId(1), "x", {});
  world.run();
  EXPECT_EQ(world.tolds[0].ends.size(), 1U);
  EXPECT_EQ(world.tolds[1].ends.size(), 1U);
  EXPECT_EQ(world.tolds[1].took, "");
}

TEST(SimWires, AWayThatIsDeadSwallowsAndTellsNothing) {  // req: station.sim.2
  TwoWires world({.dead = 1000});
  world.connect();
  world.wire[0]->write(LineId(1), "x", {});
  world.run();
  EXPECT_EQ(world.tolds[1].took, "");
  EXPECT_TRUE(world.tolds[0].ends.empty());
  EXPECT_EQ(world.counts().dead, 1U);
  world.wires_.heal();
  world.wire[0]->write(LineId(1), "y", {});
  world.run();
  EXPECT_EQ(world.tolds[1].took, "") << "what is dead stays so";
}

TEST(SimWires, DatagramsAreLostDoubledAndReordered) {  // req: station.sim.2
  TwoWires world({.lost = 300, .doubled = 300, .late = 300}, 5);
  world.wire[0]->open(LineId(1), {.address = "udp://a:1", .listens = true});
  world.wire[1]->open(LineId(1), {.address = "udp://b:1", .listens = true});
  for (int i = 0; i < 300; ++i)
    world.wire[0]->write(LineId(1), std::string(1, static_cast<char>('a' + i % 26)), "udp://b:1");
  world.run();
  const Wires::Counts& counts = world.counts();
  EXPECT_GT(counts.lost, 50U);
  EXPECT_GT(counts.doubled, 30U);
  EXPECT_EQ(static_cast<std::uint64_t>(world.tolds[1].pieces), 300U - counts.lost + counts.doubled);
  EXPECT_NE(world.tolds[1].took.substr(0, 26), "abcdefghijklmnopqrstuvwxyz");
  EXPECT_EQ(world.tolds[1].from, "udp://a:1");
}

TEST(SimWires, AConnectedDatagramLineIsAnswered) {  // req: station.sim.2
  TwoWires world;
  world.wire[1]->open(LineId(1), {.address = "udp://b:1", .listens = true});
  world.wire[0]->open(LineId(1), {.address = "udp://b:1"});
  world.wire[0]->write(LineId(1), "ping", {});
  world.run();
  world.wire[1]->write(LineId(1), "pong", world.tolds[1].from);
  world.run();
  EXPECT_EQ(world.tolds[0].took, "pong");
}

TEST(SimWires, AWriteToALineThatIsOverIsSeen) {  // req: station.sim.4
  TwoWires world;
  world.connect();
  world.wire[0]->close(LineId(1));
  world.wire[0]->write(LineId(1), "x", {});
  EXPECT_EQ(world.violations.size(), 1U);
}

}  // namespace
}  // namespace postrider::sim
