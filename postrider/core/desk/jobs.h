// What the engine knows of jobs beyond their records: how fast each may go, and where it looks.
#pragma once

#include <cstdint>

#include "postrider/base/time.h"
#include "postrider/core/rules/job_pace.h"
#include "postrider/core/rules/timers.h"
#include "postrider/model/jobs.h"

namespace postrider {

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
