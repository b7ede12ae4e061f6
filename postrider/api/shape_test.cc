// The shape of what waits, and what destinations are doing, over the API.
#include <map>

#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/model/answer.h"

namespace postrider::api {
namespace {

class ApiShape : public ApiRig {
 protected:
  struct Row {
    std::vector<std::int64_t> counts;
    std::map<std::string, std::int64_t> phases;
    std::int64_t total = 0;
    std::string oldest_at;
    std::string next_at;
  };

  static std::string string_of(const boost::json::object& object, std::string_view name) {
    const auto* value = object.if_contains(name);
    return value == nullptr ? std::string() : std::string(value->as_string());
  }

  // All answers, added as the documentation says; how many there were is in `answers`.
  std::map<std::string, Row> shape(const std::string& parameters = "") {
    std::map<std::string, Row> rows;
    looked_at = 0;
    std::string next;
    answers = 0;
    do {
      const Reply reply = get("/v1/shape?" + parameters + (parameters.empty() ? "" : "&") +
                              (next.empty() ? "limit=20000" : "cursor=" + next));
      EXPECT_EQ(reply.status, 200) << reply.body;
      add(reply, rows);
      next = reply.text("next");
      looked_at += reply.number("looked_at");
      ++answers;
    } while (!next.empty() && answers < 1000);
    return rows;
  }

  static void add(const Reply& reply, std::map<std::string, Row>& rows) {
    const boost::json::value json = reply.json();
    for (const boost::json::value& value : json.at("destinations").as_array()) {
      const boost::json::object& object = value.as_object();
      Row& row = rows[string_of(object, "name")];
      const boost::json::array& counts = object.at("counts").as_array();
      row.counts.resize(counts.size());
      for (std::size_t i = 0; i < counts.size(); ++i)
        row.counts[i] += counts[i].to_number<std::int64_t>();
      for (const auto& phase : object.at("phases").as_object())
        row.phases[phase.key()] += phase.value().to_number<std::int64_t>();
      row.total += object.at("total").to_number<std::int64_t>();
      row.oldest_at = string_of(object, "oldest_at");
      row.next_at = string_of(object, "next_at");
    }
  }

  int answers = 0;
  std::int64_t looked_at = 0;
};

TEST(Ages, DoubleFromFiveMinutesOnAndTheLastHasNoBound) {
  EXPECT_EQ(age_column(Duration(-5)), 0U);
  EXPECT_EQ(age_column(Duration(0)), 0U);
  EXPECT_EQ(age_column(5min - 1ms), 0U);
  EXPECT_EQ(age_column(5min), 1U);
  EXPECT_EQ(age_column(10min - 1ms), 1U);
  EXPECT_EQ(age_column(10min), 2U);
  EXPECT_EQ(age_column(160min), 6U);
  EXPECT_EQ(age_column(10240min - 1ms), kAges - 2);
  EXPECT_EQ(age_column(10240min), kAges - 1);
  EXPECT_EQ(age_column(24h * 10'000), kAges - 1);
}

// req: api.shape.1
TEST_F(ApiShape, CountsWhatLivesByDestinationAndAge) {
  make_destination("shop");
  make_destination("idle");
  make_destination("till");
  post("/v1/destinations/shop/pause");
  post("/v1/destinations/till/pause");
  submit("shop");
  pass(6min);
  submit("shop");
  submit("shop");
  pass(6min);
  submit("till");
  const auto rows = shape();
  ASSERT_EQ(rows.size(), 2U) << "who has nothing is not there";
  const Row& shop = rows.at("shop");
  ASSERT_EQ(shop.counts.size(), kAges);
  EXPECT_EQ(shop.total, 3);
  EXPECT_EQ(shop.counts[0], 0);
  EXPECT_EQ(shop.counts[1], 2) << "6 minutes";
  EXPECT_EQ(shop.counts[2], 1) << "12 minutes";
  EXPECT_EQ(shop.phases.at("queued"), 3);
  EXPECT_EQ(rows.at("till").counts[0], 1);
  EXPECT_EQ(looked_at, 4);
  EXPECT_LT(shop.oldest_at, rows.at("till").oldest_at);
}

// req: api.shape.2
TEST_F(ApiShape, SeesThoseOnTheWireInBackOffAndParkedEachOnce) {
  make_destination("shop", R"(,"in_flight_max":1,"ladder":"1h,1h")");
  submit("shop");
  settle();
  EXPECT_EQ(shape().at("shop").phases.at("in-flight"), 1);
  answer_last(500);
  settle();
  const Row row = shape().at("shop");
  EXPECT_EQ(row.phases.at("backoff"), 1);
  EXPECT_EQ(row.total, 1);
  EXPECT_FALSE(row.next_at.empty());
  EXPECT_GT(row.next_at, row.oldest_at);
  pass(2h);
  answer_last(200);
  settle();
  EXPECT_TRUE(shape().empty());
}

// req: api.shape.3
TEST_F(ApiShape, ComesInPartsThatAddUpToTheWhole) {
  host_options.shard.engine.limits.answer_rows_max = 3;
  open();
  std::map<std::string, int> sent;
  for (int d = 0; d < 7; ++d) {
    const std::string name = "d" + std::to_string(d);
    make_destination(name, d % 2 == 0 ? R"(,"in_flight_max":1,"ladder":"1h,1h")" : "");
    for (int i = 0; i <= 3 * d; ++i) {
      submit(name);
      settle();
      if (i % 4 == 1) answer_last(500);
      settle();
      ++sent[name];
    }
  }
  for (const std::string limit : {"limit=1", "limit=2", "limit=5", "limit=100000"}) {
    std::map<std::string, Row> rows;
    std::string next;
    int parts = 0;
    do {
      const Reply reply = get("/v1/shape?" + limit + (next.empty() ? "" : "&cursor=" + next));
      add(reply, rows);
      next = reply.text("next");
      ++parts;
    } while (!next.empty() && parts < 1000);
    EXPECT_EQ(rows.size(), sent.size());
    for (const auto& [name, count] : sent) EXPECT_EQ(rows[name].total, count) << limit << name;
    if (limit == "limit=100000") {
      EXPECT_EQ(parts, 1);
    }
    if (limit == "limit=1") {
      EXPECT_GT(parts, 10);
    }
  }
}

// req: api.shape.4
TEST_F(ApiShape, OfOneDestinationCountsThatOneOnly) {
  make_destination("shop");
  make_destination("till");
  submit("shop");
  submit("till");
  submit("till");
  const auto rows = shape("destination=till");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.at("till").total, 2);
  EXPECT_EQ(get("/v1/shape?destination=nobody").problem(), "not-found");
  EXPECT_EQ(get("/v1/shape?limit=0").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/shape?limit=100001").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/shape?cursor=!").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/shape?depth=3").problem(), "unknown-parameter");
  const std::string elsewhere = get("/v1/destinations?limit=1").text("next");
  if (!elsewhere.empty()) {
    EXPECT_EQ(get("/v1/shape?cursor=" + elsewhere).problem(), "invalid-content");
  }
}

// req: api.destinations.busy.1
TEST_F(ApiShape, DestinationsTellWhatTheyAreDoing) {
  make_destination("shop", R"(,"in_flight_max":3,"ladder":"10s,1h")");
  make_destination("idle");
  submit("shop");
  settle();
  answer_last(500);
  settle();
  Reply reply = get("/v1/destinations/shop");
  EXPECT_EQ(reply.number("in_flight_max"), 3);
  EXPECT_LE(reply.number("in_flight_now"), 3);
  EXPECT_GE(reply.number("in_flight_now"), 1);
  EXPECT_EQ(reply.number("failed"), 1);
  EXPECT_EQ(reply.number("failed_last_minute"), 1);
  EXPECT_EQ(reply.number("delivered"), 0);
  EXPECT_NE(reply.text("last_error").find("500"), std::string::npos);
  EXPECT_FALSE(reply.text("last_failure").empty());
  EXPECT_FALSE(reply.text("last_failure_at").empty());
  EXPECT_FALSE(reply.text("counted_since").empty()) << "from its making on";
  pass(15s);
  answer_last(200);
  settle();
  reply = get("/v1/destinations/shop");
  EXPECT_EQ(reply.number("delivered"), 1);
  EXPECT_EQ(reply.number("delivered_last_minute"), 1);
  EXPECT_NE(reply.text("last_error").find("500"), std::string::npos) << "it was the last one";
  pass(3min);
  EXPECT_EQ(get("/v1/destinations/shop").number("delivered_last_minute"), 0);
  EXPECT_EQ(get("/v1/destinations/shop").number("delivered"), 1);
}

// req: api.destinations.busy.3
TEST_F(ApiShape, ADestinationOfWhichAThirdFailsIsDegraded) {
  make_destination("shop", R"(,"ladder":"2h","strikes_max":100)");
  make_destination("well");
  const auto names = [&] {
    std::string out;
    const boost::json::value json = get("/v1/destinations?degraded=true").json();
    for (const auto& one : json.at("destinations").as_array())
      out += std::string(one.at("name").as_string()) + " ";
    return out;
  };
  const auto attempt = [&](int status) {
    submit("shop");
    settle();
    answer_last(status);
    settle();
  };
  EXPECT_FALSE(get("/v1/destinations/shop").json().as_object().contains("success_percent"));
  for (const int status : {200, 200, 200, 500, 200, 200}) attempt(status);
  Reply reply = get("/v1/destinations/shop");
  EXPECT_EQ(reply.number("delivered_last_ten_minutes"), 5);
  EXPECT_EQ(reply.number("failed_last_ten_minutes"), 1);
  EXPECT_EQ(reply.number("success_percent"), 83);
  EXPECT_FALSE(reply.json().at("degraded").as_bool());
  EXPECT_EQ(names(), "");
  attempt(503);
  EXPECT_EQ(get("/v1/destinations/shop").number("success_percent"), 71);
  EXPECT_EQ(names(), "");
  attempt(503);
  reply = get("/v1/destinations/shop");
  EXPECT_EQ(reply.number("success_percent"), 62);
  EXPECT_TRUE(reply.json().at("degraded").as_bool());
  EXPECT_EQ(reply.text("health"), "normal");
  EXPECT_EQ(names(), "shop ");
  post("/v1/destinations/shop/pause");
  EXPECT_EQ(names(), "") << "what is held says so by its health";
  post("/v1/destinations/shop/resume");
  EXPECT_EQ(names(), "shop ");
  pass(21min);
  EXPECT_EQ(names(), "") << "nothing was tried lately";
  EXPECT_NE(get("/v1/destinations/shop").text("last_error").find("503"), std::string::npos);
  EXPECT_EQ(get("/v1/destinations?degraded=perhaps").problem(), "invalid-parameter");
}

// req: api.destinations.busy.2
TEST_F(ApiShape, BusyLeavesOutWhoIsWellAndIdle) {
  const auto names = [&] {
    std::string out;
    const boost::json::value json = get("/v1/destinations?busy=true").json();
    for (const auto& one : json.at("destinations").as_array())
      out += std::string(one.at("name").as_string()) + " ";
    return out;
  };
  make_destination("shop");
  make_destination("held");
  EXPECT_EQ(names(), "");
  post("/v1/destinations/held/pause");
  EXPECT_EQ(names(), "held ");
  post("/v1/destinations/held/resume");
  submit("shop");
  settle();
  EXPECT_EQ(names(), "shop ");
  answer_last(200);
  settle();
  EXPECT_EQ(names(), "shop ") << "it was busy in the last minute";
  pass(3min);
  EXPECT_EQ(names(), "");
  EXPECT_EQ(get("/v1/destinations?busy=maybe").problem(), "invalid-parameter");
}

}  // namespace
}  // namespace postrider::api
