// bench device: commands by push from enqueue to answer, `depth` at a time, spacing off. The
// network server is in the process: it takes a command, tells the transmission and, when we have
// said that this is durable, acknowledgement and uplink together, as ChirpStack does. `--redis`
// replays the commands that the original service gives to Redis for the same lifecycle, at the same
// depth.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "apps/postrider/bench.h"
#include "apps/postrider/bench_span.h"
#include "apps/postrider/commands.h"
#include "bench/long/benches.h"
#include "bench/long/redis.h"
#include "postrider/cli/output.h"
#include "postrider/node/postrider.h"
#include "postrider/profiles/device/dictionary.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/protocols/device/message.h"
#include "postrider/protocols/meter/frame.h"

namespace postrider {
namespace {

constexpr std::uint64_t kFirstMeter = 47'000'000'000;
constexpr std::uint32_t kMeters = 100'000;  // enough that nobody waits for a device

std::string meter_of(std::uint64_t number) {
  return std::to_string(kFirstMeter + number % kMeters);
}

// A network server that takes everything, and consumers of events that do the same.
class Server final : public Transport {
 public:
  using Took = std::function<void(std::string dev_eui, std::string item)>;
  Server(boost::asio::io_context& loop, Node::Ended ended, Took took)
      : loop_(loop), ended_(std::move(ended)), took_(std::move(took)) {}

  void start(AttemptId attempt, WireRequest request) override {
    started_.push_back({attempt, std::move(request)});
    if (started_.size() == 1) boost::asio::post(loop_, [this] { answer(); });
  }
  void abort(AttemptId /*attempt*/) override {}

 private:
  struct Started {
    AttemptId attempt;
    WireRequest request;
  };

  void answer() {
    answering_.swap(started_);
    for (const Started& started : answering_) {
      WireReply reply;
      if (started.request.verb != "CALL") {
        reply.status = 200;
        ended_(started.attempt, std::move(reply));
        continue;
      }
      const auto sent = chirpstack::decode_enqueue(started.request.body);
      // As the server makes them: UUIDs.
      std::array<char, 37> item_text{};
      std::snprintf(item_text.data(), item_text.size(), "6d1f6a5e-0000-4000-8000-%012llx",
                    static_cast<unsigned long long>(++items_));
      std::string item = item_text.data();
      reply.body = chirpstack::encode_enqueue_response(item);
      ended_(started.attempt, std::move(reply));
      if (sent) took_(sent->item.dev_eui, std::move(item));
    }
    answering_.clear();
  }

  boost::asio::io_context& loop_;
  Node::Ended ended_;
  Took took_;
  std::vector<Started> started_;
  std::vector<Started> answering_;
  std::uint64_t items_ = 0;
};

class Load {
 public:
  explicit Load(const BenchOptions& options) : options_(options) {}

  Result<void> open(const std::string& directory) {
    NodeOptions node;
    node.store.directory = directory;
    node.host.waiting_max = node.host.tenant_waiting_max = 16384;
    node.host.shard.event_queue_max = 32768;
    node.host.shard.engine.limits.open_attempts_max = 16384;
    POSTRIDER_TRY(rider,
                  Postrider::open(node, [this](boost::asio::io_context& loop, Node::Ended ended) {
                    return Result<std::unique_ptr<Transport>>(std::make_unique<Server>(
                        loop, std::move(ended), [this](std::string eui, std::string item) {
                          tell(Stage::kTransmitted, std::move(eui), std::move(item));
                        }));
                  }));
    rider_ = std::move(rider);
    if (options_.events)
      configure("hear", "webhook", {{"url", "http://127.0.0.1:1/"}, {"in_flight_max", "1024"}});
    for (std::uint32_t i = 0; i < options_.destinations; ++i) {
      NamedTexts settings = {{"plugin", "lora"},
                             {"way", "chirpstack"},
                             {"url", "http://127.0.0.1:1"},
                             {"spacing", "0"}};
      if (options_.events) settings.emplace_back("events", "hear");
      configure(queue_of(i), "device", std::move(settings));
      if (i % 1024 == 1023) rider_->call(Query{});
    }
    rider_->call(Query{});
    if (refused_ > 0) return fail(ErrorCode::kUnavailable, "queues could not be made");
    return {};
  }

  void begin() {
    going_ = true;
    for (std::uint32_t i = 0; i < options_.depth; ++i) go_on();
  }
  void end() { going_ = false; }
  void wait() {  // until what is under way has ended
    for (int i = 0; i < 1000 && completed_ < next_ && refused_ == 0; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  Counters counters() { return std::get<Stats>(rider_->call(Query{}).view).counters; }
  Postrider& rider() { return *rider_; }
  Latencies take_latencies() { return std::exchange(latencies_, {}); }
  std::uint64_t refused() const { return refused_; }
  std::uint64_t completed() const { return completed_; }
  std::uint64_t raw_bytes() const { return raw_bytes_; }
  std::uint64_t stored_raw_bytes() const { return stored_raw_bytes_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Stage : std::uint8_t { kTransmitted, kAcked, kUplink };

  void note(const Answer& answer, AnswerCode wanted) {
    if (answer.code == wanted) return;
    if (refused_++ == 0) complain(options_.command, answer.detail);
  }

  static std::string queue_of(std::uint64_t number) {
    return "lora.network:" + std::to_string(number);
  }

  void configure(std::string name, std::string profile, NamedTexts settings) {
    Configure event;
    event.config = {
        .name = std::move(name), .profile = std::move(profile), .settings = std::move(settings)};
    rider_->ask(std::move(event),
                [this](const Answer& answer) { note(answer, AnswerCode::kDone); });
  }

  void go_on() {
    if (!going_) return;
    const std::uint64_t number = next_++;
    device::DeviceMessage command;
    command.request.command = device::Command::kReadCredit;
    command.request.meter = meter_of(number);
    command.plugin = "lora";
    command.network = static_cast<std::uint32_t>(number % options_.destinations);
    command.correlation = "c" + std::to_string(number);
    Submit submit;
    submit.destination = queue_of(number % options_.destinations);
    submit.body = device::encode_device_message(command);
    rider_->ask(std::move(submit), [this, from = Clock::now()](const Answer& answer) {
      note(answer, AnswerCode::kAccepted);
      latencies_.add(since_us(from));
    });
  }

  // One event of the server; when it is durable the next one follows, and at last a new command.
  void tell(Stage stage, std::string eui, std::string item) {
    chirpstack::Event event;
    event.dev_eui = eui;
    event.queue_item_id = item;
    event.deduplication_id = item;
    event.acknowledged = true;
    event.kind = stage == Stage::kTransmitted ? chirpstack::EventKind::kTxAck
                 : stage == Stage::kAcked     ? chirpstack::EventKind::kAck
                                              : chirpstack::EventKind::kUp;
    if (stage == Stage::kUplink) event.data = answer_of(eui);
    Arrived arrived;
    arrived.profile = "device";
    arrived.source = {
        .origin = "lora", .kind = std::string(chirpstack::name_of(event.kind)), .format = "json"};
    arrived.bytes = chirpstack::encode_event_json(event);
    raw_bytes_ += arrived.bytes.size();
    // All of a stage are of one size, and measuring them must not be measured.
    std::atomic<std::uint64_t>& stored = stored_size_[static_cast<std::size_t>(stage)];
    if (stored == 0)
      stored = std::min(arrived.bytes.size(), pack(arrived.bytes, device::kDictionary).size());
    stored_raw_bytes_ += stored;
    rider_->ask(std::move(arrived), [this, stage, e = std::move(eui),
                                     i = std::move(item)](const Answer& answer) mutable {
      note(answer, AnswerCode::kDone);
      if (stage == Stage::kUplink) {
        ++completed_;
        return go_on();
      }
      if (stage == Stage::kAcked) return;
      tell(Stage::kAcked, e, i);
      tell(Stage::kUplink, std::move(e), std::move(i));
    });
  }

  static std::string answer_of(const std::string& eui) {
    device::Request request;
    request.command = device::Command::kReadCredit;
    request.meter = chirpstack::reference_of(eui).value_or("");
    device::Response response = device::executed(request.command);
    response.value = device::make_decimal(12345, 2);
    response.level = 1;
    response.relay_on = true;
    return device::encode_response(request, response).value_or("");
  }

  BenchOptions options_;
  std::unique_ptr<Postrider> rider_;
  std::atomic<bool> going_ = false;
  std::atomic<std::uint64_t> refused_ = 0;
  std::atomic<std::uint64_t> completed_ = 0;
  std::atomic<std::uint64_t> raw_bytes_ = 0;  // as they came …
  std::array<std::atomic<std::uint64_t>, 3> stored_size_ = {};
  std::atomic<std::uint64_t> stored_raw_bytes_ = 0;  // … and as they are stored
  std::atomic<std::uint64_t> next_ = 0;
  Latencies latencies_;
};

}  // namespace

int bench_device(const BenchOptions& options) {
  const BenchDirectory directory;
  Load load(options);
  if (const auto opened = load.open(directory.path()); !opened) {
    complain(options.command, opened.error().detail);
    return kExitFailure;
  }
  const BenchSpan span = run_for(load, options.seconds);
  const auto lifecycles = static_cast<double>(load.completed());
  const auto raw = static_cast<double>(load.raw_bytes());
  const auto stored_raw = static_cast<double>(load.stored_raw_bytes());
  load.wait();
  if (const auto closed = load.rider().close(); !closed || load.refused() > 0) {
    complain(options.command, "some commands were refused");
    return kExitFailure;
  }
  const auto of = [&](std::uint64_t a, std::uint64_t b) {
    return static_cast<double>(a - b) / lifecycles;
  };
  Latencies latencies = load.take_latencies();
  Figures figures;
  figures.add("bench", "device");
  figures.add("events", options.events ? "webhooks" : "none");
  figures.add("depth", options.depth);
  figures.add("queues", options.destinations);
  figures.add("lifecycles", lifecycles);
  figures.add("delivered",
              static_cast<double>(span.counters.delivered - span.counters_before.delivered));
  figures.add("rate", lifecycles / span.wall);
  figures.add("p50_us", latencies.percentile(50));
  figures.add("p99_us", latencies.percentile(99));
  figures.add("commits_per_second", span.commits_per_second());
  figures.add("records_per_lifecycle", of(span.commits.puts, span.commits_before.puts), 3);
  figures.add("raw_bytes_per_lifecycle", raw / lifecycles);
  figures.add("stored_raw_bytes_per_lifecycle", stored_raw / lifecycles);
  figures.add("bytes_per_lifecycle",
              of(span.commits.bytes, span.commits_before.bytes) - stored_raw / lifecycles);
  figures.add("cpu_us_per_lifecycle", span.cpu * 1e6 / lifecycles, 2);
  figures.add("rss_mb", span.rss, 1);
  figures.add("sync", "fdatasync before every answer");
  if (!options.redis.empty()) {
    const auto theirs = replay_on_redis(options);
    if (!theirs) {
      complain(options.command, theirs.error().detail);
      return kExitFailure;
    }
    figures.add("redis_commands", theirs->commands);
    figures.add("redis_rate", theirs->rate);
    figures.add("redis_bytes_per_lifecycle", theirs->bytes_per_lifecycle);
    figures.add("redis_cpu_us_per_lifecycle", theirs->cpu_us_per_lifecycle, 2);
    figures.add("ratio", lifecycles / span.wall / theirs->rate, 2);
  }
  figures.print(options.json);
  return kExitOk;
}

}  // namespace postrider
