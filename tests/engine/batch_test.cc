// Batches: a leader and its followers leave in one attempt, and stay together until it is over.
#include "postrider/model/id_address.h"
#include "tests/support/pack_rig.h"

namespace postrider {
namespace {

using Ids = std::vector<MessageId>;

class BatchTest : public PackRig {
 protected:
  // One message is out alone and `count` others have come meanwhile; then they leave together.
  Ids gather(std::size_t count, NamedTexts settings = {}) {
    make(std::move(settings));
    send();
    Ids ids = send_many(count);
    reply(200);
    return ids;
  }
  static std::vector<Phase> all(Phase phase, std::size_t count) {
    return std::vector<Phase>(count, phase);
  }
};

TEST_F(BatchTest, TakesWhatIsReadyAndEndsItInOneCommit) {  // req: engine.batch.1, engine.batch.4
  const Ids ids = gather(5);
  EXPECT_EQ(members(), ids);
  EXPECT_EQ(starts().size(), 2U);
  const std::size_t commits = store.commits();
  reply(200);
  EXPECT_EQ(phases(ids), all(Phase::kDelivered, 5));
  EXPECT_EQ(store.commits() - commits, 1U) << "all members end in one commit";
  EXPECT_EQ(stats().tallies.batches, 2U);
  EXPECT_EQ(stats().tallies.batch_members, 6U);
}

TEST_F(BatchTest, HasAtMostAsManyMembersAsThePolicySays) {  // req: engine.batch.2
  const Ids ids = gather(7, {{"members", "3"}});
  EXPECT_EQ(members(), Ids(ids.begin(), ids.begin() + 3));
  reply(200);
  EXPECT_EQ(members(), Ids(ids.begin() + 3, ids.begin() + 6));
  reply(200);
  EXPECT_EQ(members(), Ids{ids[6]});
}

TEST_F(BatchTest, OfOneMemberIsABatchToo) {  // req: engine.batch.2
  make({{"members", "1"}});
  const Ids ids = send_many(2);
  EXPECT_EQ(members(), Ids{ids[0]});
  EXPECT_EQ(header("pack-batch"), to_string(ids[0]) + "-1");
  EXPECT_TRUE(route().batch.is_open());
}

TEST_F(BatchTest, LeavesAgainWithTheSameMembersAndBytes) {  // req: engine.batch.3, engine.batch.5
  const Ids ids = gather(3);
  const std::string first = text_of(starts().back());
  send();
  post(ended(last_attempt(), WireEnd::kReset));
  pass(2s);
  ASSERT_EQ(starts().size(), 3U);
  EXPECT_EQ(members(), ids) << "what came meanwhile is no member";
  EXPECT_EQ(text_of(starts().back()), first);
  // An answered failure keeps them, too.
  reply(500);
  pass(4s);
  ASSERT_EQ(starts().size(), 4U);
  EXPECT_EQ(text_of(starts().back()), first);
}

TEST_F(BatchTest, SurvivesARestart) {  // req: engine.batch.6
  const Ids ids = gather(3);
  const std::string first = text_of(starts().back());
  restart();
  EXPECT_EQ(route().batch.leader, ids[0]);
  const MessageId later = send();
  EXPECT_FALSE(is_end(phase(later)));
  pass(30s);
  EXPECT_EQ(members(), ids);
  EXPECT_EQ(text_of(starts().back()), first);
  reply(200);
  EXPECT_EQ(phases(ids), all(Phase::kDelivered, 3));
  EXPECT_EQ(members(), Ids{later});
}

TEST_F(BatchTest, IsReadFromDiskWhenItsRouteWasClosedForLong) {  // req: engine.batch.6
  const Ids ids = gather(
      4, {{"strikes", "1"}, {"attempts", "1"}, {"wait", "3600000"}, {"wait-max", "3600000"}});
  const std::string first = text_of(starts().back());
  reply(500);
  EXPECT_EQ(route().health, Health::kWait);
  EXPECT_EQ(records_in(keys::kHot), 0U) << "leader and followers are on disk";
  EXPECT_EQ(stats().in_window, 0U);
  const std::size_t before = starts().size();
  pass(1h);
  ASSERT_EQ(starts().size(), before + 1);
  EXPECT_EQ(text_of(starts().back()), first);
  reply(200);
  EXPECT_EQ(phases(ids), all(Phase::kDelivered, 4));
}

TEST_F(BatchTest, LetsNothingElseStartWhileItIsOpen) {  // req: engine.batch.3
  const Ids ids = gather(2);
  const MessageId solo = send(0, {{"solo", ""}});
  post(ended(last_attempt(), WireEnd::kRefused));
  pass(1s);
  EXPECT_EQ(starts().size(), 2U) << "the pause of the batch is the pause of its destination";
  pass(1s);
  EXPECT_EQ(members(), ids);
  reply(200);
  EXPECT_EQ(starts().back().message, solo);
}

TEST_F(BatchTest, IsReleasedInOrderAndHalved) {  // req: engine.batch.7, engine.batch.8
  const Ids ids = gather(6);
  reply(413);
  EXPECT_EQ(route().members_max, 3U);
  EXPECT_EQ(members(), Ids(ids.begin(), ids.begin() + 3));
  reply(413);
  EXPECT_EQ(route().members_max, 1U);
  EXPECT_EQ(members(), Ids{ids[0]});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(members().front(), ids[static_cast<std::size_t>(i)]);
    reply(200);
  }
  // The refused ones are done: from here on each success doubles it.
  EXPECT_EQ(route().members_max, 2U);
  EXPECT_EQ(members(), Ids(ids.begin() + 3, ids.begin() + 5));
  reply(200);
  EXPECT_EQ(route().members_max, 4U);
  reply(200);
  EXPECT_EQ(route().members_max, 0U) << "as the policy says";
  EXPECT_EQ(phases(ids), all(Phase::kDelivered, 6));
  EXPECT_EQ(stats().tallies.batch_splits, 2U);
}

TEST_F(BatchTest, FindsItsBadMember) {  // req: engine.batch.8
  make();
  send();
  Ids ids = send_many(2);
  const MessageId bad = send(0, {{"bad", ""}});
  ids.push_back(send());
  reply(200);
  for (int i = 0; i < 12 && !is_end(phase(bad)); ++i) reply(header("pack-bad").empty() ? 200 : 422);
  EXPECT_EQ(phase(bad), Phase::kDead);
  for (int i = 0; i < 4; ++i) reply(200);
  EXPECT_EQ(phases(ids), all(Phase::kDelivered, 3)) << "it alone is dead";
}

TEST_F(BatchTest, HasANameThatIsNeverUsedAgain) {  // req: engine.batch.5
  const Ids ids = gather(2);
  const std::string first = header("pack-batch");
  reply(413);
  EXPECT_EQ(members(), Ids{ids[0]});
  EXPECT_NE(header("pack-batch"), first);
  restart();
  EXPECT_EQ(route().claims, 3U);
}

TEST_F(BatchTest, HoldsCancelAndExpiryBackUntilItIsOver) {  // req: engine.batch.9
  make();
  send();
  const Ids ids = send_many(2);
  Submit late = submit(++questions, "mill");
  late.expires = instant().wall + 10s;
  post(late);
  const MessageId expiring = id_of(questions);
  reply(200);
  ASSERT_EQ(members().size(), 3U);
  Cancel cancel;
  cancel.caller.ticket = Ticket(++questions);
  cancel.id = ids[1];
  post(cancel);
  pass(20s);
  EXPECT_FALSE(is_end(phase(ids[1])));
  EXPECT_FALSE(is_end(phase(expiring)));
  reply(413);
  EXPECT_EQ(phase(ids[1]), Phase::kCancelled);
  EXPECT_EQ(phase(expiring), Phase::kExpired);
  EXPECT_EQ(members(), Ids{ids[0]});
}

TEST_F(BatchTest, GivesFollowersBackWhenItsLeaderIsParkedOrEnds) {  // req: engine.batch.7
  const Ids ids = gather(3);
  reply(423);
  EXPECT_EQ(phase(ids[0]), Phase::kParked);
  EXPECT_EQ(members(), Ids(ids.begin() + 1, ids.end()));
  post(ended(last_attempt(), WireEnd::kRefused));
  Cancel cancel;
  cancel.caller.ticket = Ticket(++questions);
  cancel.id = ids[1];
  post(cancel);
  EXPECT_EQ(phase(ids[1]), Phase::kCancelled);
  EXPECT_EQ(members(), Ids{ids[2]});
}

TEST_F(BatchTest, TakesOfAFifoLaneABeginningOnly) {  // req: engine.batch.10
  make({{"fifo", "1"}});
  send();
  const MessageId first = send();
  const MessageId alone = send(0, {{"alone", ""}});
  const MessageId behind = send();
  const MessageId other = send(1);
  reply(200);
  EXPECT_EQ(members(), (Ids{first, other})) << "nothing overtakes the one that goes alone";
  reply(200);
  EXPECT_EQ(members(), Ids{alone});
  reply(200);
  EXPECT_EQ(members(), Ids{behind});
}

TEST_F(BatchTest, KeepsARemarkWithTheEndOfItsMember) {  // req: engine.batch.11
  const Ids ids = gather(3);
  reply(207);
  EXPECT_EQ(explained(ids[2]).reason, "remarked");
  EXPECT_EQ(explained(ids[2]).phase, Phase::kDelivered);
  EXPECT_EQ(explained(ids[1]).reason, "");
}

TEST_F(BatchTest, WaitsForMoreUntilItsTimeIsOver) {  // req: engine.batch.12
  make({{"linger", "5000"}, {"members", "3"}});
  const Ids ids = send_many(2);
  EXPECT_TRUE(starts().empty());
  pass(4999ms);
  EXPECT_TRUE(starts().empty());
  pass(1ms);
  EXPECT_EQ(members(), ids);
  reply(200);
  const Ids more = send_many(3);
  EXPECT_EQ(members(), more) << "a full batch waits for nothing";
}

TEST_F(BatchTest, IsReleasedByADeepWaitAndBeginsWithOne) {  // req: engine.batch.13
  const Ids ids =
      gather(3, {{"strikes", "1"}, {"attempts", "1"}, {"deep", "4000"}, {"small", "1"}});
  reply(500);
  EXPECT_EQ(route().health, Health::kDeep);
  EXPECT_FALSE(route().batch.is_open());
  EXPECT_EQ(route().members_max, 1U);
  pass(5s);
  EXPECT_EQ(members(), Ids{ids[0]});
  reply(200);
  EXPECT_EQ(members(), Ids(ids.begin() + 1, ids.end())) << "a success doubles it";
}

TEST_F(BatchTest, GoesOnWithoutAMemberThatCannotBeRead) {  // req: engine.batch.14
  const Ids ids = gather(
      4, {{"strikes", "1"}, {"attempts", "1"}, {"wait", "3600000"}, {"wait-max", "3600000"}});
  reply(500);
  ASSERT_TRUE(store.memory().damage(keys::cold(ids[2], keys::Part::kMessage)));
  pass(1h);
  EXPECT_EQ(members(), (Ids{ids[0], ids[1], ids[3]}));
  reply(200);
  EXPECT_EQ(phase(ids[3]), Phase::kDelivered);
}

}  // namespace
}  // namespace postrider
