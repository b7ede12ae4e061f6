// Links between two stations: opened once, used both ways, given up.
#include "postrider/profiles/lxmf/two_stations_testing.h"

namespace postrider::lxmf {
namespace {

class StationLinks : public TwoStations {};

// req: rns.link.7
TEST_F(StationLinks, AreOpenedOnceForMessagesThatWaitTogether) {
  start_both();
  EXPECT_EQ(look(a, letter("one"), kDirect), Word::kNoLink);
  EXPECT_EQ(look(a, letter("two"), kDirect), Word::kNoLink);
  a.find(delivery(bob()), kDirect);
  a.find(delivery(bob()), kDirect);
  net.run(1s);
  ASSERT_GE(a.ends.size(), 2U);
  EXPECT_EQ(a.ends[a.ends.size() - 2].second, Word::kFound);
  EXPECT_EQ(a.ends.back().second, Word::kFound);
  EXPECT_EQ(packets(a, reticulum::PacketKind::kLinkRequest), 1U);
  EXPECT_EQ(look(a, letter("one"), kDirect), Word::kProven);
  EXPECT_EQ(look(a, letter("two"), kDirect), Word::kProven);
  net.run(60s);  // keepalives hold it
  EXPECT_EQ(look(a, letter("three"), kDirect), Word::kProven);
  EXPECT_EQ(packets(a, reticulum::PacketKind::kLinkRequest), 1U);
}

// req: lxmf.dir.8
TEST_F(StationLinks, CarryAnswersAsPacketsAndAsResources) {
  start_both();
  talk();
  const std::size_t identified = a.left.size();
  EXPECT_EQ(look(b, letter("an answer", true), kDirect), Word::kProven);
  EXPECT_EQ(look(b, letter(std::string(50'000, 'z'), true), kDirect, 10s), Word::kProven);
  EXPECT_EQ(b.figure("lxmf links opened"), 0U);
  EXPECT_EQ(a.inbox.size(), 2U);
  EXPECT_EQ(look(a, letter("more"), kDirect), Word::kProven);
  std::size_t said = 0;
  for (std::size_t i = 0; i < a.left.size(); ++i) {
    const auto packet = reticulum::decode_packet(a.left[i]);
    if (packet && packet->context == reticulum::Context::kLinkIdentify) ++said;
  }
  EXPECT_EQ(said, 1U) << "it says once who it is; " << identified;
}

// req: lxmf.dir.6
TEST_F(StationLinks, CarryUpToAContentSizeOf319InOnePacket) {
  start_both();
  talk();
  const auto resources = [&] {
    std::size_t count = 0;
    for (const std::string& raw : a.left) {
      const auto packet = reticulum::decode_packet(raw);
      if (packet && packet->context == reticulum::Context::kResourceAdvertisement) ++count;
    }
    return count;
  };
  const auto of_size = [&](std::size_t size) {
    std::size_t length = size;
    PackedMessage message = letter(std::string(length, 'c'));
    while (content_size(message.bytes) > size) message = letter(std::string(--length, 'c'));
    EXPECT_EQ(content_size(message.bytes), size);
    return message;
  };
  EXPECT_EQ(look(a, of_size(319), kDirect), Word::kProven);
  EXPECT_EQ(resources(), 0U);
  EXPECT_EQ(look(a, of_size(320), kDirect, 5s), Word::kProven);
  EXPECT_EQ(resources(), 1U);
}

// A line on which nothing comes any more, though it should: it is closed, and called again.
TEST_F(StationLinks, SilentLinesAreCalledAgain) {
  start_both();
  talk();
  net.loses = [&](const Machine& from, std::string_view) { return &from == &b; };
  net.run(2min);
  look(a, letter("second"), kOpportunistic, 13s);
  EXPECT_EQ(a.figure("lxmf interfaces lost"), 1U);
  net.loses = nullptr;
  net.run(10s);
  EXPECT_EQ(look(a, letter("second"), kOpportunistic), Word::kProven);
}

}  // namespace
}  // namespace postrider::lxmf
