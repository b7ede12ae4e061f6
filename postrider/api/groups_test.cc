// Groups of destinations and messages to all who subscribe, over HTTP.
#include <boost/json.hpp>

#include "postrider/api/http_api_testing.h"

namespace postrider::api {
namespace {

class ApiGroups : public ApiRig {
 protected:
  void SetUp() override {
    ApiRig::SetUp();
    for (const char* name : {"shop", "bank", "store"}) make_destination(name);
    const Reply reply = put("/v1/groups/customers", R"({"members":[{"destination":"shop"},
        {"destination":"bank","types":["order.*","refund"]}]})");
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.text("answer"), "done");
  }
  static std::string names(const Reply& reply) {
    std::string out;
    const boost::json::value answer = reply.json();
    for (const auto& member : answer.at("members").as_array())
      out += std::string(member.at("destination").as_string()) + " ";
    return out;
  }
};

// req: api.fanout.1
TEST_F(ApiGroups, AreMadeChangedListedAndRemoved) {
  EXPECT_EQ(put("/v1/groups/customers", R"({"members":[{"destination":"shop","types":[]},
      {"destination":"bank","types":["order.*","refund"]}],"skip_closed":false})")
                .text("answer"),
            "nothing");
  EXPECT_EQ(
      post("/v1/groups/customers/members", R"({"members":[{"destination":"store","types":["*"]}]})")
          .status,
      200);
  Reply shown = get("/v1/groups/customers");
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_EQ(names(shown), "bank shop store ");
  EXPECT_EQ(boost::json::serialize(shown.json().at("members").at(0).at("types")),
            R"(["order.*","refund"])");
  EXPECT_EQ(call({"DELETE", "/v1/groups/customers/members?destination=bank"}).status, 200);
  EXPECT_EQ(names(get("/v1/groups/customers")), "shop store ");
  EXPECT_EQ(put("/v1/groups/others", R"({"members":[],"skip_closed":true})").status, 200);
  const Reply page = get("/v1/groups?limit=1");
  EXPECT_EQ(page.json().at("groups").at(0).at("name"), "customers");
  const Reply rest = get("/v1/groups?limit=1&cursor=" + page.text("next"));
  EXPECT_EQ(rest.json().at("groups").at(0).at("name"), "others");
  EXPECT_EQ(rest.json().at("groups").at(0).at("skip_closed"), true);
  EXPECT_EQ(call({"DELETE", "/v1/groups/others"}).status, 200);
  EXPECT_EQ(get("/v1/groups/others").problem(), "not-found");
  EXPECT_NE(get("/v1/audit").body.find("group-drop"), std::string::npos);
}

// req: api.fanout.1
TEST_F(ApiGroups, SayWhatIsWrongWithThem) {
  const auto bad = [&](const std::string& body) {
    return put("/v1/groups/customers", body).problem();
  };
  EXPECT_EQ(bad("{}"), "missing-field");
  EXPECT_EQ(bad(R"({"members":{}})"), "invalid-field");
  EXPECT_EQ(bad(R"({"members":["shop"]})"), "invalid-field");
  EXPECT_EQ(bad(R"({"members":[{}]})"), "missing-field");
  EXPECT_EQ(bad(R"({"members":[{"destination":"shop","types":"x"}]})"), "invalid-field");
  EXPECT_EQ(bad(R"({"members":[{"destination":"shop","types":[1]}]})"), "invalid-field");
  EXPECT_EQ(bad(R"({"members":[{"destination":"shop","types":["a b"]}]})"), "invalid-content");
  EXPECT_EQ(bad(R"({"members":[{"destination":"shop"},{"destination":"shop"}]})"),
            "invalid-content");
  EXPECT_EQ(bad(R"({"members":[{"destination":"nobody"}]})"), "not-found");
  EXPECT_EQ(bad(R"({"members":[],"skip_closed":1})"), "invalid-field");
  EXPECT_EQ(bad(R"({"members":[],"colour":1})"), "unknown-field");
  EXPECT_EQ(post("/v1/groups/customers/members", R"({"members":[],"skip_closed":true})").problem(),
            "unknown-field");
  EXPECT_EQ(call({"DELETE", "/v1/groups/customers/members"}).problem(), "invalid-parameter");
  EXPECT_EQ(put("/v1/groups/bad%20name", R"({"members":[]})").problem(), "invalid-field");
}

// req: api.fanout.2
TEST_F(ApiGroups, ServeAllWhoSubscribeUnderOneKey) {
  const RigHeaders key{{"idempotency-key", "one"}};
  const std::string body = R"({"type":"order.paid","body":{"order":4711}})";
  const Reply sent = call({"POST", "/v1/groups/customers/messages", body, key});
  ASSERT_EQ(sent.status, 202) << sent.body;
  EXPECT_EQ(names(sent), "bank shop ");
  EXPECT_EQ(sent.text("id").size(), 16U);
  EXPECT_EQ(sent.text("durability"), "synced");
  ASSERT_EQ(transport.started.size(), 2U);
  for (const auto& started : transport.started)
    EXPECT_EQ(started.request.body, R"({"order":4711})");
  const Reply again = call({"POST", "/v1/groups/customers/messages", body, key});
  EXPECT_EQ(again.body, sent.body);
  EXPECT_EQ(again.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(call({"POST", "/v1/groups/customers/messages", R"({"type":"refund","body":1})", key})
                .problem(),
            "key-conflict");
  EXPECT_EQ(names(get("/v1/operations/one")), "bank shop ");
  const std::string id(sent.json().at("members").at(0).at("message").as_string());
  const Reply message = get("/v1/messages/" + id + "?body=true");
  EXPECT_EQ(message.text("fanout"), sent.text("id"));
  EXPECT_EQ(get("/v1/messages/" + id + "/explain").text("fanout"), sent.text("id"));
  EXPECT_NE(get("/metrics").body.find("postrider_fanout_accepted_total 1"), std::string::npos);
  EXPECT_NE(get("/metrics").body.find("postrider_fanout_shared_body_bytes 14"), std::string::npos);
  EXPECT_EQ(get("/v1/stats").json().at("fanout").at("shared_bodies"), 1);
  EXPECT_EQ(names(post("/v1/groups/customers/messages", R"({"body":"x"})")), "shop ");
}

// req: api.order.1, api.fanout.2
TEST_F(ApiGroups, KeepTheOrderOfAKeyAtEachMember) {
  const auto send = [&](const std::string& key) {
    return post("/v1/groups/customers/messages",
                R"({"type":"order.paid","body":1,"attributes":{"order-key":")" + key + "\"}}");
  };
  ASSERT_EQ(send("a").status, 202);
  EXPECT_EQ(transport.started.size(), 2U);
  ASSERT_EQ(send("a").status, 202);
  EXPECT_EQ(transport.started.size(), 2U);
  ASSERT_EQ(send("b").status, 202);
  EXPECT_EQ(transport.started.size(), 4U);
  answer(transport.started[0].attempt, 200);
  ASSERT_EQ(transport.started.size(), 5U);
  EXPECT_EQ(transport.started[4].request.target, transport.started[0].request.target);
}

// req: api.fanout.2
TEST_F(ApiGroups, RefuseAWholeMessageAndSayWhy) {
  const auto bad = [&](const std::string& body) {
    return post("/v1/groups/customers/messages", body).problem();
  };
  EXPECT_EQ(bad(R"({"type":"a b","body":1})"), "invalid-field");
  EXPECT_EQ(bad(R"({"type":1,"body":1})"), "invalid-field");
  EXPECT_EQ(bad(R"({"destination":"shop","body":1})"), "invalid-field");
  EXPECT_EQ(bad(R"({"idempotency_key":"k","body":1})"), "invalid-field");
  EXPECT_EQ(bad(R"({"type":"x"})"), "missing-field");
  EXPECT_EQ(bad(R"({"body":1,"colour":2})"), "unknown-field");
  EXPECT_EQ(post("/v1/groups/nobody/messages", R"({"body":1})").problem(), "not-found");
  EXPECT_EQ(post("/v1/messages", R"({"destination":"shop","body":1,"type":"x"})").problem(),
            "unknown-field");
  EXPECT_EQ(call({"DELETE", "/v1/destinations/bank"}).status, 200);
  const Reply gone = post("/v1/groups/customers/messages", R"({"type":"refund","body":1})");
  EXPECT_EQ(gone.problem(), "not-found");
  EXPECT_NE(gone.text("detail").find("member 'bank'"), std::string::npos) << gone.body;
  EXPECT_EQ(get("/v1/stats").json().at("conservation").at("accepted"), 0);
}

}  // namespace
}  // namespace postrider::api
