// bench backlog: many messages for destinations that are paused, a kill -9, a start on what is
// there, and the drain into a transport that takes everything.
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include "apps/postrider/bench.h"
#include "apps/postrider/bench_void.h"
#include "apps/postrider/commands.h"
#include "bench/long/benches.h"
#include "bench/long/fill.h"
#include "postrider/node/postrider.h"

namespace postrider {
namespace {

constexpr std::uint32_t kDestinations = 1000;

Result<std::unique_ptr<Postrider>> open_rider(const std::string& directory) {
  NodeOptions node;
  node.store.directory = directory;
  node.free_bytes_min = 1U << 20;
  return Postrider::open(node, [](boost::asio::io_context& loop, Node::Ended ended) {
    return Result<std::unique_ptr<Transport>>(
        std::make_unique<Void>(loop, std::move(ended), [](std::size_t) {}));
  });
}

std::string name_of_number(std::uint64_t number) {
  return "d" + std::to_string(number % kDestinations);
}

struct Filled {  // what the process that is killed tells before
  double first_rate = 0;
  double last_rate = 0;
  double rate = 0;
  double rss_mb = 0;
  double p50_us = 0;  // of an answer
  double p99_us = 0;
  std::uint64_t puts = 0;
  std::uint64_t bytes = 0;
};

bool make_paused(Postrider& rider) {
  bool good = true;
  for (std::uint32_t i = 0; i < kDestinations; ++i) {
    Configure configure;
    configure.config = {.name = name_of_number(i),
                        .profile = "webhook",
                        .settings = {{"url", "http://127.0.0.1:1/"}, {"in_flight_max", "64"}}};
    good = rider.call(configure).code == AnswerCode::kDone && good;
    Pause pause;
    pause.destination = name_of_number(i);
    good = rider.call(pause).code == AnswerCode::kDone && good;
  }
  return good;
}

bool fill(const std::string& directory, const BenchOptions& options, Filled& filled) {
  auto rider = open_rider(directory);
  if (!rider || !make_paused(**rider)) return false;
  const SampleBodies bodies(options.payload);
  Filler filler(**rider, [&bodies](std::uint64_t number) {
    Submit submit;
    submit.destination = name_of_number(number);
    submit.body = bodies[number];
    return submit;
  });
  const std::uint64_t part = std::max<std::uint64_t>(1, options.messages / 20);
  const Stopwatch all;
  std::uint64_t done = 0;
  while (done < options.messages) {
    const std::uint64_t count = std::min(part, options.messages - done);
    const Stopwatch watch;
    filler.fill(count);
    done += count;
    const double rate = static_cast<double>(count) / watch.wall();
    if (filled.first_rate == 0) filled.first_rate = rate;
    filled.last_rate = rate;
    std::fprintf(stderr, "\r%llu messages, %.0f a second, %.0f MB of memory ",
                 static_cast<unsigned long long>(done), rate, resident_mb());
  }
  std::fputc('\n', stderr);
  filled.rate = static_cast<double>(done) / all.wall();
  filled.rss_mb = resident_mb();
  filled.p50_us = filler.latencies().percentile(50);
  filled.p99_us = filler.latencies().percentile(99);
  filled.puts = (*rider)->commits().puts;
  filled.bytes = (*rider)->commits().bytes;
  rider->release();  // it is killed, not closed
  return filler.refused() == 0;
}

std::uint64_t size_of(const std::string& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    bytes += entry.is_regular_file(error) ? entry.file_size(error) : 0;
  return bytes;
}

Result<Figures> measure(const BenchOptions& options) {
  const BenchDirectory directory;
  POSTRIDER_TRY(filled, filled_and_killed<Filled>(
                            [&](Filled& told) { return fill(directory.path(), options, told); }));
  const std::uint64_t disk = size_of(directory.path());
  const Stopwatch restart;
  POSTRIDER_TRY(rider, open_rider(directory.path()));
  Submit first;
  first.destination = name_of_number(0);
  first.body = "first";
  if (rider->call(first).code != AnswerCode::kAccepted)
    return fail(ErrorCode::kUnavailable, "nothing is accepted after the start");
  const double serving = restart.wall();
  const auto stats = [&] { return std::get<Stats>(rider->call(Query{}).view).counters; };
  const std::uint64_t all = stats().live();
  if (all != options.messages + 1)
    return fail(ErrorCode::kUnavailable, "messages are missing after the kill");
  const Stopwatch drain;
  for (std::uint32_t i = 0; i < kDestinations; ++i) {
    Resume resume;
    resume.destination = name_of_number(i);
    rider->call(resume);
  }
  double rss = filled.rss_mb;
  while (stats().live() > 0) {
    rss = std::max(rss, resident_mb());
    std::fprintf(stderr, "\r%llu left ", static_cast<unsigned long long>(stats().live()));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  const double drained = drain.wall();
  const double cpu = drain.cpu();
  std::fputs("\r", stderr);
  const Counters end = stats();
  if (end.delivered != all) return fail(ErrorCode::kUnavailable, "not all were delivered");
  Figures figures;
  figures.add("bench", "backlog");
  figures.add("messages", static_cast<double>(all));
  figures.add("payload", options.payload);
  figures.add("destinations", kDestinations);
  figures.add("accept_rate", filled.rate);
  figures.add("accept_rate_empty", filled.first_rate);
  figures.add("accept_rate_full", filled.last_rate);
  figures.add("disk_bytes_per_message", static_cast<double>(disk) / static_cast<double>(all));
  figures.add("restart_seconds", serving, 3);
  figures.add("rate", static_cast<double>(all) / drained);
  figures.add("p50_us", filled.p50_us);
  figures.add("p99_us", filled.p99_us);
  const CommitCounters commits = rider->commits();
  const auto each = [all](std::uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(all);
  };
  figures.add("records_per_lifecycle", each(filled.puts + commits.puts), 3);
  figures.add("bytes_per_lifecycle", each(filled.bytes + commits.bytes));
  figures.add("cpu_us_per_lifecycle", cpu * 1e6 / static_cast<double>(all), 2);
  figures.add("rss_mb", rss, 1);
  figures.add("sync", "fdatasync before every answer");
  return figures;
}

}  // namespace

int bench_backlog(const BenchOptions& options) {
  return print_or_complain(measure(options), options);
}

}  // namespace postrider
