// The station, with another one at the end of its line: announces, paths, single packets, proofs.
#include "postrider/profiles/lxmf/two_stations_testing.h"

namespace postrider::lxmf {
namespace {

// req: rns.path.3, rns.ann.1
TEST_F(TwoStations, HearEachOthersAnnouncesAndRememberThem) {
  start_both();
  EXPECT_EQ(a.figure("lxmf peers known"), 1U);
  EXPECT_EQ(b.figure("lxmf peers known"), 1U);
  EXPECT_EQ(a.seen, std::vector<std::string>{recipient_name(delivery(bob()))});
  const std::string key(reticulum::view(delivery(bob())));
  EXPECT_TRUE(a.cards.contains({std::string(kPeers), key}));
  EXPECT_TRUE(a.cards.contains({std::string(kPaths), key}));

  // After a restart it is reached without a path request, and before it announces again.
  b.holds = true;
  net.run(10s);  // what it announced is not sent again
  a.start();
  net.run(10ms);
  EXPECT_EQ(a.figure("lxmf announces heard"), 0U);
  EXPECT_EQ(a.figure("lxmf paths known"), 1U);
  a.look(letter("hi"), delivery(bob()), kOpportunistic);
  EXPECT_EQ(a.figure("lxmf transmissions"), 1U);
  EXPECT_EQ(a.figure("lxmf path requests sent"), 0U);
}

// req: lxmf.sub.2, lxmf.in.1
TEST_F(TwoStations, DeliverAMessageByOnePacketAndProveItOnce) {
  start_both();
  const PackedMessage message = letter("hi bob");
  EXPECT_EQ(look(a, message, kOpportunistic), Word::kProven);
  EXPECT_EQ(a.news, std::vector<On>{On::kSent});
  ASSERT_EQ(b.inbox.size(), 1U);
  EXPECT_EQ(b.inbox[0],
            "{\"id\":\"" + hex_of(reticulum::view(message.id)) + "\",\"from\":\"" +
                hex_of(reticulum::view(delivery(alice()))) + "\",\"to\":\"" +
                hex_of(reticulum::view(delivery(bob()))) +
                "\",\"time\":1767225600,\"title\":\"hello\",\"content\":\"hi bob\",\"fields\":{},"
                "\"method\":\"OPPORTUNISTIC\",\"signature\":\"verified\"}");
  // The same message once more: it is proven, and the inbox has it once.
  EXPECT_EQ(look(a, message, kOpportunistic), Word::kProven);
  EXPECT_EQ(b.inbox.size(), 1U);
  EXPECT_EQ(b.figure("lxmf messages that came before"), 1U);
}

// req: lxmf.in.2
TEST_F(TwoStations, ProveWhatIsDurableAndNotBefore) {
  start_both();
  b.holds = true;
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic, 5s), Word{0}) << "nothing is committed there";
  EXPECT_TRUE(b.inbox.empty());
  EXPECT_EQ(packets(b, reticulum::PacketKind::kProof), 0U);
  b.commit();
  net.run(10ms);
  ASSERT_EQ(b.inbox.size(), 1U);
  EXPECT_EQ(a.ends.back(), std::pair(a.last_attempt, Word::kProven));

  // What the store does not take is not proven, and comes again.
  b.holds = false;
  b.refuses = AnswerCode::kNoRoom;
  EXPECT_EQ(look(a, letter("more"), kOpportunistic, 30s), Word::kUnproven);
  b.refuses = AnswerCode::kDone;
  EXPECT_EQ(look(a, letter("more"), kOpportunistic), Word::kProven);
  EXPECT_EQ(b.inbox.size(), 2U);
}

// req: lxmf.in.3
TEST_F(TwoStations, ProveNotEarlierThanAPeerCanRegisterItsReceipt) {
  start_both();
  Duration proven{0};
  Duration arrived{0};
  net.loses = [&](const Machine& from, std::string_view raw) {
    const auto packet = reticulum::decode_packet(raw);
    if (&from == &a && packet && packet->kind == reticulum::PacketKind::kData)
      arrived = net.elapsed + net.travel;
    if (&from == &b && packet && packet->kind == reticulum::PacketKind::kProof)
      proven = net.elapsed;
    return false;
  };
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic), Word::kProven);
  EXPECT_EQ(proven - arrived, 4ms);
}

// req: lxmf.opp.5
TEST_F(TwoStations, TakeALateProofByTheMessagesId) {
  start_both();
  const PackedMessage message = letter("hi");
  b.holds = true;
  EXPECT_EQ(look(a, message, kOpportunistic, 30s), Word::kUnproven);
  b.commit();
  net.run(1s);
  ASSERT_EQ(a.receipts.size(), 1U);
  EXPECT_EQ(a.receipts[0].signal, On::kConfirmed);
  EXPECT_EQ(a.ends.size(), 1U);
}

// req: rns.path.2, lxmf.sub.5, lxmf.dur.3
TEST_F(TwoStations, AskForAPathAndAreAnswered) {
  b.start();
  net.run(1s);
  b.holds = true;  // its announces are not durable, so they do not leave
  a.start();
  net.run(1s);
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic), Word::kNoPath);
  EXPECT_EQ(a.figure("lxmf path requests sent"), 0U) << "the search asks, not the look";
  EXPECT_EQ(find(a, kOpportunistic), Word::kNoPath);
  EXPECT_EQ(find(a, kOpportunistic), Word::kNoPath);
  EXPECT_EQ(a.figure("lxmf path requests sent"), 1U) << "messages to one recipient share it";
  b.holds = false;
  net.run(1s);
  EXPECT_EQ(a.seen.size(), 1U) << "the answer is a sign of life";
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic), Word::kProven);
}

// req: rns.path.2
TEST_F(TwoStations, AnswerEachPathRequestOnceForDestinationsOfTheirOwn) {
  start_both();
  net.run(10s);
  const auto ask = [&](const Address& wanted, std::uint8_t tag) {
    reticulum::Bytes<16> bytes{};
    bytes[0] = tag;
    std::string raw = reticulum::make_path_request(wanted, bytes);
    b.happen(station::LineTook{LineId(kAcceptedLine + 1), reticulum::encode_frame(raw), {}});
    // The same as a relay asks it: the packet is another, the tag is not.
    raw.insert(reticulum::kHeaderBytes + 16, std::string(16, 'r'));
    b.happen(station::LineTook{LineId(kAcceptedLine + 1), reticulum::encode_frame(raw), {}});
    net.run(10s);
  };
  ask(delivery(bob()), 1);
  EXPECT_EQ(b.figure("lxmf path requests answered"), 1U);
  const auto answer = reticulum::decode_packet(b.left.back());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, reticulum::PacketKind::kAnnounce);
  EXPECT_EQ(answer->context, reticulum::Context::kPathResponse);
  ask(delivery(bob()), 1);
  EXPECT_EQ(b.figure("lxmf path requests answered"), 1U);
  ask(delivery(bob()), 2);
  EXPECT_EQ(b.figure("lxmf path requests answered"), 2U);
  ask(delivery(alice()), 3);
  EXPECT_EQ(b.figure("lxmf path requests answered"), 2U) << "an endpoint speaks for itself";
}

// req: lxmf.opp.1
TEST_F(TwoStations, DropAPathThatProvesNothing) {
  start_both();
  net.loses = [&](const Machine& from, std::string_view raw) {
    const auto packet = reticulum::decode_packet(raw);
    return &from == &b && packet && packet->kind == reticulum::PacketKind::kProof;
  };
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic, 11s), Word{0}) << "6 s and 6 s for the one hop";
  net.run(2s);
  EXPECT_EQ(a.ends.back().second, Word::kUnproven);
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic, 13s), Word::kUnproven);
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic), Word::kStalePath);
  EXPECT_EQ(find(a, kOpportunistic, 100ms), Word::kNoPath);
  EXPECT_EQ(a.figure("lxmf path requests sent"), 1U);
  net.loses = nullptr;
  net.run(1s);  // the request leaves half a second later, and is answered
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic), Word::kProven);
  EXPECT_EQ(b.inbox.size(), 1U);
}

// req: rns.ann.2, rns.ann.3
TEST_F(TwoStations, AnnounceWhatIsDurableWithATimeThatOnlyGrows) {
  b.start();
  net.run(1s);
  const auto seconds_of = [&](const std::string& raw) {
    const auto packet = reticulum::decode_packet(raw);
    const auto announce = packet ? reticulum::read_announce(*packet)
                                 : Result<reticulum::Announce>(fail(ErrorCode::kCorrupt, ""));
    return announce ? reticulum::announce_seconds(announce->random) : 0;
  };
  a.holds = true;
  a.start();
  net.run(10ms);
  a.commit();  // the cards are read
  net.run(1s);
  EXPECT_EQ(packets(a, reticulum::PacketKind::kAnnounce), 0U);
  a.holds = false;
  net.run(1s);
  ASSERT_EQ(packets(a, reticulum::PacketKind::kAnnounce), 1U);
  const std::uint64_t first = seconds_of(a.left.back());
  const auto card = decode_own(a.cards.at(
      {std::string(kOwn), std::string(reticulum::view(delivery(alice())))}));
  ASSERT_TRUE(card);
  EXPECT_EQ(card->seconds, first);
  EXPECT_EQ(card->ratchets.secrets().size(), 1U);

  net.wall = net.wall - 24h;  // the clock is set back over a restart
  a.left.clear();
  a.start();
  net.run(1s);
  ASSERT_GE(packets(a, reticulum::PacketKind::kAnnounce), 1U);
  EXPECT_GT(seconds_of(a.left.back()), first);
  EXPECT_EQ(b.figure("lxmf announces heard"), 2U);
}

// req: lxmf.dir.4, lxmf.dir.6, lxmf.dir.8, lxmf.tick.2
TEST_F(TwoStations, TalkOverOneLinkBothWays) {
  start_both();
  talk();
  EXPECT_EQ(a.figure("lxmf links opened"), 1U);
  EXPECT_EQ(look(a, letter("second"), kDirect), Word::kProven);
  EXPECT_EQ(a.figure("lxmf links opened"), 1U);
  // The sender has said who it is: an answer needs no link of its own.
  EXPECT_EQ(look(b, letter("an answer", true), kDirect), Word::kProven);
  EXPECT_EQ(b.figure("lxmf links opened"), 0U);
  ASSERT_EQ(a.inbox.size(), 1U);
  EXPECT_NE(a.inbox[0].find("\"method\":\"DIRECT\""), std::string::npos);
  // A longer one is a resource.
  EXPECT_EQ(look(a, letter(std::string(100'000, 'x')), kDirect, 10s), Word::kProven);
  EXPECT_EQ(b.inbox.size(), 3U);
}

TEST_F(TwoStations, ProveWhatCameByALinkWhenItIsDurable) {
  start_both();
  talk();
  b.holds = true;
  EXPECT_EQ(look(a, letter("second"), kDirect, 1s), Word{0});
  EXPECT_EQ(b.inbox.size(), 1U);
  b.commit();
  net.run(100ms);
  EXPECT_EQ(a.ends.back(), std::pair(a.last_attempt, Word::kProven));
  b.holds = true;
  a.look(letter(std::string(5'000, 'y')), delivery(bob()), kDirect);
  net.run(2s);
  EXPECT_NE(a.ends.back().first, a.last_attempt);
  b.commit();
  net.run(1s);
  EXPECT_EQ(a.ends.back(), std::pair(a.last_attempt, Word::kProven));
}

// req: lxmf.dir.7
TEST_F(TwoStations, TearALinkDownThatProvesNothing) {
  start_both();
  talk();
  b.refuses = AnswerCode::kBusy;
  EXPECT_EQ(look(a, letter("second"), kDirect, 5s), Word::kLinkClosed);
  EXPECT_EQ(a.figure("lxmf links now"), 0U);
  b.refuses = AnswerCode::kDone;
  EXPECT_EQ(look(a, letter("second"), kDirect), Word::kStalePath);
  EXPECT_EQ(find(a, kDirect), Word::kFound);
  EXPECT_EQ(look(a, letter("second"), kDirect), Word::kProven);
  EXPECT_EQ(b.inbox.size(), 2U);
}

TEST_F(TwoStations, GiveUpALinkThatDoesNotComeUp) {
  start_both();
  net.loses = [&](const Machine& from, std::string_view) { return &from == &b; };
  EXPECT_EQ(look(a, letter("first"), kDirect), Word::kNoLink);
  EXPECT_EQ(find(a, kDirect, 11s), Word{0});
  net.run(2s);
  EXPECT_EQ(a.ends.back(), std::pair(a.last_attempt, Word::kLinkTimedOut));
  EXPECT_EQ(look(a, letter("first"), kDirect), Word::kNoPath) << "its path is dropped";
}

TEST_F(TwoStations, CallAgainAndTellWhatLackedAnInterface) {
  start_both();
  talk();
  net.cut(a);
  net.run(1s);
  EXPECT_EQ(a.figure("lxmf links now"), 0U);
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic, 0s), Word::kNoInterface);
  a.seen.clear();
  net.run(6s);
  ASSERT_FALSE(a.seen.empty());
  EXPECT_EQ(a.seen.front(), recipient_name(delivery(bob())));
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic), Word::kProven);
}

// Whatever a peer writes: nothing of ours changes, and the line stays.
TEST_F(TwoStations, TakeNonsenseWithoutHarm) {
  start_both();
  Rng rng(7);
  for (int round = 0; round < 2'000; ++round) {
    std::string packet = b.left[rng.below(b.left.size())];
    const std::size_t flips = rng.below(4);
    for (std::size_t i = 0; i < flips && !packet.empty(); ++i)
      packet[rng.below(packet.size())] = static_cast<char>(rng.below(256));
    if (rng.below(4) == 0) packet.resize(rng.below(packet.size() + 1));
    if (rng.below(8) == 0) packet = std::string(rng.below(600), static_cast<char>(rng.below(256)));
    const std::string frame = reticulum::encode_frame(packet);
    a.happen(station::LineTook{LineId(1), frame, {}});
    net.run(1ms);
  }
  EXPECT_TRUE(a.inbox.empty());
  EXPECT_EQ(look(a, letter("hi"), kOpportunistic), Word::kProven);
}

}  // namespace
}  // namespace postrider::lxmf
