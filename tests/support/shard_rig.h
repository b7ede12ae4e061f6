// ShardRig: a shard over a HeldStore, and what has left it so far.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/profiles/all.h"
#include "postrider/shard/shard.h"
#include "tests/support/held_store.h"

namespace postrider {

class ShardRig : public ::testing::Test {
 protected:
  static constexpr Timestamp kStart{1'767'225'600'000};

  ShardRig() { options.engine.profiles = all_profiles(); }

  // Opens a shard from what the store holds; an earlier one is dropped, as a dead process is.
  void open() {
    shard.reset();
    actions.clear();
    acted_at.clear();
    auto opened = Shard::open(options, store, instant(), [this](Action&& action) {
      actions.push_back(std::move(action));
      acted_at.push_back(elapsed);
    });
    ASSERT_TRUE(opened.has_value());
    shard = std::move(*opened);
    turn();
  }
  // Message ids as those outside know them.
  IdCodec ids() const { return IdCodec(options.engine.id_key); }
  Instant instant() const { return {Timestamp(1000) + elapsed, kStart + elapsed + wall_step}; }
  void turn() { shard->turn(instant()); }
  void advance(Duration by) {
    elapsed += by;
    turn();
  }
  void post(Event event) {
    ASSERT_TRUE(shard->post(std::move(event)));
    turn();
  }
  void release_commit(CommitOutcome outcome = CommitOutcome::kDurable, bool written = true) {
    ASSERT_GT(store.commits_held(), 0U);
    store.release_commit(outcome, written);
    turn();
  }
  void release_read() {
    ASSERT_GT(store.reads_held(), 0U);
    store.release_read();
    turn();
  }

  void release_newest_read() {
    ASSERT_GT(store.reads_held(), 0U);
    store.release_newest_read();
    turn();
  }

  static OperationKey opaque(std::string key) {
    OperationKey out;
    out.kind = OperationKey::Kind::kOpaque;
    out.key = std::move(key);
    return out;
  }
  static Configure configure(std::uint64_t ticket, const std::string& name,
                             NamedTexts settings = {}) {
    Configure event;
    event.caller.ticket = Ticket(ticket);
    event.config.name = name;
    event.config.profile = "webhook";
    event.config.settings = std::move(settings);
    event.config.settings.emplace_back("url", "https://" + name + ".example/hook");
    return event;
  }
  static Submit submit(std::uint64_t ticket, const std::string& destination,
                       OperationKey key = {}) {
    Submit event;
    event.caller.ticket = Ticket(ticket);
    event.caller.key = std::move(key);
    event.destination = destination;
    event.body = "hello";
    return event;
  }
  static Query ask(std::uint64_t ticket, Query::What what) {
    Query event;
    event.ticket = Ticket(ticket);
    event.what = what;
    return event;
  }
  static AttemptEnded answer(AttemptId attempt, int status) {
    AttemptEnded event;
    event.attempt = attempt;
    event.reply.status = status;
    return event;
  }

  bool answered(std::uint64_t ticket) const { return find_answer(ticket) != nullptr; }
  // The answer to a ticket; a failure when it has not left.
  Answer told(std::uint64_t ticket) const {
    if (const Answer* found = find_answer(ticket)) return *found;
    ADD_FAILURE() << "ticket " << ticket << " has no answer";
    return {};
  }
  AnswerCode code_of(std::uint64_t ticket) const { return told(ticket).code; }
  MessageId id_of(std::uint64_t ticket) const { return told(ticket).id; }
  template <class View>
  View view_of(std::uint64_t ticket) const {
    const Answer answer = told(ticket);
    if (const auto* view = std::get_if<View>(&answer.view)) return *view;
    ADD_FAILURE() << "ticket " << ticket << " was told something else";
    return {};
  }
  std::vector<StartAttempt> starts() const {
    std::vector<StartAttempt> out;
    for (const Action& action : actions) {
      if (const auto* start = std::get_if<StartAttempt>(&action)) out.push_back(*start);
    }
    return out;
  }
  std::vector<AttemptId> aborts() const {
    std::vector<AttemptId> out;
    for (const Action& action : actions) {
      if (const auto* abort = std::get_if<AbortAttempt>(&action)) out.push_back(abort->attempt);
    }
    return out;
  }
  // The attempt that was started as the n-th, from 0.
  AttemptId attempt(std::size_t number) const {
    const std::vector<StartAttempt> all = starts();
    if (number < all.size()) return all[number].attempt;
    ADD_FAILURE() << "only " << all.size() << " attempts were started";
    return {};
  }
  AttemptId last_attempt() const { return attempt(starts().size() - 1); }
  std::vector<std::uint64_t> tickets_answered() const {
    std::vector<std::uint64_t> out;
    for (const Action& action : actions) {
      if (const auto* reply = std::get_if<Reply>(&action)) out.push_back(reply->ticket.value());
    }
    return out;
  }

  const Answer* find_answer(std::uint64_t ticket) const {
    for (const Action& action : actions) {
      const auto* reply = std::get_if<Reply>(&action);
      if (reply != nullptr && reply->ticket == Ticket(ticket)) return &reply->answer;
    }
    return nullptr;
  }

  ShardOptions options;
  HeldStore store;
  std::unique_ptr<Shard> shard;
  std::vector<Action> actions;
  std::vector<Duration> acted_at;  // when each of them left
  Duration elapsed{0};
  Duration wall_step{0};  // somebody has set the wall clock
};

}  // namespace postrider
