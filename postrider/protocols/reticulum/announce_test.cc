#include "postrider/protocols/reticulum/announce.h"

#include <gtest/gtest.h>

#include "postrider/protocols/reticulum/paths.h"
#include "postrider/protocols/reticulum/proof.h"
#include "postrider/protocols/reticulum/random_testing.h"
#include "postrider/protocols/reticulum/seen.h"

namespace postrider::reticulum {
namespace {

constexpr std::uint64_t kSeconds = 1'700'000'000;
constexpr Timestamp kWall(static_cast<std::int64_t>(kSeconds) * 1000);

AnnounceRandom at_seconds(std::uint64_t seconds, std::uint8_t salt = 0) {
  return announce_random({salt, 1, 2, 3, 4}, seconds);
}

std::string bobs_announce(AnnounceOrder order) {
  order.name = name_hash("lxmf.delivery");
  return make_announce(bob(), order);
}

Announce announce_in(const std::string& raw) {
  return read_announce(decode_packet(raw).value()).value();
}

// req: rns.ann.1
TEST(Announce, IsReadAsItWasMade) {
  const Key ratchet = x25519_public(Key{7});
  const std::string with =
      bobs_announce({.random = at_seconds(kSeconds), .ratchet = ratchet, .app_data = "data"});
  EXPECT_EQ(static_cast<std::uint8_t>(with[0]), 0x21);
  EXPECT_EQ(with.size(), 19u + 64 + 10 + 10 + 32 + 64 + 4);
  const Announce announce = announce_in(with);
  EXPECT_EQ(hex(announce.destination), "9695d17f22fa6e45d2b0cd3439a7ca7e");
  EXPECT_EQ(announce.keys, bob().public_keys());
  EXPECT_EQ(announce.ratchet, ratchet);
  EXPECT_EQ(announce.app_data, "data");
  EXPECT_EQ(announce_seconds(announce.random), kSeconds);
  EXPECT_EQ(judge_announce(announce, nullptr), AnnounceVerdict::kGood);

  const std::string without =
      bobs_announce({.random = at_seconds(kSeconds), .is_path_response = true});
  EXPECT_EQ(static_cast<std::uint8_t>(without[0]), 0x01);
  EXPECT_EQ(static_cast<std::uint8_t>(without[18]), 0x0B);
  EXPECT_EQ(judge_announce(announce_in(without), &bob().public_keys()), AnnounceVerdict::kGood);
  EXPECT_TRUE(announce_in(without).is_path_response);
  EXPECT_FALSE(announce_in(without).ratchet);
}

// req: rns.ann.1
TEST(Announce, OfAForeignKeyOrWithABadSignatureIsRefused) {
  const std::string raw = bobs_announce({.random = at_seconds(kSeconds), .app_data = "data"});
  EXPECT_EQ(judge_announce(announce_in(raw), &alice().public_keys()), AnnounceVerdict::kForeignKey);
  // Bytes of random, signature and app_data: the address still fits.
  for (std::size_t at = 19 + 74; at < raw.size(); ++at) {
    std::string damaged = raw;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_EQ(judge_announce(announce_in(damaged), nullptr), AnnounceVerdict::kBadSignature) << at;
  }
  // Bytes of address, keys and name: the keys do not give the address any more.
  for (std::size_t at = 2; at < 19 + 74; ++at) {
    if (at == 18) continue;  // the context
    std::string damaged = raw;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_EQ(read_announce(decode_packet(damaged).value()).error().code, ErrorCode::kInvalid);
  }
  for (std::size_t size = 20; size < 19 + 148; ++size)
    EXPECT_FALSE(read_announce(decode_packet(raw.substr(0, size)).value())) << size;
  // Cut within app_data it is whole, but not signed any more.
  EXPECT_EQ(judge_announce(announce_in(raw.substr(0, raw.size() - 1)), nullptr),
            AnnounceVerdict::kBadSignature);
  // With the flag of a ratchet the same bytes mean something else.
  std::string flagged = raw;
  flagged[0] = 0x21;
  EXPECT_FALSE(read_announce(decode_packet(flagged).value()));
}

// req: rns.ann.2
TEST(Announce, TimeOfOwnAnnouncesOnlyGrows) {
  EXPECT_EQ(next_announce_seconds(kWall, 0), kSeconds);
  EXPECT_EQ(next_announce_seconds(kWall, kSeconds), kSeconds + 1);
  EXPECT_EQ(next_announce_seconds(kWall - 24h, kSeconds), kSeconds + 1);
  EXPECT_EQ(next_announce_seconds(Timestamp(-5), 0), 1u);
}

// req: rns.ann.3
TEST(Ratchets, RotateAtMostEveryHalfHourAndKeep512) {
  SeededRandom random(3);
  Ratchets ratchets;
  EXPECT_FALSE(ratchets.newest_public());
  EXPECT_TRUE(ratchets.rotate(kWall, random));
  const auto first = ratchets.newest_public();
  EXPECT_FALSE(ratchets.rotate(kWall + 30min - 1ms, random));
  EXPECT_FALSE(ratchets.rotate(kWall - 24h, random));
  EXPECT_TRUE(ratchets.rotate(kWall + 30min, random));
  EXPECT_NE(ratchets.newest_public(), first);
  EXPECT_EQ(x25519_public(ratchets.secrets()[1]), first);
  for (int i = 2; i < 600; ++i) ratchets.rotate(kWall + i * 30min, random);
  EXPECT_EQ(ratchets.secrets().size(), 512u);
  const auto again = Ratchets::decode(ratchets.encode());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->newest_public(), ratchets.newest_public());
  EXPECT_EQ(again->encode(), ratchets.encode());
  EXPECT_FALSE(Ratchets::decode(ratchets.encode().substr(1)));
  EXPECT_FALSE(Ratchets::decode(""));
}

class PathsTest : public ::testing::Test {
 protected:
  bool learn(std::uint64_t seconds, std::uint8_t hops, std::uint8_t salt = 0,
             Timestamp wall = kWall) {
    const std::string raw = bobs_announce({.random = at_seconds(seconds, salt)});
    std::optional<Address> relay;
    if (hops > 1) relay = Address{hops};
    return table_.learn(announce_in(raw),
                        {.hops = hops, .interface = InterfaceId(hops), .relay = relay}, wall);
  }
  const Path* path(Timestamp wall = kWall) const { return table_.find(bob_, wall); }

  PathTable table_{3};
  const Address bob_ = bytes_of_hex<16>("9695d17f22fa6e45d2b0cd3439a7ca7e");
};

// req: rns.path.1
TEST_F(PathsTest, ShorterOrEqualPathNeedsANewerAnnounce) {
  EXPECT_TRUE(learn(kSeconds, 3));
  EXPECT_EQ(path()->next_hop, Address{3});
  EXPECT_FALSE(learn(kSeconds, 3));         // the same again
  EXPECT_FALSE(learn(kSeconds, 2, 1));      // new random, same time
  EXPECT_FALSE(learn(kSeconds - 5, 1, 2));  // replayed
  EXPECT_TRUE(learn(kSeconds + 1, 3, 3));
  EXPECT_TRUE(learn(kSeconds + 2, 1, 4));
  EXPECT_EQ(path()->next_hop, bob_);
  EXPECT_EQ(path()->hops, 1);
  EXPECT_EQ(path()->interface, InterfaceId(1));
}

// req: rns.path.1
TEST_F(PathsTest, LongerPathNeedsANewerAnnounceOrAnExpiredPath) {
  EXPECT_TRUE(learn(kSeconds, 1));
  EXPECT_FALSE(learn(kSeconds, 2, 1));
  EXPECT_TRUE(learn(kSeconds + 1, 2, 2));
  EXPECT_EQ(path()->hops, 2);
  EXPECT_EQ(path(kWall + 7 * 24h - 1ms)->hops, 2);
  EXPECT_EQ(path(kWall + 7 * 24h), nullptr);
  EXPECT_FALSE(learn(kSeconds, 4, 3));
  EXPECT_TRUE(learn(kSeconds, 4, 3, kWall + 7 * 24h));
}

// req: rns.path.1
TEST_F(PathsTest, UnresponsivePathGivesWayToALongerOneOfTheSameTime) {
  EXPECT_TRUE(learn(kSeconds, 1));
  EXPECT_FALSE(learn(kSeconds, 2, 1));
  table_.mark_unresponsive(bob_);
  EXPECT_FALSE(learn(kSeconds - 1, 2, 2));
  EXPECT_TRUE(learn(kSeconds, 2, 1));
  EXPECT_FALSE(path()->unresponsive);
}

// req: rns.path.1
TEST_F(PathsTest, TimesThatCannotBeTrueDoNotFreezeAPath) {
  EXPECT_TRUE(learn(kSeconds + 24 * 3600 + 1, 2));  // far ahead, as random bytes are
  EXPECT_TRUE(learn(kSeconds, 2, 1));               // the next believable one counts
  EXPECT_FALSE(learn(kSeconds - 1, 2, 2));
  EXPECT_TRUE(learn(0xFFFFFFFFFF, 2, 3));  // unbelievable, but new: orders nothing
  EXPECT_TRUE(learn(5, 2, 4));             // a peer without a clock
  EXPECT_FALSE(learn(5, 2, 4));
  EXPECT_FALSE(learn(5, 3, 5));  // and is no reason to go further
  EXPECT_TRUE(learn(kSeconds + 1, 2, 6));
  // Without a clock of our own every time may be true.
  table_.expire(bob_);
  EXPECT_TRUE(learn(kSeconds, 2, 8, Timestamp(1000)));
  EXPECT_TRUE(learn(kSeconds + 999'999, 2, 7, Timestamp(1000)));
}

// req: lxmf.lim.3
TEST_F(PathsTest, KeepsTheNewest64RandomsAndAtMostItsLimitOfPaths) {
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(learn(kSeconds + i, 1));
  EXPECT_EQ(path()->randoms.size(), 64u);
  EXPECT_EQ(announce_seconds(path()->randoms.front()), kSeconds + 36);
  SeededRandom random(9);
  for (int i = 0; i < 10; ++i) {
    const Identity other(random.bytes<64>());
    const std::string raw =
        make_announce(other, {.name = name_hash("lxmf.delivery"), .random = at_seconds(kSeconds)});
    table_.learn(announce_in(raw), {.hops = 1}, kWall);
    EXPECT_LE(table_.size(), 3u);
  }
  EXPECT_EQ(path(), nullptr);
}

// req: rns.path.1
TEST_F(PathsTest, AForgottenPathIsLearntFromAnAnnounceThatWasHeardBefore) {
  learn(kSeconds, 2);
  table_.expire(bob_);
  EXPECT_EQ(path(), nullptr);
  EXPECT_TRUE(learn(kSeconds, 2));
  table_.forget_interface(InterfaceId(9));
  EXPECT_NE(path(), nullptr);
  table_.forget_interface(InterfaceId(2));
  EXPECT_EQ(path(), nullptr);
  table_.expire(bob_);
  table_.mark_unresponsive(bob_);
  EXPECT_EQ(table_.size(), 0u);
}

// req: rns.path.3
TEST_F(PathsTest, AreStoredAndRestored) {
  for (std::uint64_t i = 0; i < 70; ++i) learn(kSeconds + i, 2);
  const auto stored = decode_path(encode_path(*path()));
  ASSERT_TRUE(stored);
  Path expected = *path();
  expected.interface = {};
  EXPECT_EQ(*stored, expected);
  table_.expire(bob_);
  table_.put(bob_, *stored);
  EXPECT_EQ(*path(), expected);
  EXPECT_FALSE(decode_path("x"));
  std::string damaged = encode_path(expected);
  damaged[3] = static_cast<char>(damaged[3] ^ 1);
  EXPECT_FALSE(decode_path(damaged));
}

// req: rns.path.1
TEST_F(PathsTest, GiveAPacketItsHeader) {
  const std::string raw =
      encode_packet({.context_flag = true, .destination = bob_, .data = "data"});
  const Path near{.next_hop = bob_, .hops = 1};
  const Path far{.next_hop = Address{9}, .hops = 2};
  EXPECT_EQ(by_path(raw, near), raw);
  EXPECT_EQ(static_cast<std::uint8_t>(by_path(raw, far)[0]), 0x50);
  EXPECT_EQ(decode_packet(by_path(raw, far))->transport_id, Address{9});
  EXPECT_EQ(decode_packet(by_path(raw, near, true))->transport_id, bob_);
}

// req: rns.path.2, lxmf.io.1
TEST_F(PathsTest, RequestEqualsVector) {
  const auto tag = exactly<16>(counting(0, 16)).value();
  const std::string raw = make_path_request(bob_, tag);
  EXPECT_EQ(to_hex(raw),
            "08006b9f66014d9853faab220fba47d02761009695d17f22fa6e45d2b0cd3439a7ca7e"
            "000102030405060708090a0b0c0d0e0f");
  const auto request = read_path_request(decode_packet(raw)->data);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->wanted, bob_);
  EXPECT_FALSE(request->relay);
  const std::string by_relay = std::string(view(bob_)) + std::string(16, 'r') + counting(0, 16);
  const auto relayed = read_path_request(by_relay);
  EXPECT_EQ(relayed->relay, exactly<16>(std::string(16, 'r')));
  EXPECT_EQ(relayed->seen_key, request->seen_key);
  for (const std::size_t size : {0u, 15u, 16u})
    EXPECT_FALSE(read_path_request(by_relay.substr(0, size))) << size;
  EXPECT_TRUE(read_path_request(by_relay.substr(0, 17)));
}

// req: rns.wire.6, lxmf.io.1
TEST(Proofs, ImplicitOneEqualsVector) {
  const Digest packet =
      bytes_of_hex<32>("df960dd1595b2229f612eef30cd64c330cadb358b0b9ab668f9f0f9a0f3efd68");
  const std::string proof = make_proof(bob().signing(), packet);
  EXPECT_EQ(to_hex(proof.substr(0, 19)), "0300df960dd1595b2229f612eef30cd64c3300");
  EXPECT_EQ(to_hex(proof.substr(19)),
            "007f5d0b6b60e5cbe70cebd859f662b7ab586970cf556896fd615dcced4cde30"
            "719b5805ca5708d4f1cb803a5f87629aeedb11830639fd4681a02acc72c1be0b");
}

class ReceiptsTest : public ::testing::Test {
 protected:
  ProofReading settle(const std::string& proof) {
    const auto packet = decode_packet(proof);
    return receipts_.settle(packet->destination, packet->data);
  }
  Digest sent_ =
      bytes_of_hex<32>("df960dd1595b2229f612eef30cd64c330cadb358b0b9ab668f9f0f9a0f3efd68");
  Key signer_ = bob().signing().public_key();
  Receipts receipts_{2};
};

// req: rns.wire.6
TEST_F(ReceiptsTest, BothFormsProveOnce) {
  ASSERT_TRUE(receipts_.expect(sent_, signer_, SendId(7)));
  const std::string proof = make_proof(bob().signing(), sent_);
  const ProofReading proven = settle(proof);
  EXPECT_EQ(proven.verdict, ProofVerdict::kProven);
  EXPECT_EQ(proven.id, SendId(7));
  EXPECT_EQ(settle(proof).verdict, ProofVerdict::kUnknown);  // twice
  ASSERT_TRUE(receipts_.expect(sent_, signer_, SendId(8)));
  std::string explicit_proof = proof;
  explicit_proof.insert(19, view(sent_));
  EXPECT_EQ(settle(explicit_proof).id, SendId(8));
  EXPECT_EQ(receipts_.size(), 0u);
}

// req: rns.wire.6
TEST_F(ReceiptsTest, ForgedDamagedAndUnexpectedProofsChangeNothing) {
  EXPECT_EQ(settle(make_proof(bob().signing(), sent_)).verdict, ProofVerdict::kUnknown);
  receipts_.expect(sent_, signer_, SendId(7));
  EXPECT_EQ(settle(make_proof(alice().signing(), sent_)).verdict, ProofVerdict::kForged);
  const std::string proof = make_proof(bob().signing(), sent_);
  EXPECT_EQ(settle(proof + "x").verdict, ProofVerdict::kDamaged);
  EXPECT_EQ(settle(proof.substr(0, 82)).verdict, ProofVerdict::kDamaged);
  std::string other_hash = proof;
  other_hash.insert(19, std::string(32, 'h'));
  EXPECT_EQ(settle(other_hash).verdict, ProofVerdict::kForged);
  EXPECT_EQ(settle(proof).verdict, ProofVerdict::kProven);
}

TEST_F(ReceiptsTest, AreBoundedAndGoTogetherWithTheirMessage) {
  EXPECT_TRUE(receipts_.expect(sent_, signer_, SendId(7)));
  EXPECT_FALSE(receipts_.expect(sent_, signer_, SendId(7)));
  EXPECT_TRUE(receipts_.expect(Digest{1}, signer_, SendId(7)));
  EXPECT_FALSE(receipts_.expect(Digest{2}, signer_, SendId(7)));
  receipts_.forget(SendId(7));
  EXPECT_EQ(receipts_.size(), 0u);
  EXPECT_EQ(settle(make_proof(bob().signing(), sent_)).verdict, ProofVerdict::kUnknown);
  EXPECT_TRUE(receipts_.expect(Digest{2}, signer_, SendId(9)));
}

}  // namespace
}  // namespace postrider::reticulum
