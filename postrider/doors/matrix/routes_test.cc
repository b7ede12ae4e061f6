// The door as the daemon opens it: listener, signs of life and mirrored requests over a real engine
// and real sockets.
#include "postrider/doors/matrix/routes.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "postrider/api/http_api_testing.h"
#include "postrider/doors/matrix/rig_testing.h"
#include "postrider/profiles/matrix/lanes.h"
#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/vectors_testing.h"

namespace postrider::matrix_door {
namespace {

constexpr const char* kFar = "matrix:far.example";

class Wires final : public WireRig {
 private:
  struct Nothing final : Transport {
    void start(AttemptId /*attempt*/, WireRequest /*request*/) override {}
    void abort(AttemptId /*attempt*/) override {}
  };
  Transport& tested() override { return nothing_; }
  void sweep() override {}
  Nothing nothing_;
};

class MatrixDoor : public api::ApiRig {
 protected:
  MatrixDoor() {
    std::string pattern = testing::TempDir() + "postrider_matrix_XXXXXX";
    directory = mkdtemp(pattern.data());
    config.server_name = kRigName;
    config.trust_file = write("trust.pem", rig_authority().pem());
    make_doors = [this] {
      door = std::make_shared<MatrixRoutes>(config);
      return std::vector<std::shared_ptr<api::HttpDoor>>{door};
    };
  }
  // The door stands on the wires, so it goes first.
  ~MatrixDoor() override {
    api.reset();
    door.reset();
    std::filesystem::remove_all(directory);
  }

  std::string write(const std::string& name, std::string_view text) const {
    const std::string path = directory + "/" + name;
    std::ofstream(path) << text;
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path;
  }
  Result<std::vector<std::string>> listen() {
    open();
    HttpTransportOptions transport_options;
    transport_options.allow = {"127.0.0.0/8"};
    transport_options.name_servers = {wires.names.address()};
    return door->listen(
        {.loop = wires.loop, .clock = clock, .limits = {}, .transport = transport_options});
  }
  std::string problem_of_listening() {
    const auto addresses = listen();
    return addresses ? "" : addresses.error().detail;
  }
  void with_egress() {
    config.egress = "unix:" + directory + "/egress";
    config.secret_file = write("secret", std::string(kRigSecret) + "\n");
  }

  void make_template() {
    const api::Reply made =
        put("/v1/destinations/matrix:*",
            R"({"profile":"matrix","settings":{"server_name":"us.example","key":"k"}})");
    ASSERT_EQ(made.status, 200) << made.body;
  }
  // So that events leave.
  void secrets_for_events() {
    auto secrets = std::make_shared<Secrets>();
    secrets->put("k", std::string(matrix::kVectorKeyFile));
    host_options.shard.engine.secrets = std::move(secrets);
  }
  std::int64_t accepted() {
    return get("/v1/stats").json().at("conservation").at("accepted").to_number<std::int64_t>();
  }
  DestinationView view_of(const std::string& name) {
    DestinationView view;
    Query query;
    query.what = Query::What::kDestination;
    query.destination = name;
    const Door opened = host->post({}, std::move(query), [&](Answer answer) {
      if (auto* found = std::get_if<DestinationView>(&answer.view)) view = std::move(*found);
    });
    EXPECT_EQ(opened, Door::kOpen);
    settle();
    return view;
  }
  // A destination of this name whose route is closed.
  void make_closed(const std::string& name) {
    const api::Reply made = put(
        "/v1/destinations/" + name,
        R"({"profile":"webhook","settings":{"url":"https://hook.example/","jitter_percent":0}})");
    ASSERT_EQ(made.status, 200) << made.body;
    for (int i = 0; i < 40 && !view_of(name).route.closed_until.is_set(); ++i) {
      submit(name);
      answer_last(503);
    }
    ASSERT_TRUE(view_of(name).route.closed_until.is_set());
  }
  // Until an answer is there; engine and wires take turns.
  api::Reply wait_for(const api::RigRequest& request) {
    const auto exchange = send(request);
    wires.until([&] {
      settle();
      return exchange->response.has_value();
    });
    return reply_of(request, *exchange);
  }

  Wires wires;
  std::string directory;
  MatrixConfig config;
  std::shared_ptr<MatrixRoutes> door;
};

// req: matrix.egress.1
TEST_F(MatrixDoor, ListensOnlyWithASecretOfItsOwn) {
  config.egress = "127.0.0.1:0";
  EXPECT_NE(problem_of_listening().find("without a secret it does not open"), std::string::npos);
  config.secret_file = directory + "/none";
  EXPECT_NE(problem_of_listening().find("matrix.secret_file"), std::string::npos);
  config.secret_file = write("short", "short");
  EXPECT_NE(problem_of_listening().find("must have 16 to 1024 bytes"), std::string::npos);
  config.secret_file = write("secret", kRigSecret);
  std::filesystem::permissions(config.secret_file, std::filesystem::perms::all);
  EXPECT_NE(problem_of_listening().find("chmod 600"), std::string::npos);
  std::filesystem::permissions(config.secret_file, std::filesystem::perms::owner_read);
  const auto addresses = listen();
  ASSERT_TRUE(addresses) << addresses.error().detail;
  EXPECT_EQ(addresses->size(), 1U);
  EXPECT_TRUE(addresses->front().starts_with("127.0.0.1:"));
}

// req: matrix.egress.1
TEST_F(MatrixDoor, WithoutAnEgressDoesNotListen) {
  const auto addresses = listen();
  ASSERT_TRUE(addresses);
  EXPECT_TRUE(addresses->empty());
  EXPECT_EQ(door->connections(), 0U);
}

TEST_F(MatrixDoor, SaysWhatIsWrongWithItsAddress) {
  with_egress();
  config.egress = "nonsense";
  EXPECT_TRUE(problem_of_listening().starts_with("matrix.egress: ")) << problem_of_listening();
}

// Through the listener, the engine's word on the server, and the wire.
// req: matrix.egress.6, matrix.wake.6
TEST_F(MatrixDoor, ARelayedSuccessOfAClosedServerIsASignOfLife) {
  with_egress();
  FarServer far(wires, "far.example", always(postrider::answer(200, "{}")));
  const auto addresses = listen();
  ASSERT_TRUE(addresses) << addresses.error().detail;
  make_closed("matrix:" + far.name());
  EXPECT_FALSE(view_of("matrix:" + far.name()).route.seen_at.is_set());
  RawClient client(addresses->front());
  ASSERT_TRUE(client.send("GET matrix-federation://" + far.name() +
                          "/_matrix/key/v2/server HTTP/1.1\r\nHost: x\r\n" +
                          EgressRig::secret_line() + "\r\n"));
  std::optional<HttpReply> reply;
  wires.until([&] {
    settle();
    client.receive();
    reply = take_reply(client.received);
    return reply.has_value();
  });
  EXPECT_EQ(reply->status, 200);
  settle();
  EXPECT_TRUE(view_of("matrix:" + far.name()).route.seen_at.is_set());
  EXPECT_EQ(door->relays()->counts().answered, 1U);
  EXPECT_EQ(door->connections(), 1U);
  door->stop_listening();
  EXPECT_EQ(door->connections(), 0U);
}

// req: matrix.egress.9
TEST_F(MatrixDoor, ATransactionThatIsNoneOfOursIsRefused) {
  with_egress();
  const auto addresses = listen();
  ASSERT_TRUE(addresses) << addresses.error().detail;
  const auto put_transaction = [&](const std::string& body) {
    RawClient client(addresses->front());
    EXPECT_TRUE(client.send(
        "PUT matrix-federation://far.example/_matrix/federation/v1/send/1 "
        "HTTP/1.1\r\nHost: x\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n" + EgressRig::secret_line() + "\r\n" + body));
    std::optional<HttpReply> reply;
    wires.until([&] {
      settle();
      client.receive();
      reply = take_reply(client.received);
      return reply.has_value();
    });
    return reply->status;
  };
  EXPECT_EQ(put_transaction(R"({"origin":"other.example","pdus":[]})"), 403);
  EXPECT_EQ(put_transaction("{"), 400);
  EXPECT_FALSE(view_of(kFar).id.value() != 0) << "no destination was made";
}

// req: matrix.seen.1
TEST_F(MatrixDoor, ATokenMaySayThatAServerIsAlive) {
  options.tokens = api::rig_tokens();
  open();
  const api::RigHeaders operate = {{"authorization", "Bearer token-operate"}};
  EXPECT_EQ(post("/v1/matrix/seen/far.example", "", operate).status, 404);
  EXPECT_EQ(put("/v1/destinations/" + std::string(kFar),
                R"({"profile":"webhook","settings":{"url":"https://hook.example/"}})", operate)
                .status,
            200);
  EXPECT_EQ(post("/v1/matrix/seen/far.example", "", {}).status, 401);
  EXPECT_FALSE(view_of(kFar).route.seen_at.is_set());
  EXPECT_EQ(post("/v1/matrix/seen/far.example", "", operate).status, 204);
  settle();
  EXPECT_TRUE(view_of(kFar).route.seen_at.is_set());
  EXPECT_EQ(post("/v1/matrix/seen/far.example:0", "", operate).problem(), "invalid-parameter");
}

// As a reverse proxy mirrors it; the server's keys are fetched from the server.
// req: matrix.seen.2, matrix.seen.3
TEST_F(MatrixDoor, AMirroredRequestOfAClosedServerIsVerified) {
  ASSERT_TRUE(listen());
  matrix::Seed seed{};
  const matrix::SigningKey key = matrix::SigningKey::make("ed25519:a", seed);
  std::string name;
  int fetches = 0;
  FarServer far(wires, "far.example", [&](Link& link) -> Task {
    const std::string request = co_await link.request();
    if (request.starts_with("GET /_matrix/key/v2/server ")) ++fetches;
    co_await link.write(postrider::answer(
        200, matrix::write_key_object(name, clock.now.wall + Duration(3'600'000), key)));
    co_await link.gone();
  });
  name = far.name();
  make_closed("matrix:" + name);
  const matrix::RequestWords words{.method = "PUT",
                                   .uri = "/_matrix/federation/v1/send/1",
                                   .origin = name,
                                   .destination = kRigName};
  const auto mirrored = [&](const std::string& body) {
    return api::RigRequest{
        .method = "POST",
        .target = "/v1/matrix/inbound",
        .body = body,
        .headers = {{"x-original-method", "PUT"},
                    {"x-original-uri", std::string(words.uri)},
                    {"authorization",
                     matrix::authorization_of(
                         words, key.id(), key.sign(matrix::signed_request(words, R"({"a":1})")))}}};
  };
  const api::Reply forged = wait_for(mirrored(R"({"a":2})"));
  EXPECT_EQ(forged.status, 401) << forged.body;
  EXPECT_EQ(fetches, 1);
  EXPECT_FALSE(view_of("matrix:" + name).route.seen_at.is_set());
  EXPECT_EQ(wait_for(mirrored(R"({"a":1})")).status, 204);
  settle();
  EXPECT_TRUE(view_of("matrix:" + name).route.seen_at.is_set());
  EXPECT_EQ(fetches, 1);
  const std::string metrics = get("/metrics").body;
  EXPECT_NE(metrics.find("postrider_matrix_inbound_total{verdict=\"alive\"} 1\n"),
            std::string::npos);
  EXPECT_NE(metrics.find("postrider_matrix_inbound_total{verdict=\"forged\"} 1\n"),
            std::string::npos);
}

TEST_F(MatrixDoor, AMirrorSaysWhatItMirrors) {
  EXPECT_EQ(post("/v1/matrix/inbound", "{}").status, 404)
      << "no server name: nothing is signed for us";
  ASSERT_TRUE(listen());
  EXPECT_EQ(post("/v1/matrix/inbound", "{}").problem(), "bad-request");
  EXPECT_EQ(post("/v1/matrix/inbound", "{}", {{"x-original-method", "GET"}}).problem(),
            "bad-request");
  EXPECT_EQ(
      post("/v1/matrix/inbound", "{}", {{"x-original-method", "GET"}, {"x-original-uri", "/x"}})
          .status,
      401);
}

// req: api.auth.1
TEST_F(MatrixDoor, EachRouteNeedsItsScope) {
  options.tokens = api::rig_tokens();
  open();
  expect_scopes(
      [](const api::RouteRow& row) -> std::string {
        if (row.pattern == "/v1/matrix/inbound") return "open";
        if (row.pattern == "/v1/matrix/events" || row.pattern == "/v1/matrix/edus") return "submit";
        if (row.method == "GET" && row.pattern.starts_with("/v1/matrix/")) return "read";
        return row.pattern.starts_with("/v1/matrix/") ? "operate" : "";
      },
      [](const api::RouteRow& row) { return row.pattern == "/v1/matrix/inbound" ? 404 : 200; });
}

// req: api.openapi.1
std::string host_event(std::string_view text, std::string_view servers) {
  return R"({"event":{"auth_events":[],"content":{"body":")" + std::string(text) +
         R"("},"depth":7,"hashes":{"sha256":")" + std::string(text) +
         R"("},"origin_server_ts":1,"prev_events":["$p"],"room_id":"!r:us.example","sender":)"
         R"("@u:us.example","type":"m.room.message"},"servers":)" +
         std::string(servers) + R"(,"position":7})";
}

// req: matrix.host.1, matrix.fan.5, matrix.fan.6, matrix.dest.1
TEST_F(MatrixDoor, TakesEventsOfTheHostWithTheirServers) {
  open();
  const api::Reply made =
      put("/v1/destinations/matrix:*",
          R"({"profile":"matrix","settings":{"server_name":"us.example","key":"k"}})");
  ASSERT_EQ(made.status, 200) << made.body;
  const std::string body = R"({"events":[)" +
                           host_event("a", R"(["b.example","us.example","c.example"])") + "," +
                           host_event("b", R"(["us.example"])") + "]}";
  const api::Reply taken = post("/v1/matrix/events", body);
  ASSERT_EQ(taken.status, 202) << taken.body;
  EXPECT_NE(taken.body.find(R"("servers":2)"), std::string::npos) << taken.body;
  EXPECT_NE(taken.body.find("no other server is in the room"), std::string::npos) << taken.body;
  EXPECT_EQ(view_of("matrix:b.example").config.like, "matrix:*");
  EXPECT_EQ(view_of("matrix:c.example").config.like, "matrix:*");
  EXPECT_FALSE(view_of("matrix:us.example").id.is_set());
  EXPECT_EQ(accepted(), 2);
  EXPECT_EQ(post("/v1/matrix/events", body).status, 202);
  EXPECT_EQ(accepted(), 2) << "the same again adds nothing";
}

// req: matrix.host.1
TEST_F(MatrixDoor, RefusesCallsOfTheHostThatAreWrongAsAWhole) {
  open();
  const std::string good = host_event("a", R"(["b.example"])");
  std::string many = good;
  for (int i = 0; i < 100; ++i) many += "," + good;
  for (const std::string& body :
       {std::string("{}"), std::string(R"({"events":[]})"), R"({"events":[)" + many + "]}",
        R"({"events":[)" + good + R"(,{"event":{}}]})", R"({"events":[)" + good + R"(],"x":1})"}) {
    const api::Reply refused = post("/v1/matrix/events", body);
    EXPECT_EQ(refused.status, 400) << refused.body.substr(0, 300);
  }
  EXPECT_EQ(accepted(), 0);
}

// req: matrix.fan.5
TEST_F(MatrixDoor, KeepsAnEventOnceInTheCommitBeforeTheAnswer) {
  open();
  make_template();
  store.held = true;
  const auto exchange = send({"POST", "/v1/matrix/events",
                              R"({"events":[)" +
                                  host_event("a", R"(["b.example","c.example","d.example"])") +
                                  "]}",
                              {},
                              false});
  settle();
  EXPECT_FALSE(exchange->response.has_value()) << "nothing is durable yet";
  store.held = false;
  store.release();
  std::size_t times = 0;
  for (const auto& [key, value] : store.inner.contents()) {
    if (value.find("m.room.message") != std::string::npos) ++times;
  }
  EXPECT_EQ(times, 1U) << "one commit has the event once, for three servers";
  settle();
  ASSERT_TRUE(exchange->response.has_value());
  EXPECT_EQ(exchange->response->status, 202);
  EXPECT_EQ(accepted(), 3);
}

// A crash between the parts of a list, and the call again.
// req: matrix.fan.6
TEST_F(MatrixDoor, ARepeatedCallCompletesTheServersThatAreMissing) {
  open();
  make_template();
  std::string servers;
  for (int i = 0; i < 1'500; ++i)
    servers += (i == 0 ? "\"" : ",\"") + ("s" + std::to_string(i)) + ".example\"";
  const std::string body = R"({"events":[)" + host_event("a", "[" + servers + "]") + "]}";
  store.held = true;
  const auto cut = send({"POST", "/v1/matrix/events", body, {}, false});
  settle();
  store.release();  // the first part
  store.next_outcome = CommitOutcome::kFailed;
  settle();
  store.held = false;
  store.release();
  pass(5s);
  ASSERT_TRUE(cut->response.has_value());
  EXPECT_GE(cut->response->status, 500);
  EXPECT_EQ(accepted(), 1'000);
  EXPECT_EQ(post("/v1/matrix/events", body).status, 202);
  EXPECT_EQ(accepted(), 1'500) << "no server is served twice";
}

std::string host_unit(std::string_view edu, std::string_view servers, std::string_view more = "") {
  return R"({"edu":)" + std::string(edu) + R"(,"servers":)" + std::string(servers) +
         std::string(more) + "}";
}
constexpr std::string_view kTypingUnit =
    R"({"content":{"room_id":"!r:us.example","typing":true,"user_id":"@u:us.example"},)"
    R"("edu_type":"m.typing"})";

// req: matrix.host.2
TEST_F(MatrixDoor, TakesUnitsOfTheHostWithTheirServers) {
  open();
  make_template();
  const std::string presence =
      R"({"content":{"push":[{"presence":"online","user_id":"@u:us.example"},)"
      R"({"presence":"online","user_id":"@v:us.example"}]},"edu_type":"m.presence"})";
  const std::string unknown = R"({"content":{"x":1},"edu_type":"org.example.new"})";
  const api::Reply taken =
      post("/v1/matrix/edus",
           R"({"edus":[)" + host_unit(kTypingUnit, R"(["b.example","c.example","us.example"])") +
               "," + host_unit(presence, R"(["b.example"])", R"(,"urgent":true)") + "," +
               host_unit(unknown, R"(["b.example"])", R"(,"key":"k","expires_in":"5m")") + "," +
               host_unit(unknown, R"(["us.example"])") + "]}");
  ASSERT_EQ(taken.status, 202) << taken.body;
  const boost::json::value answer = taken.json();
  const auto& told = answer.at("edus").as_array();
  EXPECT_EQ(told.at(0).at("servers"), 2);
  EXPECT_EQ(told.at(1).at("values"), 2);
  EXPECT_EQ(told.at(3).at("why"), "no other server is named");
  EXPECT_EQ(accepted(), 5);
}

// req: matrix.host.2, matrix.edu.12
TEST_F(MatrixDoor, RefusesUnitsOfTheHostThatAreWrongAsAWhole) {
  open();
  make_template();
  const std::string good = host_unit(kTypingUnit, R"(["b.example"])");
  std::string many = good;
  for (int i = 0; i < 100; ++i) many += "," + good;
  const std::string to_device =
      R"({"content":{"message_id":"m","messages":{"@x:b.example":{"*":{}}},)"
      R"("sender":"@u:us.example","type":"t"},"edu_type":"m.direct_to_device"})";
  const std::string presences =
      R"({"content":{"push":[{"presence":"online","user_id":"@u:us.example"},)"
      R"({"presence":"online","user_id":"@v:us.example"}]},"edu_type":"m.presence"})";
  const std::string foreign =
      R"({"content":{"room_id":"!r:x","typing":true,"user_id":"@u:other.example"},)"
      R"("edu_type":"m.typing"})";
  for (const std::string& units :
       {std::string(), many, good + R"(,{"servers":["b.example"]})", good + ",17",
        host_unit(R"({"edu_type":"m.typing"})", R"(["b.example"])"),
        host_unit(R"({"content":{}})", R"(["b.example"])"), host_unit(kTypingUnit, R"(["-:0"])"),
        host_unit(kTypingUnit, R"("b.example")"),
        host_unit(kTypingUnit, R"(["b.example"])", R"(,"urgent":1)"),
        host_unit(kTypingUnit, R"(["b.example"])", R"(,"expires_in":"8d")"),
        host_unit(kTypingUnit, R"(["b.example"])", R"(,"expires_in":"0s")"),
        host_unit(kTypingUnit, R"(["b.example"])", R"(,"key":"")"),
        host_unit(kTypingUnit, R"(["b.example"])", R"(,"no":1)"),
        host_unit(presences, R"(["b.example"])", R"(,"key":"k")"),
        host_unit(to_device, R"(["b.example","c.example"])"),
        host_unit(foreign, R"(["b.example"])")}) {
    const api::Reply refused = post("/v1/matrix/edus", R"({"edus":[)" + units + "]}");
    EXPECT_EQ(refused.status, 400) << units.substr(0, 200) << "\n" << refused.body.substr(0, 300);
  }
  EXPECT_EQ(accepted(), 0);
  const std::string right = host_unit(to_device, R"(["b.example"])");
  EXPECT_EQ(post("/v1/matrix/edus", R"({"edus":[)" + right + "]}").status, 202);
}

std::map<std::string, std::string> states_in(const api::Reply& answer) {
  std::map<std::string, std::string> out;
  const boost::json::value json = answer.json();
  for (const auto& one : json.at("servers").as_array())
    out[std::string(one.at("server").as_string())] = std::string(one.at("state").as_string());
  return out;
}
using States = std::map<std::string, std::string>;

// req: matrix.obs.4
TEST_F(MatrixDoor, TellsWhichServersHaveAnEventOfTheHost) {
  secrets_for_events();
  open();
  make_template();
  const api::Reply taken =
      post("/v1/matrix/events",
           R"({"events":[)" + host_event("a", R"(["b.example","c.example","d.example"])") + "]}");
  ASSERT_EQ(taken.status, 202) << taken.body;
  const boost::json::value answer = taken.json();
  const std::string id(answer.at("events").at(0).at("event_id").as_string());
  const std::string path = "/v1/matrix/events/" + id;
  EXPECT_EQ(states_in(get(path)),
            (States{{"b.example", "owed"}, {"c.example", "owed"}, {"d.example", "owed"}}));
  for (const auto& started : transport.started) {
    AttemptEnded ended;
    const bool refuses = started.request.target.find("//d.") != std::string::npos;
    if (started.request.target.find("//c.") != std::string::npos) continue;
    WireReply reply;
    reply.status = 200;
    reply.body = refuses ? R"({"pdus":{")" + id + R"(":{"error":"no"}}})" : R"({"pdus":{}})";
    host->attempt_ended(started.attempt, std::move(reply));
  }
  settle();
  const api::Reply told = get(path);
  EXPECT_EQ(states_in(told),
            (States{{"b.example", "delivered"}, {"c.example", "owed"}, {"d.example", "refused"}}));
  EXPECT_EQ(told.text("found"), "ledger");
  EXPECT_EQ(told.json().at("complete"), true);
  EXPECT_NE(told.body.find(R"("reason":"no")"), std::string::npos) << told.body;
}

// As the egress hands them over: one message for a server, without a key in the ledger.
// req: matrix.obs.4
TEST_F(MatrixDoor, WalksOverWhatTheEgressTookInPages) {
  open();
  make_template();
  const auto event = [](int n) {
    return R"({"content":{"n":)" + std::to_string(n) +
           R"(},"depth":7,"hashes":{"sha256":"h"},"origin_server_ts":1,"prev_events":["$p"],)"
           R"("room_id":"!r)" + std::to_string(n % 3) +
           R"(:us.example","sender":"@u:us.example","type":"m.x"})";
  };
  for (int n = 0; n < 1'150; ++n) {
    Submit submit;
    submit.destination = "matrix:b.example";
    submit.lane = matrix::kEventLane;
    submit.body = event(n);
    ASSERT_EQ(host->post({}, std::move(submit), [](const Answer&) {}), Door::kOpen);
    if (n % 50 == 0) settle();
  }
  settle();
  const std::string last = matrix::event_ids(event(1'149)).front();
  const api::Reply first = get("/v1/matrix/events/" + last);
  EXPECT_EQ(first.text("found"), "walk");
  EXPECT_EQ(first.json().at("complete"), false) << "it says that it was cut";
  const api::Reply second = get("/v1/matrix/events/" + last + "?cursor=" + first.text("next"));
  EXPECT_EQ(second.json().at("complete"), true);
  States states = states_in(first);
  states.merge(states_in(second));
  EXPECT_EQ(states, (States{{"b.example", "owed"}}));

  std::map<std::string, std::int64_t> rooms;
  std::string cursor;
  for (int pages = 0; pages < 5; ++pages) {
    const api::Reply page =
        get("/v1/matrix/rooms/b.example" + (cursor.empty() ? "" : "?cursor=" + cursor));
    ASSERT_EQ(page.status, 200) << page.body;
    const boost::json::value json = page.json();
    for (const auto& room : json.at("rooms").as_array())
      rooms[std::string(room.at("room_id").as_string())] += room.at("events").to_number<int>();
    cursor = page.text("next");
    if (cursor.empty()) break;
  }
  EXPECT_EQ(rooms, (std::map<std::string, std::int64_t>{
                       {"!r0:us.example", 384}, {"!r1:us.example", 383}, {"!r2:us.example", 383}}));
}

TEST_F(MatrixDoor, AnswersQuestionsThatMakeNoSense) {
  open();
  make_template();
  const std::string long_id = "$" + std::string(255, 'x');
  for (const std::string& path :
       {std::string("events/x"), std::string("events/$"), "events/" + long_id,
        std::string("events/$a?cursor=!"), std::string("events/$a?cursor=78"),
        std::string("rooms/b.example?cursor=zz"), std::string("rooms/-:0"),
        std::string("events/$a?no=1")}) {
    const api::Reply refused = get("/v1/matrix/" + path);
    EXPECT_EQ(refused.status, 400) << path << refused.body;
  }
  EXPECT_EQ(get("/v1/matrix/rooms/nobody.example").status, 404);
  EXPECT_EQ(states_in(get("/v1/matrix/events/$nobody")), States{});
}

TEST_F(MatrixDoor, IsDescribed) { expect_described(); }

}  // namespace
}  // namespace postrider::matrix_door
