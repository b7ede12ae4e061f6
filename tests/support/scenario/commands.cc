// The commands of scenarios; docs/testing.md describes them for people.
#include <algorithm>
#include <array>
#include <utility>

#include "postrider/model/message.h"
#include "postrider/model/records/keys.h"
#include "tests/support/scenario/scenario.h"
#include "tests/support/scenario/world.h"

namespace postrider::scenario {

const std::map<std::string, World::Handler, std::less<>>& World::handlers() {
  static const std::map<std::string, Handler, std::less<>> kHandlers = {
      {"engine", &World::engine_option},
      {"destination", &World::destination},
      {"remove", &World::remove},
      {"drain", &World::drain},
      {"submit", &World::submit},
      {"group", &World::group},
      {"fan-out", &World::fan_out},
      {"cancel", &World::cancel},
      {"retry", &World::retry},
      {"redrive", &World::redrive},
      {"drop", &World::drop},
      {"pause", &World::pause},
      {"resume", &World::resume},
      {"wake", &World::wake},
      {"seen", &World::seen},
      {"receipt", &World::receipt},
      {"news", &World::news},
      {"peer", &World::peer},
      {"advance", &World::advance},
      {"crash", &World::crash},
      {"wall", &World::wall},
      {"kernel", &World::kernel},
      {"explain", &World::explain},
      {"stats", &World::stats},
      {"log", &World::log},
      {"dead-letters", &World::dead_letters},
      {"show", &World::show_destination},
      {"destinations", &World::list_destinations},
      {"messages", &World::list_messages},
      {"message", &World::show_message},
      {"operation", &World::operation},
      {"memory", &World::memory},
      {"record", &World::record},
      {"damage", &World::damage},
      {"command", &World::command},
      {"status", &World::status},
      {"server", &World::server},
      {"vendor", &World::vendor},
  };
  return kHandlers;
}

bool World::set_duration(std::string_view name, std::string_view value, Words& words) {
  const std::map<std::string_view, Duration*> durations = {
      {"hot-sleep-max", &options_.limits.hot_sleep_max},
      {"due-horizon", &options_.limits.due_horizon},
      {"key-window", &options_.key_window},
      {"key-ahead", &options_.key_ahead},
      {"ledger-age", &options_.ledger.age},
      {"log-age", &options_.log.age},
      {"ends-age", &options_.ends.age},
      {"dead-age", &options_.dead.age},
  };
  const auto found = durations.find(name);
  if (found == durations.end()) return false;
  *found->second = words.to_duration(value);
  return true;
}

bool World::set_limit(std::string_view name, std::string_view value, Words& words) {
  const std::map<std::string_view, std::uint64_t*> sizes = {
      {"window-bytes-max", &options_.limits.window_bytes_max},
      {"log-bytes", &options_.log.bytes},
      {"ends-bytes", &options_.ends.bytes},
      {"dead-bytes", &options_.dead.bytes},
      {"ledger-bytes", &options_.ledger.bytes},
      {"seed", &options_.seed},
  };
  const std::map<std::string_view, std::uint32_t*> counts = {
      {"body-bytes-max", &options_.limits.body_bytes_max},
      {"open-attempts-max", &options_.limits.open_attempts_max},
      {"refill-rows-max", &options_.limits.refill_rows_max},
      {"hot-sleepers-max", &options_.limits.hot_sleepers_max},
      {"residents-max", &options_.limits.residents_max},
      {"restore-rows-max", &options_.limits.restore_rows_max},
      {"answer-rows-max", &options_.limits.answer_rows_max},
  };
  if (const auto size = sizes.find(name); size != sizes.end()) {
    *size->second = words.to_number(value);
    return true;
  }
  const auto count = counts.find(name);
  if (count == counts.end()) return false;
  *count->second = static_cast<std::uint32_t>(words.to_number(value));
  return true;
}

void World::engine_option(Words& words) {
  if (shard_ != nullptr) return words.complain("the engine runs already; put 'engine' first");
  for (const auto& [name, value] : words.settings()) {
    if (!set_duration(name, value, words) && !set_limit(name, value, words)) {
      words.complain("the engine has no option '" + name + "'");
    }
  }
}

OperationKey World::take_key(Words& words) const {
  OperationKey key;
  const auto made = words.duration("made");
  const Timestamp when = names_.start + elapsed_ + made.value_or(Duration(0));
  if (const auto opaque = words.option("key")) {
    key.kind = made ? OperationKey::Kind::kTimed : OperationKey::Kind::kOpaque;
    key.key = *opaque;
  } else if (const auto session = words.option("session")) {
    key.kind = OperationKey::Kind::kSequenced;
    key.key = *session;
    key.sequence = words.number("number").value_or(0);
  }
  if (key.kind != OperationKey::Kind::kNone && key.kind != OperationKey::Kind::kOpaque)
    key.made = when;
  if (const auto scope = words.option("scope")) key.scope = *scope;
  return key;
}

void World::post_and_say(std::string what, Event event) {
  // Every command has its caller as first member; the visitor finds it without a list of types.
  std::visit(
      [&](auto& command) {
        if constexpr (requires { command.caller.key; }) {
          command.caller =
              caller(std::move(command.caller.key),
                     [this, what](const Answer& answer) { say(what + ": " + show_code(answer)); });
        }
      },
      event);
  post(std::move(event));
}

void World::destination(Words& words) {
  Configure configure;
  configure.caller.key = take_key(words);
  configure.config.name = words.next("the destination's name");
  configure.config.profile = profile_;
  for (auto& setting : words.settings()) {
    if (setting.first == "profile") {
      configure.config.profile = setting.second;
    } else {
      configure.config.settings.push_back(std::move(setting));
    }
  }
  const std::string name = configure.config.name;
  destinations_.emplace(name, static_cast<int>(destinations_.size()));
  post_and_say("destination " + name, std::move(configure));
}

void World::remove(Words& words) {
  Configure configure;
  configure.caller.key = take_key(words);
  configure.config.name = words.next("the destination's name");
  configure.config.removed = true;
  const std::string name = configure.config.name;
  post_and_say("remove " + name, std::move(configure));
}

void World::drain(Words& words) {
  Configure configure;
  configure.caller.key = take_key(words);
  configure.config.name = words.next("the destination's name");
  configure.config.removed = true;
  configure.config.draining = true;
  const std::string name = configure.config.name;
  post_and_say("drain " + name, std::move(configure));
}

void World::learn(const std::string& name, const std::string& destination, const Answer& answer,
                  std::string& line) {
  if (!answer.id.is_set() || answer.code != AnswerCode::kAccepted) return;
  const auto known = message_names_.find(answer.id);
  if (known != message_names_.end()) {
    line += ", the same as " + known->second;
  } else {
    message_names_[answer.id] = name;
    destination_of_[answer.id] = destination;
  }
  messages_[name] = answer.id;
}

void World::submit_one(const std::string& name, const Submit& event) {
  Submit one = event;
  one.caller =
      caller(event.caller.key, [this, name, destination = event.destination](const Answer& answer) {
        std::string line = "submit " + name + ": " + show_code(answer);
        learn(name, destination, answer, line);
        say(line);
      });
  post(std::move(one));
}

void World::submit(Words& words) {
  Submit event;
  event.caller.key = take_key(words);
  const std::string names = words.next("the message's name");
  event.destination = words.option("to").value_or("");
  event.lane = static_cast<std::uint8_t>(words.number("lane").value_or(0));
  event.priority = static_cast<std::uint16_t>(words.number("priority").value_or(0));
  const Timestamp now = names_.start + elapsed_;
  if (const auto wait = words.duration("not-before")) event.not_before = now + *wait;
  if (const auto life = words.duration("expires")) event.expires = now + *life;
  event.body = words.option("body").value_or("hello");
  if (const auto size = words.number("body-size")) event.body.assign(*size, 'x');
  event.attributes = encode_texts(words.settings());
  if (const auto complaint = words.complaint()) return;

  // m1..m20 stands for twenty messages.
  const std::size_t dots = names.find("..");
  if (dots == std::string::npos) return submit_one(names, event);
  const std::string stem = names.substr(0, names.find_first_of("0123456789"));
  const std::uint64_t first = words.to_number(names.substr(stem.size(), dots - stem.size()));
  const std::uint64_t last = words.to_number(names.substr(dots + 2 + stem.size()));
  for (std::uint64_t i = first; i <= last; ++i) submit_one(stem + std::to_string(i), event);
}

void World::group(Words& words) {
  ChangeGroup change;
  change.caller.key = take_key(words);
  change.group.skip_closed = words.flag("skip-closed");
  const std::string name = words.next("the group's name");
  change.group.name = name;
  for (const auto& [member, types] : words.settings()) {
    FanoutMember& one = change.group.members.emplace_back(FanoutMember{member, {}});
    std::size_t first = 0;
    while (first < types.size()) {
      const std::size_t end = std::min(types.find(',', first), types.size());
      one.types.push_back(types.substr(first, end - first));
      first = end + 1;
    }
  }
  if (!words.complaint()) post_and_say("group " + name, std::move(change));
}

// Each member's message is named after the whole and the member: f1.shop.
void World::fan_out(Words& words) {
  FanOut event;
  event.caller.key = take_key(words);
  const std::string name = words.next("the fan-out's name");
  event.group = words.option("to").value_or("");
  event.type = words.option("type").value_or("");
  event.body = words.option("body").value_or("hello");
  event.attributes = encode_texts(words.settings());
  if (words.complaint()) return;
  event.caller = caller(event.caller.key, [this, name](const Answer& answer) {
    std::string line = "fan-out " + name + ": " + show_code(answer);
    if (const auto* view = std::get_if<FanoutView>(&answer.view)) {
      for (const FanoutView::Member& member : view->members) {
        const std::string called = name + "." + member.destination;
        Answer accepted;
        accepted.code = AnswerCode::kAccepted;
        accepted.id = member.message;
        line += " " + called;
        learn(called, member.destination, accepted, line);
      }
      for (const std::string& skipped : view->skipped) line += ", without " + skipped;
    }
    say(line);
  });
  post(std::move(event));
}

MessageId World::message_named(Words& words) {
  const std::string name = words.next("the message's name");
  const auto found = messages_.find(name);
  if (found != messages_.end()) return found->second;
  // A name that nobody was given is an id that nobody was given: for questions about unknown
  // messages.
  if (name == "nobody") return MessageId::make(DestinationId(1), 0, 0, Sequence(1));
  words.complain("there is no message '" + name + "'");
  return {};
}

template <class Command>
void World::command_on_message(const std::string& verb, Words& words) {
  Command command;
  command.caller.key = take_key(words);
  const MessageId id = message_named(words);
  command.id = id;
  if (words.complaint()) return;
  const auto name = message_names_.find(id);
  post_and_say(verb + " " + (name == message_names_.end() ? "nobody" : name->second),
               std::move(command));
}

template <class Command>
void World::command_on_destination(const std::string& verb, Words& words) {
  Command command;
  command.caller.key = take_key(words);
  command.destination = words.next("the destination's name");
  const std::string name = command.destination;
  post_and_say(verb + " " + name, std::move(command));
}

void World::redrive(Words& words) {
  Redrive command;
  command.caller.key = take_key(words);
  const auto new_name = words.option("as");
  command.id = message_named(words);
  if (!new_name) words.complain("say as what: redrive m1 as m2");
  if (words.complaint()) return;
  const MessageId id = command.id;
  command.caller = caller(command.caller.key, [this, id, name = *new_name](const Answer& answer) {
    Answer as_submit = answer;
    if (answer.id.is_set() && answer.id != id) as_submit.code = AnswerCode::kAccepted;
    std::string line = "redrive " + (message_names_.contains(id) ? message_names_[id] : "nobody") +
                       ": " + show_code(answer);
    learn(name, destination_of_[id], as_submit, line);
    say(line);
  });
  post(std::move(command));
}

void World::pause(Words& words) {
  Pause command;
  command.caller.key = take_key(words);
  command.destination = words.next("the destination's name");
  if (!words.empty()) command.reason = words.next("a reason");
  const std::string name = command.destination;
  post_and_say("pause " + name, std::move(command));
}

void World::seen(Words& words) {
  post(PeerSeen{.destination = words.next("the destination's name")});
}

On World::signal_named(Words& words) const {
  const std::string name = words.next("a signal");
  for (std::size_t i = 0; i < kSignals; ++i) {
    if (postrider::name_of(static_cast<On>(i)) == name) return static_cast<On>(i);
  }
  words.complain("there is no signal '" + name + "'");
  return On::kSent;
}

void World::receipt(Words& words) {
  ReceiptArrived receipt;
  receipt.id = message_named(words);
  receipt.signal = signal_named(words);
  if (!words.empty()) receipt.detail = words.next("a detail");
  if (!words.complaint()) post(std::move(receipt));
}

void World::news(Words& words) {
  AttemptNews news;
  const MessageId id = message_named(words);
  news.signal = signal_named(words);
  for (const auto& [attempt, open] : open_) {
    if (open.message == id) news.attempt = attempt;
  }
  if (!news.attempt.is_set()) words.complain("the message has no open attempt");
  if (!words.complaint()) post(news);
}

void World::peer(Words& words) { peer_.instruct(words, destinations_); }

void World::wall(Words& words) { wall_offset_ += words.to_duration(words.next("a duration")); }

void World::kernel(Words& words) {
  const std::string word = words.next("synchronised or unsynchronised");
  synchronised_ = word == "synchronised";
  if (!synchronised_ && word != "unsynchronised")
    words.complain("the kernel calls its clock synchronised or unsynchronised");
}

void World::explain(Words& words) {
  Query question;
  question.what = Query::What::kExplain;
  question.id = message_named(words);
  if (words.complaint()) return;
  const Answer answer = ask(question);
  const auto* explanation = std::get_if<Explanation>(&answer.view);
  say(explanation == nullptr ? "explain: " + show_code(answer)
                             : scenario::show(names_, *explanation));
}

void World::stats(Words& /*words*/) {
  const Answer answer = ask({});
  const auto* stats = std::get_if<Stats>(&answer.view);
  say(stats == nullptr ? "stats: " + show_code(answer) : scenario::show(*stats));
}

// Reads the log as another client would: from the start, or where the named reader stopped last
// time.
void World::log(Words& words) {
  Query question;
  question.what = Query::What::kLog;
  if (const auto limit = words.number("limit")) question.limit = static_cast<std::uint32_t>(*limit);
  const auto reader = words.option("reader");
  if (reader) question.from = readers_[*reader];
  const Answer answer = ask(question);
  const auto* page = std::get_if<LogPage>(&answer.view);
  if (page == nullptr) return say("log: " + show_code(answer));
  if (reader) readers_[*reader] = page->next;
  say("log: " + std::to_string(page->entries.size()) + " entries" +
      (page->fell_behind ? ", fell behind" : "") +
      (page->at_end ? ", at the end" : ", there is more"));
  for (const LogEntry& entry : page->entries) {
    lines_.push_back("    " + show_time(names_, entry.at) + "  " + scenario::show(names_, entry));
  }
}

void World::dead_letters(Words& words) {
  Query question;
  question.what = Query::What::kDeadLetters;
  if (const auto limit = words.number("limit")) question.limit = static_cast<std::uint32_t>(*limit);
  std::size_t pages = 0;
  std::vector<std::string> letters;
  do {
    const Answer answer = ask(question);
    const auto* page = std::get_if<DeadLetters>(&answer.view);
    if (page == nullptr) return say("dead letters: " + show_code(answer));
    for (const DeadLetter& letter : page->letters)
      letters.push_back("    " + scenario::show(names_, letter));
    question.cursor = page->next;
  } while (!question.cursor.empty() && ++pages < 1000);
  say("dead letters: " + std::to_string(letters.size()));
  lines_.insert(lines_.end(), letters.begin(), letters.end());
}

void World::show_destination(Words& words) {
  Query question;
  question.what = Query::What::kDestination;
  question.destination = words.next("the destination's name");
  const Answer answer = ask(question);
  const auto* view = std::get_if<DestinationView>(&answer.view);
  say(view == nullptr ? "show " + question.destination + ": " + show_code(answer)
                      : scenario::show(names_, *view));
}

// Page after page to the end; the number of pages is told, because pages are what is shown here.
template <class Page, class Show>
void World::list(const std::string& what, Query question, Show show_page) {
  std::size_t pages = 0;
  std::vector<std::string> rows;
  do {
    const Answer answer = ask(question);
    const auto* page = std::get_if<Page>(&answer.view);
    if (page == nullptr) return say(what + ": " + show_code(answer));
    show_page(*page, rows);
    question.cursor = page->next;
  } while (++pages < 1000 && !question.cursor.empty());
  say(what + ": " + std::to_string(rows.size()) + " in " + std::to_string(pages) +
      (pages == 1 ? " page" : " pages"));
  lines_.insert(lines_.end(), rows.begin(), rows.end());
}

void World::list_destinations(Words& words) {
  Query question;
  question.what = Query::What::kDestinations;
  if (const auto limit = words.number("limit")) question.limit = static_cast<std::uint32_t>(*limit);
  question.cursor = words.option("cursor").value_or("");
  list<DestinationPage>("destinations", std::move(question), [this](const auto& page, auto& rows) {
    for (const DestinationView& view : page.destinations)
      rows.push_back("    " + scenario::show(names_, view) +
                     (view.config.draining ? ", drained" : ""));
  });
}

void World::list_messages(Words& words) {
  Query question;
  question.what = Query::What::kMessages;
  question.destination = words.option("of").value_or("");
  if (const auto limit = words.number("limit")) question.limit = static_cast<std::uint32_t>(*limit);
  question.cursor = words.option("cursor").value_or("");
  list<MessagePage>("messages", std::move(question), [this](const auto& page, auto& rows) {
    for (const Explanation& message : page.messages)
      rows.push_back("    " + scenario::show(names_, message));
  });
}

void World::show_message(Words& words) {
  Query question;
  question.what = Query::What::kMessage;
  question.id = message_named(words);
  if (words.complaint()) return;
  const Answer answer = ask(question);
  const auto* view = std::get_if<MessageView>(&answer.view);
  if (view == nullptr) return say("message: " + show_code(answer));
  say(scenario::show(names_, view->explanation));
  std::string line = "    lane " + std::to_string(view->lane) + ", priority " +
                     std::to_string(view->priority) + ", not before " +
                     show_time(names_, view->not_before);
  for (const NamedText& text : decode_texts(view->attributes).value_or(NamedTexts()))
    line += ", " + text.first + "=" + text.second;
  lines_.push_back(line + (view->has_body ? ", body: " + view->body : ", no body"));
}

void World::operation(Words& words) {
  Query question;
  question.what = Query::What::kOperation;
  question.key = take_key(words);
  if (question.key.kind == OperationKey::Kind::kNone) words.complain("say which: key K");
  if (words.complaint()) return;
  const Answer answer = ask(question);
  const auto known = message_names_.find(answer.id);
  say("operation " + question.key.key + ": " + show_code(answer) +
      (known == message_names_.end() ? "" : ", " + known->second));
}

// What lies where in the store, by space: the invariants of docs/architecture.md can be read off
// it.
void World::memory(Words& /*words*/) {
  std::map<char, int> spaces;
  for (const auto& [key, value] : store_.contents()) ++spaces[key.at(0)];
  std::string line = "store:";
  for (const auto& [space, count] : spaces) {
    if (space != 'M' && space != 'B')
      line += " " + std::string(1, space) + " " + std::to_string(count);
  }
  say(line);
}

// The state record of a message, as the next incarnation would read it.
void World::record(Words& words) {
  const MessageId id = message_named(words);
  if (words.complaint()) return;
  auto value = store_.get(keys::hot(id.sequence(), keys::Part::kState));
  if (!value) value = store_.get(keys::cold(id, keys::Part::kState));
  if (!value) return say(name_of_message(id) + " has no state record");
  const auto stored = decode_state(value->view());
  if (!stored) return say("!! the state record cannot be read");
  const State& state = stored->state;
  say(name_of_message(id) + " state record: " + std::to_string(state.attempts) + " attempts, due " +
      show_time(names_, state.due) + ", " + std::string(postrider::name_of(state.failure)) + ", " +
      std::string(postrider::name_of(state.certainty)) + ", \"" + stored->reason + "\"");
}

void World::damage(Words& words) {
  const MessageId id = message_named(words);
  if (words.complaint()) return;
  const bool struck = store_.damage(keys::hot(id.sequence(), keys::Part::kMessage)) ||
                      store_.damage(keys::cold(id, keys::Part::kMessage));
  if (!struck) words.complain("the message has no record");
}

}  // namespace postrider::scenario
