// How attempts are started, given up and ended.
#include <algorithm>
#include <optional>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"
#include "postrider/base/planted.h"
#include "postrider/core/delivery/delivery.h"

namespace postrider::core {
namespace {

std::uint64_t hash_of(const WireRequest& request) {
  std::uint64_t hash = hash64(request.verb);
  hash = hash64(request.target, hash);
  hash = hash64(request.headers.text(), hash);
  return hash64(request.body, hash);
}

}  // namespace

void Delivery::on(Step& step, const AttemptNews& news) {
  const Slot slot = attempts_.find(news.attempt);
  if (slot == kNoSlot) {
    ++tallies_.late_outcomes;
    return;
  }
  if (!may_come_from_outside(news.signal)) {
    ++tallies_.ignored_signals;
    return;
  }
  apply(step, slot, news.signal, nullptr);
}

void Delivery::on(Step& step, const AttemptEnded& ended) {
  const Slot slot = attempts_.find(ended.attempt);
  if (slot == kNoSlot) {
    ++tallies_.late_outcomes;
    return;
  }
  Entry& entry = window_[slot];
  const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
  // Nothing has changed yet, so it may ask for reads, and then it comes again.
  OpenCabinet cabinet(cards_, step, profile.name, OpenCabinet::Reads::kMay);
  Facts facts = facts_of(step, entry, &cabinet);
  std::vector<Facts> followers;
  Batch batch;
  if (window_.leads(entry)) {
    followers = follower_facts(entry, step.now, step.wall);
    batch = {followers, residents_[entry.destination].route.claims};
    facts.batch = &batch;
  }
  Reading reading = profile.wire.classify(facts, entry.kind, ended.reply);
  if (step.lacks()) return;
  if (!reading.cards.empty()) {
    const auto refusal = cards_.judge(step, profile, reading.cards);
    if (step.lacks()) return;
    if (refusal) {
      ++tallies_.refused_readings;
      const Certainty certainty = reading.outcome.certainty;
      reading = {.signal = On::kFailed,
                 .outcome = {certainty, FailureClass::kOther, refusal->detail}};
    }
  }
  end_attempt(step, slot, reading);
}

void Delivery::on(Step& step, const ReceiptArrived& receipt) {
  if (!may_come_from_outside(receipt.signal)) {
    ++tallies_.ignored_signals;
    return;
  }
  const Lookup::Located located = lookup_.locate(step, receipt.id);
  if (!located.known) return;
  if (located.slot == kNoSlot) {
    ++tallies_.late_receipts;
    return;
  }
  if (planted(Bug::kLateReceiptDropped) &&
      window_.phase_of(window_[located.slot]) == Phase::kBackoff)
    return;
  Entry& entry = window_[located.slot];
  const Transition* row =
      find_row(window_.method_of(entry).rows, entry.state.state, receipt.signal);
  if (row != nullptr && row->verb != Do::kIgnore && !receipt.detail.empty())
    window_.set_reason(entry, receipt.detail);
  apply(step, located.slot, receipt.signal, nullptr);
}

void Delivery::end_attempt(Step& step, Slot slot, const Reading& reading) {
  Entry& entry = window_[slot];
  entry.state.failure = reading.outcome.failure;
  entry.state.certainty = reading.outcome.certainty;
  // Only a failure has a reason that is shown.
  if (reading.outcome.failure != FailureClass::kNone || entry.reason)
    window_.set_reason(entry, reading.outcome.reason);
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
  if (gates_.has_gates(entry.message)) gates_.strike_gates(step, slot);
  // The attempt is over: nothing is left to abort, whatever the row says.
  close_attempt(step, entry);
  // Most answers say no more than what became of the attempt.
  const bool plain = !entry.details && !reading.notes && !reading.then && reading.names.empty() &&
                     reading.submits.empty() && reading.cards.empty();
  if (plain) return apply(step, slot, reading.signal, &reading);
  absorb(step, entry, reading, entry.kind == AttemptKind::kSend);
  apply_reading(step, slot, reading, entry.state.attempts, step.now);
}

void Delivery::leave_attempt(Step& step, Slot slot, bool ended) {
  Entry& entry = window_[slot];
  const Attempt* attempt = attempts_.of(entry);
  if (attempt == nullptr) return;
  if (attempt->decides_gate) gates_.give_up_trial(step, entry);
  step.out.actions.emplace_back(AbortAttempt{attempt->id, ended});
  close_attempt(step, entry);
}

void Delivery::close_attempt(Step& step, Entry& entry) {
  const Attempt* attempt = attempts_.of(entry);
  POSTRIDER_CHECK(attempt != nullptr);
  tallies_.attempt_took.add(step.now - attempt->started);
  if (attempts_.close(entry, residents_[entry.destination])) step.look_at(entry.destination);
}

void Delivery::start_attempt(Step& step, Slot slot, StateIndex to, AttemptKind kind) {
  leave_attempt(step, slot);
  Entry& entry = window_[slot];
  Resident& resident = residents_[entry.destination];
  if (kind == AttemptKind::kSend && batches_.is_batched(entry)) claim_followers(step, slot);
  const bool intent = kind == AttemptKind::kSend && window_.method_of(entry).durable_intent;
  if (kind == AttemptKind::kSend) {
    if (entry.state.attempts < UINT16_MAX) ++entry.state.attempts;
    // The first one ever, or the first after a revival.
    const bool anew = entry.state.attempts == 1 && entry.state.method == entry.message.method;
    if (!entry.state.first_attempt.is_set() || anew) {
      entry.state.first_attempt = step.now;
      tallies_.until_sent.add(step.now - entry.message.accepted);
      entry.state.held_before = held_time(resident.route, step.now);
    }
    entry.state.probes_failed = 0;
    if (entry.details && !entry.details->past.attempts.empty())
      entry.details->past.attempts.begin(step.now, limits_.attempts_kept_max);
    gates_.take_gates(step, entry);
  }
  entry.kind = kind;
  std::optional<WireRequest> intended;
  if (intent) intended = encode_intent(step, entry, to);
  enter(step, slot, to, {});
  const Attempt& attempt = attempts_.open({.id = {},
                                           .subject = {entry.message.id},
                                           .kind = kind,
                                           .started = step.now,
                                           .due = entry.state.due,
                                           .request_hash = intent ? entry.details->intent.hash : 0},
                                          slot, entry, resident);
  if (kind == AttemptKind::kProbe) ++tallies_.probes;
  if (gates_.has_gates(entry.message)) gates_.begin_trial(step, entry);
  const ProfileSpec& profile = *resident.bound->profile;
  OpenCabinet cabinet(cards_, step, profile.name, OpenCabinet::Reads::kMayNot);
  StartAttempt start{attempt.id, entry.message.id,
                     intended ? std::move(*intended)
                              : profile.wire.encode(facts_of(step, entry, &cabinet), kind)};
  start.request.time_out = entry.state.due.is_set() ? entry.state.due - step.now : Duration(0);
  step.out.actions.emplace_back(std::move(start));
}

// The record of the attempt is written before its bytes leave, so the bytes are made first. As long
// as an earlier attempt may still arrive they are made as of that one's time, and are the same.
WireRequest Delivery::encode_intent(Step& step, Entry& entry, StateIndex to) {
  const Resident& resident = residents_[entry.destination];
  const Bound& bound = *resident.bound;
  Intent& intent = entry.more().intent;
  const bool again = intent.open && intent.hash != 0 && !window_.method_of(entry).renews;
  if (!again || planted(Bug::kResendRestamped))
    intent = {.at = step.now, .wall = step.wall, .hash = again ? intent.hash : 0, .open = true};
  State sending = entry.state;
  sending.state = to;
  sending.since = step.now;
  OpenCabinet cabinet(cards_, step, bound.profile->name, OpenCabinet::Reads::kMayNot);
  Facts facts{entry.message,
              sending,
              resident.facts(),
              bound.policy,
              intent.at,
              intent.wall,
              entry.notes(),
              &intent,
              nullptr,
              {bound.prepared.get(), parsed_of(entry)},
              &ids_,
              options_.secrets.get()};
  facts.cabinet = &cabinet;
  std::vector<Facts> followers;
  if (window_.leads(entry)) followers = follower_facts(entry, intent.at, intent.wall);
  const Batch batch{followers, resident.route.claims};
  if (window_.leads(entry)) facts.batch = &batch;
  WireRequest request = bound.profile->wire.encode(facts, AttemptKind::kSend);
  const std::uint64_t hash = hash_of(request);
  if (again && intent.hash != hash) {
    ++tallies_.altered_resends;
    LogEntry altered;
    altered.kind = LogEntry::Kind::kAltered;
    altered.at = step.now;
    altered.id = entry.message.id;
    altered.attempts = entry.state.attempts;
    altered.reason = "a resend is not the same bytes as the attempt that may still arrive";
    receipts_.note(std::move(altered));
  }
  intent.hash = hash;
  Aftermath left;
  if (bound.profile->after != nullptr)
    left = bound.profile->after(facts, {.kind = Moment::Kind::kStarted});
  if (planted(Bug::kStartNotTold)) left = {.names = std::move(left.names)};
  nested_.write_nested(step, *bound.profile, entry.message.id, left.submits);
  names_.give_names(step, *bound.profile, {entry.message.id, entry.state.attempts}, left.names,
                    step.now);
  if (left.notes) entry.more().notes = std::move(*left.notes);  // `facts` look at the old ones
  return request;
}

// A question that follows a failed one waits, so that a far side in trouble is not asked for ever.
void Delivery::start_probe(Step& step, Slot slot, StateIndex to) {
  Entry& entry = window_[slot];
  const PollRule& rule = residents_[entry.destination].bound->policy.poll;
  Duration wait{0};
  const bool again =
      window_.phase_of(entry) == Phase::kInFlight && entry.kind == AttemptKind::kProbe;
  if (again) wait = rule.wait_after(entry.state.probes_failed);
  if (entry.details) wait = std::max(wait, std::exchange(entry.details->patience, Duration(0)));
  if (gates_.has_gates(entry.message)) wait = std::max(wait, gates_.shut_for(entry, step.now));
  if (wait <= Duration(0)) return start_attempt(step, slot, to, AttemptKind::kProbe);
  leave_attempt(step, slot);
  entry.kind = AttemptKind::kProbe;
  enter(step, slot, to, step.now + wait);
  entry.waits = Waits::kForProbe;
}

// A question whose time has come; while its gates are shut it waits on. That is not written down:
// after a crash every open question is asked anew.
void Delivery::probe_again(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  const Duration shut =
      gates_.has_gates(entry.message) ? gates_.shut_for(entry, step.now) : Duration(0);
  if (shut <= Duration(0)) return start_attempt(step, slot, entry.state.state, AttemptKind::kProbe);
  entry.state.due = step.now + shut;
  entry.timer =
      timers_.arm(entry.state.due, Timer{.kind = TimerKind::kState, .id = entry.message.id});
}

// An attempt that is given up may leave names behind, by which the far side knows of it.
void Delivery::abandon(Step& step, const Entry& entry) {
  const ProfileSpec& profile = *residents_[entry.destination].bound->profile;
  if (profile.after == nullptr || window_.intent_of(entry) == nullptr) return;
  OpenCabinet cabinet(cards_, step, profile.name, OpenCabinet::Reads::kMayNot);
  const Facts facts = facts_of(step, entry, &cabinet);
  names_.give_names(step, profile, {entry.message.id, entry.state.attempts},
                    profile.after(facts, {.kind = Moment::Kind::kAbandoned}).names, step.now);
}

}  // namespace postrider::core
