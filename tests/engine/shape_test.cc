// How old what waits is, by destination, and what each destination is doing: for those who watch.
#include <map>
#include <set>

#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class Shape : public ShardRig {
 protected:
  std::uint64_t next() { return ++ticket_; }
  Answer asked(const std::string& destination = {}, const std::string& cursor = {},
               std::uint32_t limit = 1000) {
    Query event = ask(next(), Query::What::kShape);
    event.destination = destination;
    event.cursor = cursor;
    event.limit = limit;
    post(event);
    turn();
    return told(ticket_);
  }
  // All pieces, added up by name.
  std::map<std::string, ShapeRow> whole(const std::string& destination = {},
                                        std::uint32_t limit = 1000) {
    std::map<std::string, ShapeRow> sum;
    std::string cursor;
    pieces_ = 0;
    messages_ = 0;
    do {
      const Answer answer = asked(destination, cursor, limit);
      const auto* page = std::get_if<ShapePage>(&answer.view);
      if (page == nullptr) {
        ADD_FAILURE() << answer.detail;
        return sum;
      }
      for (const ShapeRow& row : page->rows) add(row, sum[row.name]);
      EXPECT_LE(page->messages, std::max<std::uint32_t>(limit, 2));
      messages_ += page->messages;
      cursor = page->next;
      ++pieces_;
    } while (!cursor.empty() && pieces_ < 1000);
    return sum;
  }
  static void add(const ShapeRow& row, ShapeRow& to) {
    to.id = row.id;
    to.profile = row.profile;
    for (std::size_t i = 0; i < kAges; ++i) to.ages[i] += row.ages[i];
    for (std::size_t i = 0; i < kPhases; ++i) to.phases[i] += row.phases[i];
    for (const auto& [state, count] : row.states) to.states[state] += count;
    const auto older = [](Timestamp one, Timestamp other) {
      if (!one.is_set() || !other.is_set()) return one.is_set() ? one : other;
      return std::min(one, other);
    };
    to.oldest = older(to.oldest, row.oldest);
    to.next_at = older(to.next_at, row.next_at);
  }
  static std::uint64_t in_phase(const ShapeRow& row, Phase phase) {
    return row.phases[static_cast<std::size_t>(phase)];
  }
  DestinationView view(const std::string& name) {
    Query event = ask(next(), Query::What::kDestination);
    event.destination = name;
    post(event);
    return view_of<DestinationView>(ticket_);
  }
  DestinationView::Activity activity(const std::string& name) {
    return view(name).activity.value_or(DestinationView::Activity());
  }
  void pause(const std::string& name) {
    Pause event;
    event.caller.ticket = Ticket(next());
    event.destination = name;
    post(event);
  }
  Timestamp now() const { return instant().wall; }

  std::uint64_t ticket_ = 0;
  int pieces_ = 0;
  std::uint64_t messages_ = 0;
};

TEST_F(Shape, CountsByAgeAndByWhatTheyAreDoing) {
  open();
  post(configure(next(), "shop",
                 {{"in_flight_max", "1"},
                  {"ladder", "1h"},
                  {"jitter_percent", "0"},
                  {"strikes_max", "100"},
                  {"time_out", "10m"}}));
  const Timestamp first = now();
  post(submit(next(), "shop"));
  post(answer(last_attempt(), 500));  // in back-off for an hour: on disk
  const Timestamp due = now() + 1h;
  advance(10min);
  post(submit(next(), "shop"));  // on the wire
  advance(299'999ms);
  post(submit(next(), "shop"));  // waits for its turn
  advance(1ms);
  const auto rows = whole();
  ASSERT_EQ(rows.size(), 1U);
  const ShapeRow& row = rows.at("shop");
  EXPECT_EQ(row.profile, "webhook");
  EXPECT_EQ(messages_, 3U);
  EXPECT_EQ(row.ages[0], 1U);
  EXPECT_EQ(row.ages[1], 1U) << "just five minutes";
  EXPECT_EQ(row.ages[2], 1U) << "fifteen";
  EXPECT_EQ(row.oldest, first);
  EXPECT_EQ(row.next_at, due);
  EXPECT_EQ(in_phase(row, Phase::kBackoff), 1U);
  EXPECT_EQ(in_phase(row, Phase::kInFlight), 1U);
  EXPECT_EQ(in_phase(row, Phase::kQueued), 1U);
  EXPECT_EQ(row.states.at("Queued"), 1U);
  EXPECT_EQ(row.states.at("Sending"), 1U);
  EXPECT_EQ(row.states.size(), 3U);
}

TEST_F(Shape, IsTheSameInPiecesOfAnySize) {
  options.engine.limits.answer_rows_max = 40;
  open();
  const NamedTexts settings = {
      {"in_flight_max", "1"}, {"ladder", "1h"}, {"jitter_percent", "0"}, {"strikes_max", "100"}};
  for (const char* name : {"a", "b", "c"}) {
    post(configure(next(), name, settings));
    for (int i = 0; i < 3; ++i) {
      post(submit(next(), name));
      post(answer(last_attempt(), 500));
      advance(1s);
    }
    post(submit(next(), name));
  }
  pause("b");
  for (int i = 0; i < 4; ++i) post(submit(next(), "b"));
  const auto all = whole();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(messages_, 16U);
  EXPECT_EQ(in_phase(all.at("a"), Phase::kBackoff), 3U);
  EXPECT_EQ(in_phase(all.at("b"), Phase::kQueued), 4U);
  EXPECT_EQ(in_phase(all.at("b"), Phase::kBackoff), 3U);
  EXPECT_EQ(in_phase(all.at("b"), Phase::kInFlight), 1U);
  for (std::uint32_t limit = 0; limit < 45; ++limit) {
    const auto again = whole({}, limit);
    EXPECT_EQ(messages_, 16U) << limit;
    ASSERT_EQ(again.size(), all.size()) << limit;
    for (const auto& [name, row] : all) {
      EXPECT_EQ(again.at(name).ages, row.ages) << name << " " << limit;
      EXPECT_EQ(again.at(name).phases, row.phases) << name << " " << limit;
      EXPECT_EQ(again.at(name).states, row.states) << name << " " << limit;
      EXPECT_EQ(again.at(name).oldest, row.oldest) << name << " " << limit;
      EXPECT_EQ(again.at(name).next_at, row.next_at) << name << " " << limit;
    }
    EXPECT_TRUE(limit > 2 || pieces_ > 8) << limit;
  }
}

TEST_F(Shape, OfOneDestinationHasNobodyElse) {
  open();
  for (const char* name : {"a", "b", "c"}) {
    post(configure(next(), name, {{"in_flight_max", "1"}}));
    for (int i = 0; i < 2; ++i) post(submit(next(), name));
    pause(name);
    for (int i = 0; i < 3; ++i) {
      Submit event = submit(next(), name);
      event.lane = i == 0 ? 0 : 15;
      post(event);
    }
  }
  for (const char* name : {"a", "b", "c"}) {
    const auto rows = whole(name, 4);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(messages_, 5U);
    EXPECT_EQ(in_phase(rows.at(name), Phase::kQueued), 4U);
    EXPECT_EQ(in_phase(rows.at(name), Phase::kInFlight), 1U);
  }
  EXPECT_EQ(asked("nobody").code, AnswerCode::kNotFound);
}

TEST_F(Shape, TakesOnlyItsOwnCursors) {
  open();
  post(configure(next(), "a"));
  const std::string hot = keys::space(keys::kHot);
  const DestinationId id = view("a").id;
  const std::string first = keys::cold_lane(id, 0);
  const std::string last = keys::after_prefix(keys::cold_lane(id, kLanes - 1));
  EXPECT_EQ(asked("a", first).code, AnswerCode::kDone);
  EXPECT_EQ(asked("a", last).code, AnswerCode::kDone);
  EXPECT_EQ(asked("a", hot).code, AnswerCode::kDone);
  EXPECT_EQ(asked("a", keys::space(keys::kCold)).code, AnswerCode::kInvalid);
  EXPECT_EQ(asked("a", last + '\0').code, AnswerCode::kInvalid);
  EXPECT_EQ(asked({}, keys::space(keys::kConfig) + '\1').code, AnswerCode::kInvalid);
  EXPECT_EQ(asked({}, keys::space(keys::kCold)).code, AnswerCode::kDone);
}

TEST_F(Shape, NamesDestinationsThatAreNotInMemoryAndLeavesThemThere) {
  options.engine.limits.residents_max = 1;
  open();
  for (const char* name : {"a", "b", "c", "d"}) {
    post(configure(next(), name));
    pause(name);
    post(submit(next(), name));
    post(submit(next(), name));
  }
  const auto residents = [this] {
    post(ask(next(), Query::What::kStats));
    return view_of<Stats>(ticket_).residents;
  };
  const std::uint64_t before = residents();
  EXPECT_LE(before, 2U);
  const auto rows = whole();
  EXPECT_EQ(residents(), before);
  ASSERT_EQ(rows.size(), 4U);
  for (const char* name : {"a", "b", "c", "d"}) {
    ASSERT_TRUE(rows.contains(name));
    EXPECT_EQ(rows.at(name).profile, "webhook");
    EXPECT_EQ(in_phase(rows.at(name), Phase::kQueued), 2U);
    EXPECT_EQ(rows.at(name).states.at("Queued"), 2U);
  }
}

// req: api.metrics.4
TEST_F(Shape, EveryAttemptThatIsNotOpenWasMeasured) {
  open();
  post(configure(
      next(), "shop",
      {{"in_flight_max", "4"}, {"ladder", "1h"}, {"jitter_percent", "0"}, {"time_out", "10s"}}));
  const auto figures = [&] {
    const std::uint64_t ticket = next();
    post(ask(ticket, Query::What::kStats));
    return view_of<Stats>(ticket);
  };
  const auto measured = [&] {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : figures().tallies.attempt_took.counts) sum += count;
    return sum;
  };
  post(submit(next(), "shop"));
  advance(40ms);
  EXPECT_EQ(measured(), 0U) << "it is open";
  post(answer(last_attempt(), 200));
  EXPECT_EQ(measured(), 1U);
  EXPECT_EQ(figures().tallies.attempt_took.sum_ms, 40U);
  post(submit(next(), "shop"));
  advance(11s);
  EXPECT_EQ(measured(), 2U) << "our own time-out ended it";
  EXPECT_GE(figures().tallies.attempt_took.sum_ms, 10'040U);
  post(submit(next(), "shop"));
  const Stats now_open = figures();
  EXPECT_EQ(now_open.tallies.attempts, measured() + now_open.open_attempts);
}

TEST_F(Shape, ADestinationTellsWhatItDid) {
  open();
  post(configure(
      next(), "shop",
      {{"in_flight_max", "4"}, {"ladder", "1h"}, {"jitter_percent", "0"}, {"strikes_max", "100"}}));
  const Timestamp begun = now();
  EXPECT_EQ(activity("shop").in_flight_max, 4U);
  EXPECT_EQ(activity("shop").in_flight_now, 4U);
  EXPECT_FALSE(activity("shop").next_at.is_set());
  for (int i = 0; i < 3; ++i) {
    post(submit(next(), "shop"));
    post(answer(last_attempt(), 200));
  }
  advance(1s);
  post(submit(next(), "shop"));
  post(answer(last_attempt(), 500));
  DestinationView::Activity it = activity("shop");
  EXPECT_LE(it.since, begun);
  EXPECT_EQ(it.delivered, 3U);
  EXPECT_EQ(it.failed, 1U);
  EXPECT_EQ(it.delivered_last_minute, 3U);
  EXPECT_EQ(it.failed_last_minute, 1U);
  EXPECT_EQ(it.failed_at, now());
  EXPECT_EQ(it.last_failure, FailureClass::kServer);
  EXPECT_EQ(it.last_error, "HTTP 500");
  EXPECT_EQ(it.in_flight_max, 4U);
  EXPECT_EQ(it.in_flight_now, 2U) << "it has learnt something";
  advance(1s);
  post(submit(next(), "shop"));
  post(answer(last_attempt(), 502));
  EXPECT_EQ(activity("shop").last_error, "HTTP 502");
  EXPECT_EQ(activity("shop").failed, 2U);
  advance(30min);
  EXPECT_EQ(activity("shop").delivered_last_minute, 0U);
  EXPECT_EQ(activity("shop").delivered, 3U);
}

TEST_F(Shape, ADestinationTellsWhenSomethingMayStart) {
  open();
  post(configure(next(), "slow", {{"rate", "1"}, {"in_flight_max", "1"}}));
  EXPECT_FALSE(activity("slow").next_at.is_set()) << "nothing waits";
  advance(10s);
  post(submit(next(), "slow"));
  EXPECT_FALSE(activity("slow").next_at.is_set()) << "what is on the wire does not wait";
  post(submit(next(), "slow"));
  EXPECT_EQ(activity("slow").next_at, now() + 1s) << "its rate";
  pause("slow");
  EXPECT_FALSE(activity("slow").next_at.is_set()) << "nobody can tell";
  post(configure(next(), "held", {{"in_flight_max", "1"}, {"ladder", "1h"}}));
  post(submit(next(), "held"));
  post(submit(next(), "held"));
  EXPECT_EQ(activity("held").next_at, now()) << "as soon as there is a place";
  AttemptEnded busy = answer(last_attempt(), 429);
  busy.reply.headers.emplace_back("retry-after", "30");
  post(busy);
  EXPECT_EQ(activity("held").next_at, now() + 30s) << "the far side asked for that";
  advance(10s);
  EXPECT_EQ(activity("held").next_at, now() + 20s);
}

// req: engine.limit.1
TEST_F(Shape, APieceHasAsManyRecordsAsTheLimitSays) {
  options.engine.limits.answer_rows_max = 10;
  open();
  post(configure(next(), "shop", {{"in_flight_max", "1"}}));
  for (int i = 0; i < 30; ++i) post(submit(next(), "shop"));
  const auto page_at = [this](std::uint32_t limit) {
    const Answer first = asked("", "", limit);
    const std::string hot = std::get<ShapePage>(first.view).next;
    EXPECT_EQ(std::get<ShapePage>(first.view).messages, 0U) << "none is on disk only";
    return std::get<ShapePage>(asked("", hot, limit).view);
  };
  // The state of the last one may be in the next piece, which begins with it.
  EXPECT_EQ(page_at(1000).messages, 10U);
  EXPECT_EQ(page_at(12).messages, 10U);
  EXPECT_EQ(page_at(11).messages, 10U);
  EXPECT_EQ(page_at(10).messages, 9U);
  EXPECT_EQ(page_at(0).messages, 1U) << "less than two get nowhere";
  EXPECT_EQ(page_at(5).rows.at(0).methods.size(), 1U) << "of the methods that are used";
}

// req: engine.ask.1
TEST_F(Shape, AMessageAtTheEndOfAPieceKeepsItsState) {
  open();
  post(configure(next(), "shop", {{"in_flight_max", "1"}, {"ladder", "2h"}}));
  post(submit(next(), "shop"));
  post(answer(last_attempt(), 503));
  pause("shop");
  for (int i = 0; i < 3; ++i) {
    Submit event = submit(next(), "shop");
    event.priority = 5;  // before the first
    post(event);
  }
  for (const std::uint32_t limit : {2U, 3U, 4U, 5U}) {
    const ShapeRow row = whole("", limit)["shop"];
    EXPECT_EQ(in_phase(row, Phase::kQueued), 3U) << limit;
    EXPECT_EQ(in_phase(row, Phase::kBackoff), 1U) << limit;
    EXPECT_EQ(messages_, 4U) << limit;
  }
}

}  // namespace
}  // namespace postrider
