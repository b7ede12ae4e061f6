// What mutants of the core showed that nobody had looked at: limits at, below and above them, and
// answers that were asked for and not read. (docs/testing.md, Mutants.)
#include <algorithm>
#include <array>

#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class Edges : public ShardRig {
 protected:
  std::uint64_t next() { return ++ticket_; }

  Stats stats() {
    post(ask(next(), Query::What::kStats));
    return view_of<Stats>(ticket_);
  }
  // Page by page, as /metrics does; a row that goes on with the last is one with it.
  std::vector<QueueRow> all_queues(std::uint32_t limit = 1000) {
    std::vector<QueueRow> out;
    Query event = ask(0, Query::What::kQueues);
    event.limit = limit;
    do {
      event.ticket = Ticket(next());
      post(event);
      QueuePage page = view_of<QueuePage>(ticket_);
      pages_ += 1;
      EXPECT_LE(page.rows.size(), limit);
      for (QueueRow& row : page.rows) {
        if (!out.empty() && out.back().id == row.id) {
          row.oldest = std::min(row.oldest, out.back().oldest);
          out.pop_back();
        }
        out.push_back(std::move(row));
      }
      event.cursor = page.next;
    } while (!event.cursor.empty());
    return out;
  }
  Duration age_of(const QueueRow& row) { return stats().now - row.oldest; }
  static std::uint64_t in_state(const Stats& stats, std::string_view profile,
                                std::string_view state) {
    for (const Stats::InState& row : stats.in_states) {
      if (row.profile == profile && row.state == state) return row.messages;
    }
    ADD_FAILURE() << "nothing is said of " << profile << " " << state;
    return 0;
  }
  void kill(const std::string& destination) {
    post(submit(next(), destination));
    post(answer(last_attempt(), 400));
  }
  // What is said to an order of a dry run; empty when it makes sense.
  std::string refusal(const JobOrder& order) {
    StartJob start;
    start.caller.ticket = Ticket(next());
    start.dry_run = true;
    start.order = order;
    post(start);
    for (int i = 0; i < 3; ++i) advance(1ms);
    const Answer said = told(ticket_);
    return said.code == AnswerCode::kInvalid ? said.detail : "";
  }
  AnswerCode put_hold(const std::string& name, const std::string& prefix) {
    PutHold put;
    put.caller.ticket = Ticket(next());
    put.rule.name = name;
    put.rule.destination_prefix = prefix;
    post(put);
    return code_of(ticket_);
  }

  std::uint64_t ticket_ = 0;
  int pages_ = 0;  // of queues
};

TEST_F(Edges, StatsTellTheStatesOfWhatIsInMemoryAndTheOldestOfAQueue) {
  open();
  post(configure(next(), "shop", {{"in_flight_max", "1"}}));
  post(configure(next(), "idle"));
  for (int i = 0; i < 3; ++i) {
    post(submit(next(), "shop"));
    advance(1s);
  }
  const Stats told = stats();
  EXPECT_EQ(in_state(told, "webhook", "Sending"), 1U);
  EXPECT_EQ(in_state(told, "webhook", "Queued"), 2U);
  EXPECT_EQ(in_state(told, "webhook", "Waiting"), 0U);
  for (const Stats::InState& row : told.in_states)
    EXPECT_NE(row.state, "Delivered") << "nothing is in an end";
  const std::vector<QueueRow> queues = all_queues();
  ASSERT_EQ(queues.size(), 1U) << "one that has nothing is not told of";
  EXPECT_EQ(queues[0].messages, 3U);
  EXPECT_FALSE(queues[0].more) << "all are in memory";
  EXPECT_EQ(queues[0].slots, 1U);
  EXPECT_EQ(told.now - queues[0].oldest, 3s);
}

// Messages that fail leave memory: the first for the disk at once, by a long back-off.
// req: engine.census.3, device.obs.1
TEST_F(Edges, TheOldestOfAQueueIsToldWhereverItIs) {
  open();
  post(configure(next(), "shop", {{"in_flight_max", "1"}, {"ladder", "1h"}}));
  post(submit(next(), "shop"));
  advance(10s);
  post(answer(last_attempt(), 503));
  advance(10s);
  post(submit(next(), "shop"));
  EXPECT_EQ(stats().in_window, 1U) << "the oldest is on disk only";
  for (const char* when : {"at first", "after a restart"}) {
    const std::vector<QueueRow> queues = all_queues();
    ASSERT_EQ(queues.size(), 1U) << when;
    EXPECT_EQ(queues[0].destination, "shop");
    EXPECT_EQ(queues[0].messages, 2U) << when;
    EXPECT_TRUE(queues[0].more) << when;
    EXPECT_EQ(age_of(queues[0]), 20s) << when;
    open();
  }
}

// req: engine.census.3, device.obs.1
TEST_F(Edges, AMessageInAShortSleepHasItsAge) {
  open();
  post(configure(next(), "shop", {{"in_flight_max", "1"}, {"ladder", "30s"}}));
  post(submit(next(), "shop"));
  advance(5s);
  post(answer(last_attempt(), 503));
  advance(1s);
  EXPECT_EQ(stats().in_window, 0U);
  const std::vector<QueueRow> queues = all_queues();
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_EQ(queues[0].messages, 1U);
  EXPECT_TRUE(queues[0].more);
  EXPECT_EQ(age_of(queues[0]), 6s);
}

// The oldest has the lowest priority of 140: two pages look at 64 each, a third finds it, a fourth
// goes on behind it. req: engine.census.3
TEST_F(Edges, TheOldestIsFoundBehindHoweverManyPriorities) {
  open();
  post(configure(next(), "bank", {{"in_flight_max", "1"}}));
  post(configure(next(), "shop", {{"in_flight_max", "1"}}));
  post(submit(next(), "bank"));
  for (const char* name : {"bank", "shop"}) {
    Pause pause;
    pause.caller.ticket = Ticket(next());
    pause.destination = name;
    post(pause);
  }
  for (std::uint16_t priority = 0; priority < 140; ++priority) {
    Submit event = submit(next(), "shop");
    event.priority = priority;
    post(event);
    advance(1s);
  }
  const auto queues = all_queues();
  ASSERT_EQ(queues.size(), 2U);
  const QueueRow& shop = queues[queues[0].destination == "shop" ? 0 : 1];
  EXPECT_EQ(shop.messages, 140U);
  EXPECT_EQ(age_of(shop), 140s);
  EXPECT_EQ(pages_, 4);
}

// req: engine.census.3
TEST_F(Edges, EachQueueIsToldOnceHoweverFewAtATime) {
  options.engine.limits.residents_max = 2;
  open();
  for (int i = 0; i < 9; ++i) {
    const std::string name = "d" + std::to_string(i);
    // Some in memory, some in a short sleep, some on disk; the sixth has nothing.
    post(configure(next(), name, {{"in_flight_max", "1"}, {"ladder", i % 3 == 1 ? "30s" : "1h"}}));
    if (i != 5) post(submit(next(), name));
    if (i != 5 && i % 3 != 0) post(answer(last_attempt(), 503));
    advance(1s);
  }
  for (const std::uint32_t limit : {1U, 2U, 7U, 8U, 9U, 1000U}) {
    std::vector<std::string> names;
    for (const QueueRow& row : all_queues(limit)) {
      names.push_back(row.destination);
      EXPECT_EQ(row.messages, 1U) << row.destination;
      EXPECT_EQ(age_of(row), 1s * (9 - (row.destination[1] - '0'))) << row.destination;
    }
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, (std::vector<std::string>{"d0", "d1", "d2", "d3", "d4", "d6", "d7", "d8"}))
        << limit;
  }
}

// req: engine.census.3
TEST_F(Edges, ACursorOfSomethingElseIsNoneOfTheQueues) {
  open();
  for (const std::string& cursor :
       {std::string("D1234567"), std::string("s1"), std::string("C1")}) {
    Query event = ask(next(), Query::What::kQueues);
    event.cursor = cursor;
    post(event);
    EXPECT_EQ(code_of(ticket_), AnswerCode::kInvalid) << cursor;
  }
}

// req: api.audit.2
TEST_F(Edges, TheAuditIsToldFromEitherEnd) {
  open();
  for (int i = 0; i < 7; ++i) post(configure(next(), "d" + std::to_string(i)));
  for (const std::uint32_t limit : {1U, 3U, 6U, 7U, 8U}) {
    std::array<std::vector<std::string>, 2> told;
    for (const bool newest_first : {false, true}) {
      Query event = ask(0, Query::What::kAudit);
      event.limit = limit;
      event.newest_first = newest_first;
      do {
        event.ticket = Ticket(next());
        post(event);
        const AuditPage page = view_of<AuditPage>(ticket_);
        for (const AuditPage::Line& line : page.lines)
          told[newest_first ? 1 : 0].push_back(line.record.target);
        event.cursor = page.next;
      } while (!event.cursor.empty());
    }
    EXPECT_EQ(told[0].size(), 7U) << limit;
    std::reverse(told[1].begin(), told[1].end());
    EXPECT_EQ(told[0], told[1]) << limit;
  }
}

// req: engine.dead.4
TEST_F(Edges, AListOfGroupsHasAsManyAsWereAskedFor) {
  open();
  for (const char* name : {"shop", "bank", "post"}) {
    post(configure(next(), name));
    kill(name);
  }
  kill("bank");
  for (const std::uint32_t limit : {1U, 2U, 3U, 4U}) {
    Query event = ask(next(), Query::What::kDeadGroups);
    event.limit = limit;
    post(event);
    const DeadGroupList list = view_of<DeadGroupList>(ticket_);
    EXPECT_EQ(list.groups.size(), std::min(limit, 3U));
    EXPECT_EQ(list.unlisted, 3U - std::min(limit, 3U));
    EXPECT_EQ(list.letters, 4U);
    EXPECT_EQ(list.groups[0].destination, "bank") << "the largest first";
  }
}

// req: engine.pause.4
TEST_F(Edges, AHoldThatIsChangedToFitFewerLetsTheOthersGo) {
  open();
  post(configure(next(), "eu-shop"));
  post(configure(next(), "us-shop"));
  ASSERT_EQ(put_hold("all", ""), AnswerCode::kDone);
  post(submit(next(), "eu-shop"));
  post(submit(next(), "us-shop"));
  EXPECT_TRUE(starts().empty());
  EXPECT_EQ(put_hold("all", ""), AnswerCode::kNothing) << "unchanged";
  EXPECT_EQ(put_hold("all", "eu-"), AnswerCode::kDone);
  advance(1s);
  EXPECT_EQ(starts().size(), 1U);
}

// req: engine.pause.4
TEST_F(Edges, HoldsHaveNamesWithinTheirLimits) {
  options.engine.limits.name_bytes_max = 8;
  options.engine.limits.holds_max = 2;
  open();
  EXPECT_EQ(put_hold("", "a"), AnswerCode::kInvalid);
  EXPECT_EQ(put_hold("123456789", "a"), AnswerCode::kInvalid);
  EXPECT_EQ(put_hold("12345678", "123456789"), AnswerCode::kInvalid);
  EXPECT_EQ(put_hold("12345678", "12345678"), AnswerCode::kDone);
  EXPECT_EQ(put_hold("second", "a"), AnswerCode::kDone);
  EXPECT_EQ(put_hold("third", "a"), AnswerCode::kInvalid);
  EXPECT_EQ(put_hold("second", "b"), AnswerCode::kDone) << "one that is there may change";
}

// req: engine.job.5
TEST_F(Edges, OrdersOfJobsMakeSenseOrAreRefused) {
  EngineLimits& limits = options.engine.limits;
  limits.name_bytes_max = 8;
  limits.reason_bytes_max = 4;
  limits.job_rate_max = 10;
  limits.job_every_min = Duration(60'000);
  open();
  post(configure(next(), "shop"));
  JobOrder order;
  EXPECT_EQ(refusal(order), "");
  order.filter.destination_prefix = "12345678";
  order.filter.reason_prefix = "1234";
  order.reason = "1234";
  order.rate = 10;
  order.every = 60s;
  order.filter.since = Timestamp(5000);
  order.filter.until = Timestamp(5001);
  EXPECT_EQ(refusal(order), "") << "everything at its limit";

  const auto but = [&](auto change) {
    JobOrder other = order;
    change(other);
    return refusal(other);
  };
  const auto refused = [&](auto change) { return !but(change).empty(); };
  EXPECT_TRUE(refused([](JobOrder& o) { o.filter.destination_prefix = "123456789"; }));
  EXPECT_TRUE(refused([](JobOrder& o) { o.filter.destination = "shop"; })) << "one or the other";
  EXPECT_TRUE(refused([](JobOrder& o) { o.filter.reason_prefix = "12345"; }));
  EXPECT_TRUE(refused([](JobOrder& o) { o.reason = "12345"; }));
  EXPECT_TRUE(refused([](JobOrder& o) { o.rate = 11; }));
  EXPECT_EQ(but([](JobOrder& o) { o.every = Duration(59'999); }),
            "rounds are at least 60 seconds apart");
  EXPECT_TRUE(refused([](JobOrder& o) { o.action = JobAction::kDrop; })) << "not again and again";
  EXPECT_TRUE(refused([](JobOrder& o) { o.filter.until = o.filter.since; }));

  const auto phase = [&](JobAction action, Phase wanted) {
    JobOrder other;
    other.action = action;
    other.filter.phase = wanted;
    return refusal(other).empty();
  };
  for (const JobAction letters : {JobAction::kRedrive, JobAction::kDrop}) {
    EXPECT_TRUE(phase(letters, Phase::kDead));
    EXPECT_TRUE(phase(letters, Phase::kExpired));
    EXPECT_FALSE(phase(letters, Phase::kParked));
    EXPECT_FALSE(phase(letters, Phase::kCancelled));
  }
  EXPECT_TRUE(phase(JobAction::kRetry, Phase::kParked));
  EXPECT_FALSE(phase(JobAction::kRetry, Phase::kDead));
  EXPECT_TRUE(phase(JobAction::kCancel, Phase::kBackoff));
  EXPECT_FALSE(phase(JobAction::kCancel, Phase::kDelivered));
}

// req: engine.pause.4
TEST_F(Edges, AHoldFitsByNameProfileAndTenantTogether) {
  open();
  post(configure(next(), "eu-shop", {{"tenant", "acme"}}));
  post(configure(next(), "eu-bank", {{"tenant", "other"}}));
  post(configure(next(), "eu-post"));
  post(configure(next(), "us-shop", {{"tenant", "acme"}}));
  const auto paused = [this](const std::string& name) {
    Query event = ask(next(), Query::What::kDestination);
    event.destination = name;
    post(event);
    return view_of<DestinationView>(ticket_).route.health == Health::kPaused;
  };
  PutHold put;
  put.rule.name = "h";
  put.rule.destination_prefix = "eu-";
  put.rule.profile = "webhook";
  put.rule.tenant = "acme";
  put.rule.reason = "first";
  put.caller.ticket = Ticket(next());
  post(put);
  EXPECT_EQ(told(ticket_).detail, "held");
  EXPECT_TRUE(paused("eu-shop"));
  EXPECT_FALSE(paused("eu-bank"));
  EXPECT_FALSE(paused("eu-post"));
  EXPECT_FALSE(paused("us-shop"));
  put.rule.reason = "second";
  put.caller.ticket = Ticket(next());
  post(put);
  EXPECT_EQ(told(ticket_).detail, "changed");
  Query event = ask(next(), Query::What::kDestination);
  event.destination = "eu-shop";
  post(event);
  EXPECT_EQ(view_of<DestinationView>(ticket_).route.reason, "hold 'h': second");
  put.rule.profile = "device";
  put.caller.ticket = Ticket(next());
  post(put);
  EXPECT_FALSE(paused("eu-shop"));
  DropHold drop;
  drop.name = "none";
  drop.caller.ticket = Ticket(next());
  post(drop);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNotFound);
  post(ask(next(), Query::What::kHolds));
  EXPECT_EQ(view_of<HoldList>(ticket_).holds.size(), 1U);
  EXPECT_EQ(stats().holds, 1U);
}

// req: engine.pause.4
TEST_F(Edges, AHoldLeavesADisabledDestinationAloneAndMeetsItWhenItIsResumed) {
  open();
  post(configure(next(), "shop"));
  post(submit(next(), "shop"));
  post(answer(last_attempt(), 410));
  ASSERT_EQ(put_hold("all", ""), AnswerCode::kDone);
  const auto health = [this] {
    Query event = ask(next(), Query::What::kDestination);
    event.destination = "shop";
    post(event);
    return view_of<DestinationView>(ticket_).route.health;
  };
  EXPECT_EQ(health(), Health::kDisabled);
  Resume resume;
  resume.caller.ticket = Ticket(next());
  resume.destination = "shop";
  post(resume);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
  EXPECT_EQ(health(), Health::kPaused) << "the hold fits it";
  EXPECT_EQ(starts().size(), 1U);
}

// req: engine.job.5
TEST_F(Edges, AtLeastOneJobMayRunAndIsKept) {
  options.engine.limits.jobs_running_max = 0;
  options.engine.limits.jobs_kept_max = 0;
  options.engine.limits.dry_runs_max = 0;
  open();
  post(configure(next(), "shop"));
  kill("shop");
  kill("shop");
  StartJob start;
  start.order.action = JobAction::kDrop;
  start.order.rate = 1;
  start.caller.ticket = Ticket(next());
  post(start);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
  start.caller.ticket = Ticket(next());
  post(start);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kBusy);
  for (int i = 0; i < 30; ++i) advance(100ms);
  start.caller.ticket = Ticket(next());
  post(start);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kDone);
  advance(1s);
  post(ask(next(), Query::What::kJobs));
  EXPECT_EQ(view_of<JobList>(ticket_).jobs.size(), 1U);
  store.holds_reads = true;
  start.dry_run = true;
  start.order.filter.reason_prefix = "H";
  const std::uint64_t first = next();
  start.caller.ticket = Ticket(first);
  post(start);
  start.caller.ticket = Ticket(next());
  post(start);
  EXPECT_FALSE(answered(first));
  EXPECT_EQ(code_of(ticket_), AnswerCode::kBusy);
}

// One answer looks at 64 of them, and the one behind the last finds no more. req: engine.census.3
TEST_F(Edges, SoManyPrioritiesAreLookedAtForOneAnswer) {
  for (const std::uint16_t priorities :
       std::to_array<std::uint16_t>({63, 64, 127, 128, 190, 192})) {
    open();
    const std::string name = "shop" + std::to_string(priorities);
    post(configure(next(), name));
    Pause pause;
    pause.caller.ticket = Ticket(next());
    pause.destination = name;
    post(pause);
    for (std::uint16_t priority = 0; priority < priorities; ++priority) {
      Submit event = submit(next(), name);
      event.priority = priority;
      post(event);
    }
    pages_ = 0;
    ASSERT_EQ(all_queues().size(), 1U);
    EXPECT_EQ(pages_, priorities < 64 ? 1 : priorities / 64 + 2) << priorities;
    StartJob cancel;
    cancel.caller.ticket = Ticket(next());
    cancel.order.action = JobAction::kCancel;
    cancel.order.rate = 1000;
    post(cancel);
    for (int i = 0; i < 10; ++i) advance(100ms);
    ASSERT_EQ(stats().counters.live(), 0U);
  }
}

// req: engine.census.3
TEST_F(Edges, TheOldestIsTheFirstThatCanBeRead) {
  open();
  post(configure(next(), "shop"));
  Pause pause;
  pause.caller.ticket = Ticket(next());
  pause.destination = "shop";
  post(pause);
  std::vector<MessageId> ids;
  for (int i = 0; i < 3; ++i) {
    post(submit(next(), "shop"));
    ids.push_back(id_of(ticket_));
    advance(1s);
  }
  EXPECT_EQ(age_of(all_queues().at(0)), 3s);
  ASSERT_TRUE(store.memory().damage(keys::cold(ids[0], keys::Part::kMessage)));
  EXPECT_EQ(age_of(all_queues().at(0)), 2s);
}

// req: engine.census.3
TEST_F(Edges, AQueueTellsWhenTheNextMayStart) {
  open();
  post(configure(next(), "shop", {{"jitter_percent", "0"}}));
  post(submit(next(), "shop"));
  EXPECT_EQ(all_queues().at(0).next_slot, 0ms);
  AttemptEnded busy = answer(last_attempt(), 503);
  busy.reply.headers.emplace_back("retry-after", "20");
  post(busy);
  post(submit(next(), "shop"));
  EXPECT_EQ(all_queues().at(0).next_slot, 20s);
  advance(5s);
  EXPECT_EQ(all_queues().at(0).next_slot, 15s);
  EXPECT_EQ(all_queues().at(0).health, Health::kNormal);
}

// req: engine.census.3
TEST_F(Edges, EmptyQueuesTakeNoPlaceOfOthersInAPage) {
  open();
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) {
    names.push_back("d" + std::to_string(i));
    post(configure(next(), names.back(), {{"in_flight_max", "1"}}));
    if (i % 3 == 0) post(submit(next(), names.back()));
  }
  pages_ = 0;
  EXPECT_EQ(all_queues(4).size(), 4U);
  EXPECT_EQ(pages_, 1);
}

}  // namespace
}  // namespace postrider
