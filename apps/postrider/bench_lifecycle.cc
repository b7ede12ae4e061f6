// bench lifecycle: `depth` messages are always between their submit and their attempt. Each commit
// so holds the submits of one group and the ends of the group before it.
#include <atomic>
#include <cstdio>
#include <future>
#include <string>
#include <vector>

#include "apps/postrider/bench.h"
#include "apps/postrider/bench_span.h"
#include "apps/postrider/bench_void.h"
#include "apps/postrider/commands.h"
#include "postrider/cli/output.h"
#include "postrider/node/postrider.h"

namespace postrider {
namespace {

class Load {
 public:
  explicit Load(const BenchOptions& options) : options_(options), bodies_(options.payload) {}

  Result<void> open(const std::string& directory) {
    NodeOptions node;
    node.store.directory = directory;
    node.host.waiting_max = node.host.tenant_waiting_max = 16384;
    node.host.shard.event_queue_max = 32768;
    node.host.shard.engine.limits.open_attempts_max = 16384;
    POSTRIDER_TRY(rider,
                  Postrider::open(node, [this](boost::asio::io_context& loop, Node::Ended ended) {
                    return Result<std::unique_ptr<Transport>>(std::make_unique<Void>(
                        loop, std::move(ended), [this](std::size_t count) { go_on(count); }));
                  }));
    rider_ = std::move(rider);
    for (std::uint32_t i = 0; i < options_.destinations; ++i) {
      Configure configure;
      configure.config = {.name = "d" + std::to_string(i),
                          .profile = "webhook",
                          .settings = {{"url", "http://127.0.0.1:1/"}, {"in_flight_max", "1024"}}};
      rider_->ask(configure, [this](const Answer& answer) {
        refused_ += answer.code == AnswerCode::kDone ? 0U : 1U;
      });
      if (i % 1024 == 1023) rider_->call(Query{});
    }
    rider_->call(Query{});
    if (refused_ > 0) return fail(ErrorCode::kUnavailable, "destinations could not be made");
    return {};
  }

  void begin() {
    going_ = true;
    go_on(options_.depth);
  }
  void end() { going_ = false; }
  Counters counters() { return std::get<Stats>(rider_->call(Query{}).view).counters; }
  Postrider& rider() { return *rider_; }
  Latencies take_latencies() { return std::exchange(latencies_, {}); }
  std::uint64_t refused() const { return refused_; }

 private:
  using Clock = std::chrono::steady_clock;

  void go_on(std::size_t count) {
    if (!going_) return;
    for (std::size_t i = 0; i < count; ++i) {
      Submit submit;
      submit.destination = "d" + std::to_string(next_ % options_.destinations);
      submit.body = bodies_[next_++];
      rider_->ask(std::move(submit), [this, from = Clock::now()](const Answer& answer) {
        refused_ += answer.code == AnswerCode::kAccepted ? 0U : 1U;
        latencies_.add(std::chrono::duration<double, std::micro>(Clock::now() - from).count());
      });
    }
  }

  BenchOptions options_;
  SampleBodies bodies_;
  std::unique_ptr<Postrider> rider_;
  std::atomic<bool> going_ = false;
  std::atomic<std::uint64_t> refused_ = 0;
  std::uint64_t next_ = 0;
  Latencies latencies_;
};

}  // namespace

int bench_lifecycle(const BenchOptions& options) {
  const BenchDirectory directory;
  Load load(options);
  if (const auto opened = load.open(directory.path()); !opened) {
    complain(options.command, opened.error().detail);
    return kExitFailure;
  }
  const BenchSpan span = run_for(load, options.seconds);
  if (const auto closed = load.rider().close(); !closed || load.refused() > 0) {
    complain(options.command, "some messages were refused");
    return kExitFailure;
  }
  const auto lifecycles =
      static_cast<double>(span.counters.delivered - span.counters_before.delivered);
  const auto of = [&](std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a - b) / lifecycles;
  };
  Latencies latencies = load.take_latencies();
  Figures figures;
  figures.add("bench", "lifecycle");
  figures.add("depth", options.depth);
  figures.add("payload", options.payload);
  figures.add("destinations", options.destinations);
  figures.add("lifecycles", lifecycles);
  figures.add("rate", lifecycles / span.wall);
  figures.add("p50_us", latencies.percentile(50));
  figures.add("p99_us", latencies.percentile(99));
  figures.add("commits_per_second", span.commits_per_second());
  figures.add("records_per_lifecycle", of(span.commits.puts, span.commits_before.puts), 3);
  figures.add("deletes_per_lifecycle",
              of(span.commits.records - span.commits.puts,
                 span.commits_before.records - span.commits_before.puts),
              3);
  figures.add("bytes_per_lifecycle", of(span.commits.bytes, span.commits_before.bytes));
  figures.add("cpu_us_per_lifecycle", span.cpu * 1e6 / lifecycles, 2);
  figures.add("rss_mb", span.rss, 1);
  figures.add("sync", "fdatasync before every answer");
  figures.print(options.json);
  return kExitOk;
}

}  // namespace postrider
