// Loop: the one thread on which the host, the transports and the API live. It turns the host when
// somebody woke it or its time has come, once for all that came meanwhile.
#pragma once

#include <functional>
#include <memory>

#include "postrider/model/seams/clock.h"
#include "postrider/runtime/host.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

class Loop {
 public:
  explicit Loop(const Clock& clock);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  boost::asio::io_context& context();

  // Asks for a turn. Any thread, as often as one likes: many wakes before a turn are one.
  void wake();

  // `before` runs in front of each turn of the host: what the committer has finished comes back.
  void drive(Host& host, std::function<void()> before);

  void run();   // until stop()
  void stop();  // from the loop's thread or a signal handler of it
  void every(Duration period, std::function<void()> tick);  // as long as the loop runs

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
