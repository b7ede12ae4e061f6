#include "postrider/protocols/lxmf/stamp.h"

#include <gtest/gtest.h>

#include "postrider/protocols/lxmf/app_data.h"
#include "postrider/protocols/lxmf/message.h"
#include "postrider/protocols/lxmf/propagation.h"
#include "postrider/protocols/lxmf/ticket.h"
#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/reticulum/random_testing.h"

namespace postrider::lxmf {
namespace {

using reticulum::alice;
using reticulum::bob;
using reticulum::bytes_of_hex;
using reticulum::counting;
using reticulum::exactly;
using reticulum::hex;
using reticulum::MsgpackWriter;
using reticulum::SeededRandom;
using reticulum::view;

constexpr Timestamp kToday{1'700'000'000'000};

std::string material() {
  return from_hex("4441bc7f292b3037990af10ccf8f933af78bbb2c97ac017dc581374317b85629");
}

struct WorkCase {
  std::uint32_t rounds;
  const char* digest;
  std::uint8_t counter_low;
  std::uint8_t counter_high;
  std::uint32_t value;
};

// req: lxmf.stamp.1, lxmf.io.1
TEST(Stamps, WorkblocksAndFirstStampsEqualVector) {
  const WorkCase cases[] = {
      {kMessageRounds, "4f1281c087db4ccc6014e66a5e677feb3899606e60d28bfb507017f12ed150d1", 182, 0,
       11},
      {kPropagationRounds, "a40ea754e4b3fd31b567e408753d42778ee8a5583719450c7a067eafcc9dc6a3", 214,
       0, 8},
      {kPeeringRounds, "84961a037f8263b6f98d557d1f36f5c3d0cc7e2a5d7bf4742f1881e40a9e062d",
       332 - 256, 1, 9},
  };
  EXPECT_EQ(hex(reticulum::sha256("test message id")), to_hex(material()));
  for (const WorkCase& c : cases) {
    Workblock block(material(), c.rounds);
    EXPECT_TRUE(block.build(c.rounds));
    EXPECT_EQ(hex(block.digest()), c.digest);
    auto search = StampSearch::make({.material = material(), .rounds = c.rounds, .cost = 8});
    ASSERT_TRUE(search);
    while (!search->run(10'000)) {
    }
    Stamp expected{};
    expected[31] = c.counter_low;
    expected[30] = c.counter_high;
    EXPECT_EQ(search->stamp(), expected);
    EXPECT_EQ(search->trials(), 256u * c.counter_high + c.counter_low + 1);
    EXPECT_EQ(stamp_value(material(), c.rounds, view(search->stamp())), c.value);
    EXPECT_TRUE(is_valid_stamp(material(), c.rounds, view(search->stamp()), c.value));
    EXPECT_FALSE(is_valid_stamp(material(), c.rounds, view(search->stamp()), c.value + 1));
  }
  const auto block = reticulum::hkdf<32>(
      material(), view(reticulum::sha256({material(), std::string_view("\0", 1)})));
  EXPECT_EQ(hex(block), "f4e9494b9f16cd1176d61bb726744e25c5ba56ed2bc49d74b721319b9f4f62a8");
}

// req: lxmf.stamp.2
TEST(Stamps, TrialGoesOnFromTheSavedState) {
  // All of a workblock is whole blocks of the hash, and stamp with padding are one more.
  for (const std::uint32_t rounds : {kMessageRounds, kPropagationRounds, kPeeringRounds})
    EXPECT_EQ(rounds * 256 % 64, 0u);
  Workblock block(material(), 2);
  EXPECT_FALSE(block.build(1));
  EXPECT_TRUE(block.build(1));
  EXPECT_TRUE(block.build(1));
  const std::string stamp(32, 's');
  const std::uint32_t value = block.value_of(stamp);
  EXPECT_EQ(block.value_of(stamp), value);
  EXPECT_EQ(stamp_value(material(), 2, stamp), value);
}

// req: lxmf.stamp.4
TEST(Stamps, WorkStopsBetweenSlicesAndGoesOn) {
  auto sliced = StampSearch::make({.material = material(), .rounds = 25, .cost = 8});
  auto whole = StampSearch::make({.material = material(), .rounds = 25, .cost = 8});
  int slices = 0;
  while (!sliced->run(1)) ++slices;
  while (!whole->run(1'000'000)) {
  }
  EXPECT_EQ(sliced->stamp(), whole->stamp());
  EXPECT_EQ(slices, 25 + 332);
  EXPECT_TRUE(sliced->run(1));
}

// req: lxmf.stamp.5
TEST(Stamps, CostAboveTheCapIsNeverWorkedFor) {
  EXPECT_TRUE(StampSearch::make({.material = "x", .cost = 26}));
  for (const std::uint32_t cost : {27u, 200u, 254u, 255u, UINT32_MAX})
    EXPECT_EQ(StampSearch::make({.material = "x", .cost = cost}).error().code, ErrorCode::kLimit);
}

TEST(Stamps, AnyBytesHaveAValue) {
  for (const std::size_t size : {0u, 1u, 16u, 31u, 32u, 33u, 5000u})
    EXPECT_TRUE(is_valid_stamp(material(), 25, std::string(size, 'x'), 0));
  EXPECT_FALSE(is_valid_stamp(material(), 25, "x", 256));
}

// req: lxmf.stamp.6, lxmf.io.1
TEST(Tickets, StampEqualsVectors) {
  const Ticket ticket = exactly<16>(counting(0, 16)).value();
  EXPECT_EQ(hex(stamp_by_ticket(ticket, exactly<32>(material()).value())),
            "09e9b3e0032455c7bde30cc73a32a167");
  EXPECT_EQ(hex(stamp_by_ticket(ticket, bytes_of_hex<32>("bfedb04b5b2d397bc57245f144d1a349"
                                                         "d27c8f0c1d4e05430aa0b93c94ce63ff"))),
            "85c598dd2593413fa2bf94699f4b9c41");
}

// req: lxmf.stamp.7
TEST(Tickets, LiveRenewAndAreGivenByTheRules) {
  SeededRandom random(1);
  const GivenTicket ticket = make_ticket(kToday, random);
  EXPECT_EQ(ticket.expires, kToday + 21 * 24h);
  EXPECT_TRUE(is_usable(ticket, ticket.expires - 1ms));
  EXPECT_FALSE(is_usable(ticket, ticket.expires));
  EXPECT_TRUE(is_accepted(ticket, ticket.expires + 5 * 24h - 1ms));
  EXPECT_FALSE(is_accepted(ticket, ticket.expires + 5 * 24h));
  EXPECT_TRUE(may_enclose_again(ticket, kToday + 7 * 24h - 1ms));
  EXPECT_FALSE(may_enclose_again(ticket, kToday + 7 * 24h));
  EXPECT_TRUE(may_enclose({}, kToday));
  EXPECT_FALSE(may_enclose(kToday, kToday + 24h - 1ms));
  EXPECT_TRUE(may_enclose(kToday, kToday + 24h));
}

TEST(Tickets, TravelInTheirField) {
  SeededRandom random(1);
  const GivenTicket ticket = make_ticket(kToday, random);
  const auto fields = with_field("\x80", kFieldTicket, encode_ticket(ticket));
  const auto back = ticket_in(*fields);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->ticket, ticket.ticket);
  EXPECT_EQ(back->expires, ticket.expires);
  EXPECT_FALSE(ticket_in("\x80"));
  for (const char* value :
       {"c0", "92cb41d954fc40000000c40101",
        "92cb7ff8000000000000c41000000000000000000000000000000000",
        "92cb7ff0000000000000c41000000000000000000000000000000000", "9101", "92ffc410",
        "92cb0ed954fc40000000c4100000007ece00007e000000000000000000"})
    EXPECT_FALSE(decode_ticket(from_hex(value))) << value;
}

// req: rns.ann.4
TEST(DeliveryDataForms, AllAreRead) {
  const DeliveryData ours{.display_name = "me", .stamp_cost = 8};
  EXPECT_EQ(to_hex(encode_delivery_data(ours)),
            "93c4026d6508"
            "9100");
  EXPECT_EQ(to_hex(encode_delivery_data({.takes_compressed = false})), "93c0c090");
  const auto three = decode_delivery_data(encode_delivery_data(ours));
  EXPECT_EQ(three.display_name, "me");
  EXPECT_EQ(three.stamp_cost, 8);
  EXPECT_TRUE(three.takes_compressed);
  EXPECT_FALSE(decode_delivery_data(from_hex("93c0c090")).takes_compressed);
  EXPECT_FALSE(decode_delivery_data(from_hex("93c0c09101")).takes_compressed);
  const auto two = decode_delivery_data(from_hex("92c4026d6508"));
  EXPECT_EQ(two.stamp_cost, 8);
  EXPECT_TRUE(two.takes_compressed);
  EXPECT_EQ(decode_delivery_data("Some peer").display_name, "Some peer");
  EXPECT_EQ(decode_delivery_data("").display_name, "");
  EXPECT_EQ(decode_delivery_data(from_hex("dc0001c4026d65")).display_name, "me");
  EXPECT_EQ(decode_delivery_data(std::string(1000, 'n')).display_name.size(), 256u);
}

// req: rns.ann.4
TEST(DeliveryDataForms, CostsThatCannotBeAreNone) {
  for (const char* bytes :
       {"92c000", "92c0ccff", "92c0cd0100", "92c0ff", "92c0cb4020000000000000", "92c0a138"}) {
    const auto data = decode_delivery_data(from_hex(bytes));
    EXPECT_FALSE(data.stamp_cost) << bytes;
    EXPECT_TRUE(data.has_odd_cost) << bytes;
  }
  EXPECT_EQ(decode_delivery_data(from_hex("92c0ccfe")).stamp_cost, 254);
  for (const char* bytes : {"92", "92c4", "9f", "90", "91c0", "94c0c0"})
    EXPECT_EQ(decode_delivery_data(from_hex(bytes)).display_name, "") << bytes;
}

// req: rns.ann.4, lxmf.io.1
TEST(NodeDataForms, EqualVectorAndTakeFloats) {
  const NodeData ours{.time = 1'700'000'000, .active = true, .name = "node"};
  const std::string bytes = encode_node_data(ours);
  EXPECT_EQ(to_hex(bytes), "97c2ce6553f100c3cd0100cd2800931003128101c4046e6f6465");
  const auto back = decode_node_data(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(encode_node_data(*back), bytes);
  const auto floats = decode_node_data(
      from_hex("97c2cb41d954fc40000000c3cb4070000000000000cb40c4000000000000931003128080")
          .substr(0, 35));
  ASSERT_TRUE(floats);
  EXPECT_EQ(floats->message_kb_max, 256u);
  EXPECT_EQ(floats->sync_kb_max, 10240u);
  EXPECT_EQ(decode_node_data(from_hex("96c201c30102931003"
                                      "12"))
                .error()
                .code,
            ErrorCode::kInvalid);
  for (const char* bad : {"", "c0", "97c2", "97c201c3010292100380", "97c201c301029310ccff1280",
                          "97c2ffc301029310031280",
                          "97c201c3cb7ff80000000000000293100312"
                          "80",
                          "97c201010102931003"
                          "1280"})
    EXPECT_FALSE(decode_node_data(from_hex(bad))) << bad;
  EXPECT_EQ(cost_of_upload({.stamp_cost = 5}), 13);
  EXPECT_EQ(cost_of_upload({.stamp_cost = 20}), 20);
}

class PropagationTest : public ::testing::Test {
 protected:
  PropagationTest() {
    packed_ = pack({.destination = delivery_, .source = Address{1}, .time = 1, .content = "hi"},
                   alice().signing())
                  ->bytes;
    sealed_ = seal_for_node(packed_, bob().public_keys(), std::nullopt,
                            reticulum::fresh_seal_keys(random_))
                  .value();
  }
  SeededRandom random_{2};
  const Address delivery_ = bytes_of_hex<16>("9695d17f22fa6e45d2b0cd3439a7ca7e");
  std::string packed_;
  std::string sealed_;
};

// req: lxmf.prop.3
TEST_F(PropagationTest, UploadIsReadAndOpenedByItsRecipient) {
  const Stamp stamp = random_.bytes<32>();
  const std::string upload = encode_upload(1700000000.0, sealed_, stamp);
  EXPECT_TRUE(to_hex(upload).starts_with("92cb41d954fc4000000091c4"));
  const auto item = decode_upload(upload);
  ASSERT_TRUE(item);
  EXPECT_EQ(item->recipient, delivery_);
  EXPECT_EQ(item->sealed, sealed_);
  EXPECT_EQ(item->stamp, view(stamp));
  EXPECT_EQ(transient_id(item->sealed), reticulum::sha256(sealed_));
  EXPECT_EQ(open_from_node(item->sealed, bob(), delivery_, {}), packed_);
  EXPECT_FALSE(open_from_node(item->sealed, alice(), delivery_, {}));
  EXPECT_FALSE(open_from_node(item->sealed, bob(), Address{3}, {}));
  EXPECT_FALSE(fits_one_packet(std::string(320, 'x')));
  EXPECT_TRUE(fits_one_packet(std::string(319, 'x')));
}

TEST_F(PropagationTest, OtherUploadsAreRefused) {
  const std::string good = encode_upload(1.0, sealed_, Stamp{});
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(decode_upload(std::string_view(good).substr(0, size)));
  EXPECT_FALSE(decode_upload(good + "x"));
  EXPECT_FALSE(decode_upload(encode_upload(1.0, std::string(112, 'x'), Stamp{})));
  EXPECT_TRUE(decode_upload(encode_upload(1.0, std::string(113, 'x'), Stamp{})));
  std::string two;
  MsgpackWriter(two).array(2).real(1).array(2).binary(sealed_).binary(sealed_);
  EXPECT_FALSE(decode_upload(two));
  EXPECT_FALSE(seal_for_node("short", bob().public_keys(), std::nullopt, {}));
}

// req: lxmf.sync.1
TEST_F(PropagationTest, RequestsAndAnswersAreReadAsWritten) {
  EXPECT_EQ(to_hex(encode_get({})), "92c0c0");
  const GetRequest fetch{
      .wanted = {{Digest{1}, Digest{2}}}, .removed = {{Digest{3}}}, .limit_kb = 100.0};
  const auto back = decode_get(encode_get(fetch));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->wanted, fetch.wanted);
  EXPECT_EQ(back->removed, fetch.removed);
  EXPECT_EQ(back->limit_kb, 100.0);
  EXPECT_EQ(decode_get(from_hex("93c090c0"))->removed, std::vector<Digest>());
  for (const char* bad : {"", "c0", "91c0", "94c0c0c0c0", "92c0", "92c091c40101", "92c001",
                          "93c0c0cb7ff8000000000000", "93c0c0ff", "92c0ddffffffff"})
    EXPECT_FALSE(decode_get(from_hex(bad))) << bad;
  const Digest id{4};
  const std::string ids = encode_answer({view(id)});
  const auto answer = decode_answer(ids);
  EXPECT_EQ(ids_in(*answer).value(), std::vector<Digest>{id});
  const std::string messages = encode_answer({"message"});
  EXPECT_EQ(decode_answer(messages)->items, std::vector<std::string_view>{"message"});
  EXPECT_FALSE(ids_in(*decode_answer(messages)));
  EXPECT_EQ(decode_answer(encode_answer_error(kAnswerNoIdentity))->error, 0xF0);
  for (const char* bad : {"", "00", "cd0100", "c0", "9101", "91", "f0f0"})
    EXPECT_FALSE(decode_answer(from_hex(bad))) << bad;
}

// req: lxmf.prop.5
TEST_F(PropagationTest, WordOfANodeIsOneNumber) {
  EXPECT_EQ(to_hex(encode_word(kWordBadStamp)), "91ccf5");
  EXPECT_EQ(decode_word(encode_word(kWordBadStamp)), kWordBadStamp);
  for (const char* bad : {"", "90", "92ccf5ccf5", "91cd0100", "91c0", "ccf5", "91ccf500"})
    EXPECT_FALSE(decode_word(from_hex(bad))) << bad;
}

}  // namespace
}  // namespace postrider::lxmf
