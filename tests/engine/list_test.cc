// A fan-out to a list of destinations, seen from outside: all or none, what is not there is made
// like its template, and nothing overtakes.
#include <string>
#include <vector>

#include "postrider/model/records/keys.h"
#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class List : public ShardRig {
 protected:
  using Names = std::vector<std::string>;
  std::uint64_t next() { return ++ticket_; }
  std::uint64_t ticket() const { return ticket_; }
  Answer last() const { return told(ticket_); }
  Answer put(const std::string& name, NamedTexts settings = {}) {
    Configure event = configure(next(), "x", std::move(settings));
    event.config.name = name;
    post(std::move(event));
    return last();
  }
  FanOut list(Names names, OperationKey key = {}) {
    FanOut event;
    event.caller.ticket = Ticket(next());
    event.caller.key = std::move(key);
    event.destinations = std::move(names);
    event.body = "one body";
    return event;
  }
  Answer send(Names names, OperationKey key = {}) {
    post(list(std::move(names), std::move(key)));
    return last();
  }
  static Names served(const Answer& answer) {
    Names out;
    const auto* view = std::get_if<FanoutView>(&answer.view);
    EXPECT_NE(view, nullptr) << answer.detail;
    if (view == nullptr) return out;
    for (const FanoutView::Member& member : view->members) out.push_back(member.destination);
    return out;
  }
  std::size_t rows(char space) {
    return store.memory()
        .scan({keys::space(space), keys::after_prefix(keys::space(space)), 100'000})
        .rows.size();
  }
  static Names many(std::size_t count) {
    Names out;
    for (std::size_t i = 0; i < count; ++i) out.push_back("hook:" + std::to_string(10'000 + i));
    return out;
  }

 private:
  std::uint64_t ticket_ = 100;
};

// req: engine.list.1
TEST_F(List, GivesEachDestinationAMessageAndStoresTheBodyOnce) {
  open();
  put("a");
  put("b");
  put("c");
  const Answer answer = send({"c", "a"});
  EXPECT_EQ(answer.code, AnswerCode::kAccepted) << answer.detail;
  EXPECT_EQ(served(answer), (Names{"c", "a"}));
  EXPECT_EQ(rows(keys::kBody), 2U) << "the body and its count";
  ASSERT_EQ(starts().size(), 2U);
  for (const StartAttempt& start : starts()) EXPECT_EQ(start.request.body, "one body");
}

// req: engine.list.2
TEST_F(List, MakesWhatIsNotThereInTheSameCommit) {
  open();
  put("hook:*");
  put("a");
  store.holds_commits = true;
  post(list({"hook:1", "a", "hook:2"}));
  EXPECT_EQ(rows(keys::kConfig), 1U);
  ASSERT_EQ(store.commits_held(), 1U);
  release_commit();
  store.holds_commits = false;
  EXPECT_EQ(served(last()), (Names{"hook:1", "a", "hook:2"}));
  EXPECT_EQ(rows(keys::kConfig), 3U);
  EXPECT_EQ(rows(keys::kHot), 3U);
  open();
  EXPECT_EQ(starts().size(), 3U);
}

// req: engine.list.3
TEST_F(List, IsRefusedAsAWholeAndMakesNothing) {
  open();
  put("hook:*");
  put("a");
  const Answer missing = send({"hook:1", "a", "nobody"});
  EXPECT_EQ(missing.code, AnswerCode::kNotFound);
  EXPECT_NE(missing.detail.find("'nobody'"), std::string::npos) << missing.detail;
  FanOut bad = list({"hook:1", "a"});
  bad.attributes = encode_texts({{"no-such-attribute", "x"}});
  post(std::move(bad));
  EXPECT_EQ(last().code, AnswerCode::kInvalid);
  EXPECT_EQ(rows(keys::kConfig), 1U);
  EXPECT_EQ(rows(keys::kBody), 0U);
  EXPECT_TRUE(starts().empty());
  EXPECT_EQ(send({"a", "hook:1", "a"}).code, AnswerCode::kInvalid) << "given twice";
  FanOut both = list({"a"});
  both.group = "group";
  post(std::move(both));
  EXPECT_EQ(last().code, AnswerCode::kInvalid);
  FanOut typed = list({"a"});
  typed.type = "invoice.paid";
  post(std::move(typed));
  EXPECT_EQ(last().code, AnswerCode::kInvalid);
  EXPECT_EQ(send({}).code, AnswerCode::kInvalid);
}

// req: engine.list.3
TEST_F(List, LeavesOutWhatTakesNoMessagesWhenItIsToldTo) {
  open();
  put("hook:*");
  put("a");
  put("b");
  post(submit(next(), "b"));
  Configure drain;
  drain.caller.ticket = Ticket(next());
  drain.config.name = "b";
  drain.config.removed = drain.config.draining = true;
  post(std::move(drain));
  ASSERT_EQ(last().code, AnswerCode::kPending);
  EXPECT_EQ(send({"a", "b", "hook:1"}).code, AnswerCode::kDisabled);
  FanOut skips = list({"a", "b", "hook:1", "nobody"});
  skips.skip_closed = true;
  post(std::move(skips));
  EXPECT_EQ(served(last()), (Names{"a", "hook:1"}));
  EXPECT_EQ(std::get<FanoutView>(last().view).skipped, (Names{"b", "nobody"}));
}

// req: engine.list.4
TEST_F(List, IsCoveredByItsKey) {
  open();
  put("hook:*");
  const Answer first = send({"hook:1", "hook:2"}, opaque("k"));
  const Answer again = send({"hook:1", "hook:2"}, opaque("k"));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(std::get<FanoutView>(first.view), std::get<FanoutView>(again.view));
  EXPECT_EQ(send({"hook:2", "hook:1"}, opaque("k")).code, AnswerCode::kConflict);
  EXPECT_EQ(send({"hook:1"}, opaque("k")).code, AnswerCode::kConflict);
  open();
  EXPECT_TRUE(send({"hook:1", "hook:2"}, opaque("k")).replayed);
}

// req: engine.list.5
TEST_F(List, HasAtMostSoManyDestinations) {
  options.engine.limits.list_destinations_max = 20;
  open();
  put("hook:*");
  EXPECT_EQ(served(send(many(19))).size(), 19U);
  EXPECT_EQ(served(send(many(20))).size(), 20U);
  const Answer beyond = send(many(21));
  EXPECT_EQ(beyond.code, AnswerCode::kTooLarge);
  EXPECT_EQ(rows(keys::kConfig), 20U);
}

// req: engine.list.5
TEST_F(List, OfAThousandIsOneCommit) {
  open();
  put("hook:*");
  store.holds_commits = true;
  post(list(many(1000)));
  ASSERT_EQ(store.commits_held(), 1U);
  EXPECT_EQ(rows(keys::kConfig), 0U);
  release_commit();
  EXPECT_EQ(served(last()).size(), 1000U);
  EXPECT_EQ(rows(keys::kConfig), 1000U);
  EXPECT_EQ(rows(keys::kBody), 2U);
}

// req: engine.list.6
TEST_F(List, IsNotOvertakenByAMessageToOneOfItsDestinations) {
  open();
  put("a");
  put("b");
  options.engine.limits.residents_max = 0;
  open();  // nothing is in memory
  store.holds_reads = true;
  post(list({"b", "a"}));
  const std::uint64_t first = ticket();
  post(submit(next(), "a"));
  const std::uint64_t second = ticket();
  ASSERT_GE(store.reads_held(), 1U);
  while (store.reads_held() > 0) release_newest_read();
  const auto view = view_of<FanoutView>(first);
  ASSERT_EQ(view.members.size(), 2U);
  EXPECT_LT(view.members[1].message.sequence(), id_of(second).sequence());
}

}  // namespace
}  // namespace postrider
