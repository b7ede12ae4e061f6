#include "postrider/runtime/loop.h"

#include <algorithm>
#include <atomic>
#include <list>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace postrider {
namespace {

// The timer's clock stands still while the machine sleeps and ours does not, so look now and then.
constexpr Duration kLookAgain(10'000);

}  // namespace

class Loop::Impl {
 public:
  explicit Impl(const Clock& clock) : clock_(clock), io_(1), timer_(io_) {}

  void wake() {
    if (woken_.exchange(true, std::memory_order_acq_rel)) return;
    boost::asio::post(io_, [this] { work(); });
  }
  void work() {
    woken_.store(false, std::memory_order_release);
    if (before_) before_();
    if (host_ != nullptr) host_->turn();
    arm();
  }
  void arm() {
    if (host_ == nullptr) return;
    const auto deadline = host_->next_deadline();
    Duration wait = kLookAgain;
    if (deadline) wait = std::clamp(*deadline - clock_.read().boot, Duration(0), kLookAgain);
    const auto until = std::chrono::steady_clock::now() + wait;
    if (armed_ && until >= armed_until_) return;  // it wakes early enough and looks again
    armed_ = true;
    armed_until_ = until;
    timer_.expires_at(until);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;
      armed_ = false;
      wake();
    });
  }
  void every(Duration period, std::function<void()> tick) {
    tickers_.push_back({boost::asio::steady_timer(io_), period, std::move(tick)});
    schedule(tickers_.back());
  }

  const Clock& clock_;
  boost::asio::io_context io_;
  Host* host_ = nullptr;
  std::function<void()> before_;

 private:
  struct Ticker {
    boost::asio::steady_timer timer;
    Duration period;
    std::function<void()> tick;
  };
  void schedule(Ticker& ticker) {
    ticker.timer.expires_after(ticker.period);
    ticker.timer.async_wait([this, &ticker](const boost::system::error_code& error) {
      if (error) return;
      ticker.tick();
      schedule(ticker);
    });
  }

  boost::asio::steady_timer timer_;
  bool armed_ = false;
  std::chrono::steady_clock::time_point armed_until_;
  std::atomic<bool> woken_ = false;
  std::list<Ticker> tickers_;
};

Loop::Loop(const Clock& clock) : impl_(std::make_unique<Impl>(clock)) {}
Loop::~Loop() = default;
boost::asio::io_context& Loop::context() { return impl_->io_; }
void Loop::wake() { impl_->wake(); }
void Loop::drive(Host& host, std::function<void()> before) {
  impl_->host_ = &host;
  impl_->before_ = std::move(before);
  wake();
}
void Loop::run() { impl_->io_.run(); }
void Loop::stop() { impl_->io_.stop(); }
void Loop::every(Duration period, std::function<void()> tick) {
  impl_->every(period, std::move(tick));
}

}  // namespace postrider
