// Keys of lanes: a newer message takes the place of an older one of its key that waits, in memory
// at once, on disk by a sweep.
#include <algorithm>

#include "postrider/model/id_address.h"
#include "tests/support/pack_rig.h"

namespace postrider {
namespace {

using Ids = std::vector<MessageId>;

class LatestTest : public PackRig {
 protected:
  static NamedTexts value(const std::string& key) { return {{"key", key}}; }
  // One message is out alone, so that what comes then waits.
  void make_busy(NamedTexts settings = {}) {
    settings.emplace_back("latest", "1");
    make(std::move(settings));
    send();
  }
  void refuse() { post(ended(last_attempt(), WireEnd::kRefused)); }
  // One strike closes the route for 5 s, then for 10 s, 20 s …; a wait of more than 15 s is deep.
  void make_away(NamedTexts settings = {}) {
    for (const auto& [name, number] : {std::pair("strikes", "1"), std::pair("deep", "15000"),
                                       std::pair("attempts", "1"), std::pair("small", "1")})
      settings.emplace_back(name, number);
    make(std::move(settings));
    send();
    reply(200);
  }
  void go_deep() {
    for (int i = 0; i < 20 && route().health != Health::kDeep; ++i) {
      if (route().closed_until > instant().wall) pass(route().closed_until - instant().wall);
      refuse();
    }
    ASSERT_EQ(route().health, Health::kDeep);
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) turn();
  }
  Ids live_of(const Ids& ids) {
    Ids out;
    for (const MessageId one : ids) {
      if (!is_end(phase(one))) out.push_back(one);
    }
    return out;
  }
  static Ids tail(const Ids& ids, std::size_t count) {
    return Ids(ids.end() - static_cast<std::ptrdiff_t>(count), ids.end());
  }
  // So many values of so many keys in turn.
  Ids send_values(std::size_t count, std::size_t keys, std::uint8_t lane = 0) {
    Ids out;
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(send(lane, value("k" + std::to_string(i % keys))));
    }
    return out;
  }
};

TEST_F(LatestTest, EndsTheOlderOneThatWaits) {  // req: engine.latest.1, engine.latest.12
  make_busy();
  const MessageId old = send(0, value("k"));
  const MessageId other = send(0, value("other"));
  const MessageId plain = send(0);
  const std::size_t commits = store.commits();
  const MessageId now = send(0, value("k"));
  EXPECT_EQ(store.commits() - commits, 1U) << "in the commit that accepts the newer one";
  const Explanation told = explained(old);
  EXPECT_EQ(told.phase, Phase::kCancelled);
  EXPECT_EQ(told.reason, "superseded");
  EXPECT_EQ(stats().tallies.superseded, 1U);
  const std::vector<LogEntry> ends = log(LogEntry::Kind::kEnd);
  EXPECT_TRUE(std::any_of(ends.begin(), ends.end(), [&](const LogEntry& entry) {
    return entry.id == old && entry.reason == "superseded";
  }));
  reply(200);
  EXPECT_EQ(members(), (Ids{other, plain, now}));
}

TEST_F(LatestTest, BelongsToOneLaneThatKeepsIt) {  // req: engine.latest.2
  make_busy();
  const MessageId first = send(0, value("k"));
  const MessageId of_another = send(1, value("k"));
  const MessageId again = send(1, value("k"));
  EXPECT_FALSE(is_end(phase(first)));
  EXPECT_FALSE(is_end(phase(of_another))) << "lane 1 keeps all";
  EXPECT_FALSE(is_end(phase(again)));
}

TEST_F(LatestTest, LeavesWhatIsInAnOpenBatch) {  // req: engine.latest.3
  make_busy();
  const MessageId leader = send(0, value("a"));
  const MessageId follower = send(0, value("b"));
  reply(200);
  ASSERT_EQ(members(), (Ids{leader, follower}));
  const Ids newer = {send(0, value("a")), send(0, value("b"))};
  EXPECT_FALSE(is_end(phase(leader)));
  EXPECT_FALSE(is_end(phase(follower)));
  refuse();
  EXPECT_FALSE(is_end(phase(leader))) << "its bytes may have arrived";
  pass(2s);
  reply(200);
  EXPECT_EQ(phases({leader, follower}), (std::vector<Phase>{Phase::kDelivered, Phase::kDelivered}));
  EXPECT_EQ(members(), newer);
  EXPECT_EQ(stats().tallies.superseded, 0U);
}

TEST_F(LatestTest, CountsWhenABatchIsReleased) {  // req: engine.latest.3
  make_busy();
  const MessageId leader = send(0);
  const MessageId follower = send(0, value("k"));
  reply(200);
  ASSERT_EQ(members(), (Ids{leader, follower}));
  const MessageId newer = send(0, value("k"));
  reply(413);
  EXPECT_EQ(explained(follower).reason, "superseded");
  EXPECT_EQ(members(), Ids{leader});
  reply(200);
  EXPECT_EQ(members(), Ids{newer});
}

TEST_F(LatestTest, SurvivesARestart) {  // req: engine.latest.4
  make_busy();
  const MessageId old = send(0, value("k"));
  restart();
  EXPECT_FALSE(is_end(phase(old)));
  send(0, value("k"));
  EXPECT_EQ(explained(old).reason, "superseded");
}

TEST_F(LatestTest, FindsWhatSleeps) {  // req: engine.latest.5
  make({{"latest", "1"}, {"base", "2000"}, {"strikes", "0"}});
  const MessageId old = send(0, {{"key", "k"}, {"solo", ""}});
  refuse();
  EXPECT_FALSE(is_end(phase(old)));
  const MessageId newer = send(0, {{"key", "k"}, {"solo", ""}});
  EXPECT_EQ(explained(old).reason, "superseded");
  EXPECT_EQ(starts().back().message, newer);
}

TEST_F(LatestTest, FindsWhatSleepsOnDisk) {  // req: engine.latest.5
  make({{"latest", "1"}, {"base", "400000"}, {"strikes", "0"}});
  const MessageId old = send(0, {{"key", "k"}, {"solo", ""}});
  refuse();
  EXPECT_EQ(records_in(keys::kHot), 0U);
  const MessageId newer = send(0, {{"key", "k"}, {"solo", ""}});
  EXPECT_EQ(explained(old).reason, "superseded");
  EXPECT_EQ(starts().back().message, newer);
}

TEST_F(LatestTest, RefusesALongKeyAndTakesNoneOfWhatIsToStartLater) {  // req: engine.latest.6
  make_busy();
  Submit event = submit(++questions, "mill");
  event.attributes = encode_texts(value(std::string(256, 'k')));
  post(event);
  EXPECT_EQ(code_of(questions), AnswerCode::kInvalid);
  const MessageId waits = send(0, value("k"));
  event.caller.ticket = Ticket(++questions);
  event.attributes = encode_texts(value("k"));
  event.not_before = instant().wall + 1h;
  post(event);
  EXPECT_EQ(code_of(questions), AnswerCode::kAccepted);
  const MessageId later = id_of(questions);
  EXPECT_FALSE(is_end(phase(waits))) << "nothing newer goes now";
  send(0, value("k"));
  EXPECT_FALSE(is_end(phase(later)));
}

TEST_F(LatestTest, WhenBehindKeepsAllWhileTheRouteIsNormal) {  // req: engine.latest.7
  make({{"behind", "1"}});
  send();
  const Ids ids = {send(0, value("k")), send(0, value("k"))};
  EXPECT_EQ(live_of(ids), ids);
  reply(200);
  EXPECT_EQ(members(), ids);
}

TEST_F(LatestTest, IsSweptWhenTheRouteBecomesDeep) {  // req: engine.latest.8, engine.latest.12
  make_away({{"behind", "1"}, {"window", "2"}});
  const MessageId plain = send(0);
  const Ids ids = send_values(40, 5);
  go_deep();
  turns(60);
  EXPECT_EQ(live_of(ids), tail(ids, 5));
  EXPECT_FALSE(is_end(phase(plain)));
  EXPECT_EQ(stats().tallies.superseded, 35U);
  EXPECT_FALSE(route().latest_until.is_set()) << "the sweep is over";
}

TEST_F(LatestTest, IsSweptAgainAfterACrash) {  // req: engine.latest.9
  make_away({{"latest", "1"}, {"window", "2"}});
  options.engine.limits.job_rows_max = 2;
  restart();
  send(1);
  const Ids ids = send_values(12, 3);
  refuse();
  for (const Duration wait : {5s, 10s}) {
    pass(wait);
    store.holds_reads = wait == 10s;  // the sweep cannot begin
    refuse();
  }
  const auto record = store.memory().get(keys::route(ids[0].destination()));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(decode_route(record->view())->health, Health::kDeep);
  EXPECT_TRUE(decode_route(record->view())->latest_until.is_set());
  store.holds_reads = false;
  while (store.reads_held() > 0) store.release_read();  // for nobody: the process dies now
  restart();
  turns(60);
  EXPECT_EQ(live_of(ids), tail(ids, 3));
  EXPECT_FALSE(route().latest_until.is_set());
}

TEST_F(LatestTest, KeepsSomeByAgeAndNumber) {  // req: engine.latest.7
  make_away({{"behind", "1"}, {"keep", "600000"}, {"keep-max", "4"}, {"window", "2"}});
  const MessageId lead = send(1);
  const Ids ids = send_values(10, 1);
  go_deep();
  turns(60);
  EXPECT_EQ(live_of(ids), tail(ids, 4)) << "the newest four of the lane stay";
  EXPECT_FALSE(is_end(phase(lead)));
}

TEST_F(LatestTest, KeepsOnlyTheNewestOfWhatIsOld) {  // req: engine.latest.7
  make_away({{"behind", "1"}, {"keep", "1000"}, {"keep-max", "100"}, {"window", "2"}});
  send(1);
  const Ids ids = send_values(10, 2);
  go_deep();
  turns(60);
  EXPECT_EQ(live_of(ids), tail(ids, 2));
}

TEST_F(LatestTest, IsSweptWhenCatchUpBegins) {  // req: engine.latest.8
  make_away({{"behind", "1"}, {"window", "2"}});
  send(1);
  go_deep();
  turns(20);
  const Ids ids = send_values(9, 3);
  EXPECT_EQ(live_of(ids), ids) << "a few more wait for the next sweep";
  pass(route().closed_until - instant().wall);
  EXPECT_EQ(route().health, Health::kCatchUp);
  turns(60);
  EXPECT_EQ(live_of(ids), tail(ids, 3));
}

TEST_F(LatestTest, IsSweptWhenWhatWaitsOnDiskHasDoubled) {  // req: engine.latest.10
  options.engine.limits.sweep_cold_min = 10;
  make_busy({{"window", "1"}});
  send(0);
  const Ids ids = send_values(9, 2);  // the tenth message on disk
  turns(60);
  EXPECT_EQ(live_of(ids), tail(ids, 2));
  const Ids more = send_values(6, 2);
  turns(60);
  EXPECT_EQ(live_of(more), more) << "not doubled again";
  const MessageId tenth = send(0, value("k0"));
  turns(60);
  EXPECT_EQ(live_of(more), Ids{more[5]});
  EXPECT_FALSE(is_end(phase(tenth)));
}

TEST_F(LatestTest, RemembersABoundedNumberOfKeys) {  // req: engine.latest.11
  options.engine.limits.swept_keys_max = 1;
  options.engine.limits.job_rows_max = 2;
  make_away({{"behind", "1"}, {"window", "2"}});
  send(1);
  const Ids ids = send_values(10, 2);
  go_deep();
  turns(60);
  Ids want;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i % 2 == 0 || i + 1 == ids.size()) want.push_back(ids[i]);
  }
  EXPECT_EQ(live_of(ids), want) << "of the key for which there was no room all stay";
}

}  // namespace
}  // namespace postrider
