// Messages that arrive: what is known, what is proven, what the application gets.
#include "postrider/profiles/lxmf/two_stations_testing.h"

namespace postrider::lxmf {
namespace {

class Arrivals : public TwoStations {
 protected:
  std::string sealed(const PackedMessage& message, const reticulum::Identity& recipient) {
    reticulum::SeededRandom random(5);
    const auto data = reticulum::seal_for(recipient.public_keys(), std::nullopt,
                                          reticulum::fresh_seal_keys(random),
                                          opportunistic_part(message.bytes));
    reticulum::Packet packet;
    packet.destination = delivery(bob());
    packet.data = *data;
    return reticulum::encode_frame(reticulum::encode_packet(packet));
  }
  bool is_seen(const PackedMessage& message) const {
    return b.cards.contains({std::string(kSeen), std::string(reticulum::view(message.id))});
  }
  void inject(const std::string& frame) {
    b.happen(station::LineTook{LineId(kAcceptedLine + 1), frame, {}});
    net.run(1s);
  }
};

// req: lxmf.in.4
TEST_F(Arrivals, AreKnownByTheirIdOverAllMethods) {
  start_both();
  const PackedMessage message = letter("hi");
  EXPECT_EQ(look(a, message, kOpportunistic), Word::kProven);
  talk();
  EXPECT_EQ(look(a, message, kDirect), Word::kProven) << "a copy is proven again";
  EXPECT_EQ(b.inbox.size(), 2U) << "that of talk(), and one of this";
  const PackedMessage long_one = letter(std::string(2'000, 'x'));
  EXPECT_EQ(look(a, long_one, kDirect), Word::kProven);
  b.start();  // what is known is durable
  net.run(10s);
  EXPECT_EQ(look(a, message, kOpportunistic), Word::kProven);
  EXPECT_EQ(b.inbox.size(), 3U);
}

// req: lxmf.in.4
TEST(SeenMessages, AreKeptForHalfAYear) {
  LxmfMessage message;
  message.destination = delivery(bob());
  message.source = delivery(alice());
  message.time = 1'767'225'600.0;
  const auto packed = pack(message, alice().signing());
  const MapCabinet::Cards none;
  MapCabinet cabinet(none);
  const ArrivalSource source{.origin = "station", .kind = std::string(kArrivedMessage)};
  const std::string bytes =
      encode_inbound({Carriage::kDirect, SignatureVerdict::kVerified, {}}, packed->bytes);
  const Timestamp now(1'767'225'600'000);
  const NamedTexts settings = {{std::string(kInboxSetting), "inbox"}};
  const Received received = receive_arrival({source, settings, bytes, now, now, &cabinet});
  ASSERT_EQ(received.cards.size(), 1U);
  EXPECT_EQ(received.cards[0].key, reticulum::view(packed->id));
  EXPECT_EQ(received.cards[0].expires, now + 180 * 24h);
  EXPECT_TRUE(received.firm) << "it is taken with its message, or not at all";
  ASSERT_EQ(received.submits.size(), 1U);
  EXPECT_EQ(received.submits[0].destination, "inbox");
}

// req: lxmf.in.9
TEST_F(Arrivals, ThatCannotBeOpenedAreNeitherProvenNorKnown) {
  start_both();
  const PackedMessage message = letter("hi");
  const std::size_t proofs = packets(b, reticulum::PacketKind::kProof);
  inject(sealed(message, alice()));
  EXPECT_EQ(b.figure("lxmf packets that cannot be opened"), 1U);
  EXPECT_EQ(packets(b, reticulum::PacketKind::kProof), proofs);
  EXPECT_FALSE(is_seen(message));
  EXPECT_TRUE(b.inbox.empty());
  inject(sealed(message, bob()));  // for the identity, by a sender that knows no ratchet
  EXPECT_TRUE(is_seen(message));
  EXPECT_EQ(b.inbox.size(), 1U);
}

// req: lxmf.in.5
TEST_F(Arrivals, SayWhatIsKnownOfTheirSignature) {
  b.start();
  net.run(1s);
  b.happen(station::LineOpened{LineId(kAcceptedLine + 1), LineId(1), "a stranger"});
  inject(sealed(letter("unknown"), bob()));
  ASSERT_EQ(b.inbox.size(), 1U);
  EXPECT_NE(b.inbox[0].find("\"signature\":\"source unknown\""), std::string::npos);
  LxmfMessage forged;
  forged.destination = delivery(bob());
  forged.source = delivery(alice());
  forged.time = 1'767'225'601.0;
  a.start();
  net.run(1s);
  EXPECT_EQ(look(a, pack(forged, bob().signing()).value(), kOpportunistic), Word::kProven);
  ASSERT_EQ(b.inbox.size(), 2U);
  EXPECT_NE(b.inbox[1].find("\"signature\":\"invalid\""), std::string::npos);
}

}  // namespace
}  // namespace postrider::lxmf
