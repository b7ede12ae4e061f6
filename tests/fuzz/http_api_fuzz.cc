// Feeds arbitrary requests to the whole API over a real host, engine and profiles, with a memory
// store and a far side that answers what the input says: bodies, queries, cursors, filters, groups,
// holds, lines of exports, events of network servers. Each request is answered once, and never with
// 500. At each crash and in the end the process dies and starts again, and what it wrote must be
// whole before and after.
//
// The input is a row of requests with a zero byte between them. The first line of one is
//   METHOD TARGET [key=KEY] [type=CONTENT-TYPE] [answer=STATUS] [wait=SECONDS] [crash=yes]
//   [host=HOST] [coding=CONTENT-ENCODING] [site=SEC-FETCH-SITE] [late=yes: the body follows the
//   head]
// and the rest its body. "$id", "$job" and "$next" stand for the last ones that were told.
#include "postrider/api/http_api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/doors/device/routes.h"
#include "postrider/doors/webhook/door.h"
#include "postrider/json/json_reader.h"
#include "postrider/profiles/all.h"
#include "postrider/stores/memory.h"
#include "tests/fuzz/record_source.h"

namespace postrider {
namespace {

constexpr std::size_t kRequestsMax = 16;
constexpr int kTurnsMax = 40;
constexpr std::int64_t kWaitMax = 86'400;  // a day
constexpr std::string_view kId = R"("id":")";
constexpr std::string_view kNext = R"("next":")";

class FuzzClock final : public Clock {
 public:
  Instant read() const override { return now; }
  Instant now{Timestamp(1'000'000), Timestamp(1'800'000'000'000)};
};

class FuzzTransport final : public Transport {
 public:
  void start(AttemptId attempt, WireRequest /*request*/) override { open.push_back(attempt); }
  void abort(AttemptId attempt) override { std::erase(open, attempt); }
  std::vector<AttemptId> open;
};

class FuzzExchange final : public HttpExchange {
 public:
  void respond(HttpResponse response) override {
    POSTRIDER_CHECK(!answer.has_value());
    answer = std::move(response);
  }
  void begin(HttpResponse head) override { respond(std::move(head)); }
  bool write(std::string_view piece) override {
    POSTRIDER_CHECK(answer.has_value() && !ended);
    text.append(piece);
    return true;
  }
  void end() override {
    POSTRIDER_CHECK(answer.has_value() && !ended);
    ended = true;
  }
  bool gone() const override { return left; }
  bool parted() const override { return left; }
  std::size_t unsent() const override { return 0; }
  void when_room(std::function<void()> call) override { room = std::move(call); }
  bool has_room(std::size_t /*bytes*/) const override { return true; }
  void keep(std::size_t /*bytes*/) override {}
  void pause() override {}
  void resume() override {}

  std::optional<HttpResponse> answer;
  std::function<void()> room;
  std::string text;
  bool ended = false;
  bool left = false;
};

struct Wanted {
  std::string method;
  std::string target;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  int answer = 0;
  std::int64_t wait = 0;
  bool crash = false;
  bool late = false;
};

template <class Number>
Number number_of(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string_view take(std::string_view& text, char until) {
  const std::size_t end = std::min(text.find(until), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

Wanted read_wanted(std::string_view text) {
  std::string_view line = take(text, '\n');
  Wanted out;
  out.method = take(line, ' ');
  out.target = take(line, ' ');
  out.body = text;
  while (!line.empty()) {
    std::string_view value = take(line, ' ');
    const std::string_view name = take(value, '=');
    if (name == "key") out.headers.emplace_back("idempotency-key", value);
    if (name == "type") out.headers.emplace_back("content-type", value);
    if (name == "host") out.headers.emplace_back("host", value);
    if (name == "coding") out.headers.emplace_back("content-encoding", value);
    if (name == "site") out.headers.emplace_back("sec-fetch-site", value);
    if (name == "late") out.late = true;
    if (name == "accept") out.headers.emplace_back("accept", value);
    if (name == "answer") out.answer = number_of<int>(value);
    if (name == "crash") out.crash = true;
    if (name == "wait")
      out.wait = std::clamp<std::int64_t>(number_of<std::int64_t>(value), 0, kWaitMax);
  }
  return out;
}

NamedTexts pull_settings() {
  return {{"way", "calin-v1"},   {"url", "http://far.example:8080"},
          {"company", "c"},      {"user", "u"},
          {"password", "p1234"}, {"vend_password", "v1234"}};
}

HttpApiOptions api_options() {
  HttpApiOptions options;
  options.profiles = all_profiles();
  options.body_bytes_max = 4096;
  options.line_bytes_max = 2048;
  options.lines_waiting_max = 2;
  device_door::DeviceOptions device;
  device.plugins = {
      {.name = "lora",
       .settings = {{"way", "chirpstack"}, {"url", "http://far.example"}, {"events", "a"}}},
      {.name = "calin", .settings = pull_settings()}};
  options.doors = {doors::kWebhookDoor.open(Config(), {}),
                   std::make_shared<device_door::DeviceRoutes>(std::move(device))};
  return options;
}

HostOptions host_options() {
  HostOptions options;
  options.shard.engine.profiles = all_profiles();
  options.shard.engine.limits.jobs_kept_max = 2;
  options.shard.engine.limits.holds_max = 2;
  options.shard.engine.limits.group_members_max = 3;
  options.shard.engine.limits.answer_rows_max = 3;
  return options;
}

class Rig {
 public:
  Rig() {
    start();
    const int made = ask(
        {.method = "PUT",
         .target = "/v1/destinations/a",
         .body = R"({"profile":"webhook","settings":{"url":"https://a.example","history":"on"}})",
         .headers = {{"content-type", "application/json"}}});
    POSTRIDER_CHECK(made == 200);  // else most requests are about nothing
  }

  // Returns the status; 0 while it waits for the far side.
  int ask(Wanted wanted) {
    fill(wanted.target);
    fill(wanted.body);
    if (wanted.crash) crash();
    if (wanted.answer > 0) answer_attempts(wanted.answer);
    if (wanted.wait > 0) pass(Duration(wanted.wait * 1000));
    HttpRequest request;
    request.method = wanted.method;
    request.target = wanted.target;
    request.body = wanted.body;
    request.peer = "127.0.0.1";
    for (const auto& [name, value] : wanted.headers) request.headers.emplace_back(name, value);
    if (request.header("content-type").empty() && !wanted.body.empty())
      request.headers.emplace_back("content-type", "application/json");
    const auto exchange = std::make_shared<FuzzExchange>();
    request.body_waits = wanted.late;
    request.length = wanted.body.size();
    const HttpBodySink sink = handler_.stream(request, exchange);
    request.body_waits = false;
    if (sink) {
      const std::size_t half = wanted.body.size() / 2;
      sink(request.body.substr(0, half), false);
      settle();
      sink(request.body.substr(half), true);
    } else {
      handler_.handle(request, exchange);
    }
    settle();
    while (exchange->room) {
      std::exchange(exchange->room, {})();
      settle();
    }
    if (!exchange->answer) pass(Duration(60'000));  // a token that is made, or a test that waits
    check(wanted, *exchange);
    exchange->left = true;
    exchanges_.push_back(exchange);
    return exchange->answer ? exchange->answer->status : 0;
  }

  void crash() {
    check_records();
    handler_ = {};
    api_.reset();
    host_.reset();
    transport_.open.clear();
    start();
    POSTRIDER_CHECK(host_->state() == Host::State::kRunning);
    check_records();
  }

 private:
  void start() {
    ++lives_;
    host_.emplace(host_options(), store_, transport_, clock_, [] {});
    api_.emplace(api_options(), *host_, clock_);
    handler_ = api_->handler();
    settle();
  }

  void check_records() const {
    const std::map<std::string, std::string> contents = store_.contents();
    const rocks::Records records(contents.begin(), contents.end());
    CheckReport report;
    rocks::check_records(rocks::source_of(records, lives_), report);
    for (const std::string& line : report.damage) std::fprintf(stderr, "%s\n", line.c_str());
    POSTRIDER_CHECK(report.whole());
  }

  void settle() {
    for (int i = 0; i < kTurnsMax; ++i) host_->turn();
  }

  void pass(Duration time) {
    clock_.now.boot = clock_.now.boot + time;
    clock_.now.wall = clock_.now.wall + time;
    settle();
    api_->tick();
    settle();
  }

  void answer_attempts(int status) {
    for (const AttemptId attempt : std::exchange(transport_.open, {})) {
      WireReply reply;
      reply.end = status < 100 ? static_cast<WireEnd>(status % 8) : WireEnd::kAnswered;
      reply.status = status;
      host_->attempt_ended(attempt, std::move(reply));
    }
    settle();
  }

  void check(const Wanted& wanted, const FuzzExchange& exchange) {
    POSTRIDER_CHECK(host_->state() == Host::State::kRunning);
    if (!exchange.answer) {
      // It waits for the far side, which has not answered.
      POSTRIDER_CHECK(!transport_.open.empty());
      return;
    }
    const HttpResponse& answer = *exchange.answer;
    POSTRIDER_CHECK(answer.status >= 200 && answer.status < 600 && answer.status != 500);
    const bool json = answer.content_type.find("json") != std::string::npos &&
                      answer.content_type.find("ndjson") == std::string::npos;
    if (!json || answer.body.empty() || wanted.method == "HEAD") return;
    json::JsonDocument document;
    POSTRIDER_CHECK(document.parse(answer.body, {}).has_value());
    const std::string_view body = answer.body;
    remember(body, body.find(kId), kId, id_);
    if (wanted.target.starts_with("/v1/jobs")) remember(body, body.find(kId), kId, job_);
    // That of the page is the last one; each row may have one, too: what happens to it next.
    remember(body, body.rfind(kNext), kNext, next_);
  }

  static void remember(std::string_view body, std::size_t at, std::string_view name,
                       std::string& into) {
    if (at == std::string_view::npos) return;
    body.remove_prefix(at + name.size());
    into = body.substr(0, body.find('"'));
  }

  void fill(std::string& text) const {
    const std::array<std::pair<std::string_view, const std::string*>, 3> words = {
        {{"$id", &id_}, {"$job", &job_}, {"$next", &next_}}};
    for (const auto& [word, value] : words) {
      for (std::size_t at = text.find(word); at != std::string::npos;
           at = text.find(word, at + value->size()))
        text.replace(at, word.size(), *value);
    }
  }

  FuzzClock clock_;
  MemoryStore store_{{.remember_once = true}};
  FuzzTransport transport_;
  std::optional<Host> host_;
  std::optional<HttpApi> api_;
  HttpHandler handler_;
  std::uint64_t lives_ = 0;
  std::vector<std::shared_ptr<FuzzExchange>> exchanges_;
  std::string id_ = "00000000000000000000000000000000";
  std::string job_ = "0000000000000000";
  std::string next_;
};

}  // namespace
}  // namespace postrider

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  postrider::Rig rig;
  for (std::size_t i = 0; i < postrider::kRequestsMax && !bytes.empty(); ++i)
    rig.ask(postrider::read_wanted(postrider::take(bytes, '\0')));
  rig.crash();
  return 0;
}
