#include "postrider/model/lifecycle.h"

#include <array>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "postrider/model/answer.h"
#include "postrider/model/destination.h"
#include "postrider/model/outcome.h"

namespace postrider {
namespace {

enum : StateIndex { kQueued, kSending, kResting, kHeld, kDone, kLost, kGivenUp, kSpare };

constexpr StateMask kAll = in(kQueued) | in(kSending) | in(kResting) | in(kHeld);

// A small table that leaves nothing open; each case below spoils it in one way.
struct Table {
  std::array<StateRow, kStatesMax + 1> states = {{
      {"queued", Phase::kQueued},
      {"sending", Phase::kInFlight, TimeOut::kAttempt, On::kTimedOut},
      {"resting", Phase::kBackoff, TimeOut::kRetry, On::kDue},
      {"held", Phase::kParked},
      {"done", Phase::kDelivered},
      {"lost", Phase::kDead},
      {"given-up", Phase::kCancelled},
      {"spare", Phase::kAwaiting, TimeOut::kStage, On::kTimedOut},
  }};
  std::size_t states_used = 7;
  StateIndex initial = kQueued;
  std::array<Transition, 24> rows = {{
      {in(kQueued), On::kDue, kSending, Do::kStartAttempt, Raise::kNone, "its turn"},
      {in(kSending), On::kDue, kSending, Do::kIgnore, Raise::kNone, "already open"},
      {in(kHeld) | in(kResting), On::kDue, kQueued, Do::kRelease, Raise::kNone, "revived"},
      {kAll, On::kAnswered, kDone, Do::kComplete, Raise::kOk, "arrived"},
      {in(kSending), On::kTimedOut, kResting, Do::kRetry, Raise::kFail, "no answer"},
      {kAll & ~in(kSending), On::kTimedOut, kQueued, Do::kIgnore, Raise::kNone, "late"},
      {in(kSending), On::kRejected, kHeld, Do::kPark, Raise::kNone, "refused"},
      {kAll & ~in(kSending), On::kRejected, kQueued, Do::kIgnore, Raise::kNone, "late"},
      {kAll, On::kExhausted, kLost, Do::kDeadLetter, Raise::kNone, "nothing left"},
      {kAll, On::kExpired, kLost, Do::kDeadLetter, Raise::kNone, "too old"},
      {kAll, On::kCancelled, kGivenUp, Do::kDrop, Raise::kNone, "not wanted"},
  }};
  std::size_t rows_used = 11;

  constexpr Table& add(const Transition& row) {
    rows[rows_used++] = row;
    return *this;
  }
  constexpr Table& drop(std::size_t row) {
    rows[row] = rows[--rows_used];
    return *this;
  }
  constexpr bool is_sound() const {
    const Method method{"method", initial, false, std::span(rows).first(rows_used)};
    return sound(std::span(states).first(states_used), method);
  }
};

template <class Change>
constexpr bool sound_after(Change change) {
  Table table;
  change(table);
  return table.is_sound();
}

// req: engine.life.1
TEST(Sound, TakesATableThatLeavesNothingOpen) {
  static_assert(Table{}.is_sound());
  static_assert(sound_after([](Table& t) { t.states_used = 8; }),
                "a state that this method does not use is no harm");
  static_assert(sound_after([](Table& t) { t.states_used = kStatesMax; }), "nor are many");
}

// req: engine.life.1
TEST(Sound, RefusesStatesThatAreNotThere) {
  static_assert(!sound_after([](Table& t) { t.states_used = 0; }), "no states");
  static_assert(!sound_after([](Table& t) { t.states_used = 6; }),
                "a row leads to a state that is not there");
  static_assert(!sound_after([](Table& t) { t.initial = 9; }),
                "it begins in a state that is not there");
  static_assert(!sound_after([](Table& t) { t.states_used = kStatesMax + 1; }),
                "more states than a mask has bits");
}

// req: engine.life.1
TEST(Sound, RefusesABeginningThatIsNotQueued) {
  static_assert(!sound_after([](Table& t) { t.initial = kSending; }));
  static_assert(!sound_after([](Table& t) { t.initial = kDone; }));
}

// req: engine.life.1
TEST(Sound, RefusesATableThatDoesNotAnswerWhatAlwaysComes) {
  static_assert(!sound_after([](Table& t) { t.drop(2).drop(1).drop(0); }), "due");
  static_assert(!sound_after([](Table& t) { t.drop(8); }), "exhausted");
  static_assert(!sound_after([](Table& t) { t.drop(9); }), "expired");
  static_assert(!sound_after([](Table& t) { t.drop(10); }), "cancelled");
}

// req: engine.life.1
TEST(Sound, RefusesAPairWithoutARowOrWithTwo) {
  static_assert(!sound_after([](Table& t) { t.rows[3].from &= ~in(kHeld); }),
                "held has no row for answered");
  static_assert(!sound_after([](Table& t) { t.rows[5].from |= in(kSending); }),
                "sending has two for timed-out");
  static_assert(!sound_after([](Table& t) {
    t.add({in(kQueued), On::kPeerSeen, kQueued, Do::kIgnore, Raise::kNone, "one state only"});
  }),
                "a signal that is used at all is answered everywhere");
}

// req: engine.life.1
TEST(Sound, RefusesRowsOfEnds) {
  static_assert(!sound_after([](Table& t) { t.rows[3].from |= in(kLost); }));
  static_assert(!sound_after([](Table& t) { t.rows[7].from |= in(kDone); }),
                "not even to ignore something");
}

// req: engine.life.1
TEST(Sound, RefusesLiveStatesThatStandStill) {
  static_assert(!sound_after([](Table& t) { t.states[kSending].timer = TimeOut::kNone; }),
                "in flight without a timer");
  static_assert(!sound_after([](Table& t) { t.states[kResting].timer = TimeOut::kNone; }),
                "back-off without a timer");
  static_assert(!sound_after([](Table& t) { t.states[kSending].timer_signal = On::kDue; }),
                "a timer that is ignored");
  static_assert(!sound_after([](Table& t) { t.states[kSending].timer_signal = On::kSent; }),
                "or answered by no row");
  static_assert(!sound_after([](Table& t) { t.rows[2].verb = Do::kIgnore; }),
                "parked, and nobody can revive it");
  static_assert(!sound_after([](Table& t) {
    t.rows[0].verb = Do::kIgnore;
    t.add({in(kQueued), On::kPeerSeen, kSending, Do::kStartAttempt, Raise::kNone, "by chance"});
    t.add({kAll & ~in(kQueued), On::kPeerSeen, kQueued, Do::kIgnore, Raise::kNone, "no matter"});
  }),
                "queued, and its turn is ignored");
}

// req: engine.life.1
TEST(Sound, RefusesASendThatNobodyAdmitted) {
  static_assert(!sound_after([](Table& t) {
    t.rows[0].from |= in(kResting);
    t.rows[2].from = in(kHeld);
  }),
                "out of a back-off, past gates, health and fairness");
}

// req: engine.life.1, engine.revive.1
TEST(Sound, RefusesARevivalThatDoesNotLeadBackInLine) {
  static_assert(sound_after([](Table& t) { t.states[kHeld].revives = true; }));
  static_assert(!sound_after([](Table& t) { t.states[kResting].revives = true; }),
                "a back-off is no parking place");
  static_assert(sound_after([](Table& t) {
    t.add({kAll, On::kOutOfReach, kHeld, Do::kPark, Raise::kNone, "nobody there"});
  }));
  static_assert(!sound_after([](Table& t) {
    t.add({kAll, On::kOutOfReach, kResting, Do::kRetry, Raise::kNone, "once more"});
  }),
                "out of reach is out of attempts");
}

// A state that only its own timer leads out of, back into itself; an answer ends it, or is ignored
// as well.
constexpr void add_round(Table& t, Do on_answer) {
  t.states_used = 8;
  t.add({in(kSending), On::kAccepted, kSpare, Do::kAwait, Raise::kNone, "into the round"});
  t.add({(kAll & ~in(kSending)) | in(kSpare), On::kAccepted, kQueued, Do::kIgnore, Raise::kNone,
         "late"});
  t.add({in(kSpare), On::kTimedOut, kSpare, Do::kAwait, Raise::kNone, "round and round"});
  t.add({in(kSpare), On::kExhausted, kSpare, Do::kAwait, Raise::kNone, "round and round"});
  t.add({in(kSpare), On::kAnswered, kDone, on_answer, Raise::kNone, "the way out"});
  for (const On on : {On::kDue, On::kRejected, On::kExpired, On::kCancelled}) {
    t.add({in(kSpare), on, kQueued, Do::kIgnore, Raise::kNone, "deaf"});
  }
}

// req: engine.life.1
TEST(Sound, RefusesStatesThatCannotBeReachedOrCannotEnd) {
  static_assert(!sound_after([](Table& t) {
    t.rows[6] = {in(kSending), On::kRejected, kLost, Do::kDeadLetter, Raise::kNone, "refused"};
  }),
                "nothing leads to held");
  static_assert(sound_after([](Table& t) { add_round(t, Do::kComplete); }));
  static_assert(!sound_after([](Table& t) { add_round(t, Do::kIgnore); }),
                "no way out of the round");
}

// req: engine.life.1
TEST(Sound, RefusesVerbsThatDoNotLeadWhereTheySay) {
  static_assert(!sound_after([](Table& t) { t.rows[4].verb = Do::kAwait; }));
  static_assert(!sound_after([](Table& t) { t.rows[3].verb = Do::kDeadLetter; }));
  static_assert(!sound_after([](Table& t) { t.rows[8].verb = Do::kDrop; }));
  for (const auto& [verb, phase] : {std::pair{Do::kComplete, Phase::kDead},
                                    {Do::kComplete, Phase::kQueued},
                                    {Do::kRetry, Phase::kQueued},
                                    {Do::kRetry, Phase::kInFlight},
                                    {Do::kStartAttempt, Phase::kBackoff},
                                    {Do::kFindRoute, Phase::kAwaiting},
                                    {Do::kProbe, Phase::kQueued},
                                    {Do::kAwait, Phase::kDelivered},
                                    {Do::kAwait, Phase::kBackoff},
                                    {Do::kNextMethod, Phase::kInFlight},
                                    {Do::kRelease, Phase::kBackoff},
                                    {Do::kPark, Phase::kDead},
                                    {Do::kDeadLetter, Phase::kCancelled},
                                    {Do::kDrop, Phase::kDead},
                                    {Do::kMarkIndeterminate, Phase::kDead}}) {
    EXPECT_FALSE(lifecycle_detail::fits(verb, phase)) << name_of(verb) << " " << name_of(phase);
  }
  EXPECT_TRUE(lifecycle_detail::fits(Do::kDeadLetter, Phase::kExpired));
  EXPECT_TRUE(lifecycle_detail::fits(Do::kMarkIndeterminate, Phase::kIndeterminate));
}

// req: engine.life.1
TEST(Sound, RefusesAnExhaustionThatGoesOn) {
  static_assert(!sound_after([](Table& t) {
    t.rows[8].verb = Do::kRetry;
    t.rows[8].to = kResting;
  }));
  static_assert(!sound_after([](Table& t) { t.rows[8].verb = Do::kIgnore; }));
}

TEST(Lifecycle, FindsTheRowOfAStateAndSignal) {
  constexpr Table kTable;
  EXPECT_EQ(find_row(kTable.rows, kSending, On::kTimedOut), &kTable.rows[4]);
  EXPECT_EQ(find_row(kTable.rows, kQueued, On::kTimedOut), &kTable.rows[5]);
  EXPECT_EQ(find_row(kTable.rows, kDone, On::kDue), nullptr);
}

TEST(Lifecycle, EndsAreTheLastFivePhases) {
  for (const Phase live :
       {Phase::kQueued, Phase::kInFlight, Phase::kAwaiting, Phase::kBackoff, Phase::kParked}) {
    EXPECT_FALSE(is_end(live)) << name_of(live);
  }
  for (const Phase end : {Phase::kDelivered, Phase::kDead, Phase::kExpired, Phase::kCancelled,
                          Phase::kIndeterminate}) {
    EXPECT_TRUE(is_end(end)) << name_of(end);
  }
}

template <class Enum>
void expect_distinct_names(std::size_t count) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) names.insert(name_of(static_cast<Enum>(i)));
  EXPECT_EQ(names.size(), count);
  EXPECT_FALSE(names.contains(""));
}

TEST(Names, AreDistinct) {
  expect_distinct_names<Phase>(kPhases);
  expect_distinct_names<On>(kSignals);
  expect_distinct_names<Do>(kVerbs);
  expect_distinct_names<Raise>(5);
  expect_distinct_names<TimeOut>(kTimeOuts);
  expect_distinct_names<Health>(kHealths);
  expect_distinct_names<FailureClass>(kFailureClasses);
  expect_distinct_names<Certainty>(3);
  expect_distinct_names<AnswerCode>(kAnswerCodes);
}

// Names are written in documents and tables; a shifted list would still be distinct.
TEST(Names, BelongToTheirEnumerators) {
  EXPECT_EQ(name_of(Phase::kIndeterminate), "indeterminate");
  EXPECT_EQ(name_of(Phase::kParked), "parked");
  EXPECT_EQ(name_of(On::kPeerSeen), "peer-seen");
  EXPECT_EQ(name_of(On::kFailed), "failed");
  EXPECT_EQ(name_of(Do::kMarkIndeterminate), "mark-indeterminate");
  EXPECT_EQ(name_of(Do::kComplete), "complete");
  EXPECT_EQ(name_of(Raise::kSeen), "seen");
  EXPECT_EQ(name_of(TimeOut::kRetry), "retry");
  EXPECT_EQ(name_of(Health::kDisabled), "disabled");
  EXPECT_EQ(name_of(FailureClass::kOther), "other");
  EXPECT_EQ(name_of(Certainty::kAnswered), "answered");
  EXPECT_EQ(name_of(AnswerCode::kNotEmpty), "not-empty");
}

TEST(NamesDeathTest, AValueOutsideTheListIsABug) {
  EXPECT_DEATH(name_of(static_cast<Phase>(kPhases)), "broken invariant");
  EXPECT_DEATH(name_of(static_cast<Health>(kHealths)), "broken invariant");
}

}  // namespace
}  // namespace postrider
