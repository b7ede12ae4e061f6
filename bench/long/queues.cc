// bench queues: many commands that wait in many queues of devices, a kill -9, and a start on what
// is there. The network server takes one command of each queue and never says a word, so that each
// queue has a timer that fires every few seconds; how late timers are is told.
#include <cstdio>
#include <string>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "apps/postrider/bench.h"
#include "apps/postrider/commands.h"
#include "bench/long/benches.h"
#include "bench/long/fill.h"
#include "postrider/node/postrider.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/device/message.h"

namespace postrider {
namespace {

constexpr std::uint64_t kFirstMeter = 47'000'000'000;

// Takes commands, and says that it still holds them.
class Silent final : public Transport {
 public:
  Silent(boost::asio::io_context& loop, Node::Ended ended)
      : loop_(loop), ended_(std::move(ended)) {}

  void start(AttemptId attempt, WireRequest request) override {
    boost::asio::post(loop_, [this, attempt, sent = std::move(request)] {
      WireReply reply;
      if (sent.target.ends_with(chirpstack::kEnqueuePath)) {
        reply.body = chirpstack::encode_enqueue_response("item");
      } else {
        chirpstack::Queue queue;
        queue.items.push_back({});
        queue.items.back().id = "item";
        reply.body = chirpstack::encode_get_queue_response(queue);
      }
      ended_(attempt, std::move(reply));
    });
  }
  void abort(AttemptId /*attempt*/) override {}

 private:
  boost::asio::io_context& loop_;
  Node::Ended ended_;
};

Result<std::unique_ptr<Postrider>> open_rider(const std::string& directory) {
  NodeOptions node;
  node.store.directory = directory;
  node.free_bytes_min = 1U << 20;
  node.host.shard.engine.limits.open_attempts_max = 16384;
  node.host.shard.engine.limits.live_max = UINT64_MAX;  // as many as one wants to try
  return Postrider::open(node, [](boost::asio::io_context& loop, Node::Ended ended) {
    return Result<std::unique_ptr<Transport>>(std::make_unique<Silent>(loop, std::move(ended)));
  });
}

std::string queue_of(std::uint64_t number) { return "lora.network:" + std::to_string(number); }

bool make_queues(Postrider& rider, std::uint32_t count) {
  std::atomic<std::uint32_t> bad = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Configure configure;
    configure.config = {.name = queue_of(i),
                        .profile = "device",
                        .settings = {{"plugin", "lora"},
                                     {"way", "chirpstack"},
                                     {"url", "http://127.0.0.1:1"},
                                     {"spacing", "1h"},
                                     {"server_time_out", "5s"}}};
    rider.ask(configure,
              [&bad](const Answer& answer) { bad += answer.code == AnswerCode::kDone ? 0U : 1U; });
    if (i % 1024 == 1023) rider.call(Query{});
  }
  rider.call(Query{});
  return bad == 0;
}

struct Told {
  double rate = 0;
  double rss_mb = 0;
};

bool fill(const std::string& directory, const BenchOptions& options, Told& told) {
  auto rider = open_rider(directory);
  if (!rider || !make_queues(**rider, options.destinations)) return false;
  Filler filler(**rider, [&options](std::uint64_t number) {
    device::DeviceMessage command;
    command.request.command = device::Command::kReadCredit;
    command.request.meter = std::to_string(kFirstMeter + number);
    command.plugin = "lora";
    command.network = static_cast<std::uint32_t>(number % options.destinations);
    Submit submit;
    submit.destination = queue_of(*command.network);
    submit.body = device::encode_device_message(command);
    return submit;
  });
  const Stopwatch all;
  filler.fill(options.messages);
  told.rate = static_cast<double>(options.messages) / all.wall();
  told.rss_mb = resident_mb();
  rider->release();  // it is killed, not closed
  return filler.refused() == 0;
}

// The time that at least so many of a hundred did not exceed, as far as buckets tell.
double percentile_ms(const Histogram& histogram, double percent) {
  std::uint64_t all = 0;
  for (const std::uint64_t count : histogram.counts) all += count;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    seen += histogram.counts[i];
    if (static_cast<double>(seen) >= static_cast<double>(all) * percent / 100)
      return i == 0 ? 0 : static_cast<double>((std::uint64_t{1} << i) - 1);
  }
  return 0;
}

Result<Figures> measure(const BenchOptions& options) {
  const BenchDirectory directory;
  POSTRIDER_TRY(told, filled_and_killed<Told>(
                          [&](Told& out) { return fill(directory.path(), options, out); }));
  const Stopwatch restart;
  POSTRIDER_TRY(rider, open_rider(directory.path()));
  // It may say that too much waits already, above all just after the start.
  const auto stats = [&] {
    for (;;) {
      const Answer answer = rider->call(Query{});
      if (const auto* said = std::get_if<Stats>(&answer.view)) return *said;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  };
  double answered = 0;
  while (stats().restoring) {
    if (answered == 0) answered = restart.wall();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const double ready = restart.wall();
  if (stats().counters.live() != options.messages)
    return fail(ErrorCode::kUnavailable, "messages are missing after the kill");
  const Tallies before = stats().tallies;
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  const Tallies after = stats().tallies;
  Histogram late = after.timers_late;
  for (std::size_t i = 0; i < late.counts.size(); ++i)
    late.counts[i] -= before.timers_late.counts[i];
  Figures figures;
  figures.add("bench", "queues");
  figures.add("messages", static_cast<double>(options.messages));
  figures.add("queues", options.destinations);
  figures.add("rate", told.rate);
  figures.add("rss_mb_filled", told.rss_mb, 1);
  figures.add("restart_seconds", ready, 3);
  figures.add("first_answer_seconds", answered, 3);
  figures.add("rss_mb", resident_mb(), 1);
  figures.add("questions_per_second",
              static_cast<double>(after.probes - before.probes) / options.seconds);
  figures.add("timers_late_p50_ms", percentile_ms(late, 50));
  figures.add("timers_late_p99_ms", percentile_ms(late, 99));
  figures.add("timers_late_max_ms", percentile_ms(late, 100));
  figures.add("sync", "fdatasync before every answer");
  static_cast<void>(rider->close(Duration(0)));
  return figures;
}

}  // namespace

int bench_queues(const BenchOptions& options) {
  return print_or_complain(measure(options), options);
}

}  // namespace postrider
