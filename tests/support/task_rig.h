// TaskRig: a shard with the drill profile, and the words of its tasks.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "postrider/sim/fields/drill/drill.h"
#include "tests/support/shard_rig.h"

namespace postrider {

class TaskRig : public ShardRig {
 protected:
  TaskRig() {
    static const std::array<const ProfileSpec*, 1> kProfiles = {&sim::drill_profile()};
    options.engine.profiles = kProfiles;
  }

  static Configure place(std::uint64_t ticket, const std::string& name, NamedTexts settings = {}) {
    Configure event;
    event.caller.ticket = Ticket(ticket);
    event.config.name = name;
    event.config.profile = "drill";
    event.config.settings = std::move(settings);
    event.config.settings.emplace_back("peer", "peer-1");
    event.config.settings.emplace_back("jitter", "0");
    return event;
  }
  static Submit message(std::uint64_t ticket, NamedTexts attributes,
                        const std::string& destination = "mill") {
    Submit event = submit(ticket, destination);
    event.attributes = encode_texts(attributes);
    return event;
  }
  static Submit task(std::uint64_t ticket, NamedTexts more = {}) {
    more.emplace_back("method", "task");
    return message(ticket, std::move(more));
  }
  static AttemptEnded named(AttemptId attempt, const std::string& name, int status = 202) {
    AttemptEnded event = answer(attempt, status);
    event.reply.headers.emplace_back("task", name);
    return event;
  }
  static AttemptEnded ended(AttemptId attempt, WireEnd end) {
    AttemptEnded event;
    event.attempt = attempt;
    event.reply.end = end;
    return event;
  }
  static Arrived news(std::uint64_t ticket, std::string text, OperationKey key = {}) {
    Arrived event;
    event.caller.ticket = Ticket(ticket);
    event.caller.key = std::move(key);
    event.profile = "drill";
    event.source.origin = "peer";
    event.bytes = std::move(text);
    return event;
  }

  // The mill and one task, whose first attempt has left.
  void open_with_task(NamedTexts settings = {}) {
    open();
    post(place(1, "mill", std::move(settings)));
    post(task(2));
    id = id_of(2);
    ASSERT_EQ(starts().size(), 1U);
  }
  void accept_task(const std::string& name = "t1") { post(named(last_attempt(), name)); }
  void restart() {
    open();
    turn();
  }
  // A command on a destination: Pause, Resume, Wake.
  template <class Command>
  void command_to(const std::string& name = "mill") {
    Command event;
    event.caller.ticket = Ticket(++questions);
    event.destination = name;
    post(event);
  }
  // A record that a process before this one has left.
  void leave(std::string key, const std::string& value) {
    shard.reset();
    const Epoch epoch = store.memory().acquire(0).value();
    auto batch = std::make_shared<WriteBatch>();
    batch->put(std::move(key), value);
    store.memory().commit(epoch, batch, [](CommitOutcome) {});
    restart();
  }
  // Turns at every deadline on the way.
  void pass(Duration time) {
    const Duration until = elapsed + time;
    for (;;) {
      const auto next = shard->next_deadline();
      if (!next || *next > Timestamp(1000) + until) break;
      elapsed = std::max(elapsed, *next - Timestamp(1000));
      turn();
    }
    elapsed = until;
    turn();
  }

  static std::string text_of(const StartAttempt& start) {
    return start.request.verb + " " + start.request.target + "\n" +
           std::string(start.request.headers.text()) + std::string(start.request.body);
  }
  std::size_t count(std::string_view verb) const {
    std::size_t found = 0;
    for (const StartAttempt& start : starts()) found += start.request.verb == verb ? 1U : 0U;
    return found;
  }
  std::optional<StoredState> stored(MessageId which) {
    auto value = store.memory().get(keys::hot(which.sequence(), keys::Part::kState));
    if (!value) value = store.memory().get(keys::cold(which, keys::Part::kState));
    if (!value) return std::nullopt;
    auto state = decode_state(value->view());
    return state ? std::optional(*state) : std::nullopt;
  }
  Explanation explained(MessageId which) {
    const std::uint64_t ticket = ++questions;
    Query question = ask(ticket, Query::What::kExplain);
    question.id = which;
    post(question);
    turn();
    return view_of<Explanation>(ticket);
  }
  Phase phase(MessageId which) { return explained(which).phase; }
  MessageView shown(MessageId which) {
    const std::uint64_t ticket = ++questions;
    Query question = ask(ticket, Query::What::kMessage);
    question.id = which;
    post(question);
    turn();
    return view_of<MessageView>(ticket);
  }
  Stats stats() {
    const std::uint64_t ticket = ++questions;
    post(ask(ticket, Query::What::kStats));
    return view_of<Stats>(ticket);
  }
  std::vector<LogEntry> log(LogEntry::Kind kind) {
    const std::uint64_t ticket = ++questions;
    post(ask(ticket, Query::What::kLog));
    std::vector<LogEntry> out;
    for (const LogEntry& entry : view_of<LogPage>(ticket).entries) {
      if (entry.kind == kind) out.push_back(entry);
    }
    return out;
  }
  std::size_t records_in(char space) {
    return store.memory()
        .scan({keys::space(space), keys::after_prefix(keys::space(space)), 1'000'000})
        .rows.size();
  }

  MessageId id;
  std::uint64_t questions = 1000;
};

}  // namespace postrider
