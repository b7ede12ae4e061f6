// Reclaimer: has the store give back the room of dead records while the disk is short of it, on a
// thread of its own, because that takes long; it has none until then. All calls come from one
// thread, the loop's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "postrider/base/time.h"

namespace postrider {

class Reclaimer {
 public:
  // `work` returns the bytes that it gained, and runs on the thread; `end` makes a run of it return
  // soon, and is called once, before the thread is waited for.
  Reclaimer(std::function<std::uint64_t()> work, std::function<void()> end);
  ~Reclaimer();
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

  // How the disk is, now and then. Short of room: a run begins, unless one is under way, or the
  // pause after the last is not over; it grows while they gain less than kWorthBytes. Enough room:
  // the pauses begin anew. True when a run begins.
  bool look(bool enough_room, Timestamp now);
  bool is_under_way();

  static constexpr std::uint64_t kWorthBytes = 1U << 20;
  static constexpr Duration kPauseMin{2'000};
  static constexpr Duration kPauseMax{30'000};

 private:
  void run();

  std::function<std::uint64_t()> work_;
  std::function<void()> end_;
  Duration pause_ = kPauseMin;
  std::optional<Timestamp> next_;  // not before; none: at once
  bool started_ = false;           // a run whose outcome was not looked at yet

  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  bool wanted_ = false;
  bool stopping_ = false;
  std::optional<std::uint64_t> gained_;  // by the last run
  std::thread thread_;
};

}  // namespace postrider
