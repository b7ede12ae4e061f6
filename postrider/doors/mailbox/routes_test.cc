// Mailboxes over HTTP: reading, waiting, confirming, and tokens that are bound to some of them.
#include <string>

#include <gtest/gtest.h>

#include "postrider/api/http_api_testing.h"
#include "postrider/doors/mailbox/door.h"
#include "postrider/profiles/all.h"

namespace postrider {
namespace {

class MailboxDoor : public api::ApiRig {
 protected:
  MailboxDoor() {
    make_doors = [this] {
      return std::vector<std::shared_ptr<api::HttpDoor>>{doors::kMailboxDoor.open(config, {})};
    };
  }
  void SetUp() override {
    ApiRig::SetUp();
    make("box");
  }
  void make(const std::string& name, const std::string& settings = "{}") {
    const api::Reply made = this->put("/v1/destinations/" + name,
                                      R"({"profile":"mailbox","settings":)" + settings + "}");
    ASSERT_EQ(made.status, 200) << made.body;
  }
  std::string submit(const std::string& body, const std::string& box = "box") {
    const api::Reply reply =
        post("/v1/messages", R"({"destination":")" + box + R"(","body":)" + body + "}");
    EXPECT_EQ(reply.status, 202) << reply.body;
    return reply.text("id");
  }
  static std::vector<std::string> bodies(const api::Reply& reply) {
    std::vector<std::string> out;
    const boost::json::value json = reply.json();
    for (const auto& item : json.at("messages").as_array())
      out.emplace_back(item.at("body").as_string().c_str());
    return out;
  }
  using Texts = std::vector<std::string>;
  Config config;
};

// req: engine.mailbox.1, engine.mailbox.2, engine.mailbox.3
TEST_F(MailboxDoor, IsReadAndConfirmed) {
  const std::string one = submit("1");
  submit("2");
  const api::Reply all = get("/v1/mailboxes/box/messages");
  EXPECT_EQ(all.status, 200);
  EXPECT_EQ(bodies(all), (Texts{"1", "2"}));
  const api::Reply page = get("/v1/mailboxes/box/messages?limit=1");
  EXPECT_EQ(bodies(page), (Texts{"1"}));
  EXPECT_EQ(page.json().at("more").as_bool(), true);
  EXPECT_EQ(bodies(get("/v1/mailboxes/box/messages?cursor=" + page.text("cursor"))), (Texts{"2"}));
  const api::Reply done = post("/v1/mailboxes/box/confirm", R"({"ids":[")" + one + "\"]}");
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(done.number("confirmed"), 1);
  EXPECT_EQ(post("/v1/mailboxes/box/confirm", R"({"ids":[")" + one + "\"]}").number("gone"), 1);
  EXPECT_EQ(bodies(get("/v1/mailboxes/box/messages")), (Texts{"2"}));
  EXPECT_EQ(get("/v1/messages/" + one + "/explain").text("phase"), "delivered");
}

// req: engine.await.4
TEST_F(MailboxDoor, AReaderWaitsForSomething) {
  const api::RigRequest request{"GET", "/v1/mailboxes/box/messages?wait=30", "", {}};
  const auto waiting = send(request);
  settle();
  EXPECT_FALSE(waiting->response.has_value());
  submit("7");
  settle();
  ASSERT_TRUE(waiting->response.has_value());
  EXPECT_EQ(bodies(reply_of(request, *waiting)), (Texts{"7"}));
}

// req: engine.await.2
TEST_F(MailboxDoor, WhenNothingComesTheAnswerIsEmpty) {
  const api::RigRequest request{"GET", "/v1/mailboxes/box/messages?wait=30", "", {}};
  const auto waiting = send(request);
  settle();
  pass(29s);
  EXPECT_FALSE(waiting->response.has_value());
  pass(2s);
  settle();
  ASSERT_TRUE(waiting->response.has_value());
  EXPECT_EQ(bodies(reply_of(request, *waiting)), Texts{});
}

// req: engine.mailbox.4
TEST_F(MailboxDoor, AFullOneRefuses) {
  make("small", R"({"kept_max":"1"})");
  submit("1", "small");
  const api::Reply refused = post("/v1/messages", R"({"destination":"small","body":2})");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.problem(), "mailbox-full");
}

TEST_F(MailboxDoor, WhatIsWrongIsSaid) {
  EXPECT_EQ(get("/v1/mailboxes/nothing/messages").status, 404);
  EXPECT_EQ(get("/v1/mailboxes/box/messages?cursor=x").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/mailboxes/box/messages?wait=601").problem(), "invalid-parameter");
  EXPECT_EQ(get("/v1/mailboxes/box/messages?limit=101").problem(), "invalid-parameter");
  EXPECT_EQ(post("/v1/mailboxes/box/confirm", "{}").problem(), "missing-field");
  EXPECT_EQ(post("/v1/mailboxes/box/confirm", R"({"ids":"x"})").problem(), "invalid-field");
  EXPECT_EQ(post("/v1/mailboxes/box/confirm", R"({"ids":["x"]})").problem(), "invalid-field");
  std::string many = R"({"ids":[)";
  const std::string id = submit("1");
  for (int i = 0; i < 257; ++i) many.append(i == 0 ? "\"" : ",\"").append(id).append("\"");
  EXPECT_EQ(post("/v1/mailboxes/box/confirm", many + "]}").problem(), "invalid-field");
}

TEST_F(MailboxDoor, ATokenMayBeBoundToSome) {
  make("other");
  AccessToken bound{.name = "reader",
                    .tenant = "default",
                    .secret = "secret-of-the-reader",
                    .may_read = true,
                    .may_receive = true,
                    .mailboxes = {"box"}};
  AccessToken reads{
      .name = "looks", .tenant = "default", .secret = "secret-of-the-looker", .may_read = true};
  options.tokens = {bound, reads};
  open();
  const api::RigHeaders as_bound{{"authorization", "Bearer secret-of-the-reader"}};
  const api::RigHeaders as_looker{{"authorization", "Bearer secret-of-the-looker"}};
  EXPECT_EQ(get("/v1/mailboxes/box/messages", as_bound).status, 200);
  EXPECT_EQ(get("/v1/mailboxes/other/messages", as_bound).status, 403);
  EXPECT_EQ(post("/v1/mailboxes/other/confirm", R"({"ids":[]})", as_bound).status, 403);
  EXPECT_EQ(post("/v1/mailboxes/box/confirm", R"({"ids":[]})", as_bound).status, 200);
  EXPECT_EQ(get("/v1/mailboxes/other/messages", as_looker).status, 200);
  EXPECT_EQ(post("/v1/mailboxes/box/confirm", R"({"ids":[]})", as_looker).status, 403);
}

TEST_F(MailboxDoor, EveryRouteIsDescribed) { expect_described(); }

}  // namespace
}  // namespace postrider
