// Groups, jobs, holds, the audit, and dead letters as lines, over HTTP.
#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"

namespace postrider::api {
namespace {

class ApiJobs : public ApiRig {
 protected:
  void SetUp() override {
    ApiRig::SetUp();
    make_destination("shop");
    make_destination("bank");
  }
  std::string start(const std::string& body) {
    const Reply reply = post("/v1/jobs", body);
    EXPECT_EQ(reply.status, 202) << reply.body;
    return reply.text("id");
  }
};

// req: api.groups.1
TEST_F(ApiJobs, CountGroupsOfDeadLetters) {
  dead_letter("shop");
  dead_letter("shop");
  const std::string one = dead_letter("bank");
  const Reply all = get("/v1/dead-letters/groups");
  ASSERT_EQ(all.status, 200) << all.body;
  EXPECT_EQ(all.number("letters"), 3);
  const boost::json::value listed = all.json();
  const auto& groups = listed.at("groups").as_array();
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].at("destination"), "shop");
  EXPECT_EQ(groups[0].at("count"), 2);
  EXPECT_EQ(groups[0].at("cause"), "rejected");
  const Reply bank = get("/v1/dead-letters/groups?destination=bank");
  EXPECT_EQ(std::string(bank.json().at("groups").at(0).at("example").as_string()), one);
  EXPECT_EQ(get("/v1/dead-letters/groups?limit=1").number("unlisted_groups"), 1);
  EXPECT_EQ(get("/v1/dead-letters/groups?destination=nobody").problem(), "not-found");
  EXPECT_EQ(get("/v1/stats").json().at("dead_letters").at("there"), 3);
  EXPECT_NE(get("/metrics").body.find("postrider_dead_letters{cause=\"rejected\"} 3"),
            std::string::npos);
}

// req: api.jobs.1
TEST_F(ApiJobs, RunAreShownAndCancelled) {
  for (int i = 0; i < 4; ++i) dead_letter("shop");
  const Reply dry = post("/v1/jobs", R"({"action":"redrive","filter":{"destination":"shop",
      "cause":"rejected","phase":"dead"},"rate":2,"dry_run":true})");
  ASSERT_EQ(dry.status, 200) << dry.body;
  EXPECT_EQ(dry.number("matched"), 4);
  EXPECT_EQ(dry.number("forecast_ms"), 2000);
  const std::string id =
      start(R"({"action":"redrive","filter":{"destination":"shop"},"rate":2,"reason":"back"})");
  pass(1s);
  Reply job = get("/v1/jobs/" + id);
  EXPECT_EQ(job.text("state"), "running");
  EXPECT_EQ(job.number("done"), 2);
  EXPECT_EQ(job.number("expected"), 4);
  EXPECT_EQ(job.number("remaining_ms"), 1000);
  EXPECT_EQ(job.text("reason"), "back");
  EXPECT_EQ(post("/v1/jobs/" + id + "/cancel").text("answer"), "done");
  EXPECT_EQ(get("/v1/jobs/" + id).text("state"), "cancelled");
  EXPECT_EQ(post("/v1/jobs/" + id + "/cancel").text("answer"), "nothing");
  const std::string drop = start(R"({"action":"drop","filter":{"destination_prefix":"sh"}})");
  pass(1s);
  EXPECT_EQ(get("/v1/jobs/" + drop).number("done"), 2);
  EXPECT_EQ(get("/v1/jobs").json().at("jobs").at(0).at("id").as_string(), drop);
  EXPECT_EQ(get("/v1/jobs/0123456789abcdef").problem(), "not-found");
  EXPECT_EQ(get("/v1/jobs/x").problem(), "not-found");
}

// req: api.jobs.1
TEST_F(ApiJobs, AreRefusedWhenTheyMakeNoSense) {
  const auto problem = [&](const std::string& body) { return post("/v1/jobs", body).problem(); };
  EXPECT_EQ(problem("{}"), "missing-field");
  EXPECT_EQ(problem(R"({"action":"redive"})"), "invalid-field");
  EXPECT_EQ(problem(R"({"action":"drop","rate":0})"), "invalid-field");
  EXPECT_EQ(problem(R"({"action":"drop","rate":100001})"), "invalid-field");
  EXPECT_EQ(problem(R"({"action":"drop","filter":{"what":1}})"), "unknown-field");
  EXPECT_EQ(problem(R"({"action":"drop","filter":{"phase":"parked"}})"), "invalid-content");
  EXPECT_EQ(problem(R"({"action":"drop","filter":{"since":"yesterday"}})"), "invalid-field");
  EXPECT_EQ(problem(R"({"action":"drop","filter":{"destination":"nobody"}})"), "not-found");
  EXPECT_EQ(problem(R"({"action":"drop","dry_run":1})"), "invalid-field");
  EXPECT_EQ(problem(R"({"action":"drop","all":true,"every":"24h"})"), "invalid-content");
  EXPECT_EQ(problem(R"({"action":"redrive","every":"1s"})"), "invalid-field");
}

// req: api.jobs.3
TEST_F(ApiJobs, AreNotAboutEverythingUnlessTheySaySo) {
  dead_letter("shop");
  for (const std::string_view action : {"redrive", "drop", "retry", "cancel", "resend"}) {
    const std::string begin = R"({"action":")" + std::string(action) + "\"";
    for (const std::string_view rest :
         {"}", R"(,"filter":{}})", R"(,"filter":{"destination":""}})",
          R"(,"filter":{"destination_prefix":"","reason_prefix":""}})", R"(,"all":false})",
          R"(,"rate":5,"reason":"x"})"}) {
      const Reply reply = post("/v1/jobs", begin + std::string(rest));
      EXPECT_EQ(reply.problem(), "missing-field") << action << rest << reply.body;
      EXPECT_EQ(reply.text("field"), "filter") << action << rest;
    }
    EXPECT_EQ(post("/v1/jobs", begin + R"(,"dry_run":true})").status, 200) << action;
  }
  EXPECT_TRUE(get("/v1/jobs").json().at("jobs").as_array().empty());
  EXPECT_EQ(post("/v1/jobs", R"({"action":"drop","all":true,"filter":{"cause":"gone"}})").problem(),
            "invalid-field");
  EXPECT_EQ(post("/v1/jobs", R"({"action":"drop","all":1})").problem(), "invalid-field");
  const std::string id = start(R"({"action":"drop","all":true})");
  pass(1s);
  EXPECT_EQ(get("/v1/jobs/" + id).number("done"), 1);
}

// req: api.jobs.2
TEST_F(ApiJobs, AreStartedOnceUnderOneKey) {
  const RigHeaders key = {{"idempotency-key", "once"}};
  const Reply first = post("/v1/jobs", R"({"action":"drop","all":true})", key);
  const Reply again = post("/v1/jobs", R"({"action":"drop","all":true})", key);
  EXPECT_EQ(again.text("id"), first.text("id"));
  EXPECT_EQ(again.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(post("/v1/jobs", R"({"action":"redrive","all":true})", key).status, 422);
  EXPECT_EQ(get("/v1/jobs").json().at("jobs").as_array().size(), 1U);
}

// req: api.jobs.1
TEST_F(ApiJobs, BeginAnewOncePerPeriod) {
  const std::string id = start(R"({"action":"redrive","all":true,"every":"24h"})");
  pass(1s);
  EXPECT_EQ(get("/v1/jobs/" + id).text("state"), "waiting");
  EXPECT_EQ(get("/v1/jobs/" + id).number("every_ms"), 86'400'000);
}

// req: api.audit.1
TEST_F(ApiJobs, AuditTellsWhoDidWhat) {
  options.tokens = {{.name = "ops", .tenant = "t", .secret = "token-o", .may_operate = true}};
  open();
  EXPECT_EQ(post("/v1/destinations/shop/pause", R"({"reason":"night"})",
                 {{"authorization", "Bearer token-o"}})
                .status,
            200);
  EXPECT_EQ(call({"POST", "/v1/destinations/shop/resume", "", {}, true}).status, 200);
  const Reply audit = call({"GET", "/v1/audit", "", {}, true});
  const auto lines = audit.json().at("audit").as_array();
  ASSERT_GE(lines.size(), 2U);
  const auto& pause = lines[lines.size() - 2];
  EXPECT_EQ(pause.at("actor"), "ops");
  EXPECT_EQ(pause.at("action"), "pause");
  EXPECT_EQ(pause.at("target"), "shop");
  EXPECT_EQ(pause.at("reason"), "night");
  EXPECT_EQ(lines.back().at("actor"), "socket");
  EXPECT_EQ(everything_said.find("token-o"), std::string::npos);
}

// req: api.audit.2
TEST_F(ApiJobs, AuditIsListedFromEitherEnd) {
  for (const char* name : {"a", "b", "c"}) make_destination(name);
  const auto targets = [&](const std::string& order, const std::string& limit) {
    std::vector<std::string> out;
    std::string cursor;
    do {
      const Reply page = get("/v1/audit?limit=" + limit + order + cursor);
      EXPECT_EQ(page.status, 200);
      const auto lines = page.json().at("audit").as_array();
      for (const auto& line : lines) out.emplace_back(line.at("target").as_string().c_str());
      const std::string next = page.text("next");
      cursor = next.empty() ? "" : "&cursor=" + next;
    } while (!cursor.empty());
    return out;
  };
  for (const char* limit : {"1", "2", "3", "100"}) {
    std::vector<std::string> newest = targets("&order=newest", limit);
    const std::vector<std::string> oldest = targets("&order=oldest", limit);
    ASSERT_GE(newest.size(), 3U);
    EXPECT_EQ(newest[0], "c") << limit;
    EXPECT_EQ(oldest, targets("", limit)) << "that is the default";
    std::reverse(newest.begin(), newest.end());
    EXPECT_EQ(newest, oldest) << limit;
  }
  EXPECT_EQ(get("/v1/audit?order=sideways").problem(), "invalid-parameter");
}

// req: api.holds.1
TEST_F(ApiJobs, HoldsPauseWhatTheyFit) {
  EXPECT_EQ(
      put("/v1/holds/night", R"({"destination_prefix":"sh","reason":"night"})").text("answer"),
      "done");
  const std::string id = submit("shop");
  EXPECT_TRUE(transport.started.empty());
  EXPECT_NE(get("/v1/messages/" + id + "/explain").text("why").find("night"), std::string::npos);
  EXPECT_EQ(get("/v1/holds").json().at("holds").at(0).at("name"), "night");
  EXPECT_EQ(post("/v1/destinations/shop/resume").text("answer"), "nothing");
  EXPECT_EQ(remove("/v1/holds/night").text("answer"), "done");
  pass(1s);
  EXPECT_EQ(transport.started.size(), 1U);
  EXPECT_EQ(remove("/v1/holds/night").problem(), "not-found");
  EXPECT_EQ(put("/v1/holds/night", R"({"why":"x"})").problem(), "unknown-field");
  const auto because = [&](std::size_t bytes) {
    return put("/v1/holds/night", R"({"reason":")" + std::string(bytes, 'x') + "\"}");
  };
  EXPECT_EQ(because(199).text("answer"), "done");
  EXPECT_EQ(because(200).text("answer"), "done");
  EXPECT_EQ(because(201).problem(), "invalid-field");
}

// req: engine.dead.6, api.deadletters.2
TEST_F(ApiJobs, LettersAreExportedAndImportedOnce) {
  const std::string a = dead_letter("shop");
  const std::string b = dead_letter("bank");
  const Reply first = get("/v1/dead-letters/export?limit=1");
  ASSERT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.content_type, "application/x-ndjson");
  const std::size_t end = first.body.find('\n');
  const auto next = boost::json::parse(first.body.substr(end + 1)).at("next").as_string();
  const Reply second = get("/v1/dead-letters/export?cursor=" + std::string(next));
  const std::string lines = first.body.substr(0, end + 1) + second.body;
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  const std::string of_a =
      lines.substr(lines.find(a) - 7, lines.find('\n', lines.find(a)) - lines.find(a) + 7);
  EXPECT_EQ(checker->check_schema("LetterLine", of_a), "");

  for (const bool again : {false, true}) {
    const Stream import = stream({}, "/v1/dead-letters/import");
    import.sink(lines + "{\"id\":\"x\"}\n", true);
    settle();
    const auto answers = import.lines();
    ASSERT_EQ(answers.size(), 3U);
    const auto told = boost::json::parse(answers[0]);
    EXPECT_EQ(told.as_object().contains("replayed"), again);
    EXPECT_NE(answers[2].find("problem"), std::string::npos);
    const std::string id(told.at("id").as_string());
    const Reply message = get("/v1/messages/" + id + "?body=true");
    EXPECT_EQ(message.text("body"), R"({"n":1})");
    const std::string origin = message.text("redrives");
    EXPECT_TRUE(origin == a || origin == b);
  }
  EXPECT_EQ(transport.started.size(), 4U) << "two died, two were brought";
  EXPECT_EQ(post("/v1/dead-letters/import", "{}").problem(), "unsupported-media-type");
  EXPECT_EQ(get("/v1/dead-letters/export?cursor=AAAA").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/dead-letters/export?limit=101").problem(), "invalid-parameter");
}

}  // namespace
}  // namespace postrider::api
