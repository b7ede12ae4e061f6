// Server-sent events: following the outcome log, coming back, and being too slow.
#include "postrider/api/events.h"

#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/api/texts.h"

namespace postrider::api {
namespace {

struct SeenEvent {
  std::string id;
  std::string event;
  std::string data;
};

class ApiEvents : public ApiRig {
 protected:
  void SetUp() override {
    options.tails_max = 3;
    ApiRig::SetUp();
    make_destination("shop");
  }
  std::shared_ptr<RigExchange> follow(const std::string& query = {}, const std::string& last = {}) {
    RigHeaders headers;
    if (!last.empty()) headers.emplace_back("last-event-id", last);
    auto tail = send({"GET", "/v1/events" + query, "", headers});
    settle();
    return tail;
  }
  // The blocks with data, as a browser would dispatch them; each is held against the description.
  std::vector<SeenEvent> events(const RigExchange& tail) {
    std::vector<SeenEvent> out;
    std::string_view rest = tail.text;
    while (!rest.empty()) {
      const std::size_t end = rest.find("\n\n");
      EXPECT_NE(end, std::string_view::npos) << "an event is cut off";
      SeenEvent event;
      std::string_view block = rest.substr(0, end + 1);
      while (!block.empty()) {
        const std::string_view line = block.substr(0, block.find('\n'));
        block.remove_prefix(line.size() + 1);
        if (line.starts_with("id: ")) event.id = last_id = line.substr(4);
        if (line.starts_with("event: ")) event.event = line.substr(7);
        if (line.starts_with("data: ")) event.data = line.substr(6);
      }
      rest.remove_prefix(std::min(end + 2, rest.size()));
      if (event.data.empty()) continue;
      EXPECT_EQ(checker->check_schema("Event", event.data), "") << event.data;
      out.push_back(std::move(event));
    }
    return out;
  }
  std::string deliver() {
    const std::string id = submit("shop");
    answer_last(200);
    return id;
  }
  void tick() {
    api->tick();
    settle();
  }
  std::string last_id;
};

// req: api.events.1
TEST_F(ApiEvents, FollowsTheLogFromNow) {
  deliver();
  const auto tail = follow();
  EXPECT_EQ(tail->response->content_type, "text/event-stream");
  tick();
  EXPECT_TRUE(events(*tail).empty()) << "what was before is not told";
  const std::string id = deliver();
  tick();
  const auto seen = events(*tail);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].event, "end");
  EXPECT_NE(seen[0].data.find(id), std::string::npos);
  EXPECT_NE(seen[0].data.find("\"phase\":\"delivered\""), std::string::npos);
  tick();
  tick();
  EXPECT_EQ(events(*tail).size(), 1U) << "and not twice";
}

TEST_F(ApiEvents, FollowsTheLogFromTheStart) {
  for (int i = 0; i < 5; ++i) deliver();
  const auto tail = follow("?from=start");
  EXPECT_EQ(events(*tail).size(), 5U);
  deliver();
  tick();
  EXPECT_EQ(events(*tail).size(), 6U);
  EXPECT_EQ(get("/v1/events?from=yesterday").problem(), "invalid-parameter");
}

TEST_F(ApiEvents, ReadsMoreThanOnePageAtOnce) {
  for (int i = 0; i < 1234; ++i) deliver();
  EXPECT_EQ(events(*follow("?from=start")).size(), 1234U);
}

// req: api.events.2
TEST_F(ApiEvents, GoesOnBehindTheLastEventWhereverItWasCut) {
  std::vector<std::string> ids;
  for (int i = 0; i < 7; ++i) ids.push_back(deliver());
  const auto all = events(*follow("?from=start"));
  ASSERT_EQ(all.size(), 7U);
  for (std::size_t cut = 0; cut < all.size(); ++cut) {
    const auto rest = events(*follow("", all[cut].id));
    ASSERT_EQ(rest.size(), all.size() - cut - 1);
    for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_EQ(rest[i].data, all[cut + 1 + i].data);
    EXPECT_EQ(events(*follow("?from=start", all[cut].id)).size(), rest.size())
        << "the last event is more exact";
    api->set_tokens({});
  }
  EXPECT_EQ(get("/v1/events", {{"last-event-id", "nonsense"}}).problem(), "invalid-parameter");
}

TEST_F(ApiEvents, AReaderCutBeforeTheFirstEventMissesNothing) {
  deliver();
  const auto tail = follow();
  EXPECT_TRUE(events(*tail).empty());
  ASSERT_NE(last_id, "");
  const std::string id = deliver();
  const auto seen = events(*follow("", last_id));
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_NE(seen[0].data.find(id), std::string::npos);
}

// req: api.events.3
TEST_F(ApiEvents, SendsHeartbeats) {
  const auto tail = follow();
  const std::size_t before = tail->text.size();
  pass(14s);
  EXPECT_EQ(tail->text.find("heartbeat"), std::string::npos);
  pass(1s);
  EXPECT_NE(tail->text.find(": heartbeat\n", before), std::string::npos);
  events(*tail);
  EXPECT_NE(last_id, "");
}

// req: api.events.4
TEST_F(ApiEvents, AReaderThatDoesNotReadIsCutAndComesBack) {
  const auto tail = follow();
  tail->reads = false;
  std::size_t sent = 0;
  while (tail->unsent() <= 256 * 1024) {
    for (int i = 0; i < 100; ++i, ++sent) deliver();
    tick();
    ASSERT_LT(sent, 10'000U);
  }
  const std::size_t full = tail->text.size();
  deliver();
  tick();
  EXPECT_EQ(tail->text.size(), full) << "nothing more is sent to it";
  EXPECT_FALSE(tail->ended);
  pass(10s);
  EXPECT_TRUE(tail->ended) << "and after ten seconds it is cut";
  events(*tail);
  EXPECT_EQ(events(*follow("", last_id)).size(), 1U) << "what it missed is there";
}

TEST_F(ApiEvents, AReaderThatReadsAgainIsNotCut) {
  const auto tail = follow();
  tail->reads = false;
  for (int i = 0; i < 1500; ++i) deliver();
  tick();
  tick();
  pass(9s);
  tail->reads = true;
  pass(9s);
  EXPECT_FALSE(tail->ended);
  EXPECT_EQ(events(*tail).size(), 1500U);
}

// req: api.events.5
TEST_F(ApiEvents, TellsAReaderThatItFellBehind) {
  host_options.shard.engine.log = {.age = 1h, .bytes = 0};
  open();
  deliver();
  const std::string early = events(*follow("?from=start")).at(0).id;
  deliver();
  // Retention looks when something is written.
  for (int i = 0; i < 8; ++i) {
    pass(30min);
    deliver();
  }
  const auto seen = events(*follow("", early));
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen[0].event, "fell-behind");
  EXPECT_EQ(seen[1].event, "end");
}

TEST_F(ApiEvents, TellsOfDestinationsToo) {
  make_destination("bad", R"(,"strikes_max":1)");
  const auto tail = follow();
  submit("bad");
  answer_last(500);
  tick();
  const auto seen = events(*tail);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].event, "destination-closed");
  EXPECT_NE(seen[0].data.find(get("/v1/destinations/bad").text("destination_id")),
            std::string::npos);
}

// req: api.events.6
TEST_F(ApiEvents, TellTheNameTheIdAndHowLongItTook) {
  make_destination("gone");
  const std::string id = submit("gone");
  const AttemptId attempt = transport.started.back().attempt;
  pass(1500ms);
  answer(attempt, 400);
  EXPECT_EQ(remove("/v1/destinations/gone").text("answer"), "done");
  const auto seen = events(*follow("?from=start"));
  ASSERT_EQ(seen.size(), 1U);
  const auto data = boost::json::parse(seen[0].data).as_object();
  EXPECT_EQ(data.at("destination").as_string(), "gone") << "although it was removed";
  EXPECT_EQ(data.at("id").as_string(), id);
  EXPECT_EQ(data.at("event").as_string(), seen[0].id);
  EXPECT_EQ(data.at("latency_ms").as_int64(), 1500);
  EXPECT_EQ(data.at("phase").as_string(), "dead");
  EXPECT_TRUE(data.at("reason").as_string().starts_with("HTTP 400")) << seen[0].data;
}

// req: api.events.6
TEST_F(ApiEvents, HaveNoLatencyWhereNothingEnded) {
  make_destination("bad", R"(,"strikes_max":1)");
  submit("bad");
  answer_last(500);
  const auto seen = events(*follow("?from=start"));
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].data.find("latency_ms"), std::string::npos) << seen[0].data;
  EXPECT_NE(seen[0].data.find(R"("destination":"bad")"), std::string::npos) << seen[0].data;
}

// req: api.events.7
TEST_F(ApiEvents, AreChosenByDestinationAndKind) {
  make_destination("bad", R"(,"strikes_max":1)");
  deliver();
  submit("shop");
  answer_last(400);
  submit("bad");
  answer_last(500);
  // "destination kind" of what comes, in its order
  const auto chosen = [&](const std::string& query) {
    std::string out;
    const auto tail = follow("?from=start&until=now" + query);
    EXPECT_TRUE(tail->ended) << query;
    tick();  // it counts among the readers until then
    for (const SeenEvent& event : events(*tail)) {
      const auto data = boost::json::parse(event.data).as_object();
      const std::string_view word = data.at(event.event == "end" ? "phase" : "kind").as_string();
      out.append(data.at("destination").as_string()).append(" ").append(word).append("\n");
    }
    return out;
  };
  const std::string all = "shop delivered\nshop dead\nbad destination-closed\n";
  EXPECT_EQ(chosen(""), all);
  EXPECT_EQ(chosen("&destination=shop"), "shop delivered\nshop dead\n");
  EXPECT_EQ(chosen("&destination=bad"), "bad destination-closed\n");
  EXPECT_EQ(chosen("&kind=end"), "shop delivered\nshop dead\n");
  EXPECT_EQ(chosen("&kind=dead"), "shop dead\n");
  EXPECT_EQ(chosen("&kind=dead,destination-closed"), "shop dead\nbad destination-closed\n");
  EXPECT_EQ(chosen("&kind=dead&destination=bad"), "");
  EXPECT_EQ(get("/v1/events?destination=nowhere").problem(), "not-found");
  EXPECT_EQ(get("/v1/events?until=tomorrow").problem(), "invalid-parameter");
  const Reply wrong = get("/v1/events?kind=dead,delivred");
  EXPECT_EQ(wrong.problem(), "invalid-parameter");
  EXPECT_EQ(wrong.text("suggestion"), "delivered");
}

// req: api.events.2, api.events.7
TEST_F(ApiEvents, GoOnBehindEventsThatWereNotChosen) {
  deliver();
  EXPECT_TRUE(events(*follow("?from=start&until=now&kind=dead")).empty());
  ASSERT_NE(last_id, "");
  deliver();
  EXPECT_EQ(events(*follow("?until=now", last_id)).size(), 1U) << "the first is not told again";
}

TEST_F(ApiEvents, AreFollowedByABoundedNumber) {
  const auto a = follow();
  const auto b = follow();
  const auto c = follow();
  const Reply reply = get("/v1/events");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.problem(), "too-many-readers");
  b->left = true;
  tick();
  EXPECT_TRUE(follow()->begun) << "one has gone";
}

TEST_F(ApiEvents, AreReadOnceForAllWhoStandAtOnePlace) {
  const auto steps = [&] {
    const auto stats = get("/v1/stats").json();
    return stats.at("since_start").at("steps").as_int64();
  };
  const auto cost_of_a_tick = [&] {
    const std::int64_t before = steps();
    tick();
    return steps() - before;
  };
  const auto a = follow();
  const std::int64_t alone = cost_of_a_tick();
  const auto b = follow();
  EXPECT_EQ(cost_of_a_tick(), alone) << "one question for both";
}

TEST_F(ApiEvents, EndWhenTheDaemonStops) {
  const auto tail = follow();
  host->drain();
  settle();
  api->tick();
  EXPECT_TRUE(tail->ended);
}

TEST_F(ApiEvents, AreNotForHead) { EXPECT_EQ(call({"HEAD", "/v1/events"}).status, 405); }

}  // namespace
}  // namespace postrider::api
