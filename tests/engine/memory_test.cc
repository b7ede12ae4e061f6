// What destinations cost in memory. Exact figures are printed by bench/memory_bench.
#include "postrider/stores/memory.h"

#include <string>

#include <gtest/gtest.h>

#include "postrider/profiles/all.h"
#include "postrider/shard/shard.h"

namespace postrider {
namespace {

constexpr std::uint32_t kCache = 64;

// Paused destinations with a message each, in an engine that keeps few of them in memory.
class Population {
 public:
  explicit Population(std::uint32_t size) {
    ShardOptions options;
    options.engine.profiles = all_profiles();
    options.engine.limits.residents_max = kCache;
    options.engine.limits.census_pages_max = 1;
    auto opened = Shard::open(options, store_, instant(), [](Action&&) {});
    EXPECT_TRUE(opened.has_value());
    shard_ = std::move(*opened);
    settle();
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::string name = "d" + std::to_string(i);
      tell(Configure{.config = {.name = name,
                                .profile = "webhook",
                                .settings = {{"url", "http://127.0.0.1:1/"}}}});
      tell(Pause{.destination = name});
      tell(Submit{.destination = name, .body = std::string(512, 'x')});
    }
  }

  std::size_t memory() const { return shard_->engine().memory_bytes(); }
  Stats stats() const { return shard_->engine().stats(); }

 private:
  void tell(Event event) {
    EXPECT_TRUE(shard_->post(std::move(event)));
    settle();
  }
  void settle() {
    do shard_->turn(instant());
    while (!shard_->idle());
  }
  static Instant instant() { return {Timestamp(1'800'000'000'000), Timestamp(1'800'000'000'000)}; }

  MemoryStore store_;
  std::unique_ptr<Shard> shard_;
};

// req: engine.figure.2
TEST(Memory, OfDestinationsThatWaitIsBoundedByTheCache) {
  const Population some(2 * kCache);
  const Population many(20 * kCache);
  EXPECT_EQ(many.stats().counters.live(), 20 * kCache);
  EXPECT_EQ(many.stats().residents, kCache);
  const auto more = static_cast<double>(many.memory()) - static_cast<double>(some.memory());
  EXPECT_LT(more / (18 * kCache), 1.0) << "bytes of memory per destination beyond the cache";
}

}  // namespace
}  // namespace postrider
