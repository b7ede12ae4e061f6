// postrider demo device: commands to meters through a network server and a vendor that lose,
// double, delay and lie, and a daemon that is killed in the middle. In the end what the daemon says
// about each command is compared with how often its meter really ran it.
#include "apps/postrider/demo_device.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "apps/postrider/demo_daemon.h"
#include "apps/postrider/demo_device_books.h"
#include "apps/postrider/demo_display.h"
#include "postrider/cli/client.h"
#include "postrider/cli/json.h"
#include "postrider/cli/options.h"
#include "postrider/cli/output.h"
#include "postrider/sinks/device/calin_sink.h"
#include "postrider/sinks/device/chirpstack_sink.h"

namespace postrider {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kOptions = std::to_array<OptionRow>({
    {"--commands", "N", "how many, 20 to 20000 (1000)"},
    {"--calm", "", "without faults"},
    {"--break", "repeat",
     "repeat everything, as the original did: the meters must then see doubles, and the demo say "
     "so"},
    {"--seed", "N", "of the faults (1)"},
    {"--keep", "", "keep the directory with the store and the logs"},
    {"--json", "", "nothing but the result, as JSON"},
});

constexpr std::size_t kBatch = 20;
constexpr Duration kBetweenBatches{40};
constexpr Duration kSettleMax{150'000};
constexpr std::uint32_t kTaskMs = 800;
constexpr std::size_t kGateways = 20;
constexpr std::string_view kSecret = "demo-secret";

volatile std::sig_atomic_t interrupted = 0;
extern "C" void interrupt_device_demo(int /*signal*/) { interrupted = 1; }

// Hours of waiting make no good demo: everything takes a fraction of its usual time.
constexpr std::string_view kConfig = R"([plugins.lorawan]
secret = "SECRET"
[plugins.lorawan.settings]
way = "chirpstack"
url = "http://GRPC"
repeat = "REPEAT"
spacing = "0"
call_time_out = "1s"
probe_time_out = "1s"
server_time_out = "3s"
air_time_out = "2s"
retry_base = "200ms"
retry_cap = "2s"

[plugins.calin]
[plugins.calin.settings]
way = "calin-v2"
url = "http://VENDOR"
repeat = "REPEAT"
company = "demo"
user = "demo"
password = "demo"
customer = "1"
in_flight_max = "50"
call_time_out = "2s"
poll_time_out = "2s"
poll_first = "300ms"
poll_waits = "300ms,500ms,1s,2s"
poll_ages = "2s,5s,10s"
retry_base = "200ms"
retry_cap = "2s"
strikes_max = "0"
)";

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  if (at != std::string::npos) text.replace(at, what.size(), with);
  return text;
}

sim::NetworkFaults bad_network() {
  sim::NetworkFaults faults;
  faults.refuse = 3;
  faults.lose_calls = 3;
  faults.lose_replies = 3;
  faults.hang = 2;
  faults.fail_looks = 10;
  faults.lose_downlinks = 8;
  faults.lose_uplinks = 5;
  faults.nack_first = 3;
  faults.later_frame = 5;
  faults.empty_uplinks = 2;
  faults.meter_refuses = 2;
  faults.lose_events = 3;
  faults.duplicate_events = 10;
  faults.delay_events = 10;
  faults.event_delay_ms = 1500;
  faults.joins = 2;
  faults.reports = 3;
  return faults;
}

sim::VendorFaults bad_vendor() {
  sim::VendorFaults faults;
  faults.lose_calls = 3;
  faults.lose_replies = 3;
  faults.hang = 2;
  faults.errors = 3;
  faults.html = 2;
  faults.garbage = 2;
  faults.refuse = 3;
  faults.twice = 3;
  faults.fail_polls = 5;  // each of them costs half a minute: a poll that failed is not hurried
  faults.lies = 2;
  faults.fail_tasks = 3;
  faults.slow_tasks = 5;
  faults.slow_task_ms = 8000;
  faults.meter_refuses = 2;
  faults.forget_logins = 2;
  return faults;
}

class DeviceDemo {
 public:
  struct Options {
    std::size_t count = 0;
    std::uint64_t seed = 1;
    bool calm = false;
    bool repeats = false;
    bool json = false;
  };
  DeviceDemo(const Options& options, std::string directory)
      : directory_(std::move(directory)),
        options_(options),
        display_(options.json),
        daemon_(directory_, "files") {
    for (std::size_t i = 0; i < options.count; ++i) commands_.push_back(make_command(i));
  }
  ~DeviceDemo();
  DeviceDemo(const DeviceDemo&) = delete;
  DeviceDemo& operator=(const DeviceDemo&) = delete;

  int run();

 private:
  static DeviceDemoCommand make_command(std::size_t number);
  Result<void> begin();
  Result<void> start_daemon();
  Result<void> send_all();
  Result<void> send(std::size_t first, std::size_t last, bool kill_within);
  Result<void> heal();
  Result<void> settle();
  Result<void> look_at(DeviceDemoCommand& command);
  Result<DeviceDemoMeters> read_ledgers() const;
  void show(bool now);
  int conclude();
  int complain(const Error& error) const;
  void print_verdict(const DeviceDemoVerdict& verdict) const;
  static Result<Json> get(const std::string& url, const std::string& path);

  std::string directory_;
  Options options_;
  DemoDisplay display_;
  DemoDaemon daemon_;
  std::vector<DeviceDemoCommand> commands_;
  std::size_t sent_ = 0;
  std::unique_ptr<FarSide> network_;
  std::unique_ptr<FarSide> vendor_;
  std::thread network_thread_;
  std::thread vendor_thread_;
  Clock::time_point began_ = Clock::now();
};

DeviceDemo::~DeviceDemo() {
  if (network_ != nullptr) network_->stop();
  if (vendor_ != nullptr) vendor_->stop();
  if (network_thread_.joinable()) network_thread_.join();
  if (vendor_thread_.joinable()) vendor_thread_.join();
}

// Push and pull in turn; of each, reads, relay commands and tokens.
DeviceDemoCommand DeviceDemo::make_command(std::size_t number) {
  constexpr std::array<std::string_view, 5> kTypes = {"READ_CREDIT", "TURN_OFF", "READ_VOLTAGE",
                                                      "TURN_ON", "TOP_UP_KWH"};
  DeviceDemoCommand command;
  command.is_push = number % 2 == 0;
  command.type = kTypes[number / 2 % kTypes.size()];
  command.is_act = !command.type.starts_with("READ_");
  command.meter = std::to_string(47'000'000'000 + number);
  command.correlation = "demo-" + std::to_string(number);
  std::string data;
  if (command.type == "TOP_UP_KWH")
    data = ",\"requestData\":{\"token\":\"" + std::to_string(1'000'000'000 + number) +
           std::to_string(5'000'000'000 + number) + "\"}";
  const std::string gateway = std::to_string(number % kGateways);
  const std::string relay = command.is_push ? ""
                                            : R"(,"relayNode":{"id":"gateway-)" + gateway +
                                                  R"(","externalReference":"g)" + gateway + "\"}";
  command.body = "{\"commandType\":\"" + command.type + "\",\"priority\":1,\"pluginId\":\"" +
                 (command.is_push ? "lorawan" : "calin") +
                 "\",\"networkId\":" + (command.is_push ? std::to_string(number % 7) : "null") +
                 ",\"correlationId\":\"" + command.correlation + "\"" + data +
                 R"(,"device":{"type":"ELECTRICITY_METER","externalReference":")" + command.meter +
                 "\"" + relay + "}}";
  return command;
}

Result<void> DeviceDemo::begin() {
  ChirpstackSinkOptions network;
  network.header_name = "x-postrider-secret";
  network.header_value = kSecret;
  network.server.radio_percent = 10;
  network.server.scheduler_period = 50ms;
  network.server.answer_max = 1500ms;
  network.seed = options_.seed;
  CalinSinkOptions vendor;
  vendor.vendor.version = 2;
  vendor.vendor.login_life = 5s;
  vendor.seed = options_.seed;
  if (!options_.calm) {
    network.faults = bad_network();
    vendor.faults = bad_vendor();
  }
  vendor.faults.task_ms = kTaskMs;
  POSTRIDER_TRY(network_sink, open_chirpstack_sink(network));
  POSTRIDER_TRY(vendor_sink, open_calin_sink(vendor));
  network_ = std::move(network_sink);
  vendor_ = std::move(vendor_sink);
  network_thread_ = std::thread([this] { network_->run(false); });
  vendor_thread_ = std::thread([this] { vendor_->run(false); });

  std::string config = replaced(std::string(kConfig), "SECRET", kSecret);
  config = replaced(config, "GRPC", network_->address());
  config = replaced(config, "VENDOR", vendor_->address());
  const std::string_view repeat = options_.repeats ? "document" : "class";
  for (int i = 0; i < 2; ++i) config = replaced(config, "REPEAT", repeat);
  const std::string path = directory_ + "/postrider.toml";
  std::ofstream(path) << config;
  daemon_.set_config(path);
  if (const Result<void> started = start_daemon(); !started) return started;
  display_.say("The daemon listens on " + daemon_.url() + "; the network server is at " +
               network_->address() + ", the vendor at " + vendor_->address() + ".");
  display_.say(options_.calm ? "Nothing goes wrong on their side.\n"
                             : "Both lose, double, delay, refuse and lie.\n");
  return {};
}

// A new daemon has another port; the network server is told, as its operator would.
Result<void> DeviceDemo::start_daemon() {
  if (const Result<void> started = daemon_.start(); !started) return started;
  ClientOptions options;
  options.url = "http://" + network_->control_address();
  ClientRequest request;
  request.method = "POST";
  request.path = "/events";
  request.body = "{\"url\":" + json_text(daemon_.url() + "/ingress/lorawan") + "}";
  POSTRIDER_TRY(answer, ask(options, request));
  if (answer.status == 200) return {};
  return fail(ErrorCode::kUnavailable,
              "the network server does not take the address of the daemon");
}

// What of it has no answer yet, in one request. With `kill_within` the daemon is killed meanwhile.
Result<void> DeviceDemo::send(std::size_t first, std::size_t last, bool kill_within) {
  std::vector<std::size_t> sent;
  ClientOptions options;
  options.url = daemon_.url();
  ClientRequest request;
  request.method = "POST";
  request.path = "/messages/enqueue";
  request.body = "{\"messages\":[";
  for (std::size_t i = first; i < last; ++i) {
    if (!commands_[i].id.empty()) continue;
    request.body.append(sent.empty() ? "" : ",").append(commands_[i].body);
    sent.push_back(i);
  }
  request.body += "]}";
  if (sent.empty()) return {};
  std::thread killer;
  if (kill_within) {
    killer = std::thread([this] {
      std::this_thread::sleep_for(Duration(2));
      daemon_.strike();
    });
  }
  const Result<ClientAnswer> answer = ask(options, request);
  if (kill_within) {
    killer.join();
    daemon_.kill();
  }
  if (!answer || answer->status != 200) {
    if (kill_within) return {};
    return answer ? fail(ErrorCode::kUnavailable, answer->body)
                  : tl::unexpected<Error>(answer.error());
  }
  POSTRIDER_TRY(json, parse_json(answer->body));
  const std::vector<Json>& results = json.list("results");
  for (std::size_t i = 0; i < std::min(results.size(), sent.size()); ++i) {
    const Json* const message = results[i].find("message");
    if (message == nullptr)
      return fail(ErrorCode::kUnavailable, "a command is refused: " + results[i].at("error"));
    commands_[sent[i]].id = message->at("id");
  }
  return {};
}

Result<void> DeviceDemo::send_all() {
  const std::size_t middle = commands_.size() / 2;
  std::size_t last = 0;
  for (std::size_t first = 0; first < commands_.size() && interrupted == 0; first = last) {
    const bool kills = first <= middle && middle < first + kBatch;
    last = std::min(first + kBatch, commands_.size());
    sent_ = last;
    if (const Result<void> sent = send(first, last, kills); !sent) return sent;
    if (kills) {
      display_.say("kill -9 in the middle, with commands on the air and tasks at the vendor.");
      if (const Result<void> up = start_daemon(); !up) return up;
      display_.say("It is up again. What had no answer is sent again with the same ids.\n");
      if (const Result<void> sent = send(0, last, false); !sent) return sent;
    }
    show(false);
    std::this_thread::sleep_for(kBetweenBatches);
  }
  return {};
}

Result<Json> DeviceDemo::get(const std::string& url, const std::string& path) {
  ClientOptions options;
  options.url = url;
  ClientRequest request;
  request.path = path;
  POSTRIDER_TRY(answer, ask(options, request));
  if (answer.status != 200) return fail(ErrorCode::kUnavailable, path + ": " + answer.body);
  return parse_json(answer.body);
}

Result<void> DeviceDemo::look_at(DeviceDemoCommand& command) {
  POSTRIDER_TRY(history, get(daemon_.url(), "/message/" + command.correlation + "/history"));
  command.outcome = history.at("outcome");
  command.may_have_run = history.at("mayHaveRun") == "true";
  return {};
}

// From now on nothing new goes wrong, and everything must end.
Result<void> DeviceDemo::heal() {
  for (const std::string& address : {network_->control_address(), vendor_->address()}) {
    ClientOptions options;
    options.url = "http://" + address;
    ClientRequest request;
    request.method = "DELETE";
    request.path = "/faults";
    POSTRIDER_TRY(answer, ask(options, request));
    if (answer.status != 200) return fail(ErrorCode::kUnavailable, answer.body);
  }
  return {};
}

// Until every command has ended, or for a while.
Result<void> DeviceDemo::settle() {
  const Clock::time_point until = Clock::now() + kSettleMax;
  while (interrupted == 0 && Clock::now() < until) {
    POSTRIDER_TRY(stats, get(daemon_.url(), "/v1/stats"));
    const Json* const books = stats.find("conservation");
    if (books != nullptr && books->at("live") == "0") break;
    show(false);
    std::this_thread::sleep_for(Duration(200));
  }
  for (DeviceDemoCommand& command : commands_) {
    if (const Result<void> looked = look_at(command); !looked) return looked;
  }
  show(true);
  return {};
}

void DeviceDemo::show(bool now) {
  const auto runs = [](const std::string& address) {
    const Result<Json> counts = get("http://" + address, "/counts");
    return counts ? std::strtoull(counts->at("runs").c_str(), nullptr, 10) : 0ULL;
  };
  const Result<Json> stats = get(daemon_.url(), "/v1/stats");
  const Json* const books = stats ? stats->find("conservation") : nullptr;
  std::string footer;
  if (books != nullptr)
    footer = "accepted " + books->at("accepted") + " = delivered " + books->at("delivered") +
             " + dead " + books->at("dead") + " + indeterminate " + books->at("indeterminate") +
             " + live " + books->at("live");
  const std::uint64_t half = commands_.size() / 2;
  display_.show({{.name = "push",
                  .mood = "through the network server",
                  .taken = runs(network_->control_address()),
                  .of = half},
                 {.name = "pull",
                  .mood = "through the vendor",
                  .taken = runs(vendor_->address()),
                  .of = half}},
                footer, now);
}

Result<DeviceDemoMeters> DeviceDemo::read_ledgers() const {
  DeviceDemoMeters meters;
  for (const std::string& address : {network_->control_address(), vendor_->address()}) {
    POSTRIDER_TRY(ledger, get("http://" + address, "/ledger"));
    const Result<void> read = read_device_ledger(ledger, meters);
    if (!read) return tl::unexpected<Error>(read.error());
  }
  return meters;
}

int DeviceDemo::complain(const Error& error) const {
  postrider::complain("demo device", error.detail);
  return kExitFailure;
}

void DeviceDemo::print_verdict(const DeviceDemoVerdict& verdict) const {
  std::printf("\n%-16s %9s %10s %9s %10s\n", "outcome", "commands", "never ran", "ran once",
              "ran again");
  for (const auto& [outcome, row] : verdict.rows) {
    std::printf("%-16s %9s %10s %9s %10s\n", outcome.c_str(), grouped(row.commands).c_str(),
                grouped(row.never).c_str(), grouped(row.once).c_str(), grouped(row.again).c_str());
  }
  std::printf(
      "\nAn act ran again only when its former copy could provably not run any more; it sets an\n"
      "absolute value, or carries a token that the meter takes once.\n"
      "Acts that were radiated while another copy could still run: %s\n",
      grouped(verdict.doubled).c_str());
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(kShown, verdict.wrong.size()); ++i)
    std::printf("%s\n", coloured("WRONG: " + verdict.wrong[i], Colour::kBad).c_str());
}

int DeviceDemo::conclude() {
  const Result<DeviceDemoMeters> meters = read_ledgers();
  if (!meters) return complain(meters.error());
  const DeviceDemoVerdict verdict = judge_device_demo(commands_, *meters);
  const bool good = verdict.wrong.empty() && verdict.doubled == 0 && verdict.live == 0 &&
                    verdict.accepted == commands_.size();
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  if (options_.json) {
    std::printf("{\"accepted\":%llu,\"outcomes\":{",
                static_cast<unsigned long long>(verdict.accepted));
    const char* comma = "";
    for (const auto& [outcome, row] : verdict.rows) {
      std::printf("%s\"%s\":%llu", comma, outcome.c_str(),
                  static_cast<unsigned long long>(row.commands));
      comma = ",";
    }
    std::string wrong;
    for (const std::string& sentence : verdict.wrong)
      wrong.append(wrong.empty() ? "" : ",").append(json_text(sentence));
    std::printf("},\"doubled\":%llu,\"wrong\":[%s],\"balanced\":%s,\"seconds\":%.1f}\n",
                static_cast<unsigned long long>(verdict.doubled), wrong.c_str(),
                good ? "true" : "false", seconds);
    return good ? kExitOk : kExitFailure;
  }
  print_verdict(verdict);
  if (verdict.live != 0)
    std::printf("%s commands have not ended yet.\n", grouped(verdict.live).c_str());
  const int code = daemon_.stop();
  if (good)
    std::printf(
        "%s\n",
        coloured("Every outcome agrees with what the meter really did.", Colour::kGood).c_str());
  std::printf("\nThe daemon was asked to stop and ended with code %d. That took %.0f s in all.\n",
              code, seconds);
  return good && code == 0 ? kExitOk : kExitFailure;
}

int DeviceDemo::run() {
  if (const Result<void> begun = begin(); !begun) return complain(begun.error());
  if (const Result<void> sent = send_all(); !sent) return complain(sent.error());
  if (const Result<void> healed = heal(); !healed) return complain(healed.error());
  if (const Result<void> settled = settle(); !settled) return complain(settled.error());
  if (interrupted != 0) return complain({ErrorCode::kUnavailable, "interrupted"});
  return conclude();
}

int demo_device(const Parsed& parsed) {
  const auto count = parsed.number("--commands", 1000, 20, 20'000);
  if (!count) return complain(parsed, count.error());
  const auto seed = parsed.number("--seed", 1, 0, UINT64_MAX);
  if (!seed) return complain(parsed, seed.error());
  const std::string broken = parsed.text("--break");
  if (!broken.empty() && broken != "repeat")
    return usage_error("demo device",
                       "--break: '" + broken + "' cannot be broken; it may be repeat");
  std::error_code error;
  std::string directory = std::filesystem::temp_directory_path(error).string();
  directory += "/postrider-demo-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) {
    std::fprintf(stderr, "postrider demo device: no directory can be made in %s\n",
                 directory.c_str());
    return kExitFailure;
  }
  std::signal(SIGINT, interrupt_device_demo);
  std::signal(SIGTERM, interrupt_device_demo);
  int code = kExitFailure;
  {
    DeviceDemo it({.count = *count,
                   .seed = *seed,
                   .calm = parsed.has("--calm"),
                   .repeats = broken == "repeat",
                   .json = parsed.has("--json")},
                  directory);
    code = it.run();
  }
  if (parsed.has("--keep")) {
    std::fprintf(stderr, "The store and the logs are in %s\n", directory.c_str());
  } else {
    std::filesystem::remove_all(directory, error);
  }
  return code;
}

constexpr Command kDemo{.name = "device",
                        .operands = {},
                        .summary =
                            "Sends commands to meters through a bad network server and a bad "
                            "vendor, kills its daemon in the middle, and balances each outcome "
                            "with what the meter did.",
                        .options = kOptions,
                        .asks_daemon = false,
                        .run = demo_device};

}  // namespace

int run_device_demo(Arguments arguments) { return run_command("demo", kDemo, arguments); }

}  // namespace postrider
