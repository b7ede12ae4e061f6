// Shared bodies within one turn, and keys by which messages of a fan-out supersede each other.
#include <string>
#include <utility>

#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

class BodyEdges : public SpecRig {
 protected:
  void open_group(const NamedTexts& settings = {}) {
    open();
    ChangeGroup event;
    event.what = ChangeGroup::What::kPut;
    event.group.name = "g";
    for (const char* name : {"a", "b"}) {
      post(place(next(), name, settings));
      event.group.members.push_back({name, {}});
    }
    event.caller.ticket = Ticket(next());
    post(event);
    ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  }
  AnswerCode fan(NamedTexts attributes) {
    FanOut event;
    event.caller.ticket = Ticket(next());
    event.group = "g";
    event.body = "shared";
    event.attributes = encode_texts(attributes);
    post(event);
    return code_of(questions);
  }
  template <class Command>
  void tell(const std::string& name) {
    Command event;
    event.caller.ticket = Ticket(next());
    event.destination = name;
    post(event);
  }
};

// req: engine.supersede.1, engine.limit.1
TEST_F(BodyEdges, AFanOutSupersedesAndItsKeyHasTheLimitOfKeys) {
  options.engine.limits.key_bytes_max = 8;
  open_group();
  for (const char* name : {"a", "b"}) tell<Pause>(name);
  EXPECT_EQ(fan({{"method", "post"}, {"supersede", "12345678"}}), AnswerCode::kAccepted);
  EXPECT_EQ(fan({{"method", "post"}, {"supersede", "12345678"}}), AnswerCode::kAccepted);
  EXPECT_EQ(stats().counters.cancelled, 2U) << "the first of each";
  EXPECT_EQ(fan({{"method", "post"}, {"supersede", "123456789"}}), AnswerCode::kInvalid);
  for (const char* name : {"a", "b"}) tell<Resume>(name);
  EXPECT_EQ(starts().size(), 2U);
}

// A body whose count changes is known without its bytes until the turn is over; whoever needs the
// bytes meanwhile reads them. req: engine.fanout.6
TEST_F(BodyEdges, ABodyIsReadInTheTurnThatCountsItDown) {
  open_group();
  tell<Pause>("b");
  ASSERT_EQ(fan({{"method", "relay"}}), AnswerCode::kAccepted);
  ASSERT_EQ(starts().size(), 1U);
  const MessageId dead = starts()[0].message;
  post(answer(last_attempt(), 400));
  ASSERT_EQ(records_in(keys::kDead), 1U);
  store.holds_commits = true;
  tell<Pause>("a");  // in commit: what follows is one turn
  Drop drop;
  drop.caller.ticket = Ticket(next());
  drop.id = dead;
  post(drop);
  for (int i = 0; i < 5; ++i) turn();
  tell<Resume>("b");
  for (int i = 0; i < 5; ++i) turn();
  store.holds_commits = false;
  while (store.commits_held() > 0) release_commit();
  turn();
  EXPECT_EQ(stats().counters.quarantined, 0U);
  ASSERT_EQ(starts().size(), 2U);
  EXPECT_EQ(starts()[1].request.body, "shared");
  EXPECT_EQ(stats().counters.shared_bodies, 1U);
  post(answer(last_attempt(), 200));
  EXPECT_EQ(stats().counters.shared_bodies, 0U);
}

}  // namespace
}  // namespace postrider
