// bench http: how many messages a second the daemon accepts for destinations that are paused; one
// by one, and as lines. bench webhook: in by HTTP, out by HTTP to a sink, and exactly accounted
// for.
#include <cstdio>
#include <string>
#include <unistd.h>

#include "apps/postrider/bench.h"
#include "apps/postrider/bench_load.h"
#include "apps/postrider/commands.h"
#include "postrider/cli/output.h"
#include "postrider/sinks/webhook/sink.h"

namespace postrider {
namespace {

constexpr std::uint32_t kLines = 500;  // of one NDJSON request

int complain(const Error& error) {
  postrider::complain("bench", error.detail);
  return kExitFailure;
}

std::string message(std::uint64_t number, const BenchOptions& options, const SampleBodies& bodies) {
  return "{\"destination\":\"d" + std::to_string(number % options.destinations) + "\",\"body\":\"" +
         std::string(bodies[number]) + "\"}";
}

LoadOptions one_by_one(const BenchDaemon& daemon, const BenchOptions& options,
                       const SampleBodies& bodies) {
  LoadOptions load;
  load.address = daemon.address();
  load.connections = options.depth;
  load.seconds = options.seconds;
  load.next = [&options, &bodies](std::uint64_t number, std::string& request) {
    append_post(request, "/v1/messages", "application/json", message(number, options, bodies));
  };
  return load;
}

LoadOptions as_lines(const BenchDaemon& daemon, const BenchOptions& options,
                     const SampleBodies& bodies) {
  LoadOptions load;
  load.address = daemon.address();
  load.connections = std::min<std::uint32_t>(options.depth, 8);
  load.seconds = options.seconds;
  load.counted = "\"id\":";
  load.next = [&options, &bodies](std::uint64_t number, std::string& request) {
    std::string lines;
    for (std::uint64_t i = 0; i < kLines; ++i)
      lines.append(message(number * kLines + i, options, bodies)).append("\n");
    append_post(request, "/v1/messages", "application/x-ndjson", lines);
  };
  return load;
}

Result<Figures> measure_http(const BenchOptions& options) {
  const BenchDirectory directory;
  POSTRIDER_TRY(daemon, BenchDaemon::start(directory.path()));
  Figures figures;
  figures.add("bench", "http");
  figures.add("idle_rss_mb", daemon->resident_mb(), 1);
  if (const auto made = daemon->make_destinations("d", options.destinations,
                                                  R"({"url":"http://127.0.0.1:1/"})", true);
      !made)
    return tl::unexpected<Error>(made.error());
  const SampleBodies bodies(options.payload);
  POSTRIDER_TRY(store_before, daemon->store());
  const double cpu_before = daemon->cpu_seconds();
  POSTRIDER_TRY(single, put_load(one_by_one(*daemon, options, bodies)));
  const double cpu_single = daemon->cpu_seconds() - cpu_before;
  POSTRIDER_TRY(store_after, daemon->store());
  POSTRIDER_TRY(lines, put_load(as_lines(*daemon, options, bodies)));
  const double cpu_lines = daemon->cpu_seconds() - cpu_before - cpu_single;
  POSTRIDER_TRY(accepted, daemon->counter("accepted"));
  if (single.others > 0 || accepted != single.answers + lines.counted)
    return fail(ErrorCode::kUnavailable, "the daemon's count and ours differ");
  figures.add("connections", options.depth);
  figures.add("payload", options.payload);
  figures.add("destinations", options.destinations);
  figures.add("rate", static_cast<double>(single.answers) / single.seconds);
  figures.add("p50_us", single.latencies.percentile(50));
  figures.add("p99_us", single.latencies.percentile(99));
  figures.add("cpu_us_per_lifecycle", cpu_single * 1e6 / static_cast<double>(single.answers), 2);
  add_store(figures, store_before, store_after, single.answers);
  figures.add("ndjson_rate", static_cast<double>(lines.counted) / lines.seconds);
  figures.add("cpu_us_per_line", cpu_lines * 1e6 / static_cast<double>(lines.counted), 2);
  figures.add("rss_mb", daemon->resident_mb(), 1);
  figures.add("sync", "fdatasync before every 202");
  if (const auto stopped = daemon->stop(); !stopped) return tl::unexpected<Error>(stopped.error());
  return figures;
}

Result<Figures> measure_webhook(const BenchOptions& options) {
  const BenchDirectory directory;
  POSTRIDER_TRY(sink, SinkThread::start({}));
  POSTRIDER_TRY(daemon, BenchDaemon::start(directory.path()));
  if (const auto made = daemon->make_destinations(
          "d", options.destinations,
          "{\"url\":\"http://" + sink->address() + "/hook\",\"in_flight_max\":\"64\"}", false);
      !made)
    return tl::unexpected<Error>(made.error());
  const SampleBodies bodies(options.payload);
  POSTRIDER_TRY(store_before, daemon->store());
  const Stopwatch watch;
  const double cpu_before = daemon->cpu_seconds();
  POSTRIDER_TRY(load, put_load(one_by_one(*daemon, options, bodies)));
  std::uint64_t delivered = 0;
  for (int i = 0; i < 6000 && delivered < load.answers; ++i) {
    POSTRIDER_TRY(now, daemon->counter("delivered"));
    delivered = now;
    if (delivered < load.answers) ::usleep(10'000);
  }
  const double wall = watch.wall();
  const double cpu = daemon->cpu_seconds() - cpu_before;
  POSTRIDER_TRY(store_after, daemon->store());
  const SinkCounts counts = sink->counts();
  if (load.others > 0 || delivered != load.answers || counts.good != load.answers)
    return fail(ErrorCode::kUnavailable,
                "not accounted for: accepted " + std::to_string(load.answers) + ", delivered " +
                    std::to_string(delivered) + ", at the sink " + std::to_string(counts.good));
  Figures figures;
  figures.add("bench", "webhook");
  figures.add("connections", options.depth);
  figures.add("payload", options.payload);
  figures.add("destinations", options.destinations);
  figures.add("delivered", static_cast<double>(delivered));
  figures.add("rate", static_cast<double>(delivered) / wall);
  figures.add("p50_us", load.latencies.percentile(50));
  figures.add("p99_us", load.latencies.percentile(99));
  add_store(figures, store_before, store_after, delivered);
  figures.add("cpu_us_per_lifecycle", cpu * 1e6 / static_cast<double>(delivered), 2);
  figures.add("cpu_s_per_100k", cpu * 1e5 / static_cast<double>(delivered), 2);
  figures.add("connections_to_sink", static_cast<double>(counts.connections));
  figures.add("rss_mb", daemon->resident_mb(), 1);
  figures.add("sync", "fdatasync before every 202");
  if (const auto stopped = daemon->stop(); !stopped) return tl::unexpected<Error>(stopped.error());
  return figures;
}

int show(const BenchOptions& options, const Result<Figures>& figures) {
  if (!figures) return complain(figures.error());
  figures->print(options.json);
  return kExitOk;
}

}  // namespace

int bench_http(const BenchOptions& options) { return show(options, measure_http(options)); }
int bench_webhook(const BenchOptions& options) { return show(options, measure_webhook(options)); }

}  // namespace postrider
