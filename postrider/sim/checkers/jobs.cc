// Checker 32: jobs. What a job says that it did is what happened in the same commit; it goes no
// faster than its rate, in the order of acceptance, stops when it is told to, leaves nothing behind
// that fits its filter, and ends. A dry run changes nothing.
#include <map>
#include <set>
#include <tuple>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class JobsChecker final : public Checker {
 public:
  JobsChecker(const CheckerContext& context, Notebook& notebook)
      : verdicts_(context.verdicts), ids_(context.shard.engine.id_key), notebook_(notebook) {}

  void asked(const Asked& asked) override {
    const auto* start = std::get_if<StartJob>(&asked.event);
    if (start != nullptr && start->dry_run)
      dry_runs_[asked.ticket.value()] = {start->order, serial_};
  }

  void told(const Told& told) override {
    const auto run = dry_runs_.find(told.ticket.value());
    if (run == dry_runs_.end()) return;
    const auto* result = std::get_if<DryRun>(&told.answer.view);
    // What changes while it counts may be counted or not.
    if (result != nullptr && result->complete && run->second.serial == serial_ &&
        is_of_letters(run->second.order) && !damaged_) {
      const std::uint64_t want = fitting(run->second.order, Timestamp::never(), UINT64_MAX);
      if (result->matched != want)
        complain("a dry run counted " + std::to_string(result->matched) + " of " +
                 std::to_string(want));
    }
    dry_runs_.erase(run);
  }

  void damaged(const Moment& /*when*/, std::string_view key) override {
    if (key[0] == keys::kDead) damaged_ = true;
  }

  void batch(const Batch& batch) override {
    ++serial_;
    Deltas deltas;
    for (const Batch::JobPut& put : batch.jobs) check_put(put, batch, deltas);
    check_sums(batch, deltas);
    check_order(batch);
    running_.clear();
    for (const auto& [number, job] : notebook_.jobs()) {
      if (job.state == JobState::kRunning && job.order.action == JobAction::kRedrive)
        running_.insert(number);
    }
  }

  void finished(const Finished& finished) override {
    for (const auto& [number, job] : notebook_.jobs()) {
      const bool late =
          job.state == JobState::kWaiting && finished.when.engine - job.next_at > kRoundPatience;
      const bool stuck =
          job.state == JobState::kRunning && finished.when.engine - job.round_at > kRoundPatience;
      if (stuck || late)
        complain("a job does not end: " + to_string(job.id) + " " +
                 std::string(name_of(job.order.action)));
    }
  }

 private:
  static constexpr Duration kRoundPatience = 10min;

  struct Deltas {
    std::uint64_t redriven = 0;
    std::uint64_t dropped = 0;
  };
  struct Asking {
    JobOrder order;
    std::uint64_t serial = 0;
  };

  void complain(const std::string& what) { verdicts_.violation(32, what); }
  static bool is_of_letters(const JobOrder& order) {
    return order.action == JobAction::kRedrive || order.action == JobAction::kDrop;
  }

  void check_put(const Batch::JobPut& put, const Batch& batch, Deltas& deltas) {
    const Job& job = put.job;
    const Job before = put.before.value_or(Job{});
    if (put.before && before.state != JobState::kRunning && before.state != JobState::kWaiting)
      return complain("a job went on after its end: " + to_string(job.id));
    if (job.done < before.done || job.refused < before.refused)
      return complain("a job undid something: " + to_string(job.id));
    if (job.order.action == JobAction::kRedrive) deltas.redriven += job.done - before.done;
    if (job.order.action == JobAction::kDrop) deltas.dropped += job.done - before.done;
    const Timestamp now = batch.meta ? batch.meta->clock_floor : batch.when.engine;
    const auto seconds = static_cast<std::uint64_t>((now - job.created).count()) / 1000 + 1;
    if (job.done + job.refused > seconds * job.order.rate)
      complain("a job goes faster than its rate: " + to_string(job.id));
    const bool round_over = job.state == JobState::kDone || job.state == JobState::kWaiting;
    if (round_over && is_of_letters(job.order)) check_end(job);
    if (put.before && job.order.every > Duration(0) && job.round_at > before.round_at &&
        job.round_at - before.round_at < job.order.every)
      complain("a job began anew too early: " + to_string(job.id));
  }

  // Of what was there when the round began and fits, only what it refused is left.
  void check_end(const Job& job) {
    const std::uint64_t left = fitting(job.order, job.round_at, job.horizon);
    if (left > job.refused)
      complain("a job left " + std::to_string(left) + " behind and refused " +
               std::to_string(job.refused) + ": " + to_string(job.id));
  }

  // A destination that was made or taken away since then may not have been there for the job.
  std::uint64_t fitting(const JobOrder& order, Timestamp since, std::uint64_t before) const {
    std::uint64_t count = 0;
    for (const auto& [id, note] : notebook_.all_letters()) {
      const DestinationNote* destination = notebook_.find(id.destination());
      if (note.damaged || destination == nullptr || id.sequence().value() >= before) continue;
      if (destination->configured >= since) continue;
      if (note.letter.at > since || !fits(order.filter, note.letter, *destination)) continue;
      ++count;
    }
    return count;
  }

  static bool fits(const JobFilter& filter, const DeadLetter& letter,
                   const DestinationNote& destination) {
    const std::string& name = destination.config.name;
    if (destination.config.removed && !(filter.destination + filter.destination_prefix).empty())
      return false;
    if (!filter.destination.empty() && name != filter.destination) return false;
    if (!name.starts_with(filter.destination_prefix)) return false;
    if (filter.phase && letter.phase != *filter.phase) return false;
    if (filter.cause && letter.cause != *filter.cause) return false;
    if (letter.at < filter.since) return false;
    if (filter.until.is_set() && letter.at >= filter.until) return false;
    return letter.reason.starts_with(filter.reason_prefix);
  }

  // Whoever sends a letter again or drops it is a job or an operator, and either left a record.
  void check_sums(const Batch& batch, Deltas deltas) {
    if (!batch.meta) return;
    std::set<std::string> cancelled;  // parked messages are dropped by ending them
    for (const EndRecord& end : batch.ends) {
      if (end.phase == Phase::kCancelled) cancelled.insert(ids_.text(end.id));
    }
    for (const AuditRecord& audit : batch.audits) {
      if (audit.action == "redrive" && audit.effect.starts_with("accepted")) ++deltas.redriven;
      if (audit.action == "drop" && !cancelled.contains(audit.target)) ++deltas.dropped;
    }
    const Counters& before = batch.meta_before.counters;
    const Counters& after = batch.meta->counters;
    if (after.redriven - before.redriven != deltas.redriven)
      complain("dead letters were sent again that neither a job nor an operator tells of");
    if (after.dropped - before.dropped != deltas.dropped)
      complain("dead letters were dropped that neither a job nor an operator tells of");
  }

  // While one job alone sends letters again, those of one line come in the order of acceptance.
  void check_order(const Batch& batch) {
    for (const Batch::JobPut& put : batch.jobs) {
      if (put.job.order.action == JobAction::kRedrive) running_.insert(put.job.id.value());
    }
    if (running_.size() != 1) return;
    for (const AuditRecord& audit : batch.audits) {
      if (audit.action == "redrive") return;
    }
    // One that has ended may be forgotten by now.
    const auto job = notebook_.jobs().find(*running_.begin());
    if (job == notebook_.jobs().end()) return;
    const std::set<MessageId> exhumed(batch.exhumed.begin(), batch.exhumed.end());
    for (const MessageNote* note : batch.entered) {
      const MessageId old = note->origin;
      // What follows from the end of another names it as its origin too; a letter goes again to
      // where it went before.
      if (note->nested || !exhumed.contains(old)) continue;
      if (note->id.destination() != old.destination()) continue;
      const auto line = std::make_tuple(job->second.horizon, old.high);
      const auto [last, is_new] = last_.try_emplace(line, old.low);
      if (!is_new && old.low < last->second)
        complain("a job sends letters again out of order: " + to_string(old));
      last->second = old.low;
    }
  }

  Verdicts& verdicts_;
  const IdCodec ids_;  // the audit tells of messages as operators know them
  Notebook& notebook_;
  std::uint64_t serial_ = 0;
  std::map<std::uint64_t, Asking> dry_runs_;
  std::set<std::uint64_t> running_;  // jobs that redrive
  std::map<std::tuple<std::uint64_t, std::uint64_t>, std::uint64_t> last_;
  bool damaged_ = false;
};

}  // namespace

std::unique_ptr<Checker> make_jobs_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<JobsChecker>(context, notebook);
}

}  // namespace postrider::sim
