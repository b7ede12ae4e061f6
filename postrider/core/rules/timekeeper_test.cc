#include "postrider/core/rules/timekeeper.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "postrider/base/rng.h"

namespace postrider {
namespace {

constexpr Timestamp kWall(1'700'000'000'000);
constexpr Timestamp kBoot(5'000'000);

// A machine: boot time passes, and the wall may be set.
class Machine {
 public:
  Instant read() const { return {boot_, wall_, synchronised}; }
  void pass(Duration time) {
    boot_ = boot_ + time;
    wall_ = wall_ + time;
  }
  void set_wall_by(Duration by) { wall_ = wall_ + by; }
  Timestamp wall() const { return wall_; }

  Timestamp engine;  // as it was told last
  bool synchronised = true;

 private:
  Timestamp boot_ = kBoot;
  Timestamp wall_ = kWall;
};

Timestamp look(Machine& machine, Timekeeper& keeper) {
  machine.engine = keeper.now(machine.read());
  return machine.engine;
}

// Looks every second, as a busy engine does; engine time must follow boot time exactly all the
// while, from the last look on.
void run_steadily(Machine& machine, Timekeeper& keeper, Duration time) {
  const Timestamp told = machine.engine;
  Timestamp last = look(machine, keeper);
  ASSERT_TRUE(!told.is_set() || told == last);
  for (Duration passed = 0s; passed < time; passed += 1s) {
    machine.pass(1s);
    ASSERT_EQ(look(machine, keeper) - last, 1s) << passed.count();
    last = machine.engine;
  }
}

// req: engine.time.1
TEST(Timekeeper, StartsAtTheWall) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  EXPECT_EQ(look(machine, keeper), kWall);
  run_steadily(machine, keeper, 1h);
  EXPECT_EQ(look(machine, keeper), machine.wall());
  EXPECT_EQ(keeper.bias(), 0s);
  EXPECT_FALSE(keeper.take_step());
}

// req: engine.time.1
TEST(Timekeeper, StartsAtTheWallPlusItsBias) {
  Machine machine;
  Timekeeper keeper(machine.read(), kWall - 1h, {.bias = 30min});
  EXPECT_EQ(look(machine, keeper), kWall + 30min);
  EXPECT_EQ(keeper.bias(), 30min);
}

// req: engine.time.1, engine.time.5
TEST(Timekeeper, StartsAtTheFloorWhenTheWallIsBehindIt) {
  Machine machine;
  Timekeeper keeper(machine.read(), kWall + 1h, {.bias = 0s});
  EXPECT_EQ(keeper.bias(), 1h) << "known at once, because the first commit stores it";
  EXPECT_EQ(look(machine, keeper), kWall + 1h);
  EXPECT_EQ(keeper.bias(), 1h);
  run_steadily(machine, keeper, 1h);
  ASSERT_EQ(keeper.take_step()->by, -1h);
}

// A machine whose kernel does not vouch for its clock.
Machine doubtful() {
  Machine machine;
  machine.synchronised = false;
  return machine;
}

// req: engine.time.1
TEST(Timekeeper, ALeapAtTheStartIsBelievedWhenTheKernelVouchesForIt) {
  Machine machine;
  Timekeeper keeper(machine.read(), kWall - 60h, {});
  EXPECT_EQ(look(machine, keeper), kWall);
  EXPECT_EQ(keeper.doubt(), 0s);
  EXPECT_FALSE(keeper.take_doubt());
  EXPECT_FALSE(keeper.next_look());
}

// req: engine.time.1, engine.time.9
TEST(Timekeeper, ALeapOfADayIsBelievedAndMoreIsDoubted) {
  Machine machine = doubtful();
  Timekeeper day(machine.read(), kWall - 24h, {});
  EXPECT_EQ(day.now(machine.read()), kWall);
  Timekeeper more(machine.read(), kWall - 24h - 2ms, {});
  EXPECT_EQ(more.now(machine.read()), kWall - 24h - 1ms) << "from the floor, and after it";
  EXPECT_EQ(more.doubt(), 24h + 1ms);
  Timekeeper anew(machine.read(), Timestamp(), {});
  EXPECT_EQ(anew.now(machine.read()), kWall) << "a new store knows no better";
}

// req: engine.time.4, engine.time.9
TEST(Timekeeper, ALeapInDoubtIsBelievedWhenItHasStood) {
  Machine machine = doubtful();
  Timekeeper keeper(machine.read(), kWall - 60h, {});
  const Timestamp began = look(machine, keeper);
  EXPECT_EQ(keeper.take_doubt()->kind, DoubtNews::Kind::kDoubted);
  run_steadily(machine, keeper, 599s);
  EXPECT_EQ(machine.engine, began + 599s);
  EXPECT_TRUE(keeper.next_look());
  machine.pass(1s);
  EXPECT_EQ(look(machine, keeper), machine.wall());
  EXPECT_EQ(keeper.take_doubt()->kind, DoubtNews::Kind::kBelieved);
  EXPECT_EQ(keeper.doubt(), 0s);
  const WallBooks& books = keeper.books();
  EXPECT_EQ(books.meant(kWall - 60h), kWall - 60h) << "what was before is what it says";
  EXPECT_EQ(books.meant(began), kWall) << "what was made meanwhile was made by the wall";
  EXPECT_EQ(books.meant(began + 10min), kWall + 10min);
  EXPECT_EQ(books.meant(began + 10min + 1ms), began + 10min + 1ms);
  EXPECT_EQ(books.meant(machine.engine), machine.engine);
  EXPECT_EQ(books.bias, 0s);
}

// req: engine.time.9
TEST(Timekeeper, ALeapInDoubtIsBelievedWhenTheKernelComesToVouchForIt) {
  Machine machine = doubtful();
  Timekeeper keeper(machine.read(), kWall - 60h, {});
  run_steadily(machine, keeper, 30s);
  machine.set_wall_by(-2s);  // whoever sets it, sets it right
  machine.synchronised = true;
  EXPECT_EQ(look(machine, keeper), machine.wall());
  EXPECT_EQ(keeper.take_doubt()->kind, DoubtNews::Kind::kBelieved);
  EXPECT_EQ(keeper.books().meant(kWall - 60h + 1s), kWall - 2s + 999ms);
}

// req: engine.time.5, engine.time.9 — ten years ahead for a second and a half
TEST(Timekeeper, AWallThatIsTakenBackHasDoneNothing) {
  Machine machine = doubtful();
  machine.set_wall_by(10 * 365 * 24h);
  Timekeeper keeper(machine.read(), kWall - 5s, {});
  run_steadily(machine, keeper, 1s);
  machine.set_wall_by(-10 * 365 * 24h);
  machine.synchronised = true;
  EXPECT_EQ(look(machine, keeper), machine.wall()) << "as a start would have it: five seconds";
  EXPECT_EQ(keeper.books().bias, 0s);
  EXPECT_FALSE(keeper.books().in_doubt());
  EXPECT_EQ(keeper.take_doubt()->kind, DoubtNews::Kind::kTakenBack);
  EXPECT_EQ(keeper.books().meant(kWall - 5s + 1ms), kWall) << "made after the start, not before";
}

// req: engine.time.5 — set back to before the last commit
TEST(Timekeeper, AWallThatIsTakenBackBelowTheFloorBecomesABias) {
  Machine machine = doubtful();
  machine.set_wall_by(100h);
  Timekeeper keeper(machine.read(), kWall + 1h, {});
  const Timestamp began = look(machine, keeper);
  machine.set_wall_by(-100h);
  machine.pass(1s);
  EXPECT_EQ(look(machine, keeper), began + 1s);
  EXPECT_EQ(keeper.bias(), 1h + 1ms);
  EXPECT_TRUE(keeper.books().plain());
}

// req: engine.time.4, engine.time.9
TEST(Timekeeper, OnlyWhatHasStoodAllTheDoubtIsBelieved) {
  Machine machine = doubtful();
  machine.set_wall_by(1000h);
  Timekeeper keeper(machine.read(), kWall - 60h, {});
  run_steadily(machine, keeper, 1min);
  machine.set_wall_by(-1000h);
  run_steadily(machine, keeper, 539s);
  machine.pass(1s);
  EXPECT_EQ(look(machine, keeper), machine.wall());
}

// req: engine.time.9
TEST(Timekeeper, ADoubtGoesOnOverARestartAndIsSettledForBoth) {
  Machine machine = doubtful();
  Timekeeper first(machine.read(), kWall - 60h, {});
  const Timestamp began = look(machine, first);
  run_steadily(machine, first, 1min);
  const Timestamp floor = machine.engine;
  machine.pass(2min);
  Timekeeper second(machine.read(), floor, first.books());
  machine.engine = {};
  look(machine, second);
  EXPECT_EQ(second.books().doubt.from, kWall - 60h);
  machine.synchronised = true;
  Timekeeper third(machine.read(), machine.engine, second.books());
  EXPECT_EQ(look(machine, third), machine.wall());
  EXPECT_EQ(third.books().meant(began), began + 60h - 1ms);
  EXPECT_EQ(third.books().meant(floor + 1ms), floor + 60h);
  EXPECT_FALSE(third.books().in_doubt());
}

// req: engine.time.6
TEST(Timekeeper, AWallSetForwardAndBackChangesNothing) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  machine.set_wall_by(1h);
  run_steadily(machine, keeper, 9min);
  machine.set_wall_by(-1h);
  run_steadily(machine, keeper, 1h);
  EXPECT_EQ(look(machine, keeper), machine.wall());
  EXPECT_EQ(keeper.bias(), 0s);
}

// req: engine.time.4
TEST(Timekeeper, AForwardOffsetIsAdoptedInOneJumpWhenItHasStood) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  machine.set_wall_by(1h);
  run_steadily(machine, keeper, 10min - 1s);
  const Timestamp before = look(machine, keeper);
  machine.pass(1s);
  EXPECT_EQ(look(machine, keeper) - before, 1h + 1s);
  EXPECT_EQ(look(machine, keeper), machine.wall());
  run_steadily(machine, keeper, 1h);
}

// req: engine.time.4 — each return begins the ten minutes anew
TEST(Timekeeper, AForwardOffsetMustStandWithoutABreak) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  for (int i = 0; i < 5; ++i) {
    machine.set_wall_by(1h);
    run_steadily(machine, keeper, 9min);
    machine.set_wall_by(-1h);
    run_steadily(machine, keeper, 2s);
  }
}

// req: engine.time.4 — two hours have stood for a minute only
TEST(Timekeeper, OnlyWhatHasStoodAllTheTimeIsAdopted) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  machine.set_wall_by(1h);
  run_steadily(machine, keeper, 9min);
  machine.set_wall_by(1h);
  run_steadily(machine, keeper, 1min - 1s);
  const Timestamp before = look(machine, keeper);
  machine.pass(1s);
  EXPECT_EQ(look(machine, keeper) - before, 1h + 1s);
  run_steadily(machine, keeper, 9min - 1s);
  EXPECT_EQ(look(machine, keeper), machine.wall() - 1h) << "the second hour needs its own time";
  run_steadily(machine, keeper, 1min);
  machine.pass(1s);
  EXPECT_EQ(look(machine, keeper), machine.wall());
}

// req: engine.time.4 — it stands from when it was first seen
TEST(Timekeeper, AnOffsetFoundAfterALongSleepStandsFromThenOn) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  machine.pass(8h);
  machine.set_wall_by(1h);
  EXPECT_EQ(look(machine, keeper), kWall + 8h);
  machine.pass(10min);
  EXPECT_EQ(look(machine, keeper), kWall + 9h + 10min);
}

// req: engine.time.5
TEST(Timekeeper, ABackwardOffsetBecomesABias) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  machine.set_wall_by(-2h);
  run_steadily(machine, keeper, 24h);
  EXPECT_EQ(keeper.bias(), 2h);
  EXPECT_EQ(look(machine, keeper), machine.wall() + 2h);
}

// req: engine.time.5
TEST(Timekeeper, ARestartAfterABackwardOffsetGoesOnWithoutAJump) {
  Machine machine;
  Timekeeper first(machine.read(), Timestamp(), {.bias = 0s});
  machine.set_wall_by(-2h);
  run_steadily(machine, first, 1min);
  const Timestamp floor = look(machine, first);
  machine.pass(5s);
  Timekeeper second(machine.read(), floor, first.books());
  EXPECT_EQ(look(machine, second), floor + 5s);
  EXPECT_EQ(second.bias(), 2h);
  EXPECT_FALSE(second.take_step());
}

// req: engine.time.6 — else an hour would pass that never was
TEST(Timekeeper, AWallSetBackAndForwardChangesNothing) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  machine.set_wall_by(-1h);
  run_steadily(machine, keeper, 1h);
  machine.set_wall_by(1h);
  run_steadily(machine, keeper, 1h);
  EXPECT_EQ(keeper.bias(), 0s);
  EXPECT_EQ(look(machine, keeper), machine.wall());
}

// req: engine.time.6
TEST(Timekeeper, AWallThatReturnsTakesSoMuchOfTheBiasBackFromASecondOn) {
  for (const Duration by : {999ms, 1000ms, 1001ms}) {
    Machine machine;
    Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
    machine.set_wall_by(-10s);
    look(machine, keeper);
    ASSERT_EQ(keeper.bias(), 10s);
    machine.set_wall_by(by);
    EXPECT_EQ(look(machine, keeper), kWall);
    EXPECT_EQ(keeper.bias(), by < 1s ? 10s : 10s - by) << "less is corrected slowly";
  }
}

// req: engine.time.6
TEST(Timekeeper, TheLastMillisecondOfABiasIsTakenBackAsWell) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  machine.set_wall_by(-2s);
  look(machine, keeper);
  machine.set_wall_by(1999ms);
  look(machine, keeper);
  ASSERT_EQ(keeper.bias(), 1ms);
  machine.set_wall_by(1s);
  EXPECT_EQ(look(machine, keeper), kWall);
  EXPECT_EQ(keeper.bias(), 0ms);
}

// A restart finds the wall behind what was told before.
// req: engine.time.5, engine.time.7
TEST(Timekeeper, AStartBelowTheFloorHasExactLimits) {
  for (const Duration behind : {999ms, 1000ms, 59'999ms, 60'000ms, 60'001ms}) {
    const Machine machine;
    Timekeeper keeper(machine.read(), kWall + behind, {.bias = 0s});
    EXPECT_EQ(keeper.bias(), behind < 1s ? 0s : behind);
    const auto step = keeper.take_step();
    ASSERT_EQ(step.has_value(), behind > 1min) << behind.count();
    EXPECT_EQ(step ? step->by : -behind, -behind);
  }
}

TEST(Timekeeper, OnlyThePartBeyondTheBiasIsAForwardOffset) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  machine.set_wall_by(-1h);
  run_steadily(machine, keeper, 1min);
  machine.set_wall_by(3h);
  run_steadily(machine, keeper, 10min - 1s);
  EXPECT_EQ(keeper.bias(), 0s);
  machine.pass(1s);
  EXPECT_EQ(look(machine, keeper), machine.wall());
}

// req: engine.time.3
TEST(Timekeeper, ASmallErrorIsCorrectedSlowly) {
  for (const Duration by : {Duration(-999), Duration(-1), Duration(1), Duration(999)}) {
    Machine machine;
    Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
    machine.set_wall_by(by);
    const Duration needed = std::chrono::abs(by) * 2000;  // 500 ppm
    machine.pass(needed - 1ms);
    EXPECT_NE(look(machine, keeper), machine.wall()) << by.count();
    machine.pass(1ms);
    EXPECT_EQ(look(machine, keeper), machine.wall()) << by.count();
    EXPECT_EQ(keeper.bias(), 0s);
  }
}

// req: engine.time.3, engine.time.4, engine.time.5 — one second is no small error
TEST(Timekeeper, TheLimitOfSmallErrorsIsExact) {
  for (const Duration by : {-1000ms, 1000ms}) {
    Machine machine;
    Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
    machine.set_wall_by(by);
    run_steadily(machine, keeper, 10min - 1s);
    EXPECT_EQ(keeper.bias(), by < 0s ? 1s : 0s);
    EXPECT_EQ(look(machine, keeper), machine.wall() - by);
    machine.pass(1s);
    EXPECT_EQ(look(machine, keeper), by < 0s ? machine.wall() + 1s : machine.wall());
  }
}

// req: engine.time.3 — looking often must not correct faster, nor lose what has been allowed
TEST(Timekeeper, TheRateOfCorrectionDoesNotDependOnHowOftenItIsAsked) {
  for (const Duration pause : {1ms, 3ms, 700ms, 1000ms}) {
    Machine machine;
    Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
    machine.set_wall_by(500ms);
    Duration passed = 0ms;
    while (passed + pause < 100s) {
      machine.pass(pause);
      passed += pause;
      const Duration corrected = look(machine, keeper) - (kWall + passed);
      ASSERT_EQ(corrected, Duration(passed.count() * 500 / 1'000'000)) << pause.count();
    }
  }
}

// req: engine.time.3 — an hour without error must not pay for a later correction
TEST(Timekeeper, UnusedCorrectionIsNotSavedUp) {
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  run_steadily(machine, keeper, 1h);
  machine.set_wall_by(900ms);
  machine.pass(1s);
  EXPECT_EQ(look(machine, keeper), kWall + 1h + 1s);
}

// req: engine.time.7
TEST(Timekeeper, AStepAboveAMinuteIsToldOnce) {
  for (const Duration by : {Duration(-60'001), Duration(60'001)}) {
    Machine machine;
    Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
    machine.pass(10s);
    machine.set_wall_by(by);
    look(machine, keeper);
    const auto step = keeper.take_step();
    ASSERT_TRUE(step);
    EXPECT_EQ(step->by, by);
    machine.pass(10s);
    look(machine, keeper);
    EXPECT_FALSE(keeper.take_step());
  }
}

// req: engine.time.7
TEST(Timekeeper, AStepOfAMinuteIsNotTold) {
  for (const Duration by : {-1min, 1min}) {
    Machine machine;
    Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
    machine.pass(1h);
    machine.set_wall_by(by);
    look(machine, keeper);
    EXPECT_FALSE(keeper.take_step());
  }
}

TEST(Timekeeper, AMachineWithoutAClockHasATimeToo) {
  Timekeeper keeper({Timestamp(0), Timestamp(0)}, Timestamp(), {.bias = 0s});
  EXPECT_EQ(keeper.now({Timestamp(0), Timestamp(0)}), Timestamp(1));
}

TEST(Timekeeper, AClockBeyondItsBoundsIsTakenForOneAtThem) {
  constexpr Timestamp kLast(INT64_MAX / 1024);
  Timekeeper late({Timestamp(0), Timestamp(INT64_MAX)}, Timestamp(), {.bias = 0s});
  EXPECT_EQ(late.now({Timestamp(0), Timestamp(INT64_MAX)}), kLast);
  Timekeeper high({Timestamp(0), Timestamp(0)}, Timestamp(INT64_MAX), {.bias = 0s});
  EXPECT_EQ(high.now({Timestamp(0), Timestamp(0)}), kLast);
  Timekeeper early({Timestamp(-5), Timestamp(0)}, Timestamp(), {.bias = 0s});
  EXPECT_EQ(early.now({Timestamp(10), Timestamp(10)}), Timestamp(11)) << "it booted at 0";
}

std::int64_t any_time() {
  return *rc::gen::weightedOneOf<std::int64_t>(
      {{4, rc::gen::inRange<std::int64_t>(kWall.ms() - 10'000'000, kWall.ms() + 10'000'000)},
       {1, rc::gen::arbitrary<std::int64_t>()},
       {1, rc::gen::element<std::int64_t>(INT64_MIN, -1, 0, 1, INT64_MAX)}});
}

// req: engine.time.2
RC_GTEST_PROP(Timekeeper, NeverGoesBackWhateverTheClocksSay, ()) {
  const Timestamp floor(any_time());
  Timekeeper keeper({Timestamp(any_time()), Timestamp(any_time())}, floor,
                    {.bias = Duration(any_time())});
  Timestamp last = std::min(floor, Timestamp(INT64_MAX / 1024));
  for (int i = 0; i < 40; ++i) {
    const Timestamp now = keeper.now({Timestamp(any_time()), Timestamp(any_time())});
    RC_ASSERT(now >= last);
    last = now;
  }
}

// req: engine.time.2 — with restarts, each from the floor and bias that the one before would have
// stored
RC_GTEST_PROP(Timekeeper, NeverGoesBackOverRestarts, (std::uint64_t seed)) {
  Rng rng(seed);
  Machine machine;
  Timestamp last = kWall;
  WallBooks books;
  for (int life = 0; life < 4; ++life) {
    Timekeeper keeper(machine.read(), last, books);
    for (int i = 0; i < 100; ++i) {
      machine.pass(Duration(rng.between(0, 100'000)));
      if (rng.chance(1, 8)) machine.set_wall_by(Duration(rng.between(-4'000'000, 4'000'000)));
      if (rng.chance(1, 8)) machine.set_wall_by(Duration(rng.between(-1200, 1200)));
      const Timestamp now = look(machine, keeper);
      RC_ASSERT(now >= last);
      last = now;
    }
    books = keeper.books();
    if (rng.chance(1, 2)) machine.set_wall_by(Duration(rng.between(-4'000'000, 4'000'000)));
  }
}

// req: engine.time.3 — between jumps engine time runs at the rate of boot time, within 500 ppm and
// one tick
RC_GTEST_PROP(Timekeeper, RunsEvenlyWhileErrorsAreSmall, (std::uint64_t seed)) {
  Rng rng(seed);
  Machine machine;
  Timekeeper keeper(machine.read(), Timestamp(), {.bias = 0s});
  Timestamp last = kWall;
  for (int i = 0; i < 300; ++i) {
    const Duration passed(rng.between(0, 5000));
    machine.pass(passed);
    const Duration error = machine.wall() - (last + passed);
    const Duration nudge(rng.between(-300, 300));
    if (std::chrono::abs(error + nudge) < 1s) machine.set_wall_by(nudge);
    const Timestamp now = look(machine, keeper);
    const Duration drift = (now - last) - passed;
    RC_ASSERT(std::chrono::abs(drift) <= Duration(passed.count() * 500 / 1'000'000 + 1));
    last = now;
  }
  RC_ASSERT(keeper.bias() == 0s);
}

}  // namespace
}  // namespace postrider
