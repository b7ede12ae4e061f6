// Records that cannot be read, and what is written in the same step.
#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

using UnreadableEdges = SpecRig;

// The step that finds a record unreadable may write a sound one in its place: that one stays.
// req: engine.quarantine.1
TEST_F(UnreadableEdges, WhatIsWrittenInPlaceOfItStays) {
  open_mill();
  const DestinationId which = mill().id;
  ASSERT_TRUE(store.memory().damage(keys::config(which)));
  restart();
  post(place(next(), "mill", {{"in-use", "3"}}));
  turn();
  EXPECT_EQ(told(questions).detail, "created");
  EXPECT_EQ(stats().counters.quarantined, 1U);
  restart();
  EXPECT_EQ(mill().id, which);
  EXPECT_EQ(*find_text(mill().config.settings, "in-use"), "3");
}

// A destination that is being drained goes with its last message, also when nobody can read that.
// req: engine.configure.8
TEST_F(UnreadableEdges, ADrainedDestinationGoesWithALastMessageThatIsLost) {
  open_mill();
  command_to<Pause>();
  turn();
  id = sent({{"method", "post"}});
  Configure gone = place(next(), "mill");
  gone.config.removed = true;
  gone.config.draining = true;
  post(gone);
  ASSERT_EQ(code_of(questions), AnswerCode::kPending);
  ASSERT_TRUE(store.memory().damage(keys::cold(id, keys::Part::kMessage)));
  Query event = ask(next(), Query::What::kExplain);
  event.id = id;
  post(event);
  turn();
  EXPECT_EQ(stats().counters.quarantined, 1U);
  EXPECT_EQ(log(LogEntry::Kind::kRemoved).size(), 1U);
  post(place(next(), "mill"));
  EXPECT_EQ(told(questions).detail, "created");
}

// What is left of a destination that was removed is nobody's. req: engine.dead.5
TEST_F(UnreadableEdges, ALetterOfADestinationThatIsGoneNamesNone) {
  open_mill();
  sent({{"method", "post"}});
  post(answer(last_attempt(), 400));
  Configure gone = place(next(), "mill");
  gone.config.removed = true;
  post(gone);
  ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  post(ask(next(), Query::What::kDeadGroups));
  turn();
  const auto list = view_of<DeadGroupList>(questions);
  ASSERT_EQ(list.groups.size(), 1U);
  EXPECT_EQ(list.groups[0].destination, "");
}

// req: engine.life.1
TEST_F(UnreadableEdges, TheMethodThatFollowsIsWrittenBeforeItsFirstStart) {
  open_mill({{"route", "stale"}, {"in-use", "1"}});
  sent({{"method", "post"}});
  id = sent({{"method", "relay"}});
  post(answer(last_attempt(), 200));
  ASSERT_EQ(starts().size(), 2U);
  ASSERT_TRUE(stored(id).has_value());
  EXPECT_EQ(spec_.methods[stored(id)->state.method].name, "post");
  EXPECT_EQ(spec_.states[stored(id)->state.state].name, "queued");
}

}  // namespace
}  // namespace postrider
