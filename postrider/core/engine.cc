#include "postrider/core/engine.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/core/books/cards.h"
#include "postrider/core/books/due.h"
#include "postrider/core/books/letters.h"
#include "postrider/core/books/names.h"
#include "postrider/core/books/nested.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/books/waiters.h"
#include "postrider/core/delivery/batches.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/delivery/revival.h"
#include "postrider/core/delivery/rousing.h"
#include "postrider/core/delivery/routes.h"
#include "postrider/core/delivery/sweep.h"
#include "postrider/core/desk/acceptance.h"
#include "postrider/core/desk/fanout.h"
#include "postrider/core/desk/holds.h"
#include "postrider/core/desk/idle.h"
#include "postrider/core/desk/jobs.h"
#include "postrider/core/desk/mailboxes.h"
#include "postrider/core/desk/operations.h"
#include "postrider/core/desk/operators.h"
#include "postrider/core/desk/rerun.h"
#include "postrider/core/desk/settings.h"
#include "postrider/core/inquiry/inquiry.h"
#include "postrider/core/news/arrivals.h"
#include "postrider/core/places/attempts.h"
#include "postrider/core/places/limit_groups.h"
#include "postrider/core/places/shared_gates.h"
#include "postrider/core/refill/quarantine.h"
#include "postrider/core/refill/refill.h"
#include "postrider/core/refill/restore.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/starts/starts.h"
#include "postrider/core/step.h"
#include "postrider/core/window/census.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/sleepers.h"
#include "postrider/core/window/state_records.h"
#include "postrider/core/window/templates.h"
#include "postrider/core/window/window.h"
#include "postrider/model/id_codec.h"

namespace postrider {

using core::Step;

namespace {

// Whether the invariants of the window are checked after every step.
#if defined(POSTRIDER_CHECKED)
constexpr bool kChecked = true;
#else
constexpr bool kChecked = false;
#endif

}  // namespace

// Wires the owners and dispatches: which of them an event, a timer or a chore is for. Owners stand
// in the order in which they may call each other, the called ones first.
class Engine::Impl {
 public:
  Impl(EngineOptions options, Epoch epoch, Books books, Timestamp now);

  Stepped step(Now now, const Event& event, const Found& found, Effects& out);
  void close_turn(Timestamp now, const WallBooks& wall, Effects& out);
  Stats stats() const;
  std::vector<RowUse> rows_used() const;
  std::size_t memory_bytes() const;

  void on(Step& step, const Submit& event) { acceptance_.on(step, event); }
  void on(Step& step, const FanOut& event) { fanouts_.on(step, event); }
  void on(Step& step, const ChangeGroup& event) { fanouts_.on(step, event); }
  void on(Step& step, const Cancel& event) { operators_.on(step, event); }
  void on(Step& step, const RetryNow& event) { operators_.on(step, event); }
  void on(Step& step, const Redrive& event) { operators_.on(step, event); }
  void on(Step& step, const Drop& event) { operators_.on(step, event); }
  void on(Step& step, const Configure& event);
  void on(Step& step, const Pause& event) { settings_.on(step, event); }
  void on(Step& step, const Resume& event) { settings_.on(step, event); }
  void on(Step& step, const Wake& event) { settings_.on(step, event); }
  void on(Step& step, const PeerSeen& event) { settings_.on(step, event); }
  void on(Step& step, const StartJob& event) { jobs_.on(step, event); }
  void on(Step& step, const CancelJob& event) { jobs_.on(step, event); }
  void on(Step& step, const PutHold& event) { holds_.on(step, event); }
  void on(Step& step, const DropHold& event) { holds_.on(step, event); }
  void on(Step& step, const AttemptNews& event) { delivery_.on(step, event); }
  void on(Step& step, const AttemptEnded& event) { delivery_.on(step, event); }
  void on(Step& step, const ReceiptArrived& event) { delivery_.on(step, event); }
  void on(Step& step, const Arrived& event) { arrivals_.on(step, event); }
  void on(Step& step, const Confirm& event) { mailboxes_.on(step, event); }
  void on(Step& step, const Await& event) { mailboxes_.on(step, event); }
  void on(Step& step, const StopWaiting& event) { mailboxes_.on(step, event); }
  void on(Step& step, const Query& query);
  void on(Step& step, const TimersDue&);
  void on(Step& step, const Chore& chore);
  void fire(Step& step, const Timer& timer);
  void restore(Step& step, const Chore& chore);
  void load_due(Step& step);
  void finish_step(Step& step);
  void quarantine_damaged(Step& step);
  void check();
  void dismiss_visitors(Step& step);
  void keep_retention_timer(Timestamp now);

  EngineOptions options_;
  const EngineLimits& limits_;
  const std::vector<const Dictionary*> dictionaries_;  // of the profiles
  Timestamp started_;
  Receipts receipts_;
  const IdCodec ids_;  // for whatever leaves: requests, the audit, answers to people
  Timers timers_;
  Tallies tallies_;
  core::Sequences sequences_;
  core::SharedBodies bodies_;
  core::Letters letters_;
  core::Names names_;
  core::Nested nested_;
  core::Waiters waiters_;
  core::Due due_;
  core::Cards cards_;
  core::Residents residents_;
  core::Sleepers sleepers_;
  core::Census census_;
  core::Templates templates_;
  core::Destinations destinations_;
  core::Window window_;
  core::StateRecords records_;
  core::Lookup lookup_;
  core::Attempts attempts_;
  core::LimitGroups limit_groups_;
  core::SharedGates gates_;
  core::Routes routes_;
  core::Batches batches_;
  core::Delivery delivery_;
  core::Revival revival_;
  core::Sweep sweep_;
  core::Rousing rousing_;
  core::Refill refill_;
  core::Restore restore_;
  core::Starts starts_;
  core::Mailboxes mailboxes_;
  core::Operations operations_;
  core::Reruns reruns_;
  core::Acceptance acceptance_;
  core::Holds holds_;
  core::Fanouts fanouts_;
  core::Operators operators_;
  core::Settings settings_;
  core::Idle idle_;
  core::Jobs jobs_;
  core::Arrivals arrivals_;
  core::Quarantine quarantine_;
  core::Inquiry inquiry_;
  Timestamp now_;                  // of the last step
  std::vector<Slot> spare_looks_;  // memory of the last step's looks, used again
  Duration doubt_{0};              // of the last step
  TimerHandle retain_timer_ = 0;
  std::vector<Timer> fired_;
};

Engine::Engine(EngineOptions options, Epoch epoch, Books books, Timestamp now)
    : impl_(std::make_unique<Impl>(std::move(options), epoch, std::move(books), now)) {}
Engine::~Engine() = default;
Stepped Engine::step(Now now, const Event& event, const Found& found, Effects& out) {
  return impl_->step(now, event, found, out);
}
void Engine::close_turn(Timestamp now, const WallBooks& wall, Effects& out) {
  impl_->close_turn(now, wall, out);
}
void Engine::set_wall(const WallBooks& wall) { impl_->receipts_.set_wall(wall); }
void Engine::set_secrets(std::shared_ptr<const Secrets> secrets) {
  impl_->options_.secrets = std::move(secrets);
}
std::optional<Timestamp> Engine::next_deadline() const { return impl_->timers_.next(); }
void Engine::hold_starts() { impl_->starts_.hold(); }
bool Engine::restoring() const { return impl_->restore_.restoring(); }
Stats Engine::stats() const { return impl_->stats(); }
std::vector<Engine::RowUse> Engine::rows_used() const { return impl_->rows_used(); }
std::size_t Engine::memory_bytes() const { return impl_->memory_bytes(); }

Engine::Impl::Impl(EngineOptions options, Epoch epoch, Books books, Timestamp now)
    : options_(std::move(options)),
      limits_(options_.limits),
      dictionaries_(dictionaries_of(options_.profiles)),
      started_(now),
      receipts_(options_, books, now),
      ids_(receipts_.id_key()),
      timers_(now),
      sequences_(epoch),
      bodies_(limits_, receipts_, dictionaries_),
      letters_(receipts_, bodies_),
      names_(limits_, tallies_, receipts_, now),
      nested_(limits_, tallies_, sequences_),
      waiters_(limits_, timers_),
      due_(limits_, timers_),
      cards_(options_, limits_, tallies_, receipts_, due_),
      residents_(options_, limits_, timers_),
      sleepers_(residents_, options_.profiles.size()),
      census_(options_, limits_, receipts_, sequences_, residents_, std::move(books.census)),
      templates_(options_, std::move(books.templates)),
      destinations_(started_, sequences_, residents_, census_, templates_),
      window_(limits_, receipts_, timers_, bodies_, residents_, census_, destinations_),
      records_(limits_, started_, books.clock_lost ? Timestamp::never() : started_, sequences_,
               residents_, census_, destinations_, window_),
      lookup_(dictionaries_, bodies_, residents_, destinations_, window_, records_),
      attempts_(limits_, tallies_, sequences_.first()),
      limit_groups_(timers_, started_, residents_),
      gates_(tallies_, timers_, started_, residents_, window_, attempts_, limit_groups_),
      routes_(limits_, tallies_, receipts_, due_, residents_, destinations_, records_,
              options_.seed ^ epoch.value()),
      batches_(tallies_, residents_, destinations_, window_, routes_),
      delivery_(options_, limits_, tallies_, receipts_, timers_, ids_, bodies_, names_, nested_,
                cards_, waiters_, due_, residents_, sleepers_, census_, destinations_, window_,
                records_, lookup_, attempts_, gates_, routes_, batches_,
                options_.seed ^ epoch.value()),
      revival_(limits_, tallies_, residents_, census_, destinations_, window_, records_, lookup_,
               routes_, delivery_),
      sweep_(limits_, tallies_, residents_, sleepers_, window_, lookup_, routes_, delivery_),
      rousing_(limits_, tallies_, due_, residents_, sleepers_, window_, records_, lookup_, routes_,
               delivery_),
      refill_(limits_, tallies_, timers_, bodies_, due_, residents_, sleepers_, census_,
              destinations_, window_, records_, lookup_, gates_, routes_, batches_, delivery_),
      restore_(limits_, receipts_, timers_, bodies_, residents_, census_, destinations_, window_,
               lookup_, gates_, refill_, std::move(books.damaged)),
      starts_(limits_, tallies_, timers_, bodies_, residents_, sleepers_, window_, lookup_,
              attempts_, limit_groups_, gates_, routes_, batches_, delivery_, refill_),
      mailboxes_(limits_, letters_, cards_, waiters_, residents_, destinations_, window_, lookup_,
                 delivery_),
      operations_(options_, receipts_, sequences_),
      reruns_(options_, dictionaries_, letters_, names_, templates_, window_, lookup_),
      acceptance_(limits_, receipts_, dictionaries_, sequences_, names_, cards_, waiters_, due_,
                  residents_, census_, destinations_, window_, lookup_, delivery_, operations_,
                  reruns_),
      holds_(limits_, residents_, destinations_, routes_, operations_, std::move(books.holds)),
      fanouts_(limits_, receipts_, sequences_, bodies_, names_, residents_, destinations_,
               operations_, acceptance_),
      operators_(receipts_, ids_, bodies_, letters_, due_, residents_, destinations_, window_,
                 records_, lookup_, delivery_, operations_, reruns_, acceptance_),
      settings_(options_, limits_, receipts_, residents_, sleepers_, census_, destinations_,
                templates_, window_, gates_, routes_, rousing_, starts_, operations_, holds_),
      idle_(limits_, receipts_, timers_, waiters_, residents_, templates_, destinations_,
            settings_),
      jobs_(limits_, tallies_, receipts_, timers_, sequences_, bodies_, letters_, residents_,
            destinations_, window_, lookup_, delivery_, revival_, operations_, reruns_, operators_,
            std::move(books.jobs)),
      arrivals_(options_, limits_, tallies_, receipts_, sequences_, names_, nested_, cards_,
                residents_, destinations_, window_, lookup_, gates_, delivery_, rousing_, restore_,
                operations_, acceptance_),
      quarantine_(receipts_, bodies_, cards_, residents_, census_, window_, gates_, refill_),
      inquiry_(options_, limits_, receipts_, ids_, dictionaries_, sequences_, bodies_, letters_,
               names_, cards_, residents_, sleepers_, census_, destinations_, window_, records_,
               lookup_, gates_, operations_, reruns_, holds_, fanouts_, jobs_),
      now_(now) {
  receipts_.hold_news(receipts_.may_have_pending_news());
}

Stepped Engine::Impl::step(Now now, const Event& event, const Found& found, Effects& out) {
  POSTRIDER_CHECK(now.engine >= now_);
  now_ = now.engine;
  doubt_ = now.doubt;
  ++tallies_.steps;
  Step step{now.engine, now.wall, now.doubt, found, out, now.entropy};
  step.looks = std::move(spare_looks_);
  step.looks.clear();
  std::visit([&](const auto& happened) { on(step, happened); }, event);
  if (!step.lacks()) {
    finish_step(step);
    spare_looks_ = std::move(step.looks);
    return {};
  }
  ++tallies_.needs;
  dismiss_visitors(step);
  destinations_.drop_unwritten();
  starts_.settle(step);  // destinations that were read stay, and have chores of their own
  residents_.drop_drained(step.drained);
  bodies_.tidy();
  return {std::move(step.need)};
}

void Engine::Impl::dismiss_visitors(Step& step) {
  for (const Slot slot : window_.take_visitors()) lookup_.dismiss_visitor(step, slot);
}

void Engine::Impl::quarantine_damaged(Step& step) {
  std::set<std::string_view> met;  // one step may look at a record several times
  for (const Row& row : step.damaged) {
    if (met.insert(row.first).second) quarantine_.quarantine(step, row);
  }
}

void Engine::Impl::finish_step(Step& step) {
  for (Row& row : destinations_.take_damaged()) step.damaged.push_back(std::move(row));
  if (!step.damaged.empty()) quarantine_damaged(step);
  dismiss_visitors(step);
  destinations_.drop_unwritten();
  holds_.look_at_holds(step);
  starts_.settle(step);
  starts_.evict_surplus();
  residents_.drop_drained(step.drained);
  for (const DestinationId id : residents_.take_drained())
    step.out.chores.push_back({.kind = Chore::Kind::kRemoveDrained, .destination = id});
  restore_.go_on_with_owed(step, false);
  bodies_.tidy();
  if (receipts_.letters_dropped()) bodies_.count_down_later();
  if (!window_.restoring() && bodies_.begin_count_down())
    step.out.chores.push_back({.kind = Chore::Kind::kBodies});
  keep_retention_timer(step.now);
  if (kChecked) check();
}

// A large window is looked at now and then: checking it costs as much as it holds.
void Engine::Impl::check() {
  constexpr std::size_t kSmall = 512;
  constexpr std::uint64_t kSeldom = 4096;
  if (window_.size() > kSmall && tallies_.steps % kSeldom != 0) return;
  const std::string wrong = window_.check();
  if (!wrong.empty()) check_failed(wrong.c_str(), __FILE__, __LINE__);
}

// What came first in its bucket may have to go earlier than what was waited for so far.
void Engine::Impl::keep_retention_timer(Timestamp now) {
  const bool moved = receipts_.retention_moved();
  if (!moved && retain_timer_ != 0 && timers_.armed(retain_timer_)) return;
  timers_.cancel(std::exchange(retain_timer_, 0));
  const Timestamp at = receipts_.next_retention(now);
  if (at != Timestamp::never()) retain_timer_ = timers_.arm(at, Timer{.kind = TimerKind::kRetain});
}

void Engine::Impl::close_turn(Timestamp now, const WallBooks& wall, Effects& out) {
  if (out.writes.empty() && !receipts_.has_page() && !receipts_.wall_moved(wall)) return;
  bodies_.write(out.writes);
  census_.write_census(out.writes);
  starts_.evict_surplus();  // destinations that waited for their census to be written
  receipts_.close_turn(now, wall, sequences_.next(), out.writes);
  if (!receipts_.letters_dropped()) return;
  // The next step sees to what those letters referred to, and a timer sees to the next step.
  bodies_.count_down_later();
  timers_.arm(now, Timer{.kind = TimerKind::kRetain});
}

void Engine::Impl::on(Step& step, const Configure& event) {
  settings_.on(step, event);
  if (!step.lacks() && is_template_name(event.config.name)) idle_.look(step);
}

void Engine::Impl::on(Step& step, const Query& query) {
  if (query.what != Query::What::kStats) return inquiry_.on(step, query);
  Answer answer;
  answer.view = stats();
  step.reply(query.ticket, std::move(answer));
}

void Engine::Impl::on(Step& step, const TimersDue&) {
  fired_.clear();
  timers_.advance(step.now, limits_.timers_per_step_max, fired_);
  // Not by Timers::next() before the advance: after an idle time that can be the start of a coarse
  // slot, up to a minute before the only timer in it.
  if (!fired_.empty()) tallies_.timers_late.add(step.now - fired_.front().due);
  for (const Timer& timer : fired_) fire(step, timer);
}

void Engine::Impl::fire(Step& step, const Timer& timer) {
  const Slot entry = window_.find(timer.id);
  switch (timer.kind) {
    case TimerKind::kState:
      if (entry == kNoSlot) break;
      window_[entry].timer = 0;
      if (window_[entry].waits == Waits::kForProbe) return delivery_.probe_again(step, entry);
      return delivery_.apply(step, entry, window_.state_of(window_[entry]).timer_signal, nullptr);
    case TimerKind::kWakeHot:
    case TimerKind::kDueAttempt:
      step.out.chores.push_back({.kind = Chore::Kind::kWakeMessage,
                                 .destination = timer.id.destination(),
                                 .id = timer.id});
      return;
    case TimerKind::kDueExpiry:
      step.out.chores.push_back(
          {.kind = Chore::Kind::kExpire, .destination = timer.id.destination(), .id = timer.id});
      return;
    case TimerKind::kDueOpening: {
      const DestinationId id = timer.id.destination();
      step.out.chores.push_back({.kind = Chore::Kind::kWakeRoute, .destination = id});
      return;
    }
    case TimerKind::kDueCard:
      step.out.chores.push_back(
          {.kind = Chore::Kind::kExpireCard, .id = timer.id, .at = timer.due});
      return;
    case TimerKind::kRouteLook: {
      const Slot resident = residents_.find(timer.id.high);
      if (resident == kNoSlot) break;
      return step.look_at(resident);
    }
    case TimerKind::kGate: return starts_.serve_gate(step, timer.id.high);
    case TimerKind::kGroup: return starts_.serve_group(step, timer.id.high);
    case TimerKind::kLoadDue: step.out.chores.push_back({.kind = Chore::Kind::kLoadDue}); return;
    case TimerKind::kJob: return jobs_.job_timer(step, timer.id.high);
    case TimerKind::kAwait: return waiters_.time_out(step, Ticket(timer.id.high));
    case TimerKind::kOwed: return restore_.go_on_with_owed(step, true);
    case TimerKind::kIdle: return idle_.look(step);
    case TimerKind::kRetain: receipts_.retain(step.now, step.out.writes); return;
  }
  ++tallies_.stray_timers;
}

void Engine::Impl::on(Step& step, const Chore& chore) {
  switch (chore.kind) {
    case Chore::Kind::kRestore: return restore(step, chore);
    case Chore::Kind::kRefill: return refill_.refill(step, chore);
    case Chore::Kind::kLower: return starts_.read_lower(step, chore);
    case Chore::Kind::kWakeMessage: return refill_.wake_message(step, chore);
    case Chore::Kind::kExpire: return refill_.expire_message(step, chore);
    case Chore::Kind::kWakeRoute: return revival_.wake_route(step, chore);
    case Chore::Kind::kLoadDue: return load_due(step);
    case Chore::Kind::kRemoveDrained: return settings_.remove_drained(step, chore);
    case Chore::Kind::kNested: return acceptance_.submit_nested(step, chore);
    case Chore::Kind::kClaim: return arrivals_.claim(step, chore);
    case Chore::Kind::kRevive: return revival_.revive(step, chore);
    case Chore::Kind::kJob: return jobs_.run_job(step, chore);
    case Chore::Kind::kDryRun: return jobs_.dry_run(step, chore);
    case Chore::Kind::kBodies: return bodies_.count_down(step);
    case Chore::Kind::kSweep: return sweep_.sweep(step, chore);
    case Chore::Kind::kRouse: return rousing_.rouse(step, chore);
    case Chore::Kind::kExpireCard: return cards_.expire(step, chore);
    case Chore::Kind::kBatch: return refill_.bring_batch(step, chore);
    case Chore::Kind::kIdle: return idle_.walk(step, chore);
    case Chore::Kind::kRemoveIdle: return idle_.remove_idle(step, chore);
  }
}

Stats Engine::Impl::stats() const {
  Stats stats;
  stats.counters = receipts_.counters();
  stats.noted = receipts_.noted();
  stats.tallies = tallies_;
  stats.in_window = window_.size();
  stats.open_attempts = attempts_.open_now();
  stats.residents = residents_.size();
  stats.jobs_running = jobs_.jobs_running();
  stats.holds = holds_.size();
  receipts_.cause_counts().tell(stats);
  const BucketInfo history = receipts_.sum(Kept::kHistory);
  stats.history = history.count;
  stats.history_bytes = history.bytes;
  stats.restoring = restore_.restoring();
  stats.now = now_;
  stats.clock_doubt = doubt_;
  stats.cards.assign(receipts_.cards().begin(), receipts_.cards().end());
  census_.tell_states(stats, sleepers_, window_.restoring());
  return stats;
}

std::vector<Engine::RowUse> Engine::Impl::rows_used() const {
  std::vector<RowUse> out;
  const auto& uses = delivery_.row_use();
  for (std::size_t p = 0; p < uses.size(); ++p) {
    for (std::size_t m = 0; m < uses[p].size(); ++m) {
      for (std::size_t r = 0; r < uses[p][m].size(); ++r) {
        out.push_back({options_.profiles[p]->name, m, r, uses[p][m][r]});
      }
    }
  }
  return out;
}

std::size_t Engine::Impl::memory_bytes() const {
  return window_.memory_bytes() + attempts_.memory_bytes() + residents_.memory_bytes() +
         timers_.memory_bytes() + census_.pages().memory_bytes() + sleepers_.memory_bytes();
}

void Engine::Impl::restore(Step& step, const Chore& chore) {
  if (chore.cursor.empty() || chore.cursor[0] == keys::kHot)
    return restore_.restore_hot(step, chore);
  if (chore.cursor[0] == keys::kHolding) {
    if (!restore_.restore_holding(step, chore)) return;
    jobs_.resume_jobs(step);
    idle_.look(step);
    return restore_.begin_work(step);
  }
  if (chore.cursor[0] == keys::kNested) return nested_.restore_nested(step, chore);
  if (chore.cursor[0] == keys::kPendingNews) return names_.restore_pending_news(step, chore);
  if (chore.cursor[0] == keys::kCensus) return census_.restore_census(step, chore);
  if (chore.cursor[0] == keys::kRoute) return holds_.look_at_held(step, chore);
  restore_.restore_owed(step, chore);
}

void Engine::Impl::load_due(Step& step) {
  for (const auto& [id, timer] : due_.load_due(step)) {
    const Slot slot = window_.find(id);
    if (slot != kNoSlot) window_[slot].expiry_timer = timer;
  }
}

}  // namespace postrider
