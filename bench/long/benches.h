// The benchmarks of postrider-bench.
#pragma once

#include "apps/postrider/bench.h"

namespace postrider {

int bench_backlog(const BenchOptions& options);
// Dead letters by the million, sent again by a job.
int bench_redrive(const BenchOptions& options);
// Destinations that answer, among many that do not.
int bench_hang(const BenchOptions& options);
int bench_timers(const BenchOptions& options);
int bench_device(const BenchOptions& options);
int bench_queues(const BenchOptions& options);

}  // namespace postrider
