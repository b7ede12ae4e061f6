// What the engine knows of jobs beyond their records: how fast each may go, and where it looks.
#pragma once

#include <cstdint>

#include "postrider/base/time.h"
#include "postrider/core/timers.h"
#include "postrider/model/jobs.h"

namespace postrider {

// JobPace: how many actions a job may take by now. What it could not use is kept for a second, so
// that late turns cost nothing; a stop of the process is no credit. Whole numbers only.
class JobPace {
 public:
  JobPace(std::uint32_t rate, Timestamp now);  // per second, at least 1

  std::uint64_t due(Timestamp now);
  void took(std::uint64_t actions);                // at most as many as were due
  Timestamp when_due(std::uint64_t wanted) const;  // so many

 private:
  std::uint64_t earned(Timestamp now) const;

  std::uint64_t rate_;
  Timestamp base_;
  std::uint64_t taken_ = 0;  // since then
};

struct JobRun {
  JobPace pace;
  DestinationId destination;  // of the next page, as far as it is known
  TimerHandle timer = 0;
};

// A job that only counts. It is nobody's after a restart.
struct DryRunning {
  Ticket ticket;
  Job job;  // `done` counts what fits
};

}  // namespace postrider
