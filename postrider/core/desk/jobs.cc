#include "postrider/core/desk/jobs.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

constexpr std::uint32_t kPagesPerSecond = 20;  // of a job that is held back by its rate
constexpr Duration kRestoreWait{100};
constexpr Duration kTurnWait{1000};  // until another job has ended

Answer job_answer(AnswerCode code, std::string detail, JobId id = {}) {
  Answer answer;
  answer.code = code;
  answer.id = {0, id.value()};
  answer.detail = std::move(detail);
  return answer;
}

bool of_letters(JobAction action) {
  return action == JobAction::kRedrive || action == JobAction::kDrop;
}

std::optional<std::string> wrong_phase(const JobOrder& order) {
  if (!order.filter.phase) return std::nullopt;
  const Phase phase = *order.filter.phase;
  if (of_letters(order.action) && phase != Phase::kDead && phase != Phase::kExpired)
    return "the phase of a dead letter is dead or expired";
  if (order.action == JobAction::kResend && (!is_end(phase) || leaves_letter(phase)))
    return "what is kept as history is delivered, cancelled or indeterminate";
  if (order.action == JobAction::kRetry && phase != Phase::kParked)
    return "only parked messages are tried again; use phase parked, or none";
  if (order.action == JobAction::kCancel && is_end(phase))
    return "only live messages can be cancelled";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Jobs::invalid(const JobOrder& order) const {
  const JobFilter& filter = order.filter;
  if (auto wrong = wrong_phase(order)) return wrong;
  if (!filter.destination.empty() && !filter.destination_prefix.empty())
    return "name a destination or a prefix, not both";
  if (std::max(filter.destination.size(), filter.destination_prefix.size()) >
      limits_.name_bytes_max)
    return "a destination's name has at most " + std::to_string(limits_.name_bytes_max) + " bytes";
  if (std::max(filter.reason_prefix.size(), order.reason.size()) > limits_.reason_bytes_max)
    return "a reason has at most " + std::to_string(limits_.reason_bytes_max) + " bytes";
  if (order.rate > limits_.job_rate_max)
    return "the rate is at most " + std::to_string(limits_.job_rate_max) + " per second";
  if (order.every > Duration(0) && order.every < limits_.job_every_min)
    return "rounds are at least " + std::to_string(limits_.job_every_min.count() / 1000) +
           " seconds apart";
  if (order.every > Duration(0) && order.action != JobAction::kRedrive)
    return "only dead letters are sent again and again";
  if (filter.until.is_set() && filter.since >= filter.until)
    return "'since' must be before 'until'";
  return std::nullopt;
}

void Jobs::on(Step& step, const StartJob& start) {
  const auto refused = [&]() -> std::optional<Answer> {
    if (auto wrong = invalid(start.order)) return job_answer(AnswerCode::kInvalid, *wrong);
    if (start.order.filter.destination.empty()) return std::nullopt;
    const Destinations::Destined destined =
        destinations_.find_destination(step, start.order.filter.destination);
    if (destined.known && destined.slot == kNoSlot)
      return job_answer(AnswerCode::kNotFound,
                        "there is no destination '" + start.order.filter.destination + "'");
    return std::nullopt;
  };
  if (start.dry_run) {
    std::optional<Answer> answer = refused();
    if (step.lacks()) return;
    if (!answer) answer = begin_dry_run(step, start);
    if (answer) step.reply(start.caller.ticket, std::move(*answer));
    return;
  }
  const std::string order = encode_order(start.order);
  const Operations::AuditLine line{"job-start", {}, start.order.reason};
  operations_.once(step, start.caller, canonical("start-job", "", order), line,
                   [&]() -> std::optional<Answer> {
                     std::optional<Answer> answer = refused();
                     if (step.lacks() || answer) return answer;
                     if (jobs_running() >= std::max<std::uint32_t>(1, limits_.jobs_running_max))
                       return job_answer(AnswerCode::kBusy,
                                         "as many jobs run as may run at a time; wait for one "
                                         "to end, or cancel one");
                     return start_job(step, start);
                   });
}

Answer Jobs::start_job(Step& step, const StartJob& start) {
  Job job;
  job.id = JobId(sequences_.next().value());
  job.order = start.order;
  if (job.order.rate == 0) job.order.rate = limits_.job_rate_usual;
  job.actor = start.caller.actor;
  job.created = step.now;
  const JobId id = job.id;
  Job& added = jobs_.emplace(id.value(), std::move(job)).first->second;
  begin_round(step, added);
  begin_job(step, id);
  forget_old_jobs(step);
  return job_answer(AnswerCode::kDone, std::string(name_of(start.order.action)), id);
}

void Jobs::begin_round(Step& step, Job& job) {
  job.state = JobState::kRunning;
  job.round_at = step.now;
  job.horizon = sequences_.next().value();
  job.cursor.clear();
  job.next_at = Timestamp();
  job.expected = job.done + job.refused + count_by_groups(step, job.order).value_or(0);
  step.out.writes.put(keys::job(job.id.value()), encode_job(job));
}

void Jobs::begin_job(Step& step, JobId id) {
  const Job& job = jobs_.at(id.value());
  runs_.emplace(id.value(), Run{JobPace(job.order.rate, step.now), {}, 0});
  if (job.state == JobState::kWaiting) return wait_with_job(step, job, job.next_at);
  step.out.chores.push_back({.kind = Chore::Kind::kJob, .job = id});
}

std::size_t Jobs::jobs_running() const {
  return static_cast<std::size_t>(std::count_if(
      runs_.begin(), runs_.end(),
      [this](const auto& run) { return jobs_.at(run.first).state == JobState::kRunning; }));
}

// Once, or until it is time for the next round.
void Jobs::end_round(Step& step, Job& job) {
  ++job.rounds;
  if (job.order.every <= Duration(0)) return end_job(step, job, JobState::kDone);
  job.state = JobState::kWaiting;
  const Duration every = job.order.every / (planted(Bug::kRoundTooEarly) ? 2 : 1);
  job.next_at = std::max(job.round_at + every, step.now + limits_.job_every_min);
  step.out.writes.put(keys::job(job.id.value()), encode_job(job));
  wait_with_job(step, job, job.next_at);
}

// Jobs that ran when the last process stopped go on.
void Jobs::resume_jobs(Step& step) {
  for (const auto& [number, job] : jobs_) {
    const bool alive = job.state == JobState::kRunning || job.state == JobState::kWaiting;
    if (alive && !runs_.contains(number)) begin_job(step, JobId(number));
  }
}

void Jobs::forget_old_jobs(Step& step) {
  for (auto job = jobs_.begin();
       job != jobs_.end() && jobs_.size() > std::max<std::uint32_t>(1, limits_.jobs_kept_max);) {
    if (runs_.contains(job->first)) {
      ++job;
      continue;
    }
    step.out.writes.remove(keys::job(job->first));
    job = jobs_.erase(job);
  }
}

void Jobs::on(Step& step, const CancelJob& cancel) {
  const Operations::AuditLine line{"job-cancel", to_string(cancel.job), {}};
  operations_.once(
      step, cancel.caller, canonical("cancel-job", to_string(cancel.job), {}), line,
      [&]() -> std::optional<Answer> {
        const auto job = jobs_.find(cancel.job.value());
        if (job == jobs_.end())
          return job_answer(AnswerCode::kNotFound, "there is no such job, or no longer",
                            cancel.job);
        if (job->second.state != JobState::kRunning && job->second.state != JobState::kWaiting)
          return job_answer(AnswerCode::kNothing,
                            "the job is " + std::string(name_of(job->second.state)), cancel.job);
        end_job(step, job->second, JobState::kCancelled);
        return job_answer(AnswerCode::kDone, "cancelled", cancel.job);
      });
}

void Jobs::end_job(Step& step, Job& job, JobState state) {
  job.state = state;
  job.finished = step.now;
  step.out.writes.put(keys::job(job.id.value()), encode_job(job));
  if (const auto run = runs_.find(job.id.value()); run != runs_.end()) {
    timers_.cancel(run->second.timer);
    runs_.erase(run);
  }
  ++tallies_.jobs_ended;
}

// When the filter names nothing but what groups are counted by, no letter has to be read.
std::optional<std::uint64_t> Jobs::count_by_groups(Step& step, const JobOrder& order) {
  const JobFilter& filter = order.filter;
  const bool plain = filter.destination_prefix.empty() && filter.reason_prefix.empty() &&
                     !filter.since.is_set() && !filter.until.is_set();
  const bool parked = order.action == JobAction::kRetry;
  const bool counted = order.action != JobAction::kCancel && order.action != JobAction::kResend;
  if (!plain || !counted || (parked && filter.cause)) return std::nullopt;
  std::optional<DestinationId> only;
  if (!filter.destination.empty()) {
    const Destinations::Destined destined =
        destinations_.find_destination(step, filter.destination);
    if (destined.slot == kNoSlot) return std::nullopt;
    only = residents_[destined.slot].id;
  }
  std::uint64_t count = 0;
  for (const auto& [name, group] : receipts_.cause_counts().groups()) {
    if (parked != (name.bucket == 0)) continue;
    // Letters without a group of their own, or counted though they cannot be read.
    if (!name.destination.is_set() || name.phase == Phase::kIndeterminate) return std::nullopt;
    if (only && name.destination != *only) continue;
    if (filter.phase && name.phase != *filter.phase) continue;
    if (filter.cause && name.cause != *filter.cause) continue;
    count += group.count;
  }
  return count;
}

std::optional<Answer> Jobs::begin_dry_run(Step& step, const StartJob& start) {
  DryRunning run;
  run.ticket = start.caller.ticket;
  run.job.order = start.order;
  if (run.job.order.rate == 0) run.job.order.rate = limits_.job_rate_usual;
  run.job.created = step.now;
  run.job.round_at = step.now;
  run.job.horizon = sequences_.last() + 1;
  if (const auto count = count_by_groups(step, start.order)) {
    run.job.done = *count;
    return answer_of(run.job, true);
  }
  if (dry_runs_.size() >= std::max<std::uint32_t>(1, limits_.dry_runs_max))
    return job_answer(AnswerCode::kBusy, "too much is being counted; ask again later");
  const std::uint64_t number = ++last_dry_run_;
  dry_runs_.emplace(number, std::move(run));
  step.out.chores.push_back({.kind = Chore::Kind::kDryRun, .job = JobId(number)});
  return std::nullopt;
}

Answer Jobs::answer_of(const Job& job, bool complete) {
  DryRun out;
  out.matched = job.done;
  out.looked = job.looked;
  out.complete = complete;
  out.rate = job.order.rate;
  out.forecast = Duration(job.done * 1000 / job.order.rate);
  Answer answer;
  answer.view = out;
  return answer;
}

void Jobs::dry_run(Step& step, const Chore& chore) {
  const auto found = dry_runs_.find(chore.job.value());
  if (found == dry_runs_.end()) return;
  Job& job = found->second.job;
  JobPage page = read_page(step, job);
  if (step.lacks()) return;
  for (const JobItem& item : page.items) {
    ++job.looked;
    const bool fits = job_fits(step, job, item);
    POSTRIDER_CHECK(!step.lacks());  // the page looked everything up
    if (!fits) continue;
    ++job.done;
    if (planted(Bug::kDryRunActs) && job.order.action == JobAction::kDrop) act_on(step, job, item);
  }
  job.cursor = page.next;
  const bool enough = job.looked >= limits_.dry_run_rows_max;
  if (!page.complete && !enough) {
    step.out.chores.push_back({.kind = Chore::Kind::kDryRun, .job = chore.job});
    return;
  }
  step.reply(found->second.ticket, answer_of(job, page.complete));
  dry_runs_.erase(found);
}

// The next page: as much as the rate allows, within one destination.
void Jobs::run_job(Step& step, const Chore& chore) {
  const auto found = jobs_.find(chore.job.value());
  const auto run = runs_.find(chore.job.value());
  if (found == jobs_.end() || run == runs_.end()) return;  // cancelled meanwhile
  Job& job = found->second;
  if (window_.restoring()) return wait_with_job(step, job, step.now + kRestoreWait);
  if (job.state == JobState::kWaiting) {
    if (job.next_at > step.now) return wait_with_job(step, job, job.next_at);
    if (jobs_running() >= std::max<std::uint32_t>(1, limits_.jobs_running_max))
      return wait_with_job(step, job, step.now + kTurnWait);
    if (!job.order.filter.destination.empty()) {
      destinations_.find_destination(step, job.order.filter.destination);
      if (step.lacks()) return;
    }
    begin_round(step, job);
    run->second = Run{JobPace(job.order.rate, step.now), {}, 0};
    step.out.chores.push_back({.kind = Chore::Kind::kJob, .job = job.id});
    return;
  }
  const std::uint64_t due = run->second.pace.due(step.now);
  if (due == 0) {
    const std::uint64_t actions =
        std::clamp<std::uint64_t>(job.order.rate / kPagesPerSecond, 1, limits_.job_rows_max);
    return wait_with_job(step, job, run->second.pace.when_due(actions));
  }
  JobPage page = read_page(step, job);
  if (step.lacks()) return;
  JobProgress progress = work_through(step, job, page, {chore.destination, due});
  if (step.lacks()) return;
  run->second.pace.took(progress.done + progress.refused);
  run->second.destination = progress.destination;
  job.looked += progress.looked;
  job.done += progress.done;
  job.refused += progress.refused;
  if (!progress.refusal.empty()) job.refusal = std::move(progress.refusal);
  const bool acted = progress.done + progress.refused > 0;
  if (acted && planted(Bug::kJobCursorLate)) {
    Job late = job;
    late.done -= progress.done;
    step.out.writes.put(keys::job(job.id.value()), encode_job(late));
  }
  job.cursor = std::move(progress.cursor);
  if (progress.over) return end_round(step, job);
  if (acted && !planted(Bug::kJobCursorLate))
    step.out.writes.put(keys::job(job.id.value()), encode_job(job));
  step.out.chores.push_back(
      {.kind = Chore::Kind::kJob, .destination = progress.destination, .job = job.id});
}

void Jobs::wait_with_job(Step& step, const Job& job, Timestamp at) {
  Run& run = runs_.at(job.id.value());
  timers_.cancel(run.timer);
  run.timer = timers_.arm(std::max(at, step.now + Duration(1)),
                          Timer{.kind = TimerKind::kJob, .id = {job.id.value(), 0}});
}

void Jobs::job_timer(Step& step, std::uint64_t number) {
  const auto run = runs_.find(number);
  if (run == runs_.end()) return;
  run->second.timer = 0;
  step.out.chores.push_back(
      {.kind = Chore::Kind::kJob, .destination = run->second.destination, .job = JobId(number)});
}

Jobs::JobProgress Jobs::work_through(Step& step, const Job& job, const JobPage& page,
                                     const JobLeave& leave) {
  JobProgress progress;
  progress.cursor = page.next;
  progress.over = page.complete;
  const auto stop_at = [&](const JobItem& item) {
    progress.cursor = item.place;
    progress.over = false;
    progress.destination = item.id.destination();
  };
  for (const JobItem& item : page.items) {
    if (progress.done + progress.refused == leave.actions) {
      stop_at(item);
      return progress;
    }
    if (!job_fits(step, job, item)) {
      ++progress.looked;
      continue;
    }
    if (item.id.destination() != leave.destination) {
      stop_at(item);
      return progress;
    }
    const Acted acted = act_on(step, job, item);
    if (step.lacks()) {
      // Nothing was done for this one. What was done before it stands; the next page begins here.
      if (progress.done == 0) return progress;
      step.need = {};
      stop_at(item);
      return progress;
    }
    ++progress.looked;
    if (acted.kind == Acted::Kind::kDone) ++progress.done;
    if (acted.kind == Acted::Kind::kRefused) {
      ++progress.refused;
      progress.refusal = acted.why;
    }
  }
  progress.destination = leave.destination;
  return progress;
}

std::optional<Answer> Jobs::list_jobs(const Query& query) const {
  Answer answer;
  JobList list;
  if (query.what == Query::What::kJob) {
    const auto job = jobs_.find(query.job.value());
    if (job == jobs_.end())
      return job_answer(AnswerCode::kNotFound, "there is no such job, or no longer", query.job);
    list.jobs.push_back(job->second);
  } else {
    const std::uint32_t limit = std::clamp<std::uint32_t>(query.limit, 1, limits_.answer_rows_max);
    for (auto job = jobs_.rbegin(); job != jobs_.rend() && list.jobs.size() < limit; ++job)
      list.jobs.push_back(job->second);
  }
  answer.view = std::move(list);
  return answer;
}

}  // namespace postrider::core
