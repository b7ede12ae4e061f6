// Bulk: operators who do one thing to everything that a filter names, count before they do it, and
// sometimes change their minds.
#include <array>
#include <utility>

#include "postrider/model/letters.h"
#include "postrider/model/message.h"
#include "postrider/sim/world/clients.h"

namespace postrider::sim {
namespace {

constexpr std::uint32_t kHolds = 3;

}  // namespace

// A source of chance of its own, so that the other draws stay what they were.
void Clients::plan_jobs() {
  const std::uint32_t count = around_.options.messages / 12 + 3;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Duration at(job_rng_.between(0, around_.options.span.count()));
    around_.agenda.after(at, [this] {
      if (!calm_) start_job();
    });
  }
  for (std::uint32_t i = 0; i < kHolds; ++i) {
    around_.agenda.after(Duration(job_rng_.between(0, around_.options.span.count())), [this] {
      if (!calm_) hold_some();
    });
  }
}

JobFilter Clients::draw_filter(JobAction action) {
  JobFilter filter;
  switch (job_rng_.below(4)) {
    case 0: break;
    case 1: filter.destination_prefix = "destination-"; break;
    default:
      filter.destination = around_.destinations[job_rng_.below(around_.destinations.size())].name;
      break;
  }
  if (job_rng_.chance(1, 6))
    filter.cause = static_cast<FailureClass>(job_rng_.below(kFailureClasses));
  const bool letters = action == JobAction::kRedrive || action == JobAction::kDrop;
  if (letters && job_rng_.chance(1, 6))
    filter.phase = job_rng_.chance(1, 2) ? Phase::kDead : Phase::kExpired;
  if (action == JobAction::kResend && job_rng_.chance(1, 4)) filter.phase = Phase::kCancelled;
  const Timestamp now = around_.engine_now();
  if (job_rng_.chance(1, 6)) filter.since = now - Duration(job_rng_.between(1, 100'000'000));
  if (job_rng_.chance(1, 6)) filter.until = now - Duration(job_rng_.between(0, 1'000));
  if (job_rng_.chance(1, 12)) filter.reason_prefix = "H";
  if (filter.until.is_set() && filter.since >= filter.until) filter.since = Timestamp();
  return filter;
}

void Clients::start_job() {
  constexpr std::array<std::uint32_t, 4> kRates = {1, 3, 50, 100'000};
  StartJob start;
  const bool live = bulk_ && job_rng_.chance(1, 3);
  start.order.action = live ? (job_rng_.chance(1, 2) ? JobAction::kRetry : JobAction::kCancel)
                            : (job_rng_.chance(3, 4) ? JobAction::kRedrive : JobAction::kDrop);
  if (job_rng_.chance(1, 6)) start.order.action = JobAction::kResend;
  start.order.filter = draw_filter(start.order.action);
  // Otherwise each would double everything that was ever delivered.
  if (start.order.action == JobAction::kResend && !start.order.filter.since.is_set() &&
      !start.order.filter.until.is_set())
    start.order.filter.since = around_.engine_now() - Duration(job_rng_.between(1, 7'200'000));
  start.order.rate = kRates[job_rng_.below(kRates.size())];
  start.order.reason = "as planned";
  start.dry_run = job_rng_.chance(1, 3);
  if (start.order.action == JobAction::kRedrive && job_rng_.chance(1, 5))
    start.order.every = Duration(job_rng_.between(60'000, 100'000'000));
  start.caller.actor = "operator";
  // Whoever begins something that goes on for ever keeps asking for its number.
  const bool repeats = start.order.every > Duration(0);
  const bool keyed = !start.dry_run && (job_rng_.chance(1, 2) || repeats);
  if (keyed) {
    start.caller.key.kind = OperationKey::Kind::kOpaque;
    start.caller.key.scope = "operators";
    start.caller.key.key = "job-" + std::to_string(draws_.next_key());
  }
  wish(std::move(start), keyed);
  if (!job_rng_.chance(1, 4)) return;
  Query query;
  query.what = Query::What::kDeadGroups;
  if (job_rng_.chance(1, 2))
    query.destination = around_.destinations[job_rng_.below(around_.destinations.size())].name;
  wish(query, false);
}

// One that a destination really has, if any does. Nothing is drawn for it, so that the other draws
// stay what they were.
std::string Clients::some_tenant() {
  for (std::size_t i = 0; i < around_.destinations.size(); ++i) {
    const std::size_t at = (draws_.last_operation() + i) % around_.destinations.size();
    const std::string* tenant = find_text(around_.destinations[at].settings, "tenant");
    if (tenant != nullptr) return *tenant;
  }
  return "nobody's";
}

// Everything of a name is held for a while; sometimes all of it.
void Clients::hold_some() {
  PutHold put;
  put.caller.actor = "operator";
  put.rule.name = "hold-" + std::to_string(job_rng_.below(3));
  put.rule.reason = "maintenance of all";
  switch (job_rng_.below(4)) {
    case 0: put.rule.profile = around_.destinations.front().profile; break;
    case 1: put.rule.tenant = some_tenant(); break;
    default:
      put.rule.destination_prefix =
          around_.destinations[job_rng_.below(around_.destinations.size())].name;
      break;
  }
  const std::string name = put.rule.name;
  wish(std::move(put), true);
  constexpr std::array<Duration, 3> kWaits = {1min, 30min, 5h};
  const Duration wait(job_rng_.between(0, kWaits[job_rng_.below(kWaits.size())].count()));
  around_.agenda.after(wait, [this, name] { release(name); });
}

void Clients::release(const std::string& name) {
  DropHold drop;
  drop.caller.actor = "operator";
  drop.name = name;
  wish(std::move(drop), true);
}

// In some worlds letters are carried out, and in again: some of them twice, at once or later.
void Clients::plan_imports() {
  if (!around_.field.customs().imports || !import_rng_.chance(1, 4)) return;
  for (std::uint32_t i = 0; i < around_.options.messages / 40 + 1; ++i) {
    const Duration at(import_rng_.between(0, around_.options.span.count()));
    around_.agenda.after(at, [this] {
      if (!calm_) export_some();
    });
  }
}

void Clients::export_some() {
  Query query;
  query.what = Query::What::kDeadLetters;
  query.contents = true;
  query.limit = 1 + static_cast<std::uint32_t>(import_rng_.below(5));
  export_wish_ = wish(query, false);
}

void Clients::export_told(const DeadLetters& letters) {
  for (std::size_t i = 0; i < letters.letters.size() && i < letters.contents.size(); ++i) {
    const DeadLetter& letter = letters.letters[i];
    const auto message = decode_message(letters.contents[i].message);
    if (calm_ || letter.phase == Phase::kParked || !message) continue;
    const Submit submit = import_of({.id = letter.id,
                                     .shown_id = to_string(letter.id),
                                     .destination = letters.contents[i].destination,
                                     .lane = letter.id.lane(),
                                     .priority = letter.id.priority(),
                                     .attributes = std::string(message->attributes),
                                     .body = std::string(message->body),
                                     .ran = letter.attempts != 0},
                                    "operators");
    wish(submit, true);
    if (!import_rng_.chance(1, 2)) continue;
    around_.agenda.after(Duration(import_rng_.between(0, 3'600'000)), [this, submit] {
      if (!calm_) wish(submit, true);
    });
  }
}

void Clients::job_told(const StartJob& start, const Answer& answer) {
  if (start.dry_run || answer.code != AnswerCode::kDone) return;
  const JobId id(answer.id.low);
  if (start.order.every > Duration(0)) repeating_.push_back(id);
  if (calm_) return stop_repeating();
  if (!job_rng_.chance(1, 5)) return;
  around_.agenda.after(Duration(job_rng_.between(0, 5'000)), [this, id] {
    if (calm_) return;
    cancel_job(id, false);
    Query query;
    query.what = Query::What::kJob;
    query.job = id;
    wish(query, false);
  });
}

void Clients::cancel_job(JobId id, bool insists) {
  CancelJob cancel;
  cancel.caller.actor = "operator";
  cancel.job = id;
  wish(std::move(cancel), insists);
}

// Where letters die again and again, a job that brings them back would never let the world end.
void Clients::stop_repeating() {
  for (const JobId id : std::exchange(repeating_, {})) cancel_job(id, true);
}

}  // namespace postrider::sim
