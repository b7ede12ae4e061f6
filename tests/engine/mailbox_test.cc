// Mailboxes and callers that wait: what a reader sees, what a confirmation does, and who is told.
#include "tests/support/bulk_rig.h"

namespace postrider {
namespace {

class Mailbox : public Bulk {
 protected:
  void make(const std::string& name, NamedTexts settings = {}) {
    Configure event;
    event.caller.ticket = Ticket(next());
    event.config.name = name;
    event.config.profile = "mailbox";
    event.config.settings = std::move(settings);
    post(event);
    ASSERT_EQ(code_of(ticket_), AnswerCode::kDone);
  }
  MessageId put(const std::string& box, const std::string& body) {
    Submit event = submit(next(), box);
    event.body = body;
    post(std::move(event));
    EXPECT_EQ(code_of(ticket_), AnswerCode::kAccepted);
    return id_of(ticket_);
  }
  MailboxPage read(const std::string& box, MessageId after = {}, std::uint32_t limit = 100) {
    Query event = ask(next(), Query::What::kReadMailbox);
    event.destination = box;
    event.id = after;
    event.limit = limit;
    post(event);
    return view_of<MailboxPage>(ticket_);
  }
  static std::vector<std::string> bodies(const MailboxPage& page) {
    std::vector<std::string> out;
    for (const MailboxPage::Item& item : page.items) out.push_back(item.body);
    return out;
  }
  Confirmed confirm(const std::string& box, std::vector<MessageId> ids) {
    Confirm event;
    event.caller.ticket = Ticket(next());
    event.destination = box;
    event.ids = std::move(ids);
    post(event);
    return view_of<Confirmed>(ticket_);
  }
  std::uint64_t await(MessageId id, Duration at_most = 1min) {
    Await event;
    event.ticket = Ticket(next());
    event.id = id;
    event.at_most = at_most;
    post(event);
    return ticket_;
  }
  std::uint64_t await_box(const std::string& box, MessageId after = {}) {
    Await event;
    event.ticket = Ticket(next());
    event.destination = box;
    event.after = after;
    event.at_most = 1min;
    post(event);
    return ticket_;
  }
  using Texts = std::vector<std::string>;
};

// req: engine.mailbox.1
TEST_F(Mailbox, IsReadInTheOrderOfAcceptanceAndNothingIsSent) {
  open();
  make("box");
  for (const char* body : {"one", "two", "three"}) put("box", body);
  EXPECT_EQ(bodies(read("box")), (Texts{"one", "two", "three"}));
  EXPECT_EQ(bodies(read("box")), (Texts{"one", "two", "three"}));  // reading changes nothing
  advance(24h);
  EXPECT_TRUE(starts().empty());
  open();
  EXPECT_EQ(bodies(read("box")), (Texts{"one", "two", "three"}));
}

// req: engine.mailbox.1
TEST_F(Mailbox, PrioritiesDoNotChangeTheOrder) {
  open();
  make("box");
  put("box", "first");
  Submit event = submit(next(), "box");
  event.body = "urgent";
  event.priority = 9;
  post(std::move(event));
  EXPECT_EQ(bodies(read("box")), (Texts{"first", "urgent"}));
}

// req: engine.mailbox.2
TEST_F(Mailbox, ACursorGoesOnBehindWhatWasRead) {
  open();
  make("box");
  for (int i = 0; i < 5; ++i) put("box", std::to_string(i));
  const MailboxPage first = read("box", {}, 2);
  EXPECT_EQ(bodies(first), (Texts{"0", "1"}));
  EXPECT_TRUE(first.more);
  put("box", "5");
  const MailboxPage second = read("box", first.items.back().id, 2);
  EXPECT_EQ(bodies(second), (Texts{"2", "3"}));
  const MailboxPage third = read("box", second.items.back().id, 2);
  EXPECT_EQ(bodies(third), (Texts{"4", "5"}));
  EXPECT_FALSE(third.more);
  EXPECT_TRUE(read("box", third.items.back().id, 2).items.empty());
}

// req: engine.mailbox.2
TEST_F(Mailbox, APageHoldsSoManyBytesAndAlwaysOneMessage) {
  options.engine.limits.mailbox_bytes_max = 1000;
  open();
  make("box");
  for (int i = 0; i < 3; ++i) put("box", std::string(900, static_cast<char>('a' + i)));
  const MailboxPage page = read("box");
  ASSERT_EQ(page.items.size(), 1U);
  EXPECT_TRUE(page.more);
  EXPECT_EQ(read("box", page.items[0].id).items[0].body, std::string(900, 'b'));
}

// req: engine.mailbox.3
TEST_F(Mailbox, ConfirmedIsDeliveredOnceAndNotReadAgain) {
  open();
  make("box");
  const MessageId one = put("box", "one");
  const MessageId two = put("box", "two");
  const Confirmed done = confirm("box", {one, one});
  EXPECT_EQ(done.confirmed, 1U);
  EXPECT_EQ(bodies(read("box")), (Texts{"two"}));
  EXPECT_EQ(counters().delivered, 1U);
  const Confirmed again = confirm("box", {one});
  EXPECT_EQ(again.confirmed, 0U);
  EXPECT_EQ(again.gone, 1U);
  EXPECT_EQ(counters().delivered, 1U);
  open();
  EXPECT_EQ(bodies(read("box")), (Texts{"two"}));
  EXPECT_EQ(confirm("box", {two}).confirmed, 1U);
  EXPECT_EQ(counters().live(), 0U);
}

// req: engine.mailbox.3
TEST_F(Mailbox, AMessageOfAnotherMailboxIsNotConfirmed) {
  open();
  make("mine");
  make("yours");
  const MessageId theirs = put("yours", "x");
  EXPECT_EQ(confirm("mine", {theirs}).gone, 1U);
  EXPECT_EQ(bodies(read("yours")), (Texts{"x"}));
}

// req: engine.mailbox.3
TEST_F(Mailbox, SoManyAreConfirmedAtATime) {
  options.engine.limits.confirm_ids_max = 2;
  open();
  make("box");
  std::vector<MessageId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(put("box", "x"));
  Confirm event;
  event.caller.ticket = Ticket(next());
  event.destination = "box";
  event.ids = ids;
  post(event);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kTooLarge);
  EXPECT_EQ(confirm("box", {ids[0], ids[1]}).confirmed, 2U);
}

// req: engine.mailbox.4
TEST_F(Mailbox, AFullOneRefusesAndKeepsWhatItHas) {
  open();
  make("box", {{"kept_max", "2"}});
  const MessageId one = put("box", "one");
  put("box", "two");
  post(submit(next(), "box"));
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNoRoom);
  open();
  post(submit(next(), "box"));
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNoRoom);
  EXPECT_EQ(bodies(read("box")), (Texts{"one", "two"}));
  confirm("box", {one});
  put("box", "three");
  EXPECT_EQ(bodies(read("box")), (Texts{"two", "three"}));
}

// req: engine.mailbox.4
TEST_F(Mailbox, BytesAreTakenUpToTheQuotaAndNotOneMore) {
  open();
  make("box", {{"kept_bytes_max", "1000"}});
  put("box", std::string(600, 'x'));
  Submit large = submit(next(), "box");
  large.body = std::string(401, 'y');
  post(large);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNoRoom);
  put("box", std::string(400, 'z'));
  Submit more = submit(next(), "box");
  more.body = "1";
  post(more);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNoRoom);
}

// req: engine.mailbox.4
TEST_F(Mailbox, BytesAreCountedOverRestarts) {
  open();
  make("box", {{"kept_bytes_max", "4000"}});
  const MessageId one = put("box", std::string(3000, 'x'));
  open();
  Submit large = submit(next(), "box");
  large.body = std::string(1001, 'y');
  post(large);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kNoRoom);
  confirm("box", {one});
  open();
  put("box", std::string(3000, 'z'));
}

// req: engine.mailbox.5
TEST_F(Mailbox, UnreadMessagesExpireByTheirOwnExpiryOnly) {
  open();
  make("box");
  Submit mortal = submit(next(), "box");
  mortal.body = "mortal";
  mortal.expires = kStart + 1h;
  post(std::move(mortal));
  put("box", "immortal");
  advance(59min);
  EXPECT_EQ(read("box").items.size(), 2U);
  advance(2min);
  EXPECT_EQ(bodies(read("box")), (Texts{"immortal"}));
  EXPECT_EQ(counters().expired, 1U);
  advance(300 * 24h);
  EXPECT_EQ(bodies(read("box")), (Texts{"immortal"}));
}

// req: engine.mailbox.1
TEST_F(Mailbox, TakesNoDelayAndNoOtherLane) {
  open();
  make("box");
  Submit later = submit(next(), "box");
  later.not_before = kStart + 1h;
  post(later);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kInvalid);
  Submit aside = submit(next(), "box");
  aside.lane = 1;
  post(aside);
  EXPECT_EQ(code_of(ticket_), AnswerCode::kInvalid);
}

// req: engine.mailbox.1
TEST_F(Mailbox, OnlyAMailboxIsReadAndConfirmed) {
  open_with({"hook"});
  for (const char* name : {"hook", "nothing"}) {
    Query event = ask(next(), Query::What::kReadMailbox);
    event.destination = name;
    post(event);
    EXPECT_EQ(code_of(ticket_), AnswerCode::kNotFound) << name;
    Confirm confirmation;
    confirmation.caller.ticket = Ticket(next());
    confirmation.destination = name;
    post(confirmation);
    EXPECT_EQ(code_of(ticket_), AnswerCode::kNotFound) << name;
    await_box(name);
    EXPECT_EQ(code_of(ticket_), AnswerCode::kNotFound) << name;
  }
}

// req: engine.await.1
TEST_F(Mailbox, ACallerIsToldWhenItsMessageHasEnded) {
  open_with({"hook"});
  post(submit(next(), "hook"));
  const MessageId id = id_of(ticket_);
  const std::uint64_t waiter = await(id);
  EXPECT_FALSE(answered(waiter));
  store.holds_commits = true;
  post(answer(last_attempt(), 200));
  EXPECT_FALSE(answered(waiter));  // not before it is durable
  release_commit();
  EXPECT_EQ(code_of(waiter), AnswerCode::kDone);
  EXPECT_EQ(id_of(waiter), id);
}

// req: engine.await.1
TEST_F(Mailbox, WhatHasEndedIsToldAtOnce) {
  open_with({"hook"});
  post(submit(next(), "hook"));
  const MessageId id = id_of(ticket_);
  post(answer(last_attempt(), 200));
  EXPECT_EQ(code_of(await(id)), AnswerCode::kDone);
}

// req: engine.await.2
TEST_F(Mailbox, WhenTheTimeIsOverItIsPending) {
  options.engine.limits.await_max = 2min;
  open_with({"hook"});
  post(submit(next(), "hook"));
  const MessageId id = id_of(ticket_);
  const std::uint64_t brief = await(id, 10s);
  const std::uint64_t longest = await(id, 1h);
  advance(9s);
  EXPECT_FALSE(answered(brief));
  advance(1s);
  EXPECT_EQ(code_of(brief), AnswerCode::kPending);
  advance(109s);
  EXPECT_FALSE(answered(longest));
  advance(1s);
  EXPECT_EQ(code_of(longest), AnswerCode::kPending);
}

// req: engine.await.3
TEST_F(Mailbox, SoManyWaitForOneAndInAll) {
  options.engine.limits.awaits_of_one_max = 2;
  options.engine.limits.awaits_max = 3;
  open_with({"a", "b"});
  post(submit(next(), "a"));
  const MessageId a = id_of(ticket_);
  post(submit(next(), "b"));
  const MessageId b = id_of(ticket_);
  EXPECT_FALSE(answered(await(a)));
  const std::uint64_t second = await(a);
  EXPECT_FALSE(answered(second));
  EXPECT_EQ(code_of(await(a)), AnswerCode::kBusy);
  EXPECT_FALSE(answered(await(b)));
  EXPECT_EQ(code_of(await(b)), AnswerCode::kBusy);
  post(StopWaiting{Ticket(second)});
  EXPECT_FALSE(answered(await(b)));
  advance(2min);
  EXPECT_FALSE(answered(second));  // its caller has gone
}

// req: engine.await.4
TEST_F(Mailbox, AReaderIsToldWhenSomethingComes) {
  open();
  make("box");
  const std::uint64_t waiter = await_box("box");
  EXPECT_FALSE(answered(waiter));
  const MessageId one = put("box", "one");
  EXPECT_EQ(code_of(waiter), AnswerCode::kDone);
  EXPECT_TRUE(answered(await_box("box")));  // something is there already
  const std::uint64_t behind = await_box("box", one);
  EXPECT_FALSE(answered(behind));
  put("box", "two");
  EXPECT_TRUE(answered(behind));
}

}  // namespace
}  // namespace postrider
