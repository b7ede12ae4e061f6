// EngineDriver: one engine over a memory store, stepped by hand: each event is one turn, durable at
// once, and the store's answers are given as the engine asks for them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/core/engine.h"
#include "postrider/profiles/all.h"
#include "postrider/shard/view.h"
#include "postrider/sim/fields/drill/drill.h"
#include "postrider/stores/memory.h"

namespace postrider {

inline constexpr Timestamp kDriverStart{1'767'225'600'000};

inline std::vector<const ProfileSpec*> driver_profiles() {
  const auto all = all_profiles();
  std::vector<const ProfileSpec*> out(all.begin(), all.end());
  out.push_back(&sim::drill_profile());
  return out;
}

class EngineDriver {
 public:
  // So little of everything that each limit is met.
  static EngineOptions narrow() {
    EngineOptions options;
    options.limits.window_bytes_max = 3000;
    options.limits.refill_rows_max = 5;
    options.limits.hot_sleepers_max = 4;
    options.limits.residents_max = 2;
    options.limits.restore_rows_max = 4;
    options.limits.due_rows_max = 4;
    options.limits.timers_per_step_max = 3;
    options.dead.age = 24h;
    options.ends.age = 24h;
    options.log.age = 24h;
    return options;
  }

  EngineDriver(MemoryStore& store, Timestamp now, EngineOptions options = narrow())
      : store_(store), now_(now), epoch_(*store.acquire(0)) {
    static const std::vector<const ProfileSpec*> kProfiles = driver_profiles();
    options.profiles = kProfiles;
    auto books = read_books(read(books_reads()));
    if (!books) return;
    now_ = std::max(now_, books->meta.clock_floor);
    engine_.emplace(options, epoch_, std::move(*books), now_);
    step(Chore{});
    run_chores();
  }
  bool alive() const { return engine_.has_value(); }

  void event(const Event& event) {
    step(event);
    run_chores();
  }
  void pass(Duration time) {
    now_ = now_ + time;
    for (int round = 0; round < 10'000; ++round) {
      const auto deadline = engine_->next_deadline();
      if (!deadline || *deadline > now_) return;
      step(TimersDue{});
      run_chores();
    }
    ADD_FAILURE() << "timers never come to rest";
  }

  // Every attempt that was not answered yet succeeds, and so do those that follow from it, now.
  void answer_all() {
    for (; answered_ < attempts_.size(); ++answered_) {
      WireReply reply;
      reply.status = 200;
      event(AttemptEnded{attempts_[answered_], reply});
    }
  }
  // The last answer to it.
  const Answer& ask(Query question) {
    question.ticket = Ticket(UINT32_MAX);
    event(question);
    return answer_;
  }

  Stats stats() const { return engine_->stats(); }
  std::optional<Timestamp> next_deadline() const { return engine_->next_deadline(); }
  Timestamp now() const { return now_; }
  const std::vector<AttemptId>& attempts() const { return attempts_; }
  const std::vector<MessageId>& messages() const { return messages_; }
  std::uint64_t actions() const { return actions_; }
  std::uint64_t needs() const { return needs_; }

 private:
  // Through a view, as the shard does: it says where a page that was cut short goes on.
  Found read(const Reads& reads) {
    Found out;
    store_.read(reads,
                [&](Result<Found> found) { out = View().look(*found, reads, WriteBatch()); });
    return out;
  }

  void step(const Event& event) {
    Found found;
    Effects out;
    for (int round = 0; round < 1000; ++round) {
      Stepped stepped = engine_->step({now_, now_}, event, found, out);
      if (stepped.done()) return finish(out);
      ++needs_;
      ASSERT_TRUE(out.writes.empty()) << "a step that needs something has written";
      ASSERT_TRUE(out.actions.empty()) << "a step that needs something has acted";
      // A destination that came into memory may have work of its own; that changes nothing that
      // anybody can see.
      for (Chore& chore : out.chores) chores_.push_back(std::move(chore));
      out.chores.clear();
      for (const std::string& key : stepped.need.keys) {
        ASSERT_EQ(found.get(key), nullptr) << "a key is asked for twice";
      }
      for (const Scan& scan : stepped.need.scans) {
        ASSERT_EQ(found.scan(scan), nullptr) << "a range is asked for twice";
      }
      found.absorb(read(stepped.need));
    }
    FAIL() << "an event is never decided";
  }

  void finish(Effects& out) {
    engine_->close_turn(now_, WallBooks(), out);
    if (!out.writes.empty()) {
      store_.commit(epoch_, std::make_shared<const WriteBatch>(std::move(out.writes)),
                    [](CommitOutcome outcome) { ASSERT_EQ(outcome, CommitOutcome::kDurable); });
    }
    for (const Action& action : out.actions) {
      ++actions_;
      if (const auto* start = std::get_if<StartAttempt>(&action))
        attempts_.push_back(start->attempt);
      const auto* reply = std::get_if<Reply>(&action);
      if (reply == nullptr) continue;
      if (reply->answer.id.is_set()) messages_.push_back(reply->answer.id);
      if (reply->ticket == Ticket(UINT32_MAX)) answer_ = reply->answer;
    }
    for (Chore& chore : out.chores) chores_.push_back(std::move(chore));
    const Counters counters = engine_->stats().counters;
    ASSERT_GE(counters.accepted, counters.ended()) << "more ends than messages";
  }

  void run_chores() {
    for (int round = 0; round < 100'000 && !chores_.empty(); ++round) {
      const Chore chore = std::move(chores_.front());
      chores_.pop_front();
      step(chore);
    }
    ASSERT_TRUE(chores_.empty()) << "chores never come to rest";
  }

  MemoryStore& store_;
  Timestamp now_;
  Epoch epoch_;
  std::optional<Engine> engine_;
  std::deque<Chore> chores_;
  std::vector<AttemptId> attempts_;
  std::vector<MessageId> messages_;
  Answer answer_;  // to the last question that was asked here
  std::size_t answered_ = 0;
  std::uint64_t actions_ = 0;
  std::uint64_t needs_ = 0;
};

}  // namespace postrider
