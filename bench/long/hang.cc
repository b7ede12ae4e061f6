// bench hang: ten destinations that answer, alone and among 990 that never do, by turns on the same
// machine. What is measured is how long a message for one of the ten waits until its attempt
// starts.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "apps/postrider/bench.h"
#include "apps/postrider/bench_void.h"
#include "bench/long/benches.h"
#include "postrider/cli/output.h"
#include "postrider/node/postrider.h"

namespace postrider {
namespace {

constexpr std::uint32_t kHealthy = 10;
constexpr std::uint32_t kHanging = 990;
constexpr std::uint32_t kOwedToEach = 20;  // who hangs is owed more than may be open
constexpr std::uint32_t kMessages = 2000;
constexpr int kRounds = 5;
constexpr auto kPace = std::chrono::milliseconds(1);
using Clock = std::chrono::steady_clock;

// When each message was handed over and when its attempt began.
struct Times {
  std::array<Clock::time_point, kMessages> asked{};
  std::atomic<std::uint32_t> started{0};
  std::mutex mutex;
  Latencies latencies;
};

// Answers everybody but those who hang.
class Partial final : public Transport {
 public:
  Partial(boost::asio::io_context& loop, Node::Ended ended, Times& times)
      : answers_(loop, std::move(ended), [](std::size_t) {}), times_(times) {}

  void start(AttemptId attempt, WireRequest request) override {
    if (request.target.ends_with("/hangs")) return;
    std::uint32_t number = 0;
    std::from_chars(request.body.data(), request.body.data() + request.body.size(), number);
    if (number < kMessages) {
      const std::lock_guard lock(times_.mutex);
      times_.latencies.add(since_us(times_.asked[number]));
      ++times_.started;
    }
    answers_.start(attempt, std::move(request));
  }
  void abort(AttemptId /*attempt*/) override {}

 private:
  Void answers_;
  Times& times_;
};

Answer put(Postrider& rider, const std::string& name, const std::string& path) {
  Configure configure;
  configure.config = {.name = name,
                      .profile = "webhook",
                      .settings = {{"url", "http://127.0.0.1:1/" + path}, {"time_out", "5m"}}};
  return rider.call(configure);
}

void send(Postrider& rider, const std::string& destination, const std::string& body) {
  Submit submit;
  submit.destination = destination;
  submit.body = body;
  rider.ask(std::move(submit), [](const Answer&) {});
}

struct Waited {
  double p50 = 0;
  double p99 = 0;
};

Result<Waited> measure(std::uint32_t hanging) {
  const BenchDirectory directory;
  NodeOptions node;
  node.store.directory = directory.path();
  node.free_bytes_min = 1U << 20;
  Times times;
  POSTRIDER_TRY(rider,
                Postrider::open(node, [&times](boost::asio::io_context& loop, Node::Ended ended) {
                  return Result<std::unique_ptr<Transport>>(
                      std::make_unique<Partial>(loop, std::move(ended), times));
                }));
  for (std::uint32_t i = 0; i < kHealthy; ++i) put(*rider, "well" + std::to_string(i), "answers");
  // Known to answer, as destinations in use are.
  for (std::uint32_t i = 0; i < kHealthy; ++i)
    send(*rider, "well" + std::to_string(i), std::to_string(kMessages));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (std::uint32_t i = 0; i < hanging; ++i) {
    const std::string name = "gone" + std::to_string(i);
    put(*rider, name, "hangs");
    for (std::uint32_t n = 0; n < kOwedToEach; ++n) send(*rider, name, "x");
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  Clock::time_point next = Clock::now();
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    times.asked[i] = Clock::now();
    send(*rider, "well" + std::to_string(i % kHealthy), std::to_string(i));
    std::this_thread::sleep_until(next += kPace);
  }
  for (int i = 0; i < 600 && times.started < kMessages; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (times.started < kMessages)
    return fail(ErrorCode::kUnavailable,
                "only " + std::to_string(times.started) + " attempts began within 30 s");
  const std::lock_guard lock(times.mutex);
  return Waited{times.latencies.percentile(50), times.latencies.percentile(99)};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int bench_hang(const BenchOptions& options) {
  std::array<std::vector<double>, 2> p50;
  std::array<std::vector<double>, 2> p99;
  for (int round = 0; round < kRounds; ++round) {
    for (const std::size_t among : {0U, 1U}) {
      std::fprintf(stderr, "\rround %d of %d, %s    ", round + 1, kRounds,
                   among == 0 ? "alone" : "among those that hang");
      const Result<Waited> waited = measure(among == 0 ? 0 : kHanging);
      if (!waited) {
        std::fputc('\n', stderr);
        complain(options.command, waited.error().detail);
        return kExitFailure;
      }
      p50[among].push_back(waited->p50);
      p99[among].push_back(waited->p99);
    }
  }
  std::fputs("\r", stderr);
  Figures figures;
  figures.add("bench", "hang");
  figures.add("healthy", kHealthy);
  figures.add("hanging", kHanging);
  figures.add("rounds", kRounds);
  figures.add("alone_p50_us", median(p50[0]));
  figures.add("among_p50_us", median(p50[1]));
  figures.add("ratio_p50", median(p50[1]) / median(p50[0]), 2);
  figures.add("alone_p99_us", median(p99[0]));
  figures.add("among_p99_us", median(p99[1]));
  figures.add("ratio_p99", median(p99[1]) / median(p99[0]), 2);
  figures.print(options.json);
  return kExitOk;
}

}  // namespace postrider
