// Message ids as callers and receivers know them: one for each message, everywhere the same, and
// none that another store could show. ApiRig looks in every test that no address is shown.
#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"
#include "postrider/model/id_address.h"

namespace postrider::api {
namespace {

class ApiIds : public ApiRig {
 protected:
  void SetUp() override {
    ApiRig::SetUp();
    make_destination("shop");
  }
  MessageId address(const std::string& id) const {
    return host->ids().parse(id).value_or(MessageId());
  }
  std::string last_sent() const {
    return std::string(transport.started.back().request.headers.find("webhook-id"));
  }
};

// req: engine.name.7, webhook.signature.5
TEST_F(ApiIds, OneMessageHasOneIdOnEveryWayOut) {
  const auto events = send({"GET", "/v1/events?from=start", {}, {}});
  const std::string id = submit("shop");
  EXPECT_EQ(address(id).destination(), destination_id("shop", "shop", 0));
  EXPECT_EQ(last_sent(), id);
  EXPECT_EQ(get("/v1/messages/" + id).text("id"), id);
  EXPECT_EQ(get("/v1/messages/" + id + "/explain").text("id"), id);
  EXPECT_EQ(get("/v1/messages/" + id + "/timeline").text("id"), id);
  EXPECT_NE(get("/v1/messages").body.find(id), std::string::npos);
  answer_last(400);
  pass(1s);
  EXPECT_NE(events->text.find(id), std::string::npos) << events->text;
  for (const char* path :
       {"/v1/dead-letters", "/v1/dead-letters/groups", "/v1/dead-letters/export"})
    EXPECT_NE(get(path).body.find(id), std::string::npos) << path;
  const Reply again = post("/v1/dead-letters/" + id + "/redrive");
  ASSERT_EQ(again.status, 202) << again.body;
  EXPECT_EQ(again.text("redrives"), id);
  EXPECT_EQ(last_sent(), again.text("id"));
  EXPECT_EQ(get("/v1/messages/" + again.text("id")).text("redrives"), id);
  const std::string audit = get("/v1/audit").body;
  EXPECT_NE(audit.find("\"target\":\"" + id + "\""), std::string::npos) << audit;
  EXPECT_NE(audit.find("redrives " + id), std::string::npos) << audit;
}

// req: engine.name.7
TEST_F(ApiIds, ARestartKeepsThem) {
  const std::string id = submit("shop");
  open();
  EXPECT_EQ(get("/v1/messages/" + id).text("id"), id);
  EXPECT_EQ(last_sent(), id) << "the attempt that the restart forgot is made again";
}

// Any block deciphers to something; what is not ours is not there.
// req: engine.name.7
TEST_F(ApiIds, OfOtherStoresAndAddressesAreNotFound) {
  const std::string id = submit("shop");
  const MessageId inside = address(id);
  const std::string elsewhere = IdCodec({0xA9, 0x1C}).text(inside);
  for (const std::string& other :
       {elsewhere, to_string(inside), std::string(32, '0'), std::string(32, 'f')}) {
    EXPECT_EQ(get("/v1/messages/" + other).problem(), "not-found") << other;
    EXPECT_EQ(post("/v1/messages/" + other + "/cancel").problem(), "not-found") << other;
    EXPECT_EQ(post("/v1/messages/" + other + "/resend").problem(), "not-found") << other;
  }
  EXPECT_EQ(get("/v1/messages/" + id.substr(1)).problem(), "not-found");
  everything_said.clear();  // the tests of refusals repeat what they were asked for
}

// req: engine.name.7, engine.dead.6
TEST_F(ApiIds, ALetterFromElsewhereKeepsItsId) {
  const std::string elsewhere = "00112233445566778899aabbccddeeff";
  const std::string line = R"({"id":")" + elsewhere +
                           R"(","destination":"shop","body_base64":"eA==","attempts":0})" + "\n";
  for (const bool again : {false, true}) {
    const Stream import = stream({}, "/v1/dead-letters/import");
    import.sink(line, true);
    settle();
    const auto answers = import.lines();
    ASSERT_EQ(answers.size(), 1U);
    const auto told = boost::json::parse(answers[0]);
    ASSERT_TRUE(told.as_object().contains("id")) << answers[0];
    EXPECT_EQ(told.as_object().contains("replayed"), again);
    const std::string id(told.at("id").as_string());
    EXPECT_NE(id, elsewhere);
    EXPECT_EQ(get("/v1/messages/" + id).text("redrives"), elsewhere);
    EXPECT_EQ(get("/v1/operations/import:" + elsewhere).text("id"), id);
  }
}

}  // namespace
}  // namespace postrider::api
