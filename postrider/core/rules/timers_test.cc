#include "postrider/core/rules/timers.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "postrider/base/rng.h"

namespace postrider {
namespace {

constexpr std::size_t kAll = SIZE_MAX;
constexpr Timestamp kTimersStart(1'700'000'000'000);

Timer numbered(std::uint32_t number) {
  return {.kind = TimerKind::kState, .id = {number, ~std::uint64_t{number}}, .slot = number};
}

std::vector<std::uint32_t> advance(Timers& timers, Timestamp now, std::size_t limit = kAll) {
  std::vector<Timer> fired;
  timers.advance(now, limit, fired);
  std::vector<std::uint32_t> numbers;
  numbers.reserve(fired.size());
  for (const Timer& timer : fired) numbers.push_back(timer.slot);
  return numbers;
}

using Numbers = std::vector<std::uint32_t>;

TEST(Timers, GiveBackWhatWasArmed) {
  Timers timers(kTimersStart);
  timers.arm(kTimersStart + 5ms, {.kind = TimerKind::kGate, .id = {7, 8}, .slot = 9});
  std::vector<Timer> fired;
  timers.advance(kTimersStart + 5ms, kAll, fired);
  ASSERT_EQ(fired.size(), 1U);
  EXPECT_EQ(fired[0].kind, TimerKind::kGate);
  EXPECT_EQ(fired[0].id, (MessageId{7, 8}));
  EXPECT_EQ(fired[0].slot, 9U);
}

// req: engine.timer.2
TEST(Timers, FireAtTheirTimeNotBeforeAndOnce) {
  for (const Duration after :
       {1ms, 255ms, 256ms, 257ms, 65'535ms, 65'536ms, 16'777'216ms, 4'294'967'296ms,
        Duration(1'099'511'627'776), Duration(4'000'000'000'000)}) {
    Timers timers(kTimersStart);
    timers.arm(kTimersStart + after, numbered(1));
    EXPECT_EQ(advance(timers, kTimersStart + after - 1ms), Numbers{}) << after.count();
    EXPECT_EQ(advance(timers, kTimersStart + after), Numbers{1}) << after.count();
    EXPECT_EQ(advance(timers, kTimersStart + after + 1ms), Numbers{}) << after.count();
    EXPECT_EQ(timers.size(), 0U);
  }
}

// req: engine.timer.2
TEST(Timers, OfThePresentAndThePastFireAtTheNextLook) {
  Timers timers(kTimersStart);
  timers.arm(kTimersStart, numbered(1));
  timers.arm(kTimersStart - 1h, numbered(2));
  timers.arm(Timestamp(-5), numbered(3));
  EXPECT_EQ(advance(timers, kTimersStart), (Numbers{3, 2, 1}));
}

// req: engine.timer.1 — the second one is armed when only its own slot is near
TEST(Timers, OfOneInstantKeepTheOrderOfArmingAcrossCascades) {
  for (const Duration distance : {260ms, 70'000ms, 20'000'000ms}) {
    Timers timers(kTimersStart);
    const Timestamp at = kTimersStart + distance;
    timers.arm(at, numbered(1));
    for (std::uint32_t step = 2; step < 12; ++step) {
      EXPECT_EQ(advance(timers, kTimersStart + distance * (step - 1) / 11), Numbers{});
      timers.arm(at, numbered(step));
    }
    advance(timers, at - 1ms);
    timers.arm(at, numbered(12));
    EXPECT_EQ(advance(timers, at), (Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  }
}

// req: engine.timer.6
TEST(Timers, ALimitLeavesTheRestDueInOrder) {
  Timers timers(kTimersStart);
  for (std::uint32_t i = 0; i < 10; ++i)
    timers.arm(kTimersStart + Duration(1 + i / 3), numbered(i));
  EXPECT_EQ(advance(timers, kTimersStart + 1h, 4), (Numbers{0, 1, 2, 3}));
  EXPECT_LE(*timers.next(), kTimersStart + 2ms);
  timers.arm(kTimersStart + 1ms, numbered(20));
  timers.arm(kTimersStart + 2ms, numbered(21));
  EXPECT_EQ(advance(timers, kTimersStart + 1h, 0), Numbers{});
  EXPECT_EQ(advance(timers, kTimersStart + 1h, 4), (Numbers{20, 4, 5, 21}));
  EXPECT_EQ(advance(timers, kTimersStart + 1h), (Numbers{6, 7, 8, 9}));
}

// req: engine.timer.3
TEST(Timers, CancelledOnesDoNotFire) {
  Timers timers(kTimersStart);
  const TimerHandle first = timers.arm(kTimersStart + 5ms, numbered(1));
  const TimerHandle middle = timers.arm(kTimersStart + 5ms, numbered(2));
  timers.arm(kTimersStart + 5ms, numbered(3));
  const TimerHandle past = timers.arm(kTimersStart - 5ms, numbered(4));
  const TimerHandle far = timers.arm(Timestamp::never(), numbered(5));
  for (const TimerHandle handle : {first, middle, past, far}) {
    EXPECT_TRUE(timers.armed(handle));
    timers.cancel(handle);
    EXPECT_FALSE(timers.armed(handle));
  }
  EXPECT_EQ(timers.size(), 1U);
  EXPECT_EQ(advance(timers, kTimersStart + 1h), Numbers{3});
  EXPECT_EQ(timers.next(), std::nullopt);
}

// req: engine.timer.3
TEST(Timers, AStaleHandleIsHarmless) {
  Timers timers(kTimersStart);
  const TimerHandle fired = timers.arm(kTimersStart + 1ms, numbered(1));
  advance(timers, kTimersStart + 1ms);
  timers.cancel(fired + (TimerHandle{1} << 32));
  const TimerHandle successor = timers.arm(kTimersStart + 5ms, numbered(2));
  EXPECT_FALSE(timers.armed(fired));
  timers.cancel(fired);
  timers.cancel(0);
  timers.cancel(~TimerHandle{0});
  EXPECT_TRUE(timers.armed(successor));
  EXPECT_EQ(advance(timers, kTimersStart + 5ms), Numbers{2});
  timers.cancel(successor);
  EXPECT_EQ(timers.size(), 0U);
}

TEST(Timers, NoHandleIsZero) {
  Timers timers(kTimersStart);
  EXPECT_NE(timers.arm(kTimersStart, numbered(0)), 0U);
}

// req: engine.timer.2 — the wheel turns over in the year 2039, and a timer may be armed for beyond
TEST(Timers, GoOnWhenTheWheelTurnsOver) {
  constexpr Timestamp kTurn(std::int64_t{2} << 40);
  Timers timers(kTurn - 10ms);
  timers.arm(kTurn + 5ms, numbered(1));
  timers.arm(kTurn - 5ms, numbered(2));
  timers.arm(kTurn + 5ms, numbered(3));
  timers.arm(kTurn + Duration(std::int64_t{1} << 41), numbered(4));
  EXPECT_EQ(advance(timers, kTurn), Numbers{2});
  timers.arm(kTurn + 5ms, numbered(5));
  EXPECT_LE(*timers.next(), kTurn + 5ms);
  EXPECT_EQ(advance(timers, kTurn + 4ms), Numbers{});
  EXPECT_EQ(advance(timers, kTurn + 5ms), (Numbers{1, 3, 5}));
  EXPECT_EQ(advance(timers, Timestamp::never()), Numbers{4});
}

// req: engine.timer.5 — ten thousand looks, each a month later, would be 2.6·10^13 ticks
TEST(Timers, IdleTimeIsFree) {
  Timers timers(kTimersStart);
  Timestamp now = kTimersStart;
  std::size_t fired = 0;
  for (int i = 0; i < 10'000; ++i) {
    timers.arm(now + 30 * 24h - 1ms, numbered(1));
    now = now + 30 * 24h;
    fired += advance(timers, now).size();
  }
  EXPECT_EQ(fired, 10'000U);
}

// req: engine.timer.5 — nodes are used again
TEST(Timers, MemoryFollowsTheGreatestNumberAtOneTime) {
  Timers timers(kTimersStart);
  for (std::uint32_t i = 0; i < 1000; ++i) timers.arm(kTimersStart + Duration(i), numbered(i));
  const std::size_t before = timers.memory_bytes();
  Timestamp now = kTimersStart;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    now = now + 1ms;
    for (std::size_t left = advance(timers, now).size(); left > 0; --left)
      timers.arm(now + 1s, numbered(i));
  }
  EXPECT_EQ(timers.memory_bytes(), before);
}

// The simplest thing that could be right: a map ordered by time, in which equal times stay in the
// order of arming.
class Oracle {
 public:
  explicit Oracle(std::uint64_t seed)
      : rng_(seed), now_(kTimersStart.ms()), timers_(kTimersStart) {}

  void arm() {
    const std::int64_t at = pick_time();
    const std::uint32_t number = number_++;
    map_.emplace(at, number);
    handles_.emplace_back(timers_.arm(Timestamp(at), numbered(number)), number);
  }

  void cancel() {
    if (handles_.empty()) return;
    const auto [handle, number] = handles_[rng_.below(handles_.size())];
    const auto found = std::find_if(map_.begin(), map_.end(),
                                    [n = number](const auto& e) { return e.second == n; });
    RC_ASSERT(timers_.armed(handle) == (found != map_.end()));
    if (found != map_.end()) map_.erase(found);
    timers_.cancel(handle);
    RC_ASSERT(!timers_.armed(handle));
  }

  void look(std::int64_t until, std::size_t limit) {
    now_ = until;
    Numbers want;
    while (want.size() < limit && !map_.empty() && map_.begin()->first <= now_) {
      want.push_back(map_.begin()->second);
      map_.erase(map_.begin());
    }
    RC_ASSERT(advance(timers_, Timestamp(now_), limit) == want);
  }

  void look() {
    const std::uint64_t far = std::uint64_t{1} << rng_.below(43);
    const std::size_t limit = rng_.chance(1, 3) ? rng_.below(4) : kAll;
    // A look back in time fires nothing early and breaks nothing.
    if (rng_.chance(1, 20)) look(now_ - static_cast<std::int64_t>(rng_.below(100'000)), limit);
    look(now_ + static_cast<std::int64_t>(rng_.below(far)), limit);
  }

  // Goes where next() says, as an engine does; must come to the first timer in a few steps.
  void follow() {
    look(now_, kAll);
    if (map_.empty()) return;
    const std::int64_t first = std::max(map_.begin()->first, now_);
    if (first > now_ + (std::int64_t{1} << 42)) return;
    for (int steps = 0; now_ < first; ++steps) {
      RC_ASSERT(steps < 12);
      const std::int64_t next = timers_.next()->ms();
      RC_ASSERT(next <= first);
      RC_ASSERT(next > now_);
      look(next, kAll);
    }
  }

  void check() const {
    RC_ASSERT(timers_.size() == map_.size());
    RC_ASSERT(timers_.next().has_value() == !map_.empty());
    if (!map_.empty()) RC_ASSERT(timers_.next()->ms() <= map_.begin()->first);
  }

  std::uint64_t below(std::uint64_t bound) { return rng_.below(bound); }
  void drain() { look(INT64_MAX, kAll); }

 private:
  // Near and far, past and never, and often the same instant as another timer.
  std::int64_t pick_time() {
    if (!map_.empty() && rng_.chance(1, 3)) {
      return std::next(map_.begin(), static_cast<std::ptrdiff_t>(
                                         rng_.below(std::min<std::size_t>(map_.size(), 5))))
          ->first;
    }
    if (rng_.chance(1, 50)) return INT64_MAX;
    if (rng_.chance(1, 10)) return now_ - static_cast<std::int64_t>(rng_.below(1000));
    const auto ahead = static_cast<std::int64_t>(rng_.below(std::uint64_t{1} << rng_.below(44)));
    return now_ > INT64_MAX - ahead ? INT64_MAX : now_ + ahead;
  }

  Rng rng_;
  std::int64_t now_;
  Timers timers_;
  std::multimap<std::int64_t, std::uint32_t> map_;
  std::vector<std::pair<TimerHandle, std::uint32_t>> handles_;
  std::uint32_t number_ = 0;
};

// req: engine.timer.1, engine.timer.2, engine.timer.3, engine.timer.4, engine.timer.6
RC_GTEST_PROP(Timers, BehaveLikeAnOrderedMap, (std::uint64_t seed)) {
  Oracle oracle(seed);
  const std::uint64_t arms = 2 + oracle.below(8);
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t choice = oracle.below(10);
    if (choice < arms) {
      oracle.arm();
    } else if (choice % 4 == 0) {
      oracle.cancel();
    } else if (choice % 4 == 1) {
      oracle.follow();
    } else {
      oracle.look();
    }
    oracle.check();
  }
  oracle.drain();
  oracle.check();
}

// req: device.to.2
// Those of the past stand in a heap of their own.
TEST(Timers, OfThePastFireInOrderHoweverManyAreCancelled) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    Timers timers(Timestamp(1'000'000));
    std::map<std::pair<std::int64_t, int>, TimerHandle> armed;  // by time and arming
    for (int i = 0; i < 200; ++i) {
      const std::int64_t at = 900'000 + rng.between(0, 300);
      const TimerHandle handle =
          timers.arm(Timestamp(at), {.id = {static_cast<std::uint64_t>(i), 0}});
      armed.emplace(std::pair{at, i}, handle);
      if (!rng.chance(1, 3)) continue;
      const auto gone = std::next(armed.begin(), rng.between(0, std::ssize(armed) - 1));
      timers.cancel(gone->second);
      armed.erase(gone);
    }
    while (!armed.empty()) {
      ASSERT_EQ(timers.next(), Timestamp(armed.begin()->first.first));
      std::vector<Timer> fired;
      timers.advance(Timestamp(1'000'000), 1, fired);
      ASSERT_EQ(fired.size(), 1U);
      ASSERT_EQ(fired[0].id.high, static_cast<std::uint64_t>(armed.begin()->first.second));
      armed.erase(armed.begin());
    }
    EXPECT_EQ(timers.size(), 0U);
  }
}

TEST(Timers, AMillionFireAtTheirMillisecondAndNoOther) {
  Timers timers(kTimersStart);
  constexpr std::int64_t kCount = 1'000'000;
  // Spread over an hour, in an order that is not that of their times.
  for (std::int64_t i = 0; i < kCount; ++i) {
    const Duration after((i * 2'654'435'761) % 3'600'000 + 1);
    timers.arm(kTimersStart + after,
               {.kind = TimerKind::kState, .id = {static_cast<std::uint64_t>(after.count()), 0}});
  }
  std::vector<Timer> fired;
  std::int64_t count = 0;
  while (const auto next = timers.next()) {
    fired.clear();
    timers.advance(*next, 1'000'000, fired);
    for (const Timer& timer : fired)
      ASSERT_EQ(kTimersStart + Duration(static_cast<std::int64_t>(timer.id.high)), *next);
    count += static_cast<std::int64_t>(fired.size());
  }
  EXPECT_EQ(count, kCount);
}

TEST(Timers, TellHowMuchMemoryTheyTake) {
  Timers timers(Timestamp(1'000'000));
  const std::size_t empty = timers.memory_bytes();
  EXPECT_GE(empty, sizeof(Timers));
  for (int i = 0; i < 1000; ++i) timers.arm(Timestamp(2'000'000 + i), Timer{});
  const std::size_t some = timers.memory_bytes();
  EXPECT_GE(some, empty + 1000 * 32);
  EXPECT_LE(some, empty + 3000 * 128);
  std::vector<Timer> fired;
  timers.advance(Timestamp(1'500'000), 10, fired);
  for (int i = 0; i < 1000; ++i) timers.arm(Timestamp(1'000'000 + i), Timer{});
  EXPECT_GE(timers.memory_bytes(), some + 1000 * 48) << "those that are late already, too";
}

// What is armed for the present stands in the wheel, not among what is past.
TEST(Timers, OneOfThisInstantCanBeCancelled) {
  Timers timers(Timestamp(1000));
  const TimerHandle now = timers.arm(Timestamp(1000), Timer{.slot = 1});
  const TimerHandle late = timers.arm(Timestamp(999), Timer{.slot = 2});
  timers.cancel(now);
  EXPECT_FALSE(timers.armed(now));
  EXPECT_TRUE(timers.armed(late));
  std::vector<Timer> fired;
  timers.advance(Timestamp(1000), 10, fired);
  ASSERT_EQ(fired.size(), 1U);
  EXPECT_EQ(fired[0].slot, 2U);
  EXPECT_FALSE(timers.next());
}

}  // namespace
}  // namespace postrider
