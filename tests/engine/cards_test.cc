// Cards: what a profile remembers beside its messages, written in the commit of what they belong
// to, and arrivals that are taken whole or not at all.
#include <algorithm>
#include <functional>

#include "postrider/base/codec.h"
#include "postrider/model/records/keys.h"
#include "postrider/model/records/records.h"
#include "postrider/profiles/all.h"
#include "tests/support/spec_rig.h"

namespace postrider {
namespace {

using Receive = std::function<Received(const Inbound&)>;
using Classify = std::function<Reading(const Facts&)>;
using Hear = std::function<Reading(const Facts&)>;
using After = std::function<Aftermath(const Facts&, const Moment&)>;

// What the profile of the test does; each test sets what it needs.
struct Behaviour {
  Receive receive;
  Classify classify;
  Hear notice;
  After after;
};
Behaviour& behaviour() {
  static Behaviour all;
  return all;
}

class Cards : public SpecRig {
 protected:
  Cards() {
    behaviour() = {};
    spec_.news.receive = [](const Inbound& inbound) {
      return behaviour().receive ? behaviour().receive(inbound) : Received();
    };
    spec_.news.notice = [](const Facts& facts, const Notice&) {
      return behaviour().notice ? behaviour().notice(facts) : Reading{.declines = true};
    };
    spec_.wire.classify = [](const Facts& facts, AttemptKind kind, const WireReply& reply) {
      return behaviour().classify ? behaviour().classify(facts)
                                  : sim::drill_profile().wire.classify(facts, kind, reply);
    };
    spec_.after = [](const Facts& facts, const Moment& moment) {
      return behaviour().after ? behaviour().after(facts, moment) : Aftermath();
    };
    for (const ProfileSpec* profile : all_profiles()) {
      if (profile->name == "mailbox") profiles_both_[1] = profile;
    }
    options.engine.profiles = profiles_both_;
  }

  // Puts "key=bytes", or removes "-key", and remembers what was there before as the reply.
  static Received change(const Inbound& inbound) {
    Received out;
    const std::string text(inbound.bytes);
    const std::size_t cut = text.find('=');
    const bool removes = text[0] == '-';
    const std::string key = removes ? text.substr(1) : text.substr(0, cut);
    if (const std::string* before = inbound.cabinet->card("notes", key)) out.reply = *before;
    if (inbound.cabinet->lacks()) return {};
    Card card{.drawer = "notes", .key = key, .bytes = {}, .expires = {}, .removed = removes};
    if (!removes) card.bytes = text.substr(cut + 1);
    out.cards.push_back(std::move(card));
    return out;
  }
  Answer arrive(const std::string& text, OperationKey key = {}) {
    post(news(next(), text, std::move(key)));
    turn();
    return told(questions);
  }
  // With recent_cards_max of 0: what was used in an earlier instant goes when another one is used.
  void push_out_of_memory() {
    advance(1s);
    arrive("z=another");
    advance(1s);
  }
  CardPage query(Query::What what, const std::string& key = {}, std::uint32_t limit = 100) {
    Query event = ask(next(), what);
    event.profile = "drill";
    event.drawer = "notes";
    event.card = key;
    event.limit = limit;
    post(event);
    turn();
    return view_of<CardPage>(questions);
  }
  std::string card(const std::string& key) {
    const CardPage page = query(Query::What::kCard, key);
    return page.cards.empty() ? "(none)" : page.cards.front().bytes;
  }
  std::uint64_t counted() {
    post(ask(next(), Query::What::kStats));
    for (const auto& [profile, count] : view_of<Stats>(questions).cards) {
      if (profile == "drill") return count;
    }
    return 0;
  }
  std::size_t records(char space) {
    return store.memory()
        .scan({keys::space(space), keys::after_prefix(keys::space(space)), UINT32_MAX})
        .rows.size();
  }
  void make_box(NamedTexts settings = {}) {
    Configure event;
    event.caller.ticket = Ticket(next());
    event.config.name = "box";
    event.config.profile = "mailbox";
    event.config.settings = std::move(settings);
    post(event);
    ASSERT_EQ(code_of(questions), AnswerCode::kDone);
  }
  std::vector<std::string> in_box() {
    Query event = ask(next(), Query::What::kReadMailbox);
    event.destination = "box";
    post(event);
    std::vector<std::string> out;
    for (const MailboxPage::Item& item : view_of<MailboxPage>(questions).items)
      out.push_back(item.body);
    return out;
  }
  using Texts = std::vector<std::string>;

 private:
  std::array<const ProfileSpec*, 2> profiles_both_ = {&spec_, nullptr};
};

// req: engine.card.1, engine.card.2
TEST_F(Cards, AreReadAndChangedByAnArrivalAndStayOverARestart) {
  behaviour().receive = change;
  open_mill();
  EXPECT_EQ(arrive("a=one").code, AnswerCode::kDone);
  EXPECT_EQ(arrive("a=two").reply, "one");
  EXPECT_EQ(arrive("b=other").reply, "");
  EXPECT_EQ(counted(), 2U);
  open();
  EXPECT_EQ(card("a"), "two");
  EXPECT_EQ(arrive("a=three").reply, "two");
  EXPECT_EQ(arrive("-a").reply, "three");
  EXPECT_EQ(arrive("-a").reply, "");
  EXPECT_EQ(card("a"), "(none)");
  EXPECT_EQ(counted(), 1U);
  EXPECT_EQ(records(keys::kCard), 1U);
}

// req: engine.card.2
TEST_F(Cards, AreWrittenInTheCommitOfTheMessagesThatFollow) {
  behaviour().receive = [](const Inbound& inbound) {
    Received out = change(inbound);
    out.submits.push_back({.destination = "mill", .attributes = {}, .body = "follows"});
    return out;
  };
  open_mill();
  store.holds_commits = true;
  post(news(next(), "a=one"));
  const auto& writes = store.held_batch().writes();
  const auto holds = [&](char space) {
    return std::any_of(writes.begin(), writes.end(),
                       [space](const Write& write) { return write.key[0] == space; });
  };
  EXPECT_TRUE(holds(keys::kCard));
  EXPECT_TRUE(holds(keys::kNested) || holds(keys::kHot));
  EXPECT_FALSE(answered(questions)) << "it is not durable yet";
  while (store.commits_held() > 0) release_commit();
  EXPECT_TRUE(answered(questions));
}

// req: engine.card.3
TEST_F(Cards, ThatMustBeReadAreReadBeforeAnythingChanges) {
  options.engine.limits.recent_cards_max = 0;
  behaviour().receive = change;
  open_mill();
  arrive("a=one");
  push_out_of_memory();
  store.holds_reads = true;
  post(news(next(), "a=two"));
  const std::uint64_t first = questions;
  post(news(next(), "a=three"));
  EXPECT_FALSE(answered(first));
  // Reads that overtake each other: each arrival still sees what was decided before it.
  while (store.reads_held() > 0) release_newest_read();
  store.holds_reads = false;
  turn();
  const Texts replies = {told(first).reply, told(questions).reply};
  EXPECT_TRUE(replies == (Texts{"one", "two"}) || replies == (Texts{"three", "one"}))
      << replies[0] << ", " << replies[1];
  EXPECT_EQ(counted(), 2U);
}

// req: engine.card.3
TEST_F(Cards, AreAskedForByClassifyBeforeTheAttemptEnds) {
  options.engine.limits.recent_cards_max = 0;
  behaviour().receive = change;
  open_mill();
  arrive("a=known");
  push_out_of_memory();
  behaviour().classify = [](const Facts& facts) {
    Reading reading;
    const std::string* card = facts.cabinet->card("notes", "a");
    reading.signal = card != nullptr ? On::kAnswered : On::kFailed;
    reading.cards.push_back({.drawer = "notes", .key = "b", .bytes = "by classify", .expires = {}});
    return reading;
  };
  advance(1s);
  const MessageId message_id = sent({});
  store.holds_reads = true;
  post(answer(last_attempt(), 200));
  EXPECT_GT(store.reads_held(), 0U);
  while (store.reads_held() > 0) release_read();
  store.holds_reads = false;
  turn();
  EXPECT_EQ(card("b"), "by classify");
  Query event = ask(next(), Query::What::kExplain);
  event.id = message_id;
  post(event);
  EXPECT_EQ(view_of<Explanation>(questions).phase, Phase::kDelivered);
}

// req: engine.card.3
TEST_F(Cards, AreReadByNotice) {
  behaviour().receive = change;
  open_mill();
  arrive("a=secret word");
  const MessageId message_id = sent({});
  behaviour().receive = [message_id](const Inbound&) {
    Received out;
    Subject subject;
    subject.message = message_id;
    out.subjects.push_back(std::move(subject));
    return out;
  };
  behaviour().notice = [](const Facts& facts) {
    Reading reading;
    reading.silent = true;
    const std::string* card = facts.cabinet->card("notes", "a");
    if (card != nullptr) reading.notes = *card;
    reading.cards.push_back({.drawer = "notes", .key = "a", .bytes = "used", .expires = {}});
    return reading;
  };
  open();  // nothing of it is in memory
  EXPECT_EQ(arrive("news").code, AnswerCode::kDone);
  EXPECT_EQ(card("a"), "used");
  Query event = ask(next(), Query::What::kMessage);
  event.id = message_id;
  post(event);
  EXPECT_EQ(view_of<MessageView>(questions).notes, "secret word");
}

// req: engine.card.4
TEST_F(Cards, BeyondALimitRefuseWhatWantedThemAndNothingGoes) {
  options.engine.limits.card_bytes_max = 1024;
  options.engine.limits.cards_of_step_max = 2;
  options.engine.limits.card_bytes_of_step_max = 1500;
  options.engine.limits.cards_max = 2;
  behaviour().receive = change;
  open_mill();
  EXPECT_EQ(arrive("a=" + std::string(1023, 'x')).code, AnswerCode::kDone);
  EXPECT_EQ(arrive("a=" + std::string(1024, 'x')).code, AnswerCode::kDone);
  EXPECT_EQ(arrive("a=" + std::string(1025, 'x')).code, AnswerCode::kTooLarge);
  EXPECT_EQ(arrive("b=two").code, AnswerCode::kDone);
  const Answer full = arrive("c=three");
  EXPECT_EQ(full.code, AnswerCode::kFull);
  EXPECT_NE(full.detail.find("none was thrown out"), std::string::npos);
  EXPECT_EQ(arrive("b=changed").code, AnswerCode::kDone) << "there already";
  EXPECT_EQ(counted(), 2U);
  EXPECT_EQ(card("c"), "(none)");
  EXPECT_EQ(card("b"), "changed");

  const auto put = [](std::size_t cards, std::size_t bytes) {
    return [cards, bytes](const Inbound&) {
      Received out;
      for (std::size_t i = 0; i < cards; ++i)
        out.cards.push_back({.drawer = "notes",
                             .key = std::string(1, static_cast<char>('a' + i)),
                             .bytes = std::string(bytes, 'y'),
                             .expires = {}});
      return out;
    };
  };
  behaviour().receive = put(2, 750);
  EXPECT_EQ(arrive("two").code, AnswerCode::kDone);
  behaviour().receive = put(2, 751);
  EXPECT_EQ(arrive("too many bytes").code, AnswerCode::kTooLarge);
  behaviour().receive = put(3, 1);
  EXPECT_EQ(arrive("too many").code, AnswerCode::kTooLarge);
  EXPECT_EQ(card("a"), std::string(750, 'y'));
  open();
  behaviour().receive = change;
  EXPECT_EQ(arrive("c=three").code, AnswerCode::kFull) << "over a restart";
  EXPECT_EQ(arrive("-a").code, AnswerCode::kDone);
  EXPECT_EQ(arrive("c=three").code, AnswerCode::kDone);
}

// req: engine.card.4
TEST_F(Cards, ForWhichThereIsNoRoomMakeAnAnswerAFailure) {
  options.engine.limits.cards_max = 0;
  behaviour().classify = [](const Facts&) {
    Reading reading;
    reading.signal = On::kAnswered;
    reading.cards.push_back({.drawer = "notes", .key = "a", .bytes = "x", .expires = {}});
    return reading;
  };
  open_mill();
  const MessageId message_id = sent({});
  post(answer(last_attempt(), 200));
  Query event = ask(next(), Query::What::kExplain);
  event.id = message_id;
  post(event);
  const Explanation told = view_of<Explanation>(questions);
  EXPECT_NE(told.phase, Phase::kDelivered);
  EXPECT_NE(told.reason.find("may not have more"), std::string::npos) << told.reason;
  EXPECT_EQ(records(keys::kCard), 0U);
}

// req: engine.card.5
TEST_F(Cards, GoWhenTheirTimeIsOverAndNotBefore) {
  behaviour().receive = [](const Inbound& inbound) {
    Received out = change(inbound);
    if (!out.cards.empty()) out.cards[0].expires = inbound.now + 1h;
    return out;
  };
  open_mill();
  arrive("a=one");
  EXPECT_EQ(records(keys::kDue), 1U);
  advance(30min);
  arrive("a=two");  // for an hour from now
  EXPECT_EQ(records(keys::kDue), 1U);
  advance(59min);
  EXPECT_EQ(card("a"), "two");
  open();
  advance(59s);
  EXPECT_EQ(card("a"), "two");
  advance(1s);
  EXPECT_EQ(card("a"), "(none)");
  turn();
  EXPECT_EQ(counted(), 0U);
  EXPECT_EQ(records(keys::kCard), 0U);
  EXPECT_EQ(records(keys::kDue), 0U);
  arrive("a=three");
  arrive("-a");
  EXPECT_EQ(records(keys::kDue), 0U);
}

// req: engine.card.6
TEST_F(Cards, ThatCannotBeReadGoToQuarantineAndAreNotCounted) {
  behaviour().receive = change;
  open_mill();
  arrive("a=one");
  arrive("b=two");
  const std::string key = keys::card("drill", "notes", "a");
  ASSERT_TRUE(store.memory().damage(key));
  open();
  EXPECT_EQ(arrive("a=again").reply, "") << "as if there were none";
  EXPECT_EQ(card("a"), "again");
  EXPECT_EQ(counted(), 2U);
  EXPECT_EQ(records(keys::kQuarantine), 1U);
  ASSERT_TRUE(store.memory().damage(keys::card("drill", "notes", "b")));
  open();
  EXPECT_EQ(query(Query::What::kCards).cards.size(), 1U);
  EXPECT_EQ(counted(), 1U);
  EXPECT_EQ(records(keys::kCard), 1U);
  EXPECT_EQ(records(keys::kQuarantine), 2U);
}

// req: engine.card.7
TEST_F(Cards, OfADrawerAreReadPageByPage) {
  behaviour().receive = change;
  open_mill();
  for (const char* key : {"c", "a", "e", "b", "d"}) arrive(std::string(key) + "=1");
  const CardPage first = query(Query::What::kCards, "", 2);
  ASSERT_EQ(first.cards.size(), 2U);
  EXPECT_EQ(first.cards[0].key, "a");
  EXPECT_EQ(first.cards[1].key, "b");
  const CardPage second = query(Query::What::kCards, first.next, 2);
  ASSERT_EQ(second.cards.size(), 2U);
  EXPECT_EQ(second.cards[0].key, "c");
  const CardPage third = query(Query::What::kCards, second.next, 2);
  ASSERT_EQ(third.cards.size(), 1U);
  EXPECT_EQ(third.cards[0].key, "e");
  EXPECT_EQ(third.next, "");
}

// req: engine.card.8
TEST_F(Cards, AreReadFromMemoryWhileTheyAreNew) {
  behaviour().receive = change;
  open_mill();
  arrive("a=one");
  const std::uint64_t reads = store.reads();
  for (int i = 0; i < 10; ++i) arrive("a=" + std::to_string(i));
  EXPECT_EQ(store.reads(), reads);
  EXPECT_EQ(card("a"), "9");
}

// req: engine.card.9
TEST_F(Cards, OfAnEndLieUnderTheIdOfTheMessage) {
  behaviour().after = [](const Facts& facts, const Moment& moment) {
    Aftermath out;
    if (moment.kind != Moment::Kind::kEnded) return out;
    out.cards.push_back({.drawer = "outcomes", .key = {}, .bytes = "done", .expires = {}});
    out.cards.push_back({.drawer = "outcomes", .key = "mine", .bytes = "refused", .expires = {}});
    EXPECT_EQ(facts.cabinet->card("outcomes", "any"), nullptr);
    EXPECT_FALSE(facts.cabinet->lacks());
    return out;
  };
  open_mill();
  const MessageId message_id = sent({});
  post(answer(last_attempt(), 200));
  std::string own;
  Writer(own).u64(message_id.high).u64(message_id.low);
  Query event = ask(next(), Query::What::kCards);
  event.profile = "drill";
  event.drawer = "outcomes";
  post(event);
  const CardPage page = view_of<CardPage>(questions);
  ASSERT_EQ(page.cards.size(), 1U);
  EXPECT_EQ(page.cards[0].key, own);
  EXPECT_EQ(page.cards[0].bytes, "done");
  EXPECT_EQ(counted(), 1U);
}

// req: engine.card.10
TEST_F(Cards, AndTheCabinetGivesRandomnessAndSecrets) {
  options.seeds = [] { return EntropySeed{7}; };
  auto secrets = std::make_shared<Secrets>();
  secrets->put("key", "of the house");
  options.engine.secrets = secrets;
  behaviour().receive = [](const Inbound& inbound) {
    Received out;
    std::array<std::uint8_t, 16> bytes{};
    inbound.cabinet->random(bytes);
    out.reply = std::string(inbound.cabinet->secret("key")) + "/" +
                std::string(inbound.cabinet->secret("other")) + "/" +
                std::string(bytes.begin(), bytes.end());
    return out;
  };
  open_mill();
  const std::string first = arrive("one").reply;
  const std::string second = arrive("two").reply;
  EXPECT_TRUE(first.starts_with("of the house//"));
  EXPECT_EQ(first.size(), 30U);
  EXPECT_EQ(second.size(), 30U);
}

// req: engine.arrival.reply.1
TEST_F(Cards, AReplyIsTheSameForARepetition) {
  behaviour().receive = change;
  open_mill();
  arrive("a=one");
  const Answer first = arrive("a=two", opaque("k"));
  EXPECT_EQ(first.reply, "one");
  open();
  const Answer again = arrive("a=two", opaque("k"));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.reply, "one");
}

Received firmly(std::vector<std::string> destinations) {
  Received out;
  out.firm = true;
  for (std::string& name : destinations)
    out.submits.push_back({.destination = std::move(name), .attributes = {}, .body = "arrived"});
  out.cards.push_back({.drawer = "notes", .key = "seen", .bytes = "yes", .expires = {}});
  return out;
}

// req: engine.arrival.firm.1
TEST_F(Cards, AFirmArrivalForADestinationThatDoesNotExistIsRefusedWhole) {
  behaviour().receive = [](const Inbound&) { return firmly({"box"}); };
  open_mill();
  const Answer refused = arrive("hello", opaque("k"));
  EXPECT_EQ(refused.code, AnswerCode::kNotFound);
  EXPECT_NE(refused.detail.find("'box'"), std::string::npos);
  EXPECT_EQ(card("seen"), "(none)");
  make_box();
  const Answer taken = arrive("hello", opaque("k"));  // a refusal is not remembered
  EXPECT_EQ(taken.code, AnswerCode::kDone);
  EXPECT_TRUE(taken.id.is_set());
  EXPECT_EQ(in_box(), (Texts{"arrived"}));
  EXPECT_EQ(card("seen"), "yes");
  EXPECT_EQ(arrive("hello", opaque("k")).id, taken.id);
  EXPECT_EQ(in_box(), (Texts{"arrived"}));
}

// req: engine.arrival.firm.1
TEST_F(Cards, AFirmArrivalTakesAllItsMessagesOrNone) {
  open_mill();
  make_box({{"kept_max", "3"}});
  behaviour().receive = [](const Inbound&) { return firmly({"box", "nowhere"}); };
  EXPECT_EQ(arrive("one").code, AnswerCode::kNotFound);
  EXPECT_EQ(in_box(), Texts());
  behaviour().receive = [](const Inbound&) { return firmly({"box", "box"}); };
  EXPECT_EQ(arrive("two").code, AnswerCode::kDone);
  EXPECT_EQ(in_box().size(), 2U);
  EXPECT_EQ(arrive("three").code, AnswerCode::kNoRoom) << "there is room for one";
  EXPECT_EQ(in_box().size(), 2U);
  behaviour().receive = [](const Inbound&) { return firmly({"box"}); };
  EXPECT_EQ(arrive("four").code, AnswerCode::kDone);
  EXPECT_EQ(arrive("five").code, AnswerCode::kNoRoom);
  open();
  EXPECT_EQ(in_box().size(), 3U);
}

}  // namespace
}  // namespace postrider
