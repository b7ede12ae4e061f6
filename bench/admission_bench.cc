// What one enqueue costs beside other queues that have something to do. The program only does the
// work; callgrind counts the instructions of the decisions:
//
//   valgrind --tool=callgrind --toggle-collect='postrider::Engine::step*' admission_bench
//   --queues 10000 --enqueues N
//
// with two numbers N, and the same with one queue: the difference between the two is what so many
// enqueues cost.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "postrider/base/check.h"
#include "postrider/profiles/all.h"
#include "postrider/protocols/device/message.h"
#include "postrider/shard/shard.h"
#include "postrider/stores/memory.h"

namespace postrider {
namespace {

class Bench {
 public:
  Bench() {
    ShardOptions options;
    options.engine.profiles = all_profiles();
    options.engine.limits.open_attempts_max = 1 << 20;
    auto opened = Shard::open(options, store_, instant(), [](Action&&) {});
    POSTRIDER_CHECK(opened.has_value());
    shard_ = std::move(*opened);
  }

  // One command under way, one that waits for its slot.
  void add_queue(std::uint32_t network) {
    Configure event;
    event.config = {.name = "lora.network:" + std::to_string(network),
                    .profile = "device",
                    .settings = {{"plugin", "lora"},
                                 {"way", "chirpstack"},
                                 {"url", "http://127.0.0.1:1"},
                                 {"spacing", "1h"}}};
    post(std::move(event));
    enqueue(network);
    enqueue(network);
  }
  void enqueue(std::uint32_t network) {
    device::DeviceMessage command;
    command.request.command = device::Command::kReadCredit;
    command.request.meter = std::to_string(47'000'000'000 + ++meters_);
    command.plugin = "lora";
    command.network = network;
    Submit event;
    event.destination = device::push_queue(command);
    event.body = device::encode_device_message(command);
    post(std::move(event));
  }
  std::uint64_t live() { return shard_->engine().stats().counters.live(); }

 private:
  Instant instant() const { return {now_, now_}; }
  void post(Event event) {
    POSTRIDER_CHECK(shard_->post(std::move(event)));
    shard_->turn(instant());
  }

  MemoryStore store_;
  Timestamp now_{1'800'000'000'000};
  std::unique_ptr<Shard> shard_;
  std::uint64_t meters_ = 0;
};

}  // namespace
}  // namespace postrider

int main(int argc, char** argv) {
  std::uint32_t queues = 1;
  std::uint32_t enqueues = 1000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--queues") queues = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
    if (name == "--enqueues") enqueues = static_cast<std::uint32_t>(std::atoi(argv[i + 1]));
  }
  postrider::Bench bench;
  for (std::uint32_t i = 0; i < queues; ++i) bench.add_queue(i);
  for (std::uint32_t i = 0; i < enqueues; ++i) bench.enqueue(0);
  std::printf("%llu live\n", static_cast<unsigned long long>(bench.live()));
  return 0;
}
