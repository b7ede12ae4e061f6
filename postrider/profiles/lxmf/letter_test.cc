// What is handed in, and the signed message that is stored of it.
#include "postrider/profiles/lxmf/letter.h"

#include <gtest/gtest.h>

#include "postrider/profiles/lxmf/profile.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/protocols/lxmf/text_form.h"
#include "postrider/protocols/lxmf/ticket.h"
#include "postrider/protocols/reticulum/random_testing.h"

namespace postrider::lxmf {
namespace {

using reticulum::alice;
using reticulum::bob;

class KeyCabinet final : public Cabinet {
 public:
  const std::string* card(std::string_view, std::string_view) override { return nullptr; }
  std::optional<CardPage> cards(std::string_view, std::string_view, std::uint32_t) override {
    return std::nullopt;
  }
  bool lacks() const override { return false; }
  void random(std::span<std::uint8_t>) override {}
  std::string_view secret(std::string_view name) const override {
    static const std::string kAlice = from_hex(
        "587e730a70d24e971efa8c146e554996d70bff45b2033d336e2c078dc63d3645"
        "bef79d95bf6b253827a2e7e81a13ab0b10a908fd158581d1827095b788169e93");
    return name == "alice" ? std::string_view(kAlice)
                           : name == "short" ? std::string_view("63 bytes") : std::string_view();
  }
};

class Letters : public ::testing::Test {
 protected:
  Result<Admission> admit(const std::string& body, const NamedTexts& attributes,
                          Timestamp wall = Timestamp(1'700'000'000'000)) {
    const std::string texts = encode_texts(attributes);
    auto parsed = kLxmf.door.read(body, texts);
    if (!parsed) return tl::unexpected<Error>(parsed.error());
    const auto prepared = kLxmf.settings.prepare(settings_);
    Offer offer{DestinationFacts(name_, settings_), *kLxmf.settings.configure(settings_),
                0, texts, body, {prepared.get(), parsed->get()}, &cabinet_, wall};
    return kLxmf.door.admit(offer);
  }
  std::string name_ = recipient_name(
      reticulum::single_destination(reticulum::name_hash(kDeliveryName), bob().hash()));
  NamedTexts settings_ = {{"identity", "alice"}};
  KeyCabinet cabinet_;
};

// The published message from Alice to Bob.
constexpr std::string_view kPacked =
    "9695d17f22fa6e45d2b0cd3439a7ca7ec33c40a5b030596d95617dc4ca163aaedc758d54b21a2ca01a8fcc3e21c4"
    "5eb60918d2dc64508037ce640e000a295a81951e5a7d0f8fedb90ec4df0b0a05b437b43d6692c9dd7faa98c4b679"
    "935a940e94cb41d954fc40000000c40568656c6c6fc406686920626f6280";
constexpr std::string_view kId = "bfedb04b5b2d397bc57245f144d1a349d27c8f0c1d4e05430aa0b93c94ce63ff";

// req: lxmf.sub.2
TEST_F(Letters, AreSignedWhenTheyAreAdmitted) {
  const auto made = admit("hi bob", {{"title", "hello"}});
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_EQ(hex_of(*made->body), kPacked);
  EXPECT_EQ(made->method, kOpportunistic);
  const auto texts = decode_texts(*made->attributes);
  EXPECT_EQ(*texts, (NamedTexts{{"id", std::string(kId)},
                                {"from", "alice"},
                                {"method", "OPPORTUNISTIC"}}));
  const auto same = admit("", {{"title", "hello"}, {"content", "hi bob"}});
  EXPECT_EQ(same->body, made->body);
}

// req: lxmf.sub.2, lxmf.sub.8
TEST_F(Letters, KeepBytesAndIdWhenTheyAreHandedInAgain) {
  const auto made = admit("hi bob", {{"title", "hello"}});
  const auto again = admit(*made->body, *decode_texts(*made->attributes),
                           Timestamp(1'800'000'000'000));
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_FALSE(again->body) << "what was handed in stays as it is";
  EXPECT_EQ(again->attributes, made->attributes);

  // … but only what this sender signed, for this recipient.
  std::string forged = *made->body;
  forged.back() = '\x81';
  EXPECT_FALSE(admit(forged, *decode_texts(*made->attributes)));
  name_ = "lxmf:" + std::string(32, '0');
  EXPECT_FALSE(admit(*made->body, *decode_texts(*made->attributes)));
}

// req: lxmf.sub.4
TEST_F(Letters, GoDirectWhenTheyAreTooLongForAPacket) {
  // Content sizes of 295 and 296: title, content and the empty fields.
  const auto size_of = [&](std::size_t length) {
    const auto made = admit(std::string(length, 'x'), {});
    return std::pair(content_size(*made->body), made->method);
  };
  std::size_t length = 200;
  while (size_of(length).first < 295) ++length;
  EXPECT_EQ(size_of(length), (std::pair<std::size_t, std::uint8_t>{295, kOpportunistic}));
  EXPECT_EQ(size_of(length + 1), (std::pair<std::size_t, std::uint8_t>{296, kDirect}));
  EXPECT_EQ(admit("hi", {{"method", "direct"}})->method, kDirect);
}

TEST_F(Letters, AreRefusedWithWhatIsWrong) {
  EXPECT_EQ(admit("x", {{"colour", "red"}}).error().detail,
            "there is no attribute 'colour'; there are title, content, fields, from, method, "
            "stamp_cost and ticket");
  EXPECT_EQ(admit("x", {{"content", "y"}}).error().detail,
            "the content is given twice: as body and as attribute");
  EXPECT_EQ(admit("x", {{"method", "paper"}}).error().detail,
            "attribute 'method' must be opportunistic, direct, propagated or sync");
  EXPECT_EQ(admit("x", {{"from", "carol"}}).error().detail,
            "there is no secret 'carol' for the sender");
  EXPECT_EQ(admit("x", {{"from", "short"}}).error().detail,
            "secret 'short' is no identity: it must have 64 bytes");
  EXPECT_FALSE(admit("x", {{"fields", "[]"}}));
  EXPECT_FALSE(admit("x", {{"fields", "{\"8\":\"not base64!\"}"}}));
  name_ = "lxmf:bob";
  EXPECT_EQ(admit("x", {}).error().detail,
            "the destination's name must end in the recipient's address: lxmf: and 32 hexadecimal "
            "digits");
}

// req: lxmf.sub.7
TEST_F(Letters, GoPropagatedByTheNodeThatIsConfigured) {
  EXPECT_EQ(admit("x", {{"method", "propagated"}}).error().detail,
            "no_propagation_node: the destination has no setting 'propagation_node'");
  settings_.emplace_back("propagation_node", std::string(32, 'a'));
  const auto made = admit("x", {{"method", "propagated"}});
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_EQ(made->method, kPropagated);
  EXPECT_EQ(kLxmf.methods[made->method].initial, kGenerating);
  EXPECT_EQ(made->gates[0].name, gate_of(std::string(32, 'a')));
  EXPECT_EQ(made->gates[0].limits.in_use_max, 1U) << "one upload at a time";
  // What no node could take is not accepted.
  EXPECT_TRUE(admit(std::string(480 * 1024 - 200, 'x'), {{"method", "propagated"}}));
  const auto large = admit(std::string(480 * 1024, 'x'), {{"method", "propagated"}});
  ASSERT_FALSE(large);
  EXPECT_TRUE(large.error().detail.starts_with("size_refused"));
}

TEST_F(Letters, OfASyncHaveNoContent) {
  const auto made = admit("", {{"method", "sync"}});
  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_EQ(made->method, kSync);
  EXPECT_FALSE(admit("x", {{"method", "sync"}}));
}

TEST_F(Letters, EncloseATicketWhenTheyAreAskedTo) {
  const Timestamp wall(1'767'225'600'000);
  const auto made = admit("x", {{"ticket", "yes"}}, wall);
  ASSERT_TRUE(made) << made.error().detail;
  const auto ticket = ticket_in(unpack(*made->body)->message.fields);
  ASSERT_TRUE(ticket);
  const Address recipient = *recipient_of(name_);
  EXPECT_EQ(ticket->ticket, ticket_for(alice(), recipient, wall).ticket);
  EXPECT_FALSE(ticket_in(unpack(*admit("x", {}, wall)->body)->message.fields));
}

TEST_F(Letters, CarryFields) {
  // {8: "abc"}: msgpack of a text in base64.
  const auto made = admit("x", {{"fields", "{\"8\":\"o2FiYw==\"}"}});
  ASSERT_TRUE(made) << made.error().detail;
  const auto received = unpack(*made->body);
  EXPECT_EQ(hex_of(received->message.fields), "8108a3616263");
}

}  // namespace
}  // namespace postrider::lxmf
