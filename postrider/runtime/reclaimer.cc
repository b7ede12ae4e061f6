#include "postrider/runtime/reclaimer.h"

#include <algorithm>
#include <utility>

namespace postrider {

Reclaimer::Reclaimer(std::function<std::uint64_t()> work, std::function<void()> end)
    : work_(std::move(work)), end_(std::move(end)) {}

Reclaimer::~Reclaimer() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_one();
  end_();
  thread_.join();
}

bool Reclaimer::look(bool enough_room, Timestamp now) {
  const std::lock_guard lock(mutex_);
  if (started_ && !gained_) return false;  // under way
  if (std::exchange(started_, false)) {
    // More may have died meanwhile, so what gained something is soon done again.
    pause_ = *gained_ >= kWorthBytes ? kPauseMin : std::min(pause_ * 2, kPauseMax);
    next_ = now + pause_;
    gained_.reset();
  }
  if (enough_room) {
    pause_ = kPauseMin;
    next_.reset();
    return false;
  }
  if (next_ && now < *next_) return false;
  started_ = true;
  wanted_ = true;
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wakes_.notify_one();
  return true;
}

bool Reclaimer::is_under_way() {
  const std::lock_guard lock(mutex_);
  return started_ && !gained_;
}

void Reclaimer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wakes_.wait(lock, [this] { return stopping_ || wanted_; });
    if (stopping_) return;
    wanted_ = false;
    lock.unlock();
    const std::uint64_t gained = work_();
    lock.lock();
    gained_ = gained;
  }
}

}  // namespace postrider
