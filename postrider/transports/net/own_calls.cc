#include "postrider/transports/net/own_calls.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace postrider {

Timestamp steady_now() {
  return Timestamp(
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

struct OwnCalls::Core {
  Core(boost::asio::io_context& context, OwnCalls& calls, std::function<void()> on_sweep,
       std::function<void()> on_flush)
      : loop(context),
        timer(context),
        owner(&calls),
        sweep(std::move(on_sweep)),
        flush(std::move(on_flush)) {}
  boost::asio::io_context& loop;
  boost::asio::steady_timer timer;
  OwnCalls* owner;  // null: cancelled
  std::function<void()> sweep;
  std::function<void()> flush;
};

OwnCalls::OwnCalls(boost::asio::io_context& loop, std::function<void()> sweep,
                   std::function<void()> flush)
    : core_(std::make_shared<Core>(loop, *this, std::move(sweep), std::move(flush))) {}
OwnCalls::~OwnCalls() { cancel(); }

void OwnCalls::cancel() {
  core_->owner = nullptr;
  core_->timer.cancel();
}

void OwnCalls::flush_soon() {
  if (flush_posted_ || core_->owner == nullptr) return;
  flush_posted_ = true;
  boost::asio::post(core_->loop, [weak = std::weak_ptr(core_)] {
    const auto core = weak.lock();
    if (core == nullptr || core->owner == nullptr) return;
    core->owner->flush_posted_ = false;
    core->flush();
  });
}

void OwnCalls::sweep_again(Timestamp now, Timestamp next, bool busy) {
  arm(now, busy || next < now + kCoarse ? kFine : kCoarse);
}

void OwnCalls::arm_until(Timestamp now, Timestamp due) {
  arm(now, std::clamp(due - now, kFine, kCoarse));
}

void OwnCalls::arm(Timestamp now, Duration after) {
  const Timestamp at = now + after;
  if (core_->owner == nullptr || (armed_ && armed_for_ <= at)) return;
  armed_ = true;
  armed_for_ = at;
  core_->timer.expires_after(after);
  core_->timer.async_wait([weak = std::weak_ptr(core_)](boost::system::error_code error) {
    const auto core = weak.lock();
    if (error || core == nullptr || core->owner == nullptr) return;
    core->owner->armed_ = false;
    core->sweep();
  });
}

}  // namespace postrider
