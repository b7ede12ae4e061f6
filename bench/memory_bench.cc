// What a destination costs in memory: with a backlog on disk and nothing due, and when idle. A
// destination that has nothing to do stands in a cache of limited size, so what is printed with the
// limit in place is the cost of a whole population beyond it; the cost of one that is in the cache
// is printed beside it.
//
//   memory_bench [--destinations N] [--messages N] [--cache N]
#include "postrider/stores/memory.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "postrider/base/check.h"
#include "postrider/profiles/all.h"
#include "postrider/shard/shard.h"

namespace postrider {
namespace {

struct Options {
  std::uint32_t destinations = 100'000;
  std::uint32_t messages = 3;  // of each, on disk
  std::uint32_t cache = 16'384;
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {
    shard_options_.engine.profiles = all_profiles();
    shard_options_.engine.limits.residents_max = options.cache;
    shard_options_.event_queue_max = 1 << 20;
    open();
  }

  void open() {
    shard_.reset();
    auto opened = Shard::open(shard_options_, store_, instant(), [](Action&&) {});
    POSTRIDER_CHECK(opened.has_value());
    shard_ = std::move(*opened);
    settle();
  }

  void configure() {
    for_each([](std::string name) {
      return Configure{.config = {.name = std::move(name),
                                  .profile = "webhook",
                                  .settings = {{"url", "http://127.0.0.1:1/hook"}}}};
    });
  }
  void pause() {
    for_each([](std::string name) { return Pause{.destination = std::move(name)}; });
  }
  void submit() {
    const std::string body(512, 'x');
    for (std::uint32_t i = 0; i < options_.messages; ++i) {
      for_each([&body](std::string name) {
        return Submit{.destination = std::move(name), .body = body};
      });
    }
  }

  std::size_t memory() { return shard_->engine().memory_bytes(); }
  Stats stats() { return shard_->engine().stats(); }

 private:
  template <class Make>
  void for_each(Make make) {
    for (std::uint32_t i = 0; i < options_.destinations; ++i) {
      POSTRIDER_CHECK(shard_->post(make("d" + std::to_string(i))));
      if (i % 256 == 0) settle();
    }
    settle();
  }
  void settle() {
    do shard_->turn(instant());
    while (!shard_->idle());
  }
  Instant instant() const { return {now_, now_}; }

  Options options_;
  ShardOptions shard_options_;
  MemoryStore store_;
  Timestamp now_{1'800'000'000'000};
  std::unique_ptr<Shard> shard_;
};

int run(const Options& options) {
  Bench bench(options);
  const auto each = [&options](std::size_t more, std::size_t less) {
    return (static_cast<double>(more) - static_cast<double>(less)) / options.destinations;
  };
  const std::size_t nothing = bench.memory();
  bench.configure();
  const std::size_t idle = bench.memory();
  bench.pause();
  bench.submit();
  const std::size_t backlog = bench.memory();
  const Stats stats = bench.stats();
  bench.open();
  const std::size_t restored = bench.memory();
  std::printf("{\n  \"destinations\": %u,\n  \"messages_on_disk\": %llu,\n", options.destinations,
              static_cast<unsigned long long>(stats.counters.live() - stats.in_window));
  std::printf("  \"cache\": %u,\n  \"in_memory\": %llu,\n", options.cache,
              static_cast<unsigned long long>(stats.residents));
  std::printf("  \"bytes_per_idle_destination\": %.1f,\n", each(idle, nothing));
  std::printf("  \"bytes_per_destination_with_backlog\": %.1f,\n", each(backlog, nothing));
  std::printf("  \"bytes_per_destination_after_a_restart\": %.1f,\n", each(restored, nothing));
  std::printf("  \"bytes_per_destination_in_the_cache\": %.0f\n}\n",
              static_cast<double>(backlog - nothing) / static_cast<double>(stats.residents));
  return 0;
}

}  // namespace
}  // namespace postrider

int main(int argc, char** argv) {
  postrider::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const auto value = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
    if (name == "--destinations") options.destinations = value;
    if (name == "--messages") options.messages = value;
    if (name == "--cache") options.cache = value;
  }
  return postrider::run(options);
}
