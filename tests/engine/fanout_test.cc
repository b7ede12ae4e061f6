// Fan-out, seen from outside: groups, who gets what, all or none, and the body that is there once
// and goes with the last that refers to it.
#include <algorithm>
#include <array>
#include <span>

#include "postrider/model/records/keys.h"
#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class Fanout : public ShardRig {
 protected:
  std::uint64_t next() { return ++ticket_; }
  void open_with(const std::vector<std::string>& names, const NamedTexts& settings = {}) {
    open();
    for (const std::string& name : names) post(configure(next(), name, settings));
  }
  static ChangeGroup change(std::uint64_t ticket, ChangeGroup::What what, std::string name,
                            std::vector<FanoutMember> members = {}) {
    ChangeGroup event;
    event.caller.ticket = Ticket(ticket);
    event.caller.actor = "ops";
    event.what = what;
    event.group.name = std::move(name);
    event.group.members = std::move(members);
    return event;
  }
  Answer changed(ChangeGroup::What what, const std::string& name,
                 std::vector<FanoutMember> members = {}) {
    const std::uint64_t ticket = next();
    post(change(ticket, what, name, std::move(members)));
    return told(ticket);
  }
  AnswerCode put(const std::string& name, std::vector<FanoutMember> members) {
    return changed(ChangeGroup::What::kPut, name, std::move(members)).code;
  }
  static FanOut fan(std::uint64_t ticket, std::string type = "invoice.paid",
                    OperationKey key = {}) {
    FanOut event;
    event.caller.ticket = Ticket(ticket);
    event.caller.key = std::move(key);
    event.group = "customers";
    event.type = std::move(type);
    event.body = "one body";
    return event;
  }
  Answer sent(FanOut event) {
    post(std::move(event));
    return told(ticket_);
  }
  FanoutView accepted(const std::string& type = "invoice.paid") {
    const Answer answer = sent(fan(next(), type));
    EXPECT_EQ(answer.code, AnswerCode::kAccepted) << answer.detail;
    const auto* view = std::get_if<FanoutView>(&answer.view);
    return view != nullptr ? *view : FanoutView();
  }
  static std::vector<std::string> names(const FanoutView& view) {
    std::vector<std::string> out;
    for (const FanoutView::Member& member : view.members) out.push_back(member.destination);
    return out;
  }
  std::size_t rows(char space) {
    return store.memory()
        .scan({keys::space(space), keys::after_prefix(keys::space(space)), 100'000})
        .rows.size();
  }
  std::size_t bodies() { return rows(keys::kBody) / 2; }
  Counters counters() {
    post(ask(next(), Query::What::kStats));
    return view_of<Stats>(ticket_).counters;
  }
  MessageView shown(MessageId id) {
    Query event = ask(next(), Query::What::kMessage);
    event.id = id;
    post(event);
    return view_of<MessageView>(ticket_);
  }
  // The open attempt of this message ends.
  void end(MessageId id, int status) {
    for (const StartAttempt& start : starts()) {
      if (start.message == id) post(answer(start.attempt, status));
    }
  }
  template <class Command>
  Answer command(MessageId id) {
    Command event;
    event.caller.ticket = Ticket(next());
    event.id = id;
    post(std::move(event));
    return told(ticket_);
  }
  // A group of n members, all of which want everything.
  void open_group(std::size_t count, const NamedTexts& settings = {}) {
    std::vector<std::string> all;
    std::vector<FanoutMember> members;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back("m" + std::to_string(1000 + i));
      members.push_back({all.back(), {}});
    }
    open_with(all, settings);
    ASSERT_EQ(put("customers", members), AnswerCode::kDone);
  }

 private:
  std::uint64_t ticket_ = 100;
};

// req: engine.fanout.1
TEST_F(Fanout, GivesEachMemberAMessageAndStoresTheBodyOnce) {
  open_group(3);
  const FanoutView view = accepted();
  EXPECT_EQ(names(view), (std::vector<std::string>{"m1000", "m1001", "m1002"}));
  EXPECT_EQ(bodies(), 1U);
  EXPECT_EQ(starts().size(), 3U);
  for (const StartAttempt& start : starts()) EXPECT_EQ(start.request.body, "one body");
  EXPECT_EQ(counters().accepted, 3U);
  EXPECT_EQ(counters().fanouts, 1U);
  EXPECT_EQ(counters().shared_bytes, 8U);
  for (const FanoutView::Member& member : view.members) {
    const MessageView shown_one = shown(member.message);
    EXPECT_EQ(shown_one.body, "one body");
    EXPECT_EQ(shown_one.explanation.fanout, view.id);
  }
}

// req: engine.fanout.2
TEST_F(Fanout, ServesThoseWhoSubscribeToTheType) {
  open_with({"all", "paid", "invoices", "other"});
  ASSERT_EQ(put("customers", {{"all", {}},
                              {"paid", {"invoice.paid"}},
                              {"invoices", {"invoice.*", "refund"}},
                              {"other", {"order.*"}}}),
            AnswerCode::kDone);
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(accepted("invoice.paid")), (Names{"all", "invoices", "paid"}));
  EXPECT_EQ(names(accepted("invoice.void.late")), (Names{"all", "invoices"}));
  EXPECT_EQ(names(accepted("invoice")), Names{"all"});
  EXPECT_EQ(names(accepted("invoices.paid")), Names{"all"});
  EXPECT_EQ(names(accepted("refund")), (Names{"all", "invoices"}));
  EXPECT_EQ(names(accepted("")), Names{"all"});
  EXPECT_EQ(sent(fan(next(), "a type")).code, AnswerCode::kInvalid);
  EXPECT_EQ(sent(fan(next(), std::string(129, 'x'))).code, AnswerCode::kInvalid);
  EXPECT_EQ(names(accepted(std::string(128, 'x'))), Names{"all"});
}

// req: engine.fanout.2
TEST_F(Fanout, IsAcceptedForNobodyWhenNobodySubscribes) {
  open_with({"paid"});
  ASSERT_EQ(put("customers", {{"paid", {"invoice.paid"}}}), AnswerCode::kDone);
  const FanoutView view = accepted("order.new");
  EXPECT_TRUE(view.members.empty());
  EXPECT_EQ(bodies(), 0U);
  EXPECT_EQ(counters().accepted, 0U);
}

// req: engine.fanout.1, engine.fanout.3
TEST_F(Fanout, IsRefusedAsAWholeAndNamesTheMember) {
  open_with({"a", "b", "c"}, {{"when_disabled", "refuse"}});
  ASSERT_EQ(put("customers", {{"a", {}}, {"b", {}}, {"c", {}}}), AnswerCode::kDone);
  const FanoutView first = accepted();
  end(first.members[1].message, 410);  // disables it
  end(first.members[0].message, 200);
  end(first.members[2].message, 200);
  const std::uint64_t before = counters().accepted;
  const std::size_t bodies_before = bodies();
  const Answer answer = sent(fan(next()));
  EXPECT_EQ(answer.code, AnswerCode::kDisabled);
  EXPECT_NE(answer.detail.find("member 'b'"), std::string::npos) << answer.detail;
  EXPECT_EQ(counters().accepted, before);
  EXPECT_EQ(bodies(), bodies_before);
  // The same with a destination that is gone, and an unknown group.
  ASSERT_EQ(put("customers", {{"a", {}}, {"c", {}}}), AnswerCode::kDone);
  Configure gone = configure(next(), "c");
  gone.config.removed = true;
  post(gone);
  const Answer without = sent(fan(next()));
  EXPECT_EQ(without.code, AnswerCode::kNotFound);
  EXPECT_NE(without.detail.find("member 'c'"), std::string::npos) << without.detail;
  FanOut nobody = fan(next());
  nobody.group = "nobody";
  EXPECT_EQ(sent(nobody).code, AnswerCode::kNotFound);
  EXPECT_EQ(counters().accepted, before);
}

// req: engine.fanout.3
TEST_F(Fanout, LeavesOutClosedMembersWhenTheGroupSaysSo) {
  open_with({"a", "b"}, {{"when_disabled", "refuse"}});
  ChangeGroup event = change(next(), ChangeGroup::What::kPut, "customers", {{"a", {}}, {"b", {}}});
  event.group.skip_closed = true;
  post(event);
  const FanoutView first = accepted();
  end(first.members[1].message, 410);
  const FanoutView second = accepted();
  EXPECT_EQ(names(second), std::vector<std::string>{"a"});
  EXPECT_EQ(second.skipped, std::vector<std::string>{"b"});
}

// req: engine.fanout.1
TEST_F(Fanout, IsRefusedAsAWholeWhenAProfileDoesNotTakeIt) {
  open_with({"plain", "fifo"}, {});
  ASSERT_EQ(put("customers", {{"plain", {}}, {"fifo", {}}}), AnswerCode::kDone);
  FanOut odd = fan(next());
  odd.attributes = encode_texts({{"header.bad name", "x"}});
  EXPECT_EQ(sent(odd).code, AnswerCode::kInvalid);
  FanOut large = fan(next());
  large.body.assign(options.engine.limits.body_bytes_max + 1, 'x');
  EXPECT_EQ(sent(large).code, AnswerCode::kTooLarge);
  FanOut late = fan(next());
  late.expires = Timestamp(1);
  EXPECT_EQ(sent(late).code, AnswerCode::kInvalid);
  EXPECT_EQ(counters().accepted, 0U);
  EXPECT_EQ(bodies(), 0U);
}

// req: engine.fanout.4
TEST_F(Fanout, HasOneAnswerForOneKey) {
  open_group(2);
  const std::uint64_t first = next();
  post(fan(first, "invoice.paid", opaque("k")));
  const std::uint64_t again = next();
  post(fan(again, "invoice.paid", opaque("k")));
  EXPECT_TRUE(told(again).replayed);
  EXPECT_EQ(view_of<FanoutView>(again), view_of<FanoutView>(first));
  const std::uint64_t other = next();
  post(fan(other, "invoice.void", opaque("k")));
  EXPECT_EQ(code_of(other), AnswerCode::kConflict);
  EXPECT_EQ(counters().accepted, 2U);
  open();  // also after a restart
  const std::uint64_t later = next();
  post(fan(later, "invoice.paid", opaque("k")));
  EXPECT_EQ(view_of<FanoutView>(later).members.size(), 2U);
  EXPECT_EQ(counters().accepted, 2U);
}

// req: engine.fanout.5
TEST_F(Fanout, TakesTheBodyAwayWithTheLastEnd) {
  open_group(3);
  const FanoutView view = accepted();
  end(view.members[0].message, 200);
  EXPECT_EQ(command<Cancel>(view.members[1].message).code, AnswerCode::kPending);
  end(view.members[1].message, 500);
  EXPECT_EQ(bodies(), 1U);
  end(view.members[2].message, 200);
  EXPECT_EQ(bodies(), 0U);
  EXPECT_EQ(counters().shared_bodies, 0U);
  EXPECT_EQ(counters().shared_bytes, 0U);
}

// req: engine.fanout.5
TEST_F(Fanout, KeepsTheBodyForDeadLettersUntilTheyGo) {
  open_group(3);
  const FanoutView view = accepted();
  for (const FanoutView::Member& member : view.members) end(member.message, 400);
  EXPECT_EQ(bodies(), 1U);
  EXPECT_EQ(rows(keys::kBodyLetter), 3U);
  EXPECT_EQ(shown(view.members[0].message).body, "one body");
  Query all = ask(next(), Query::What::kDeadLetters);
  all.contents = true;
  post(all);
  const auto letters = view_of<DeadLetters>(all.ticket.value());
  ASSERT_EQ(letters.contents.size(), 3U);
  for (const DeadLetters::Content& content : letters.contents)
    EXPECT_EQ(decode_message(content.message)->body, "one body");

  EXPECT_EQ(command<Drop>(view.members[0].message).code, AnswerCode::kDone);
  const Answer redriven = command<Redrive>(view.members[1].message);
  EXPECT_EQ(redriven.code, AnswerCode::kAccepted) << redriven.detail;
  EXPECT_EQ(bodies(), 1U);
  EXPECT_EQ(rows(keys::kBodyLetter), 1U);
  EXPECT_EQ(starts().back().request.body, "one body");
  end(redriven.id, 200);
  EXPECT_EQ(bodies(), 1U);
  EXPECT_EQ(command<Drop>(view.members[2].message).code, AnswerCode::kDone);
  EXPECT_EQ(bodies(), 0U);
  EXPECT_EQ(rows(keys::kBodyLetter), 0U);
}

// req: engine.fanout.5
TEST_F(Fanout, TakesTheBodyAwayWithTheRetentionOfItsLetters) {
  options.engine.dead.age = 1h;
  open_group(2);
  const FanoutView view = accepted();
  end(view.members[0].message, 400);
  end(view.members[1].message, 400);
  EXPECT_EQ(bodies(), 1U);
  for (int i = 0; i < 40; ++i) advance(10min);
  EXPECT_EQ(rows(keys::kDead), 0U);
  EXPECT_EQ(bodies(), 0U);
  EXPECT_EQ(rows(keys::kBodyLetter), 0U);
}

// req: engine.fanout.5
TEST_F(Fanout, CountsDownAfterARestartWhatTheFormerOwnerLeft) {
  open_group(2);
  const FanoutView view = accepted();
  end(view.members[0].message, 400);
  end(view.members[1].message, 200);
  store.holds_reads = true;  // the chore that counts down does not come to it
  Drop drop;
  drop.caller.ticket = Ticket(next());
  drop.id = view.members[0].message;
  post(drop);
  while (!answered(drop.caller.ticket.value())) release_read();
  shard.reset();
  while (store.reads_held() > 0) store.release_read();
  store.holds_reads = false;
  EXPECT_EQ(bodies(), 1U);
  open();
  EXPECT_EQ(bodies(), 0U);
  EXPECT_EQ(rows(keys::kBodyLetter), 0U);
}

// req: engine.fanout.6
TEST_F(Fanout, SurvivesARestartWithItsBody) {
  open_group(3);
  const FanoutView view = accepted();
  end(view.members[0].message, 200);
  open();
  std::size_t sent_again = 0;
  for (const StartAttempt& start : starts()) {
    EXPECT_EQ(start.request.body, "one body");
    ++sent_again;
  }
  EXPECT_EQ(sent_again, 2U);
  for (const StartAttempt& start : starts()) post(answer(start.attempt, 200));
  EXPECT_EQ(bodies(), 0U);
}

// req: engine.fanout.6
TEST_F(Fanout, WaitsOnDiskWithItsBody) {
  options.engine.limits.window_bytes_max = 1;  // everything is cold
  open_group(3);
  EXPECT_EQ(accepted().members.size(), 3U);
  EXPECT_EQ(rows(keys::kHot), 0U);
  ASSERT_EQ(starts().size(), 3U);
  for (const StartAttempt& start : starts()) {
    EXPECT_EQ(start.request.body, "one body");
    post(answer(start.attempt, 200));
  }
  EXPECT_EQ(counters().delivered, 3U);
  EXPECT_EQ(bodies(), 0U);
}

// req: engine.fanout.7
TEST_F(Fanout, ServesAsManyMembersAsTheLimitSays) {
  options.engine.limits.group_members_max = 3;
  open_with({"a", "b", "c", "d"});
  EXPECT_EQ(put("customers", {{"a", {}}, {"b", {}}}), AnswerCode::kDone);
  EXPECT_EQ(put("customers", {{"a", {}}, {"b", {}}, {"c", {}}}), AnswerCode::kDone);
  EXPECT_EQ(accepted().members.size(), 3U);
  EXPECT_EQ(changed(ChangeGroup::What::kAdd, "customers", {{"d", {}}}).code, AnswerCode::kTooLarge);
  EXPECT_EQ(put("customers", {{"a", {}}, {"b", {}}, {"c", {}}, {"d", {}}}), AnswerCode::kTooLarge);
  EXPECT_EQ(accepted().members.size(), 3U);
  // A limit that is lowered later holds for groups that are larger.
  options.engine.limits.group_members_max = 2;
  open();
  const Answer answer = sent(fan(next()));
  EXPECT_EQ(answer.code, AnswerCode::kTooLarge) << answer.detail;
  EXPECT_EQ(counters().fanouts, 2U);
}

// req: engine.fanout.7
TEST_F(Fanout, TakesAThousandMembersInOneCommit) {
  open_group(1000);
  const FanoutView view = accepted();
  EXPECT_EQ(view.members.size(), 1000U);
  EXPECT_EQ(counters().accepted, 1000U);
  EXPECT_EQ(bodies(), 1U);
}

// req: engine.fanout.7
TEST_F(Fanout, BoundsTheTypesAndTheBytesOfAGroup) {
  options.engine.limits.member_types_max = 2;
  options.engine.limits.group_bytes_max = 60;
  open_with({"a", "b"});
  EXPECT_EQ(put("customers", {{"a", {"x"}}}), AnswerCode::kDone);
  EXPECT_EQ(put("customers", {{"a", {"x", "y"}}}), AnswerCode::kDone);
  EXPECT_EQ(put("customers", {{"a", {"x", "y", "z"}}}), AnswerCode::kTooLarge);
  // The record has 32 bytes with a type of one byte: version, name, flag, time, counts, checksum.
  const auto with_type = [](std::size_t size) {
    return std::vector<FanoutMember>{{"a", {std::string(size, 'x')}}};
  };
  const std::size_t frame = encode_fanout_group({"customers", false, with_type(1), {}}).size() - 1;
  EXPECT_EQ(put("customers", with_type(60 - frame - 1)), AnswerCode::kDone);
  EXPECT_EQ(put("customers", with_type(60 - frame)), AnswerCode::kDone);
  EXPECT_EQ(put("customers", with_type(60 - frame + 1)), AnswerCode::kTooLarge);
}

// req: engine.fanout.8
TEST_F(Fanout, ChangesGroupsMemberByMember) {
  using What = ChangeGroup::What;
  open_with({"a", "b"});
  EXPECT_EQ(changed(What::kAdd, "customers", {{"a", {"x"}}}).code, AnswerCode::kDone);
  EXPECT_EQ(changed(What::kAdd, "customers", {{"a", {"x"}}}).code, AnswerCode::kNothing);
  EXPECT_EQ(changed(What::kAdd, "customers", {{"a", {"y"}}}).code, AnswerCode::kDone);
  EXPECT_EQ(changed(What::kAdd, "customers", {{"b", {}}}).code, AnswerCode::kDone);
  EXPECT_EQ(changed(What::kAdd, "customers", {{"nobody", {}}}).code, AnswerCode::kNotFound);
  EXPECT_EQ(put("customers", {{"a", {}}, {"a", {}}}), AnswerCode::kInvalid);
  EXPECT_EQ(put("customers", {{"a", {"bad type"}}}), AnswerCode::kInvalid);
  EXPECT_EQ(put("customers", {{"a", {"*.x"}}}), AnswerCode::kInvalid);
  EXPECT_EQ(put("", {}), AnswerCode::kInvalid);
  open();
  Query one = ask(next(), Query::What::kFanoutGroup);
  one.group = "customers";
  post(one);
  const auto shown_group = view_of<FanoutGroupPage>(one.ticket.value());
  ASSERT_EQ(shown_group.groups.size(), 1U);
  EXPECT_EQ(shown_group.groups[0].members, (std::vector<FanoutMember>{{"a", {"y"}}, {"b", {}}}));
  EXPECT_EQ(changed(What::kRemove, "customers", {{"b", {}}}).code, AnswerCode::kDone);
  EXPECT_EQ(changed(What::kRemove, "customers", {{"b", {}}}).code, AnswerCode::kNothing);
  EXPECT_EQ(put("others", {}), AnswerCode::kDone);
  Query all = ask(next(), Query::What::kFanoutGroups);
  all.limit = 1;
  post(all);
  auto page = view_of<FanoutGroupPage>(all.ticket.value());
  ASSERT_EQ(page.groups.size(), 1U);
  EXPECT_EQ(page.groups[0].name, "customers");
  all.ticket = Ticket(next());
  all.cursor = page.next;
  post(all);
  page = view_of<FanoutGroupPage>(all.ticket.value());
  ASSERT_EQ(page.groups.size(), 1U);
  EXPECT_EQ(page.groups[0].name, "others");
  EXPECT_TRUE(page.next.empty());
  all.ticket = Ticket(next());
  all.cursor = "D";
  post(all);
  EXPECT_EQ(code_of(all.ticket.value()), AnswerCode::kInvalid);
  EXPECT_EQ(changed(What::kDrop, "customers").code, AnswerCode::kDone);
  EXPECT_EQ(changed(What::kDrop, "customers").code, AnswerCode::kNotFound);
  EXPECT_EQ(sent(fan(next())).code, AnswerCode::kNotFound);
  EXPECT_GE(rows(keys::kAudit), 6U);
}

// req: engine.fanout.6
TEST_F(Fanout, PutsMessagesWhoseBodyIsLostIntoQuarantine) {
  options.engine.limits.window_bytes_max = 1;
  open_group(2, {{"in_flight_max", "1"}});
  const FanoutView view = accepted();
  store.memory().damage(keys::body(view.id.value(), keys::BodyPart::kBytes));
  open();
  advance(1min);
  EXPECT_TRUE(starts().empty());
  EXPECT_EQ(counters().shared_bodies, 0U);
  EXPECT_EQ(rows(keys::kBody), 0U);
  EXPECT_EQ(rows(keys::kBodyLetter), 0U);
  Query why = ask(next(), Query::What::kExplain);
  why.id = view.members[0].message;
  post(why);
  EXPECT_EQ(view_of<Explanation>(why.ticket.value()).place, Explanation::Place::kQuarantine);
}

// req: engine.fanout.1
TEST_F(Fanout, IsRefusedInTheInstantInWhichItExpires) {
  open_group(2);
  FanOut event = fan(next());
  event.expires = instant().wall;
  EXPECT_EQ(sent(event).code, AnswerCode::kInvalid);
  event = fan(next());
  event.expires = instant().wall + 1ms;
  EXPECT_EQ(sent(event).code, AnswerCode::kAccepted);
  EXPECT_EQ(counters().accepted, 2U);
}

// Only profiles that say so are bounded by how many messages live. req: engine.limit.1
TEST_F(Fanout, TakesAsManyMembersAsMayLive) {
  const std::span<const ProfileSpec* const> known = all_profiles();
  const auto* webhook = *std::find_if(
      known.begin(), known.end(), [](const ProfileSpec* one) { return one->name == "webhook"; });
  ProfileSpec bounded = *webhook;
  bounded.bounded = true;
  const std::array<const ProfileSpec*, 1> profiles = {&bounded};
  options.engine.profiles = profiles;
  options.engine.limits.live_max = 5;
  open_group(3);
  EXPECT_EQ(accepted().members.size(), 3U);
  Answer refused = sent(fan(next()));
  EXPECT_EQ(refused.code, AnswerCode::kFull);
  EXPECT_TRUE(refused.detail.starts_with("member 'm1002': too many messages are alive already"))
      << refused.detail << ": two more may live";
  EXPECT_EQ(counters().live(), 3U) << "nothing was accepted for anybody";
  options.engine.limits.live_max = 6;
  open();
  EXPECT_EQ(accepted().members.size(), 3U);
  refused = sent(fan(next()));
  EXPECT_TRUE(refused.detail.starts_with("member 'm1000'")) << refused.detail;
  EXPECT_EQ(counters().live(), 6U);
  options.engine.profiles = known;
  open();
  EXPECT_EQ(accepted().members.size(), 3U) << "without a bound";
  shard.reset();
}

// req: engine.fanout.5
TEST_F(Fanout, CountsTheBytesOfABodyThatGoesWithALetter) {
  open_group(2);
  const FanoutView view = accepted();
  for (const FanoutView::Member& member : view.members) end(member.message, 400);
  EXPECT_EQ(counters().shared_bytes, 8U);
  open();  // nobody has the body in memory any more
  for (const FanoutView::Member& member : view.members) {
    EXPECT_EQ(counters().shared_bytes, 8U);
    EXPECT_EQ(command<Drop>(member.message).code, AnswerCode::kDone);
    turn();
  }
  EXPECT_EQ(counters().shared_bytes, 0U);
  EXPECT_EQ(counters().shared_bodies, 0U);
  EXPECT_EQ(rows(keys::kBodyLetter), 0U);
}

// What has no shared body leaves no trace among those: not when its letter goes, nor when it is
// sent again, nor when it cannot be read. req: engine.fanout.5
TEST_F(Fanout, IsNothingToMessagesThatShareNoBody) {
  open_with({"a"});
  std::vector<MessageId> ids;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t ticket = next();
    post(submit(ticket, "a"));
    ids.push_back(id_of(ticket));
    end(ids.back(), 400);
  }
  EXPECT_EQ(command<Drop>(ids[0]).code, AnswerCode::kDone);
  EXPECT_EQ(command<Redrive>(ids[1]).code, AnswerCode::kAccepted);
  ASSERT_EQ(rows(keys::kDead), 2U);
  for (const Row& row :
       store.memory()
           .scan({keys::space(keys::kDead), keys::after_prefix(keys::space(keys::kDead)), 10})
           .rows)
    EXPECT_TRUE(store.memory().damage(row.first));
  post(ask(next(), Query::What::kDeadLetters));
  turn();
  EXPECT_EQ(counters().quarantined, 2U);
  EXPECT_FALSE(store.bytes_by_space().contains(keys::kBodyLetter));
  EXPECT_FALSE(store.bytes_by_space().contains(keys::kBody));
}

// A body whose count cannot be read is kept: nobody can tell who refers to it. req: engine.fanout.6
TEST_F(Fanout, KeepsABodyWhoseCountIsLost) {
  open_group(2, {{"in_flight_max", "1"}});
  const FanoutView view = accepted();
  ASSERT_TRUE(store.memory().damage(keys::body(view.id.value(), keys::BodyPart::kCount)));
  open();
  EXPECT_EQ(counters().quarantined, 1U);
  EXPECT_EQ(rows(keys::kQuarantine), 1U);
  ASSERT_EQ(starts().size(), 2U) << "the body itself is whole";
  for (const StartAttempt& start : starts()) {
    EXPECT_EQ(start.request.body, "one body");
    post(answer(start.attempt, start.attempt == attempt(0) ? 200 : 400));
  }
  EXPECT_EQ(counters().delivered, 1U);
  EXPECT_EQ(rows(keys::kBody), 1U) << "the bytes stay";
  EXPECT_EQ(counters().shared_bodies, 1U);
}

// req: engine.fanout.6, engine.quarantine.1
TEST_F(Fanout, ALetterWhoseBodyIsLostRefersToNothing) {
  open_group(2);
  const FanoutView view = accepted();
  for (const FanoutView::Member& member : view.members) end(member.message, 400);
  open();
  EXPECT_EQ(rows(keys::kBodyLetter), 2U);
  ASSERT_TRUE(store.memory().damage(keys::body(view.id.value(), keys::BodyPart::kBytes)));
  Query all = ask(next(), Query::What::kDeadLetters);
  all.contents = true;
  post(all);
  turn();
  EXPECT_TRUE(view_of<DeadLetters>(all.ticket.value()).letters.empty());
  EXPECT_EQ(rows(keys::kDead), 0U);
  EXPECT_EQ(rows(keys::kBodyLetter), 0U);
  EXPECT_EQ(counters().quarantined, 4U) << "two letters, the body and its count";
  EXPECT_EQ(counters().shared_bodies, 0U);
  EXPECT_EQ(counters().shared_bytes, 0U);
}

// req: engine.fanout.7
TEST_F(Fanout, NamesAMemberThatIsGivenTwiceWhereverItStands) {
  open_with({"a", "b", "c"});
  const Answer answer =
      changed(ChangeGroup::What::kPut, "customers", {{"b", {}}, {"a", {}}, {"c", {}}, {"b", {}}});
  EXPECT_EQ(answer.code, AnswerCode::kInvalid);
  EXPECT_EQ(answer.detail, "member 'b' is given twice");
}

}  // namespace
}  // namespace postrider
