// Stats, metrics, health, profiles and the description; every problem; the limits.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/api/problems.h"
#include "postrider/api/router.h"

namespace postrider::api {
namespace {

class ApiStatus : public ApiRig {
 protected:
  static std::map<std::string, std::string> samples(const std::string& text) {
    std::map<std::string, std::string> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("#")) continue;
      const std::size_t space = line.rfind(' ');
      EXPECT_TRUE(out.emplace(line.substr(0, space), line.substr(space + 1)).second) << line;
    }
    return out;
  }
};

// req: api.stats.1
TEST_F(ApiStatus, StatsShowTheConservationLaw) {
  make_destination("shop");
  submit("shop");
  answer_last(200);
  dead_letter("shop");
  submit("shop");
  options.figures = [] { return ProcessFigures{.resident_bytes = 77, .cpu_ms = 1234}; };
  open();
  const auto stats = get("/v1/stats").json();
  const auto law = stats.at("conservation").as_object();
  const auto of = [&](std::string_view name) { return law.at(name).as_int64(); };
  EXPECT_EQ(of("accepted"), 3);
  EXPECT_EQ(of("delivered"), 1);
  EXPECT_EQ(of("dead"), 1);
  EXPECT_EQ(of("live"), 1);
  EXPECT_EQ(of("accepted"), of("delivered") + of("dead") + of("expired") + of("cancelled") +
                                of("indeterminate") + of("live"));
  EXPECT_EQ(stats.at("process").at("resident_bytes").as_int64(), 77);
  EXPECT_EQ(stats.at("states").at("webhook").at("Sending").as_int64() +
                stats.at("states").at("webhook").at("Queued").as_int64(),
            1);
}

// req: api.metrics.1
TEST_F(ApiStatus, MetricsAreTextForPrometheusAndAgreeWithStats) {
  make_destination("shop");
  submit("shop");
  answer_last(200);
  submit("shop");
  get("/v1/nonsense");
  options.figures = [] { return ProcessFigures{.cpu_ms = 1234}; };
  const Reply reply = get("/metrics");
  EXPECT_TRUE(reply.content_type.starts_with("text/plain; version=0.0.4"));
  auto metrics = samples(reply.body);
  EXPECT_EQ(metrics["postrider_messages_accepted_total"], "2");
  EXPECT_EQ(metrics["postrider_messages_ended_total{end=\"delivered\"}"], "1");
  EXPECT_EQ(metrics["postrider_messages_live"], "1");
  EXPECT_EQ(metrics["postrider_ready"], "1");
  EXPECT_EQ(metrics["postrider_build_info{version=\"1.2.3\"}"], "1");
  EXPECT_EQ(metrics["postrider_http_requests_total{method=\"POST\",route=\"/v1/messages\","
                    "code=\"2xx\"}"],
            "2");
  EXPECT_EQ(metrics["postrider_http_requests_total{method=\"other\",route=\"other\","
                    "code=\"4xx\"}"],
            "1");
  EXPECT_EQ(metrics["postrider_accept_duration_seconds_count"], "2");
  EXPECT_EQ(metrics["postrider_accept_duration_seconds_bucket{le=\"+Inf\"}"], "2");
  for (const auto& [name, value] : metrics)
    EXPECT_TRUE(name.starts_with("postrider_") || name.starts_with("process_")) << name;
}

// req: api.metrics.1, api.metrics.2
TEST_F(ApiStatus, MetricsHaveABoundedNumberOfSeries) {
  options.metrics_destinations_max = 20;
  open();
  const std::size_t before = samples(get("/metrics").body).size();
  for (int i = 0; i < 50; ++i) {
    make_destination("d" + std::to_string(i));
    submit("d" + std::to_string(i));
    get("/v1/unknown/" + std::to_string(i));
    call({"BREW", "/v1/messages"});
  }
  // Seven for each of the largest queues, and a few for what is counted for the first time.
  EXPECT_LE(samples(get("/metrics").body).size(), before + 7 * 20 + 20);
}

// At the limit, one above and one below it.
// req: api.metrics.2, device.obs.1
TEST_F(ApiStatus, GaugesOfQueuesAddUpToWhatLives) {
  for (const std::string name : {"a", "b", "c", "b"}) {
    make_destination(name);
    submit(name);
  }
  for (const std::uint32_t told_max : {3U, 2U, 4U, 0U}) {
    options.metrics_destinations_max = told_max;
    open();
    const auto metrics = samples(get("/metrics").body);
    std::uint64_t sum = 0;
    std::size_t rows = 0;
    for (const auto& [name, value] : metrics) {
      if (!name.starts_with("postrider_queue_messages{")) continue;
      sum += std::stoull(value);
      ++rows;
    }
    EXPECT_EQ(std::to_string(sum), metrics.at("postrider_messages_live")) << told_max;
    EXPECT_EQ(rows, std::min(told_max + 1, 3U)) << told_max;
    EXPECT_EQ(metrics.at("postrider_queues"), "3") << told_max;
    EXPECT_EQ(metrics.contains("postrider_queue_messages{destination=\"(other)\"}"), told_max < 3);
    if (told_max > 0) {
      EXPECT_EQ(metrics.at("postrider_queue_messages{destination=\"b\"}"), "2")
          << "the deepest is told first";
    }
  }
}

// req: api.queues.1
TEST_F(ApiStatus, ListsQueuesThatAreNotEmptyByPages) {
  for (const std::string name : {"a", "b", "c", "idle"}) make_destination(name);
  for (const std::string name : {"a", "b", "b", "c"}) submit(name);
  const auto queues = [&](const std::string& query, std::string& next) {
    const Reply reply = get("/v1/queues" + query);
    const boost::json::value page = reply.json();
    std::map<std::string, std::int64_t> out;
    for (const auto& row : page.at("queues").as_array())
      out.emplace(std::string(row.at("destination").as_string()), row.at("live").as_int64());
    next = reply.text("next");
    return out;
  };
  std::string next;
  const std::map<std::string, std::int64_t> all{{"a", 1}, {"b", 2}, {"c", 1}};
  EXPECT_EQ(queues("", next), all);
  EXPECT_EQ(next, "");
  std::map<std::string, std::int64_t> paged;
  std::string query = "?limit=1";
  for (std::size_t pages = 0; pages < 10 && !query.empty(); ++pages) {
    const auto page = queues(query, next);
    EXPECT_LE(page.size(), 1U);
    paged.insert(page.begin(), page.end());
    query = next.empty() ? std::string() : "?limit=1&cursor=" + next;
  }
  EXPECT_EQ(paged, all);
  EXPECT_EQ(get("/v1/queues?limit=0").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/queues?cursor=nonsense!").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/queues?destination=a").problem(), "unknown-parameter");
}

// req: api.health.1
TEST_F(ApiStatus, IsAliveAlwaysAndReadyWhenItIs) {
  EXPECT_EQ(get("/livez").text("state"), "alive");
  EXPECT_EQ(get("/readyz").text("state"), "ready");
  store.closed = true;
  store.next_outcome = CommitOutcome::kFailed;
  put("/v1/destinations/a", R"({"profile":"webhook","settings":{"url":"https://a.example/"}})");
  settle();
  Reply reply = get("/readyz");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.problem(), "restarting");
  EXPECT_EQ(get("/livez").status, 200);
  EXPECT_EQ(get("/metrics").status, 200) << "what is known without the engine";
  EXPECT_EQ(get("/v1/stats").problem(), "restarting");
  store.closed = false;
  pass(5s);
  EXPECT_EQ(get("/readyz").status, 200);
  host->drain();
  settle();
  reply = get("/readyz");
  EXPECT_EQ(reply.problem(), "stopping");
  EXPECT_FALSE(reply.header("Retry-After").empty());
  EXPECT_EQ(get("/livez").status, 200);
}

TEST_F(ApiStatus, IsReadyThoughBusy) {
  host_options.waiting_max = 1;
  open();
  store.held = true;
  send({"PUT", "/v1/destinations/a",
        R"({"profile":"webhook","settings":{"url":"https://a.example/"}})"});
  EXPECT_EQ(get("/readyz").text("state"), "busy");
}

TEST_F(ApiStatus, ShowsTheProfilesThatRun) {
  EXPECT_NE(get("/v1/profiles").body.find("webhook"), std::string::npos);
  const Reply reply = get("/v1/profiles/webhook");
  EXPECT_EQ(reply.text("name"), "webhook");
  EXPECT_NE(reply.body.find("in_flight_max"), std::string::npos);
  EXPECT_EQ(get("/v1/profiles/webhok").text("suggestion"), "webhook");
}

// req: api.openapi.1
TEST_F(ApiStatus, OpenapiNamesNothingThatIsNotInIt) {
  const std::string text = get("/openapi.json").body;
  const auto document = boost::json::parse(text);
  constexpr std::string_view kRef = "\"$ref\":";
  std::size_t refs = 0;
  for (std::size_t at = text.find(kRef); at != std::string::npos; at = text.find(kRef, at + 1)) {
    const std::size_t from = text.find("\"#", at) + 2;
    const std::string pointer = text.substr(from, text.find('"', from) - from);
    boost::system::error_code missing;
    EXPECT_NE(document.find_pointer(pointer, missing), nullptr) << pointer;
    ++refs;
  }
  EXPECT_GT(refs, 100U);
}

// req: api.openapi.1
TEST_F(ApiStatus, DescribesEveryRouteAndNoOther) {
  const auto document = get("/openapi.json").json();
  EXPECT_EQ(document.at("openapi").as_string(), "3.1.0");
  EXPECT_EQ(document.at("info").at("version").as_string(), "1.2.3");
  expect_described();
}

// req: api.openapi.3
TEST_F(ApiStatus, APathThatIsSpelledOutIsNeverACapture) {
  const auto allowed = [](std::string_view method, std::string_view path) {
    const auto found = find_route(route_rows(), method, path);
    return found ? std::string(route_rows()[found->route].pattern) : found.error().allow;
  };
  EXPECT_EQ(allowed("DELETE", "/v1/dead-letters/export"), "GET");
  EXPECT_EQ(allowed("GET", "/v1/dead-letters/import"), "POST");
  EXPECT_EQ(allowed("GET", "/v1/dead-letters/0123"), "/v1/dead-letters/{id}");
}

TEST(Problems, ListWhatThereIs) {
  const auto names = std::to_array<std::string_view>({"first", "second"});
  EXPECT_EQ(unknown_word(ProblemType::kUnknownField, "field", "zzzzzz", names).detail,
            "unknown field 'zzzzzz'; there are: first, second");
  EXPECT_EQ(unknown_word(ProblemType::kUnknownField, "field", "zzzzzz", {}).detail,
            "unknown field 'zzzzzz'; there are none here");
}

TEST_F(ApiStatus, TheCheckerOfTheDescriptionBites) {
  const auto wrong = [&](std::string_view body) {
    return checker->check("GET", "/livez", 200, "application/json", body);
  };
  EXPECT_EQ(wrong(R"({"state":"alive"})"), "");
  for (const std::string_view body :
       {R"({"state":"dead"})", R"({})", R"({"state":"alive","more":1})", R"([])", "nonsense"})
    EXPECT_NE(wrong(body), "") << body;
  EXPECT_NE(checker->check("GET", "/livez", 204, "application/json", "{}"), "");
  EXPECT_NE(checker->check("GET", "/livez", 200, "text/html", "{}"), "");
  EXPECT_NE(checker->check("PUT", "/livez", 200, "application/json", "{}"), "");
  EXPECT_NE(checker->check_schema("Count", "-1"), "");
  EXPECT_NE(checker->check_schema("Id", "\"xyz\""), "");
  EXPECT_NE(checker->check_schema("Accepted", R"({"id":"0123456789abcdef0123456789abcdef"})"), "");
}

TEST_F(ApiStatus, AnswersHeadAsGet) { EXPECT_EQ(call({"HEAD", "/livez"}).status, 200); }

class ApiProblems : public ApiRig {
 protected:
  void note(const Reply& reply) { seen.insert(reply.problem()); }
  void note(const HttpResponse& response) {
    note(Reply{response.status, response.content_type, response.headers, response.body});
    EXPECT_EQ(checker->check_schema("Problem", response.body), "");
  }
  void provoke_at_the_door();
  void provoke_by_reading();
  std::set<std::string> seen;
  const std::string message = R"({"destination":"shop","body":1})";
};

void ApiProblems::provoke_by_reading() {
  make_destination("shop");
  note(get("no slash"));
  note(post("/v1/messages", "{"));
  note(post("/v1/messages", R"({"a":1,"a":1})"));
  note(post("/v1/messages", R"({"a":1})"));
  note(post("/v1/messages", "{}"));
  note(post("/v1/messages", R"({"destination":1})"));
  note(post("/v1/messages", "[]"));
  note(get("/v1/messages?x=1"));
  note(get("/v1/messages?limit=x"));
  note(post("/v1/messages", message, {{"idempotency-key", ""}}));
  note(get("/v1/destinations/nowhere"));
  note(get("/v2"));
  note(get("/v1/stats", {{"host", "evil.example"}}));
  const Reply reply = remove("/v1/messages");
  EXPECT_EQ(reply.header("Allow"), "POST, GET");
  note(reply);
  note(get("/v1/stats", {{"accept", "text/html"}}));
  note(post("/v1/messages", message, {{"content-type", "text/plain"}}));
  note(post("/v1/messages",
            R"({"destination":"shop","body":")" + std::string(300'000, 'x') + "\"}"));
  note(post("/v1/messages", message, {{"idempotency-key", "k"}}));
  note(post("/v1/messages", R"({"destination":"shop","body":2})", {{"idempotency-key", "k"}}));
  note(
      post("/v1/messages", message, {{"idempotency-key", "00000000-0001-7abc-8def-0123456789ab"}}));
  put("/v1/destinations/lora",
      R"({"profile":"device","settings":{"plugin":"lora","way":"chirpstack",)"
      R"("url":"http://far.example:8080"}})");
  const Reply act =
      post("/v1/messages", R"({"destination":"lora","body":{"commandType":"TURN_OFF","priority":0,)"
                           R"("pluginId":"lora","device":{"type":"ELECTRICITY_METER",)"
                           R"("externalReference":"47003333623"}}})");
  note(post("/v1/messages/" + act.text("id") + "/resend"));
  const RigRequest rotate{"POST", "/v1/destinations/shop/rotate",
                          R"({"secret":"whsec_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"})"};
  const auto late = send(rotate);
  make_destination("shop", R"(,"secret":"whsec_CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC")");
  note(reply_of(rotate, *late));
  make_destination("shop");
  for (const int status : {400, 408, 413, 414, 431, 503})
    note(handler.refuse(status, "said by the server"));
}

void ApiProblems::provoke_at_the_door() {
  put("/v1/destinations/box", R"({"profile":"mailbox","settings":{"kept_max":"1"}})");
  const std::string waits = submit("box");
  note(post("/v1/messages", R"({"destination":"box","body":1})"));
  const std::string id = submit("shop");
  note(remove("/v1/destinations/shop"));
  remove("/v1/destinations/shop?drain=true");
  note(post("/v1/messages", message));
  answer_last(200);
  make_destination("shop");
  note(post("/v1/messages/" + id + "/cancel"));
  submit("shop");
  answer_last(410);
  note(post("/v1/messages", message));
  host->set_space(false);
  note(post("/v1/messages", message));
  host->set_space(true);
  host_options.shard.engine.limits.awaits_max = 0;
  open();
  note(get("/v1/messages/" + waits + "?wait=1"));
  options.tails_max = 0;
  options.tokens = {{.name = "r", .tenant = "t", .secret = "token-r", .may_read = true}};
  host_options.tenant_waiting_max = 1;
  host_options.waiting_max = 2;
  open();
  const RigHeaders reader = {{"authorization", "Bearer token-r"}};
  note(get("/v1/events", reader));
  note(get("/v1/stats"));
  note(post("/v1/messages", message, reader));
  store.held = true;
  const RigRequest wake{"POST", "/v1/destinations/shop/pause", "", {}, true};
  send(wake);
  note(call(wake));
  send({"GET", "/v1/stats", "", reader});
  note(call({"GET", "/v1/stats", "", reader}));
  store.release();
  settle();
  store.next_outcome = CommitOutcome::kFailed;
  store.closed = true;
  note(call({"POST", "/v1/destinations/shop/resume", "", {}, true}));
  note(call(wake));
  host->drain();
  note(call(wake));
}

// req: api.problems.1
TEST_F(ApiProblems, EachTypeIsProvoked) {
  provoke_by_reading();
  provoke_at_the_door();
  // Those of calls are provoked by the tests of the door that has calls.
  const std::set<std::string_view> of_calls = {"indeterminate", "cancelled", "unknown-method"};
  for (const ProblemRow& row : problem_rows())
    EXPECT_TRUE(seen.contains(std::string(row.name)) || of_calls.contains(row.name)) << row.name;
}

TEST_F(ApiProblems, AreAllInTheDocument) {
  std::ifstream file(std::string(POSTRIDER_SOURCE_DIR) + "/docs/http-api.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const ProblemRow& row : problem_rows()) {
    EXPECT_NE(text.str().find("| `" + std::string(row.name) + "` | " + std::to_string(row.status)),
              std::string::npos)
        << row.name;
  }
  expect_documented();
}

TEST_F(ApiProblems, TellWhatThePathHas) {
  const Reply reply = call({"PATCH", "/v1/destinations/shop"});
  EXPECT_EQ(reply.status, 405);
  EXPECT_EQ(reply.header("Allow"), "PUT, GET, DELETE");
}

class ApiLimits : public ApiRig {
 protected:
  void SetUp() override {
    options.body_bytes_max = 100;
    options.json_depth_max = 4;
    options.json_values_max = 12;
    ApiRig::SetUp();
    make_destination("shop");
  }
  std::string problem(const std::string& body_value) {
    return post("/v1/messages", R"({"destination":"shop","body":)" + body_value + "}").problem();
  }
};

// req: api.limits.2
TEST_F(ApiLimits, HoldForTheBodyOfAMessage) {
  EXPECT_EQ(problem("\"" + std::string(99, 'x') + "\""), "");
  EXPECT_EQ(problem("\"" + std::string(100, 'x') + "\""), "");
  EXPECT_EQ(problem("\"" + std::string(101, 'x') + "\""), "too-large");
  EXPECT_EQ(problem("[ 1 , \"" + std::string(94, 'x') + "\" ]"), "") << "compact, it has 100";
  EXPECT_EQ(problem("[ 1 , \"" + std::string(95, 'x') + "\" ]"), "too-large");
}

TEST_F(ApiLimits, HoldForDepthAndCount) {
  EXPECT_EQ(problem("[[1]]"), "");
  EXPECT_EQ(problem("[[[1]]]"), "");
  EXPECT_EQ(problem("[[[[1]]]]"), "too-large");
  EXPECT_EQ(problem("[1,2,3,4,5]"), "");
  EXPECT_EQ(problem("[1,2,3,4,5,6]"), "");
  EXPECT_EQ(problem("[1,2,3,4,5,6,7]"), "") << "the object, four, the array and seven are 12";
  EXPECT_EQ(problem("[1,2,3,4,5,6,7,8]"), "too-large");
}

}  // namespace
}  // namespace postrider::api
