// Shared bodies at their edges: pages of references, several bodies, names at their limit, and
// bytes that are counted for letters.
#include "postrider/model/records/keys.h"
#include "tests/support/bulk_rig.h"

namespace postrider {
namespace {

class FanoutEdges : public Bulk {
 protected:
  AnswerCode put(const std::string& name, const std::vector<std::string>& members) {
    ChangeGroup event;
    event.caller.ticket = Ticket(next());
    event.what = ChangeGroup::What::kPut;
    event.group.name = name;
    for (const std::string& member : members) event.group.members.push_back({member, {}});
    post(event);
    return code_of(ticket_);
  }
  FanoutView fan(const std::string& body) {
    FanOut event;
    event.caller.ticket = Ticket(next());
    event.group = "g";
    event.body = body;
    post(event);
    return view_of<FanoutView>(ticket_);
  }
  void open_group() {
    open_with({"a", "b", "c"});
    ASSERT_EQ(put("g", {"a", "b", "c"}), AnswerCode::kDone);
  }
  std::size_t rows(char space) {
    return store.memory()
        .scan({keys::space(space), keys::after_prefix(keys::space(space)), 100'000})
        .rows.size();
  }
  void end_all(int status) {
    for (const StartAttempt& start : starts()) post(answer(start.attempt, status));
  }
};

// req: engine.fanout.7
TEST_F(FanoutEdges, TheNameOfAGroupMayBeAsLongAsTheLimit) {
  options.engine.limits.name_bytes_max = 8;
  open_with({"a"});
  EXPECT_EQ(put("1234567", {"a"}), AnswerCode::kDone);
  EXPECT_EQ(put("12345678", {"a"}), AnswerCode::kDone);
  EXPECT_EQ(put("123456789", {"a"}), AnswerCode::kInvalid);
}

// req: engine.fanout.5
TEST_F(FanoutEdges, ReferencesAreCountedDownPageByPage) {
  options.engine.limits.body_rows_max = 1;
  options.engine.dead.age = 1h;
  open_group();
  fan("one body");
  end_all(400);
  EXPECT_EQ(rows(keys::kBodyLetter), 3U);
  for (int i = 0; i < 40; ++i) advance(10min);
  EXPECT_EQ(rows(keys::kDead), 0U);
  EXPECT_EQ(rows(keys::kBodyLetter), 0U);
  EXPECT_EQ(rows(keys::kBody), 0U);
  EXPECT_EQ(counters().shared_bodies, 0U);
}

// req: engine.fanout.6
TEST_F(FanoutEdges, OfTwoBodiesOneMayBeLost) {
  options.engine.limits.window_bytes_max = 1;
  open_group();
  for (const char* name : {"a", "b", "c"}) {
    Pause pause;
    pause.destination = name;
    post(pause);
  }
  fan("first");
  const FanoutView second = fan("second");
  EXPECT_EQ(counters().shared_bodies, 2U);
  EXPECT_EQ(counters().shared_bytes, 11U);
  ASSERT_TRUE(store.memory().damage(keys::body(second.id.value(), keys::BodyPart::kBytes)));
  open();
  for (const FanoutView::Member& member : second.members) {
    Query why = ask(next(), Query::What::kExplain);
    why.id = member.message;
    post(why);
    turn();
  }
  EXPECT_EQ(counters().shared_bodies, 1U);
  EXPECT_EQ(counters().shared_bytes, 5U);
  EXPECT_EQ(rows(keys::kBody), 2U);
  EXPECT_EQ(rows(keys::kBodyLetter), 0U);
}

// A body without its count, whose bytes cannot be read either. req: engine.quarantine.2
TEST_F(FanoutEdges, ABodyMayBeLostWithoutItsCount) {
  open_group();
  const FanoutView view = fan("one body");
  shard.reset();
  const Epoch epoch = store.memory().acquire(0).value();
  auto batch = std::make_shared<WriteBatch>();
  batch->remove(keys::body(view.id.value(), keys::BodyPart::kCount));
  store.memory().commit(epoch, batch, [](CommitOutcome) {});
  ASSERT_TRUE(store.memory().damage(keys::body(view.id.value(), keys::BodyPart::kBytes)));
  open();
  advance(1s);
  EXPECT_TRUE(starts().empty());
  EXPECT_EQ(counters().quarantined, 4U) << "three messages and the body";
}

// What a letter refers to is counted with it when it comes and when it goes, so that the bound in
// bytes holds and takes nothing too early. req: engine.retain.2
TEST_F(FanoutEdges, LettersThatLeftTakeNoRoomOfOthers) {
  options.engine.dead.bytes = 8000;
  open_group();
  const std::vector<MessageId> kept = kill("a", 1);
  for (int i = 0; i < 8; ++i) {
    const FanoutView view = fan(std::string(500, 'x'));
    end_all(400);
    for (const FanoutView::Member& member : view.members) {
      Drop drop;
      drop.caller.ticket = Ticket(next());
      drop.id = member.message;
      post(drop);
      ASSERT_EQ(code_of(ticket_), AnswerCode::kDone) << i;
    }
    advance(1s);
  }
  EXPECT_EQ(groups().letters, 1U) << "the first is still there";
  EXPECT_EQ(counters().removed_dead, 0U);
}

// req: engine.fanout.6, engine.job.1
TEST_F(FanoutEdges, LettersAreRedrivenByAJobWithTheirBody) {
  open_group();
  fan("one body");
  end_all(400);
  open();
  const JobId id = start(order(JobAction::kRedrive));
  for (int i = 0; i < 10; ++i) advance(100ms);
  EXPECT_EQ(job(id).done, 3U);
  EXPECT_EQ(job(id).refused, 0U);
  ASSERT_EQ(starts().size(), 3U);
  for (const std::string& body : bodies_started()) EXPECT_EQ(body, "one body");
  EXPECT_EQ(rows(keys::kBodyLetter), 0U);
  end_all(200);
  EXPECT_EQ(rows(keys::kBody), 0U);
}

// req: engine.quarantine.1
TEST_F(FanoutEdges, AGroupThatCannotBeReadIsNone) {
  open_group();
  ASSERT_TRUE(store.memory().damage(keys::fanout_group("g")));
  FanOut event;
  event.caller.ticket = Ticket(next());
  event.group = "g";
  post(event);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNotFound);
  EXPECT_EQ(counters().quarantined, 1U);
  EXPECT_EQ(rows(keys::kFanout), 0U);
}

}  // namespace
}  // namespace postrider
