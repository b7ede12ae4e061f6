// FarSide: a sink that models what is at the other end of a profile's wire, as a real process meets
// it: for `postrider sink NAME`, the demo and tests with real processes. FarSideLoop: the loop, the
// clock and the timer that each of them stands on. The thread that calls run() is the only thread
// of a far side; stop() may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace postrider {

class FarSide {
 public:
  FarSide() = default;
  virtual ~FarSide() = default;
  FarSide(const FarSide&) = delete;
  FarSide& operator=(const FarSide&) = delete;

  virtual std::string address() const = 0;          // where the daemon delivers to
  virtual std::string control_address() const = 0;  // where counts are read and faults are set
  virtual void run(bool until_signal) = 0;          // until stop(), or SIGINT or SIGTERM
  virtual void stop() = 0;                          // any thread
  virtual std::string summary() const = 0;          // when it has stopped
};

// Opens its ports. An Error names the option that is wrong, or why a port cannot be had.
template <class Side, class Options>
Result<std::unique_ptr<FarSide>> open_far_side(Options options) {
  auto side = std::make_unique<Side>(std::move(options));
  if (const Result<void> opened = side->open(); !opened)
    return tl::unexpected<Error>(opened.error());
  return std::unique_ptr<FarSide>(std::move(side));
}

class FarSideLoop {
 public:
  FarSideLoop() = default;
  FarSideLoop(const FarSideLoop&) = delete;
  FarSideLoop& operator=(const FarSideLoop&) = delete;

  boost::asio::io_context& io() { return io_; }
  // Wall time that never goes back, which the models rely on.
  Timestamp now();
  void run(bool until_signal);
  void stop() { io_.stop(); }
  // Calls `wake` at that time; a later call replaces an earlier one. Nothing: as it was.
  void wake_at(std::optional<Timestamp> time, std::function<void()> wake);

 private:
  boost::asio::io_context io_{1};
  boost::asio::steady_timer timer_{io_};
  Timestamp last_;
};

}  // namespace postrider
