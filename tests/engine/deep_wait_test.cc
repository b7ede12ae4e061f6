// Deep waits, what is caught up with after them, signs of life, and positions.
#include "tests/support/task_rig.h"

namespace postrider {
namespace {

class DeepWait : public TaskRig {
 protected:
  static constexpr Duration kWait = 5s;

  // One strike closes the route for 5 s, then for 10 s, 20 s …; a wait of more than 15 s is deep.
  void make(const NamedTexts& more = {}) {
    open();
    NamedTexts settings{{"strikes", "1"}, {"deep", "15000"}, {"attempts", "1"}};
    settings.insert(settings.end(), more.begin(), more.end());
    post(place(++questions, "mill", std::move(settings)));
  }
  MessageId send(std::uint8_t lane = 0, NamedTexts attributes = {}) {
    attributes.emplace_back("method", "patient");
    Submit event = message(++questions, std::move(attributes));
    event.lane = lane;
    post(event);
    return id_of(questions);
  }
  void refuse() { post(ended(last_attempt(), WireEnd::kRefused)); }
  void deliver() { post(answer(last_attempt(), 200)); }
  Route route() {
    Query question = ask(++questions, Query::What::kDestination);
    question.destination = "mill";
    post(question);
    return view_of<DestinationView>(questions).route;
  }
  Health health() { return route().health; }
  // The probe of each wait fails, until the route is deep.
  void go_deep() {
    while (health() != Health::kDeep) {
      ASSERT_LT(++rounds_, 20);
      if (health() != Health::kNormal) pass(route().closed_until - instant().wall);
      refuse();
    }
  }
  void reach() {  // something was delivered before
    send();
    deliver();
  }
  std::vector<std::uint8_t> lanes_started(std::size_t from) const {
    std::vector<std::uint8_t> out;
    for (std::size_t i = from; i < starts().size(); ++i) out.push_back(starts()[i].message.lane());
    return out;
  }
  void see() {
    PeerSeen seen;
    seen.ticket = Ticket(++questions);
    seen.destination = "mill";
    post(seen);
    turn();
  }

 private:
  int rounds_ = 0;
};

TEST_F(DeepWait, FollowsFromTheStoredWaitOverARestart) {  // req: engine.deep.1, engine.deep.2
  make({{"jitter-low", "800"}, {"jitter-high", "1400"}, {"deep", "15000"}});
  reach();
  send();
  refuse();
  EXPECT_EQ(route().interval, kWait) << "the first one is the base";
  const Duration first = route().interval;
  restart();
  EXPECT_EQ(route().interval, first);
  EXPECT_EQ(health(), Health::kWait);
  pass(kWait);
  refuse();
  const Duration second = route().interval;
  EXPECT_GE(second, first * 16 / 10);
  EXPECT_LE(second, first * 28 / 10);
  EXPECT_EQ(route().closed_until, instant().wall + second);
  restart();
  EXPECT_EQ(route().interval, second);
  go_deep();
  EXPECT_GT(route().interval, 15s);
  EXPECT_EQ(stats().tallies.deep_waits, 1U);
}

TEST_F(DeepWait, HasNoWindow) {  // req: engine.deep.3
  make();
  reach();
  std::vector<MessageId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(send());
  for (std::size_t i = 1; i <= 3; ++i) post(ended(attempt(i), WireEnd::kRefused));
  go_deep();
  EXPECT_EQ(records_in(keys::kHot), 0U);
  EXPECT_EQ(stats().in_window, 0U);
  send();
  EXPECT_EQ(records_in(keys::kHot), 0U) << "what comes is on disk, too";
  EXPECT_EQ(route().closed_until - instant().wall, 20s);
  pass(20s);
  EXPECT_EQ(health(), Health::kCatchUp);
  EXPECT_EQ(starts().back().message, ids.front());
}

TEST_F(DeepWait, DropsLanesThatSaySo) {  // req: engine.deep.4
  make({{"drops", "4"}, {"window", "2"}, {"in-use", "1"}});
  reach();
  std::vector<MessageId> dropped;
  const MessageId kept = send(0);
  for (int i = 0; i < 100; ++i) dropped.push_back(send(2));
  refuse();
  go_deep();
  for (int i = 0; i < 20; ++i) turn();
  for (const MessageId one : dropped) {
    const Explanation told = explained(one);
    EXPECT_EQ(told.phase, Phase::kCancelled);
    EXPECT_EQ(told.reason, "dropped: the destination has been away for too long");
  }
  EXPECT_FALSE(is_end(phase(kept)));
  EXPECT_EQ(stats().tallies.dropped_deep, 100U);
  EXPECT_FALSE(route().sweep_until.is_set()) << "the sweep is over";
  const MessageId later = send(2);
  turn();
  EXPECT_FALSE(is_end(phase(later)));
}

// The route says that a sweep is owed, and was not finished. req: engine.deep.4
TEST_F(DeepWait, DropsTheRestAfterACrash) {
  make({{"in-use", "1"}});
  reach();
  for (int i = 0; i < 40; ++i) send(2);
  refuse();
  go_deep();
  post(place(++questions, "mill",
             {{"in-use", "1"}, {"strikes", "1"}, {"deep", "15000"}, {"drops", "4"}}));
  ASSERT_GE(records_in(keys::kCold), 40U);
  const MessageId last = starts().back().message;
  const std::string key = keys::route(last.destination());
  Route owed = decode_route(store.memory().get(key)->view()).value();
  ASSERT_FALSE(owed.sweep_until.is_set());
  owed.sweep_until = owed.health_since;
  leave(key, encode_route(owed));
  for (int i = 0; i < 20; ++i) turn();
  EXPECT_FALSE(route().sweep_until.is_set());
  EXPECT_EQ(records_in(keys::kCold) + records_in(keys::kHot), 0U);
}

TEST_F(DeepWait, IsFollowedByTheLanesOfTheOrder) {  // req: engine.deep.5
  make({{"catch-up", "10"}, {"in-use", "1"}});
  reach();
  send(0);
  refuse();
  for (const std::uint8_t lane : std::to_array<std::uint8_t>({2, 0, 1, 2, 0, 1})) send(lane);
  go_deep();
  const std::size_t before = starts().size();
  pass(route().closed_until - instant().wall);
  EXPECT_EQ(lanes_started(before), (std::vector<std::uint8_t>{1})) << "one until one succeeds";
  deliver();
  EXPECT_EQ(health(), Health::kCatchUp);
  while (health() == Health::kCatchUp) deliver();
  const std::vector<std::uint8_t> lanes = lanes_started(before);
  ASSERT_GE(lanes.size(), 5U);
  EXPECT_EQ(std::vector<std::uint8_t>(lanes.begin(), lanes.begin() + 5),
            (std::vector<std::uint8_t>{1, 1, 0, 0, 0}));
  EXPECT_EQ(health(), Health::kNormal);
  EXPECT_EQ(lanes.back(), 2) << "when it is over, all go";
}

TEST_F(DeepWait, IsCaughtUpWithInTheCommitOfTheLastEnd) {  // req: engine.deep.6
  make();
  reach();
  send();
  refuse();
  go_deep();
  pass(route().closed_until - instant().wall);
  ASSERT_EQ(health(), Health::kCatchUp);
  const MessageId meanwhile = send();
  deliver();
  EXPECT_EQ(health(), Health::kCatchUp) << "one came meanwhile";
  EXPECT_EQ(starts().back().message, meanwhile);
  deliver();
  EXPECT_EQ(health(), Health::kNormal);
  restart();
  EXPECT_EQ(health(), Health::kNormal);
}

TEST_F(DeepWait, ComesBackWhenACatchUpFails) {  // req: engine.deep.6
  make({{"in-use", "1"}});
  reach();
  send();
  refuse();
  send();
  send();
  go_deep();
  pass(route().closed_until - instant().wall);
  deliver();
  ASSERT_EQ(health(), Health::kCatchUp);
  refuse();
  EXPECT_EQ(health(), Health::kDeep) << "however short the wait is";
  EXPECT_EQ(route().interval, kWait);
}

TEST_F(DeepWait, HasNothingToCatchUpWithBeforeTheFirstDelivery) {  // req: engine.deep.7
  make({{"catch-up", "1"}});
  send();
  refuse();
  go_deep();
  pass(route().closed_until - instant().wall);
  EXPECT_EQ(health(), Health::kNormal);
  deliver();
  EXPECT_TRUE(route().delivered_at.is_set());
  restart();
  EXPECT_TRUE(route().delivered_at.is_set()) << "that there was one is written at once";
}

TEST_F(DeepWait, MayBeginAtAStart) {  // req: engine.deep.8
  make({{"begins-behind", "1"}, {"catch-up", "1"}, {"in-use", "1"}});
  reach();
  for (const std::uint8_t lane : std::to_array<std::uint8_t>({0, 1, 1})) send(lane);
  restart();
  EXPECT_EQ(health(), Health::kCatchUp);
  ASSERT_EQ(lanes_started(0), (std::vector<std::uint8_t>{1}));
  deliver();
  deliver();
  EXPECT_EQ(health(), Health::kNormal);
  EXPECT_EQ(lanes_started(0), (std::vector<std::uint8_t>{1, 1, 0}));
}

TEST_F(DeepWait, EndsByASignOfLife) {  // req: engine.deep.5, engine.seen.1
  make();
  reach();
  const MessageId one = send();
  refuse();
  go_deep();
  see();
  EXPECT_EQ(code_of(questions), AnswerCode::kDone);
  EXPECT_EQ(health(), Health::kCatchUp);
  EXPECT_EQ(starts().back().message, one);
}

class Spent : public DeepWait {};

TEST_F(Spent, RulesTellTheRouteWhatTheExhaustedRowSays) {  // req: engine.retry.21
  make({{"attempts", "3"}, {"base", "1000"}});
  const MessageId one = send();
  for (int i = 0; i < 2; ++i) {
    refuse();
    EXPECT_EQ(health(), Health::kNormal) << "pauses within a round are no strikes";
    pass(1s);
  }
  refuse();
  EXPECT_EQ(health(), Health::kWait);
  EXPECT_EQ(explained(one).state, "again");
}

TEST_F(Spent, AttemptsBeginAnewWhenTheStateIsLeft) {  // req: engine.retry.22
  make({{"attempts", "2"}, {"base", "1000"}});
  const MessageId one = send();
  refuse();
  pass(1s);
  refuse();
  EXPECT_EQ(explained(one).attempts, 2U);
  pass(kWait);
  EXPECT_EQ(explained(one).attempts, 1U);
  refuse();
  EXPECT_EQ(explained(one).state, "resting") << "a new round";
}

class SignOfLife : public DeepWait {
 protected:
  // Messages in a long back-off; the route is open.
  std::vector<MessageId> rest(int count, NamedTexts more = {}) {
    more.emplace_back("base", "3600000");
    open();
    post(place(++questions, "mill", std::move(more)));
    std::vector<MessageId> ids;
    for (int i = 0; i < count; ++i) {
      ids.push_back(send());
      refuse();
      EXPECT_EQ(phase(ids.back()), Phase::kBackoff);
    }
    return ids;
  }
};

TEST_F(SignOfLife, EndsEveryBackOffInPages) {  // req: engine.seen.1
  const std::vector<MessageId> ids = rest(100, {{"window", "5"}});
  const std::size_t before = starts().size();
  see();
  while (starts().size() < before + ids.size() && attempt(before).is_set()) {
    const std::size_t now = starts().size();
    for (const StartAttempt& start : starts()) post(answer(start.attempt, 200));
    if (starts().size() == now) break;
  }
  EXPECT_EQ(starts().size(), before + ids.size());
  EXPECT_EQ(stats().tallies.roused, ids.size());
}

TEST_F(SignOfLife, WakesTheHeadOfAFifoLane) {  // req: engine.seen.1
  open();
  post(place(++questions, "mill", {{"fifo", "1"}, {"base", "3600000"}}));
  const MessageId first = send();
  refuse();
  const MessageId second = send();
  EXPECT_EQ(starts().size(), 1U);
  see();
  pass(1s);
  ASSERT_EQ(starts().size(), 2U);
  EXPECT_EQ(starts().back().message, first);
  deliver();
  EXPECT_EQ(starts().back().message, second);
}

TEST_F(SignOfLife, MayComeWithWhatAProfileReceived) {  // req: engine.seen.1, engine.seen.2
  const std::vector<MessageId> ids = rest(1);
  post(news(++questions, "here mill"));
  turn();
  ASSERT_EQ(starts().size(), 2U);
  EXPECT_EQ(starts().back().message, ids.front());
  post(news(++questions, "here nowhere"));
  EXPECT_EQ(code_of(questions), AnswerCode::kDone);
}

TEST_F(SignOfLife, OfAnUnknownDestinationIsNotFound) {  // req: engine.seen.1
  open();
  see();
  EXPECT_EQ(code_of(questions), AnswerCode::kNotFound);
}

TEST_F(DeepWait, PositionIsTheGreatestDelivered) {  // req: engine.position.1
  make({{"in-use", "1"}});
  const auto deliver_at = [&](const std::string& position) {
    send(0, {{"position", position}});
    deliver();
  };
  deliver_at("7");
  EXPECT_EQ(route().position, 7U);
  deliver_at("3");
  EXPECT_EQ(route().position, 7U);
  restart();
  EXPECT_EQ(route().position, 7U);
  deliver_at("18446744073709551615");
  EXPECT_EQ(route().position, UINT64_MAX);
  send();
  deliver();
  EXPECT_EQ(route().position, UINT64_MAX);
}

}  // namespace
}  // namespace postrider
