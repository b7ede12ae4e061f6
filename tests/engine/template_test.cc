// Templates, seen from outside: destinations that a first message makes, whose settings hold for
// them, and what becomes of them when the template changes, or is to go.
#include <string>

#include "postrider/model/records/keys.h"
#include "tests/support/shard_rig.h"

namespace postrider {
namespace {

class Template : public ShardRig {
 protected:
  std::uint64_t next() { return ++ticket_; }
  Answer last() const { return told(ticket_); }
  // The url of a template is that of all that are like it.
  Answer put(const std::string& name, NamedTexts settings = {}) {
    Configure event = configure(next(), "x", std::move(settings));
    event.config.name = name;
    post(std::move(event));
    return last();
  }
  Answer send(const std::string& name, OperationKey key = {}) {
    post(submit(next(), name, std::move(key)));
    return last();
  }
  Answer remove(const std::string& name, bool drains = false) {
    Configure event;
    event.caller.ticket = Ticket(next());
    event.config.name = name;
    event.config.removed = true;
    event.config.draining = drains;
    post(std::move(event));
    return last();
  }
  Answer merge(const std::string& name, NamedTexts settings) {
    Configure event;
    event.caller.ticket = Ticket(next());
    event.config.name = name;
    event.config.settings = std::move(settings);
    event.merge = true;
    post(std::move(event));
    return last();
  }
  DestinationView look(const std::string& name) {
    Query query = ask(next(), Query::What::kDestination);
    query.destination = name;
    post(query);
    return view_of<DestinationView>(ticket_);
  }
  std::size_t rows(char space) {
    return store.memory()
        .scan({keys::space(space), keys::after_prefix(keys::space(space)), 100'000})
        .rows.size();
  }
  DestinationConfig stored(MessageId id) {
    const auto record = store.memory().get(keys::config(id.destination()));
    EXPECT_TRUE(record.has_value());
    return record ? decode_config(record->view()).value_or(DestinationConfig())
                  : DestinationConfig();
  }
  static std::string setting(const DestinationView& view, std::string_view name) {
    const std::string* text = find_text(view.config.settings, name);
    return text == nullptr ? std::string() : *text;
  }

 private:
  std::uint64_t ticket_ = 100;
};

// req: engine.template.1
TEST_F(Template, MakesADestinationInTheCommitOfItsFirstMessage) {
  open();
  ASSERT_EQ(put("hook:*").code, AnswerCode::kDone);
  EXPECT_EQ(rows(keys::kConfig), 0U) << "a template is no destination";
  store.holds_commits = true;
  post(submit(next(), "hook:a"));
  EXPECT_EQ(rows(keys::kConfig), 0U);
  ASSERT_EQ(store.commits_held(), 1U);
  release_commit();
  store.holds_commits = false;
  EXPECT_EQ(last().code, AnswerCode::kAccepted);
  EXPECT_EQ(rows(keys::kConfig), 1U);
  EXPECT_EQ(rows(keys::kHot), 1U);
  ASSERT_EQ(starts().size(), 1U);
  EXPECT_EQ(starts()[0].request.target, "https://x.example/hook");
}

// req: engine.template.1
TEST_F(Template, MakesNothingForAMessageThatIsRefused) {
  open();
  put("hook:*");
  Submit bad = submit(next(), "hook:a");
  bad.attributes = encode_texts({{"no-such-attribute", "x"}});
  post(std::move(bad));
  EXPECT_EQ(last().code, AnswerCode::kInvalid);
  Submit late = submit(next(), "hook:b");
  late.expires = kStart - 1s;
  post(std::move(late));
  EXPECT_EQ(last().code, AnswerCode::kInvalid);
  EXPECT_EQ(rows(keys::kConfig), 0U);
  EXPECT_EQ(rows(keys::kLike), 0U);
  EXPECT_EQ(send("hook:a").code, AnswerCode::kAccepted);
}

// req: engine.template.1
TEST_F(Template, MakesADestinationOnce) {
  open();
  put("hook:*");
  const Answer first = send("hook:a");
  const Answer second = send("hook:a");
  EXPECT_EQ(first.id.destination(), second.id.destination());
  open();
  EXPECT_EQ(send("hook:a").id.destination(), first.id.destination());
  EXPECT_EQ(rows(keys::kConfig), 1U);
  EXPECT_EQ(rows(keys::kLike), 1U);
}

// req: engine.template.2
TEST_F(Template, IsAllThatTheRecordOfItsDestinationsNames) {
  open();
  put("hook:*", {{"secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}});
  const DestinationConfig config = stored(send("hook:a").id);
  EXPECT_EQ(config.name, "hook:a");
  EXPECT_EQ(config.like, "hook:*");
  EXPECT_TRUE(config.profile.empty());
  EXPECT_TRUE(config.settings.empty());
  const DestinationView view = look("hook:a");
  EXPECT_EQ(view.config.profile, "webhook");
  EXPECT_EQ(view.config.like, "hook:*");
  EXPECT_EQ(setting(view, "url"), "https://x.example/hook");
}

// req: engine.template.3
TEST_F(Template, TheLongestThatFitsCounts) {
  open();
  put("hook:*", {{"in_flight_max", "1"}});
  put("hook:eu:*", {{"in_flight_max", "2"}});
  EXPECT_EQ(stored(send("hook:eu:a").id).like, "hook:eu:*");
  EXPECT_EQ(stored(send("hook:eu").id).like, "hook:*");
  EXPECT_EQ(stored(send("hook:eu:").id).like, "hook:*") << "nothing follows the longer one's";
  EXPECT_EQ(send("hook:").code, AnswerCode::kNotFound);
  EXPECT_EQ(send("hoo").code, AnswerCode::kNotFound);
}

// req: engine.template.3
TEST_F(Template, TakesNoMessagesItself) {
  open();
  put("hook:*");
  EXPECT_EQ(send("hook:*").code, AnswerCode::kInvalid);
  EXPECT_EQ(send("hook:a*").code, AnswerCode::kInvalid);
  EXPECT_EQ(send("hook:a b").code, AnswerCode::kNotFound) << "no name of a destination";
  EXPECT_EQ(rows(keys::kConfig), 0U);
  EXPECT_EQ(put("hook*x").code, AnswerCode::kInvalid);
  EXPECT_EQ(put("*").code, AnswerCode::kInvalid);
}

// req: engine.template.4
TEST_F(Template, ChangesAllThatAreLikeItAtOnceAndOverRestarts) {
  open();
  put("hook:*", {{"in_flight_max", "1"}});
  send("hook:a");
  send("hook:a");
  EXPECT_EQ(starts().size(), 1U);
  put("hook:*", {{"in_flight_max", "2"}});
  EXPECT_EQ(setting(look("hook:a"), "in_flight_max"), "2");
  EXPECT_EQ(starts().size(), 2U) << "the second place is there at once";
  open();
  EXPECT_EQ(setting(look("hook:a"), "in_flight_max"), "2");
  put("hook:*", {{"in_flight_max", "3"}});
  EXPECT_EQ(setting(look("hook:a"), "in_flight_max"), "3");
}

// req: engine.template.4
TEST_F(Template, ChangesThoseThatAreNotInMemory) {
  options.engine.limits.residents_max = 0;
  open();
  put("hook:*", {{"rate", "1"}});
  send("hook:a");
  post(answer(attempt(0), 200));
  advance(1h);
  put("hook:*", {{"rate", "2"}});
  EXPECT_EQ(setting(look("hook:a"), "rate"), "2");
  const Query list = ask(next(), Query::What::kDestinations);
  post(list);
  for (const DestinationView& view : view_of<DestinationPage>(list.ticket.value()).destinations) {
    EXPECT_EQ(setting(view, "rate"), "2") << view.config.name;
    EXPECT_EQ(view.config.profile, "webhook");
  }
}

// req: engine.template.5
TEST_F(Template, AnOwnSettingGoesBeforeAndComesBackToTheTemplates) {
  open();
  put("hook:*", {{"in_flight_max", "1"}, {"rate", "5"}});
  const MessageId id = send("hook:a").id;
  ASSERT_EQ(merge("hook:a", {{"in_flight_max", "7"}}).code, AnswerCode::kDone);
  EXPECT_EQ(stored(id).settings, (NamedTexts{{"in_flight_max", "7"}}));
  EXPECT_EQ(stored(id).like, "hook:*");
  put("hook:*", {{"in_flight_max", "2"}, {"rate", "6"}});
  EXPECT_EQ(setting(look("hook:a"), "in_flight_max"), "7");
  EXPECT_EQ(setting(look("hook:a"), "rate"), "6");
  open();
  EXPECT_EQ(setting(look("hook:a"), "in_flight_max"), "7");
  ASSERT_EQ(merge("hook:a", {{"in_flight_max", ""}}).code, AnswerCode::kDone);
  EXPECT_EQ(setting(look("hook:a"), "in_flight_max"), "2");
  EXPECT_TRUE(stored(id).settings.empty());
}

// req: engine.template.5
TEST_F(Template, OwnSettingsThatMakeNoSenseWithItAnyMoreWait) {
  open();
  put("hook:*", {{"signature", "none"}});
  send("hook:a");
  ASSERT_EQ(merge("hook:a", {{"secret", "not a standard one"}}).code, AnswerCode::kInvalid);
  ASSERT_EQ(merge("hook:a", {{"wait_base", "10s"}}).code, AnswerCode::kDone);
  ASSERT_EQ(put("hook:*", {{"wait_max", "5s"}, {"wait_base", "1s"}}).code, AnswerCode::kDone);
  // Whatever the profile says to both together, the destination stays and takes messages.
  EXPECT_EQ(send("hook:a").code, AnswerCode::kAccepted);
  open();
  EXPECT_EQ(send("hook:a").code, AnswerCode::kAccepted);
}

// req: engine.template.5
TEST_F(Template, ADestinationMayStandAloneAndBeLikeItAgain) {
  open();
  put("hook:*", {{"in_flight_max", "2"}});
  const MessageId id = send("hook:a").id;
  EXPECT_EQ(put("hook:a", {{"in_flight_max", "4"}}).code, AnswerCode::kDone);
  EXPECT_EQ(stored(id).profile, "webhook");
  EXPECT_TRUE(stored(id).like.empty());
  EXPECT_EQ(rows(keys::kLike), 0U);
  Configure again;
  again.caller.ticket = Ticket(next());
  again.config.name = "hook:a";
  again.config.like = "hook:*";
  post(again);
  EXPECT_EQ(last().code, AnswerCode::kDone);
  EXPECT_EQ(setting(look("hook:a"), "in_flight_max"), "2");
  EXPECT_EQ(rows(keys::kLike), 1U);
  again.caller.ticket = Ticket(next());
  again.config.like = "other:*";
  post(again);
  EXPECT_EQ(last().code, AnswerCode::kInvalid);
}

// req: engine.template.6
TEST_F(Template, StaysWhileItIsInUse) {
  open();
  put("hook:*");
  send("hook:a");
  const Answer refused = remove("hook:*");
  EXPECT_EQ(refused.code, AnswerCode::kNotEmpty);
  EXPECT_NE(refused.detail.find("in use"), std::string::npos) << refused.detail;
  open();
  EXPECT_EQ(remove("hook:*").code, AnswerCode::kNotEmpty);
  EXPECT_EQ(remove("hook:*", true).code, AnswerCode::kNotEmpty);
  post(answer(attempt(0), 200));
  ASSERT_EQ(remove("hook:a", true).code, AnswerCode::kDone);
  EXPECT_EQ(remove("hook:*").code, AnswerCode::kDone);
  EXPECT_EQ(rows(keys::kTemplate), 0U);
  EXPECT_EQ(rows(keys::kLike), 0U);
  EXPECT_EQ(send("hook:a").code, AnswerCode::kNotFound);
  EXPECT_EQ(remove("hook:*").code, AnswerCode::kNotFound);
}

// req: engine.template.6
TEST_F(Template, MakesAgainWhatWasRemoved) {
  open();
  put("hook:*");
  const MessageId first = send("hook:a").id;
  post(answer(attempt(0), 200));
  ASSERT_EQ(remove("hook:a").code, AnswerCode::kDone);
  const Answer again = send("hook:a");
  EXPECT_EQ(again.code, AnswerCode::kAccepted);
  EXPECT_EQ(again.id.destination(), first.destination());
  EXPECT_EQ(stored(again.id).like, "hook:*");
}

// req: engine.template.7
TEST_F(Template, ThereAreAtMostSoMany) {
  options.engine.limits.templates_max = 2;
  open();
  EXPECT_EQ(put("a:*").code, AnswerCode::kDone);
  EXPECT_EQ(put("b:*").code, AnswerCode::kDone);
  EXPECT_EQ(put("c:*").code, AnswerCode::kTooLarge);
  EXPECT_EQ(put("b:*", {{"rate", "1"}}).code, AnswerCode::kDone);
  EXPECT_EQ(put("b:*", {{"rate", "1"}}).code, AnswerCode::kNothing);
  EXPECT_EQ(remove("a:*").code, AnswerCode::kDone);
  EXPECT_EQ(put("c:*").code, AnswerCode::kDone);
}

// req: engine.template.7
TEST_F(Template, NamesHaveAtMost255Bytes) {
  open();
  put("hook:*");
  EXPECT_EQ(send("hook:" + std::string(249, 'n')).code, AnswerCode::kAccepted);
  EXPECT_EQ(send("hook:" + std::string(250, 'n')).code, AnswerCode::kAccepted);
  EXPECT_EQ(send("hook:" + std::string(251, 'n')).code, AnswerCode::kNotFound);
  EXPECT_EQ(put(std::string(255, 'n')).code, AnswerCode::kDone);
  EXPECT_EQ(put(std::string(256, 'n')).code, AnswerCode::kInvalid);
  EXPECT_EQ(send("hook:[2001:db8::7]:8448").code, AnswerCode::kAccepted);
}

// req: engine.template.8
TEST_F(Template, IsListedAndShown) {
  open();
  put("hook:*", {{"rate", "3"}});
  send("hook:a");
  EXPECT_EQ(setting(look("hook:*"), "rate"), "3");
  post(ask(next(), Query::What::kDestinations));
  const auto page = std::get<DestinationPage>(last().view);
  ASSERT_EQ(page.destinations.size(), 2U);
  EXPECT_EQ(page.destinations[0].config.name, "hook:*");
  EXPECT_EQ(page.destinations[1].config.name, "hook:a");
  EXPECT_EQ(page.destinations[1].config.like, "hook:*");
}

// req: engine.template.1
TEST_F(Template, IsPausedByAHoldThatFitsWhatItMakes) {
  open();
  put("hook:*");
  PutHold hold;
  hold.caller.ticket = Ticket(next());
  hold.rule.name = "weekend";
  hold.rule.destination_prefix = "hook:";
  hold.rule.reason = "closed";
  post(std::move(hold));
  ASSERT_EQ(last().code, AnswerCode::kDone) << last().detail;
  EXPECT_EQ(send("hook:a").code, AnswerCode::kAccepted);
  EXPECT_TRUE(starts().empty());
  EXPECT_EQ(look("hook:a").route.health, Health::kPaused);
}

}  // namespace
}  // namespace postrider
