#include "postrider/sinks/common/far_side.h"

#include <algorithm>
#include <chrono>
#include <csignal>

#include <boost/asio/signal_set.hpp>

namespace postrider {

Timestamp FarSideLoop::now() {
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  last_ = std::max(last_, Timestamp(std::chrono::duration_cast<Duration>(wall).count()));
  return last_;
}

void FarSideLoop::run(bool until_signal) {
  boost::asio::signal_set signals(io_);
  if (until_signal) {
    boost::system::error_code error;
    signals.add(SIGINT, error);
    signals.add(SIGTERM, error);
    signals.async_wait([this](boost::system::error_code, int) { stop(); });
  }
  io_.run();
}

void FarSideLoop::wake_at(std::optional<Timestamp> time, std::function<void()> wake) {
  if (!time) return;
  timer_.expires_after(std::max(*time - now(), Duration(0)));
  timer_.async_wait([wake = std::move(wake)](boost::system::error_code error) {
    if (!error) wake();
  });
}

}  // namespace postrider
