// Commands for devices that are sent again, and tokens that are made, by the routes and with the
// real profile.
#include <algorithm>

#include "postrider/api/texts.h"
#include "postrider/doors/device/rig_testing.h"
#include "postrider/profiles/all.h"
#include "postrider/protocols/device/ulid.h"

namespace postrider::device_door {
namespace {

class DeviceRuns : public DeviceRig {
 protected:
  DeviceRuns() {
    const auto all = all_profiles();
    profiles.assign(all.begin(), all.end());
    host_options.shard.engine.profiles = profiles;
    options.profiles = profiles;
    for (DevicePlugin& each : door_options.plugins)
      each.settings.insert(each.settings.end(), {{"retries", "0"}, {"spacing", "0"}});
    NamedTexts& vendor = door_options.plugins[1].settings;
    for (const char* name : {"company", "user", "password", "vend_password"})
      vendor.emplace_back(name, "x");
  }
  Reply turn_off(const std::string& correlation, const std::string& more = {}) {
    return enqueue({{"commandType", R"("TURN_OFF")"},
                    {"correlationId", '"' + correlation + '"'},
                    {"expiresAt", more}});
  }
  // Nothing left us.
  void refuse_last() {
    ASSERT_FALSE(transport.started.empty());
    WireReply reply;
    reply.end = WireEnd::kRefused;
    host->attempt_ended(transport.started.back().attempt, std::move(reply));
    settle();
  }
  static std::string hex(const std::string& ulid) {
    const auto id = device::parse_ulid(ulid);
    return id ? to_string(PublicId{id->high, id->low}) : std::string();
  }
  static std::string ulid(const std::string& hex) {
    const auto id = parse_public_id(hex);
    return id ? device::to_ulid(id->high, id->low) : std::string();
  }
  std::string redrive(const std::string& id, const std::string& query = {}) {
    const Reply reply = post("/v1/dead-letters/" + hex(id) + "/redrive" + query);
    EXPECT_EQ(reply.status, 202) << reply.body;
    return ulid(reply.text("id"));
  }
};

// req: device.api.4 by scenario A17
TEST_F(DeviceRuns, AreOneWhenTheReplyWasLostAndTheClientAsksAgain) {
  const RigRequest request{
      .method = "POST",
      .target = "/message/enqueue",
      .body = command({{"commandType", R"("TURN_OFF")"}, {"correlationId", R"("tk1")"}}),
      .headers = {}};
  const auto lost = send(request);
  lost->left = true;  // cut before the answer could leave
  settle();
  ASSERT_EQ(transport.started.size(), 1U) << "the command is on its way all the same";
  const Reply again = call(request);
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(again.text("deliveryStatus"), "SENT_TO_NS");
  EXPECT_EQ(get("/message/tk1").text("id"), again.text("id"));
  pass(5s);
  EXPECT_EQ(transport.started.size(), 1U) << "one command on air";
}

// req: device.again.4
TEST_F(DeviceRuns, AreFoundByTheCorrelationId) {
  const std::string first = turn_off("tk1").text("id");
  refuse_last();
  EXPECT_EQ(get("/message/tk1/history").text("outcome"), "failed");
  const std::string second = redrive(first);
  EXPECT_EQ(get("/message/tk1").text("id"), second) << "it lives again";
  EXPECT_EQ(turn_off("tk1").text("id"), second) << "a repeat is answered with the newest";
  EXPECT_EQ(result_of_cancel("tk1"), "NOT_CANCELLABLE") << "that one is on its way";
  const Reply history = get("/message/tk1/history");
  EXPECT_EQ(history.text("id"), second);
  const auto runs = history.json().at("runs").as_array();
  ASSERT_EQ(runs.size(), 2U) << history.body;
  EXPECT_EQ(runs[0].at("id").as_string(), first);
  EXPECT_EQ(runs[0].at("outcome").as_string(), "failed");
  EXPECT_EQ(runs[1].at("id").as_string(), second);
  EXPECT_EQ(runs[1].at("deliveryStatus").as_string(), "SENT_TO_NS");
  refuse_last();
  EXPECT_NE(error(404, get("/message/tk1")), "");
  EXPECT_EQ(get("/message/tk1/history").text("id"), second);
  EXPECT_EQ(get("/message/" + first + "/history").text("id"), second);
  EXPECT_EQ(get("/message/" + hex(second) + "/history").text("id"), second) << "as /v1 shows it";
}

// req: device.again.1
TEST_F(DeviceRuns, NeedAWordOfTheOperatorWhenTheFirstMayHaveRun) {
  const std::string soon = '"' + api::to_text(clock.read().wall + 1min) + '"';
  const std::string id = turn_off("tk1", soon).text("id");
  pass(2min);
  const Reply ended = get("/message/tk1/history");
  ASSERT_EQ(ended.text("outcome"), "expired") << ended.body;
  const std::string path = "/v1/dead-letters/" + hex(id) + "/redrive";
  const Reply refused = post(path);
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.problem(), "may-have-run");
  EXPECT_NE(refused.text("detail").find("even_if_it_ran"), std::string::npos) << refused.body;
  EXPECT_EQ(post("/v1/messages/" + hex(id) + "/resend").problem(), "may-have-run");
  EXPECT_EQ(post(path + "?even_if_it_ran=perhaps").status, 400);
  const Reply line = get("/v1/dead-letters/export");
  EXPECT_NE(line.body.find(R"("may_have_run":true)"), std::string::npos) << line.body;
  const Stream import = stream({}, "/v1/dead-letters/import");
  import.sink(line.body, true);
  settle();
  ASSERT_EQ(import.lines().size(), 1U);
  EXPECT_NE(import.lines()[0].find("may-have-run"), std::string::npos) << import.lines()[0];
  EXPECT_EQ(get("/message/tk1/history").text("id"), id) << "nothing was done so far";
  const std::string second = redrive(id, "?even_if_it_ran=true");
  EXPECT_EQ(get("/message/tk1/history").text("id"), second);
}

// req: device.again.3
TEST_F(DeviceRuns, ComeFromAnExportWhenItSaysThatTheyCannotHaveRun) {
  const std::string id = turn_off("tk1").text("id");
  refuse_last();
  const Reply line = get("/v1/dead-letters/export");
  EXPECT_NE(line.body.find(R"("may_have_run":false)"), std::string::npos) << line.body;
  const Stream import = stream({}, "/v1/dead-letters/import");
  import.sink(line.body, true);
  settle();
  EXPECT_EQ(import.lines()[0].find("problem"), std::string::npos) << import.lines()[0];
  EXPECT_NE(get("/message/tk1").text("id"), id);
  const Reply again = post("/v1/dead-letters/" + hex(id) + "/redrive");
  EXPECT_EQ(again.problem(), "may-have-run") << "its letter is still there: " << again.body;
}

// req: device.mint.1
TEST_F(DeviceRuns, TokensAreLookedUpLikeCommandsAndMadeOnce) {
  const RigRequest request{
      .method = "POST",
      .target = "/token/generate",
      .body = R"({"type":"TOP_UP_KWH","pluginId":"calin","issueDateString":"2026-08-12T14:30:00Z",)"
              R"("device":{"externalReference":"47003333623"},"payload":{"kwh":5},)"
              R"("correlationId":"m1"})",
      .headers = {}};
  const auto first = send(request);
  settle();
  ASSERT_EQ(transport.started.size(), 1U);
  const Reply live = get("/message/m1");
  EXPECT_EQ(live.text("commandType"), "TOP_UP_KWH");
  EXPECT_EQ(live.text("deliveryStatus"), "SENT_TO_NS");
  WireReply reply;
  reply.status = 200;
  reply.headers = {{"content-type", "application/json"}};
  reply.body = R"({"result_code":0,"reason":"OK","result":{"token":"12345678901234567890"}})";
  host->attempt_ended(transport.started[0].attempt, std::move(reply));
  settle();
  api->tick();
  settle();
  EXPECT_EQ(reply_of(request, *first).text("token"), "12345678901234567890");
  const Reply history = get("/message/m1/history");
  EXPECT_EQ(history.status, 200) << history.body;
  EXPECT_EQ(history.text("outcome"), "executed");
  EXPECT_NE(history.body.find("…7890"), std::string::npos) << history.body;
  EXPECT_EQ(history.body.find("1234567890123456"), std::string::npos) << history.body;
  EXPECT_EQ(get("/message/" + history.text("id") + "/history").text("outcome"), "executed");
  const auto second = send(request);
  settle();
  api->tick();
  settle();
  EXPECT_EQ(reply_of(request, *second).text("token"), "12345678901234567890");
  EXPECT_EQ(transport.started.size(), 1U) << "no second one was made";
  RigRequest other = request;
  other.body.replace(other.body.find("\"kwh\":5"), 7, "\"kwh\":6");
  EXPECT_NE(error(409, call(other)), "");
}

}  // namespace
}  // namespace postrider::device_door
