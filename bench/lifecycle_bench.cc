// Lifecycles per second through shard and memory store: submit, attempt, answer, end, on one core.
// The transport answers at once, so what is measured is the engine. Allocations are counted by
// replacing the global operator new.
//
//   lifecycle_bench [--destinations N] [--payload B] [--seconds S | --rounds N] [--batch N]
//   lifecycle_bench --together 50 [...]   the same messages one by one, and so many in one request
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <string>
#include <vector>

#include <malloc.h>

#include "postrider/base/check.h"
#include "postrider/profiles/all.h"
#include "postrider/shard/shard.h"
#include "postrider/stores/memory.h"

namespace {
std::uint64_t allocations = 0;
std::uint64_t allocated_bytes = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  allocated_bytes += size;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace postrider {
namespace {

struct Options {
  std::uint32_t destinations = 10'000;
  std::uint32_t payload = 512;
  double seconds = 3;
  std::uint32_t batch = 512;
  std::uint32_t rounds = 0;  // instead of seconds: a fixed amount of work, for instruction counts
  std::uint32_t in_a_row = 1;  // messages for one destination
  bool together = false;       // in one request
};

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), body_(options.payload, 'x') {
    if (options_.in_a_row > 1 && body_.size() > 1) body_.front() = body_.back() = '"';
    ShardOptions shard;
    shard.engine.profiles = all_profiles();
    shard.event_queue_max = 1 << 20;
    auto opened =
        Shard::open(shard, store_, instant(), [this](Action&& action) { take(std::move(action)); });
    POSTRIDER_CHECK(opened.has_value());
    shard_ = std::move(*opened);
    for (std::uint32_t i = 0; i < options_.destinations; ++i) {
      Configure configure{.config = {.name = "d" + std::to_string(i),
                                     .profile = "webhook",
                                     .settings = {{"url", "http://127.0.0.1:1/hook"}}}};
      NamedTexts& settings = configure.config.settings;
      if (options_.in_a_row > 1) {
        settings.emplace_back("in_flight_max", "1024");
        settings.emplace_back("secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
      }
      if (options_.together) {
        settings.emplace_back("batch_max", std::to_string(options_.in_a_row));
        settings.emplace_back("batch_wait", "1h");
      }
      post(std::move(configure));
      if (i % 256 == 0) shard_->turn(instant());
    }
    shard_->turn(instant());
  }

  void round() {
    for (std::uint32_t i = 0; i < options_.batch; ++i) {
      post(Submit{.caller = {.ticket = Ticket(1)},
                  .destination = "d" + std::to_string(next_++ / options_.in_a_row % options_.destinations),
                  .body = body_});
    }
    shard_->turn(instant());
    for (const AttemptId attempt : std::exchange(started_, {})) {
      post(AttemptEnded{attempt, {.end = WireEnd::kAnswered, .status = 204}});
    }
    shard_->turn(instant());
    now_ = now_ + Duration(1);
  }

  // Fills windows with messages that wait, and tells what one costs beyond its payload.
  void measure_window() {
    for (std::uint32_t i = 0; i < options_.destinations; ++i) {
      // One attempt may be open; the others wait in the window.
      post(Configure{
          .config = {.name = "d" + std::to_string(i),
                     .profile = "webhook",
                     .settings = {{"in_flight_max", "1"}, {"url", "http://127.0.0.1:1/hook"}}}});
      if (i % 256 == 0) shard_->turn(instant());
    }
    shard_->turn(instant());
    const std::size_t engine_before = shard_->engine().memory_bytes();
    const std::size_t heap_before = mallinfo2().uordblks;
    const std::uint64_t window_before = shard_->engine().stats().in_window;
    const std::size_t store_before = store_.size();
    for (std::uint32_t i = 0; i < 4 * options_.destinations; ++i) {
      post(Submit{.destination = "d" + std::to_string(i % options_.destinations), .body = body_});
      if (i % 512 == 0) shard_->turn(instant());
    }
    shard_->turn(instant());
    const auto messages = static_cast<double>(shard_->engine().stats().in_window - window_before);
    const auto engine = static_cast<double>(shard_->engine().memory_bytes() - engine_before);
    const auto heap = static_cast<double>(mallinfo2().uordblks - heap_before);
    std::printf("  \"window_messages\": %.0f,\n  \"engine_bytes_per_message\": %.0f,\n", messages,
                engine / messages);
    std::printf(
        "  \"heap_bytes_per_message_with_payload_and_store\": %.0f,\n  \"store_records_added\": "
        "%zu,\n",
        heap / messages, store_.size() - store_before);
  }

  std::uint64_t delivered() { return shard_->engine().stats().counters.delivered; }
  Tallies tallies() { return shard_->engine().stats().tallies; }

 private:
  Instant instant() const { return {now_, now_}; }
  void post(Event event) { POSTRIDER_CHECK(shard_->post(std::move(event))); }
  void take(Action&& action) {
    if (const auto* start = std::get_if<StartAttempt>(&action)) started_.push_back(start->attempt);
  }

  Options options_;
  std::string body_;
  MemoryStore store_;
  Timestamp now_{1'800'000'000'000};
  std::unique_ptr<Shard> shard_;
  std::vector<AttemptId> started_;
  std::uint64_t next_ = 0;
};

// Microseconds of processor time for one lifecycle.
double measure(const Options& options, const char* name) {
  Bench bench(options);
  for (int i = 0; i < 20; ++i) bench.round();
  const std::uint64_t before = bench.delivered();
  const Tallies then = bench.tallies();
  const double start = now_seconds();
  const double cpu_start = cpu_seconds();
  for (std::uint32_t i = 0;
       options.rounds == 0 ? now_seconds() - start < options.seconds : i < options.rounds; ++i)
    bench.round();
  const auto lifecycles = static_cast<double>(bench.delivered() - before);
  const double cost = (cpu_seconds() - cpu_start) * 1e6 / lifecycles;
  const auto attempts = static_cast<double>(bench.tallies().attempts - then.attempts);
  std::printf("  \"%s\": {\"lifecycles\": %.0f, \"attempts\": %.0f, ", name, lifecycles, attempts);
  std::printf("\"cpu_us_per_lifecycle\": %.2f},\n", cost);
  return cost;
}

// With signatures, because a receiver of batches looks at them, and bodies that are JSON.
int compare(Options options) {
  options.batch = options.in_a_row * std::max<std::uint32_t>(1, options.batch / options.in_a_row);
  std::printf("{\n  \"in_a_row\": %u,\n", options.in_a_row);
  const double single = measure(options, "one_by_one");
  options.together = true;
  const double together = measure(options, "together");
  std::printf("  \"destinations\": %u,\n  \"payload\": %u,\n", options.destinations,
              options.payload);
  std::printf("  \"ratio\": %.3f\n}\n", together / single);
  return 0;
}

int run(const Options& options) {
  Bench bench(options);
  for (int i = 0; i < 20; ++i) bench.round();
  const std::uint64_t before = bench.delivered();
  const std::uint64_t needs = bench.tallies().needs;
  const std::uint64_t allocations_before = allocations;
  const std::uint64_t bytes_before = allocated_bytes;
  const double start = now_seconds();
  const double cpu_start = cpu_seconds();
  for (std::uint32_t i = 0;
       options.rounds == 0 ? now_seconds() - start < options.seconds : i < options.rounds; ++i)
    bench.round();
  const double wall = now_seconds() - start;
  const double cpu = cpu_seconds() - cpu_start;
  const auto lifecycles = static_cast<double>(bench.delivered() - before);
  std::printf("{\n  \"lifecycles\": %.0f,\n  \"rate\": %.0f,\n", lifecycles, lifecycles / wall);
  std::printf("  \"cpu_us_per_lifecycle\": %.2f,\n  \"rate_per_cpu_second\": %.0f,\n",
              cpu * 1e6 / lifecycles, lifecycles / cpu);
  std::printf("  \"allocations_per_lifecycle\": %.2f,\n",
              static_cast<double>(allocations - allocations_before) / lifecycles);
  std::printf("  \"allocated_bytes_per_lifecycle\": %.0f,\n",
              static_cast<double>(allocated_bytes - bytes_before) / lifecycles);
  std::printf("  \"reads_per_lifecycle\": %.6f,\n",
              static_cast<double>(bench.tallies().needs - needs) / lifecycles);
  bench.measure_window();
  std::printf("  \"destinations\": %u,\n  \"payload\": %u\n}\n", options.destinations,
              options.payload);
  return 0;
}

}  // namespace
}  // namespace postrider

int main(int argc, char** argv) {
  postrider::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--destinations")
      options.destinations = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
    if (name == "--payload") options.payload = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
    if (name == "--seconds") options.seconds = std::atof(argv[i + 1]);
    if (name == "--rounds") options.rounds = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
    if (name == "--together")
      options.in_a_row = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
    if (name == "--batch") options.batch = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
  }
  return options.in_a_row > 1 ? postrider::compare(options) : postrider::run(options);
}
