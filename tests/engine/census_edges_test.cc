// What is counted, at its edges: counts that were wrong, profiles that are gone, sleepers that
// wake, and the times that are told.
#include <array>
#include <memory>
#include <numeric>

#include "tests/support/task_rig.h"

namespace postrider {
namespace {

class CensusEdges : public TaskRig {
 protected:
  std::uint64_t next() { return ++questions; }
  DestinationId number(const std::string& name) {
    Query event = ask(next(), Query::What::kDestination);
    event.destination = name;
    post(event);
    return view_of<DestinationView>(questions).id;
  }
  std::uint64_t in_state(std::string_view state) {
    const Stats told = stats();
    for (const Stats::InState& row : told.in_states) {
      if (row.state == state) return row.messages;
    }
    return 0;
  }
  AnswerCode remove(const std::string& name) {
    Configure gone = place(next(), name);
    gone.config.removed = true;
    post(gone);
    turn();
    return code_of(questions);
  }
  std::vector<QueueRow> queues() {
    post(ask(next(), Query::What::kQueues));
    return view_of<QueuePage>(questions).rows;
  }
  static std::uint64_t times(const Histogram& histogram) {
    return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::uint64_t{0});
  }
};

// req: engine.census.1
TEST_F(CensusEdges, ACountThatWasWrongGoesWithItsDestination) {
  open();
  post(place(next(), "mill"));
  const DestinationId mill = number("mill");
  leave(keys::census(mill), encode_census({"drill", {{0, 3}, {8, 2}}}));
  EXPECT_EQ(in_state("queued"), 3U);
  EXPECT_EQ(in_state("resting"), 2U);
  EXPECT_TRUE(stats().all_counted);
  EXPECT_EQ(remove("mill"), AnswerCode::kDone);
  EXPECT_EQ(in_state("queued"), 0U);
  EXPECT_EQ(in_state("resting"), 0U);
  restart();
  EXPECT_EQ(in_state("queued"), 0U);
}

// req: engine.census.1
TEST_F(CensusEdges, MessagesOfAProfileThatIsGoneAreCountedByNobody) {
  open();
  post(place(next(), "mill"));
  EXPECT_TRUE(stats().all_counted);
  leave(keys::census(DestinationId(77)), encode_census({"gone", {{0, 3}}}));
  EXPECT_FALSE(stats().all_counted) << "then not all are told";
  EXPECT_EQ(in_state("queued"), 0U);
  leave(keys::census(DestinationId(77)), encode_census({"drill", {{0, 3}}}));
  EXPECT_TRUE(stats().all_counted);
  EXPECT_EQ(in_state("queued"), 3U);
}

// req: engine.census.1, engine.configure.5
TEST_F(CensusEdges, WhoWokeUpSleepsNoMore) {
  open();
  post(place(next(), "mill"));
  for (int i = 0; i < 2; ++i) {
    post(message(next(), {{"method", "post"}}));
    post(answer(last_attempt(), 408));
    advance(1s);
  }
  EXPECT_EQ(stats().in_window, 0U);
  EXPECT_EQ(in_state("resting"), 2U);
  ASSERT_EQ(queues().size(), 1U);
  EXPECT_EQ(queues()[0].messages, 2U);
  EXPECT_EQ(remove("mill"), AnswerCode::kNotEmpty);
  pass(10s);
  ASSERT_EQ(starts().size(), 4U);
  post(answer(attempt(2), 200));
  EXPECT_EQ(queues().at(0).messages, 1U);
  EXPECT_EQ(remove("mill"), AnswerCode::kNotEmpty);
  post(answer(attempt(3), 200));
  EXPECT_TRUE(queues().empty());
  EXPECT_EQ(in_state("resting"), 0U);
  EXPECT_EQ(remove("mill"), AnswerCode::kDone);
}

// req: engine.life.1
TEST_F(CensusEdges, HowLongItTookIsToldToTheMillisecond) {
  open();
  post(place(next(), "mill", {{"in-use", "1"}}));
  post(message(next(), {{"method", "post"}}));
  advance(30ms);
  post(message(next(), {{"method", "post"}}));
  advance(10ms);
  EXPECT_EQ(times(stats().tallies.until_sent), 1U);
  EXPECT_EQ(stats().tallies.until_sent.sum_ms, 0U);
  EXPECT_EQ(times(stats().tallies.until_ended), 0U);
  post(answer(last_attempt(), 200));
  EXPECT_EQ(times(stats().tallies.until_ended), 1U);
  EXPECT_EQ(stats().tallies.until_ended.sum_ms, 40U);
  EXPECT_EQ(times(stats().tallies.until_sent), 2U);
  EXPECT_EQ(stats().tallies.until_sent.sum_ms, 10U);
  advance(5ms);
  post(answer(last_attempt(), 408));  // tried again later: not sent for the first time
  pass(1min);
  EXPECT_EQ(times(stats().tallies.until_sent), 2U);
  post(answer(last_attempt(), 400));
  EXPECT_EQ(times(stats().tallies.until_ended), 2U) << "a dead one has ended as well";
  EXPECT_EQ(stats().tallies.until_ended.sum_ms, 40U + 15U + 60'000U);
  EXPECT_EQ(times(stats().tallies.until_answered), 0U) << "no trail was kept";
}

// req: engine.probe.1
TEST_F(CensusEdges, QuestionsAreCountedApart) {
  open_with_task({{"poll", "10000"}});
  accept_task();
  EXPECT_EQ(stats().tallies.attempts, 1U);
  EXPECT_EQ(stats().tallies.probes, 0U);
  pass(10s);
  EXPECT_EQ(count("PROBE"), 1U);
  EXPECT_EQ(stats().tallies.attempts, 2U);
  EXPECT_EQ(stats().tallies.probes, 1U);
}

// A task counts as answered since its last stage that waits for an answer to come late.
// req: device.obs.1
TEST_F(CensusEdges, TheTimeFromTheLastStageToTheAnswerIsTold) {
  // The drill's stage for a relay that has arrived, in a method that keeps a trail.
  ProfileSpec spec = sim::drill_profile();
  std::vector<Method> methods(spec.methods.begin(), spec.methods.end());
  methods[0].trail = true;
  spec.methods = methods;
  const std::array<const ProfileSpec*, 1> profiles = {&spec};
  options.engine.profiles = profiles;
  open();
  post(place(next(), "mill"));
  post(message(next(), {{"method", "relay"}}));
  id = id_of(questions);
  post(answer(last_attempt(), 206));  // it moved on
  advance(100ms);
  ReceiptArrived receipt{.id = id, .signal = On::kAcked, .detail = {}};
  post(receipt);
  EXPECT_EQ(explained(id).state, "lingering");
  advance(70ms);
  receipt.signal = On::kConfirmed;
  post(receipt);
  EXPECT_EQ(phase(id), Phase::kDelivered);
  EXPECT_EQ(times(stats().tallies.until_answered), 1U);
  EXPECT_EQ(stats().tallies.until_answered.sum_ms, 70U);
  shard.reset();
}

// What did not change is not written again. req: engine.census.1
TEST_F(CensusEdges, ACountIsWrittenWhenItChanges) {
  open();
  post(place(next(), "mill", {{"base", "7200000"}}));
  post(place(next(), "bell"));
  post(message(next(), {{"method", "post"}}));
  post(answer(last_attempt(), 408));
  const std::size_t before = store.bytes_by_space().at(keys::kCensusPage);
  EXPECT_GT(before, 0U);
  post(message(next(), {{"method", "post"}}, "bell"));
  post(answer(last_attempt(), 200));
  post(place(next(), "gong"));
  EXPECT_EQ(store.bytes_by_space().at(keys::kCensusPage), before);
}

// req: engine.census.1, engine.quarantine.1, engine.configure.5
TEST_F(CensusEdges, AMessageThatCannotBeReadIsCountedNoMore) {
  open();
  post(place(next(), "mill", {{"base", "7200000"}, {"strikes", "1000"}}));
  post(message(next(), {{"method", "post"}}));
  const MessageId resting = id_of(questions);
  post(answer(last_attempt(), 408));
  Pause pause;
  pause.caller.ticket = Ticket(next());
  pause.destination = "mill";
  post(pause);
  post(message(next(), {{"method", "post"}}));
  const MessageId queued = id_of(questions);
  EXPECT_EQ(in_state("queued"), 1U);
  EXPECT_EQ(in_state("resting"), 1U);
  const auto lose = [this](MessageId which, keys::Part part) {
    ASSERT_TRUE(store.memory().damage(keys::cold(which, part)));
    Query event = ask(next(), Query::What::kExplain);
    event.id = which;
    post(event);
    turn();
  };
  lose(resting, keys::Part::kMessage);
  EXPECT_EQ(in_state("resting"), 0U) << "its state could be read";
  EXPECT_EQ(in_state("queued"), 1U);
  EXPECT_TRUE(stats().all_counted);
  lose(queued, keys::Part::kMessage);
  EXPECT_EQ(in_state("queued"), 0U);
  EXPECT_TRUE(stats().all_counted);
  EXPECT_EQ(stats().counters.quarantined, 2U);
  EXPECT_EQ(remove("mill"), AnswerCode::kDone) << "a state that outlived its message is no message";
}

// req: engine.census.1
TEST_F(CensusEdges, WhoseStateCannotBeReadIsCountedByNobody) {
  open();
  post(place(next(), "mill", {{"base", "7200000"}, {"strikes", "1000"}}));
  post(message(next(), {{"method", "post"}}));
  id = id_of(questions);
  post(answer(last_attempt(), 408));
  EXPECT_TRUE(stats().all_counted);
  ASSERT_TRUE(store.memory().damage(keys::cold(id, keys::Part::kState)));
  EXPECT_EQ(phase(id), Phase::kQueued);
  EXPECT_FALSE(stats().all_counted);
}

// req: engine.dead.4
TEST_F(CensusEdges, LettersAndParkedOnesAreCountedByCause) {
  open();
  post(place(next(), "mill", {{"attempts", "1"}}));
  post(message(next(), {{"method", "relay"}}));
  post(answer(last_attempt(), 400));
  post(message(next(), {{"method", "relay"}}));
  post(answer(last_attempt(), 400));
  post(message(next(), {{"method", "post"}}));
  post(answer(last_attempt(), 408));
  const Stats told = stats();
  EXPECT_EQ(told.dead_letters[static_cast<std::size_t>(FailureClass::kRejected)], 2U);
  EXPECT_EQ(told.dead_letters[static_cast<std::size_t>(FailureClass::kOther)], 0U);
  EXPECT_EQ(told.parked, 1U);
  EXPECT_EQ(told.dead_groups, 2U);
  EXPECT_EQ(told.dead_letters_ungrouped, 0U);
}

// Where a profile has several methods it is told how many are in each. req: engine.ask.1
TEST_F(CensusEdges, OfTwoMethodsEachIsTold) {
  ProfileSpec spec = sim::drill_profile();
  for (const std::size_t methods : {std::size_t{1}, std::size_t{2}}) {
    spec.methods = sim::drill_profile().methods.first(methods);
    const std::array<const ProfileSpec*, 1> profiles = {&spec};
    options.engine.profiles = profiles;
    open();
    post(place(next(), "mill"));
    post(message(next(), {{"method", "relay"}}));
    post(ask(next(), Query::What::kShape));
    std::string cursor = view_of<ShapePage>(questions).next;
    Query rest = ask(next(), Query::What::kShape);
    rest.cursor = cursor;
    post(rest);
    const ShapePage page = view_of<ShapePage>(questions);
    ASSERT_EQ(page.rows.size(), 1U);
    EXPECT_EQ(page.rows[0].methods.size(), methods == 1 ? 0U : 1U);
    if (methods == 2) {
      EXPECT_EQ(page.rows[0].methods.at("relay").at("sending"), 2U);
    }
    shard.reset();
  }
}

// req: engine.limit.1
TEST_F(CensusEdges, WhatIsInMemoryIsEstimated) {
  constexpr std::size_t kMessages = 500;
  open();
  post(place(next(), "mill", {{"window", "1000"}, {"strikes", "100000"}}));
  const auto memory = [this] { return shard->engine().memory_bytes(); };
  for (std::size_t i = 0; i < kMessages; ++i) post(message(next(), {{"method", "post"}}));
  ASSERT_EQ(starts().size(), kMessages);
  const std::size_t sending = memory();
  for (const StartAttempt& start : starts()) post(answer(start.attempt, 408));
  EXPECT_EQ(stats().in_window, 0U);
  const std::size_t asleep = memory();
  pass(10s);
  ASSERT_EQ(starts().size(), 2 * kMessages);
  for (std::size_t i = kMessages; i < 2 * kMessages; ++i) post(answer(attempt(i), 200));
  const std::size_t nothing = memory();
  // The tables of those that are known by id, and of their attempts: more than 60 bytes for each.
  EXPECT_GT(sending, nothing + 60 * kMessages);
  EXPECT_GT(asleep, nothing + 36 * kMessages) << "the table of those that sleep";
  for (std::size_t i = 0; i < 100; ++i) post(place(next(), "d" + std::to_string(i)));
  const std::size_t many = memory();
  EXPECT_GT(many, nothing + 100 * 100) << "destinations";
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(remove("d" + std::to_string(i)), AnswerCode::kDone);
  }
  EXPECT_GT(many, memory() + 30 * 100) << "their table";
}

// req: engine.census.1
TEST_F(CensusEdges, CountsComeBackPageByPageAndGoWithTheLastMessage) {
  options.engine.limits.restore_rows_max = 1;
  options.engine.limits.census_pages_max = 1;
  open();
  std::vector<MessageId> ids;
  for (const char* name : {"mill", "bell", "gong"}) {
    post(place(next(), name));
    command_to<Pause>(name);
    post(message(next(), {{"method", "post"}}, name));
    ids.push_back(id_of(questions));
  }
  EXPECT_EQ(records_in(keys::kCensus), 2U);
  EXPECT_EQ(records_in(keys::kCensusPage), 1U);
  restart();
  for (int i = 0; i < 5; ++i) turn();
  EXPECT_EQ(in_state("queued"), 3U);
  EXPECT_TRUE(stats().all_counted);
  for (const MessageId which : ids) {
    Cancel cancel;
    cancel.caller.ticket = Ticket(next());
    cancel.id = which;
    post(cancel);
    turn();
    EXPECT_EQ(code_of(questions), AnswerCode::kDone);
  }
  EXPECT_EQ(in_state("queued"), 0U);
  EXPECT_EQ(records_in(keys::kCensus), 1U) << "of the last, whose page says that it has none";
  restart();
  EXPECT_EQ(in_state("queued"), 0U);
}

// req: engine.limit.1
TEST_F(CensusEdges, OneAnswerTellsOfSoManyQueues) {
  open();
  for (int i = 0; i < 130; ++i) {
    post(place(next(), "d" + std::to_string(i)));
    post(message(next(), {{"method", "post"}}, "d" + std::to_string(i)));
  }
  Query event = ask(next(), Query::What::kQueues);
  event.limit = 1000;
  post(event);
  const QueuePage page = view_of<QueuePage>(questions);
  EXPECT_EQ(page.rows.size(), 128U);
  event = ask(next(), Query::What::kQueues);
  event.cursor = page.next;
  post(event);
  EXPECT_EQ(view_of<QueuePage>(questions).rows.size(), 2U);
}

}  // namespace
}  // namespace postrider
