// ApiRig: the API over a real host, engine and profile, with a memory store, a transport that
// writes down what it is told, and a clock that stands where the test puts it. Every answer is held
// against /openapi.json; and neither an answer nor a request may show the address of a message.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>
#include <gtest/gtest.h>

#include "postrider/api/http_api.h"
#include "postrider/api/openapi_testing.h"
#include "postrider/model/seams/clock.h"
#include "postrider/model/seams/transport.h"
#include "postrider/runtime/host.h"
#include "postrider/servers/http/http_server.h"
#include "postrider/stores/memory.h"

namespace postrider::api {

class RigClock final : public Clock {
 public:
  Instant read() const override { return now; }
  Instant now{Timestamp(1'000'000), Timestamp(1'800'000'000'000)};
};

class RigTransport final : public Transport {
 public:
  struct Started {
    AttemptId attempt;
    WireRequest request;
  };
  void start(AttemptId attempt, WireRequest request) override {
    started.push_back({attempt, std::move(request)});
  }
  void abort(AttemptId /*attempt*/) override {}
  std::vector<Started> started;
};

// The memory store, but it can hold commits back, or fail one.
class RigStore final : public Store {
 public:
  Result<Epoch> acquire(std::uint32_t shard) override;
  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override;
  void read(const Reads& reads, ReadDone done) override { inner.read(reads, std::move(done)); }
  void release();

  MemoryStore inner;
  CommitOutcome next_outcome = CommitOutcome::kDurable;
  bool closed = false;  // acquire says that the disk is full
  bool held = false;

 private:
  std::deque<std::function<void()>> late_;
};

// What a client would see.
class RigExchange final : public HttpExchange {
 public:
  void respond(HttpResponse response) override;
  void begin(HttpResponse head) override;
  bool write(std::string_view piece) override;
  void end() override { ended = true; }
  bool gone() const override { return left; }
  bool parted() const override { return left || closed; }
  std::size_t unsent() const override { return reads ? 0 : text.size() - taken; }
  void when_room(std::function<void()> call) override;
  bool has_room(std::size_t bytes) const override { return bytes <= memory; }
  void keep(std::size_t bytes) override { kept = bytes; }
  void pause() override;
  void resume() override;
  bool offer_room();  // calls what waits for it, if the client takes what it is sent

  std::optional<HttpResponse> response;
  std::string text;  // of a long answer
  std::size_t taken = 0;
  std::size_t memory = SIZE_MAX;  // that the server has left
  std::size_t kept = 0;
  std::function<void()> room;
  bool begun = false;
  bool ended = false;
  bool left = false;     // the client has gone
  bool closed = false;   // the client has closed its side
  bool reads = true;     // the client takes what it is sent
  bool refuses = false;  // write() says that the client is too slow
  bool paused = false;
  int pauses = 0;
};

struct Reply {
  int status = 0;
  std::string content_type;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  std::string header(std::string_view name) const;  // empty: it has none
  bool has(std::string_view name) const;
  boost::json::value json() const;
  std::string text(std::string_view field) const;  // of the JSON object; empty: it has none
  std::int64_t number(std::string_view field) const;
  std::string problem() const;  // the name of its type; empty: it is none
};

using RigHeaders = std::vector<std::pair<std::string, std::string>>;

struct RigRequest {
  std::string method;
  std::string target;
  std::string body;
  RigHeaders headers;  // names in lower case; a body gets its content type by itself
  bool local = false;
};

// "token-submit", "token-read", "token-operate", each with that scope, and "token-nothing".
std::vector<AccessToken> rig_tokens();

class ApiRig : public ::testing::Test {
 protected:
  ApiRig();
  ~ApiRig() override;

  void open();  // with the options as they are now; SetUp does it
  void SetUp() override { open(); }

  std::shared_ptr<RigExchange> send(const RigRequest& request);  // and does not wait
  Reply reply_of(const RigRequest& request, const RigExchange& exchange);
  Reply call(const RigRequest& request);
  Reply get(const std::string& target, RigHeaders headers = {});
  Reply post(const std::string& target, const std::string& body = {}, RigHeaders headers = {});
  Reply put(const std::string& target, const std::string& body, RigHeaders headers = {});
  Reply patch(const std::string& target, const std::string& body, RigHeaders headers = {});
  Reply remove(const std::string& target, RigHeaders headers = {});

  // A streamed body in one or several pieces; `last` ends it.
  struct Stream {
    std::shared_ptr<RigExchange> exchange;
    HttpBodySink sink;
    std::vector<std::string> lines() const;
  };
  Stream stream(RigHeaders headers = {}, const std::string& target = "/v1/messages");

  // What holds for every route that is open; in route_checks_testing.cc.
  void expect_described();   // the description has exactly the routes, with their parameters
  void expect_documented();  // docs/http-api.md names each
  // With rig_tokens(): each route takes exactly the tokens with one of the scopes that `wanted`
  // says
  // ("open", "any" or names; empty: not looked at). `open_status` is the answer of an open route.
  void expect_scopes(const std::function<std::string(const RouteRow&)>& wanted,
                     const std::function<int(const RouteRow&)>& open_status);

  void settle();  // everything that can happen now
  void pass(Duration time);
  void answer(AttemptId attempt, int status);
  void answer_last(int status);  // the attempt that was started last
  void make_destination(const std::string& name, const std::string& more_settings = {});
  std::string submit(const std::string& destination);  // the id
  std::string dead_letter(const std::string& destination);

  RigClock clock;
  RigStore store;
  RigTransport transport;
  HostOptions host_options;
  HttpApiOptions options;
  // Doors of the next open(); a door belongs to one API, so each gets its own.
  std::function<std::vector<std::shared_ptr<HttpDoor>>()> make_doors;
  std::unique_ptr<Host> host;
  std::unique_ptr<HttpApi> api;
  HttpHandler handler;
  std::size_t memory = SIZE_MAX;          // that the server has left for new requests
  std::optional<OpenapiChecker> checker;  // of what is open
  std::string everything_said;            // all bytes of all answers

 private:
  void expect_no_address(std::string_view text) const;
  std::shared_ptr<RigExchange> make_exchange();
  std::vector<std::shared_ptr<RigExchange>> exchanges_;
};

}  // namespace postrider::api
