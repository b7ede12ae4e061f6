// A node of ours between a sender and a recipient: uploads, syncs, and what goes wrong with them.
#include "postrider/profiles/lxmf/notes.h"
#include "postrider/profiles/lxmf/profile.h"
#include "postrider/profiles/lxmf/two_stations_testing.h"

namespace postrider::lxmf {
namespace {

reticulum::Identity carol() {
  reticulum::SeededRandom random(7);
  return reticulum::Identity(random.bytes<64>());
}

std::string stamp_for(const Digest& transient, std::uint32_t cost) {
  StampSearch::Job job;
  job.cost = cost;
  job.rounds = kPropagationRounds;
  job.material = reticulum::view(transient);
  const std::string input = encode_search(job);
  WireRequest request;
  request.target = kStampWork;
  request.body = input;
  return worked(request).body;
}

// Alice sends, Bob is the node, Carol is away most of the time.
class Propagation : public ::testing::Test {
 protected:
  using Kind = InterfaceSetup::Kind;
  static constexpr std::uint8_t kNodeCost = 14;

  static StationSetup setup(std::optional<reticulum::Identity> identity,
                            std::vector<InterfaceSetup> interfaces) {
    StationSetup out;
    out.interfaces = std::move(interfaces);
    if (identity) out.identities.push_back({"key", *identity, "inbox", {}});
    return out;
  }
  static StationSetup node_setup() {
    StationSetup out = setup({}, {{"door", Kind::kListens, "tcp://n:1", {}}});
    out.node = NodeSetup{.name = "node", .identity = bob(), .display_name = "a node"};
    out.node->cost = kNodeCost;
    out.node->flexibility = 1;
    return out;
  }
  Propagation()
      : n(net, "n", node_setup(), 3),
        a(net, "a",
          setup(alice(), {{"door", Kind::kListens, "tcp://a:1", {}},
                          {"uplink", Kind::kCalls, "tcp://n:1", {}}}),
          1),
        c(net, "c",
          setup(carol(), {{"friend", Kind::kCalls, "tcp://a:1", {}},
                          {"uplink", Kind::kCalls, "tcp://n:1", {}}}),
          2),
        node(reticulum::single_destination(reticulum::name_hash(kPropagationName),
                                           bob().hash())) {}
  // All hear of each other.
  void start_all() {
    n.start();
    a.start();
    c.start();
    net.run(10s);
  }
  static PackedMessage letter(const std::string& content) {
    LxmfMessage message;
    message.destination = delivery(carol());
    message.source = delivery(alice());
    message.time = 1'767'225'600.0;
    message.content = content;
    return pack(message, alice().signing()).value();
  }
  Word word_of(const Machine& machine) const {
    return machine.ends.empty() || machine.ends.back().first != machine.last_attempt
               ? Word{0}
               : machine.ends.back().second;
  }
  // What the profile says of a message at each step.
  NamedTexts texts(const PackedMessage& message, const std::string& sealed,
                   const std::string& stamp) const {
    NamedTexts out = {{std::string(kHeaderNode), hex_of(reticulum::view(node))},
                      {std::string(kHeaderId), hex_of(reticulum::view(message.id))}};
    if (!sealed.empty())
      out.emplace_back(kHeaderSealed, hex_of(reticulum::view(transient_id(sealed))));
    if (!stamp.empty()) out.emplace_back(kHeaderStamp, hex_of(stamp));
    return out;
  }
  std::string learn(const PackedMessage& message) {
    a.find(delivery(carol()), kPropagated, texts(message, {}, {}), "learn", message.bytes);
    net.run(1s);
    return word_of(a) == Word::kLearnt ? a.reply : std::string();
  }
  Word upload(const PackedMessage& message, const std::string& sealed, const std::string& stamp,
              Duration within = 20s) {
    a.cards[{std::string(kUploads), std::string(reticulum::view(message.id))}] = sealed;
    a.find(delivery(carol()), kPropagated, texts(message, sealed, stamp));
    net.run(1s);
    a.look(message, delivery(carol()), kPropagated, texts(message, sealed, stamp));
    net.run(within);
    return word_of(a);
  }
  // Learnt, worked for, and uploaded.
  std::string send(const std::string& content) {
    const PackedMessage message = letter(content);
    const std::string learnt = learn(message);
    EXPECT_EQ(learnt.substr(0, 1), std::string(1, static_cast<char>(kNodeCost)));
    const std::string sealed = learnt.substr(1);
    EXPECT_EQ(upload(message, sealed, stamp_for(transient_id(sealed), kNodeCost)), Word::kProven);
    return sealed;
  }
  Word sync(Duration within = 30s) {
    c.find(node, kSync, {{std::string(kHeaderFrom), "key"}}, "look");
    net.run(within);
    return word_of(c);
  }
  std::vector<std::pair<MessageId, std::string>>& box() {
    return n.kept[kept_for(delivery(carol()))];
  }

  Net net;
  Machine n;
  Machine a;
  Machine c;
  Address node;
};

// req: lxmf.prop.4, lxmf.node.1, lxmf.sync.1, lxmf.node.3
TEST_F(Propagation, TakesAMessageToItsRecipient) {
  start_all();
  send("short");
  send(std::string(2'000, 'l'));
  EXPECT_EQ(n.figure("lxmf uploads taken by our node"), 2U);
  ASSERT_EQ(box().size(), 2U);
  EXPECT_TRUE(c.inbox.empty());
  EXPECT_EQ(sync(), Word::kProven);
  ASSERT_EQ(c.inbox.size(), 2U);
  EXPECT_NE(c.inbox[0].find("\"content\":\"short\""), std::string::npos) << "the smallest first";
  EXPECT_NE(c.inbox[0].find("\"method\":\"PROPAGATED\",\"signature\":\"verified\""),
            std::string::npos);
  EXPECT_TRUE(box().empty()) << "what is stored is deleted there";
  EXPECT_EQ(sync(), Word::kProven);
  EXPECT_EQ(c.inbox.size(), 2U);
}

// req: lxmf.node.2
TEST_F(Propagation, KeepsAnUploadOnceAlsoAfterItWasDeleted) {
  start_all();
  const PackedMessage message = letter("once");
  const std::string sealed = learn(message).substr(1);
  const std::string stamp = stamp_for(transient_id(sealed), kNodeCost);
  EXPECT_EQ(upload(message, sealed, stamp), Word::kProven);
  EXPECT_EQ(upload(message, sealed, stamp), Word::kProven) << "it is proven again";
  EXPECT_EQ(box().size(), 1U);
  EXPECT_EQ(sync(), Word::kProven);
  EXPECT_EQ(upload(message, sealed, stamp), Word::kProven);
  EXPECT_TRUE(box().empty());
}

// req: lxmf.node.2
TEST_F(Propagation, ProvesNoUploadBeforeItIsDurable) {
  start_all();
  const PackedMessage message = letter("durable");
  const std::string sealed = learn(message).substr(1);
  n.holds = true;
  EXPECT_EQ(upload(message, sealed, stamp_for(transient_id(sealed), kNodeCost), 1s), Word{0});
  n.holds = false;
  n.commit();
  net.run(1s);
  EXPECT_EQ(word_of(a), Word::kProven);
  // What its store does not take is not proven.
  n.refuses = AnswerCode::kBusy;
  const PackedMessage other = letter("busy");
  const std::string sealed_too = learn(other).substr(1);
  EXPECT_EQ(upload(other, sealed_too, stamp_for(transient_id(sealed_too), kNodeCost)),
            Word::kLinkClosed);
}

// req: lxmf.node.1, lxmf.prop.5
TEST_F(Propagation, RefusesAStampBelowItsCostAndFlexibility) {
  start_all();
  for (const std::size_t length : {5U, 3'000U}) {  // a packet, and a resource
    const PackedMessage message = letter(std::string(length, 'w'));
    const std::string sealed = learn(message).substr(1);
    const Digest transient = transient_id(sealed);
    std::string weak(32, 'w');
    while (stamp_value(reticulum::view(transient), kPropagationRounds, weak) > 10) ++weak[0];
    EXPECT_EQ(upload(message, sealed, weak), Word::kStampRefused);
    EXPECT_TRUE(box().empty());
    // Its cost is heard anew before anything else is worked for.
    a.find(delivery(carol()), kPropagated, texts(message, sealed, {}), "learn", message.bytes);
    net.run(1ms);
    EXPECT_EQ(word_of(a), Word::kNodeNoPath);
    net.run(10s);
    EXPECT_FALSE(learn(letter("again")).empty());
  }
  EXPECT_EQ(n.figure("lxmf uploads refused by our node"), 2U);
}

// req: lxmf.sync.2
TEST_F(Propagation, LeavesAtTheNodeWhatCannotBeOpened) {
  start_all();
  send("good");
  std::string strange = std::string(reticulum::view(delivery(carol()))) + std::string(200, 's');
  box().emplace_back(MessageId{1, 100}, strange);
  EXPECT_EQ(sync(), Word::kProven);
  EXPECT_EQ(c.inbox.size(), 1U);
  ASSERT_EQ(box().size(), 1U);
  EXPECT_EQ(box()[0].second, strange);
  EXPECT_EQ(c.figure("lxmf messages left at nodes"), 1U);
}

// req: lxmf.sync.3
TEST_F(Propagation, FetchesOnceThoughItIsKilledBeforeItAcknowledges) {
  start_all();
  send("one");
  send("two");
  c.holds = true;
  EXPECT_EQ(sync(200ms), Word{0});
  for (int i = 0; i < 20 && c.inbox.empty(); ++i) {
    net.run(20ms);
    c.commit();
  }
  ASSERT_FALSE(c.inbox.empty());
  ASSERT_EQ(box().size(), 2U) << "nothing was deleted yet";
  c.holds = false;
  c.start();
  net.run(10s);
  EXPECT_EQ(sync(), Word::kProven);
  EXPECT_EQ(c.inbox.size(), 2U);
  EXPECT_TRUE(box().empty());
}

TEST_F(Propagation, OfANodeThatIsGoneIsTriedAgain) {
  start_all();
  net.loses = [](const Machine&, std::string_view) { return true; };
  EXPECT_EQ(sync(60s), Word::kLinkTimedOut);
  const PackedMessage message = letter("later");
  a.find(delivery(carol()), kPropagated, texts(message, "sealed", {}));
  net.run(60s);
  EXPECT_EQ(word_of(a), Word::kLinkTimedOut);
}

// What the engine keeps of a message that goes PROPAGATED.
class PropagatedMessage : public ::testing::Test {
 protected:
  PropagatedMessage() {
    state.state = kFinding;
    state.method = kPropagated;
    parsed = std::move(*kLxmf.door.read({}, attributes));
    prepared = kLxmf.settings.prepare(settings);
  }
  Reading classify(Word word, AttemptKind kind, std::string body = {}) {
    const Facts facts{.message = message,
                      .state = state,
                      .destination = DestinationFacts(name, settings),
                      .policy = policy,
                      .now = Timestamp(1'000),
                      .wall = {},
                      .notes = notes,
                      .values = {prepared.get(), parsed.get()},
                      .cabinet = &cabinet};
    Reading reading = kLxmf.wire.classify(facts, kind, reply_of(word, std::move(body)));
    if (reading.notes) notes = *reading.notes;
    for (const Card& card : reading.cards) cards[{card.drawer, card.key}] = card.bytes;
    return reading;
  }
  On judged() {
    state.state = kGenerating;
    const Facts facts{.message = message,
                      .state = state,
                      .destination = DestinationFacts(name, settings),
                      .policy = policy,
                      .now = {},
                      .wall = {},
                      .notes = notes,
                      .values = {prepared.get(), parsed.get()},
                      .cabinet = &cabinet};
    return kLxmf.wire.judge(facts).signal;
  }
  Message message;
  State state;
  std::string name = recipient_name(delivery(carol()));
  NamedTexts settings = {{"identity", "key"}, {"propagation_node", std::string(32, 'a')}};
  Policy policy;
  std::string notes;
  std::string attributes = encode_texts({{"id", std::string(64, 'b')}});
  std::unique_ptr<const Opaque> parsed;
  std::shared_ptr<const Opaque> prepared;
  MapCabinet::Cards cards;
  MapCabinet cabinet{cards};
};

// req: lxmf.prop.3
TEST_F(PropagatedMessage, IsSealedOnceForAllItsAttempts) {
  EXPECT_EQ(judged(), On::kNoRoute) << "the cost is not known";
  const std::string sealed(200, 's');
  const Reading first = classify(Word::kLearnt, AttemptKind::kFindRoute, "\x0e" + sealed);
  EXPECT_EQ(first.signal, On::kAcked);
  ASSERT_EQ(first.cards.size(), 1U);
  EXPECT_EQ(decode_notes(notes).sealed, reticulum::view(transient_id(sealed)));
  EXPECT_EQ(judged(), On::kDue) << "work for the stamp";
  // The same message once more, as a dead letter that is sent again.
  notes.clear();
  const Reading second =
      classify(Word::kLearnt, AttemptKind::kFindRoute, "\x0e" + std::string(200, 't'));
  EXPECT_TRUE(second.cards.empty());
  EXPECT_EQ(decode_notes(notes).sealed, reticulum::view(transient_id(sealed)));
  // Another node wants its own cost to be learnt, and what is sealed stays.
  settings[1].second = std::string(32, 'c');
  prepared = kLxmf.settings.prepare(settings);
  EXPECT_EQ(judged(), On::kNoRoute);
  EXPECT_TRUE(classify(Word::kLearnt, AttemptKind::kFindRoute, "\x0d").cards.empty());
  EXPECT_EQ(decode_notes(notes).sealed, reticulum::view(transient_id(sealed)));
}

// req: lxmf.prop.3
TEST_F(PropagatedMessage, GetsTheStampOfItsRecipientBeforeItIsSealed) {
  EXPECT_EQ(classify(Word::kWantsStamp, AttemptKind::kFindRoute, "\x04").signal, On::kAcked);
  EXPECT_EQ(judged(), On::kDue);
  state.state = kStamping;
  const Reading inner = classify(Word{200}, AttemptKind::kProbe, std::string(32, 'i'));
  EXPECT_EQ(inner.signal, On::kProgressed);
  EXPECT_EQ(find_row(kPropagatedRows, kStamping, inner.signal)->to, kGenerating);
  EXPECT_EQ(judged(), On::kNoRoute) << "now it can be sealed";
  state.state = kFinding;
  classify(Word::kLearnt, AttemptKind::kFindRoute, "\x0e" + std::string(200, 's'));
  EXPECT_EQ(judged(), On::kDue);
  state.state = kStamping;
  EXPECT_EQ(classify(Word{200}, AttemptKind::kProbe, std::string(32, 'n')).signal, On::kAnswered);
  EXPECT_EQ(decode_notes(notes).stamp, std::string(32, 'n'));
  EXPECT_EQ(decode_notes(notes).inner_stamp, std::string(32, 'i'));
}

TEST_F(Propagation, SealsTheStampThatTheRecipientWants) {
  c.setup.identities[0].stamp_cost = 4;
  c.setup.identities[0].enforces_stamps = true;
  start_all();
  const PackedMessage message = letter("stamped twice");
  a.find(delivery(carol()), kPropagated, texts(message, {}, {}), "learn", message.bytes);
  net.run(1ms);
  EXPECT_EQ(word_of(a), Word::kWantsStamp);
  EXPECT_EQ(a.reply, "\x04");
  StampSearch::Job job;
  job.cost = 4;
  job.material = reticulum::view(message.id);
  const std::string input = encode_search(job);
  WireRequest request;
  request.target = kStampWork;
  request.body = input;
  NamedTexts more = texts(message, {}, worked(request).body);
  more.emplace_back(kHeaderStamped, "4");
  a.find(delivery(carol()), kPropagated, more, "learn", message.bytes);
  net.run(1ms);
  ASSERT_EQ(word_of(a), Word::kLearnt);
  const std::string sealed = a.reply.substr(1);
  EXPECT_EQ(upload(message, sealed, stamp_for(transient_id(sealed), kNodeCost)), Word::kProven);
  EXPECT_EQ(sync(), Word::kProven);
  ASSERT_EQ(c.inbox.size(), 1U);
  EXPECT_NE(c.inbox[0].find("\"stamp\":\"valid\""), std::string::npos);
}

// req: lxmf.prop.6
TEST_F(PropagatedMessage, IsStampedAnewAndThenRejected) {
  classify(Word::kLearnt, AttemptKind::kFindRoute, "\x0e" + std::string(200, 's'));
  state.state = kSending;
  const std::pair<Word, int> cases[] = {{Word::kStampRefused, 1}, {Word::kUploadDropped, 2}};
  for (const auto& [word, renewals] : cases) {
    Notes fresh = decode_notes(notes);
    fresh.renewed = 0;
    notes = encode_notes(fresh);
    for (int i = 0; i < renewals; ++i) {
      EXPECT_EQ(classify(word, AttemptKind::kSend).signal, On::kStaleRoute);
      EXPECT_TRUE(decode_notes(notes).stamp.empty());
      EXPECT_EQ(judged(), On::kNoRoute) << "the cost is asked anew";
      state.state = kSending;
    }
    const Reading last = classify(word, AttemptKind::kSend);
    EXPECT_EQ(last.signal, On::kRejected);
    EXPECT_EQ(last.outcome.reason, "stamp_refused");
  }
}

// req: lxmf.st.3
TEST_F(PropagatedMessage, EndsAsSentToItsNode) {
  state.state = kSending;
  EXPECT_EQ(classify(Word::kProven, AttemptKind::kSend).signal, On::kAccepted);
  const Transition* row = find_row(kPropagatedRows, kSending, On::kAccepted);
  EXPECT_EQ(kPublicStates[row->to].word, "SENT");
  EXPECT_EQ(kStates[row->to].phase, Phase::kDelivered);
}

// req: lxmf.prop.2
TEST_F(PropagatedMessage, WaitsWhenTheNodeIsUnset) {
  settings.pop_back();
  prepared = kLxmf.settings.prepare(settings);
  EXPECT_EQ(judged(), On::kNoRoute);
  const Reading reading = classify(Word::kNoNode, AttemptKind::kFindRoute);
  EXPECT_EQ(reading.outcome.reason, "no_propagation_node");
  EXPECT_EQ(find_row(kPropagatedRows, kFinding, reading.signal)->raise, Raise::kFail);
}

}  // namespace
}  // namespace postrider::lxmf
