// What the API itself costs per message, without sockets and without a disk: POST /v1/messages and
// lines of NDJSON of 512 bytes to a paused destination, over the memory store.
//
//   http_api_bench [--messages N] [--keyed] [--tokens]
//   valgrind --tool=callgrind build/release/bench/http_api_bench --messages 5000
#include "postrider/api/http_api.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/profiles/all.h"
#include "postrider/stores/memory.h"

namespace postrider {
namespace {

class StillClock final : public Clock {
 public:
  Instant read() const override { return {Timestamp(1'000'000), Timestamp(1'800'000'000'000)}; }
};

class NoTransport final : public Transport {
 public:
  void start(AttemptId /*attempt*/, WireRequest /*request*/) override {}
  void abort(AttemptId /*attempt*/) override {}
};

class CountingExchange final : public HttpExchange {
 public:
  void respond(HttpResponse response) override {
    POSTRIDER_CHECK(response.status < 300);
    ++answers;
  }
  void begin(HttpResponse /*head*/) override {}
  bool write(std::string_view piece) override {
    bytes += piece.size();
    return true;
  }
  void end() override { ++answers; }
  bool gone() const override { return false; }
  std::size_t unsent() const override { return 0; }
  void when_room(std::function<void()> call) override { call(); }
  bool has_room(std::size_t /*bytes*/) const override { return true; }
  void keep(std::size_t /*bytes*/) override {}
  void pause() override {}
  void resume() override {}
  std::uint64_t answers = 0;
  std::uint64_t bytes = 0;
};

double seconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

struct Rig {
  explicit Rig(bool tokens) {
    HostOptions host_options;
    host_options.shard.engine.profiles = all_profiles();
    host = std::make_unique<Host>(host_options, store, transport, clock, [] {});
    HttpApiOptions options;
    options.profiles = all_profiles();
    if (tokens)
      options.tokens = {{.name = "a", .tenant = "a", .secret = "token-a", .may_submit = true}};
    api = std::make_unique<HttpApi>(std::move(options), *host, clock);
    handler = api->handler();
    turn();
    Configure configure;
    configure.config = {
        .name = "shop", .profile = "webhook", .settings = {{"url", "https://shop.example/hook"}}};
    host->post("t", std::move(configure), [](const Answer&) {});
    host->post("t", Pause{.destination = "shop"}, [](const Answer&) {});
    turn();
  }
  void turn() {
    for (int i = 0; i < 3; ++i) host->turn();
  }
  StillClock clock;
  MemoryStore store;
  NoTransport transport;
  std::unique_ptr<Host> host;
  std::unique_ptr<HttpApi> api;
  HttpHandler handler;
};

std::string message() {
  return R"({"destination":"shop","body":{"type":"order.created","text":")" +
         std::string(460, 'x') + "\"}}";
}

void post_all(Rig& rig, int messages, bool keyed, bool tokens) {
  const std::string body = message();
  const auto exchange = std::make_shared<CountingExchange>();
  double in_api = 0;
  for (int i = 0; i < messages;) {
    const double begin = seconds();
    for (int group = 0; group < 64; ++group, ++i) {
      const std::string key = "key-" + std::to_string(i);
      HttpRequest request;
      request.method = "POST";
      request.target = "/v1/messages";
      request.body = body;
      request.headers = {{"host", "127.0.0.1:8460"},
                         {"user-agent", "bench/1"},
                         {"accept", "*/*"},
                         {"content-type", "application/json"},
                         {"content-length", "530"}};
      if (keyed) request.headers.emplace_back("idempotency-key", key);
      if (tokens) request.headers.emplace_back("authorization", "Bearer token-a");
      rig.handler.handle(request, exchange);
    }
    in_api += seconds() - begin;
    rig.turn();
  }
  std::printf("POST: %d messages, %.2f us each up to the host's door, %llu answers\n", messages,
              in_api * 1e6 / messages, static_cast<unsigned long long>(exchange->answers));
}

void stream_all(Rig& rig, int messages) {
  const std::string line = message() + "\n";
  const auto exchange = std::make_shared<CountingExchange>();
  HttpRequest request;
  request.method = "POST";
  request.target = "/v1/messages";
  request.headers = {{"content-type", "application/x-ndjson"}};
  const HttpBodySink sink = rig.handler.stream(request, exchange);
  if (!sink) return;
  std::string piece;
  for (int i = 0; i < 64; ++i) piece += line;
  double in_api = 0;
  for (int i = 0; i < messages; i += 64) {
    const double begin = seconds();
    sink(piece, false);
    in_api += seconds() - begin;
    rig.turn();
  }
  sink("", true);
  std::printf("NDJSON: %.2f us each up to the host's door, %llu bytes of answers\n",
              in_api * 1e6 / messages, static_cast<unsigned long long>(exchange->bytes));
}

}  // namespace
}  // namespace postrider

int main(int argc, char** argv) {
  int messages = 64'000;
  bool keyed = false;
  bool tokens = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--messages") == 0 && i + 1 < argc) messages = std::atoi(argv[i + 1]);
    keyed = keyed || std::strcmp(argv[i], "--keyed") == 0;
    tokens = tokens || std::strcmp(argv[i], "--tokens") == 0;
  }
  postrider::Rig rig(tokens);
  postrider::post_all(rig, messages, keyed, tokens);
  if (!tokens) postrider::stream_all(rig, messages);
  return 0;
}
