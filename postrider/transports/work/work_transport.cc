#include "postrider/transports/work/work_transport.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "postrider/base/check.h"
#include "postrider/transports/net/own_calls.h"
#include "postrider/transports/net/wire_options.h"

namespace postrider {
namespace {

struct WorkTask {
  AttemptId attempt;
  std::unique_ptr<Work> work;  // null: there is none, and `status` says why
  WorkPace pace;
  std::atomic<bool> aborted = false;
  int status = 200;
  std::string result;
  Timestamp due = Timestamp::never();  // on the loop's thread
};
using TaskRef = std::shared_ptr<WorkTask>;  // shared by the loop and the thread that works at it

}  // namespace

void WorkPace::took(std::uint64_t us) {
  if (us < kShortUs) units *= 2;
  if (us > kLongUs) units = std::max<std::uint64_t>(units / 2, 1);
}

class WorkTransport::Impl {
 public:
  Impl(boost::asio::io_context& loop, WorkTransportOptions options, std::span<const WorkKind> kinds,
       Ended ended)
      : loop_(loop),
        options_(std::move(options)),
        kinds_(kinds.begin(), kinds.end()),
        ended_(std::move(ended)),
        own_(
            loop, [this] { sweep(); }, [this] { collect(); }) {}
  ~Impl() {
    own_.cancel();
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    more_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void start(AttemptId attempt, WireRequest request);
  void abort(AttemptId attempt);
  void sweep();
  std::size_t open() const { return tasks_.size(); }

 private:
  void work();
  void finish(const TaskRef& task);
  void collect();
  void tell(AttemptId attempt, WireReply reply);

  boost::asio::io_context& loop_;
  WorkTransportOptions options_;
  std::vector<WorkKind> kinds_;
  Ended ended_;
  OwnCalls own_;
  std::unordered_map<std::uint64_t, TaskRef> tasks_;
  // Handlers that were posted watch it weakly: the transport may be gone when they come.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::mutex mutex_;  // guards what follows
  std::condition_variable more_;
  std::deque<TaskRef> ready_;  // waits for a thread, the one that waits longest first
  std::vector<TaskRef> done_;  // to be told
  bool stopping_ = false;

  std::vector<std::thread> threads_;
};

void WorkTransport::Impl::start(AttemptId attempt, WireRequest request) {
  auto task = std::make_shared<WorkTask>();
  task->attempt = attempt;
  const bool room = tasks_.size() < options_.waiting_max;
  POSTRIDER_CHECK(tasks_.emplace(attempt.value(), task).second);  // an attempt starts once
  const auto kind = std::find_if(kinds_.begin(), kinds_.end(), [&request](const WorkKind& one) {
    return one.name == request.target;
  });
  if (room && kind != kinds_.end()) task->work = kind->make(request.body);
  task->status = !room ? 0 : task->work == nullptr ? 400 : 200;
  if (request.time_out > Duration(0)) {
    const Timestamp now = options_.now();
    task->due = now + request.time_out;
    own_.note_due(now, task->due);
  }
  if (task->work == nullptr) return finish(task);
  // Most daemons have nothing to work at.
  for (std::size_t i = threads_.size(); i < options_.threads; ++i)
    threads_.emplace_back([this] { work(); });
  {
    const std::lock_guard lock(mutex_);
    ready_.push_back(std::move(task));
  }
  more_.notify_one();
}

void WorkTransport::Impl::abort(AttemptId attempt) {
  const auto found = tasks_.extract(attempt.value());
  if (!found.empty()) found.mapped()->aborted = true;
}

// Runs on each thread of the pool.
void WorkTransport::Impl::work() {
  using Steady = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    if (stopping_) return;
    TaskRef task = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    bool over = task->aborted;
    if (over) {
      task->work.reset();
    } else {
      const auto begun = Steady::now();
      over = task->work->go_on(task->pace.units);
      const auto us =
          std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - begun).count();
      task->pace.took(static_cast<std::uint64_t>(us));
      if (over) {
        task->result = task->work->result();
        task->work.reset();
        finish(task);
      }
    }
    lock.lock();
    if (over) continue;
    ready_.push_back(std::move(task));
  }
}

// One wake-up for all that ended meanwhile. Any thread.
void WorkTransport::Impl::finish(const TaskRef& task) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = done_.empty();
    done_.push_back(task);
  }
  if (!first) return;
  boost::asio::post(loop_, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) collect();
  });
}

void WorkTransport::Impl::collect() {
  std::vector<TaskRef> done;
  {
    const std::lock_guard lock(mutex_);
    done.swap(done_);
  }
  for (const TaskRef& task : done) {
    if (tasks_.erase(task->attempt.value()) == 0) continue;  // aborted, or overdue
    WireReply reply;
    reply.status = task->status;
    reply.body = std::move(task->result);
    if (reply.status == 0) reply.end = WireEnd::kHeldBack;
    if (reply.body.size() > options_.result_bytes_max) {
      reply.status = 413;
      reply.body.clear();
    }
    ended_(task->attempt, std::move(reply));
  }
}

void WorkTransport::Impl::sweep() {
  const Timestamp now = options_.now();
  std::vector<AttemptId> overdue;
  Timestamp next = Timestamp::never();
  for (const auto& [number, task] : tasks_) {
    if (task->due <= now) {
      overdue.emplace_back(number);
    } else {
      next = std::min(next, task->due);
    }
  }
  std::sort(overdue.begin(), overdue.end());
  for (const AttemptId attempt : overdue) {
    if (!tasks_.contains(attempt.value())) continue;  // aborted by what was just told
    abort(attempt);
    ended_(attempt, {.end = WireEnd::kTimedOut});
  }
  if (next != Timestamp::never()) own_.sweep_again(now, next, false);
}

Result<std::unique_ptr<WorkTransport>> WorkTransport::make(boost::asio::io_context& loop,
                                                           WorkTransportOptions options,
                                                           std::span<const WorkKind> kinds,
                                                           Ended ended) {
  if (auto good = check_counts({{options.threads, "threads"},
                                {options.waiting_max, "waiting_max"},
                                {options.result_bytes_max, "result_bytes_max"}});
      !good)
    return fail(good.error().code, good.error().detail);
  if (!options.now) options.now = steady_now;
  return std::unique_ptr<WorkTransport>(
      new WorkTransport(std::make_unique<Impl>(loop, std::move(options), kinds, std::move(ended))));
}

WorkTransport::WorkTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkTransport::~WorkTransport() = default;
void WorkTransport::start(AttemptId attempt, WireRequest request) {
  impl_->start(attempt, std::move(request));
}
void WorkTransport::abort(AttemptId attempt) { impl_->abort(attempt); }
std::size_t WorkTransport::open() const { return impl_->open(); }
void WorkTransport::sweep() { impl_->sweep(); }

}  // namespace postrider
