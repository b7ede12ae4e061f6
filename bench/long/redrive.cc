// bench redrive: many dead letters, a kill -9, a start on what is there, and a job that sends all
// of them again at a given rate into a transport that takes everything.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <unistd.h>

#include <malloc.h>

#include "apps/postrider/bench.h"
#include "apps/postrider/bench_void.h"
#include "apps/postrider/commands.h"
#include "bench/long/benches.h"
#include "bench/long/fill.h"
#include "postrider/node/postrider.h"

namespace postrider {
namespace {

constexpr std::uint32_t kDestinations = 100;
constexpr int kRefuses = 400;
constexpr int kTakes = 200;

Result<std::unique_ptr<Postrider>> open_rider(const std::string& directory, int status) {
  NodeOptions node;
  node.store.directory = directory;
  node.free_bytes_min = 1U << 20;
  return Postrider::open(node, [status](boost::asio::io_context& loop, Node::Ended ended) {
    return Result<std::unique_ptr<Transport>>(std::make_unique<Void>(
        loop, std::move(ended), [](std::size_t) {}, status));
  });
}

Counters counters_of(Postrider& rider) {
  return std::get<Stats>(rider.call(Query{}).view).counters;
}

struct Filled {
  double seconds = 0;
};

bool fill(const std::string& directory, const BenchOptions& options, Filled& filled) {
  auto rider = open_rider(directory, kRefuses);
  if (!rider) return false;
  for (std::uint32_t i = 0; i < kDestinations; ++i) {
    Configure configure;
    configure.config = {.name = "d" + std::to_string(i),
                        .profile = "webhook",
                        .settings = {{"url", "http://127.0.0.1:1/"}, {"in_flight_max", "64"}}};
    if ((*rider)->call(configure).code != AnswerCode::kDone) return false;
  }
  const SampleBodies bodies(options.payload);
  const Stopwatch watch;
  Filler filler(**rider, [&bodies](std::uint64_t number) {
    Submit submit;
    submit.destination = "d" + std::to_string(number % kDestinations);
    submit.body = bodies[number];
    return submit;
  });
  filler.fill(options.messages);
  while (counters_of(**rider).dead < options.messages)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  filled.seconds = watch.wall();
  rider->release();  // it is killed, not closed
  return filler.refused() == 0;
}

// Where the memory of the process is, in MB.
struct Memory {
  double rss = 0;
  double files = 0;      // of rss: the executable and its libraries
  double heap = 0;       // what somebody holds, the store's parts among it
  double heap_free = 0;  // what malloc keeps for later
  double memtables = 0;
  double cache = 0;
};

Memory memory_of(Postrider& rider) {
  constexpr double kMb = 1e6;
  Memory out;
  out.rss = resident_mb();
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  double shared = 0;
  statm >> total >> resident >> shared;
  out.files = shared * static_cast<double>(::sysconf(_SC_PAGESIZE)) / kMb;
  const struct mallinfo2 heap = ::mallinfo2();
  out.heap = static_cast<double>(heap.uordblks + heap.hblkhd) / kMb;
  out.heap_free = static_cast<double>(heap.fordblks) / kMb;
  const StoreMemory store = rider.store_memory();
  out.memtables = static_cast<double>(store.memtables) / kMb;
  out.cache = static_cast<double>(store.cache) / kMb;
  return out;
}

void add_memory(Figures& figures, const std::string& prefix, const Memory& memory) {
  figures.add(prefix + "rss_mb", memory.rss, 1);
  figures.add(prefix + "files_mb", memory.files, 1);
  figures.add(prefix + "heap_mb", memory.heap, 1);
  figures.add(prefix + "heap_free_mb", memory.heap_free, 1);
  figures.add(prefix + "memtables_mb", memory.memtables, 1);
  figures.add(prefix + "cache_mb", memory.cache, 1);
}

// How far the job was off its rate in the worst of its whole seconds, in percent.
struct Held {
  double rate = 0;
  double worst_percent = 0;
  Memory most;  // when the process was largest
};

Result<Held> watch_job(Postrider& rider, JobId id, double rate) {
  Held held;
  const Stopwatch watch;
  double last_at = 0;
  std::uint64_t last_done = 0;
  for (;;) {
    Query query;
    query.what = Query::What::kJob;
    query.job = id;
    const Answer answer = rider.call(query);
    const auto* list = std::get_if<JobList>(&answer.view);
    if (list == nullptr) return fail(ErrorCode::kUnavailable, "the job is gone");
    const Job& job = list->jobs.front();
    const double now = watch.wall();
    if (resident_mb() > held.most.rss) held.most = memory_of(rider);
    if (job.state == JobState::kDone) {
      if (job.refused > 0) return fail(ErrorCode::kUnavailable, "letters were refused");
      const double seconds = static_cast<double>((job.finished - job.created).count()) / 1000;
      held.rate = static_cast<double>(job.done) / seconds;
      return held;
    }
    if (now - last_at >= 5.0) {
      const double got = static_cast<double>(job.done - last_done) / (now - last_at);
      held.worst_percent = std::max(held.worst_percent, std::abs(got - rate) / rate * 100);
      std::fprintf(stderr, "\r%llu sent again, %.0f a second, %.0f MB of memory ",
                   static_cast<unsigned long long>(job.done), got, resident_mb());
      last_at = now;
      last_done = job.done;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Result<Figures> measure(const BenchOptions& options) {
  const BenchDirectory directory;
  POSTRIDER_TRY(filled, filled_and_killed<Filled>(
                            [&](Filled& told) { return fill(directory.path(), options, told); }));
  POSTRIDER_TRY(rider, open_rider(directory.path(), kTakes));
  StartJob dry;
  dry.dry_run = true;
  dry.order.rate = options.rate;
  const Stopwatch counting;
  const Answer counted = rider->call(dry);
  const double counting_ms = counting.wall() * 1000;
  if (std::get<DryRun>(counted.view).matched != options.messages)
    return fail(ErrorCode::kUnavailable, "letters are missing after the kill");
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const Memory idle = memory_of(*rider);
  StartJob start;
  start.order.rate = options.rate;
  const Answer begun = rider->call(start);
  if (begun.code != AnswerCode::kDone) return fail(ErrorCode::kUnavailable, begun.detail);
  POSTRIDER_TRY(held, watch_job(*rider, JobId(begun.id.low), options.rate));
  while (counters_of(*rider).live() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::fputs("\r", stderr);
  if (counters_of(*rider).delivered != options.messages)
    return fail(ErrorCode::kUnavailable, "not all were delivered");
  Figures figures;
  figures.add("bench", "redrive");
  figures.add("messages", static_cast<double>(options.messages));
  figures.add("payload", options.payload);
  figures.add("destinations", kDestinations);
  figures.add("died_rate", static_cast<double>(options.messages) / filled.seconds);
  figures.add("dry_run_ms", counting_ms, 1);
  figures.add("rate_wanted", options.rate);
  figures.add("rate", held.rate);
  figures.add("worst_5s_percent", held.worst_percent, 1);
  add_memory(figures, "idle_", idle);
  add_memory(figures, "", held.most);
  figures.add("extra_mb", held.most.rss - idle.rss, 1);
  figures.add("sync", "fdatasync before every answer");
  return figures;
}

}  // namespace

int bench_redrive(const BenchOptions& options) {
  return print_or_complain(measure(options), options);
}

}  // namespace postrider
