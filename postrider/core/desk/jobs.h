// Jobs: one action for everything that a filter names. A job walks through its space in the order
// of its keys, one page at a time and each page within one destination, because whatever else
// happens to that destination waits its turn.
//
// Invariants
//   - The record of a job is put in the commit of what its page did, so no message is acted on
//     twice.
//   - `runs_` has exactly the jobs that run or wait for a round.
//   - A dry run changes nothing, and is forgotten by a restart.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "postrider/core/books/letters.h"
#include "postrider/core/books/receipts.h"
#include "postrider/core/books/sequences.h"
#include "postrider/core/books/shared_bodies.h"
#include "postrider/core/delivery/delivery.h"
#include "postrider/core/delivery/revival.h"
#include "postrider/core/desk/operations.h"
#include "postrider/core/desk/operators.h"
#include "postrider/core/desk/rerun.h"
#include "postrider/core/engine.h"
#include "postrider/core/rules/job_pace.h"
#include "postrider/core/rules/timers.h"
#include "postrider/core/step.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/lookup.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/window.h"
#include "postrider/model/answer.h"
#include "postrider/model/jobs.h"
#include "postrider/model/letters.h"

namespace postrider::core {

class Jobs {
 public:
  Jobs(const EngineLimits& limits, Tallies& tallies, Receipts& receipts, Timers& timers,
       Sequences& sequences, SharedBodies& bodies, Letters& letters, Residents& residents,
       Destinations& destinations, Window& window, Lookup& lookup, Delivery& delivery,
       Revival& revival, Operations& operations, Reruns& reruns, Operators& operators,
       std::vector<Job> jobs)
      : limits_(limits),
        tallies_(tallies),
        receipts_(receipts),
        timers_(timers),
        sequences_(sequences),
        bodies_(bodies),
        letters_(letters),
        residents_(residents),
        destinations_(destinations),
        window_(window),
        lookup_(lookup),
        delivery_(delivery),
        revival_(revival),
        operations_(operations),
        reruns_(reruns),
        operators_(operators),
        jobs_() {
    for (Job& job : jobs) jobs_.emplace(job.id.value(), std::move(job));
  }
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  void on(Step& step, const StartJob& start);
  std::size_t jobs_running() const;
  void resume_jobs(Step& step);
  void on(Step& step, const CancelJob& cancel);
  void dry_run(Step& step, const Chore& chore);
  void run_job(Step& step, const Chore& chore);
  void job_timer(Step& step, std::uint64_t number);
  std::optional<Answer> list_jobs(const Query& query) const;

 private:
  struct Run {
    JobPace pace;
    DestinationId destination;  // of the next page, as far as it is known
    TimerHandle timer = 0;
  };
  struct DryRunning {  // a job that only counts
    Ticket ticket;
    Job job;  // `done` counts what fits
  };
  struct JobItem {
    MessageId id;
    std::string place;  // the cursor that begins with it
    keys::Bucket bucket = 0;
    const Row* row = nullptr;          // of a dead letter; in what was found
    std::optional<DeadLetter> letter;  // none: it is a live message
  };
  struct JobPage {
    std::vector<JobItem> items;
    std::string next;
    bool complete = false;
  };
  struct JobLeave {  // what a page may do
    DestinationId destination;
    std::uint64_t actions = 0;
  };
  struct JobProgress {
    std::string cursor;
    std::uint64_t looked = 0;
    std::uint64_t done = 0;
    std::uint64_t refused = 0;
    std::string refusal;
    DestinationId destination;  // of the next page
    bool over = false;
  };
  struct Acted {
    enum class Kind : std::uint8_t { kNothing, kDone, kRefused };
    Kind kind = Kind::kNothing;
    std::string why;
  };
  std::optional<std::string> invalid(const JobOrder& order) const;
  Answer start_job(Step& step, const StartJob& start);
  void begin_round(Step& step, Job& job);
  void begin_job(Step& step, JobId id);
  void end_round(Step& step, Job& job);
  void forget_old_jobs(Step& step);
  void end_job(Step& step, Job& job, JobState state);
  std::optional<std::uint64_t> count_by_groups(Step& step, const JobOrder& order);
  std::optional<Answer> begin_dry_run(Step& step, const StartJob& start);
  static Answer answer_of(const Job& job, bool complete);
  void wait_with_job(Step& step, const Job& job, Timestamp at);
  JobProgress work_through(Step& step, const Job& job, const JobPage& page, const JobLeave& leave);
  JobPage read_page(Step& step, const Job& job);
  void read_letters(Step& step, const Job& job, std::optional<DestinationId> only, JobPage& page);
  void read_parked(Step& step, const Job& job, std::optional<DestinationId> only, JobPage& page);
  void read_live(Step& step, const Job& job, std::optional<DestinationId> only, JobPage& page);
  bool job_fits(Step& step, const Job& job, const JobItem& item);
  static bool letter_fits(const Job& job, const DeadLetter& letter);
  Acted act_on(Step& step, const Job& job, const JobItem& item);
  Acted act_on_letter(Step& step, const Job& job, const JobItem& item);
  Acted retry_parked(Step& step, const JobItem& item);

  const EngineLimits& limits_;
  Tallies& tallies_;
  Receipts& receipts_;
  Timers& timers_;
  Sequences& sequences_;
  SharedBodies& bodies_;
  Letters& letters_;
  Residents& residents_;
  Destinations& destinations_;
  Window& window_;
  Lookup& lookup_;
  Delivery& delivery_;
  Revival& revival_;
  Operations& operations_;
  Reruns& reruns_;
  Operators& operators_;
  std::map<std::uint64_t, Job> jobs_;
  std::map<std::uint64_t, Run> runs_;  // of jobs that run
  std::map<std::uint64_t, DryRunning> dry_runs_;
  std::uint64_t last_dry_run_ = 0;
};

}  // namespace postrider::core
