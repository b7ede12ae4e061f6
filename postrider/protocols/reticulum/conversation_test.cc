#include "postrider/protocols/reticulum/conversation.h"

#include <set>

#include <gtest/gtest.h>

#include "postrider/protocols/reticulum/line_testing.h"
#include "postrider/protocols/reticulum/msgpack.h"

namespace postrider::reticulum {
namespace {

ConversationSettings roomy(std::uint32_t mtu) {
  return {.link = {.mtu = mtu}, .resource_bytes_max = 8'000'000};
}

// req: rns.link.5, rns.link.6, lxmf.in.3
TEST(Conversations, PacketsAreProvenBothWaysNotBeforeTheFloor) {
  Line line(1, {}, roomy(500));
  line.run(line.now + 1s);
  ASSERT_TRUE(line.opener.up && line.responder.up);
  const Timestamp began = line.now;
  EXPECT_TRUE(line.packet(line.opener, 1, "there"));
  EXPECT_TRUE(line.packet(line.responder, 2, "and back"));
  line.run(began + 3ms);
  EXPECT_EQ(line.responder.arrived, std::vector<std::string>{"there"});
  EXPECT_TRUE(line.opener.ends.empty());
  line.run(began + 4ms);
  EXPECT_EQ(line.opener.how[SendId(1)], SendEnd::kProven);
  EXPECT_EQ(line.responder.how[SendId(2)], SendEnd::kProven);
}

TEST(Conversations, SlowLinksHaveNoFloor) {
  Line line(1, {.delay_ms_min = 15, .delay_ms_max = 15}, roomy(500));
  line.run(line.now + 1s);
  EXPECT_TRUE(line.packet(line.opener, 1, "there"));
  line.run(line.now + 30ms);
  EXPECT_EQ(line.opener.how[SendId(1)], SendEnd::kProven);
}

// req: lxmf.dir.10
TEST(Conversations, UnprovenPacketFailsAfterItsOwnTime) {
  Line line(1, {}, roomy(500));
  line.run(line.now + 1s);
  line.responder.proves = false;
  line.packet(line.opener, 1, "word");
  line.run(line.now + 2s - 1ms);
  EXPECT_TRUE(line.opener.ends.empty());
  line.run(line.now + 1ms);
  EXPECT_EQ(line.opener.how[SendId(1)], SendEnd::kFailed);
  EXPECT_TRUE(line.opener.talk->link().is_usable());
}

TEST(Conversations, RefuseWhatTheyCannotCarry) {
  Line line(1, {}, roomy(500));
  EXPECT_FALSE(line.packet(line.opener, 1, "too early"));
  line.run(line.now + 1s);
  EXPECT_TRUE(line.packet(line.opener, 1, std::string(431, 'x')));
  EXPECT_FALSE(line.packet(line.opener, 2, std::string(432, 'x')));
  EXPECT_FALSE(line.resource(line.opener, 3, {}));
  line.responder.proves = false;
  for (std::uint64_t id = 10; id < 73; ++id) EXPECT_TRUE(line.packet(line.opener, id, "x"));
  EXPECT_FALSE(line.packet(line.opener, 73, "x"));
  line.close(line.opener);
  EXPECT_FALSE(line.packet(line.opener, 74, "x"));
  EXPECT_FALSE(line.request(line.opener, 75, "\xc0"));
  EXPECT_EQ(line.opener.ends.size(), 64u);
}

// req: lxmf.io.5, rns.res.1, rns.res.2, rns.res.3
TEST(Conversations, ResourcesOfAllSizesComeThroughAtBothMtus) {
  for (const std::uint32_t mtu : {500u, 8192u}) {
    for (const std::size_t size :
         {1u, 320u, 34'336u, 1'048'574u, 1'048'575u, 1'048'576u, 3'000'000u}) {
      Line line(size, {}, roomy(mtu));
      line.run(line.now + 1s);
      const std::string body = noise(size, size);
      ASSERT_TRUE(line.resource(line.opener, 1, {.bytes = body}));
      line.run(line.now + 60s);
      ASSERT_EQ(line.opener.how[SendId(1)], SendEnd::kProven) << mtu << " " << size;
      ASSERT_EQ(line.responder.arrived, std::vector<std::string>{body});
      std::size_t parts = 0;
      for (std::size_t left = size; left > 0; left -= std::min(left, kSegmentBytesMax)) {
        const std::size_t blob = token_bytes(4 + std::min(left, kSegmentBytesMax));
        parts += (blob + mtu - 37) / (mtu - 36);
      }
      EXPECT_EQ(line.opener.sent[Context::kResource], static_cast<int>(parts));
      EXPECT_EQ(line.budget.count(), 0u);
      EXPECT_EQ(line.budget.bytes(), 0u);
    }
  }
}

// req: rns.res.6
TEST(Conversations, CompressedResourcesComeThrough) {
  Line line(3, {}, roomy(500));
  line.run(line.now + 1s);
  ResourceBody body{.bytes = std::string(1'500'000, 'c') + noise(3000, 1)};
  const std::string expected = body.bytes;
  compress_segments(body);
  line.resource(line.responder, 1, std::move(body));
  line.run(line.now + 10s);
  EXPECT_EQ(line.opener.arrived, std::vector<std::string>{expected});
  EXPECT_LT(line.responder.sent[Context::kResource], 30);
}

// req: rns.res.5
TEST(Conversations, ResourcesOfALinkRunOneAfterTheOtherWithoutAPause) {
  Line line(3, {}, roomy(8192));
  line.run(line.now + 1s);
  const Timestamp began = line.now;
  std::vector<std::string> bodies;
  for (std::uint64_t id = 1; id <= 20; ++id) {
    bodies.push_back(noise(2000, id));
    line.resource(line.opener, id, {.bytes = bodies.back()});
  }
  EXPECT_EQ(line.opener.sent[Context::kResourceAdvertisement], 1);
  line.run(began + 200ms);
  EXPECT_EQ(line.responder.arrived, bodies);  // 4 ms of floor for the request, 4 ms for the proof
  EXPECT_EQ(line.opener.ends.size(), 20u);
}

// req: rns.res.7
TEST(Conversations, ResourceAboveTheLimitIsRefusedAtItsAdvertisement) {
  Line line(3, {}, {.link = {.mtu = 500}});
  line.run(line.now + 1s);
  line.resource(line.opener, 1, {.bytes = noise(1'000'001, 1)});
  line.run(line.now + 1s);
  EXPECT_EQ(line.opener.how[SendId(1)], SendEnd::kRefused);
  EXPECT_EQ(line.responder.sent[Context::kResourceRequest], 0);
  EXPECT_EQ(line.responder.talk->counters().refused_resources, 1u);
  line.resource(line.opener, 2, {.bytes = noise(1'000'000, 1)});
  line.run(line.now + 60s);
  EXPECT_EQ(line.opener.how[SendId(2)], SendEnd::kProven);
}

// req: lxmf.lim.4
TEST(Conversations, BudgetOfAllLinksBoundsWhatIsTaken) {
  ResourceBudget budget(2, 100);
  EXPECT_FALSE(budget.take(101));
  EXPECT_TRUE(budget.take(60));
  EXPECT_FALSE(budget.take(41));
  EXPECT_TRUE(budget.take(40));
  EXPECT_FALSE(budget.take(0));
  budget.give_back(60);
  EXPECT_TRUE(budget.take(0));
  Line line(3, {}, roomy(500));
  line.run(line.now + 1s);
  while (line.budget.take(0)) {
  }
  line.resource(line.opener, 1, {.bytes = noise(1000, 1)});
  line.run(line.now + 1s);
  EXPECT_EQ(line.opener.how[SendId(1)], SendEnd::kRefused);
}

TEST(Conversations, ReceiverMayRefuseInsteadOfProving) {
  Line line(3, {}, roomy(500));
  line.run(line.now + 1s);
  line.responder.proves = false;
  line.resource(line.opener, 1, {.bytes = noise(1000, 1)});
  line.run(line.now + 1s);
  const auto* arrived = std::get_if<ResourceArrived>(&line.responder.events.back());
  ASSERT_NE(arrived, nullptr);
  line.act(line.responder, [&](Conversation& talk, LinkOutput& out) {
    talk.refuse_resource(arrived->resource, line.now, line.random(), out);
    return true;
  });
  line.run(line.now + 1s);
  EXPECT_EQ(line.opener.how[SendId(1)], SendEnd::kRefused);
}

TEST(Conversations, CancelTellsThePeerAndStartsTheNext) {
  Line line(3, {.delay_ms_min = 5, .delay_ms_max = 5}, roomy(500));
  line.run(line.now + 1s);
  line.resource(line.opener, 1, {.bytes = noise(100'000, 1)});
  line.resource(line.opener, 2, {.bytes = noise(1000, 2)});
  line.run(line.now + 50ms);
  EXPECT_GT(line.opener.talk->progress_permille(SendId(1)), 0u);
  EXPECT_EQ(line.opener.talk->progress_permille(SendId(2)), 0u);
  EXPECT_EQ(line.opener.talk->progress_permille(SendId(3)), std::nullopt);
  line.act(line.opener, [&](Conversation& talk, LinkOutput& out) {
    talk.cancel(SendId(1), line.now, line.random(), out);
    return true;
  });
  EXPECT_EQ(line.opener.how[SendId(1)], SendEnd::kFailed);
  line.run(line.now + 5s);
  EXPECT_EQ(line.responder.arrived, std::vector<std::string>{noise(1000, 2)});
  EXPECT_EQ(line.budget.count(), 0u);
}

// req: lxmf.sync.5
TEST(Conversations, RequestsAreAnsweredSmallAndLarge) {
  for (const std::size_t size : {1u, 300u, 431u, 20'000u}) {
    Line line(3, {}, roomy(500));
    line.run(line.now + 1s);
    std::string value;
    MsgpackWriter(value).binary(std::string(size, 'v'));
    EXPECT_TRUE(line.request(line.opener, 7, value));
    line.run(line.now + 5s);
    EXPECT_EQ(line.opener.responses[SendId(7)], value) << size;
    EXPECT_EQ(line.opener.ends[SendId(7)], 1);
  }
}

// req: lxmf.sync.5
TEST(Conversations, UnansweredRequestIsRepeatedOnceAndFails) {
  Line line(3, {}, roomy(500));
  line.run(line.now + 1s);
  line.responder.talk.reset();  // hears nothing any more
  const Timestamp began = line.now;
  line.request(line.opener, 7, "\xc0");
  line.run(began + 11'249ms);
  EXPECT_EQ(line.opener.sent[Context::kRequest], 1);
  line.run(began + 11'250ms);
  EXPECT_EQ(line.opener.sent[Context::kRequest], 2);
  EXPECT_TRUE(line.opener.ends.empty());
  line.run(began + 60s);
  EXPECT_EQ(line.opener.how[SendId(7)], SendEnd::kFailed);
  EXPECT_EQ(line.opener.ends[SendId(7)], 1);
}

// req: rns.link.1
TEST(Conversations, EverythingOpenEndsWhenTheLinkGoesDown) {
  Line line(3, {}, roomy(500));
  line.run(line.now + 1s);
  line.responder.proves = false;
  line.packet(line.opener, 1, "x");
  line.resource(line.opener, 2, {.bytes = noise(5000, 1)});
  line.resource(line.opener, 3, {.bytes = noise(5000, 2)});
  line.request(line.opener, 4, noise(600, 2).replace(0, 3, from_hex("c50255")));
  line.close(line.responder);
  line.run(line.now + 1s);
  EXPECT_TRUE(line.opener.down && line.responder.down);
  for (std::uint64_t id = 1; id <= 4; ++id)
    EXPECT_EQ(line.opener.how[SendId(id)], SendEnd::kFailed);
  EXPECT_FALSE(line.opener.talk->next_deadline());
  EXPECT_EQ(line.budget.count(), 0u);
}

TEST(Conversations, IdentifyIsTold) {
  Line line(3, {}, roomy(500));
  line.run(line.now + 1s);
  const auto identify = [&](Line::End& end) {
    return line.act(end, [&](Conversation& talk, LinkOutput& out) {
      return talk.identify(alice(), line.now, line.random(), out);
    });
  };
  EXPECT_TRUE(identify(line.opener));
  EXPECT_FALSE(identify(line.responder));
  line.run(line.now + 1s);
  const auto* told = std::get_if<PeerIdentified>(&line.responder.events.back());
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->keys, alice().public_keys());
}

// req: rns.link.5, rns.link.6
TEST(Conversations, ForgedEarlyAndDoubledProofs) {
  Line line(3, {}, roomy(500));
  line.run(line.now + 1s);
  const Address link = line.opener.talk->link().id();
  LinkOutput out;
  line.opener.talk->send_packet(SendId(5), "x", line.now, line.random(), out);
  const Digest packet = packet_hash(out.packets.back());
  line.inject(line.opener, make_link_proof(alice().signing(), link, packet));
  EXPECT_EQ(line.opener.talk->counters().forged_proofs, 1u);
  EXPECT_TRUE(line.opener.ends.empty());
  // At the very instant at which the packet leaves.
  line.inject(line.opener, make_link_proof(bob().signing(), link, packet));
  EXPECT_EQ(line.opener.how[SendId(5)], SendEnd::kProven);
  line.inject(line.opener, make_link_proof(bob().signing(), link, packet));
  line.inject(line.opener, make_link_proof(bob().signing(), link, Digest{1}));
  EXPECT_EQ(line.opener.talk->counters().unknown_proofs, 2u);
  EXPECT_EQ(line.opener.ends[SendId(5)], 1);
}

// A peer with the key of the link may still say anything.
class LiarTest : public ::testing::Test {
 protected:
  LiarTest() {
    const Wired request(sent_.back());
    auto made = Conversation::answer(request.arrival(), bob(), roomy(500), budget_, kTestStart,
                                     random_, out_);
    talk_ = std::move(*made);
    feed_liar();
    hand(sent_.back());
  }
  void feed_liar() {
    sent_.clear();
    for (const std::string& raw : std::exchange(out_.packets, {})) {
      const Wired wired(raw);
      liar_.take(wired.arrival(), kTestStart, random_, sent_);
    }
  }
  void hand(const std::string& raw) {
    const Wired wired(raw);
    talk_->take(wired.arrival(), kTestStart, random_, out_);
  }
  void say(Context context, std::string_view plain) {
    hand(liar_.send(context, plain, kTestStart, random_));
  }
  std::vector<Context> contexts() {
    std::vector<Context> out;
    for (const std::string& raw : std::exchange(out_.packets, {}))
      out.push_back(decode_packet(raw)->context);
    return out;
  }
  Advertisement advertisement() const {
    return {.blob_bytes = 900,
            .body_bytes = 850,
            .parts = 2,
            .resource = Digest{1},
            .original = Digest{1},
            .map_hashes = "aaaabbbb"};
  }

  SeededRandom random_{6};
  std::vector<std::string> sent_;
  LinkOutput out_;
  ResourceBudget budget_;
  Link liar_ = Link::open(link_target(bob(), "x"), {}, kTestStart, random_, sent_);
  std::unique_ptr<Conversation> talk_;
};

TEST_F(LiarTest, AdvertisementsThatAreNotWantedAreRefused) {
  using Change = void (*)(Advertisement&);
  for (const Change change :
       {Change([](Advertisement& in) { in.encrypted = false; }),
        Change([](Advertisement& in) { in.has_metadata = true; }),
        Change([](Advertisement& in) { in.segments = 2, in.segment = 2; }),
        Change([](Advertisement& in) { in.parts = 9; }),
        Change([](Advertisement& in) { in.body_bytes = 9'000'000; }),
        Change([](Advertisement& in) { in.map_hashes = "aaaaaaaa"; }),
        Change([](Advertisement& in) { in.segments = UINT64_MAX; }), Change([](Advertisement& in) {
          in.is_response = true;
          in.request = Address{1};
        })}) {
    Advertisement in = advertisement();
    change(in);
    say(Context::kResourceAdvertisement, encode_advertisement(in));
    EXPECT_EQ(contexts(), std::vector<Context>{Context::kResourceRefusedByReceiver});
    EXPECT_EQ(budget_.count(), 0u);
  }
  EXPECT_EQ(talk_->counters().refused_resources, 8u);
}

TEST_F(LiarTest, NoiseInEveryContextIsCountedAndNothingElse) {
  SeededRandom random(77);
  for (int round = 0; round < 2000; ++round) {
    const auto context = static_cast<Context>(round % 256);
    if (context == Context::kLinkClose || context == Context::kNone) continue;
    const std::string plain =
        noise(1 + static_cast<std::size_t>(round % 97), static_cast<std::uint64_t>(round));
    say(context, plain);
    hand(liar_.send_clear(context, plain, kTestStart));
  }
  EXPECT_TRUE(talk_->link().is_usable());
  for (const LinkEvent& event : out_.events) EXPECT_TRUE(std::holds_alternative<LinkUp>(event));
  EXPECT_EQ(budget_.count(), 0u);
}

TEST_F(LiarTest, PartsAndHashesThatWereNotAskedForAreCounted) {
  hand(liar_.send_clear(Context::kResource, "part", kTestStart));
  EXPECT_EQ(talk_->counters().unasked_parts, 1u);
  say(Context::kResourceAdvertisement, encode_advertisement(advertisement()));
  talk_->on_time(kTestStart + 4ms, random_, out_);
  EXPECT_EQ(contexts(), std::vector<Context>{Context::kResourceRequest});
  hand(liar_.send_clear(Context::kResource, "part", kTestStart));
  EXPECT_EQ(talk_->counters().unasked_parts, 2u);
  std::string update(view(Digest{1}));
  MsgpackWriter(update).array(2).whole(0).binary("cccc");
  say(Context::kResourceHashmapUpdate, update);
  EXPECT_TRUE(contexts().empty());
  EXPECT_EQ(budget_.count(), 1u);
  talk_.reset();
  EXPECT_EQ(budget_.count(), 0u);
}

struct LossCase {
  const char* name;
  Line::Faults faults;
};
class LossyTest : public ::testing::TestWithParam<LossCase> {};

// req: rns.link.1, rns.res.4
TEST_P(LossyTest, EverythingArrivesOrFailsOnce) {
  int proven = 0;
  int offered = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Line line(seed, GetParam().faults, roomy(seed % 2 == 0 ? 500 : 8192));
    line.run(line.now + 15s);
    if (!line.opener.up || !line.responder.up) continue;
    std::map<std::uint64_t, std::string> from_opener;
    std::map<std::uint64_t, std::string> from_responder;
    for (std::uint64_t id = 1; id <= 8; ++id) {
      const std::string body = noise(1 + (seed * 37 + id * 911) % 60'000, seed * 100 + id);
      if (line.resource(line.opener, id, {.bytes = body})) from_opener[id] = body;
      const std::string back = noise(1 + (seed * 91 + id * 577) % 20'000, seed * 200 + id);
      if (line.resource(line.responder, id, {.bytes = back})) from_responder[id] = back;
      const std::string small = noise(100, seed * 300 + id);
      if (line.packet(line.opener, 100 + id, small)) from_opener[100 + id] = small;
      line.request(line.opener, 200 + id, "\xc0");
      line.run(line.now + 500ms);
    }
    line.run(line.now + 7200s);
    const auto check = [&](const Line::End& from, const Line::End& to, const auto& sent) {
      std::multiset<std::string> arrived(to.arrived.begin(), to.arrived.end());
      for (const auto& [id, body] : sent) {
        ++offered;
        ASSERT_TRUE(from.ends.contains(SendId(id))) << seed << " " << id;
        EXPECT_EQ(from.ends.at(SendId(id)), 1) << seed << " " << id;
        EXPECT_LE(arrived.count(body), 1u) << seed << " " << id;
        if (from.how.at(SendId(id)) != SendEnd::kProven) continue;
        ++proven;
        EXPECT_EQ(arrived.count(body), 1u) << seed << " " << id;
      }
    };
    check(line.opener, line.responder, from_opener);
    check(line.responder, line.opener, from_responder);
    for (const auto& [id, times] : line.opener.ends) EXPECT_EQ(times, 1) << seed;
    EXPECT_TRUE(line.opener.down && line.responder.down) << seed;
    EXPECT_EQ(line.budget.count(), 0u);
    EXPECT_EQ(line.budget.bytes(), 0u);
  }
  EXPECT_GT(offered, 300);
  EXPECT_GT(proven * 2, offered);
  RecordProperty("proven", proven);
  RecordProperty("offered", offered);
}

INSTANTIATE_TEST_SUITE_P(
    Lines, LossyTest,
    ::testing::Values(
        LossCase{"Clean", {}}, LossCase{"Reordering", {.delay_ms_min = 1, .delay_ms_max = 200}},
        LossCase{"Doubling", {.doubled_percent = 50, .delay_ms_max = 30}},
        LossCase{"Losing", {.lost_percent = 10, .delay_ms_min = 5, .delay_ms_max = 5}},
        LossCase{
            "All",
            {.lost_percent = 20, .doubled_percent = 20, .delay_ms_min = 1, .delay_ms_max = 80}}),
    [](const auto& which) { return std::string(which.param.name); });

}  // namespace
}  // namespace postrider::reticulum
