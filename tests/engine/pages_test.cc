// Lists are read page by page: whatever the size of a page, all of them together are the whole.
#include <functional>
#include <string>
#include <vector>

#include "postrider/model/id_address.h"
#include "tests/support/task_rig.h"

namespace postrider {
namespace {

class Pages : public TaskRig {
 protected:
  using Lines = std::vector<std::string>;
  struct Page {
    Lines lines;
    std::string next;
  };
  // What one answer holds, as texts.
  using Read = std::function<Page(const Answer& answer)>;

  Answer asked(Query::What what, const std::string& cursor, std::uint32_t limit,
               const std::string& destination = {}) {
    const std::uint64_t ticket = ++questions;
    Query event = ask(ticket, what);
    event.cursor = cursor;
    event.limit = limit;
    event.destination = destination;
    event.contents = contents;
    post(event);
    turn();
    return told(ticket);
  }
  Lines all(Query::What what, const Read& read, std::uint32_t limit,
            const std::string& destination = {}) {
    Lines lines;
    std::string cursor;
    for (int pages = 0; pages < 1000; ++pages) {
      const Page page = read(asked(what, cursor, limit, destination));
      EXPECT_LE(page.lines.size(), std::max<std::uint32_t>(1, limit));
      lines.insert(lines.end(), page.lines.begin(), page.lines.end());
      cursor = page.next;
      if (cursor.empty()) return lines;
    }
    ADD_FAILURE() << "it never ends";
    return lines;
  }
  // The whole, after every size of page gave the same.
  Lines whole(Query::What what, const Read& read, const std::string& destination = {}) {
    const Lines lines = all(what, read, 1000, destination);
    for (std::uint32_t limit = 0; limit <= lines.size() + 2; ++limit)
      EXPECT_EQ(all(what, read, limit, destination), lines) << "pages of " << limit;
    return lines;
  }
  void refuses_cursors(Query::What what, char own) {
    for (const char space : {keys::kConfig, keys::kCold, keys::kDead, keys::kAudit, keys::kRoute}) {
      if (space == own) continue;
      EXPECT_EQ(asked(what, keys::space(space) + '\1', 10).code, AnswerCode::kInvalid) << space;
    }
  }
  static std::string text(MessageId id) { return to_string(id); }

  static Page letters(const Answer& answer) {
    Page page;
    const auto& view = std::get<DeadLetters>(answer.view);
    for (const DeadLetter& letter : view.letters)
      page.lines.push_back(text(letter.id) + " " + std::string(name_of(letter.phase)) + " " +
                           letter.reason + " " + std::to_string(letter.attempts));
    for (std::size_t i = 0; i < view.contents.size(); ++i)
      page.lines[i] += " of " + view.contents[i].destination + " " +
                       std::to_string(view.contents[i].message.size());
    page.next = view.next;
    return page;
  }
  static Page messages(const Answer& answer) {
    Page page;
    const auto& view = std::get<MessagePage>(answer.view);
    for (const Explanation& it : view.messages)
      page.lines.push_back(text(it.id) + " " + it.destination + " " + std::string(it.state) + " " +
                           std::to_string(it.attempts) + " " + it.why);
    page.next = view.next;
    return page;
  }
  static Page destinations(const Answer& answer) {
    Page page;
    const auto& view = std::get<DestinationPage>(answer.view);
    for (const DestinationView& it : view.destinations)
      page.lines.push_back(it.config.name + " " + std::string(name_of(it.route.health)) +
                           (it.owed ? " owed" : ""));
    page.next = view.next;
    return page;
  }
  static Page audit(const Answer& answer) {
    Page page;
    const auto& view = std::get<AuditPage>(answer.view);
    for (const auto& it : view.lines)
      page.lines.push_back(it.record.action + " " + it.record.target + " " + it.record.effect);
    page.next = view.next;
    return page;
  }
  static Page arrivals(const Answer& answer) {
    Page page;
    const auto& view = std::get<ArrivalPage>(answer.view);
    for (const auto& it : view.arrivals)
      page.lines.push_back(to_string(it.source) + " " + it.profile + " " + it.bytes + " " +
                           std::to_string(it.sequence.value()));
    page.next = view.next;
    return page;
  }

  // Some parked, dead, in back-off, on the wire and waiting, at several destinations.
  void fill() {
    open();
    for (const std::string name : {"a", "b", "c"}) {
      post(place(++questions, name, {{"in-use", "1"}, {"attempts", "1"}, {"strikes", "1000"}}));
      for (const int status : {500, 410, 500, 400}) {
        const std::uint64_t ticket = ++questions;
        post(message(ticket, {{"method", status == 400 ? "relay" : "post"}}, name));
        post(answer(last_attempt(), status));
        Resume resume;
        resume.caller.ticket = Ticket(++questions);
        resume.destination = name;
        post(resume);
      }
      for (int i = 0; i < 3; ++i) post(message(++questions, {{"method", "post"}}, name));
      advance(1s);
    }
    Pause pause;
    pause.caller.ticket = Ticket(++questions);
    pause.destination = "b";
    post(pause);
    for (int i = 0; i < 3; ++i) post(message(++questions, {{"method", "post"}}, "b"));
  }

  bool contents = false;
};

// req: engine.dead.2
TEST_F(Pages, OfDeadLettersHaveTheParkedFirst) {
  fill();
  const Lines lines = whole(Query::What::kDeadLetters, letters);
  ASSERT_EQ(lines.size(), 12U);
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_NE(lines[i].find(i < 9 ? " parked " : " dead "), std::string::npos) << lines[i];
  contents = true;
  const Lines full = whole(Query::What::kDeadLetters, letters);
  ASSERT_EQ(full.size(), 12U);
  EXPECT_NE(full[11].find(" of "), std::string::npos);
  refuses_cursors(Query::What::kDeadLetters, keys::kDead);
}

// req: engine.ask.1
TEST_F(Pages, OfMessagesHaveEachOnceWithItsState) {
  fill();
  const Lines lines = whole(Query::What::kMessages, messages);
  EXPECT_EQ(lines.size(), 9U + 9U + 3U);
  for (const std::string name : {"a", "b", "c"}) {
    const Lines own = whole(Query::What::kMessages, messages, name);
    EXPECT_EQ(own.size(), name == "b" ? 9U : 6U);
    for (const std::string& line : own)
      EXPECT_NE(line.find(" " + name + " "), std::string::npos) << line;
  }
  EXPECT_EQ(asked(Query::What::kMessages, {}, 10, "nobody").code, AnswerCode::kNotFound);
  refuses_cursors(Query::What::kMessages, keys::kCold);
  // The edges of one destination's part of the store are its own, and nothing beyond them.
  const std::uint64_t ticket = ++questions;
  Query describe = ask(ticket, Query::What::kDestination);
  describe.destination = "a";
  post(describe);
  const DestinationId mill = view_of<DestinationView>(ticket).id;
  const std::string first = keys::cold_lane(mill, 0);
  const std::string last = keys::after_prefix(keys::cold_lane(mill, kLanes - 1));
  EXPECT_EQ(asked(Query::What::kMessages, first, 10, "a").code, AnswerCode::kDone);
  EXPECT_EQ(asked(Query::What::kMessages, last, 10, "a").code, AnswerCode::kDone);
  EXPECT_EQ(asked(Query::What::kMessages, last + '\0', 10, "a").code, AnswerCode::kInvalid);
  EXPECT_EQ(asked(Query::What::kMessages, keys::space(keys::kCold), 10, "a").code,
            AnswerCode::kInvalid);
}

// req: engine.ask.1
TEST_F(Pages, OfDestinationsHaveThoseOnDiskToo) {
  options.engine.limits.residents_max = 1;
  fill();
  for (const char* name : {"d", "e", "f", "g"}) post(place(++questions, name));
  Configure gone = place(++questions, "d");
  gone.config.removed = true;
  post(gone);
  const Lines lines = whole(Query::What::kDestinations, destinations);
  EXPECT_EQ(lines.size(), 6U) << "one was removed";
  EXPECT_NE(std::find(lines.begin(), lines.end(), "b paused owed"), lines.end());
  EXPECT_NE(std::find(lines.begin(), lines.end(), "e normal"), lines.end());
  refuses_cursors(Query::What::kDestinations, keys::kConfig);
}

// req: engine.audit.1
TEST_F(Pages, OfTheAuditHaveWhatWasDone) {
  fill();
  const Lines lines = whole(Query::What::kAudit, audit);
  EXPECT_GE(lines.size(), 4U);
  EXPECT_EQ(lines.front(), "configure a done: created");
  refuses_cursors(Query::What::kAudit, keys::kAudit);
}

// req: engine.ingress.1
TEST_F(Pages, OfArrivalsAreAsTheyCame) {
  fill();
  for (int i = 0; i < 5; ++i) post(news(++questions, "done t" + std::to_string(i)));
  const Lines lines = whole(Query::What::kArrivals, arrivals);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_TRUE(lines[2].starts_with("peer drill done t2 ")) << lines[2];
  refuses_cursors(Query::What::kArrivals, 0);
}

// req: engine.log.1
TEST_F(Pages, OfTheLogHaveEveryEntryOnce) {
  fill();
  const auto read = [this](std::uint32_t limit) {
    std::vector<LogPosition> out;
    LogPosition from;
    for (int pages = 0; pages < 1000; ++pages) {
      const std::uint64_t ticket = ++questions;
      Query event = ask(ticket, Query::What::kLog);
      event.limit = limit;
      event.from = from;
      post(event);
      const LogPage page = view_of<LogPage>(ticket);
      EXPECT_LE(page.entries.size(), std::max<std::uint32_t>(1, limit));
      EXPECT_FALSE(page.fell_behind);
      for (const LogEntry& entry : page.entries) out.push_back(entry.position);
      from = page.next;
      if (page.at_end) return out;
    }
    ADD_FAILURE() << "it never ends";
    return out;
  };
  const std::vector<LogPosition> entries = read(1000);
  EXPECT_GE(entries.size(), 12U);
  EXPECT_TRUE(std::is_sorted(entries.begin(), entries.end()));
  for (std::uint32_t limit = 0; limit < entries.size() + 2; ++limit)
    EXPECT_EQ(read(limit), entries) << limit;
}

TEST_F(Pages, AreNoLargerThanTheEngineAllows) {
  options.engine.limits.answer_rows_max = 3;
  fill();
  const auto count = [this](Query::What what, const Read& read) {
    return read(asked(what, {}, 1000)).lines.size();
  };
  EXPECT_EQ(count(Query::What::kDeadLetters, letters), 3U);
  EXPECT_EQ(count(Query::What::kMessages, messages), 3U);
  EXPECT_EQ(count(Query::What::kDestinations, destinations), 3U);
  EXPECT_EQ(count(Query::What::kAudit, audit), 3U);
  const std::uint64_t ticket = ++questions;
  Query event = ask(ticket, Query::What::kLog);
  event.limit = 1000;
  post(event);
  EXPECT_EQ(view_of<LogPage>(ticket).entries.size(), 3U);
}

// req: engine.fanout.8
TEST_F(Pages, OfGroupsHaveEachOnce) {
  open();
  post(place(++questions, "mill"));
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    ChangeGroup change;
    change.caller.ticket = Ticket(++questions);
    change.what = ChangeGroup::What::kPut;
    change.group.name = name;
    change.group.members.push_back({"mill", {}});
    post(change);
    ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  }
  const Lines lines = whole(Query::What::kFanoutGroups, [](const Answer& answer) {
    Page page;
    const auto& view = std::get<FanoutGroupPage>(answer.view);
    for (const FanoutGroup& group : view.groups) page.lines.push_back(group.name);
    page.next = view.next;
    return page;
  });
  EXPECT_EQ(lines.size(), 5U);
  refuses_cursors(Query::What::kFanoutGroups, 0);
}

// req: engine.log.3
TEST_F(Pages, OfTheLogGoOnWhereTheyEnded) {
  open();
  post(place(++questions, "mill", {{"in-use", "1"}}));
  LogPosition from;
  for (int i = 0; i < 5; ++i) post(message(++questions, {{"method", "post"}}));
  for (int i = 0; i < 5; ++i) {
    post(answer(last_attempt(), 200));
    const std::uint64_t ticket = ++questions;
    Query event = ask(ticket, Query::What::kLog);
    event.from = from;
    post(event);
    const LogPage page = view_of<LogPage>(ticket);
    EXPECT_EQ(page.entries.size(), 1U) << "neither missed nor twice";
    EXPECT_TRUE(page.at_end);
    from = page.next;
  }
}

// req: engine.ask.1
TEST_F(Pages, OfMessagesReadTheDestinationsThatAreNotInMemory) {
  options.engine.limits.residents_max = 0;
  open();
  for (const std::string name : {"a", "b", "c"}) {
    post(place(++questions, name));
    Pause pause;
    pause.caller.ticket = Ticket(++questions);
    pause.destination = name;
    post(pause);
    for (int i = 0; i < 2; ++i) post(message(++questions, {{"method", "post"}}, name));
  }
  EXPECT_EQ(stats().residents, 0U);
  const Lines lines = whole(Query::What::kMessages, messages);
  ASSERT_EQ(lines.size(), 6U);
  for (const std::string& line : lines)
    EXPECT_NE(line.find("the destination is paused"), std::string::npos) << line;
}

}  // namespace
}  // namespace postrider
