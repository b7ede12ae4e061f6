#include "postrider/protocols/reticulum/link.h"

#include <gtest/gtest.h>

#include "postrider/protocols/reticulum/link_testing.h"

namespace postrider::reticulum {
namespace {

using What = LinkReading::What;

// req: rns.link.1, lxmf.io.1
TEST(LinkVectors, HandshakeKeyAndRoundTripEqualThem) {
  ScriptedRandom opens({std::string(32, '\x22'), std::string(32, '\x11')});
  ScriptedRandom answers({std::string(32, '\x33')});
  std::vector<std::string> sent;
  Link opener = Link::open(link_target(bob(), "vectors.link"), {}, kTestStart, opens, sent);
  EXPECT_EQ(hex(opener.id()), "7ee5fe3e4952c9ac4519b537f6278474");
  const Wired request(sent.back());
  EXPECT_EQ(static_cast<std::uint8_t>(request.raw[0]), 0x02);
  EXPECT_EQ(to_hex(request.packet.data.substr(64)), "2001f4");
  sent.clear();
  auto answered = Link::answer(request.arrival(), bob(), {}, kTestStart, answers, sent);
  ASSERT_TRUE(answered);
  EXPECT_EQ(answered->id(), opener.id());
  const Wired proof(sent.back());
  EXPECT_EQ(to_hex(proof.raw.substr(0, 19)), "0f007ee5fe3e4952c9ac4519b537f6278474ff");
  EXPECT_EQ(proof.packet.data.size(), 99u);
  sent.clear();
  EXPECT_EQ(opener.take(proof.arrival(), kTestStart + 250ms, opens, sent).what, What::kActive);
  EXPECT_EQ(opener.rtt(), 250ms);
  const Wired round_trip(sent.back());
  EXPECT_EQ(to_hex(round_trip.raw.substr(0, 2)), "0c00");
  EXPECT_EQ(to_hex(answered->open_sealed_bytes(round_trip.packet.data).value()),
            "cb3fd0000000000000");
  EXPECT_EQ(answered->take(round_trip.arrival(), kTestStart + 300ms, answers, sent).what,
            What::kActive);
  EXPECT_EQ(answered->rtt(), 300ms);
  ScriptedRandom iv({counting(0x40, 0x50)});
  EXPECT_EQ(to_hex(opener.send(Context::kNone, "hello link", kTestStart, iv).substr(19)),
            "404142434445464748494a4b4c4d4e4f7c0c3de78864c891b3a6b82e83d0f60f"
            "74c124939c2ce8c348f3752656829c4b839242e00eafd3ac4c29b77a9696d0aa");
  const Wired identify(opener.identify(alice(), kTestStart + 1s, opens));
  EXPECT_EQ(to_hex(answered->open_sealed_bytes(identify.packet.data).value()),
            hex(alice().public_keys()) +
                "b3f4695a76e91284c6b96ceb7f8f1a18934040ec016df5b2826546860717124c"
                "b7fff073369c90ed1093f78b6f408f166f9b74593987f2a8d1516dde6d795b0a");
}

// req: rns.link.2
TEST(LinkSignals, AreThreeBytes) {
  EXPECT_EQ(to_hex(encode_signalling({.mtu = 500})), "2001f4");
  EXPECT_EQ(to_hex(encode_signalling({.mtu = 8192})), "202000");
  EXPECT_EQ(decode_signalling({0x20, 0x20, 0x00}).mtu, 8192u);
  EXPECT_EQ(decode_signalling({0xFF, 0xFF, 0xFF}).mode, 7);
  EXPECT_EQ(link_payload_max(500), 431u);
  EXPECT_EQ(link_payload_max(8192), 8111u);
}

// req: rns.link.2
TEST(LinkSignals, SmallerMtuOfBothHolds) {
  for (const auto& [ours, theirs] : {std::pair{8192u, 500u}, {500u, 8192u}, {8192u, 8192u}}) {
    SeededRandom random(1);
    std::vector<std::string> sent;
    Link opener = Link::open(link_target(bob(), "x"), {.mtu = ours}, kTestStart, random, sent);
    const Wired request(sent.back());
    const auto responder =
        Link::answer(request.arrival(), bob(), {.mtu = theirs}, kTestStart, random, sent);
    const Wired proof(sent.back());
    opener.take(proof.arrival(), kTestStart, random, sent);
    EXPECT_EQ(opener.mtu(), std::min(ours, theirs));
    EXPECT_EQ(responder->mtu(), std::min(ours, theirs));
  }
}

// req: rns.link.2
TEST(LinkRequest, WithoutSignallingIsAnsweredWithoutIt) {
  SeededRandom random(1);
  std::vector<std::string> sent;
  Link opener = Link::open(link_target(bob(), "x"), {.mtu = 8192}, kTestStart, random, sent);
  std::string raw = sent.back();
  raw.resize(19 + 64);
  const Wired request(raw);
  sent.clear();
  const auto responder =
      Link::answer(request.arrival(), bob(), {.mtu = 8192}, kTestStart, random, sent);
  ASSERT_TRUE(responder);
  EXPECT_EQ(responder->id(), opener.id());
  EXPECT_EQ(responder->mtu(), 500u);
  const Wired proof(sent.back());
  EXPECT_EQ(proof.packet.data.size(), 96u);
  EXPECT_EQ(opener.take(proof.arrival(), kTestStart, random, sent).what, What::kActive);
  EXPECT_EQ(opener.mtu(), 500u);
}

// req: rns.link.1
TEST(LinkRequest, OfAnotherModeLengthOrMtuIsRefused) {
  SeededRandom random(1);
  std::vector<std::string> sent;
  Link::open(link_target(bob(), "x"), {}, kTestStart, random, sent);
  const std::string good = sent.back();
  const auto answer = [&](const std::string& raw) {
    const Wired request(raw);
    sent.clear();
    return Link::answer(request.arrival(), bob(), {}, kTestStart, random, sent);
  };
  EXPECT_TRUE(answer(good));
  for (const char* signalling : {"0001f4", "4001f4", "e001f4", "200001", "3fffff"}) {
    const auto refused = answer(good.substr(0, 19 + 64) + from_hex(signalling));
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalid) << signalling;
    EXPECT_TRUE(sent.empty());
  }
  EXPECT_TRUE(answer(good.substr(0, 19 + 64) + from_hex("200000")));  // an MTU of 0 means 500
  for (const std::size_t size : {20u, 82u, 84u, 85u})
    EXPECT_EQ(answer(good.substr(0, size)).error().code, ErrorCode::kCorrupt) << size;
  EXPECT_EQ(answer(good + "x").error().code, ErrorCode::kCorrupt);
  std::string low_order = good;
  low_order.replace(19, 32, 32, '\0');
  EXPECT_EQ(answer(low_order).error().code, ErrorCode::kInvalid);
  std::string no_request = good;
  no_request[0] = 0;
  EXPECT_EQ(answer(no_request).error().code, ErrorCode::kCorrupt);
}

class OpeningTest : public ::testing::Test {
 protected:
  OpeningTest() {
    const Wired request(sent_.back());
    sent_.clear();
    responder_.emplace(
        Link::answer(request.arrival(), bob(), {}, kTestStart, random_, sent_).value());
    proof_ = sent_.back();
    sent_.clear();
  }
  LinkReading take(const std::string& raw, std::uint8_t hops = 1) {
    const Wired wired(raw);
    return opener_.take(wired.arrival(kTestInterface, hops), kTestStart, random_, sent_);
  }
  SeededRandom random_{4};
  std::vector<std::string> sent_;
  Link opener_ = Link::open(link_target(bob(), "x"), {}, kTestStart, random_, sent_);
  std::optional<Link> responder_;
  std::string proof_;
};

// req: rns.link.1
TEST_F(OpeningTest, BadProofsAreCountedAndIgnored) {
  for (std::size_t at = 19; at < proof_.size(); ++at) {
    std::string damaged = proof_;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_EQ(take(damaged).what, What::kNothing) << at;
  }
  EXPECT_EQ(take(proof_, 2).what, What::kNothing);
  EXPECT_EQ(take(proof_ + "x").what, What::kNothing);
  EXPECT_EQ(take(proof_.substr(0, 80)).what, What::kNothing);
  EXPECT_EQ(opener_.state(), LinkState::kOpening);
  EXPECT_EQ(opener_.damaged_packets(), proof_.size() - 19 + 3);
  EXPECT_TRUE(sent_.empty());
  const Wired wired(proof_);
  opener_.take(wired.arrival(InterfaceId(2)), kTestStart, random_, sent_);
  EXPECT_EQ(opener_.foreign_packets(), 1u);
  EXPECT_EQ(take(proof_).what, What::kActive);
}

// req: rns.link.1
TEST_F(OpeningTest, ProofWithAnotherModeClosesTheLink) {
  // Signed by the destination itself, as a peer of another mind would do.
  std::string data = proof_.substr(19 + 64, 32);
  const std::string said = from_hex("4001f4");
  const std::string proven = std::string(view(opener_.id())) + data +
                             std::string(view(bob().signing().public_key())) + said;
  std::string raw = proof_.substr(0, 19) + std::string(view(bob().sign(proven))) + data + said;
  EXPECT_EQ(take(raw).what, What::kClosed);
  EXPECT_EQ(opener_.end(), LinkEnd::kOtherMode);
  EXPECT_FALSE(opener_.was_active());
}

// req: rns.link.1
TEST_F(OpeningTest, TimesOutAfterSixSecondsAndSixForEachHop) {
  EXPECT_EQ(opener_.next_deadline(), kTestStart + 12s);
  EXPECT_EQ(opener_.on_time(kTestStart + 12s - 1ms, random_, sent_).what, What::kNothing);
  EXPECT_EQ(opener_.on_time(kTestStart + 12s, random_, sent_).what, What::kClosed);
  EXPECT_EQ(opener_.end(), LinkEnd::kTimedOut);
  EXPECT_FALSE(opener_.was_active());
  EXPECT_TRUE(sent_.empty());
  EXPECT_EQ(take(proof_).what, What::kNothing);  // too late
  EXPECT_EQ(responder_->next_deadline(), kTestStart + 366s);
  EXPECT_EQ(responder_->on_time(kTestStart + 366s, random_, sent_).what, What::kClosed);
}

// req: rns.link.1
TEST_F(OpeningTest, NothingPassesBeforeTheRoundTripPacket) {
  take(proof_);
  const std::string round_trip = sent_.back();
  sent_.clear();
  const Wired data(opener_.send(Context::kNone, "early", kTestStart, random_));
  EXPECT_EQ(responder_->take(data.arrival(), kTestStart, random_, sent_).what, What::kNothing);
  EXPECT_FALSE(responder_->is_usable());
  // Only a number that can be a time is one.
  for (const char* told :
       {"cb7ff8000000000000", "cbbff0000000000000", "cb7ff0000000000000", "c0", "", "a130"}) {
    const Wired bad(encode_packet({.destination_kind = DestinationKind::kLink,
                                   .destination = opener_.id(),
                                   .context = Context::kLinkRtt,
                                   .data = opener_.seal(from_hex(told), random_)}));
    EXPECT_EQ(responder_->take(bad.arrival(), kTestStart, random_, sent_).what, What::kNothing);
  }
  const Wired wired(round_trip);
  EXPECT_EQ(responder_->take(wired.arrival(), kTestStart, random_, sent_).what, What::kActive);
  EXPECT_EQ(responder_->take(data.arrival(), kTestStart, random_, sent_).plain, "early");
}

// req: rns.link.3
TEST(LinkLife, KeepaliveFollowsTheRoundTrip) {
  EXPECT_EQ(LinkPair(500, 0ms).opener.keepalive(), 5s);
  EXPECT_EQ(LinkPair(500, 100ms).opener.keepalive(), 20571ms);
  EXPECT_EQ(LinkPair(500, 10s).opener.keepalive(), 360s);
}

// req: rns.link.1, rns.link.3
TEST(LinkLife, OpenerAsksAndResponderAnswers) {
  LinkPair pair;
  EXPECT_EQ(pair.opener.next_deadline(), pair.now + 5s);
  EXPECT_EQ(pair.opener.on_time(pair.now + 5s, pair.random, pair.sent).what, What::kNothing);
  ASSERT_EQ(pair.sent.size(), 1u);
  const Wired ask(pair.sent.back());
  EXPECT_EQ(ask.packet.context, Context::kKeepalive);
  EXPECT_EQ(to_hex(ask.packet.data), "ff");
  pair.sent.clear();
  pair.responder.take(ask.arrival(), pair.now + 5s, pair.random, pair.sent);
  ASSERT_EQ(pair.sent.size(), 1u);
  const Wired answer(pair.sent.back());
  EXPECT_EQ(to_hex(answer.packet.data), "fe");
  pair.opener.take(answer.arrival(), pair.now + 5s, pair.random, pair.sent);
  EXPECT_EQ(pair.opener.next_deadline(), pair.now + 10s);
  // Neither side takes the word of its own.
  const std::uint64_t damaged = pair.opener.damaged_packets();
  pair.opener.take(ask.arrival(), pair.now + 5s, pair.random, pair.sent);
  EXPECT_EQ(pair.opener.damaged_packets(), damaged + 1);
  EXPECT_EQ(pair.sent.size(), 1u);
}

// req: rns.link.1
TEST(LinkLife, GoesStaleAndComesBackOrCloses) {
  LinkPair pair;
  const Timestamp began = pair.now;
  pair.opener.on_time(began + 5s, pair.random, pair.sent);
  pair.opener.on_time(began + 10s, pair.random, pair.sent);
  EXPECT_EQ(pair.opener.state(), LinkState::kStale);
  const Wired word(pair.responder.send(Context::kNone, "back", began + 11s, pair.random));
  EXPECT_EQ(pair.opener.take(word.arrival(), began + 11s, pair.random, pair.sent).plain, "back");
  EXPECT_EQ(pair.opener.state(), LinkState::kActive);
  pair.opener.on_time(began + 21s, pair.random, pair.sent);
  EXPECT_EQ(pair.opener.state(), LinkState::kStale);
  pair.sent.clear();
  EXPECT_EQ(pair.opener.on_time(began + 26s, pair.random, pair.sent).what, What::kClosed);
  EXPECT_EQ(pair.opener.end(), LinkEnd::kWentStale);
  EXPECT_TRUE(pair.opener.was_active());
  const Wired close(pair.sent.back());
  EXPECT_EQ(close.packet.context, Context::kLinkClose);
  EXPECT_EQ(pair.responder.take(close.arrival(), began + 26s, pair.random, pair.sent).what,
            What::kClosed);
  EXPECT_EQ(pair.responder.end(), LinkEnd::kByPeer);
  EXPECT_FALSE(pair.responder.next_deadline());
}

// req: rns.link.4
TEST(LinkLife, ClosesWithoutPayloadAlthoughKeepalivesCome) {
  LinkPair pair(500, 0ms, 180s);
  const Timestamp began = pair.now;
  Timestamp now = began;
  while (pair.opener.is_usable()) {
    now = *pair.opener.next_deadline();
    pair.sent.clear();
    pair.opener.on_time(now, pair.random, pair.sent);
    const std::vector<std::string> asked = std::move(pair.sent);
    pair.sent.clear();
    for (const std::string& raw : asked) {
      const Wired wired(raw);
      pair.responder.take(wired.arrival(), now, pair.random, pair.sent);
    }
    for (const std::string& raw : pair.sent) {
      const Wired wired(raw);
      pair.opener.take(wired.arrival(), now, pair.random, pair.sent);
    }
  }
  EXPECT_EQ(now, began + 180s);
  EXPECT_EQ(pair.opener.end(), LinkEnd::kIdle);
  EXPECT_EQ(pair.responder.end(), LinkEnd::kByPeer);
}

// req: rns.link.1
TEST(LinkLife, LostInterfaceClosesWithoutAWord) {
  LinkPair pair;
  pair.opener.close(LinkEnd::kInterfaceLost, pair.random, pair.sent);
  EXPECT_TRUE(pair.sent.empty());
  EXPECT_EQ(pair.opener.state(), LinkState::kClosed);
  pair.opener.close(LinkEnd::kByUs, pair.random, pair.sent);
  EXPECT_EQ(pair.opener.end(), LinkEnd::kInterfaceLost);
}

// req: rns.wire.5
TEST(LinkLife, ForeignInterfacesAndDamagedPacketsAreCounted) {
  LinkPair pair;
  const std::string raw = pair.opener.send(Context::kNone, "word", pair.now, pair.random);
  const Wired good(raw);
  EXPECT_EQ(
      pair.responder.take(good.arrival(InterfaceId(9)), pair.now, pair.random, pair.sent).what,
      What::kNothing);
  EXPECT_EQ(pair.responder.foreign_packets(), 1u);
  for (std::size_t at = 19; at < raw.size(); ++at) {
    std::string bytes = raw;
    bytes[at] = static_cast<char>(bytes[at] ^ 4);
    const Wired bad(bytes);
    EXPECT_EQ(pair.responder.take(bad.arrival(), pair.now, pair.random, pair.sent).what,
              What::kNothing);
  }
  EXPECT_EQ(pair.responder.damaged_packets(), raw.size() - 19);
  EXPECT_EQ(pair.responder.take(good.arrival(), pair.now, pair.random, pair.sent).plain, "word");
  // A close of another link.
  const Wired close(
      pair.opener.send(Context::kLinkClose, std::string(16, 'x'), pair.now, pair.random));
  pair.responder.take(close.arrival(), pair.now, pair.random, pair.sent);
  EXPECT_TRUE(pair.responder.is_usable());
}

TEST(LinkIdentify, OnlyTheFirstOfTheOpenerCounts) {
  LinkPair pair;
  const Wired first(pair.opener.identify(alice(), pair.now, pair.random));
  const LinkReading reading =
      pair.responder.take(first.arrival(), pair.now, pair.random, pair.sent);
  EXPECT_EQ(reading.what, What::kIdentified);
  EXPECT_EQ(reading.keys, alice().public_keys());
  const Wired second(pair.opener.identify(bob(), pair.now, pair.random));
  EXPECT_EQ(pair.responder.take(second.arrival(), pair.now, pair.random, pair.sent).what,
            What::kNothing);
  EXPECT_EQ(pair.responder.identified(), alice().public_keys());
}

TEST(LinkIdentify, WithAForeignSignatureIsRefused) {
  LinkPair pair;
  std::string said(view(pair.opener.id()));
  said += view(alice().public_keys());
  for (const std::string& plain :
       {std::string(view(alice().public_keys())) + std::string(view(bob().sign(said))),
        std::string(128, 'x'), std::string(view(alice().public_keys())), std::string()}) {
    const Wired wired(pair.opener.send(Context::kLinkIdentify, plain, pair.now, pair.random));
    EXPECT_EQ(pair.responder.take(wired.arrival(), pair.now, pair.random, pair.sent).what,
              What::kNothing);
  }
  EXPECT_FALSE(pair.responder.identified());
}

// req: rns.link.5
TEST(LinkProofs, AreSignedByTheKeyOfEachSide) {
  LinkPair pair;
  const Digest packet = {1, 2, 3};
  const Wired by_responder(pair.responder.prove(packet));
  EXPECT_EQ(static_cast<std::uint8_t>(by_responder.raw[0]), 0x0F);
  EXPECT_EQ(by_responder.packet.data.substr(0, 32), view(packet));
  EXPECT_TRUE(is_signed_by(bob().signing().public_key(), view(packet),
                           by_responder.packet.data.substr(32)));
  EXPECT_EQ(pair.opener.peer_signing_key(), bob().signing().public_key());
  const Wired by_opener(pair.opener.prove(packet));
  EXPECT_TRUE(is_signed_by(pair.responder.peer_signing_key(), view(packet),
                           by_opener.packet.data.substr(32)));
  EXPECT_NE(pair.responder.peer_signing_key(), alice().signing().public_key());
}

}  // namespace
}  // namespace postrider::reticulum
