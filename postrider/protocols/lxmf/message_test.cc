#include "postrider/protocols/lxmf/message.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/reticulum/random_testing.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::lxmf {
namespace {

using reticulum::alice;
using reticulum::bob;
using reticulum::bytes_of_hex;
using reticulum::hex;
using reticulum::MsgpackWriter;
using reticulum::view;

const Address kAlice = bytes_of_hex<16>("c33c40a5b030596d95617dc4ca163aae");
const Address kBob = bytes_of_hex<16>("9695d17f22fa6e45d2b0cd3439a7ca7e");

LxmfMessage hello() {
  return {.destination = kBob,
          .source = kAlice,
          .time = 1700000000.0,
          .title = "hello",
          .content = "hi bob"};
}

constexpr std::string_view kHelloPacked =
    "9695d17f22fa6e45d2b0cd3439a7ca7ec33c40a5b030596d95617dc4ca163aae"
    "dc758d54b21a2ca01a8fcc3e21c45eb60918d2dc64508037ce640e000a295a81"
    "951e5a7d0f8fedb90ec4df0b0a05b437b43d6692c9dd7faa98c4b679935a940e"
    "94cb41d954fc40000000c40568656c6c6fc406686920626f6280";

// req: lxmf.sub.2, lxmf.io.1
TEST(Packing, EqualsVector) {
  const auto packed = pack(hello(), alice().signing());
  ASSERT_TRUE(packed);
  EXPECT_EQ(hex(packed->id), "bfedb04b5b2d397bc57245f144d1a349d27c8f0c1d4e05430aa0b93c94ce63ff");
  EXPECT_EQ(to_hex(packed->bytes), kHelloPacked);
}

// req: lxmf.stamp.1, lxmf.io.1
TEST(Packing, StampIsOutsideOfIdAndSignature) {
  const auto packed = pack(hello(), alice().signing());
  const std::string stamp = from_hex("85c598dd2593413fa2bf94699f4b9c41");
  const auto stamped = with_stamp(packed->bytes, stamp);
  ASSERT_TRUE(stamped);
  std::string expected(kHelloPacked);
  expected.replace(192, 2, "95");
  EXPECT_EQ(to_hex(*stamped), expected + "c41085c598dd2593413fa2bf94699f4b9c41");
  auto received = unpack(*stamped);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->id, packed->id);
  EXPECT_EQ(received->stamp, stamp);
  EXPECT_EQ(judge_signature(*received, &alice().signing().public_key()),
            SignatureVerdict::kVerified);
  EXPECT_FALSE(with_stamp(*stamped, stamp));
  EXPECT_FALSE(with_stamp("", stamp));
}

TEST(Unpacking, ReadsWhatWasPacked) {
  LxmfMessage in = hello();
  MsgpackWriter(in.fields = {}).map(2).whole(1).text("x").text("odd").nil();
  const auto packed = pack(in, alice().signing());
  auto out = unpack(packed->bytes);
  ASSERT_TRUE(out);
  EXPECT_EQ(out->message.destination, kBob);
  EXPECT_EQ(out->message.source, kAlice);
  EXPECT_EQ(out->message.time, 1700000000.0);
  EXPECT_EQ(out->message.title, "hello");
  EXPECT_EQ(out->message.content, "hi bob");
  EXPECT_EQ(out->message.fields, in.fields);
  EXPECT_EQ(out->id, packed->id);
  EXPECT_FALSE(out->stamp);
  EXPECT_EQ(judge_signature(*out, nullptr), SignatureVerdict::kUnknownSource);
  EXPECT_EQ(judge_signature(*out, &bob().signing().public_key()), SignatureVerdict::kInvalid);
  EXPECT_EQ(judge_signature(*out, &alice().signing().public_key()), SignatureVerdict::kVerified);
}

// req: lxmf.in.5
TEST(Unpacking, AnyChangedByteMakesTheSignatureInvalid) {
  const std::string good = pack(hello(), alice().signing())->bytes;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 2);
    auto out = unpack(damaged);
    if (!out) continue;
    EXPECT_EQ(judge_signature(*out, &alice().signing().public_key()), SignatureVerdict::kInvalid)
        << at;
  }
}

// Signs whatever bytes a payload has, as a peer with another writer would.
std::string packed_by_another(std::string_view sent, std::string_view signed_payload) {
  const std::string addresses = std::string(view(kBob)) + std::string(view(kAlice));
  const std::string signed_bytes = addresses + std::string(signed_payload);
  const Digest id = reticulum::sha256(signed_bytes);
  return addresses + std::string(view(alice().sign(signed_bytes + std::string(view(id))))) +
         std::string(sent);
}

// req: lxmf.in.6
TEST(Unpacking, SignatureMayCoverTheReceivedBytesOrTheirReencoding) {
  // The time as a float of four bytes, the title in a long form.
  const std::string four = from_hex(
      "ca3f800000c50001"
      "74"
      "c40163"
      "80");
  const std::string as_received = from_hex("94") + four;
  const std::string with = from_hex("95") + four + from_hex("c40173");
  const std::string shortest = from_hex("94cb3ff0000000000000c40174c4016380");
  for (const std::string& signed_payload : {as_received, shortest}) {
    auto out = unpack(packed_by_another(with, signed_payload));
    ASSERT_TRUE(out);
    EXPECT_EQ(judge_signature(*out, &alice().signing().public_key()), SignatureVerdict::kVerified);
    EXPECT_EQ(out->id, reticulum::sha256(std::string(view(kBob)) + std::string(view(kAlice)) +
                                         signed_payload));
    EXPECT_EQ(out->stamp, "s");
    EXPECT_EQ(out->message.time, 1.0);
  }
}

// req: lxmf.lim.2
TEST(Unpacking, RefusesOtherForms) {
  const std::string good = pack(hello(), alice().signing())->bytes;
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(unpack(std::string_view(good).substr(0, size))) << size;
  EXPECT_FALSE(unpack(good + "x"));
  const auto with_payload = [&](std::string_view payload) {
    return unpack(good.substr(0, kEnvelopeBytes) + from_hex(payload)).has_value();
  };
  EXPECT_TRUE(with_payload("9401c400c40080"));  // an integer as the time
  EXPECT_TRUE(with_payload("9401a0a080"));      // texts instead of binaries
  EXPECT_FALSE(with_payload("93cb0000000000000000c400c400"));
  EXPECT_FALSE(with_payload("94a0c400c40080"));                  // no time
  EXPECT_FALSE(with_payload("9401c0c40080"));                    // no title
  EXPECT_FALSE(with_payload("9401c400c400c0"));                  // fields are no map
  EXPECT_FALSE(with_payload("94cb7ff8000000000000c400c40080"));  // not a number
  EXPECT_FALSE(with_payload("dd00000004"));
  std::string deep = "9401c400c40081";
  deep += "00";
  for (int i = 0; i < 15; ++i) deep += "91";
  EXPECT_FALSE(with_payload(deep + "c0"));        // seventeen, with payload and fields
  EXPECT_TRUE(with_payload("9501c400c40080c0"));  // a stamp that is none
  EXPECT_FALSE(pack({.fields = "\x90"}, alice().signing()));
  EXPECT_FALSE(pack({.fields = ""}, alice().signing()));
}

RC_GTEST_PROP(Unpacking, AnyPayloadIsReadOrRefused, (const std::vector<std::uint8_t>& input)) {
  const std::string packed =
      std::string(kEnvelopeBytes, 'x') + std::string(input.begin(), input.end());
  auto out = unpack(packed);
  if (out)
    RC_ASSERT(judge_signature(*out, &alice().signing().public_key()) == SignatureVerdict::kInvalid);
}

// req: lxmf.sub.4, lxmf.dir.6
TEST(Sizes, DecideHowAMessageTravels) {
  const auto packed_with = [](std::size_t content) {
    LxmfMessage message = hello();
    message.title.clear();
    message.content = std::string(content, 'c');
    return pack(message, alice().signing())->bytes;
  };
  // Array, time, empty title, length of the content and empty fields take 16 bytes with one more
  // for a longer content.
  const std::size_t content = 295 - content_size(packed_with(256)) + 256;
  const std::string largest = packed_with(content);
  EXPECT_EQ(content_size(largest), 295u);
  EXPECT_EQ(carriage_for(Carriage::kOpportunistic, largest), Carriage::kOpportunistic);
  EXPECT_EQ(carriage_for(Carriage::kOpportunistic, packed_with(content + 1)), Carriage::kDirect);
  EXPECT_EQ(carriage_for(Carriage::kPropagated, packed_with(content + 1)), Carriage::kPropagated);
  EXPECT_EQ(opportunistic_part(largest).size(), 391u);
  EXPECT_EQ(from_opportunistic(kBob, opportunistic_part(largest)), largest);
  const std::string direct = packed_with(content + 24);
  EXPECT_EQ(content_size(direct), kDirectPacketSizeMax);
  EXPECT_EQ(direct.size(), 431u);  // just one packet of the smallest link
}

TEST(Fields, AreFoundAndSet) {
  std::string fields;
  MsgpackWriter(fields).map(3).text("5").whole(1).whole(5).binary("five").negative(-1).nil();
  EXPECT_EQ(to_hex(find_field(fields, 5).value()), "c40466697665");
  EXPECT_FALSE(find_field(fields, 6));
  EXPECT_FALSE(find_field("", 6));
  EXPECT_FALSE(find_field("\x81", 6));
  const auto more = with_field(fields, 12, "\xc3");
  EXPECT_EQ(find_field(*more, 12), "\xc3");
  EXPECT_EQ(find_field(*more, 5), find_field(fields, 5));
  const auto replaced = with_field(*more, 5, "\x07");
  EXPECT_EQ(find_field(*replaced, 5), "\x07");
  EXPECT_EQ(replaced->size(), more->size() - 5);
  EXPECT_FALSE(with_field("\x90", 1, "\xc0"));
}

}  // namespace
}  // namespace postrider::lxmf
