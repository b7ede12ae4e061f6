#include "postrider/doors/device/commands.h"

#include "postrider/doors/device/rig_testing.h"
#include "postrider/protocols/device/ulid.h"

namespace postrider::device_door {
namespace {

class DeviceEnqueue : public DeviceRig {
 protected:
  std::uint64_t live() { return static_cast<std::uint64_t>(conservation("live")); }
  std::int64_t conservation(const char* word) {
    return get("/v1/stats").json().at("conservation").at(word).to_number<std::int64_t>();
  }
  std::string batch_of(std::size_t count, const std::string& correlation) {
    std::string body = R"({"messages":[)";
    for (std::size_t i = 0; i < count; ++i) {
      body.append(i == 0 ? "" : ",");
      body.append(command({{"correlationId", '"' + correlation + std::to_string(i) + '"'}}));
    }
    return body + "]}";
  }
};

// req: device.api.1
TEST_F(DeviceEnqueue, AnswersWithTheMessageAndNotBeforeItIsDurable) {
  enqueue();  // the queue is there
  store.held = true;
  const RigRequest request{"POST", "/message/enqueue", command({{"correlationId", R"("c1")"}}), {}};
  const auto exchange = send(request);
  settle();
  EXPECT_FALSE(exchange->response.has_value());
  store.release();
  settle();
  const Reply reply = reply_of(request, *exchange);
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(reply.text("correlationId"), "c1");
  EXPECT_EQ(reply.text("deliveryQueueId"), "lorawan.network:7");
  EXPECT_EQ(reply.text("deliveryStatus"), "QUEUED");
  ASSERT_TRUE(device::parse_ulid(reply.text("id")));
}

// req: device.adm.1
TEST_F(DeviceEnqueue, MakesTheQueueOfTheNetworkOrTheGateway) {
  EXPECT_EQ(enqueue().text("deliveryQueueId"), "lorawan.network:7");
  EXPECT_EQ(enqueue({{"networkId", "null"}}).text("deliveryQueueId"), "lorawan.network:unassigned");
  const std::string device =
      R"({"type":"ELECTRICITY_METER","externalReference":"1","relayNode":{"id":"17"}})";
  EXPECT_EQ(enqueue({{"pluginId", R"("calin")"}, {"device", device}}).text("deliveryQueueId"),
            "calin.gateway:17");
  EXPECT_NE(error(400, enqueue({{"pluginId", R"("calin")"}})).find("device.relayNode"),
            std::string::npos);
  EXPECT_EQ(
      queue("calin.gateway:17").config.settings,
      (NamedTexts{{"way", "calin-v1"}, {"url", "http://far.example:8080"}, {"plugin", "calin"}}));
}

// req: device.api.2
TEST_F(DeviceEnqueue, RefusesWhatIsNotInTheContract) {
  EXPECT_EQ(error(400, enqueue({{"comandType", "1"}})),
            "unknown key 'comandType', did you mean 'commandType'?");
  EXPECT_EQ(error(400, enqueue({{"commandType", R"("READ_REPORT")"}})),
            "commandType: only a device says READ_REPORT; it is no command");
  EXPECT_EQ(error(400, enqueue({{"pluginId", R"("lorawn")"}})),
            "pluginId: there is no plugin 'lorawn', did you mean 'lorawan'?");
  EXPECT_NE(error(400, post("/message/enqueue", "{")), "");
  EXPECT_NE(error(400, post("/message/enqueue", "[]")), "");
  EXPECT_NE(error(400, post("/message/enqueue", R"({"priority":1,"priority":2})")), "");
  EXPECT_NE(error(400, post("/message/enqueue")), "");
  EXPECT_NE(error(415, post("/message/enqueue", "x", {{"content-type", "text/plain"}})), "");
  EXPECT_NE(error(415, post("/message/enqueue", "{}", {{"content-encoding", "gzip"}})), "");
  EXPECT_EQ(conservation("accepted"), 0);
}

// req: device.lim.1
TEST_F(DeviceEnqueue, TakesBodiesOfSixtyFourKibibytesAndNoMore) {
  std::string body = command();
  body.append(device::kMessageBytesMax - body.size(), ' ');
  EXPECT_EQ(post("/message/enqueue", body).status, 201);
  EXPECT_NE(error(413, post("/message/enqueue", body + " ")), "");
}

// req: device.api.4
TEST_F(DeviceEnqueue, IsIdempotentByCorrelationIdAndPhase) {
  const Reply first = enqueue({{"correlationId", R"("c1")"}});
  const Reply again =
      post("/message/enqueue", " " + command({{"correlationId", R"("c1")"}, {"phase", "null"}}));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.text("id"), first.text("id"));
  EXPECT_EQ(again.text("commandType"), "READ_CREDIT");
  EXPECT_EQ(error(409, enqueue({{"correlationId", R"("c1")"}, {"priority", "2"}})),
            "correlationId and phase were used with other content; nothing was done");
  EXPECT_EQ(enqueue({{"correlationId", R"("c1")"}, {"phase", R"("A")"}}).status, 201);
  EXPECT_EQ(enqueue({{"correlationId", R"("c2")"}}).status, 201);
  EXPECT_EQ(enqueue().status, 201);
  EXPECT_EQ(enqueue().status, 201) << "without a correlation id each is new";
  EXPECT_EQ(conservation("accepted"), 5);
}

// req: device.api.4
TEST_F(DeviceEnqueue, ShowsTheSameMessageAfterItsEnd) {
  const Reply first = enqueue({{"correlationId", R"("c1")"}});
  answer(0, 204);
  EXPECT_EQ(conservation("live"), 0);
  const Reply again = enqueue({{"correlationId", R"("c1")"}});
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.text("id"), first.text("id"));
  EXPECT_EQ(transport.started.size(), 1U);
}

TEST_F(DeviceEnqueue, MakesAQueueAnewThatSomebodyRemoved) {
  enqueue({{"correlationId", R"("c1")"}});
  answer(0, 204);
  EXPECT_EQ(remove("/v1/destinations/lorawan.network:7").status, 200);
  EXPECT_EQ(enqueue({{"correlationId", R"("c2")"}}).status, 201);
}

TEST_F(DeviceEnqueue, SaysWhyAQueueCouldNotBeMade) {
  door_options.plugins[0].settings = {{"way", "chirpstack"}};
  open();
  const Reply reply = enqueue();
  EXPECT_EQ(error(503, reply), "the queue could not be made: url: is missing");
  EXPECT_EQ(reply.header("Retry-After"), "5");
}

// req: device.to.6
TEST_F(DeviceEnqueue, TakesAnExpiry) {
  EXPECT_EQ(enqueue({{"expiresAt", R"("2030-01-01T00:00:00Z")"}}).status, 201);
  EXPECT_EQ(error(400, enqueue({{"expiresAt", R"("2020-01-01T00:00:00Z")"}})),
            "the message has expired already");
}

// req: device.api.11
TEST_F(DeviceEnqueue, TakesUpToAThousandInOneCommitAndAnswersEach) {
  enqueue();  // the queue is there
  store.held = true;
  const RigRequest request{"POST", "/messages/enqueue", batch_of(1000, "c"), {}};
  const auto exchange = send(request);
  settle();
  EXPECT_FALSE(exchange->response.has_value());
  store.release();
  settle();
  const Reply reply = reply_of(request, *exchange);
  EXPECT_EQ(reply.status, 200);
  const auto json = reply.json();
  const auto& results = json.at("results").as_array();
  ASSERT_EQ(results.size(), 1000U);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].at("status").as_int64(), 201);
    EXPECT_EQ(results[i].at("message").at("correlationId").as_string(), "c" + std::to_string(i));
  }
  EXPECT_EQ(live(), 1001U);
  EXPECT_NE(error(400, post("/messages/enqueue", batch_of(1001, "d"))), "");
  EXPECT_NE(error(400, post("/messages/enqueue", R"({"messages":[]})")), "");
  EXPECT_NE(error(400, post("/messages/enqueue", R"({"messages":{}})")), "");
  EXPECT_NE(error(400, post("/messages/enqueue", R"({"message":[]})")), "");
  EXPECT_EQ(live(), 1001U);
}

// req: device.adm.15
TEST_F(DeviceEnqueue, ABatchForAnIdleQueueStartsWithItsHighestPriority) {
  const auto one = [&](const char* id, const char* priority) {
    return command({{"correlationId", "\"" + std::string(id) + "\""}, {"priority", priority}});
  };
  const std::string body = R"({"messages":[)" + one("a", "1") + "," + one("b", "5") + "," +
                           one("c", "3") + "," + command({{"priority", "-1"}}) + "]}";
  EXPECT_EQ(post("/messages/enqueue", body).status, 200);
  EXPECT_EQ(get("/message/b").text("deliveryStatus"), "SENT_TO_NS");
  EXPECT_EQ(get("/message/a").text("deliveryStatus"), "QUEUED");
  EXPECT_EQ(get("/message/c").text("deliveryStatus"), "QUEUED");
}

TEST_F(DeviceEnqueue, GivesEachOfABatchItsOwnResult) {
  enqueue({{"correlationId", R"("c1")"}});
  const std::string body = R"({"messages":[)" + command({{"correlationId", R"("c1")"}}) + "," +
                           command({{"priority", "-1"}}) + "," +
                           command({{"correlationId", R"("c1")"}, {"networkId", "8"}}) + "," +
                           command({{"networkId", "9"}}) + ",7]}";
  const auto json = post("/messages/enqueue", body).json();
  const auto& results = json.at("results").as_array();
  ASSERT_EQ(results.size(), 5U);
  const auto status = [&](std::size_t i) { return results[i].at("status").as_int64(); };
  EXPECT_EQ(status(0), 200);
  EXPECT_EQ(status(1), 400);
  EXPECT_EQ(results[1].at("error").as_string(), "priority: must be a whole number from 0 to 65535");
  EXPECT_EQ(status(2), 409);
  EXPECT_EQ(status(3), 201);
  EXPECT_EQ(status(4), 400);
}

// req: device.lim.2
TEST_F(DeviceEnqueue, TakesNoMoreThanMayBeAliveAndThrowsNothingOut) {
  host_options.shard.engine.limits.live_max = 3;
  open();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(enqueue().status, 201) << i;
  const Reply full = enqueue();
  EXPECT_NE(error(503, full), "");
  EXPECT_EQ(full.header("Retry-After"), "10");
  EXPECT_EQ(live(), 3U);
  answer(0, 204);
  EXPECT_EQ(enqueue().status, 201) << "one has ended";
  EXPECT_EQ(enqueue().status, 503);
  const auto json = post("/messages/enqueue", batch_of(2, "c")).json();
  EXPECT_EQ(json.at("results").at(0).at("status").as_int64(), 503);
  EXPECT_EQ(live(), 3U);
}

// req: device.lim.2
TEST_F(DeviceEnqueue, IsFullForTheOtherWaysInAsWellButNotForOtherProfiles) {
  host_options.shard.engine.limits.live_max = 2;
  open();
  make_destination("shop");
  post("/v1/destinations/shop/pause");
  EXPECT_EQ(enqueue({{"correlationId", R"("c1")"}}).status, 201);
  const auto by_name = [&] {
    return R"({"destination":"lorawan.network:7","body":)" + command() + "}";
  };
  EXPECT_EQ(post("/v1/messages", by_name()).status, 202) << "the last place";
  const Reply full = post("/v1/messages", by_name());
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.problem(), "busy");
  EXPECT_EQ(full.header("Retry-After"), "10");
  const Stream batch = stream();
  batch.sink(by_name() + "\n" + by_name() + "\n", true);
  settle();
  ASSERT_EQ(batch.lines().size(), 2U);
  for (const std::string& line : batch.lines())
    EXPECT_NE(line.find("too many messages are alive"), std::string::npos) << line;
  EXPECT_EQ(enqueue({{"correlationId", R"("c1")"}}).status, 200) << "a repeat needs no place";
  EXPECT_EQ(enqueue().status, 503);
  EXPECT_EQ(live(), 2U);
  submit("shop");
  EXPECT_EQ(live(), 3U) << "webhooks wait on disk, as many as it takes";
  answer(0, 204);
  EXPECT_EQ(enqueue().status, 503) << "they count all the same";
  EXPECT_EQ(live(), 2U);
}

TEST_F(DeviceEnqueue, FillsTheLastPlaceOfABatchAndRefusesTheRest) {
  host_options.shard.engine.limits.live_max = 3;
  open();
  enqueue();
  const Reply reply = post("/messages/enqueue", batch_of(4, "c"));
  const auto json = reply.json();
  std::string statuses;
  for (const auto& result : json.at("results").as_array())
    statuses += std::to_string(result.at("status").as_int64()) + " ";
  EXPECT_EQ(statuses, "201 201 503 503 ");
  EXPECT_EQ(reply.header("Retry-After"), "10");
}

TEST_F(DeviceEnqueue, SaysWhenTheDoorIsShut) {
  host->set_space(false);
  const Reply reply = enqueue();
  EXPECT_NE(error(503, reply), "");
  EXPECT_EQ(reply.header("Retry-After"), "30");
  host->set_space(true);
  EXPECT_EQ(enqueue().status, 201);
}

TEST_F(DeviceEnqueue, SaysWhenNobodyCanTell) {
  enqueue();
  store.next_outcome = CommitOutcome::kAmbiguous;
  const Reply reply = enqueue({{"correlationId", R"("c1")"}});
  EXPECT_NE(error(503, reply).find("repeat the request with the same correlationId"),
            std::string::npos);
}

// req: device.api.10
TEST_F(DeviceEnqueue, NeedsATokenWhenThereAreAny) {
  options.tokens = {{"in", "default", "token-submit-0123", true, false, false},
                    {"out", "default", "token-read-012345", false, true, false}};
  open();
  const RigHeaders submit = {{"authorization", "Bearer token-submit-0123"}};
  const RigHeaders read = {{"authorization", "Bearer token-read-012345"}};
  const std::string body = command({{"correlationId", R"("c1")"}});
  const Reply without = post("/message/enqueue", body);
  EXPECT_NE(error(401, without), "");
  EXPECT_NE(without.header("WWW-Authenticate"), "");
  EXPECT_NE(error(403, post("/message/enqueue", body, read)), "");
  EXPECT_EQ(post("/message/enqueue", body, submit).status, 201);
  EXPECT_EQ(get("/message/c1", submit).status, 403);
  EXPECT_EQ(get("/message/c1", read).status, 200);
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/metrics").status, 200);
  door_options.metrics = "token";
  open();
  EXPECT_EQ(get("/metrics").status, 401);
  door_options.metrics = "open";
  door_options.plugins.clear();
  open();
  EXPECT_EQ(get("/metrics").status, 401) << "without plugins nothing is opened";
}

class DeviceLookup : public DeviceRig {
 protected:
  void SetUp() override {
    DeviceRig::SetUp();
    c1 = enqueue({{"correlationId", R"("c1")"}}).text("id");
  }
  std::string c1;
};

// req: device.api.5
TEST_F(DeviceLookup, FindsALiveMessageByItsCorrelationId) {
  EXPECT_EQ(get("/message/c1").text("id"), c1);
  EXPECT_EQ(get("/message/" + c1).text("id"), c1) << "its own id does as well";
  EXPECT_NE(error(404, get("/message/c2")), "");
  EXPECT_NE(error(404, get("/message/7ZZZZZZZZZZZZZZZZZZZZZZZZZ")), "");
  EXPECT_NE(error(404, get("/message/" + std::string(129, 'x'))), "");
  const std::string odd = enqueue({{"correlationId", R"("a/b c%")"}}).text("id");
  EXPECT_EQ(get("/message/a%2Fb%20c%25").text("id"), odd);
  answer(0, 204);
  EXPECT_NE(error(404, get("/message/c1")), "") << "once it has ended";
}

// req: device.api.5
TEST_F(DeviceLookup, PrefersTheOneWithoutAPhaseAndThenTheLowest) {
  const auto phased = [&](const std::string& id, const std::string& phase) {
    return enqueue({{"correlationId", '"' + id + '"'}, {"phase", '"' + phase + '"'}}).text("id");
  };
  const std::string b = phased("c1", "B");
  EXPECT_EQ(get("/message/c1").text("id"), c1);
  EXPECT_EQ(get("/message/c1?phase=B").text("id"), b);
  EXPECT_NE(error(404, get("/message/c1?phase=A")), "");
  EXPECT_NE(error(400, get("/message/c1?phase=D")), "");
  EXPECT_NE(error(400, get("/message/c1?fase=A")), "");
  const std::string c = phased("c2", "C");
  const std::string a = phased("c2", "A");
  EXPECT_EQ(get("/message/c2").text("id"), a);
  answer(0, 204);
  EXPECT_EQ(get("/message/c1").text("id"), b) << "of those that live";
  EXPECT_EQ(get("/message/c2?phase=C").text("id"), c);
}

// req: device.api.6
TEST_F(DeviceLookup, ShowsTheHistoryUntilSevenDaysAfterTheEnd) {
  EXPECT_EQ(get("/message/c1/history").text("id"), c1);
  answer(0, 204);
  EXPECT_EQ(get("/message/c1/history").text("id"), c1);
  EXPECT_EQ(get("/message/" + c1 + "/history").text("id"), c1);
  EXPECT_NE(error(404, get("/message/c2/history")), "");
}

TEST_F(DeviceLookup, LeavesMessagesOfOtherProfilesAlone) {
  make_destination("shop");
  post("/v1/destinations/shop/pause");
  const std::string id = submit("shop");
  const auto parsed = parse_public_id(id);
  ASSERT_TRUE(parsed);
  const std::string ulid = device::to_ulid(parsed->high, parsed->low);
  EXPECT_NE(error(404, get("/message/" + ulid)), "");
  EXPECT_NE(error(404, get("/message/" + ulid + "/history")), "");
  EXPECT_EQ(result_of_cancel(ulid), "NOT_FOUND");
  EXPECT_EQ(get("/v1/messages/" + id).text("phase"), "queued");
  EXPECT_EQ(result_of_cancel(c1), "NOT_CANCELLABLE") << "but its own are found by their ids";
}

// req: device.can.1
TEST_F(DeviceLookup, CancelsOnlyWhatWaitsAndChangesNothingElse) {
  enqueue({{"correlationId", R"("c2")"}});
  EXPECT_EQ(result_of_cancel("c2"), "CANCELLED") << "it waits for its slot";
  EXPECT_EQ(result_of_cancel("c2"), "NOT_FOUND");
  EXPECT_EQ(result_of_cancel("c3"), "NOT_FOUND");
  EXPECT_EQ(result_of_cancel("c1"), "NOT_CANCELLABLE") << "it is being sent";
  answer(0, 500);
  EXPECT_EQ(get("/message/c1").status, 200) << "and was not cancelled when it could be";
  EXPECT_EQ(result_of_cancel("c1"), "CANCELLED") << "it waits for its next attempt";
  pass(60s);
  EXPECT_EQ(transport.started.size(), 1U);
}

// req: device.can.2
TEST_F(DeviceLookup, CancelsAtEveryInstantBetweenBackOffAndSlot) {
  for (int i = 0; i < 3; ++i) enqueue({{"correlationId", '"' + std::string(1, 'x') + '"'}});
  answer(0, 500);
  pass(2s);  // c1 is due again, but the network's slot goes to another
  EXPECT_EQ(transport.started.size(), 2U);
  EXPECT_EQ(result_of_cancel("x"), "NOT_CANCELLABLE");
  EXPECT_EQ(result_of_cancel("c1"), "CANCELLED");
}

// req: device.api.7
TEST_F(DeviceLookup, CancelsAllPhasesOfAnId) {
  for (const char* phase : {"A", "C"})
    enqueue({{"correlationId", R"("c2")"}, {"phase", '"' + std::string(phase) + '"'}});
  EXPECT_EQ(result_of_cancel("c2"), "CANCELLED");
  EXPECT_EQ(get("/message/c2").status, 404);
  enqueue({{"correlationId", R"("c1")"}, {"phase", R"("B")"}});
  EXPECT_EQ(result_of_cancel("c1"), "NOT_CANCELLABLE") << "one stays alive";
  EXPECT_EQ(get("/message/c1").text("id"), c1);
  EXPECT_EQ(get("/message/c1?phase=B").status, 404);
}

// req: device.api.7
TEST_F(DeviceLookup, CancelsManyInTheOrderAskedRepeatsIncluded) {
  std::string ids = R"("c1","nobody")";
  std::string wanted = "NOT_CANCELLABLE NOT_FOUND ";
  for (int i = 0; i < 120; ++i) {
    const std::string id = "\"m" + std::to_string(i) + "\"";
    enqueue({{"correlationId", id}});
    ids += "," + id;
    wanted += "CANCELLED ";
  }
  const Reply reply = post("/messages/cancel", R"({"correlationIds":[)" + ids + R"(,"m0","c1"]})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  std::string results;
  const auto json = reply.json();
  for (const auto& one : json.as_array()) results.append(one.at("result").as_string()).append(" ");
  EXPECT_EQ(results, wanted + "CANCELLED NOT_CANCELLABLE ");
  EXPECT_EQ(json.as_array()[2].at("correlationId").as_string(), "m0");
}

TEST_F(DeviceLookup, RefusesACancelThatMakesNoSense) {
  for (const char* body : {"{}", R"({"correlationId":""})", R"({"correlationId":1})",
                           R"({"correlationId":"c1","phase":"A"})"})
    EXPECT_NE(error(400, post("/message/cancel", body)), "") << body;
  for (const char* body : {"{}", R"({"correlationIds":[]})", R"({"correlationIds":["c1",1]})",
                           R"({"correlationIds":[""]})", R"({"correlationIds":"c1"})"})
    EXPECT_NE(error(400, post("/messages/cancel", body)), "") << body;
  std::string many = R"({"correlationIds":["x")";
  for (int i = 1; i < 1000; ++i) many += R"(,"x")";
  EXPECT_EQ(post("/messages/cancel", many + "]}").status, 200);
  EXPECT_NE(error(400, post("/messages/cancel", many + R"(,"x"]})")), "");
  host->drain();
  EXPECT_NE(error(503, post("/message/cancel", R"({"correlationId":"c1"})")), "");
}

}  // namespace
}  // namespace postrider::device_door
