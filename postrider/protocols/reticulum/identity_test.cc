#include "postrider/protocols/reticulum/identity.h"

#include <gtest/gtest.h>

#include "postrider/protocols/reticulum/random_testing.h"

namespace postrider::reticulum {
namespace {

Address destination_of(const Identity& identity, std::string_view name) {
  return single_destination(name_hash(name), identity.hash());
}

// req: lxmf.id.2, lxmf.io.1
TEST(Identity, HashesEqualVectors) {
  EXPECT_EQ(hex(destination_of(alice(), "lxmf.delivery")), "c33c40a5b030596d95617dc4ca163aae");
  EXPECT_EQ(hex(destination_of(bob(), "lxmf.delivery")), "9695d17f22fa6e45d2b0cd3439a7ca7e");
  EXPECT_EQ(hex(destination_of(alice(), "lxmf.propagation")), "1d8fa576c1cf91442760a4402669f638");
  EXPECT_EQ(hex(destination_of(bob(), "lxmf.propagation")), "14417f78c3aa7117e1385b79e3127d53");
}

// req: lxmf.id.2
TEST(Identity, NamesHaveTheirFixedHashes) {
  const std::pair<const char*, const char*> cases[] = {
      {"lxmf.delivery", "6ec60bc318e2c0f0d908"},
      {"lxmf.propagation", "e03a09b77ac21b22258e"},
      {"lxmf.propagation.control", "4576672b3f55049c2e46"},
      {"rnstransport.path.request", "7926bbe7dd7f9aba88b0"},
      {"rnstransport.tunnel.synthesize", "324e54e934712b5731af"},
  };
  for (const auto& [name, hash] : cases) EXPECT_EQ(hex(name_hash(name)), hash);
  EXPECT_EQ(hex(plain_destination(name_hash("rnstransport.path.request"))),
            "6b9f66014d9853faab220fba47d02761");
  EXPECT_EQ(hex(plain_destination(name_hash("rnstransport.tunnel.synthesize"))),
            "91bf0910267b59b0e864e0d4c91602ca");
}

// req: lxmf.id.2
TEST(Identity, FileIsExactly64Bytes) {
  EXPECT_TRUE(Identity::from_file(std::string(64, 'k')));
  for (const std::size_t size : {0u, 63u, 65u, 128u})
    EXPECT_EQ(Identity::from_file(std::string(size, 'k')).error().code, ErrorCode::kInvalid);
}

// req: rns.wire.7
TEST(Sealing, OpensWithRatchetsInOrderAndThenWithTheIdentity) {
  SeededRandom random(7);
  const Identity recipient = bob();
  const std::vector<Key> ratchets = {random.bytes<32>(), random.bytes<32>()};
  for (const Key& ratchet : ratchets) {
    const auto sealed = seal_for(recipient.public_keys(), x25519_public(ratchet),
                                 fresh_seal_keys(random), "secret");
    ASSERT_TRUE(sealed);
    EXPECT_EQ(sealed->size(), sealed_bytes(6));
    EXPECT_EQ(open_sealed(recipient, ratchets, *sealed), "secret");
    EXPECT_EQ(open_sealed(recipient, ratchets, *sealed, true), "secret");
    EXPECT_FALSE(open_sealed(recipient, {}, *sealed));
  }
  const auto plain =
      seal_for(recipient.public_keys(), std::nullopt, fresh_seal_keys(random), "secret");
  EXPECT_EQ(open_sealed(recipient, ratchets, *plain), "secret");
  EXPECT_FALSE(open_sealed(recipient, ratchets, *plain, true));
  EXPECT_FALSE(open_sealed(alice(), ratchets, *plain));
}

TEST(Sealing, RefusesWhatIsCutOffAndKeysOfLowOrder) {
  SeededRandom random(7);
  const auto sealed =
      seal_for(bob().public_keys(), std::nullopt, fresh_seal_keys(random), "secret");
  for (std::size_t size = 0; size < sealed->size(); size += 7)
    EXPECT_FALSE(open_sealed(bob(), {}, sealed->substr(0, size))) << size;
  EXPECT_FALSE(open_sealed(bob(), {}, std::string(128, '\0')));
  EXPECT_FALSE(seal_for(PublicKeys{}, std::nullopt, fresh_seal_keys(random), "secret"));
}

// A packet to one destination carries 391 bytes at most when it must fit into the common MTU.
TEST(Sealing, LargestOpportunisticPlainTextFits) {
  EXPECT_EQ(19 + sealed_bytes(391), 499u);
  EXPECT_GT(19 + sealed_bytes(392 + 8), 500u);
}

}  // namespace
}  // namespace postrider::reticulum
