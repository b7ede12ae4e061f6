// Two destinations whose numbers follow each other: what is asked about one, or done to it, never
// reaches into the other.
#include <algorithm>
#include <map>

#include "tests/support/bulk_rig.h"

namespace postrider {
namespace {

class Neighbours : public Bulk {
 protected:
  // Their names hash alike, so that the second gets the number behind that of the first.
  static constexpr const char* kFirst = "d48216";
  static constexpr const char* kSecond = "d111500";

  void open_both(const NamedTexts& settings = {}) {
    open_with({kFirst, kSecond}, settings);
    ASSERT_EQ(number(kFirst) + 1, number(kSecond));
  }
  std::uint64_t number(const std::string& name) {
    Query event = ask(next(), Query::What::kDestination);
    event.destination = name;
    post(event);
    return view_of<DestinationView>(ticket_).id.value();
  }
  void pause(const std::string& name) {
    Pause event;
    event.caller.ticket = Ticket(next());
    event.destination = name;
    post(event);
  }
  void send(const std::string& name, std::uint8_t lane = 0, std::uint16_t priority = 0) {
    Submit event = submit(next(), name);
    event.lane = lane;
    event.priority = priority;
    post(event);
    ASSERT_EQ(code_of(ticket_), AnswerCode::kAccepted);
  }
  // Both are paused, and each has messages on disk in its first and in its last lane.
  void open_with_waiting() {
    open_both();
    for (const char* name : {kFirst, kSecond}) {
      pause(name);
      send(name, kLanes - 1);
      advance(500ms);
      send(name, 0);
      advance(500ms);
    }
  }
  Job finished(JobId id) {
    for (int i = 0; i < 200 && job(id).state == JobState::kRunning; ++i) advance(100ms);
    return job(id);
  }
  AnswerCode remove(const std::string& name) {
    Configure gone = configure(next(), name);
    gone.config.removed = true;
    post(gone);
    turn();
    return code_of(ticket_);
  }
  // Names of the destinations that a list of messages is about.
  std::map<std::string, int> listed(const std::string& name) {
    std::map<std::string, int> out;
    Query event = ask(0, Query::What::kMessages);
    event.destination = name;
    event.limit = 2;
    for (int pages = 0; pages < 20; ++pages) {
      event.ticket = Ticket(next());
      post(event);
      const MessagePage page = view_of<MessagePage>(ticket_);
      for (const Explanation& one : page.messages) ++out[one.destination];
      event.cursor = page.next;
      if (event.cursor.empty()) return out;
    }
    ADD_FAILURE() << "it does not end";
    return out;
  }
  std::map<std::string, QueueRow> queues(std::uint32_t limit) {
    std::map<std::string, QueueRow> out;
    Query event = ask(0, Query::What::kQueues);
    event.limit = limit;
    for (int pages = 0; pages < 20; ++pages) {
      event.ticket = Ticket(next());
      post(event);
      const QueuePage page = view_of<QueuePage>(ticket_);
      for (const QueueRow& row : page.rows) {
        const bool again = out.contains(row.destination);
        const Timestamp before = out[row.destination].oldest;
        out[row.destination] = row;
        if (again) out[row.destination].oldest = std::min(before, row.oldest);
      }
      event.cursor = page.next;
      if (event.cursor.empty()) return out;
    }
    ADD_FAILURE() << "it does not end";
    return out;
  }
};

// req: engine.job.2
TEST_F(Neighbours, AJobForOneLeavesTheLettersOfTheOther) {
  open_both();
  for (const char* name : {kFirst, kSecond}) {
    kill(kFirst, 2);
    kill(kSecond, 3);
    const Job dropped = finished(start(order(JobAction::kDrop, name)));
    EXPECT_EQ(dropped.done, name == kFirst ? 2U : 3U + 3U);
    EXPECT_EQ(dropped.looked, dropped.done);
  }
  EXPECT_EQ(groups().letters, 2U);
}

// req: engine.job.4
TEST_F(Neighbours, AJobForOneLeavesTheHistoryOfTheOther) {
  open_both({{"history", "on"}});
  kill(kFirst, 2, 200);
  kill(kSecond, 3, 200);
  EXPECT_EQ(finished(start(order(JobAction::kResend, kFirst))).done, 2U);
  EXPECT_EQ(finished(start(order(JobAction::kResend, kSecond))).done, 3U);
}

// req: engine.job.4
TEST_F(Neighbours, AJobForOneCancelsNothingOfTheOther) {
  open_with_waiting();
  EXPECT_EQ(finished(start(order(JobAction::kCancel, kFirst))).done, 2U) << "of either lane";
  EXPECT_EQ(counters().live(), 2U);
  EXPECT_EQ(finished(start(order(JobAction::kCancel, kSecond))).done, 2U);
  EXPECT_EQ(counters().live(), 0U);
}

// req: engine.job.4
TEST_F(Neighbours, AJobForOneCancelsNothingOfTheOtherInTheWindow) {
  open_both({{"in_flight_max", "1"}});
  for (const char* name : {kFirst, kSecond, kFirst, kSecond, kFirst}) send(name);
  EXPECT_EQ(finished(start(order(JobAction::kCancel, kSecond))).done, 2U);
  EXPECT_EQ(counters().cancelled, 1U) << "the other attempt is open";
  EXPECT_EQ(listed(kFirst)[kFirst], 3);
}

// req: engine.configure.5
TEST_F(Neighbours, OneGoesWhileTheOtherHasMessages) {
  open_both();
  pause(kSecond);
  send(kSecond, 0);
  EXPECT_EQ(remove(kFirst), AnswerCode::kDone);
  EXPECT_EQ(remove(kSecond), AnswerCode::kNotEmpty);
  EXPECT_EQ(counters().live(), 1U);
}

// req: engine.configure.5
TEST_F(Neighbours, TheSecondGoesWhileTheFirstHasMessages) {
  open_both();
  pause(kFirst);
  send(kFirst, kLanes - 1);
  EXPECT_EQ(remove(kSecond), AnswerCode::kDone);
  EXPECT_EQ(remove(kFirst), AnswerCode::kNotEmpty);
}

// req: engine.ask.1
TEST_F(Neighbours, AListOfOneHasAllOfItAndNothingOfTheOther) {
  open_with_waiting();
  EXPECT_EQ(listed(kFirst), (std::map<std::string, int>{{kFirst, 2}}));
  EXPECT_EQ(listed(kSecond), (std::map<std::string, int>{{kSecond, 2}}));
  EXPECT_EQ(listed(""), (std::map<std::string, int>{{kFirst, 2}, {kSecond, 2}}));
  for (const char* name : {kFirst, kSecond}) {
    Query event = ask(next(), Query::What::kShape);
    event.destination = name;
    post(event);
    const ShapePage page = view_of<ShapePage>(ticket_);
    ASSERT_EQ(page.rows.size(), 1U);
    EXPECT_EQ(page.rows[0].name, name);
    EXPECT_EQ(page.messages, 2U);
  }
}

// req: engine.census.3
TEST_F(Neighbours, EachQueueIsToldForItself) {
  open_with_waiting();
  for (const std::uint32_t limit : {1U, 2U}) {
    const auto told = queues(limit);
    ASSERT_EQ(told.size(), 2U) << limit;
    EXPECT_EQ(told.at(kFirst).messages, 2U);
    EXPECT_EQ(told.at(kSecond).messages, 2U);
    EXPECT_EQ(told.at(kSecond).oldest - told.at(kFirst).oldest, 1s);
    EXPECT_EQ(instant().wall - told.at(kFirst).oldest, 2s) << "the one in the last lane";
  }
}

// req: engine.census.3
TEST_F(Neighbours, ASleeperOfTheOtherIsNotItsOldest) {
  open_both({{"in_flight_max", "1"}, {"ladder", "30s"}});
  for (const char* name : {kSecond, kFirst}) {
    send(name);
    post(answer(last_attempt(), 503));
    advance(1s);
  }
  for (const std::uint32_t limit : {1U, 2U}) {
    const auto told = queues(limit);
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told.at(kFirst).oldest - told.at(kSecond).oldest, 1s);
    EXPECT_EQ(told.at(kFirst).messages, 1U);
  }
}

// A queue of more priorities than one answer looks at: the next answer goes on with it, and then
// with the number behind it. req: engine.census.3
TEST_F(Neighbours, BehindALongQueueTheNextOneIsTold) {
  open_both();
  pause(kFirst);
  pause(kSecond);
  for (std::uint16_t priority = 0; priority < 70; ++priority) send(kFirst, 0, priority);
  send(kSecond);
  const auto told = queues(1);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told.at(kFirst).messages, 70U);
  EXPECT_EQ(told.at(kSecond).messages, 1U);
}

}  // namespace
}  // namespace postrider
