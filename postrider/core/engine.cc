#include "postrider/core/engine.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {

Engine::Engine(EngineOptions options, Epoch epoch, Books books, Timestamp now)
    : impl_(std::make_unique<Impl>(options, epoch, std::move(books), now)) {}
Engine::~Engine() = default;
Stepped Engine::step(Now now, const Event& event, const Found& found, Effects& out) {
  return impl_->step(now, event, found, out);
}
void Engine::close_turn(Timestamp now, const WallBooks& wall, Effects& out) {
  impl_->close_turn(now, wall, out);
}
void Engine::set_wall(const WallBooks& wall) { impl_->set_wall(wall); }
std::optional<Timestamp> Engine::next_deadline() const { return impl_->next_deadline(); }
void Engine::hold_starts() { impl_->hold_starts(); }
bool Engine::restoring() const { return impl_->restoring(); }
Stats Engine::stats() const { return impl_->stats(); }
std::vector<Engine::RowUse> Engine::rows_used() const { return impl_->rows_used(); }
std::size_t Engine::memory_bytes() const { return impl_->memory_bytes(); }

Engine::Impl::Impl(EngineOptions options, Epoch epoch, Books books, Timestamp now)
    : options_(options),
      limits_(options_.limits),
      dictionaries_(dictionaries_of(options_.profiles)),
      rng_(options_.seed ^ epoch.value()),
      receipts_(options_, books, now),
      ids_(receipts_.id_key()),
      timers_(now),
      first_sequence_(first_sequence(epoch).value()),
      last_sequence_(first_sequence(epoch).value()),
      last_attempt_(first_sequence(epoch).value()),
      recent_names_(limits_.recent_names_max, now),
      started_(now),
      now_(now),
      census_pages_(std::move(books.census),
                    {limits_.census_pages_max, limits_.census_counts_max}) {
  for (StateCounts* counts : {&in_states_, &recorded_, &asleep_, &cold_})
    counts->resize(options_.profiles.size());
  receipts_.hold_news(receipts_.may_have_pending_news());
  damaged_books_ = std::move(books.damaged);
  for (Hold& hold : books.holds) holds_.emplace(hold.rule.name, hold);
  for (Job& job : books.jobs) jobs_.emplace(job.id.value(), std::move(job));
  for (const ProfileSpec* profile : options_.profiles) {
    auto& methods = row_use_.emplace_back();
    for (const Method& method : profile->methods) methods.emplace_back(method.rows.size(), 0);
  }
}

Stepped Engine::Impl::step(Now now, const Event& event, const Found& found, Effects& out) {
  POSTRIDER_CHECK(now.engine >= now_);
  now_ = now.engine;
  ++tallies_.steps;
  Step step{now.engine, now.wall, now.doubt, found, out, {}};
  doubt_ = now.doubt;
  std::visit([&](const auto& happened) { on(step, happened); }, event);
  if (step.lacks()) {
    ++tallies_.needs;
    for (const Slot slot : std::exchange(visitors_, {})) dismiss_visitor(step, slot);
    bodies_.tidy();
    return {std::move(step.need)};
  }
  finish_step(step);
  return {};
}

void Engine::Impl::finish_step(Step& step) {
  for (Row& row : std::exchange(damaged_at_load_, {})) step.damaged.push_back(std::move(row));
  std::set<std::string_view> met;  // one step may look at a record several times
  for (const Row& row : step.damaged) {
    if (met.insert(row.first).second) quarantine(step, row);
  }
  for (const Slot slot : std::exchange(visitors_, {})) dismiss_visitor(step, slot);
  if (!unlooked_.empty()) look_at_holds(step);
  pump(step);
  evict_surplus();
  for (const DestinationId id : std::exchange(drained_, {}))
    step.out.chores.push_back({.kind = Chore::Kind::kRemoveDrained, .destination = id});
  if (owed_waits_at_) go_on_with_owed(step, false);
  bodies_.tidy();
  bodies_wait_ = receipts_.letters_dropped() || bodies_wait_;
  if (bodies_wait_ && !counting_down_ && !restoring_hot_) {
    counting_down_ = true;
    bodies_wait_ = false;
    step.out.chores.push_back({.kind = Chore::Kind::kBodies});
  }
  // What came first in its bucket may have to go earlier than whatever was waited for so far.
  if (receipts_.retention_moved() || retain_timer_ == 0 || !timers_.armed(retain_timer_)) {
    timers_.cancel(std::exchange(retain_timer_, 0));
    const Timestamp at = receipts_.next_retention(step.now);
    if (at != Timestamp::never())
      retain_timer_ = timers_.arm(at, Timer{.kind = TimerKind::kRetain});
  }
}

void Engine::Impl::close_turn(Timestamp now, const WallBooks& wall, Effects& out) {
  if (out.writes.empty() && !receipts_.has_page() && !receipts_.wall_moved(wall)) return;
  if (bodies_.changed()) bodies_.write(receipts_.counters(), out.writes);
  write_census(out.writes);
  evict_surplus();  // those that waited for it
  receipts_.close_turn(now, wall, next_sequence(), out.writes);
  if (!receipts_.letters_dropped()) return;
  // The next step sees to what those letters referred to; somebody must wake us for it.
  bodies_wait_ = true;
  timers_.arm(now, Timer{.kind = TimerKind::kRetain});
}

void Engine::Impl::reply(Step& step, Ticket ticket, Answer answer) {
  if (ticket.is_set()) step.out.actions.emplace_back(Reply{ticket, std::move(answer)});
}

namespace {

bool is_put(const WriteBatch& batch, const std::string& key) {
  return std::any_of(batch.writes().begin(), batch.writes().end(), [&](const Write& write) {
    return write.kind == Write::Kind::kPut && write.key == key;
  });
}

}  // namespace

void Engine::Impl::quarantine(Step& step, const Row& row) {
  step.out.writes.put(keys::quarantine(row.first), row.second);
  const auto hot = keys::parse_hot(row.first);
  const auto cold = keys::parse_cold(row.first);
  const bool message =
      (hot && hot->part == keys::Part::kMessage) || (cold && cold->part == keys::Part::kMessage);
  const auto body = keys::parse_body(row.first);
  const bool once = message || (body && body->part == keys::BodyPart::kBytes) ||
                    row.first[0] == keys::kCensusPage;
  const auto letter = row.first[0] == keys::kDead ? keys::parse_bucketed(row.first) : std::nullopt;
  if (once) {
    step.out.writes.remove_once(row.first);
  } else if (letter) {
    const auto dead =
        decode_dead(row.second.view());  // perhaps only the body that it shares is lost
    receipts_.take_letter({.bucket = letter->bucket,
                           .id = MessageId{letter->high, letter->low},
                           .size = row.second.size() + shared_of_letter(row.second.view()).bytes,
                           .phase = dead ? std::optional(dead->letter.phase) : std::nullopt,
                           .cause = dead ? dead->letter.cause : FailureClass::kNone},
                          step.now, step.out.writes);
  } else if (!is_put(step.out.writes, row.first)) {  // what was written since is sound
    step.out.writes.remove(row.first);
  }
  ++receipts_.counters().quarantined;
  LogEntry notice;
  notice.kind = LogEntry::Kind::kQuarantined;
  notice.at = step.now;
  notice.reason = std::string("a record of space ") + row.first[0] + " cannot be read";
  if (cold) notice.id = cold->id;
  receipts_.note(std::move(notice));
  if (message || letter || body) lose_body(step, row);
  if (hot && once) release_unreadable(step, hot->sequence);
  if (!cold) return;
  lose_cold(step, *cold);
  if (message) release_lasting(step, cold->id);
  if (cold->part == keys::Part::kState)
    step.out.chores.push_back({.kind = Chore::Kind::kWakeMessage, .id = cold->id, .all = true});
  rouse_lane(step, cold->id);
  // It may have been the last of a destination that is being drained.
  const auto resident = by_destination_.find(cold->id.destination().value());
  if (resident != by_destination_.end()) touch(resident->second);
}

void Engine::Impl::on(Step& step, const AttemptNews& news) {
  const auto found = by_attempt_.find(news.attempt.value());
  if (found == by_attempt_.end()) {
    ++tallies_.late_outcomes;
    return;
  }
  if (!may_come_from_outside(news.signal)) {
    ++tallies_.ignored_signals;
    return;
  }
  apply(step, found->second.slot, news.signal, nullptr);
}

void Engine::Impl::on(Step& step, const AttemptEnded& ended) {
  const auto found = by_attempt_.find(ended.attempt.value());
  if (found == by_attempt_.end()) {
    ++tallies_.late_outcomes;
    return;
  }
  const Slot slot = found->second.slot;
  Entry& entry = entries_[slot];
  const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
  const Reading reading = profile.wire.classify(facts_of(step, entry), entry.kind, ended.reply);
  tallies_.attempt_took.add(step.now - found->second.started);
  // The attempt is over: nothing is left to abort, whatever the row says.
  by_attempt_.erase(found);
  end_attempt(step, slot, reading);
}

void Engine::Impl::end_attempt(Step& step, Slot slot, const Reading& reading) {
  Entry& entry = entries_[slot];
  entry.attempt = AttemptId();
  attempt_closed(entry);
  entry.state.failure = reading.outcome.failure;
  entry.state.certainty = reading.outcome.certainty;
  // Only a failure has a reason that anybody asks for.
  if (reading.outcome.failure != FailureClass::kNone || entry.reason)
    set_reason(entry, reading.outcome.reason);
  const bool failed = reading.outcome.failure != FailureClass::kNone;
  // What never left us says nothing about the destination, and costs its message nothing.
  const bool ours = reading.outcome.failure == FailureClass::kHeldBack;
  if (ours && entry.kind == AttemptKind::kSend && entry.state.held_back < UINT16_MAX)
    ++entry.state.held_back;
  if (failed && !ours) note_failure(step.now, entry);
  if (entry.kind == AttemptKind::kProbe) {
    entry.state.probes_failed =
        failed ? static_cast<std::uint16_t>(std::min(entry.state.probes_failed + 1, 1000))
               : std::uint16_t{0};
    if (reading.retry_after) entry.more().patience = *reading.retry_after;
  }
  if (has_gates(entry.message)) strike_gates(step, slot);
  // Most answers say no more than what became of the attempt.
  const bool plain = !entry.details && !reading.notes && !reading.then && reading.names.empty() &&
                     reading.submits.empty();
  if (plain) return apply(step, slot, reading.signal, &reading);
  absorb(step, entry, reading, entry.kind == AttemptKind::kSend);
  apply_reading(step, slot, reading, entry.state.attempts, step.now);
}

void Engine::Impl::on(Step& step, const ReceiptArrived& receipt) {
  if (!may_come_from_outside(receipt.signal)) {
    ++tallies_.ignored_signals;
    return;
  }
  const Located located = locate(step, receipt.id);
  if (!located.known) return;
  if (located.slot == kNoSlot) {
    ++tallies_.late_receipts;
    return;
  }
  if (planted(Bug::kLateReceiptDropped) && phase_of(entries_[located.slot]) == Phase::kBackoff)
    return;
  Entry& entry = entries_[located.slot];
  const Transition* row = find_row(method_of(entry).rows, entry.state.state, receipt.signal);
  if (row != nullptr && row->verb != Do::kIgnore && !receipt.detail.empty())
    set_reason(entry, receipt.detail);
  apply(step, located.slot, receipt.signal, nullptr);
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
  const auto entry = by_id_.find(timer.id);
  switch (timer.kind) {
    case TimerKind::kState:
      if (entry == by_id_.end()) break;
      entries_[entry->second].timer = 0;
      if (entries_[entry->second].probes_later) return probe_again(step, entry->second);
      return apply(step, entry->second, state_of(entries_[entry->second]).timer_signal, nullptr);
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
    case TimerKind::kRouteLook: {
      const auto resident = by_destination_.find(timer.id.high);
      if (resident == by_destination_.end()) break;
      ring(resident->second);
      return touch(resident->second);
    }
    case TimerKind::kGate: return serve_gate(step, timer.id.high);
    case TimerKind::kGroup: return serve_group(step, timer.id.high);
    case TimerKind::kLoadDue: step.out.chores.push_back({.kind = Chore::Kind::kLoadDue}); return;
    case TimerKind::kJob: return job_timer(step, timer.id.high);
    case TimerKind::kOwed: return go_on_with_owed(step, true);
    case TimerKind::kRetain: receipts_.retain(step.now, step.out.writes); return;
  }
  ++tallies_.stray_timers;
}

void Engine::Impl::on(Step& step, const Chore& chore) {
  switch (chore.kind) {
    case Chore::Kind::kRestore: return restore(step, chore);
    case Chore::Kind::kRefill: return refill(step, chore);
    case Chore::Kind::kLower: return read_lower(step, chore);
    case Chore::Kind::kWakeMessage: return wake_message(step, chore);
    case Chore::Kind::kExpire: return expire_message(step, chore);
    case Chore::Kind::kWakeRoute: return wake_route(step, chore);
    case Chore::Kind::kLoadDue: return load_due(step);
    case Chore::Kind::kRemoveDrained: return remove_drained(step, chore);
    case Chore::Kind::kNested: return submit_nested(step, chore);
    case Chore::Kind::kClaim: return claim(step, chore);
    case Chore::Kind::kRevive: return revive(step, chore);
    case Chore::Kind::kJob: return run_job(step, chore);
    case Chore::Kind::kDryRun: return dry_run(step, chore);
    case Chore::Kind::kBodies: return count_down(step);
  }
}

Stats Engine::Impl::stats() const {
  Stats stats;
  stats.counters = receipts_.counters();
  stats.noted = receipts_.noted();
  stats.tallies = tallies_;
  stats.in_window = entries_.size();
  stats.open_attempts = open_attempts_;
  stats.residents = residents_.size();
  stats.jobs_running = jobs_running();
  stats.holds = holds_.size();
  receipts_.cause_counts().tell(stats);
  const BucketInfo history = receipts_.sum(Kept::kHistory);
  stats.history = history.count;
  stats.history_bytes = history.bytes;
  stats.restoring = restoring();
  stats.now = now_;
  stats.clock_doubt = doubt_;
  tell_states(stats);
  return stats;
}

std::vector<Engine::RowUse> Engine::Impl::rows_used() const {
  std::vector<RowUse> out;
  for (std::size_t p = 0; p < row_use_.size(); ++p) {
    for (std::size_t m = 0; m < row_use_[p].size(); ++m) {
      for (std::size_t r = 0; r < row_use_[p][m].size(); ++r) {
        out.push_back({options_.profiles[p]->name, m, r, row_use_[p][m][r]});
      }
    }
  }
  return out;
}

std::size_t Engine::Impl::memory_bytes() const {
  constexpr std::size_t kNode = 3 * sizeof(void*);  // what a hash table adds to each element, about
  return entries_.capacity() * sizeof(Entry) +
         by_id_.size() * (sizeof(MessageId) + sizeof(Slot) + kNode) +
         by_attempt_.size() * (sizeof(std::uint64_t) + sizeof(OpenAttempt) + kNode) +
         residents_.capacity() * sizeof(Resident) + by_destination_.size() * (16 + kNode) +
         timers_.memory_bytes() + census_pages_.memory_bytes() +
         hot_sleepers_.size() * (sizeof(MessageId) + sizeof(Sleeper) + kNode);
}

}  // namespace postrider
