#include "postrider/protocols/reticulum/packet.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/reticulum/frames.h"
#include "postrider/protocols/reticulum/ifac.h"
#include "postrider/protocols/reticulum/random_testing.h"
#include "postrider/protocols/reticulum/seen.h"

namespace postrider::reticulum {
namespace {

std::string packet_of_vector() {
  return from_hex("0000") + from_hex("9695d17f22fa6e45d2b0cd3439a7ca7e") + from_hex("00") +
         counting(0, 64);
}

// req: rns.wire.3, lxmf.io.1
TEST(PacketHash, EqualsVectorBeforeAndAfterARelay) {
  const std::string raw = packet_of_vector();
  const std::string hash = "df960dd1595b2229f612eef30cd64c330cadb358b0b9ab668f9f0f9a0f3efd68";
  EXPECT_EQ(hex(packet_hash(raw)), hash);
  std::string relayed = for_relay(raw, exactly<16>(counting(0x10, 0x20)).value());
  relayed[1] = 3;
  EXPECT_EQ(to_hex(relayed.substr(0, 18)), "5003" + to_hex(counting(0x10, 0x20)));
  EXPECT_EQ(hex(packet_hash(relayed)), hash);
}

// req: rns.wire.3
TEST(Packet, HeaderIsReadAndWritten) {
  const std::string raw = packet_of_vector();
  const auto packet = decode_packet(raw);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->kind, PacketKind::kData);
  EXPECT_EQ(packet->destination_kind, DestinationKind::kSingle);
  EXPECT_EQ(hex(packet->destination), "9695d17f22fa6e45d2b0cd3439a7ca7e");
  EXPECT_EQ(packet->data, counting(0, 64));
  EXPECT_EQ(encode_packet(*packet), raw);
  const std::string by_relay = for_relay(raw, Address{});
  const auto relayed = decode_packet(by_relay);
  ASSERT_TRUE(relayed);
  EXPECT_TRUE(relayed->transported);
  EXPECT_EQ(relayed->transport_id, Address{});
  EXPECT_EQ(relayed->data, packet->data);
  EXPECT_EQ(encode_packet(*relayed), by_relay);
}

RC_GTEST_PROP(Packet, AnyBytesAreReadOrRefused, (const std::vector<std::uint8_t>& input)) {
  const std::string raw(input.begin(), input.end());
  const auto packet = decode_packet(raw);
  if (packet) RC_ASSERT(encode_packet(*packet) == raw);
}

// req: rns.wire.3
TEST(Packet, RefusesImpossibleLengths) {
  for (std::size_t size = 0; size < 20; ++size)
    EXPECT_FALSE(decode_packet(std::string(size, '\0'))) << size;
  EXPECT_TRUE(decode_packet(std::string(20, '\0')));
  EXPECT_FALSE(decode_packet(std::string(34, '\x40')));
  EXPECT_TRUE(decode_packet(std::string(35, '\x40')));
  EXPECT_TRUE(decode_packet(std::string(262'144, '\0')));
  EXPECT_FALSE(decode_packet(std::string(262'145, '\0')));
}

// req: rns.wire.5
TEST(Packet, RefusesTheMaskedBit) {
  std::string raw = packet_of_vector();
  raw[0] = static_cast<char>(0x80);
  EXPECT_EQ(decode_packet(raw).error().code, ErrorCode::kInvalid);
}

std::vector<std::string> frames_in(FrameReader& reader, std::string_view bytes, std::size_t cut) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size(); at += cut)
    reader.feed(bytes.substr(at, cut), [&](std::string_view frame) { out.emplace_back(frame); });
  return out;
}

// req: rns.wire.4
TEST(Frames, AreTheSameHoweverTheStreamIsCut) {
  const std::string awkward = std::string(20, '\x7e') + std::string(20, '\x7d') + counting(0, 256);
  const std::string plain(500, 'p');
  const std::string stream = "noise" + encode_frame(plain) + "\x7e\x7e" + encode_frame(awkward) +
                             encode_frame(plain).substr(1);
  for (std::size_t cut = 1; cut < 70; ++cut) {
    FrameReader reader;
    EXPECT_EQ(frames_in(reader, stream, cut), (std::vector<std::string>{plain, awkward, plain}));
    EXPECT_EQ(reader.short_frames() + reader.long_frames() + reader.damaged_frames(), 0u);
  }
  EXPECT_EQ(to_hex(encode_frame(from_hex("7d7e41"))), "7e7d5d7d5e417e");
}

// req: rns.wire.4
TEST(Frames, OfFewerThan20BytesAreIgnored) {
  FrameReader reader;
  std::string stream;
  for (std::size_t size = 0; size < 20; ++size) stream += encode_frame(std::string(size, 's'));
  stream += encode_frame(std::string(20, 's'));
  EXPECT_EQ(frames_in(reader, stream, 7), std::vector<std::string>{std::string(20, 's')});
  EXPECT_EQ(reader.short_frames(), 19u);  // the empty one is two flags in a row
}

// req: rns.wire.4
TEST(Frames, Take262144BytesAndNoneMoreWithoutKeepingThem) {
  FrameReader reader;
  const std::string largest(262'144, 'l');
  const std::string after(20, 'a');
  EXPECT_EQ(frames_in(reader, encode_frame(largest), 4096), std::vector<std::string>{largest});
  EXPECT_EQ(frames_in(reader, encode_frame(largest + "x") + encode_frame(after), 4096),
            std::vector<std::string>{after});
  EXPECT_EQ(reader.long_frames(), 1u);
  // A frame without an end is skipped, however long it is.
  for (int i = 0; i < 100; ++i) frames_in(reader, largest, 65'536);
  EXPECT_EQ(reader.long_frames(), 2u);
  EXPECT_EQ(frames_in(reader, encode_frame(after), 3), std::vector<std::string>{after});
}

// req: rns.wire.4
TEST(Frames, WithAnEscapeOfNothingAreDropped) {
  FrameReader reader;
  const std::string good(20, 'g');
  const std::string bad_escape = "\x7e" + good + "\x7d\x41" + good + "\x7e";
  const std::string cut_escape = "\x7e" + good + "\x7d\x7e";
  EXPECT_EQ(frames_in(reader, bad_escape + cut_escape + encode_frame(good), 5),
            std::vector<std::string>{good});
  EXPECT_EQ(reader.damaged_frames(), 2u);
}

RC_GTEST_PROP(Frames, AnyPacketsComeThrough, (const std::vector<std::string>& bodies)) {
  std::string stream;
  std::vector<std::string> packets;
  for (const std::string& body : bodies) {
    packets.push_back(std::string(20, '\x7d') + body);
    stream += encode_frame(packets.back());
  }
  FrameReader reader;
  RC_ASSERT(frames_in(reader, stream, 1 + stream.size() % 13) == packets);
}

// req: rns.if.1
TEST(AccessCode, OpensOnlyWhatTheSameNetworkMasked) {
  const auto code = AccessCode::make({.name = "net", .passphrase = "secret"});
  const auto other = AccessCode::make({.name = "net", .passphrase = "Secret"});
  const auto nameless = AccessCode::make({.passphrase = "secret"});
  ASSERT_TRUE(code && other && nameless);
  const std::string raw = packet_of_vector();
  const auto masked = code->mask(raw);
  ASSERT_TRUE(masked);
  EXPECT_EQ(masked->size(), raw.size() + 16);
  EXPECT_NE((*masked)[0] & 0x80, 0);
  EXPECT_EQ(masked->find(counting(0, 8)), std::string::npos);
  EXPECT_EQ(code->unmask(*masked), raw);
  EXPECT_FALSE(other->unmask(*masked));
  EXPECT_FALSE(nameless->unmask(*masked));
  EXPECT_FALSE(code->unmask(raw));
  EXPECT_EQ(decode_packet(*masked).error().code, ErrorCode::kInvalid);
  for (std::size_t i = 0; i < masked->size(); ++i) {
    std::string damaged = *masked;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    EXPECT_FALSE(code->unmask(damaged)) << i;
  }
  for (std::size_t size = 0; size < 35; ++size) EXPECT_FALSE(code->unmask(masked->substr(0, size)));
}

// req: rns.if.1
TEST(AccessCode, NeedsANameOrAPassphrase) {
  EXPECT_FALSE(AccessCode::make({}));
  EXPECT_FALSE(AccessCode::make({.name = "net", .bytes = 0}));
  EXPECT_FALSE(AccessCode::make({.name = "net", .bytes = 65}));
  const auto wide = AccessCode::make({.name = "net", .bytes = 64});
  EXPECT_EQ(wide->unmask(wide->mask(packet_of_vector()).value()), packet_of_vector());
}

// req: rns.wire.5, lxmf.lim.3
TEST(Seen, KeepsTwoGenerationsAndForgetsTheOldest) {
  Seen<16> seen(100);
  const auto key = [](int i) {
    Address out{};
    std::memcpy(out.data(), &i, sizeof(i));
    return out;
  };
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(seen.add(key(i)));
    EXPECT_FALSE(seen.add(key(i)));
    EXPECT_LE(seen.size(), 200u);
    EXPECT_TRUE(seen.contains(key(std::max(0, i - 99))));
  }
  EXPECT_FALSE(seen.contains(key(0)));
}

// req: rns.wire.5
TEST(Seen, SomeContextsAlwaysPass) {
  for (const Context context : {Context::kKeepalive, Context::kResource, Context::kResourceRequest,
                                Context::kResourceProof, Context::kCacheRequest, Context::kChannel})
    EXPECT_TRUE(may_repeat({.destination_kind = DestinationKind::kLink, .context = context}));
  EXPECT_TRUE(may_repeat({.kind = PacketKind::kAnnounce}));
  EXPECT_FALSE(
      may_repeat({.kind = PacketKind::kAnnounce, .destination_kind = DestinationKind::kPlain}));
  EXPECT_FALSE(may_repeat({.destination_kind = DestinationKind::kLink}));
  EXPECT_FALSE(may_repeat({.context = Context::kResourceAdvertisement}));
}

// req: rns.wire.5
TEST(Seen, PacketsForRelaysAndPlainOnesFromAfarAreNotForUs) {
  const Address ours = exactly<16>(counting(0, 16)).value();
  EXPECT_TRUE(is_for_endpoint({}, 5, nullptr));
  EXPECT_FALSE(is_for_endpoint({.transport_id = ours}, 1, nullptr));
  EXPECT_TRUE(is_for_endpoint({.transport_id = ours}, 1, &ours));
  EXPECT_TRUE(is_for_endpoint({.kind = PacketKind::kAnnounce, .transport_id = ours}, 9, nullptr));
  EXPECT_TRUE(is_for_endpoint({.destination_kind = DestinationKind::kPlain}, 1, nullptr));
  EXPECT_FALSE(is_for_endpoint({.destination_kind = DestinationKind::kPlain}, 2, nullptr));
  EXPECT_FALSE(is_for_endpoint({.destination_kind = DestinationKind::kGroup}, 2, nullptr));
}

}  // namespace
}  // namespace postrider::reticulum
