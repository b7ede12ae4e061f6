// What a node did while a load ran: one way of measuring for all benchmarks of whole lifecycles.
#pragma once

#include <chrono>
#include <thread>

#include "apps/postrider/bench.h"
#include "postrider/model/answer.h"
#include "postrider/runtime/committer.h"

namespace postrider {

struct BenchSpan {
  CommitCounters commits_before;
  CommitCounters commits;
  Counters counters_before;
  Counters counters;
  double wall = 0;
  double cpu = 0;
  double rss = 0;

  double commits_per_second() const {
    return static_cast<double>(commits.commits - commits_before.commits) / wall;
  }
};

// A load has begin(), end(), counters() and rider().
template <class Load>
BenchSpan run_for(Load& load, double seconds) {
  BenchSpan span;
  span.commits_before = load.rider().commits();
  span.counters_before = load.counters();
  const Stopwatch watch;
  load.begin();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  load.end();
  span.counters = load.counters();
  span.wall = watch.wall();
  span.cpu = watch.cpu();
  span.commits = load.rider().commits();
  span.rss = resident_mb();
  return span;
}

}  // namespace postrider
