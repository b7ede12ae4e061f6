// A bounded model of one operation, over the tables of the profile and the judgement of calls: all
// interleavings of calls, starts, answers, cancels, lost connections, syncs and crashes that keep
// any part of what was not synced. Every state that can be reached is looked at; the mutants are
// ways to be wrong that must be found.
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/profiles/rpc/repeats.h"
#include "postrider/profiles/rpc/table.h"

namespace postrider::rpc::operation {
namespace {

enum class Mutant : std::uint8_t {
  kNone,
  kReplyBeforeSeal,        // M1
  kCancelDeletes,          // M2
  kContentWhileLiveOnly,   // M3
  kIdemUntracked,          // M4
  kFreshSessionResends,    // M5
  kIdsWithoutSession,      // M6
  kWipedOnReconnect,       // M7
  kExpiredIsAbsent,        // M10
  kAdmittedBeforeDurable,  // M11
  kStartBeforeMark,        // M12
  kWaitersLost,            // M13
  kNoFirstEpoch,           // rpc.own.5 left out
  kRunningIsQueued,        // rpc.own.4 left out: a crash while running starts again
};

struct Bounds {
  std::uint8_t calls = 3;
  std::uint8_t crashes = 2;
  std::uint8_t cancels = 1;
  std::uint8_t losses = 1;  // of the first caller's connection
  std::uint8_t starts = 4;
  std::uint8_t questions = 2;  // to the hook
};

struct Plan {
  MethodPolicy policy;
  bool hook = false;
  Mutant mutant = Mutant::kNone;
  Bounds bounds = {};
};

enum Violation : std::uint8_t {
  kNoViolation,
  kTwoOwners,        // I1
  kRanTwice,         // I2
  kTwoAnswers,       // I3
  kAnswerForgotten,  // I4
  kAdmissionLost,    // I5
  kForeignAnswer,    // I6
  kPersistReleased,  // I7
  kExpiredRan,       // I9
  kCancelAndValue,   // I11
  kCallerForgotten,  // M13
};
constexpr const char* kViolationNames[] = {"none",
                                           "two owners",
                                           "ran twice",
                                           "two answers",
                                           "answer forgotten",
                                           "admission lost",
                                           "foreign answer",
                                           "persist released",
                                           "expired ran",
                                           "cancel and value",
                                           "caller forgotten"};

constexpr std::uint8_t kNoRecord = 0xFF;
constexpr std::uint8_t kUnchanged = 0xFE;
constexpr std::uint8_t kFailureBit = 0x80;  // of a value: the application's failure

enum Effect : std::uint8_t { kNothing, kAcknowledge, kStart, kTell };
enum Told : std::uint8_t { kToldValue, kToldCancelled, kToldIndeterminate };

// Written, not synced; its effect leaves when it is.
struct Write {
  std::uint8_t record = kUnchanged;
  std::uint8_t value = 0;
  std::uint8_t effect = kNothing;
  std::uint8_t told = 0;
  std::uint8_t callers = 0;  // bit n: caller n
};
constexpr std::size_t kWritesMax = 4;

// Plain bytes, compared as such.
struct World {
  // On disk.
  std::uint8_t disk = kNoRecord;
  std::uint8_t disk_value = 0;
  // In the memory of the server.
  std::uint8_t record = kNoRecord;
  std::uint8_t value = 0;
  std::uint8_t waiting = 0;   // callers that the server will tell
  std::uint8_t starting = 0;  // a request is on its way to the handler
  std::uint8_t running = 0;   // the run that reports to this life of the server
  std::uint8_t epoch = 1;
  std::uint8_t writes = 0;
  std::array<Write, kWritesMax> written{};
  // On the way: calls that no server has seen yet, by caller.
  std::array<std::uint8_t, 2> calls{};
  std::uint8_t first_epoch = 0;
  // What was used of the bounds.
  std::uint8_t called = 0, crashed = 0, cancelled = 0, lost = 0, started = 0, asked = 0;
  std::uint8_t expired = 0;
  // What really happened.
  std::uint8_t runs = 0;
  std::uint8_t fate = 0;  // of the last run, once it is known
  std::uint8_t owed = 0;  // callers on living connections that have not been told
  std::uint8_t acknowledged = 0;
  std::uint8_t answer = 0;  // the value that was told
  std::uint8_t told_cancelled = 0;
  std::uint8_t violation = kNoViolation;
};
static_assert(std::has_unique_object_representations_v<World>);

std::string_view bytes_of(const World& world) {
  return {reinterpret_cast<const char*>(&world), sizeof(world)};
}

bool is_live(std::uint8_t record) { return record != kNoRecord && !is_end(kStates[record].phase); }

class Model {
 public:
  explicit Model(const Plan& plan) : plan_(plan), method_(kMethods[method_of(plan.policy)]) {}

  struct Found {
    std::size_t states = 0;
    Violation violation = kNoViolation;
  };

  Found explore() {
    std::unordered_set<std::string> seen;
    std::deque<World> open;
    const auto meet = [&](const World& world) {
      if (seen.emplace(bytes_of(world)).second) open.push_back(world);
    };
    meet(World{});
    while (!open.empty()) {
      const World world = open.front();
      open.pop_front();
      if (world.violation != kNoViolation)
        return {seen.size(), static_cast<Violation>(world.violation)};
      next_.clear();
      step(world);
      for (const World& next : next_) meet(next);
    }
    return {seen.size(), kNoViolation};
  }

 private:
  bool is(Mutant mutant) const { return plan_.mutant == mutant; }

  static void violate(World& world, Violation violation) {
    if (world.violation == kNoViolation) world.violation = violation;
  }

  template <class Change>
  void branch(const World& from, const Change& change) {
    World world = from;
    change(world);
    check(world);
    next_.push_back(world);
  }

  // What holds in every state.
  void check(World& world) const {
    if (!plan_.policy.idem && world.runs > 1) violate(world, kRanTwice);
    if (plan_.policy.persist && (world.record == kReleased || world.disk == kReleased))
      violate(world, kPersistReleased);
    const bool settled = world.writes == 0 && world.record != kNoRecord && !is_live(world.record);
    if (settled && world.owed != 0) violate(world, kCallerForgotten);
  }

  // Effects.

  void tell(World& world, const Write& write) const {
    world.owed = static_cast<std::uint8_t>(world.owed & ~write.callers);
    if (write.callers == 0) return;
    if (write.told == kToldValue) {
      if (world.answer != 0 && world.answer != write.value) violate(world, kTwoAnswers);
      if (world.told_cancelled != 0 && !plan_.policy.idem) violate(world, kCancelAndValue);
      world.answer = write.value;
    }
    if (write.told == kToldCancelled) {
      if (world.answer != 0) violate(world, kCancelAndValue);
      world.told_cancelled = 1;
    }
  }

  void leave(World& world, const Write& write) const {
    switch (write.effect) {
      case kAcknowledge: world.acknowledged = 1; break;
      case kStart:
        if (world.starting != 0 || world.running != 0) violate(world, kTwoOwners);
        world.starting = 1;
        break;
      case kTell: tell(world, write); break;
      default: break;
    }
  }

  bool leaves_early(std::uint8_t effect) const {
    return (effect == kTell && is(Mutant::kReplyBeforeSeal)) ||
           (effect == kAcknowledge && is(Mutant::kAdmittedBeforeDurable)) ||
           (effect == kStart && is(Mutant::kStartBeforeMark));
  }

  // Persist operations write first; of volatile ones nothing is written.
  void commit(World& world, Write write) const {
    if (!plan_.policy.persist) return leave(world, write);
    if (leaves_early(write.effect)) {
      leave(world, write);
      write.effect = kNothing;
      write.callers = 0;
    }
    ASSERT_LT(world.writes, kWritesMax);
    world.written[world.writes++] = write;
  }

  static void apply(World& world, const Write& write) {
    if (write.record == kUnchanged) return;
    world.disk = write.record;
    world.disk_value = write.value;
  }

  // The table decides.

  void raise(World& world, On signal, std::uint8_t value = 0) const {
    const Transition* row = find_row(method_.rows, world.record, signal);
    ASSERT_NE(row, nullptr) << name_of(signal);
    const bool spent =
        world.started >= plan_.bounds.starts || world.asked >= plan_.bounds.questions;
    if (row->verb == Do::kRetry && spent)
      row = find_row(method_.rows, world.record, On::kExhausted);
    if (row->verb == Do::kIgnore) return;
    if (row->to != kRunning) world.running = world.starting = 0;
    world.record = row->to;
    Write write{.record = row->to};
    if (row->verb == Do::kStartAttempt) {
      ++world.started;
      write.effect = kStart;
    } else if (row->verb == Do::kComplete) {
      world.value = write.value = value;
      end(world, write, kToldValue);
    } else if (row->verb == Do::kMarkIndeterminate) {
      end(world, write, kToldIndeterminate);
    } else if (row->verb == Do::kDrop) {
      end(world, write, kToldCancelled);
      if (is(Mutant::kCancelDeletes)) world.record = write.record = kNoRecord;
    }
    commit(world, write);
  }

  static void end(World& world, Write& write, Told told) {
    write.effect = kTell;
    write.told = told;
    write.callers = std::exchange(world.waiting, std::uint8_t{0});
  }

  void admit(World& world, std::uint8_t caller) const {
    if (is(Mutant::kIdemUntracked) && plan_.policy.idem && is_live(world.record)) {
      commit(world, {.record = kRunning, .effect = kStart});
      return;
    }
    world.record = kQueued;
    world.value = 0;
    world.waiting |= caller;
    commit(world, {.record = kQueued, .effect = kAcknowledge});
  }

  RecordState record_state(const World& world) const {
    if (world.record == kNoRecord) return RecordState::kAbsent;
    if (is_live(world.record)) return RecordState::kLive;
    if (world.record == kReleased) return RecordState::kReleased;
    return world.record == kIndeterminate ? RecordState::kIndeterminate : RecordState::kSealed;
  }

  CallVerdict judge(const World& world, bool same_content) const {
    CallFacts facts{.expired = world.expired != 0 && !is(Mutant::kExpiredIsAbsent),
                    .record = record_state(world),
                    .policy = plan_.policy,
                    .same_content = same_content,
                    .same_epoch = world.first_epoch == world.epoch};
    if (is(Mutant::kNoFirstEpoch)) facts.same_epoch = true;
    if (is(Mutant::kContentWhileLiveOnly) && facts.record != RecordState::kLive)
      facts.same_content = true;
    if (is(Mutant::kIdemUntracked) && plan_.policy.idem) return CallVerdict::kRuns;
    return judge_call(facts);
  }

  void answer_call(World& world, CallVerdict verdict, std::uint8_t caller) const {
    Write write{.effect = kTell, .callers = caller};
    switch (verdict) {
      case CallVerdict::kRuns: return admit(world, caller);
      case CallVerdict::kAttached: world.waiting |= caller; return;
      case CallVerdict::kReplayed:
        write.value = world.value;
        write.told = kToldValue;
        break;
      case CallVerdict::kIndeterminate:
      case CallVerdict::kConflict:
      case CallVerdict::kExpired: write.told = kToldIndeterminate; break;
    }
    commit(world, write);
  }

  // Events.

  void step(const World& world) {
    send(world);
    if (world.writes < kWritesMax) {
      receive(world);
      strangers(world);
      due(world);
      handler(world);
      hook(world);
      cancel(world);
    }
    lose_connection(world);
    expire(world);
    if (world.writes > 0) branch(world, [&](World& next) { sync(next); });
    crash(world);
  }

  void send(const World& world) {
    if (world.called >= plan_.bounds.calls) return;
    for (std::size_t caller = 0; caller < 2; ++caller) {
      branch(world, [&](World& next) {
        ++next.called;
        ++next.calls[caller];
        if (next.first_epoch == 0 || is(Mutant::kFreshSessionResends))
          next.first_epoch = next.epoch;
      });
    }
  }

  void receive(const World& world) {
    for (std::size_t caller = 0; caller < 2; ++caller) {
      if (world.calls[caller] == 0) continue;
      const auto bit = static_cast<std::uint8_t>(1U << caller);
      branch(world, [&](World& next) {
        --next.calls[caller];
        next.owed |= bit;
        answer_call(next, judge(next, true), bit);
      });
      branch(world, [&](World& next) {  // lost on its way, with its connection
        --next.calls[caller];
        next.owed = static_cast<std::uint8_t>(next.owed & ~bit);
        next.waiting = static_cast<std::uint8_t>(next.waiting & ~bit);
      });
    }
  }

  // The same id with other content, and the same number in another session. Neither changes
  // anything, so only an answer that it must not get is a further state.
  void strangers(const World& world) {
    if (world.record == kNoRecord || is(Mutant::kIdemUntracked)) return;
    const bool leaks = judge(world, false) != CallVerdict::kConflict;
    // What is found under the number of another session.
    const RecordState found =
        is(Mutant::kIdsWithoutSession) ? record_state(world) : RecordState::kAbsent;
    if (!leaks && found == RecordState::kAbsent) return;
    branch(world, [](World& next) { violate(next, kForeignAnswer); });
  }

  void due(const World& world) {
    if (world.record != kQueued && world.record != kWaiting && world.record != kDeferred) return;
    if (world.record == kQueued && world.started >= plan_.bounds.starts) return;
    branch(world, [&](World& next) { raise(next, On::kDue); });
  }

  void seal(const World& world, bool from_hook) {
    const std::uint8_t run = from_hook ? world.runs : world.running;
    for (const std::uint8_t bit : {std::uint8_t{0}, kFailureBit}) {
      const auto value = static_cast<std::uint8_t>(run | bit);
      if (run == world.runs && world.fate != 0 && world.fate != value) continue;
      branch(world, [&](World& next) {
        if (run == next.runs) next.fate = value;
        raise(next, bit == 0 ? On::kAnswered : On::kRejected, value);
      });
    }
  }

  static void begin(World& world) {
    ++world.runs;
    world.fate = 0;
    if (world.expired != 0) violate(world, kExpiredRan);
  }

  void handler(const World& world) {
    if (world.starting != 0) {
      branch(world, [&](World& next) {
        begin(next);
        next.starting = 0;
        next.running = next.runs;
      });
      branch(world, [&](World& next) { raise(next, On::kFailed); });    // it did not begin
      branch(world, [&](World& next) { raise(next, On::kTimedOut); });  // nor will it
      branch(world, [&](World& next) {                                  // or it does, unheard
        begin(next);
        raise(next, On::kTimedOut);
      });
    }
    if (world.running == 0 || world.record != kRunning) return;
    seal(world, false);
    branch(world, [&](World& next) { raise(next, On::kTimedOut); });
  }

  void hook(const World& world) {
    if (world.record != kRecovering) return;
    if (!plan_.hook) return branch(world, [&](World& next) { raise(next, On::kNoLink); });
    World asked = world;
    ++asked.asked;
    branch(asked, [&](World& next) { raise(next, On::kFailed); });
    branch(asked, [&](World& next) { raise(next, On::kTimedOut); });
    if (world.runs == 0)
      branch(asked, [&](World& next) { raise(next, On::kStaleRoute); });
    else
      seal(asked, true);
    if (world.runs != 0 && world.fate == 0)
      branch(asked, [&](World& next) { raise(next, On::kStillHeld); });
  }

  void cancel(const World& world) {
    if (world.cancelled >= plan_.bounds.cancels || !is_live(world.record)) return;
    for (const bool begins : {false, true}) {
      // Of a persist operation nothing is aborted.
      if (begins && (world.starting == 0 || plan_.policy.persist)) continue;
      branch(world, [&](World& next) {
        ++next.cancelled;
        if (begins) begin(next);  // the request overtakes its abort
        raise(next, On::kCancelled);
      });
    }
  }

  void lose_connection(const World& world) {
    if (world.lost >= plan_.bounds.losses || world.record == kNoRecord) return;
    branch(world, [&](World& next) {
      ++next.lost;
      next.owed &= 2;
      next.waiting &= 2;
      if (is(Mutant::kWaitersLost)) next.waiting = 0;
      if (is(Mutant::kWipedOnReconnect)) {
        next.record = kNoRecord;
        next.running = next.starting = next.waiting = next.owed = 0;
      }
    });
  }

  // The window of its id is over: what has ended is evicted.
  void expire(const World& world) {
    if (world.expired != 0 || world.writes != 0 || world.record == kNoRecord ||
        is_live(world.record))
      return;
    branch(world, [&](World& next) {
      next.expired = 1;
      next.record = next.disk = kNoRecord;
      next.value = next.disk_value = 0;
      next.answer = next.acknowledged = next.told_cancelled = 0;
    });
  }

  void sync(World& world) const {
    for (std::size_t i = 0; i < world.writes; ++i) apply(world, world.written[i]);
    const auto written = std::exchange(world.written, {});
    const std::size_t count = std::exchange(world.writes, std::uint8_t{0});
    for (std::size_t i = 0; i < count; ++i) leave(world, written[i]);
  }

  void crash(const World& world) {
    if (world.crashed >= plan_.bounds.crashes) return;
    for (std::size_t kept = 0; kept <= world.writes; ++kept) {
      World after = world;
      for (std::size_t i = 0; i < kept; ++i) apply(after, world.written[i]);
      restart(after);
      branch(after, [](World&) {});
      if (world.starting == 0) continue;
      // The request that was on its way to the handler may still arrive.
      branch(after, [](World& next) { begin(next); });
    }
  }

  void restart(World& world) const {
    ++world.crashed;
    ++world.epoch;
    world.written = {};
    world.writes = world.waiting = world.owed = world.starting = world.running = 0;
    world.record = world.disk;
    world.value = world.disk_value;
    if (!plan_.policy.persist) {
      if (plan_.policy.idem) world.answer = 0;  // one life of the server is one history
      world.told_cancelled = 0;
      return;
    }
    if (world.acknowledged != 0 && world.disk == kNoRecord && world.expired == 0)
      violate(world, kAdmissionLost);
    if (world.answer != 0 && world.disk_value != world.answer) violate(world, kAnswerForgotten);
    if (is(Mutant::kRunningIsQueued) && world.record == kRunning) world.record = kQueued;
    if (world.record == kRunning || world.record == kRecovering) raise(world, On::kTimedOut);
  }

  Plan plan_;
  const Method& method_;
  std::vector<World> next_;
};

std::vector<Plan> plans() {
  return {{.policy = {}},
          {.policy = {.idem = true}},
          {.policy = {.persist = true}},
          {.policy = {.persist = true, .idem = true}},
          {.policy = {.persist = true}, .hook = true},
          {.policy = {.persist = true, .idem = true}, .hook = true}};
}

std::string name_of_plan(const Plan& plan) {
  return std::string(kMethods[method_of(plan.policy)].name) + (plan.hook ? " with a hook" : "");
}

// req: rpc.rule.7, rpc.rule.8, rpc.rule.9, rpc.rule.10, rpc.rule.11, rpc.rule.13, rpc.rule.14
// req: rpc.rule.15, rpc.rule.16, rpc.rule.18, rpc.rule.29, rpc.rule.30, rpc.rule.35
// req: rpc.own.4, rpc.own.5
TEST(RpcModel, NoInterleavingBreaksAnInvariant) {
  for (const Plan& plan : plans()) {
    const Model::Found found = Model(plan).explore();
    std::printf("%s: %zu states\n", name_of_plan(plan).c_str(), found.states);
    EXPECT_STREQ(kViolationNames[found.violation], "none") << name_of_plan(plan);
    EXPECT_GT(found.states, 5'000U) << name_of_plan(plan);
  }
}

struct Planted {
  const char* name;
  Mutant mutant;
};

class RpcModelMutants : public ::testing::TestWithParam<Planted> {};

TEST_P(RpcModelMutants, AreFound) {
  std::string where;
  for (Plan plan : plans()) {
    plan.mutant = GetParam().mutant;
    const Model::Found found = Model(plan).explore();
    if (found.violation == kNoViolation) continue;
    where = name_of_plan(plan) + ": " + kViolationNames[found.violation];
    break;
  }
  std::printf("%s is found in %s\n", GetParam().name, where.c_str());
  EXPECT_FALSE(where.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Rules, RpcModelMutants,
    ::testing::Values(Planted{"M1ReplyBeforeSeal", Mutant::kReplyBeforeSeal},
                      Planted{"M2CancelDeletes", Mutant::kCancelDeletes},
                      Planted{"M3ContentWhileLiveOnly", Mutant::kContentWhileLiveOnly},
                      Planted{"M4IdemUntracked", Mutant::kIdemUntracked},
                      Planted{"M5FreshSessionResends", Mutant::kFreshSessionResends},
                      Planted{"M6IdsWithoutSession", Mutant::kIdsWithoutSession},
                      Planted{"M7WipedOnReconnect", Mutant::kWipedOnReconnect},
                      Planted{"M10ExpiredIsAbsent", Mutant::kExpiredIsAbsent},
                      Planted{"M11AdmittedBeforeDurable", Mutant::kAdmittedBeforeDurable},
                      Planted{"M12StartBeforeMark", Mutant::kStartBeforeMark},
                      Planted{"M13WaitersLost", Mutant::kWaitersLost},
                      Planted{"NoFirstEpoch", Mutant::kNoFirstEpoch},
                      Planted{"RunningIsQueued", Mutant::kRunningIsQueued}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace postrider::rpc::operation
