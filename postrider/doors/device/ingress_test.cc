#include <algorithm>

#include "postrider/doors/device/events.h"
#include "postrider/doors/device/rig_testing.h"

namespace postrider::device_door {
namespace {

class DeviceIngress : public DeviceRig {
 protected:
  static std::string up(const std::string& deduplication = "d1") {
    return R"({"deduplicationId":")" + deduplication +
           R"(","deviceInfo":{"devEui":"0000047003333623"},"fPort":1,"data":"aAE="})";
  }
  static RigHeaders secret(const std::string& value = "open sesame") {
    return {{"x-postrider-secret", value}};
  }
  std::vector<Arrival> arrivals() {
    std::vector<Arrival> out;
    Query query;
    query.what = Query::What::kArrivals;
    const Door door = host->post({}, std::move(query), [&](Answer answer) {
      if (auto* page = std::get_if<ArrivalPage>(&answer.view)) out = std::move(page->arrivals);
    });
    EXPECT_EQ(door, Door::kOpen);
    settle();
    return out;
  }
  Reply bring(const std::string& event, const std::string& body) {
    return post("/ingress/lorawan?event=" + event, body, secret());
  }
};

// req: device.api.8
TEST_F(DeviceIngress, IsAnsweredWhenTheEventIsDurable) {
  store.held = true;
  const RigRequest request{"POST", "/ingress/lorawan?event=up", up(), secret()};
  const auto exchange = send(request);
  settle();
  EXPECT_FALSE(exchange->response.has_value());
  store.release();
  settle();
  const Reply reply = reply_of(request, *exchange);
  EXPECT_EQ(reply.status, 204);
  EXPECT_EQ(reply.body, "");
  const auto all = arrivals();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].bytes, up()) << "as it came";
  EXPECT_EQ(to_string(all[0].source), "lorawan up json");
  EXPECT_EQ(all[0].profile, "device");
}

// req: device.api.8
TEST_F(DeviceIngress, WaitsForNothingThatAnEventCauses) {
  enqueue({{"correlationId", R"("c1")"}});
  ASSERT_EQ(transport.started.size(), 1U);  // and nobody answers it, nor anything else
  for (int i = 0; i < 20; ++i) EXPECT_EQ(bring("up", up("d" + std::to_string(i))).status, 204);
  EXPECT_EQ(transport.started.size(), 1U);
  EXPECT_EQ(arrivals().size(), 20U);
}

// req: device.ack.3
TEST_F(DeviceIngress, HandsTheProfileTheSettingsOfThePlugin) {
  door_options.plugins[0].settings.emplace_back("pair_window", "3s");
  door_options.plugins[0].settings.emplace_back("events", "billing");
  open();
  EXPECT_EQ(bring("up", up()).status, 204);
  ASSERT_EQ(arrivals().size(), 1U);
  EXPECT_EQ(settings_received(), door_options.plugins[0].settings);
}

// req: device.api.8
TEST_F(DeviceIngress, RefusesWhatIsNoEvent) {
  EXPECT_EQ(error(400, post("/ingress/lorawan", up(), secret())), "the parameter event is missing");
  for (const char* body : {"", "{", "[]", "{}", R"({"deviceInfo":{}})", "not json"})
    EXPECT_NE(error(400, bring("up", body)), "") << body;
  const std::string_view unknown = "\npostrider_device_events_unknown_total ";
  EXPECT_NE(get("/metrics").body.find(std::string(unknown) + "0\n"), std::string::npos);
  EXPECT_EQ(bring("location", "whatever").status, 204) << "nobody knows it: counted, and left";
  EXPECT_NE(get("/metrics").body.find(std::string(unknown) + "1\n"), std::string::npos);
  EXPECT_NE(error(404, post("/ingress/nobody?event=up", up())), "");
  EXPECT_NE(error(404, post("/ingress/calin?event=up", up())), "") << "a vendor tells no events";
  EXPECT_TRUE(arrivals().empty());
}

// req: device.lim.1
TEST_F(DeviceIngress, TakesTwoHundredAndFiftySixKibibytesAndNoMore) {
  std::string body = up();
  body.append(kIngressBytesMax - body.size(), ' ');
  EXPECT_EQ(bring("up", body).status, 204);
  EXPECT_NE(error(413, bring("up", body + " ")), "");
}

// req: device.api.10
TEST_F(DeviceIngress, NeedsTheSecretOfItsPluginWhenThereIsOne) {
  EXPECT_NE(error(401, post("/ingress/lorawan?event=up", up())), "");
  for (const char* wrong : {"", "open sesam", "open sesame!", "Open sesame"})
    EXPECT_NE(error(401, post("/ingress/lorawan?event=up", up(), secret(wrong))), "") << wrong;
  EXPECT_NE(error(401, post("/ingress/lorawan?event=up", up(),
                            {{"x-postrider-secret", std::string(5000, 'x')}})),
            "");
  EXPECT_TRUE(arrivals().empty());
  door_options.plugins[0].secret_header = "x-other";
  open();
  EXPECT_EQ(post("/ingress/lorawan?event=up", up(), secret()).status, 401);
  EXPECT_EQ(post("/ingress/lorawan?event=up", up(), {{"x-other", "open sesame"}}).status, 204);
  door_options.plugins[0].secret.clear();
  open();
  EXPECT_EQ(post("/ingress/lorawan?event=up", up("d2")).status, 204);
  EXPECT_EQ(everything_said.find("open sesame"), std::string::npos);
}

// req: device.api.9
TEST_F(DeviceIngress, TakesAnEventOnce) {
  const std::string device = R"("deviceInfo":{"devEui":"0000047003333623"})";
  const std::vector<std::pair<std::string, std::string>> different = {
      {"up", up()},
      {"up", up("d2")},
      {"join", R"({"deduplicationId":"d1",)" + device + "}"},
      {"up", R"({"deduplicationId":"d1","deviceInfo":{"devEui":"0000047003333624"}})"},
      {"ack", R"({"queueItemId":"q1",)" + device + "}"},
      {"ack", R"({"queueItemId":"q2",)" + device + "}"},
      {"ack", R"({"queueItemId":"q2","deduplicationId":"d1",)" + device + "}"},
      {"txack", R"({"queueItemId":"q2","downlinkId":1,)" + device + "}"},
      {"txack", R"({"queueItemId":"q2","downlinkId":2,)" + device + "}"},
      {"log", R"({"code":"EXPIRED",)" + device + "}"},
      {"log", R"({"code":"F_CNT_DOWN",)" + device + "}"},
      {"log", R"({"code":"F_CNT_DOWN","time":"2026-01-01T00:00:00Z",)" + device + "}"},
      {"log", R"({"code":"F_CNT_DOWN","time":"2026-01-01T00:00:01Z",)" + device + "}"}};
  for (int round = 0; round < 2; ++round) {
    for (const auto& [event, body] : different)
      EXPECT_EQ(bring(event, round == 0 ? body : " " + body).status, 204) << event << body;
    EXPECT_EQ(arrivals().size(), different.size());
  }
}

TEST_F(DeviceIngress, ReadsProtobufToo) {
  chirpstack::Event event;
  event.kind = chirpstack::EventKind::kUp;
  event.dev_eui = "0000047003333623";
  event.deduplication_id = "d1";
  event.data = "x";
  RigHeaders headers = secret();
  headers.emplace_back("content-type", "application/octet-stream");
  const std::string bytes = chirpstack::encode_event_protobuf(event);
  EXPECT_EQ(post("/ingress/lorawan?event=up", bytes, headers).status, 204);
  EXPECT_EQ(bring("up", chirpstack::encode_event_json(event)).status, 204);
  ASSERT_EQ(arrivals().size(), 1U) << "the same event in another form";
  EXPECT_EQ(to_string(arrivals()[0].source), "lorawan up protobuf");
}

TEST_F(DeviceIngress, SaysWhenTheDoorIsShut) {
  host->drain();
  const Reply reply = bring("up", up());
  EXPECT_NE(error(503, reply), "");
  EXPECT_NE(reply.header("Retry-After"), "");
}

TEST_F(DeviceIngress, FeedsStoredEventsInAgain) {
  door_options.plugins.push_back(plugin("other", "chirpstack"));
  open();
  bring("up", up("d1"));
  pass(10s);
  for (int i = 0; i < 250; ++i) bring("up", up("e" + std::to_string(i)));
  post("/ingress/other?event=up", up("d1"));
  pass(10s);
  bring("up", up("f"));
  EXPECT_EQ(arrivals().size(), 100U) << "a page";
  const auto again = [&](const std::string& body) { return post("/ingress/lorawan/replay", body); };
  // The rig's wall clock began at 2027-01-15T08:00:00Z.
  EXPECT_EQ(again(R"({"since":"2027-01-15T08:00:05Z","until":"2027-01-15T08:00:15Z"})")
                .number("replayed"),
            250);
  EXPECT_EQ(again(R"({"since":"2027-01-15T08:00:15Z"})").number("replayed"), 251)
      << "those that were fed in again are there as well, and it ends, whatever the clock says";
  EXPECT_EQ(again(R"({"since":"2027-01-15T09:00:00Z"})").number("replayed"), 0);
  for (const char* body : {"{}", R"({"since":"yesterday"})", R"({"since":1})",
                           R"({"since":"2027-01-15T08:00:15Z","to":"x"})"})
    EXPECT_NE(error(400, again(body)), "") << body;
  EXPECT_NE(error(404, post("/ingress/calin/replay", R"({"since":"2027-01-15T08:00:15Z"})")), "");
}

class DeviceQueuesTest : public DeviceRig {};

// req: device.crash.5
TEST_F(DeviceQueuesTest, HoldsTheMessagesOfAPluginThatIsGoneAndLetsThemGoWhenItIsBack) {
  enqueue({{"correlationId", R"("c1")"}});
  enqueue({{"correlationId", R"("c2")"}});
  ASSERT_EQ(transport.started.size(), 1U);
  answer(0, 204);
  const auto plugins = door_options.plugins;
  door_options.plugins.erase(door_options.plugins.begin());
  open();
  settle();
  EXPECT_EQ(queue("lorawan.network:7").route.health, Health::kPaused);
  EXPECT_EQ(queue("lorawan.network:7").route.reason,
            "unserved: the plugin 'lorawan' is not configured");
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with("lorawan.network:7: "));
  pass(3600s);
  EXPECT_EQ(transport.started.size(), 1U) << "nothing is sent";
  EXPECT_EQ(get("/message/c2").status, 200) << "and nothing is lost";
  EXPECT_NE(error(400, enqueue()), "");
  open();
  EXPECT_EQ(warnings.size(), 1U) << "it is told once";
  routes->set_plugins(plugins);
  settle();
  EXPECT_EQ(queue("lorawan.network:7").route.health, Health::kNormal);
  pass(10s);
  EXPECT_EQ(transport.started.size(), 2U);
  // Nobody's hands did that, and no program's either.
  const std::string audit = get("/v1/audit").body;
  EXPECT_NE(audit.find(R"("actor":"device","action":"pause")"), std::string::npos) << audit;
  EXPECT_NE(audit.find(R"("actor":"device","action":"resume")"), std::string::npos) << audit;
  EXPECT_EQ(audit.find("library"), std::string::npos) << audit;
}

TEST_F(DeviceQueuesTest, GivesQueuesTheSettingsOfTheirPlugin) {
  enqueue();
  make_destination("shop");
  auto plugins = door_options.plugins;
  plugins[0].settings[1].second = "http://new.example:8080";
  routes->set_plugins(plugins);
  settle();
  EXPECT_EQ(setting_of(queue("lorawan.network:7").config.settings, "url"),
            "http://new.example:8080");
  EXPECT_EQ(queue("shop").route.health, Health::kNormal) << "others are left alone";
}

TEST_F(DeviceQueuesTest, LeavesAPauseOfTheOperatorAlone) {
  enqueue();
  post("/v1/destinations/lorawan.network:7/pause", R"({"reason":"works at the mast"})");
  const auto plugins = door_options.plugins;
  routes->set_plugins({});
  settle();
  routes->set_plugins(plugins);
  settle();
  EXPECT_EQ(queue("lorawan.network:7").route.health, Health::kPaused);
  EXPECT_EQ(queue("lorawan.network:7").route.reason, "works at the mast");
}

TEST_F(DeviceQueuesTest, GoesThroughAllOfThem) {
  for (int i = 0; i < 450; ++i) enqueue({{"networkId", std::to_string(i)}});
  routes->set_plugins({});
  settle();
  EXPECT_EQ(warnings.size(), 450U);
  for (const char* name : {"lorawan.network:0", "lorawan.network:449"})
    EXPECT_EQ(queue(name).route.health, Health::kPaused) << name;
}

TEST_F(DeviceQueuesTest, WaitsForTheDoor) {
  enqueue();
  store.next_outcome = CommitOutcome::kAmbiguous;
  enqueue();
  routes->set_plugins({});
  settle();
  pass(5s);
  pass(5s);
  EXPECT_EQ(queue("lorawan.network:7").route.health, Health::kPaused);
}

}  // namespace
}  // namespace postrider::device_door
