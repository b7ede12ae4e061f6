#include "postrider/api/http_api_testing.h"

#include <boost/json.hpp>

#include "postrider/api/router.h"
#include "postrider/model/records/keys.h"
#include "postrider/profiles/all.h"
#include "postrider/protocols/device/ulid.h"

namespace postrider::api {
namespace {

constexpr int kTurnsMax = 50;
constexpr std::size_t kRoomBytes = 65'536;

}  // namespace

Result<Epoch> RigStore::acquire(std::uint32_t shard) {
  if (closed) return fail(ErrorCode::kLimit, "the disk is full");
  return inner.acquire(shard);
}

void RigStore::commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) {
  if (next_outcome != CommitOutcome::kDurable)
    return done(std::exchange(next_outcome, CommitOutcome::kDurable));
  if (!held) return inner.commit(epoch, std::move(batch), std::move(done));
  late_.emplace_back([this, epoch, batch = std::move(batch), done = std::move(done)] {
    inner.commit(epoch, batch, done);
  });
}

void RigStore::release() {
  held = false;
  for (auto& one : std::exchange(late_, {})) one();
}

void RigExchange::respond(HttpResponse answer) {
  EXPECT_FALSE(response.has_value()) << "two answers";
  EXPECT_FALSE(begun) << "an answer after a beginning";
  response = std::move(answer);
}

void RigExchange::begin(HttpResponse head) {
  respond(std::move(head));
  begun = true;
}

bool RigExchange::write(std::string_view piece) {
  EXPECT_TRUE(begun && !ended);
  if (left || refuses) return false;
  text.append(piece);
  return true;
}

void RigExchange::when_room(std::function<void()> call) {
  EXPECT_FALSE(room) << "two who wait for room";
  if (!left) room = std::move(call);
}

bool RigExchange::offer_room() {
  if (!room || left || unsent() > kRoomBytes) return false;
  std::exchange(room, {})();
  return true;
}

void RigExchange::pause() {
  EXPECT_FALSE(paused);
  paused = true;
  ++pauses;
}

void RigExchange::resume() {
  EXPECT_TRUE(paused);
  paused = false;
}

std::string Reply::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

bool Reply::has(std::string_view name) const {
  const boost::json::value value = json();
  return value.is_object() && value.as_object().contains(name);
}

boost::json::value Reply::json() const {
  boost::system::error_code bad;
  boost::json::value value = boost::json::parse(body, bad);
  EXPECT_FALSE(bad) << body;
  return value;
}

std::string Reply::text(std::string_view field) const {
  const boost::json::value value = json();
  const auto* object = value.if_object();
  const auto* found = object == nullptr ? nullptr : object->if_contains(field);
  if (found == nullptr) return {};
  return found->is_string() ? std::string(found->as_string()) : boost::json::serialize(*found);
}

std::int64_t Reply::number(std::string_view field) const { return std::stoll(text(field)); }

std::string Reply::problem() const {
  constexpr std::string_view kPrefix = kProblemPrefix;
  if (content_type != "application/problem+json") return {};
  const std::string type = text("type");
  return type.starts_with(kPrefix) ? type.substr(kPrefix.size()) : type;
}

namespace {

// Whether a word of the length begins with `prefix` somewhere in the text.
bool has_word(std::string_view text, std::string_view prefix, std::size_t length,
              std::string_view digits) {
  for (std::size_t at = text.find(prefix); at != text.npos; at = text.find(prefix, at + 1)) {
    const std::string_view word = text.substr(at, length);
    if (word.size() == length && word.find_first_not_of(digits) == word.npos) return true;
  }
  return false;
}

}  // namespace

ApiRig::ApiRig() {
  host_options.shard.engine.id_key = {0xA9, 0x1B};
  host_options.shard.engine.profiles = all_profiles();
  options.profiles = all_profiles();
  options.version = "1.2.3";
}

ApiRig::~ApiRig() {
  std::string all = everything_said;
  for (const auto& exchange : exchanges_) all.append(exchange->text).append("\n");
  for (const RigTransport::Started& one : transport.started) {
    const WireRequest& request = one.request;
    all.append(request.target).append("\n").append(request.headers.text()).append("\n");
    all.append(request.body).append("\n");
  }
  expect_no_address(all);
  // An exchange that waits for room is held by what waits.
  for (const auto& exchange : exchanges_) exchange->room = {};
}

// The address of a message begins with the number of its destination, as hexadecimal digits and as
// a ULID.
void ApiRig::expect_no_address(std::string_view text) const {
  for (const auto& [key, value] : store.inner.contents()) {
    const auto id = key[0] == keys::kConfig ? keys::parse_destination(key) : std::nullopt;
    if (!id) continue;
    EXPECT_FALSE(has_word(text, to_string(*id), 32, "0123456789abcdef")) << to_string(*id);
    const std::string ulid = device::to_ulid(id->value() << 20, 0).substr(0, 9);
    EXPECT_FALSE(has_word(text, ulid, device::kUlidDigits, "0123456789ABCDEFGHJKMNPQRSTVWXYZ"))
        << ulid;
  }
}

void ApiRig::open() {
  api.reset();
  host.reset();
  host = std::make_unique<Host>(host_options, store, transport, clock, [] {});
  if (make_doors) options.doors = make_doors();
  std::vector<OpenapiPart> parts;
  for (const auto& door : options.doors) parts.push_back(door->openapi());
  checker.emplace(parts);
  api = std::make_unique<HttpApi>(options, *host, clock);
  options.doors.clear();  // the API keeps them
  handler = api->handler();
  settle();
}

void ApiRig::settle() {
  bool more = true;
  while (more) {
    more = false;
    for (int i = 0; i < kTurnsMax; ++i) host->turn();
    for (std::size_t i = 0; i < exchanges_.size(); ++i) more = exchanges_[i]->offer_room() || more;
  }
}

std::shared_ptr<RigExchange> ApiRig::make_exchange() {
  auto exchange = std::make_shared<RigExchange>();
  exchange->memory = memory;
  exchanges_.push_back(exchange);
  return exchange;
}

void ApiRig::pass(Duration time) {
  clock.now.boot = clock.now.boot + time;
  clock.now.wall = clock.now.wall + time;
  settle();
  api->tick();
  settle();
}

std::shared_ptr<RigExchange> ApiRig::send(const RigRequest& request) {
  auto exchange = make_exchange();
  HttpRequest http;
  http.method = request.method;
  http.target = request.target;
  http.body = request.body;
  http.peer = request.local ? "unix" : "127.0.0.1";
  http.local = request.local;
  for (const auto& [name, value] : request.headers) http.headers.emplace_back(name, value);
  if (!request.body.empty() && http.header("content-type").empty())
    http.headers.emplace_back("content-type", "application/json");
  handler.handle(http, exchange);
  return exchange;
}

Reply ApiRig::reply_of(const RigRequest& request, const RigExchange& exchange) {
  Reply reply;
  EXPECT_TRUE(exchange.response.has_value()) << request.method << " " << request.target;
  if (!exchange.response) return reply;
  const HttpResponse& response = *exchange.response;
  reply = {response.status, response.content_type, response.headers,
           exchange.begun ? exchange.text : response.body};
  everything_said.append(reply.body).append("\n");
  for (const auto& [name, value] : reply.headers)
    everything_said.append(name + ": " + value + "\n");
  EXPECT_EQ(reply.header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(reply.header("Cache-Control"), "no-store");
  const std::string path = request.target.substr(0, request.target.find('?'));
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  const auto routed = find_route(api->routes(), method, path);
  if (routed && !exchange.begun) {
    EXPECT_EQ(checker->check(method, api->routes()[routed->route].pattern, reply.status,
                             reply.content_type, reply.body),
              "")
        << request.method << " " << request.target << "\n"
        << reply.body;
  } else if (!exchange.begun) {
    EXPECT_EQ(checker->check_schema("Problem", reply.body), "") << reply.body;
  }
  return reply;
}

Reply ApiRig::call(const RigRequest& request) {
  const auto exchange = send(request);
  settle();
  return reply_of(request, *exchange);
}

Reply ApiRig::get(const std::string& target, RigHeaders headers) {
  return call({"GET", target, {}, std::move(headers)});
}
Reply ApiRig::post(const std::string& target, const std::string& body, RigHeaders headers) {
  return call({"POST", target, body, std::move(headers)});
}
Reply ApiRig::put(const std::string& target, const std::string& body, RigHeaders headers) {
  return call({"PUT", target, body, std::move(headers)});
}
Reply ApiRig::patch(const std::string& target, const std::string& body, RigHeaders headers) {
  return call({"PATCH", target, body, std::move(headers)});
}
Reply ApiRig::remove(const std::string& target, RigHeaders headers) {
  return call({"DELETE", target, {}, std::move(headers)});
}

ApiRig::Stream ApiRig::stream(RigHeaders headers, const std::string& target) {
  Stream out;
  out.exchange = make_exchange();
  headers.emplace_back("content-type", "application/x-ndjson");
  HttpRequest http;
  http.method = "POST";
  http.target = target;
  for (const auto& [name, value] : headers) http.headers.emplace_back(name, value);
  out.sink = handler.stream(http, out.exchange);
  EXPECT_TRUE(out.sink);
  return out;
}

std::vector<std::string> ApiRig::Stream::lines() const {
  std::vector<std::string> lines;
  std::string_view rest = exchange->text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

void ApiRig::answer(AttemptId attempt, int status) {
  WireReply reply;
  reply.status = status;
  host->attempt_ended(attempt, std::move(reply));
  settle();
}

void ApiRig::answer_last(int status) {
  ASSERT_FALSE(transport.started.empty());
  answer(transport.started.back().attempt, status);
}

void ApiRig::make_destination(const std::string& name, const std::string& more_settings) {
  const Reply reply = put("/v1/destinations/" + name,
                          R"({"profile":"webhook","settings":{"url":"https://)" + name +
                              R"(.example/hook","jitter_percent":0)" + more_settings + "}}");
  ASSERT_EQ(reply.status, 200) << reply.body;
}

std::string ApiRig::submit(const std::string& destination) {
  const Reply reply =
      post("/v1/messages", R"({"destination":")" + destination + R"(","body":{"n":1}})");
  EXPECT_EQ(reply.status, 202) << reply.body;
  return reply.text("id");
}

std::string ApiRig::dead_letter(const std::string& destination) {
  const std::string id = submit(destination);
  answer_last(400);
  return id;
}

}  // namespace postrider::api
