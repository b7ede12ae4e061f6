// OwnCalls: the calls that a transport makes to itself on its loop: a sweep when time-outs may be
// due, and a flush soon, outside of whatever runs now. One timer and at most one posted call,
// however many ask. Owned by the transport, on the loop's thread; nothing is called after cancel()
// or its end.
#pragma once

#include <functional>
#include <memory>

#include "postrider/base/time.h"

namespace boost::asio {
class io_context;
}

namespace postrider {

Timestamp steady_now();  // what transports go by, unless a test gives them another

class OwnCalls {
 public:
  // Time-outs are noticed by a sweep: late by the fine step when they are near, else by the coarse
  // one.
  static constexpr Duration kCoarse{1'000};
  static constexpr Duration kFine{100};

  OwnCalls(boost::asio::io_context& loop, std::function<void()> sweep, std::function<void()> flush);
  ~OwnCalls();
  OwnCalls(const OwnCalls&) = delete;
  OwnCalls& operator=(const OwnCalls&) = delete;

  // A sweep comes for what is due then. Asked for each exchange, so it must be cheap.
  void note_due(Timestamp now, Timestamp due) {
    if (!armed_ || due < armed_for_) arm_until(now, due);
  }
  // After a sweep: the next one, for what is due at `next`; soon when `busy`.
  void sweep_again(Timestamp now, Timestamp next, bool busy);
  void flush_soon();
  void cancel();

 private:
  struct Core;
  void arm_until(Timestamp now, Timestamp due);
  void arm(Timestamp now, Duration after);

  std::shared_ptr<Core> core_;  // shared with nobody; handlers watch it weakly
  bool armed_ = false;
  bool flush_posted_ = false;
  Timestamp armed_for_;
};

}  // namespace postrider
