// Deliveries at their edges: what is written down of who holds gates, what one answer may say all
// at once, what a failure tells the route, and what is told of attempts.
#include <vector>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

using DeliveryEdges = SpecRig;

// Whoever holds gates from the disk would be forgotten by a restart, so a record says who does:
// from the moment on from which a restart could not find out otherwise. req: engine.gate.7
TEST_F(DeliveryEdges, WhoHoldsGatesFromTheDiskIsWrittenDown) {
  options.engine.limits.window_bytes_max = 1;  // everything is on disk
  open_mill({{"strikes", "1000"}});
  const auto held = [this] { return records_in(keys::kHolding); };
  sent({{"method", "post"}, {"narrow", ""}});
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(held(), 0U) << "without a record of the attempt it is made again";
  post(answer(last_attempt(), 200));

  sent({{"method", "task"}, {"narrow", ""}});
  ASSERT_EQ(starts().size(), 2U);
  EXPECT_EQ(held(), 1U);
  accept_task();
  EXPECT_EQ(held(), 1U) << "the far side works at it";
  post(news(next(), "done t1"));
  EXPECT_EQ(held(), 0U);

  id = sent({{"method", "relay"}, {"narrow", ""}});
  EXPECT_EQ(held(), 0U);
  post(answer(last_attempt(), 202));
  EXPECT_EQ(explained(id).state, "held");
  EXPECT_EQ(held(), 1U);
  receipt(id, On::kProgressed);
  EXPECT_EQ(explained(id).state, "moving");
  EXPECT_EQ(held(), 0U) << "it gave them back";
  receipt(id, On::kConfirmed);

  id = sent({{"method", "task"}, {"order", "7"}});
  EXPECT_EQ(held(), 1U);
  post(answer(last_attempt(), 408));
  EXPECT_EQ(phase(id), Phase::kBackoff);
  EXPECT_EQ(held(), 1U) << "until its end";
  receipt(id, On::kConfirmed);
  EXPECT_EQ(held(), 0U);

  id = sent({{"method", "post"}, {"line", "7"}});
  EXPECT_EQ(held(), 0U) << "a first attempt leaves no record";
  post(answer(last_attempt(), 408));
  EXPECT_EQ(held(), 1U);
  pass(10s);
  EXPECT_EQ(phase(id), Phase::kInFlight);
  EXPECT_EQ(held(), 1U);
  post(answer(last_attempt(), 200));
  EXPECT_EQ(phase(id), Phase::kDelivered);
  EXPECT_EQ(held(), 0U);
}

// req: engine.retrynow.2
TEST_F(DeliveryEdges, WhoFoundNobodyAndIsTriedAgainBeginsAnew) {
  open_mill({{"attempts", "2"}, {"base", "1000"}, {"strand", "1"}, {"strikes", "1000"}});
  id = sent({{"method", "post"}});
  post(ended(last_attempt(), WireEnd::kRefused));
  pass(10s);
  post(ended(last_attempt(), WireEnd::kRefused));
  ASSERT_EQ(explained(id).state, "stranded");
  EXPECT_EQ(explained(id).attempts, 2U);
  EXPECT_EQ(command<RetryNow>(id).detail, "revived");
  EXPECT_EQ(phase(id), Phase::kInFlight);
  EXPECT_EQ(explained(id).attempts, 1U);
  EXPECT_EQ(shown(id).first_attempt, instant().wall);
  post(ended(last_attempt(), WireEnd::kRefused));
  EXPECT_EQ(phase(id), Phase::kBackoff) << "one of two";
}

// req: engine.life.1
TEST_F(DeliveryEdges, AnAnswerMaySayMoreThanWhatBecameOfTheAttempt) {
  open_mill({{"strikes", "1000"}});
  post(place(next(), "bell"));
  Reading reading;
  reading.outcome = {Certainty::kAnswered, FailureClass::kNone, ""};
  reading.signal = On::kAccepted;
  reading.then = On::kConfirmed;
  answers() = reading;
  id = sent({{"method", "relay"}});
  post(answer(last_attempt(), 200));
  EXPECT_EQ(phase(id), Phase::kDelivered) << "accepted, and then confirmed";

  reading.then.reset();
  reading.notes = "a note";
  answers() = reading;
  id = sent({{"method", "relay"}});
  post(answer(last_attempt(), 200));
  EXPECT_EQ(explained(id).state, "held");
  EXPECT_EQ(shown(id).notes, "a note");

  reading.notes.reset();
  reading.names = {{"task", "t9"}};
  answers() = reading;
  EXPECT_EQ(records_in(keys::kName), 0U);
  id = sent({{"method", "relay"}});
  post(answer(last_attempt(), 200));
  EXPECT_EQ(records_in(keys::kName), 1U);

  reading.names.clear();
  NestedSubmit submit;
  submit.destination = "bell";
  reading.submits = {submit};
  answers() = reading;
  id = sent({{"method", "relay"}});
  post(answer(last_attempt(), 200));
  turn();
  EXPECT_EQ(explained(starts().back().message).destination, "bell");
  EXPECT_EQ(explained(starts().back().message).origin, id);
}

// News by another way than the attempt says what it means, and nothing of what failed before.
// req: engine.attempts.1
TEST_F(DeliveryEdges, AnAttemptThatEndsByOtherNewsHasItsOwnReason) {
  open_mill({{"strikes", "1000"}, {"base", "1000"}});
  id = sent({{"method", "relay"}});
  advance(30ms);
  post(answer(last_attempt(), 503));
  pass(10s);
  ASSERT_EQ(starts().size(), 2U);
  receipt(id, On::kFailed);
  AttemptList list = explained(id).attempt_list;
  ASSERT_EQ(list.notes.size(), 2U);
  EXPECT_EQ(list.notes[0].end, AttemptEnd::kFailed);
  EXPECT_EQ(list.notes[0].failure, FailureClass::kThrottled);
  EXPECT_EQ(list.notes[0].reason, "status 503");
  EXPECT_EQ(list.notes[0].took, 30ms);
  EXPECT_EQ(list.notes[1].end, AttemptEnd::kFailed);
  EXPECT_EQ(list.notes[1].failure, FailureClass::kOther);
  EXPECT_EQ(list.notes[1].reason, name_of(On::kFailed));
  EXPECT_EQ(list.earlier, 0U);
}

// A row that ignores a signal may tell the route of it. req: engine.health.1
TEST_F(DeliveryEdges, WhatAMessageIgnoresTheRouteMayHear) {
  std::vector<Method> methods(spec_.methods.begin(), spec_.methods.end());
  std::vector<Transition> rows(methods[0].rows.begin(), methods[0].rows.end());
  for (Transition& row : rows) {
    if (row.on == On::kPeerSeen) row.raise = Raise::kSeen;
  }
  methods[0].rows = rows;
  spec_.methods = methods;
  open_mill({{"strikes", "1"}, {"wait", "60000"}});
  id = sent({{"method", "relay"}});
  post(answer(last_attempt(), 500));
  EXPECT_EQ(mill().route.health, Health::kWait);
  receipt(id, On::kPeerSeen);
  EXPECT_EQ(mill().route.health, Health::kProbe) << "evidence brings the probe forward";
  shard.reset();
}

// req: engine.health.1
TEST_F(DeliveryEdges, AnAnswerThatIsNoStrikeInterruptsTheRowOfStrikes) {
  for (const bool interrupted : {false, true}) {
    open_mill({{"strikes", "2"}, {"in-use", "8"}});
    for (int i = 0; i < 3; ++i) sent({{"method", "post"}});
    const std::size_t begin = starts().size() - 3;
    post(answer(attempt(begin), 500));
    if (interrupted) post(answer(attempt(begin + 1), 503));
    post(answer(attempt(begin + 2), 500));
    EXPECT_EQ(mill().route.health, interrupted ? Health::kNormal : Health::kWait);
    Configure other = place(next(), "mill");
    for (const StartAttempt& start : starts()) receipt(start.message, On::kConfirmed);
    other.config.removed = true;
    post(other);
    turn();
    ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  }
}

// The first of a lane sleeps on disk and cannot be read any more: those behind it do not wait for
// it. req: engine.quarantine.1
TEST_F(DeliveryEdges, BehindOneThatCannotBeReadALaneGoesOn) {
  open_mill({{"fifo", "1"}, {"base", "7200000"}, {"strikes", "1000"}});
  id = sent({{"method", "post"}});
  post(answer(last_attempt(), 408));
  sent({{"method", "post"}});
  turn();
  EXPECT_EQ(starts().size(), 1U);
  ASSERT_TRUE(store.memory().damage(keys::cold(id, keys::Part::kMessage)));
  Query event = ask(next(), Query::What::kExplain);
  event.id = id;
  post(event);
  turn();
  EXPECT_EQ(starts().size(), 2U);
  EXPECT_EQ(explained(id).place, Explanation::Place::kQuarantine);
}

// req: engine.lane.1
TEST_F(DeliveryEdges, WhoIsParkedOutOfTheWayOfALaneKeepsItsFirstAttempt) {
  open_mill({{"fifo", "1"},
             {"poison", "1"},
             {"poison-after", "2"},
             {"base", "1000"},
             {"strikes", "1000"}});
  id = sent({{"method", "post"}});
  const Timestamp began = instant().wall;
  const MessageId behind = sent({{"method", "post"}});
  post(answer(last_attempt(), 408));
  pass(10s);
  post(answer(last_attempt(), 408));
  EXPECT_EQ(phase(id), Phase::kParked);
  EXPECT_EQ(shown(id).first_attempt, began);
  EXPECT_EQ(explained(id).reason, "in the way of others after 2 attempts: status 408");
  EXPECT_EQ(explained(behind).gap, id);
  const auto gaps = log(LogEntry::Kind::kGap);
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(gaps[0].id, id);
  EXPECT_EQ(gaps[0].attempts, 2U);
  EXPECT_EQ(gaps[0].phase, Phase::kParked);
  EXPECT_EQ(gaps[0].cause, FailureClass::kOther);
  EXPECT_EQ(gaps[0].at, instant().wall);
}

// One that is parked for another reason is no gap. req: engine.explain.1
TEST_F(DeliveryEdges, WhoIsParkedForAnotherReasonIsNoGap) {
  open_mill({{"fifo", "1"}, {"link", "cold"}, {"in-use", "1"}});
  id = sent({{"method", "relay"}});
  turn();
  ASSERT_EQ(phase(id), Phase::kParked);
  const MessageId behind = sent({{"method", "post"}});
  const Explanation it = explained(behind);
  EXPECT_FALSE(it.gap.is_set());
  EXPECT_EQ(it.why.find("gap"), std::string::npos) << it.why;
}

// req: engine.wake.1
TEST_F(DeliveryEdges, AWakeEndsAHoldForGoodAndBringsThoseOnDisk) {
  open_mill({{"in-use", "8"}});
  id = sent({{"method", "post"}});
  AttemptEnded busy = answer(last_attempt(), 503);
  busy.reply.headers.emplace_back("retry-after", "3600");
  post(busy);
  for (int i = 0; i < 3; ++i) sent({{"method", "post"}});
  turn();
  EXPECT_EQ(starts().size(), 1U);
  EXPECT_EQ(mill().route.closed_until, instant().wall + 1h);
  Wake wake;
  wake.caller.ticket = Ticket(next());
  wake.destination = "mill";
  post(wake);
  EXPECT_EQ(told(questions).detail, "no longer held");
  turn();
  EXPECT_EQ(starts().size(), 4U);
  EXPECT_FALSE(mill().route.closed_until.is_set());
  const auto record = store.memory().get(keys::route(mill().id));
  EXPECT_FALSE(record && decode_route(record->view())->closed_until > instant().wall);
  restart();
  EXPECT_EQ(starts().size(), 3U) << "also after a crash";
}

// req: engine.configure.3
TEST_F(DeliveryEdges, WiderSettingsAreUsedAtOnce) {
  open_mill({{"in-use", "2"}, {"adapt", "1"}});
  ASSERT_TRUE(mill().activity.has_value());
  EXPECT_EQ(mill().activity->in_flight_now, 2U);
  Configure wider = place(next(), "mill", {{"in-use", "20"}, {"adapt", "1"}});
  post(wider);
  EXPECT_EQ(mill().activity->in_flight_max, 20U);
  EXPECT_EQ(mill().activity->in_flight_now, 20U);
  for (int i = 0; i < 25; ++i) sent({{"method", "post"}});
  EXPECT_EQ(starts().size(), 20U);
}

// A name that a send has before its bytes leave. req: engine.name.1
TEST_F(DeliveryEdges, ASendHasItsNamesWhenItLeaves) {
  spec_.after = [](const Facts& facts, const Moment& moment) {
    Aftermath left = sim::drill_profile().after(facts, moment);
    if (moment.kind == Moment::Kind::kStarted)
      left.names.push_back({"task", "n" + std::to_string(facts.state.attempts)});
    return left;
  };
  open_mill();
  id = sent({{"method", "task"}});
  EXPECT_EQ(records_in(keys::kName), 1U);
  post(news(next(), "done n1"));
  EXPECT_EQ(phase(id), Phase::kDelivered);
  EXPECT_EQ(stats().tallies.unknown_names, 0U);
}

}  // namespace
}  // namespace postrider
