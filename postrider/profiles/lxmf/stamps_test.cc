// Stamps and tickets: learnt, worked for, sent, and judged.
#include "postrider/profiles/lxmf/notes.h"
#include "postrider/profiles/lxmf/profile.h"
#include "postrider/profiles/lxmf/two_stations_testing.h"

namespace postrider::lxmf {
namespace {

constexpr std::uint8_t kCost = 6;

class Stamps : public TwoStations {
 protected:
  void start_both_at_cost(std::uint8_t cost, bool enforced) {
    b.setup.identities[0].stamp_cost = cost;
    b.setup.identities[0].enforces_stamps = enforced;
    start_both();
  }
  static std::string stamp_of(const PackedMessage& message, std::uint32_t cost) {
    StampSearch::Job job;
    job.cost = cost;
    job.material = reticulum::view(message.id);
    WireRequest request;
    request.target = kStampWork;
    const std::string input = encode_search(job);
    request.body = input;
    return worked(request).body;
  }
  static NamedTexts stamped(const std::string& stamp, std::uint32_t cost) {
    return {{std::string(kHeaderStamp), hex_of(stamp)},
            {std::string(kHeaderStamped), std::to_string(cost)}};
  }
  bool inbox_says(std::string_view what) const {
    return !b.inbox.empty() && b.inbox.back().find(what) != std::string::npos;
  }
};

// req: lxmf.sub.3, lxmf.st.2
TEST_F(Stamps, AreAskedForByTheAnnouncedCost) {
  start_both_at_cost(kCost, true);
  const PackedMessage message = letter("hi");
  EXPECT_EQ(look(a, message, kOpportunistic), Word::kWantsStamp);
  EXPECT_EQ(a.reply, std::string(1, static_cast<char>(kCost)));
  EXPECT_EQ(a.figure("lxmf transmissions"), 0U);
  // What was worked for less is not sent, and what was worked for more is.
  EXPECT_EQ(look(a, message, kOpportunistic, 1s, stamped(std::string(32, 's'), kCost - 1)),
            Word::kWantsStamp);
  const std::string stamp = stamp_of(message, kCost);
  EXPECT_EQ(look(a, message, kOpportunistic, 1s, stamped(stamp, kCost)), Word::kProven);
  EXPECT_TRUE(inbox_says("\"stamp\":\"valid\""));
  // The caller's word goes before the announced one.
  EXPECT_EQ(look(a, letter("caller"), kOpportunistic, 1s, {{std::string(kHeaderWants), "9"}}),
            Word::kWantsStamp);
  EXPECT_EQ(a.reply, "\x09");
}

// req: lxmf.sub.3
TEST_F(Stamps, AreNotAskedForByAnAnnounceOf46Days) {
  start_both_at_cost(kCost, false);
  const PackedMessage message = letter("hi");
  EXPECT_EQ(look(a, message, kOpportunistic), Word::kWantsStamp);
  b.station.reset();
  net.wall = net.wall + 46 * 24h;
  EXPECT_NE(look(a, message, kOpportunistic), Word::kWantsStamp);
}

// req: lxmf.in.7, lxmf.box.1
TEST_F(Stamps, ThatAreMissingOrTooWeakAreMarkedOrLeftUnproven) {
  for (const bool enforced : {false, true}) {
    start_both_at_cost(kCost, enforced);
    const std::size_t before = b.inbox.size();
    const NamedTexts none = {{std::string(kHeaderWants), "0"}};
    const std::string text = enforced ? "strict" : "mild";
    const Word word = look(a, letter(text), kOpportunistic, 30s, none);
    EXPECT_EQ(word, enforced ? Word::kUnproven : Word::kProven);
    EXPECT_EQ(b.inbox.size(), before + (enforced ? 0 : 1));
    EXPECT_TRUE(enforced || inbox_says("\"stamp\":\"missing\",\"stamp_value\":0"));
    // Of this much work one in 64 is enough by chance; that one is none of them.
    const PackedMessage weak = letter(text + " and weak");
    const std::string stamp(32, 'w');
    ASSERT_LT(stamp_value(reticulum::view(weak.id), kMessageRounds, stamp), kCost);
    EXPECT_EQ(look(a, weak, kOpportunistic, 30s, stamped(stamp, kCost)),
              enforced ? Word::kUnproven : Word::kProven);
    EXPECT_TRUE(enforced || inbox_says("\"stamp\":\"too weak\""));
    EXPECT_EQ(b.figure("lxmf messages without the stamp they need"), 2U);
    EXPECT_EQ(b.inbox.size(), before + (enforced ? 0 : 2));
  }
}

// req: lxmf.in.7
TEST_F(Stamps, ThatAResourceLacksAreRefusedInsteadOfProven) {
  start_both_at_cost(kCost, true);
  const NamedTexts none = {{std::string(kHeaderWants), "0"}};
  const PackedMessage big = letter(std::string(5'000, 'r'));
  EXPECT_EQ(look(a, big, kDirect, 1s, none), Word::kNoLink);
  EXPECT_EQ(find(a, kDirect), Word::kFound);
  EXPECT_EQ(look(a, big, kDirect, 10s, none), Word::kRefused);
  EXPECT_TRUE(b.inbox.empty());
  EXPECT_EQ(look(a, big, kDirect, 10s, stamped(stamp_of(big, kCost), kCost)), Word::kProven);
  EXPECT_EQ(b.inbox.size(), 1U);
}

TEST_F(Stamps, ThatCannotBeMeasuredNowAreLeftForLater) {
  start_both_at_cost(kCost, false);
  const PackedMessage message = letter("hi");
  const NamedTexts good = stamped(stamp_of(message, kCost), kCost);
  b.holds_back = true;
  EXPECT_EQ(look(a, message, kOpportunistic, 30s, good), Word::kUnproven);
  EXPECT_TRUE(b.inbox.empty());
  b.holds_back = false;
  EXPECT_EQ(look(a, message, kOpportunistic, 30s, good), Word::kProven);
}

// Bob gives Alice a ticket with a message of his own.
class Tickets : public Stamps {
 protected:
  PackedMessage with_ticket(const GivenTicket& ticket) const {
    LxmfMessage message;
    message.destination = delivery(alice());
    message.source = delivery(bob());
    message.time = 1'767'225'600.0;
    message.content = "with a ticket";
    message.fields = with_field("\x80", kFieldTicket, encode_ticket(ticket)).value();
    return pack(message, bob().signing()).value();
  }
};

// req: lxmf.stamp.6, lxmf.id.3
TEST_F(Tickets, OfTheRecipientTakeThePlaceOfWork) {
  start_both_at_cost(kCost, true);
  const GivenTicket ticket = ticket_for(bob(), delivery(alice()), net.wall);
  EXPECT_EQ(look(b, with_ticket(ticket), kOpportunistic), Word::kProven);
  EXPECT_EQ(look(a, letter("by ticket"), kOpportunistic), Word::kProven);
  EXPECT_TRUE(inbox_says("\"stamp\":\"ticket\""));
  a.start();  // it is durable
  net.run(10s);
  EXPECT_EQ(look(a, letter("after a restart"), kOpportunistic), Word::kProven);
  net.wall = ticket.expires;  // and used until then
  EXPECT_EQ(look(a, letter("too late"), kOpportunistic), Word::kWantsStamp);
}

TEST_F(Tickets, AreTakenFromTheirGiverOnly) {
  start_both_at_cost(kCost, true);
  LxmfMessage forged;
  forged.destination = delivery(alice());
  forged.source = delivery(bob());
  forged.time = 1'767'225'600.0;
  forged.fields = with_field("\x80", kFieldTicket,
                             encode_ticket({{1, 2, 3}, net.wall + kTicketLife}))
                      .value();
  EXPECT_EQ(look(b, pack(forged, alice().signing()).value(), kOpportunistic), Word::kProven);
  EXPECT_EQ(look(a, letter("forged"), kOpportunistic), Word::kWantsStamp);
}

// req: lxmf.stamp.7
TEST(OwnTickets, FollowFromTheWeekAndAreAcceptedToTheirEnd) {
  const Address peer = delivery(alice());
  const Timestamp wall(1'767'225'600'000);
  const GivenTicket first = ticket_for(bob(), peer, wall);
  EXPECT_LE(first.expires - wall, kTicketLife);
  EXPECT_GT(first.expires - wall, kTicketRenew);
  // The same one as long as more than 14 d remain, and then another.
  const Timestamp last = first.expires - kTicketRenew - Duration(1);
  EXPECT_EQ(ticket_for(bob(), peer, last).ticket, first.ticket);
  EXPECT_NE(ticket_for(bob(), peer, last + Duration(1)).ticket, first.ticket);
  EXPECT_NE(ticket_for(bob(), delivery(bob()), wall).ticket, first.ticket) << "each has its own";

  const Digest id{1};
  const Ticket stamp = stamp_by_ticket(first.ticket, id);
  const auto accepted = [&](Timestamp at) {
    return is_stamp_by_own_ticket(reticulum::view(stamp), bob(), peer, id, at);
  };
  EXPECT_TRUE(accepted(wall));
  EXPECT_TRUE(accepted(first.expires + kTicketGrace - Duration(1)));
  EXPECT_FALSE(accepted(first.expires + kTicketGrace));
  EXPECT_FALSE(is_stamp_by_own_ticket(reticulum::view(stamp), bob(), delivery(bob()), id, wall));
  EXPECT_FALSE(is_stamp_by_own_ticket(std::string(16, '\0'), bob(), peer, id, wall));
}

// A message in Generating, as the engine shows it to the profile.
struct Generating {
  explicit Generating(const Notes& its_notes) : notes(encode_notes(its_notes)) {
    state.state = kGenerating;
    parsed = std::move(*kLxmf.door.read("", attributes));
  }
  Facts facts() {
    return {.message = message,
            .state = state,
            .destination = DestinationFacts(name, settings),
            .policy = policy,
            .now = {},
            .wall = {},
            .notes = notes,
            .values = {nullptr, parsed.get()},
            .cabinet = &cabinet};
  }
  Message message;
  State state;
  std::string name = recipient_name(delivery(bob()));
  NamedTexts settings;
  Policy policy;
  std::string notes;
  std::string attributes = encode_texts({{"id", std::string(64, 'a')}});
  std::unique_ptr<const Opaque> parsed;
  MapCabinet::Cards none;
  MapCabinet cabinet{none};
};

// req: lxmf.stamp.5
TEST(StampsWorkedFor, AreNoneAboveTheCap) {
  EXPECT_EQ(kLxmf.wire.judge(Generating({.cost = 26}).facts()).signal, On::kDue);
  const Judgement judged = kLxmf.wire.judge(Generating({.cost = 27}).facts());
  EXPECT_EQ(judged.signal, On::kExhausted);
  EXPECT_EQ(judged.reason, "stamp_cost_above_cap");
  const Transition* row = find_row(kDirectRows, kGenerating, On::kExhausted);
  EXPECT_EQ(row->to, kFailed);
}

// req: lxmf.stamp.4, lxmf.stamp.1
TEST(StampsWorkedFor, AreKeptWithTheirMessage) {
  Generating message({.cost = 8});
  const WireRequest request = kLxmf.wire.encode(message.facts(), AttemptKind::kProbe);
  EXPECT_EQ(request.verb, kWorkVerb);
  const WireReply reply = worked(request);
  const Reading reading = kLxmf.wire.classify(message.facts(), AttemptKind::kProbe, reply);
  EXPECT_EQ(reading.signal, On::kAnswered);
  const Notes notes = decode_notes(reading.notes.value());
  EXPECT_TRUE(is_valid_stamp(std::string(32, '\xaa'), kMessageRounds, notes.stamp, 8));
  EXPECT_EQ(notes.stamped, 8);
  // It is not looked for again, but for a recipient that wants more.
  EXPECT_EQ(kLxmf.wire.judge(Generating(notes).facts()).signal, On::kAnswered);
  Notes more = notes;
  more.cost = 9;
  EXPECT_EQ(kLxmf.wire.judge(Generating(more).facts()).signal, On::kDue);
  message.state.state = kSending;
  message.notes = encode_notes(notes);
  const WireRequest look = kLxmf.wire.encode(message.facts(), AttemptKind::kSend);
  EXPECT_EQ(look.headers.find(kHeaderStamp), hex_of(notes.stamp));
  EXPECT_EQ(look.headers.find(kHeaderStamped), "8");
}

TEST(StampsWorkedFor, WaitWhenThereIsNoRoomForWork) {
  Generating message({.cost = 8});
  WireReply reply;
  reply.end = WireEnd::kHeldBack;
  const Reading reading = kLxmf.wire.classify(message.facts(), AttemptKind::kProbe, reply);
  EXPECT_EQ(reading.signal, On::kFailed);
  EXPECT_EQ(reading.retry_after, Duration(1'000));
  EXPECT_EQ(reading.outcome.failure, FailureClass::kHeldBack);
  EXPECT_FALSE(reading.notes);
}

}  // namespace
}  // namespace postrider::lxmf
