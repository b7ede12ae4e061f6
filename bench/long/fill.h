// Fills a store with messages, a bounded number under way at a time, and kills the process that did
// it: what the benchmarks of many waiting messages share.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): kill is not in the C++ one
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apps/postrider/bench.h"
#include "postrider/node/postrider.h"

namespace postrider {

inline constexpr std::size_t kUnderWay = 1024;
inline constexpr std::uint64_t kSampled = 64;  // every 64th answer is timed: samples stay in memory

// Submits and waits so that a bounded number is under way.
class Filler {
 public:
  using Make = std::function<Submit(std::uint64_t number)>;
  Filler(Postrider& rider, Make make) : rider_(rider), make_(std::move(make)) {}

  void fill(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return under_way_ < kUnderWay; });
      ++under_way_;
      lock.unlock();
      Submit submit = make_(next_++);
      if (next_ % kSampled != 0) {
        rider_.ask(std::move(submit), [this](const Answer& answer) { answered(answer); });
        continue;
      }
      rider_.ask(std::move(submit),
                 [this, asked = std::chrono::steady_clock::now()](const Answer& answer) {
                   latencies_.add(since_us(asked));
                   answered(answer);
                 });
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ == 0; });
  }
  std::uint64_t refused() const { return refused_; }
  Latencies& latencies() { return latencies_; }  // when nothing is under way

 private:
  void answered(const Answer& answer) {
    if (answer.code != AnswerCode::kAccepted) ++refused_;
    const std::lock_guard lock(mutex_);
    // Woken in groups: a wake-up for each would be what is measured.
    if (--under_way_ == kUnderWay / 2 || under_way_ == 0) changed_.notify_one();
  }

  Postrider& rider_;
  Make make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t under_way_ = 0;
  std::uint64_t next_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
  Latencies latencies_;  // of the loop's thread
};

// Runs `fill` in a process of its own, which tells a `Told` and is killed: as after a power cut.
template <class Told, class Fill>
Result<Told> filled_and_killed(Fill fill) {
  std::array<int, 2> pipe{};
  if (::pipe(pipe.data()) != 0) return postrider::fail(ErrorCode::kUnavailable, "there is no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    Told told;
    if (!fill(told) || ::write(pipe[1], &told, sizeof told) != sizeof told) ::_exit(1);
    for (;;) ::pause();
  }
  ::close(pipe[1]);
  Told told;
  const bool good = ::read(pipe[0], &told, sizeof told) == sizeof told;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe[0]);
  if (!good) return postrider::fail(ErrorCode::kUnavailable, "the messages could not be made");
  return told;
}

}  // namespace postrider
