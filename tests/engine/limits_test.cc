// Limits and instants: what is taken at the limit and refused above it, and what happens in the
// very instant in which something is due.
#include "tests/support/task_rig.h"

namespace postrider {
namespace {

class Limits : public TaskRig {
 protected:
  AnswerCode submitted(const Submit& event) {
    Submit copy = event;
    copy.caller.ticket = Ticket(++questions);
    post(copy);
    return code_of(questions);
  }
  AnswerCode placed(const Configure& event) {
    Configure copy = event;
    copy.caller.ticket = Ticket(++questions);
    post(copy);
    return code_of(questions);
  }
  // Attributes of so many bytes.
  static std::string attributes(std::size_t bytes) {
    std::string value;
    std::string out = encode_texts({{"note", value}});
    while (out.size() < bytes) out = encode_texts({{"note", value += 'a'}});
    return out;
  }
  Timestamp now() const { return instant().wall; }
};

// req: engine.submit.5, engine.submit.6
TEST_F(Limits, OfASubmit) {
  EngineLimits& limits = options.engine.limits;
  limits.body_bytes_max = 5;
  limits.attributes_bytes_max = 30;
  limits.key_bytes_max = 8;
  open();
  post(place(1, "mill"));
  Submit event = submit(0, "mill");
  event.body = "12345";
  event.lane = 15;
  event.attributes = attributes(30);
  ASSERT_EQ(event.attributes.size(), 30U);
  event.caller.key = opaque("12345678");
  event.caller.key.scope = "12345678";
  EXPECT_EQ(submitted(event), AnswerCode::kAccepted) << "everything at its limit";
  const auto changed = [&](auto change) {
    Submit other = event;
    change(other);
    return submitted(other);
  };
  EXPECT_EQ(changed([](Submit& it) { it.body += '6'; }), AnswerCode::kTooLarge);
  EXPECT_EQ(changed([](Submit& it) { it.attributes = attributes(31); }), AnswerCode::kTooLarge);
  EXPECT_EQ(changed([](Submit& it) { it.caller.key.key += '9'; }), AnswerCode::kTooLarge);
  EXPECT_EQ(changed([](Submit& it) { it.caller.key.scope += '9'; }), AnswerCode::kTooLarge);
  EXPECT_EQ(changed([](Submit& it) { it.lane = 16; }), AnswerCode::kInvalid);
  EXPECT_EQ(changed([](Submit& it) { it.attributes = "\xFF"; }), AnswerCode::kInvalid);
}

// req: engine.limit.1
TEST_F(Limits, OfADestination) {
  EngineLimits& limits = options.engine.limits;
  limits.name_bytes_max = 8;
  Configure event = place(0, "12345678");
  limits.settings_bytes_max =
      static_cast<std::uint32_t>(encode_texts(event.config.settings).size());
  open();
  EXPECT_EQ(placed(event), AnswerCode::kDone);
  Configure large = event;
  large.config.settings.emplace_back("poll", "1");
  EXPECT_EQ(placed(large), AnswerCode::kTooLarge);
  Configure named = event;
  named.config.name = "123456789";
  EXPECT_EQ(placed(named), AnswerCode::kInvalid);
  named.config.name = "";
  EXPECT_EQ(placed(named), AnswerCode::kInvalid);
}

// req: engine.supersede.1, engine.limit.1
TEST_F(Limits, OfOlderMessagesOfOneKey) {
  options.engine.limits.superseded_max = 1;
  options.engine.limits.key_bytes_max = 8;
  open();
  post(place(1, "mill", {{"in-use", "3"}}));
  post(task(2, {{"supersede", "12345678"}}));  // on the wire
  post(task(3, {{"supersede", "12345678"}}));  // on the wire as well: the first is forgotten
  ASSERT_EQ(count("SEND"), 2U);
  post(ended(attempt(0), WireEnd::kRefused));
  post(ended(attempt(1), WireEnd::kRefused));
  EXPECT_EQ(phase(id_of(2)), Phase::kBackoff);
  EXPECT_EQ(phase(id_of(3)), Phase::kBackoff);
  post(task(4, {{"supersede", "12345678"}}));
  EXPECT_EQ(phase(id_of(2)), Phase::kBackoff) << "one is looked at, and that is the newest";
  EXPECT_EQ(phase(id_of(3)), Phase::kCancelled);
  post(task(5, {{"supersede", "123456789"}}));
  EXPECT_EQ(code_of(5), AnswerCode::kInvalid) << "its key is too long";
}

// req: engine.submit.6
TEST_F(Limits, WhatExpiresNowIsTooLate) {
  open();
  post(place(1, "mill"));
  Submit event = submit(0, "mill");
  event.expires = now();
  EXPECT_EQ(submitted(event), AnswerCode::kInvalid);
  event.expires = now() + 1ms;
  EXPECT_EQ(submitted(event), AnswerCode::kAccepted);
  EXPECT_EQ(starts().size(), 1U);
}

TEST_F(Limits, WhatIsDueNowGoesNow) {
  open();
  post(place(1, "mill"));
  Submit event = submit(0, "mill");
  event.not_before = now();
  EXPECT_EQ(submitted(event), AnswerCode::kAccepted);
  EXPECT_EQ(starts().size(), 1U);
  event.not_before = now() + 1ms;
  EXPECT_EQ(submitted(event), AnswerCode::kAccepted);
  const Explanation it = explained(told(questions).id);
  EXPECT_EQ(it.place, Explanation::Place::kSleeping);
  EXPECT_EQ(it.why, "it is not to be sent earlier");
  EXPECT_EQ(it.next_at, now() + 1ms);
  EXPECT_EQ(starts().size(), 1U);
  advance(1ms);
  EXPECT_EQ(starts().size(), 2U);
}

// The policy gives a message so much time; a sender may give it less, and never more.
TEST_F(Limits, OfTheLifeOfAMessage) {
  open();
  post(place(1, "mill", {{"life", "10000"}}));
  const auto expires = [this](Timestamp wanted) {
    Submit event = submit(0, "mill");
    event.expires = wanted;
    EXPECT_EQ(submitted(event), AnswerCode::kAccepted);
    return explained(told(questions).id).expires;
  };
  EXPECT_EQ(expires({}), now() + 10s);
  EXPECT_EQ(expires(now() + 9s), now() + 9s);
  EXPECT_EQ(expires(now() + 10s), now() + 10s);
  EXPECT_EQ(expires(now() + 11s), now() + 10s);
  post(place(2, "free"));
  Submit event = submit(0, "free");
  EXPECT_EQ(submitted(event), AnswerCode::kAccepted);
  EXPECT_FALSE(explained(told(questions).id).expires.is_set());
}

// req: engine.explain.1
TEST_F(Limits, ExplainTellsWhatAMessageWaitsFor) {
  open();
  post(place(1, "mill",
             {{"in-use", "2"},
              {"base", "30000"},
              {"strikes", "2"},
              {"wait", "60000"},
              {"wait-max", "60000"}}));
  post(message(2, {{"method", "post"}}));
  Explanation it = explained(id_of(2));
  EXPECT_EQ(it.place, Explanation::Place::kOnTheWire);
  EXPECT_EQ(it.next, Explanation::Next::kOutcome);
  EXPECT_EQ(it.why, "an attempt is open");
  EXPECT_GT(it.next_at, now());
  post(message(3, {{"method", "post"}}));
  post(message(4, {{"method", "post"}}));
  EXPECT_EQ(explained(id_of(4)).why, "cap: all 2 places are taken");
  EXPECT_FALSE(explained(id_of(4)).next_at.is_set());
  EXPECT_EQ(explained(id_of(4)).place, Explanation::Place::kWindow);
  const Timestamp failed = now();
  post(answer(attempt(0), 408));
  it = explained(id_of(2));
  EXPECT_EQ(it.place, Explanation::Place::kSleeping);
  EXPECT_EQ(it.why, "it waits for its next attempt");
  EXPECT_EQ(it.next_at, failed + 30s);
  advance(1s);
  post(answer(attempt(1), 408));  // the second strike closes the route for a minute
  it = explained(id_of(2));
  EXPECT_EQ(it.why, "the destination is closed: status 408") << "that is longer than its own wait";
  EXPECT_EQ(it.next_at, now() + 60s);
  EXPECT_EQ(it.next, Explanation::Next::kAttempt);
}

// req: engine.explain.1
TEST_F(Limits, ExplainNamesTheMessagesOwnWaitWhenTheRoutesIsNotLonger) {
  open();
  post(place(1, "mill",
             {{"base", "60000"}, {"strikes", "1"}, {"wait", "60000"}, {"wait-max", "60000"}}));
  post(message(2, {{"method", "post"}}));
  post(answer(last_attempt(), 408));
  const Explanation it = explained(id_of(2));
  EXPECT_EQ(it.next_at, now() + 60s);
  EXPECT_EQ(it.why, "it waits for its next attempt");
}

// req: engine.explain.1
TEST_F(Limits, ExplainSaysSpacingOnlyWhileThereIsSome) {
  open();
  post(place(1, "mill", {{"spacing", "2000"}}));
  advance(10s);
  post(message(2, {{"method", "post"}}));
  post(message(3, {{"method", "post"}}));
  const Explanation it = explained(id_of(3));
  EXPECT_TRUE(it.why.starts_with("spacing")) << it.why;
  EXPECT_EQ(it.next_at, now() + 2s);
  post(place(4, "rated", {{"tokens", "1"}, {"burst", "1"}}));
  advance(10s);
  post(message(5, {{"method", "post"}}, "rated"));
  post(message(6, {{"method", "post"}}, "rated"));
  EXPECT_EQ(explained(id_of(6)).why, "it waits for its turn");
}

// req: engine.explain.1
TEST_F(Limits, ExplainTellsOfTheLineAndOfTheDisk) {
  open();
  post(place(1, "mill", {{"fifo", "1"}, {"window", "2"}, {"in-use", "1"}}));
  for (std::uint64_t ticket = 2; ticket < 7; ++ticket) post(message(ticket, {{"method", "post"}}));
  EXPECT_EQ(explained(id_of(3)).why, "messages before it in its lane come first");
  EXPECT_EQ(explained(id_of(6)).why, "messages before it in its lane come first");
  EXPECT_EQ(explained(id_of(6)).place, Explanation::Place::kDisk);
  post(place(10, "wide", {{"window", "2"}, {"in-use", "1"}}));
  for (std::uint64_t ticket = 12; ticket < 17; ++ticket)
    post(message(ticket, {{"method", "post"}}, "wide"));
  EXPECT_EQ(explained(id_of(13)).place, Explanation::Place::kWindow);
  EXPECT_EQ(explained(id_of(16)).place, Explanation::Place::kDisk);
  Pause pause;
  pause.caller.ticket = Ticket(90);
  pause.destination = "wide";
  pause.reason = "lunch";
  post(pause);
  const Explanation it = explained(id_of(16));
  EXPECT_EQ(it.why, "the destination is paused: lunch");
  EXPECT_EQ(it.next, Explanation::Next::kOperator);
  EXPECT_FALSE(it.next_at.is_set());
}

// req: engine.explain.1
TEST_F(Limits, ExplainTellsOfAThrottleThatHasLearnt) {
  open();
  post(place(1, "mill", {{"in-use", "4"}, {"adapt", "1"}, {"base", "600000"}, {"strikes", "100"}}));
  for (std::uint64_t ticket = 2; ticket < 10; ++ticket) post(message(ticket, {{"method", "post"}}));
  post(answer(attempt(0), 500));  // two places from now on, and three are taken
  EXPECT_EQ(explained(id_of(9)).why, "the destination failed lately and gets 2 at a time");
  post(answer(attempt(1), 200));  // as many as there are places
  const Explanation it = explained(id_of(9));
  EXPECT_EQ(it.why, "the destination failed lately and gets 2 at a time");
}

// The sum of all windows is bounded, and one more byte goes to disk.
// req: engine.limit.1
TEST_F(Limits, OfAllWindowsTogether) {
  std::size_t bytes = 0;
  {
    open();
    post(place(1, "mill", {{"in-use", "1"}}));
    post(message(2, {{"method", "post"}}));
    const auto record = store.memory().get(keys::hot(id_of(2).sequence(), keys::Part::kMessage));
    ASSERT_TRUE(record.has_value());
    bytes = decode_message(*record)->bytes();
  }
  const auto in_window = [&](std::uint64_t limit) {
    options.engine.limits.window_bytes_max = limit;
    const std::string name = "mill" + std::to_string(limit);
    open();
    post(place(++questions, name, {{"in-use", "1"}}));
    const std::uint64_t before = stats().in_window;
    for (int i = 0; i < 4; ++i) post(message(++questions, {{"method", "post"}}, name));
    return stats().in_window - before;
  };
  // One of them is there already.
  EXPECT_EQ(in_window(3 * bytes), 2U);
  EXPECT_EQ(in_window(1000 * bytes), 4U);
}

// req: engine.retry.15, engine.wake.2
TEST_F(Limits, OfARouteHoldAtItsInstant) {
  open();
  post(place(1, "mill", {{"in-use", "1"}}));
  post(message(2, {{"method", "post"}}));
  post(message(3, {{"method", "post"}}));
  AttemptEnded busy = answer(last_attempt(), 429);
  busy.reply.headers.emplace_back("retry-after", "10");
  post(busy);
  EXPECT_EQ(starts().size(), 1U);
  EXPECT_EQ(explained(id_of(3)).next_at, now() + 10s);
  advance(9'999ms);
  EXPECT_EQ(starts().size(), 1U);
  Wake wake;
  wake.caller.ticket = Ticket(90);
  wake.destination = "mill";
  post(wake);
  EXPECT_EQ(told(90).detail, "no longer held");
  EXPECT_EQ(starts().size(), 2U);
  wake.caller.ticket = Ticket(91);
  post(wake);
  EXPECT_EQ(code_of(91), AnswerCode::kNothing) << "nothing holds it";
}

// req: engine.configure.5
TEST_F(Limits, ARemovedDestinationLeavesNothingInTheStore) {
  open();
  post(place(1, "mill", {{"attempts", "1"}, {"strand", "1"}, {"strikes", "1"}, {"wait", "60000"}}));
  post(message(2, {{"method", "post"}}));
  post(ended(last_attempt(), WireEnd::kRefused));  // parked for want of reach, and the route closed
  EXPECT_EQ(phase(id_of(2)), Phase::kParked);
  EXPECT_GE(records_in(keys::kDue), 2U) << "its opening and its revival";
  const auto closed = log(LogEntry::Kind::kDestinationClosed);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].id, (MessageId{id_of(2).destination().value() << 20, 0}));
  EXPECT_EQ(closed[0].reason, "refused");
  Configure gone = place(3, "mill");
  gone.config.removed = true;
  post(gone);
  EXPECT_EQ(code_of(3), AnswerCode::kNotEmpty);
  Drop drop;
  drop.caller.ticket = Ticket(4);
  drop.id = id_of(2);
  post(drop);
  gone.caller.ticket = Ticket(5);
  post(gone);
  EXPECT_EQ(code_of(5), AnswerCode::kDone);
  for (const char space : {keys::kDue, keys::kRoute, keys::kOwed, keys::kCensus, keys::kParked})
    EXPECT_EQ(records_in(space), 0U) << space;
  EXPECT_EQ(records_in(keys::kConfig), 1U) << "a tombstone";
}

// req: engine.retry.15, engine.explain.1
TEST_F(Limits, AHeldRouteOpensInItsInstant) {
  open();
  post(place(1, "mill", {{"in-use", "1"}}));
  for (std::uint64_t ticket = 2; ticket < 5; ++ticket) post(message(ticket, {{"method", "post"}}));
  AttemptEnded busy = answer(last_attempt(), 429);
  busy.reply.headers.emplace_back("retry-after", "10");
  post(busy);
  EXPECT_TRUE(explained(id_of(4)).why.starts_with("the destination is closed"));
  advance(10s);
  EXPECT_EQ(starts().size(), 2U);
  EXPECT_EQ(explained(id_of(4)).why, "cap: all 1 places are taken") << "it is open again";
}

// req: engine.explain.1
TEST_F(Limits, ExplainTellsOfHigherPrioritiesOnlyWhereThereAreSome) {
  open();
  const auto why = [this](const std::string& lower, std::uint16_t first, std::uint16_t second) {
    const std::string name = "mill" + std::to_string(++questions);
    post(place(++questions, name, {{"tokens", "1"}, {"burst", "1"}, {"lower", lower}}));
    advance(10s);
    post(message(++questions, {{"method", "post"}}, name));
    for (const std::uint16_t priority : {first, second}) {
      Submit event = message(++questions, {{"method", "post"}}, name);
      event.priority = priority;
      post(event);
    }
    return explained(id_of(questions)).why;
  };
  EXPECT_EQ(why("4", 7, 5),
            "higher priorities of its lane go first; of 4 starts one is for lower ones");
  EXPECT_EQ(why("4", 5, 5), "it waits for its turn");
  EXPECT_EQ(why("4", 5, 7), "it waits for its turn");
  EXPECT_EQ(why("0", 7, 5), "it waits for its turn") << "lower ones have no turns";
}

// req: engine.explain.1
TEST_F(Limits, TheHeadOfALineWaitsForNobodyInIt) {
  open();
  post(place(1, "mill", {{"fifo", "1"}, {"spacing", "2000"}}));
  advance(10s);
  post(message(2, {{"method", "post"}}));
  post(message(3, {{"method", "post"}}));
  post(message(4, {{"method", "post"}}));
  post(answer(last_attempt(), 200));
  EXPECT_TRUE(explained(id_of(3)).why.starts_with("spacing")) << explained(id_of(3)).why;
  EXPECT_EQ(explained(id_of(4)).why, "messages before it in its lane come first");
}

// A short back-off stays in memory's reach, a longer one moves the message to the cold space.
TEST_F(Limits, OfTheSleepInTheHotSpace) {
  options.engine.limits.hot_sleep_max = 60s;
  open();
  const auto is_hot_after = [this](const std::string& base) {
    const std::string name = "mill" + base;
    post(place(++questions, name, {{"base", base}}));
    post(message(++questions, {{"method", "post"}}, name));
    const MessageId which = id_of(questions);
    post(answer(last_attempt(), 408));
    EXPECT_EQ(phase(which), Phase::kBackoff);
    return store.memory().get(keys::hot(which.sequence(), keys::Part::kMessage)).has_value();
  };
  EXPECT_TRUE(is_hot_after("59999"));
  EXPECT_TRUE(is_hot_after("60000"));
  EXPECT_FALSE(is_hot_after("60001"));
}

// The window of a route that is held for longer goes to disk.
TEST_F(Limits, OfTheWindowOfAHeldRoute) {
  options.engine.limits.hot_sleep_max = 60s;
  open();
  const auto in_window_after = [this](const std::string& seconds) {
    const std::string name = "mill" + seconds;
    post(place(++questions, name, {{"in-use", "1"}, {"base", "600000"}}));
    for (int i = 0; i < 3; ++i) post(message(++questions, {{"method", "post"}}, name));
    AttemptEnded busy = answer(last_attempt(), 429);
    busy.reply.headers.emplace_back("retry-after", seconds);
    const std::uint64_t before = stats().in_window;
    post(busy);
    return before - stats().in_window;
  };
  EXPECT_EQ(in_window_after("60"), 1U) << "only the one that was sent sleeps";
  EXPECT_EQ(in_window_after("61"), 3U);
}

// req: engine.limit.1
TEST_F(Limits, OfDestinationsThatHaveNothingToDo) {
  options.engine.limits.residents_max = 3;
  open();
  for (int i = 0; i < 7; ++i) post(place(++questions, "mill" + std::to_string(i)));
  EXPECT_EQ(stats().residents, 3U);
  post(message(++questions, {{"method", "post"}}, "mill0"));
  EXPECT_EQ(stats().residents, 4U) << "one has something to do";
}

// Places in memory come in chunks of 64: a full one has nothing behind it.
TEST_F(Limits, AFullChunkOfDestinationsIsLookedThroughAndNothingBeyondIt) {
  open();
  for (int i = 0; i < 64; ++i) post(place(++questions, "mill" + std::to_string(i)));
  post(message(++questions, {{"method", "post"}}, "mill63"));
  EXPECT_EQ(stats().residents, 64U);
  post(ask(++questions, Query::What::kQueues));
  EXPECT_EQ(view_of<QueuePage>(questions).rows.size(), 1U);
  PutHold hold;
  hold.caller.ticket = Ticket(++questions);
  hold.rule.name = "all";
  post(hold);
  EXPECT_EQ(code_of(questions), AnswerCode::kDone);
  DropHold drop;
  drop.caller.ticket = Ticket(++questions);
  drop.name = "all";
  post(drop);
  EXPECT_EQ(code_of(questions), AnswerCode::kDone);
}

// Somebody wrote what this profile does not have.
// req: engine.quarantine.1, engine.quarantine.2
TEST_F(Limits, AStateBehindTheLastOneIsNotRead) {
  for (const bool method : {true, false}) {
    open();
    const std::string name = method ? "m" : "s";
    post(place(++questions, name, {{"base", "600000"}}));
    post(message(++questions, {{"method", "post"}}, name));
    const MessageId which = id_of(questions);
    post(answer(last_attempt(), 408));
    const std::string key = keys::cold(which, keys::Part::kState);
    const auto before = store.memory().get(key);
    ASSERT_TRUE(before.has_value());
    auto state = decode_state(before->view())->state;
    const ProfileSpec& profile = sim::drill_profile();
    if (method) state.method = static_cast<std::uint8_t>(profile.methods.size());
    if (!method) state.state = static_cast<StateIndex>(profile.states.size());
    shard.reset();
    const auto epoch = store.memory().acquire(0);
    auto batch = std::make_shared<WriteBatch>();
    batch->put(key, encode_state(state, "x"));
    store.memory().commit(*epoch, batch, [](CommitOutcome) {});
    restart();
    post(ask(++questions, Query::What::kShape));
    for (const ShapeRow& row : view_of<ShapePage>(questions).rows)
      EXPECT_LE(row.states.size(), 1U) << "nobody can name it";
    const std::uint64_t quarantined = stats().counters.quarantined;
    EXPECT_EQ(phase(which), Phase::kQueued) << "its attempts are forgotten";
    EXPECT_EQ(stats().counters.quarantined, quarantined + 1);
  }
}

// The clock by which one of those is tried who found nobody there goes on after a pause, also when
// that ends in the instant in which it was due.
// req: engine.revive.3
TEST_F(Limits, ARevivalThatWasDueInAPauseComesWithItsEnd) {
  open();
  post(place(1, "mill", {{"attempts", "1"}, {"strand", "1"}, {"strikes", "1000"}}));
  post(message(2, {{"method", "post"}}));
  post(ended(last_attempt(), WireEnd::kRefused));
  const Timestamp due = explained(id_of(2)).next_at;
  ASSERT_GT(due, now());
  Pause pause;
  pause.caller.ticket = Ticket(3);
  pause.destination = "mill";
  post(pause);
  pass(due - now());
  EXPECT_EQ(starts().size(), 1U);
  Resume resume;
  resume.caller.ticket = Ticket(4);
  resume.destination = "mill";
  post(resume);
  pass(1ms);
  EXPECT_EQ(starts().size(), 2U) << "it is tried";
}

}  // namespace
}  // namespace postrider
