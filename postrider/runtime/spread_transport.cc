#include "postrider/runtime/spread_transport.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace postrider {
namespace {

// What has ended, on its way back. Written by all workers, emptied by poll().
class Ends {
 public:
  struct End {
    AttemptId attempt;
    WireReply reply;
  };

  explicit Ends(std::function<void()> wake) : wake_(std::move(wake)) {}

  void add(AttemptId attempt, WireReply reply) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = ends_.empty();
      ends_.push_back({attempt, std::move(reply)});
    }
    if (first) wake_();
  }
  std::vector<End> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ends_, {});
  }

 private:
  std::function<void()> wake_;
  std::mutex mutex_;
  std::vector<End> ends_;
};

// One loop, its thread and its transport.
class Worker {
 public:
  Worker() : io_(1), guard_(boost::asio::make_work_guard(io_)) {}
  ~Worker() {
    io_.stop();
    if (thread_.joinable()) thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  Result<void> start(const SpreadTransport::Make& make, Ends& ends) {
    POSTRIDER_TRY(made, make(io_, [this, &ends](AttemptId attempt, WireReply reply) {
                    count();
                    ends.add(attempt, std::move(reply));
                  }));
    transport_ = std::move(made);
    thread_ = std::thread([this] { io_.run(); });
    return {};
  }
  void give(AttemptId attempt, WireRequest request) { add({attempt, std::move(request), false}); }
  void take_back(AttemptId attempt) { add({attempt, {}, true}); }
  std::size_t connections() const { return connections_.load(std::memory_order_relaxed); }

 private:
  struct Order {
    AttemptId attempt;
    WireRequest request;
    bool abort;
  };

  void add(Order order) {
    bool first = false;
    {
      const std::lock_guard lock(mutex_);
      first = orders_.empty();
      orders_.push_back(std::move(order));
    }
    if (first) boost::asio::post(io_, [this] { work(); });
  }
  void work() {
    std::vector<Order> orders;
    {
      const std::lock_guard lock(mutex_);
      orders.swap(orders_);
    }
    for (Order& order : orders) {
      if (order.abort) {
        transport_->abort(order.attempt);
      } else {
        transport_->start(order.attempt, std::move(order.request));
      }
    }
    count();
  }
  void count() { connections_.store(transport_->connections(), std::memory_order_relaxed); }

  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::unique_ptr<Transport> transport_;  // of the thread, once that runs
  std::atomic<std::size_t> connections_ = 0;
  std::mutex mutex_;
  std::vector<Order> orders_;
  std::thread thread_;
};

}  // namespace

std::string_view peer_of(std::string_view target) {
  const std::size_t scheme = target.find("://");
  const std::size_t from = scheme == std::string_view::npos ? 0 : scheme + 3;
  return target.substr(0, target.find_first_of("/?#", from));
}

class SpreadTransport::Impl {
 public:
  Impl(std::uint32_t loops, Ended ended, std::function<void()> wake)
      : ended_(std::move(ended)), ends_(std::move(wake)) {
    for (std::uint32_t i = 0; i < loops; ++i) workers_.push_back(std::make_unique<Worker>());
  }

  Ended ended_;
  Ends ends_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unordered_map<std::uint64_t, Worker*> open_;  // who has it
};

Result<std::unique_ptr<SpreadTransport>> SpreadTransport::make(std::uint32_t loops,
                                                               const Make& make, Ended ended,
                                                               std::function<void()> wake) {
  if (loops == 0) return fail(ErrorCode::kInvalid, "a transport needs at least one loop");
  auto impl = std::make_unique<Impl>(loops, std::move(ended), std::move(wake));
  for (const auto& worker : impl->workers_) {
    if (const auto started = worker->start(make, impl->ends_); !started)
      return tl::unexpected<Error>(started.error());
  }
  return std::unique_ptr<SpreadTransport>(new SpreadTransport(std::move(impl)));
}

SpreadTransport::SpreadTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SpreadTransport::~SpreadTransport() = default;

void SpreadTransport::start(AttemptId attempt, WireRequest request) {
  const std::size_t number = std::hash<std::string_view>{}(peer_of(request.target));
  Worker* const worker = impl_->workers_[number % impl_->workers_.size()].get();
  impl_->open_[attempt.value()] = worker;
  worker->give(attempt, std::move(request));
}

void SpreadTransport::abort(AttemptId attempt) {
  const auto found = impl_->open_.find(attempt.value());
  if (found == impl_->open_.end()) return;
  found->second->take_back(attempt);
  impl_->open_.erase(found);
}

std::size_t SpreadTransport::connections() const {
  std::size_t all = 0;
  for (const auto& worker : impl_->workers_) all += worker->connections();
  return all;
}

std::size_t SpreadTransport::poll() {
  std::vector<Ends::End> ends = impl_->ends_.take();
  for (Ends::End& end : ends) {
    impl_->open_.erase(end.attempt.value());
    impl_->ended_(end.attempt, std::move(end.reply));
  }
  return ends.size();
}

}  // namespace postrider
