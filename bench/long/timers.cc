// bench timers: arm and fire on the wheel, with `messages` of them pending.
#include "postrider/core/rules/timers.h"

#include <cstdio>
#include <vector>

#include "apps/postrider/bench.h"
#include "apps/postrider/commands.h"
#include "bench/long/benches.h"
#include "postrider/base/rng.h"

namespace postrider {

int bench_timers(const BenchOptions& options) {
  constexpr std::int64_t kStart = 1'700'000'000'000;
  constexpr std::uint64_t kSpanMs = 3'600'000;  // over an hour
  Timers timers{Timestamp(kStart)};
  Rng rng(1);
  std::vector<TimerHandle> handles;
  handles.reserve(options.messages);
  const Stopwatch arm;
  for (std::uint64_t i = 0; i < options.messages; ++i)
    handles.push_back(
        timers.arm(Timestamp(kStart + static_cast<std::int64_t>(rng.below(kSpanMs))), Timer{}));
  const double armed = arm.wall();
  const std::size_t memory = timers.memory_bytes();
  const Stopwatch move;
  for (const TimerHandle handle : handles) {
    timers.cancel(handle);
    timers.arm(Timestamp(kStart + static_cast<std::int64_t>(rng.below(kSpanMs))), Timer{});
  }
  const double moved = move.wall();
  std::vector<Timer> fired;
  std::uint64_t count = 0;
  Latencies looks;  // one look at the wheel, with all that fires in it
  const Stopwatch fire;
  for (std::int64_t at = kStart; timers.size() > 0; at += 10) {
    fired.clear();
    const auto from = std::chrono::steady_clock::now();
    timers.advance(Timestamp(at), SIZE_MAX, fired);
    looks.add(since_us(from));
    count += fired.size();
  }
  const double all = fire.wall();
  const double cpu = arm.cpu();
  const auto each = [&](double seconds) {
    return seconds * 1e9 / static_cast<double>(options.messages);
  };
  Figures figures;
  figures.add("bench", "timers");
  figures.add("timers", static_cast<double>(options.messages));
  figures.add("fired", static_cast<double>(count));
  figures.add("rate", static_cast<double>(count) / (armed + all));
  figures.add("p50_us", looks.percentile(50), 2);
  figures.add("p99_us", looks.percentile(99), 2);
  figures.add("records_per_lifecycle", 0.0);
  figures.add("bytes_per_lifecycle", 0.0);
  figures.add("cpu_us_per_lifecycle", cpu * 1e6 / static_cast<double>(options.messages), 3);
  figures.add("arm_ns", each(armed), 1);
  figures.add("cancel_and_arm_ns", each(moved), 1);
  figures.add("fire_ns", each(all), 1);
  figures.add("bytes_per_timer",
              static_cast<double>(memory) / static_cast<double>(options.messages), 1);
  figures.add("rss_mb", resident_mb(), 1);
  figures.add("sync", "nothing is written");
  figures.print(options.json);
  return count == options.messages ? kExitOk : kExitFailure;
}

}  // namespace postrider
