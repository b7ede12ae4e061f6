#include "tests/crash/load.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace postrider::crash {
namespace {

// A daemon that was just killed refuses connections until the conductor has closed the door.
constexpr std::chrono::milliseconds kPauseAfterRefusal(2);

}  // namespace

class Load::Impl {
 public:
  Impl(std::uint32_t clients, const MakeActor& make) {
    for (std::uint32_t i = 0; i < clients; ++i)
      clients_.push_back(make(i, [this] { count_accepted(); }));
    for (const auto& client : clients_) threads_.emplace_back([this, &client] { run(*client); });
  }
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void open(const std::string& address) {
    const std::lock_guard lock(mutex_);
    address_ = address;
    ++generation_;
    accepted_ = 0;
    open_ = true;
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    open_ = false;
    changed_.notify_all();
  }
  void wait_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return busy_ == 0; });
  }
  bool wait_accepted(std::uint64_t count, std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    wanted_ = count;
    return reached_.wait_for(lock, at_most, [this] { return accepted_ >= wanted_; });
  }
  bool settle(const std::string& address) {
    for (const auto& client : clients_) {
      if (!client->connect(address) || !client->repeat_unknown(true)) return false;
      client->disconnect();
    }
    return true;
  }

 private:
  void count_accepted() {
    const std::lock_guard lock(mutex_);
    if (++accepted_ == wanted_) reached_.notify_all();
  }

  // Waits until the door is open and returns the number of the opening; 0: it is over.
  std::uint64_t enter(std::string& address) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_ || open_; });
    if (stopped_) return 0;
    address = address_;
    ++busy_;
    return generation_;
  }
  bool may_go_on(std::uint64_t generation) {
    const std::lock_guard lock(mutex_);
    return open_ && !stopped_ && generation_ == generation;
  }
  void leave(bool refused) {
    std::unique_lock lock(mutex_);
    --busy_;
    changed_.notify_all();
    if (refused) changed_.wait_for(lock, kPauseAfterRefusal, [this] { return stopped_ || !open_; });
  }

  void run(Actor& client) {
    std::string address;
    while (const std::uint64_t generation = enter(address)) {
      const bool connected = client.connect(address);
      if (connected && client.repeat_unknown(false)) {
        while (client.is_connected() && may_go_on(generation)) client.act();
      }
      client.disconnect();
      leave(!connected);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable reached_;
  std::string address_;
  std::uint64_t generation_ = 0;
  bool open_ = false;
  bool stopped_ = false;
  std::uint32_t busy_ = 0;
  std::uint64_t accepted_ = 0;
  std::uint64_t wanted_ = 0;
  std::vector<std::unique_ptr<Actor>> clients_;
  std::vector<std::thread> threads_;
};

Load::Load(std::uint32_t clients, const MakeActor& make)
    : impl_(std::make_unique<Impl>(clients, make)) {}
Load::~Load() = default;
void Load::open(const std::string& address) { impl_->open(address); }
void Load::close() { impl_->close(); }
void Load::wait_idle() { impl_->wait_idle(); }
bool Load::wait_accepted(std::uint64_t count, std::chrono::milliseconds at_most) {
  return impl_->wait_accepted(count, at_most);
}
bool Load::settle(const std::string& address) { return impl_->settle(address); }

}  // namespace postrider::crash
