// postrider demo: 5,000 messages to receivers that are healthy, slow, flaky, dead and back after a
// while, and a daemon that is killed in the middle. In the end the receivers' own logs are compared
// with what the daemon says.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "apps/postrider/commands.h"
#include "apps/postrider/demo_books.h"
#include "apps/postrider/demo_daemon.h"
#include "apps/postrider/demo_device.h"
#include "apps/postrider/demo_display.h"
#include "postrider/cli/client.h"
#include "postrider/cli/json.h"
#include "postrider/cli/messages.h"
#include "postrider/cli/options.h"
#include "postrider/cli/output.h"
#include "postrider/sinks/webhook/sink.h"

namespace postrider {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kOptions = std::to_array<OptionRow>({
    {"--messages", "N", "how many, 100 to 100000 (5000)"},
    {"--break", "sync",
     "leave out the sync: the kill must then lose messages, and the demo say so"},
    {"--keep", "", "keep the directory with the store and the logs"},
    {"--json", "", "nothing but the result, as JSON"},
});

constexpr std::size_t kBatch = 25;
constexpr Duration kBetweenBatches{30};
// So many at once take longer to be accepted than the kill takes to come.
constexpr std::size_t kKillBatch = 500;
constexpr Duration kKillAfter{10};
constexpr Duration kSettleMax{45'000};
constexpr Duration kBackAfterMin{1'000};
constexpr Duration kBackAfterMax{7'000};

struct Receiver {
  std::string name;
  std::string mood;
  SinkOptions sink;
  std::unique_ptr<SinkThread> thread;
  std::string log;
  std::uint64_t sent = 0;
};

// With few messages the demo is short, and so is the wait for the one that is back.
std::array<Receiver, 5> receivers(std::size_t messages) {
  std::array<Receiver, 5> out;
  out[0] = {.name = "healthy", .mood = "answers at once"};
  out[1] = {.name = "slow", .mood = "answers after 20 ms"};
  out[1].sink.slow = Duration(20);
  out[2] = {.name = "flaky", .mood = "fails one of four, hangs up on others"};
  out[2].sink.fail_percent = 25;
  out[2].sink.duplicate_percent = 5;
  out[3] = {.name = "back", .mood = "not there at first, back after a while"};
  out[3].sink.back_after = std::clamp(Duration(messages * 7 / 5), kBackAfterMin, kBackAfterMax);
  out[4] = {.name = "dead", .mood = "never there"};
  out[4].sink.dead = true;
  return out;
}

volatile std::sig_atomic_t interrupted = 0;
extern "C" void interrupt_demo(int /*signal*/) { interrupted = 1; }

class Demo {
 public:
  Demo(std::size_t count, std::string broken, bool json, std::string directory)
      : directory_(std::move(directory)),
        broken_(std::move(broken)),
        json_(json),
        display_(json),
        receivers_(receivers(count)),
        daemon_(directory_, broken_.empty() ? "files" : broken_) {
    for (std::size_t i = 0; i < count; ++i) {
      DemoMessage message;
      message.receiver = i % receivers_.size();
      message.body = "{\"order\":" + std::to_string(i + 1) + ",\"item\":\"letter\"}";
      messages_.push_back(std::move(message));
    }
  }

  int run();

 private:
  Result<void> begin();
  Result<void> put_destinations();
  Result<void> send_all();
  Result<void> send(std::size_t first, std::size_t last, bool kill_within);
  void take_line(std::string_view line, const std::vector<std::size_t>& sent);
  Result<void> kill_and_restart();
  Result<void> settle();
  int conclude();
  int tell_broken_start(const Error& error);
  int complain(const Error& error);
  void explain_late();

  Result<Json> get(const std::string& path) const;
  Result<std::unordered_set<std::string>> living() const;
  Result<std::vector<DemoLog>> read_logs() const;
  std::uint64_t accepted() const;
  void show(bool now = false);
  void print_verdict(const DemoVerdict& verdict, const Json& stats, bool exact);
  ClientOptions client() const {
    ClientOptions options;
    options.url = daemon_.url();
    return options;
  }

  std::string directory_;
  std::string broken_;
  bool json_;
  DemoDisplay display_;
  std::array<Receiver, 5> receivers_;
  std::vector<DemoMessage> messages_;
  DemoDaemon daemon_;
  bool restart_failed_ = false;
  std::uint64_t accepted_before_kill_ = 0;
  Clock::time_point began_ = Clock::now();
};

Result<void> Demo::begin() {
  for (Receiver& receiver : receivers_) {
    receiver.log = directory_ + "/" + receiver.name + ".log";
    receiver.sink.log_file = receiver.log;
    POSTRIDER_TRY(thread, SinkThread::start(receiver.sink));
    receiver.thread = std::move(thread);
  }
  if (const Result<void> started = daemon_.start(); !started) return started;
  display_.say("The daemon listens on " + daemon_.url() + " and keeps its messages in " +
               directory_ + "/store.");
  display_.say(broken_.empty()
                   ? "Its disk forgets whatever was not synced when it is killed.\n"
                   : "Its disk forgets whatever was not synced, and the daemon never syncs.\n");
  return put_destinations();
}

Result<void> Demo::put_destinations() {
  for (const Receiver& receiver : receivers_) {
    ClientRequest request;
    request.method = "PUT";
    request.path = "/v1/destinations/" + receiver.name;
    request.body =
        "{\"profile\":\"webhook\",\"settings\":{\"url\":\"http://" + receiver.thread->address() +
        "/\",\"ladder\":\"250ms,500ms,1s\",\"wait_base\":\"300ms\",\"wait_max\":\"1s\"}}";
    POSTRIDER_TRY(answer, ask(client(), request));
    if (answer.status / 100 != 2)
      return fail(ErrorCode::kUnavailable, "a destination is refused: " + answer.body);
  }
  return {};
}

void Demo::take_line(std::string_view line, const std::vector<std::size_t>& sent) {
  const Result<Json> answer = parse_json(line);
  if (!answer) return;
  const std::size_t number = std::strtoul(answer->at("line").c_str(), nullptr, 10);
  if (number >= 1 && number <= sent.size()) messages_[sent[number - 1]].id = answer->at("id");
}

// Sends what of it has no answer yet, in one request. With `kill_within` the daemon is killed as
// soon as the first answers are here.
Result<void> Demo::send(std::size_t first, std::size_t last, bool kill_within) {
  std::vector<std::size_t> sent;
  ClientRequest request;
  request.method = "POST";
  request.path = "/v1/messages";
  request.content_type = "application/x-ndjson";
  for (std::size_t i = first; i < last; ++i) {
    const DemoMessage& message = messages_[i];
    if (!message.id.empty()) continue;
    sent.push_back(i);
    request.body += "{\"destination\":\"" + receivers_[message.receiver].name +
                    "\",\"idempotency_key\":\"demo-" + std::to_string(i) +
                    "\",\"body\":" + message.body + "}\n";
  }
  if (sent.empty()) return {};
  std::string text;
  const auto take = [&](std::string_view piece) {
    text.append(piece);
    for (std::size_t end = 0; (end = text.find('\n')) != std::string::npos;) {
      take_line(std::string_view(text).substr(0, end), sent);
      text.erase(0, end + 1);
    }
    return true;
  };
  std::thread killer;
  if (kill_within)
    killer = std::thread([this] {
      std::this_thread::sleep_for(kKillAfter);
      daemon_.strike();
    });
  const Result<ClientAnswer> answer = follow(client(), request, take);
  if (kill_within) {
    killer.join();
    daemon_.kill();
    return {};
  }
  if (!answer) return tl::unexpected<Error>(answer.error());
  if (answer->status / 100 != 2) return fail(ErrorCode::kUnavailable, answer->body);
  return {};
}

Result<void> Demo::send_all() {
  const std::size_t middle = messages_.size() / 2;
  std::size_t last = 0;
  for (std::size_t first = 0; first < messages_.size() && interrupted == 0; first = last) {
    const bool kills = first <= middle && middle < first + kBatch;
    last = std::min(first + (kills ? kKillBatch : kBatch), messages_.size());
    for (std::size_t i = first; i < last; ++i) ++receivers_[messages_[i].receiver].sent;
    if (const Result<void> sent = send(first, last, kills); !sent) return sent;
    if (kills) {
      if (const Result<void> up = kill_and_restart(); !up) return up;
      if (const Result<void> sent = send(0, last, false); !sent) return sent;
    }
    show();
    std::this_thread::sleep_for(kBetweenBatches);
  }
  return {};
}

Result<void> Demo::kill_and_restart() {
  accepted_before_kill_ = accepted();
  std::uint64_t without = 0;
  for (const Receiver& receiver : receivers_) without += receiver.sent;
  without -= accepted_before_kill_;
  display_.say("kill -9 after " + grouped(accepted_before_kill_) + " messages were accepted; " +
               grouped(without) + " more were sent and have no answer.");
  const Clock::time_point down = Clock::now();
  if (const Result<void> started = daemon_.start(); !started) {
    restart_failed_ = true;
    return started;
  }
  const auto took = std::chrono::duration_cast<Duration>(Clock::now() - down);
  display_.say("It is up again after " + std::to_string(took.count()) +
               " ms. What had no answer is sent again with the same keys.\n");
  // They are there already, unless the disk forgot them.
  return put_destinations();
}

Result<Json> Demo::get(const std::string& path) const {
  ClientRequest request;
  request.path = path;
  POSTRIDER_TRY(answer, ask(client(), request));
  if (answer.status != 200) return fail(ErrorCode::kUnavailable, path + ": " + answer.body);
  return parse_json(answer.body);
}

// Until everything but what waits for the dead one has ended.
Result<void> Demo::settle() {
  const Clock::time_point until = Clock::now() + kSettleMax;
  while (interrupted == 0 && Clock::now() < until) {
    show();
    POSTRIDER_TRY(stats, get("/v1/stats"));
    const Json* books = stats.find("conservation");
    const std::string live = books == nullptr ? "" : books->at("live");
    if (std::strtoull(live.c_str(), nullptr, 10) <= receivers_.back().sent) break;
    std::this_thread::sleep_for(Duration(50));
  }
  show(true);
  return {};
}

void Demo::show(bool now) {
  std::vector<DemoRow> rows;
  for (const Receiver& receiver : receivers_) {
    rows.push_back({.name = receiver.name,
                    .mood = receiver.mood,
                    .taken = receiver.thread->counts().good,
                    .of = messages_.size() / receivers_.size()});
  }
  std::string footer;
  const Result<Json> stats = get("/v1/stats");
  const Json* books = stats ? stats->find("conservation") : nullptr;
  const auto of = [&](std::string_view name) {
    return grouped(std::strtoull(books->at(name).c_str(), nullptr, 10));
  };
  if (books != nullptr)
    footer =
        "accepted " + of("accepted") + " = delivered " + of("delivered") + " + live " + of("live");
  display_.show(rows, footer, now);
}

std::uint64_t Demo::accepted() const {
  std::uint64_t count = 0;
  for (const DemoMessage& message : messages_) count += message.id.empty() ? 0U : 1U;
  return count;
}

Result<std::unordered_set<std::string>> Demo::living() const {
  std::unordered_set<std::string> out;
  std::string cursor;
  do {
    POSTRIDER_TRY(page,
                  get("/v1/messages?limit=1000" + (cursor.empty() ? "" : "&cursor=" + cursor)));
    for (const Json& message : page.list("messages")) out.insert(message.at("id"));
    cursor = page.at("next");
  } while (!cursor.empty());
  return out;
}

Result<std::vector<DemoLog>> Demo::read_logs() const {
  std::unordered_map<std::string, const DemoMessage*> ids;
  for (const DemoMessage& message : messages_) {
    if (!message.id.empty()) ids.emplace(message.id, &message);
  }
  std::vector<DemoLog> logs;
  for (const Receiver& receiver : receivers_) {
    POSTRIDER_TRY(log, read_demo_log(receiver.log, ids));
    logs.push_back(std::move(log));
  }
  return logs;
}

// A store that does not open after the kill has lost everything that did not arrive before.
int Demo::tell_broken_start(const Error& error) {
  const Result<std::vector<DemoLog>> logs = read_logs();
  if (!logs) return complain(logs.error());
  const DemoVerdict verdict = judge_demo(messages_, *logs, {});
  if (json_) {
    std::printf("{\"accepted\":%llu,\"taken\":%llu,\"lost\":%zu,\"exact\":false}\n",
                static_cast<unsigned long long>(verdict.accepted),
                static_cast<unsigned long long>(verdict.taken), verdict.lost.size());
    return kExitFailure;
  }
  std::printf("\nThe daemon does not start any more:\n  %s\n\n", error.detail.c_str());
  const std::string line = "LOST: " + grouped(verdict.lost.size()) + " of " +
                           grouped(verdict.accepted) +
                           " messages that were accepted never reached a receiver, and are gone.";
  std::printf("%s\n", coloured(line, Colour::kBad).c_str());
  return kExitFailure;
}

int Demo::complain(const Error& error) {
  postrider::complain("demo", error.detail);
  return kExitFailure;
}

void Demo::print_verdict(const DemoVerdict& verdict, const Json& stats, bool exact) {
  const auto of = [&](std::string_view name) {
    const Json* books = stats.find("conservation");
    const std::string text = books == nullptr ? "0" : books->at(name);
    return grouped(std::strtoull(text.c_str(), nullptr, 10));
  };
  std::printf(
      "\nConservation, by the daemon:              accepted %s = delivered %s + dead %s + "
      "expired %s + cancelled %s + indeterminate %s + live %s\n",
      of("accepted").c_str(), of("delivered").c_str(), of("dead").c_str(), of("expired").c_str(),
      of("cancelled").c_str(), of("indeterminate").c_str(), of("live").c_str());
  std::printf(
      "Conservation, by the receivers' own logs: accepted %s = taken %s + live %s + lost %zu\n",
      grouped(verdict.accepted).c_str(), grouped(verdict.taken).c_str(),
      grouped(verdict.live).c_str(), verdict.lost.size());
  std::printf("Taken once more after the kill, with the same id and body: %s\n",
              grouped(verdict.again).c_str());
  if (exact) {
    std::printf("%s\n", coloured("Both agree exactly: nothing is lost.", Colour::kGood).c_str());
    return;
  }
  const std::string line = "LOST: " + grouped(verdict.lost.size()) +
                           " messages were accepted, never reached a receiver, and the daemon does "
                           "not know them any more.";
  std::printf("%s\n", coloured(line, Colour::kBad).c_str());
  if (verdict.broken + verdict.strangers != 0)
    std::printf("%s bodies differ, %s ids are unknown.\n", grouped(verdict.broken).c_str(),
                grouped(verdict.strangers).c_str());
}

int Demo::conclude() {
  const auto alive = living();
  if (!alive) return complain(alive.error());
  const Result<Json> stats = get("/v1/stats");
  if (!stats) return complain(stats.error());
  const Result<std::vector<DemoLog>> logs = read_logs();
  if (!logs) return complain(logs.error());
  const DemoVerdict verdict = judge_demo(messages_, *logs, *alive);
  const Json* books = stats->find("conservation");
  const auto told = [&](std::string_view name) {
    return books == nullptr ? 0 : std::strtoull(books->at(name).c_str(), nullptr, 10);
  };
  const bool exact = verdict.lost.empty() && verdict.broken == 0 && verdict.strangers == 0 &&
                     verdict.accepted == messages_.size() && told("accepted") == verdict.accepted &&
                     told("delivered") == verdict.taken && told("live") == verdict.live;
  const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
  if (json_) {
    std::printf(
        "{\"accepted\":%llu,\"taken\":%llu,\"again\":%llu,\"live\":%llu,\"lost\":%zu,"
        "\"exact\":%s,\"seconds\":%.1f}\n",
        static_cast<unsigned long long>(verdict.accepted),
        static_cast<unsigned long long>(verdict.taken),
        static_cast<unsigned long long>(verdict.again),
        static_cast<unsigned long long>(verdict.live), verdict.lost.size(),
        exact ? "true" : "false", seconds);
    return exact ? kExitOk : kExitFailure;
  }
  print_verdict(verdict, *stats, exact);
  explain_late();
  const int code = daemon_.stop();
  std::printf("\nThe daemon was asked to stop and ended with code %d. That took %.0f s in all.\n",
              code, seconds);
  return exact && code == 0 ? kExitOk : kExitFailure;
}

void Demo::explain_late() {
  for (const DemoMessage& message : messages_) {
    if (message.receiver + 1 != receivers_.size() || message.id.empty()) continue;
    const Result<Json> explained = get(message_path(message.id, "explain"));
    if (!explained) return;
    std::printf("\npostrider msg explain %s\n", message.id.c_str());
    print(explain_message(*explained, wall_now()));
    return;
  }
}

int Demo::run() {
  if (const Result<void> begun = begin(); !begun) return complain(begun.error());
  if (const Result<void> sent = send_all(); !sent)
    return restart_failed_ ? tell_broken_start(sent.error()) : complain(sent.error());
  if (const Result<void> settled = settle(); !settled) return complain(settled.error());
  if (interrupted != 0) return complain({ErrorCode::kUnavailable, "interrupted"});
  return conclude();
}

int demo(const Parsed& parsed) {
  const auto count = parsed.number("--messages", 5000, 100, 100'000);
  if (!count) return complain(parsed, count.error());
  const std::string broken = parsed.text("--break");
  if (!broken.empty() && broken != "sync")
    return usage_error("demo", "--break: '" + broken + "' cannot be broken; it may be sync");
  std::error_code error;
  std::string directory = std::filesystem::temp_directory_path(error).string();
  directory += "/postrider-demo-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) {
    std::fprintf(stderr, "postrider demo: no directory can be made in %s\n", directory.c_str());
    return kExitFailure;
  }
  std::signal(SIGINT, interrupt_demo);
  std::signal(SIGTERM, interrupt_demo);
  int code = kExitFailure;
  {
    Demo it(*count, broken, parsed.has("--json"), directory);
    code = it.run();
  }
  if (parsed.has("--keep")) {
    std::fprintf(stderr, "The store and the logs are in %s\n", directory.c_str());
  } else {
    std::filesystem::remove_all(directory, error);
  }
  return code;
}

constexpr Command kDemo{.name = "demo",
                        .operands = {},
                        .summary =
                            "Sends messages to good and bad receivers, kills its daemon in "
                            "the middle, and shows that nothing is lost.",
                        .options = kOptions,
                        .asks_daemon = false,
                        .run = demo,
                        .more = "'postrider demo device' does so with commands to meters.\n"};

}  // namespace

int run_demo(Arguments arguments) {
  if (!arguments.empty() && arguments.front() == "device")
    return run_device_demo(arguments.subspan(1));
  return run_command("", kDemo, arguments);
}

}  // namespace postrider
