#include "postrider/protocols/chirpstack/events.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/grpc/protobuf.h"
#include "postrider/protocols/hex_testing.h"

namespace postrider::chirpstack {
namespace {

constexpr const char* kDevice = R"("deviceInfo":{"tenantId":"t","applicationId":"app-1",)"
                                R"("deviceName":"meter","devEui":"0000047003333623","tags":{}})";

std::string with_device(std::string_view fields) {
  return std::string("{")
      .append(kDevice)
      .append(fields.empty() ? "" : ",")
      .append(fields)
      .append("}");
}

Event read(EventKind kind, std::string_view fields) {
  const Result<Event> event = decode_event_json(kind, with_device(fields));
  EXPECT_TRUE(event) << fields << " " << (event ? "" : event.error().detail);
  return event.value_or(Event());
}

bool refused(EventKind kind, std::string_view fields) {
  return !decode_event_json(kind, with_device(fields));
}

TEST(ChirpStackEvent, AnUnknownNameIsAKindOfItsOwnAndNoError) {
  EXPECT_EQ(parse_event_kind("up"), EventKind::kUp);
  EXPECT_EQ(parse_event_kind("ack"), EventKind::kAck);
  EXPECT_EQ(parse_event_kind("txack"), EventKind::kTxAck);
  EXPECT_EQ(parse_event_kind("log"), EventKind::kLog);
  EXPECT_EQ(parse_event_kind("join"), EventKind::kJoin);
  EXPECT_EQ(parse_event_kind("status"), EventKind::kStatus);
  for (const char* name : {"", "location", "integration", "UP", "txAck", "future"}) {
    EXPECT_EQ(parse_event_kind(name), EventKind::kOther) << name;
    EXPECT_TRUE(decode_event_json(parse_event_kind(name), "no json")) << name;
    EXPECT_TRUE(decode_event_protobuf(parse_event_kind(name), "no protobuf")) << name;
  }
}

// As a server of version 4 writes it, with fields that are none of our business.
// req: device.wire.8
TEST(ChirpStackEvent, ReadsAnUplink) {
  const Result<Event> event = decode_event_json(EventKind::kUp, R"({
    "deduplicationId":"3ac7e3c4-4401-4b8d-9386-a5c902f9202d",
    "time":"2026-08-12T14:30:00.775023242+00:00",
    "deviceInfo":{"tenantId":"52f14cd4","tenantName":"ChirpStack","applicationId":"17c82e96",
      "applicationName":"Test","deviceProfileId":"14855bf7","deviceProfileName":"p",
      "deviceName":"meter","devEui":"0000047003333623","deviceClassEnabled":"CLASS_C",
      "tags":{"key":"value"}},
    "devAddr":"00189440","adr":true,"dr":1,"fCnt":4294967295,"fPort":1,"confirmed":false,
    "data":"qg==","object":{"deep":[1,2,{"x":null}]},
    "rxInfo":[{"gatewayId":"0016c001f153a14c","uplinkId":4217106255,"rssi":-36,"snr":10.5,
      "channel":2,"location":{"latitude":1.5},"metadata":{"region_name":"eu868"}}],
    "txInfo":{"frequency":867100000}})");
  ASSERT_TRUE(event) << event.error().detail;
  EXPECT_EQ(event->dev_eui, "0000047003333623");
  EXPECT_EQ(event->application_id, "17c82e96");
  EXPECT_EQ(event->deduplication_id, "3ac7e3c4-4401-4b8d-9386-a5c902f9202d");
  EXPECT_EQ(event->time, Timestamp(1'786'545'000'775));
  EXPECT_EQ(event->f_cnt, 4294967295U);
  EXPECT_EQ(event->f_port, 1U);
  EXPECT_EQ(event->data, "\xAA");
  EXPECT_FALSE(event->confirmed);
  EXPECT_EQ(event->heard, (Heard{"0016c001f153a14c", -36, 10500}));
}

TEST(ChirpStackEvent, AnUplinkMayBeWithoutData) {
  EXPECT_EQ(read(EventKind::kUp, "").data, "");
  EXPECT_EQ(read(EventKind::kUp, R"("data":"")").data, "");
  EXPECT_EQ(read(EventKind::kUp, R"("data":null,"fPort":null)").data, "");
  EXPECT_FALSE(read(EventKind::kUp, R"("rxInfo":[])").heard);
  EXPECT_TRUE(refused(EventKind::kUp, R"("data":"?")"));
}

// req: device.ack.14
TEST(ChirpStackEvent, TheBestGatewayIsTheOneWithTheHighestSnrThenRssi) {
  const auto best = [](const char* list) {
    return read(EventKind::kUp, std::string(R"("rxInfo":)").append(list)).heard->gateway_id;
  };
  EXPECT_EQ(
      best(R"([{"gatewayId":"a","snr":5.25,"rssi":-10},{"gatewayId":"b","snr":5.5,"rssi":-99}])"),
      "b");
  EXPECT_EQ(best(R"([{"gatewayId":"a","snr":5,"rssi":-90},{"gatewayId":"b","snr":5,"rssi":-80}])"),
            "b");
  EXPECT_EQ(best(R"([{"gatewayId":"a","snr":5,"rssi":-80},{"gatewayId":"b","snr":5,"rssi":-80}])"),
            "a");
  // A missing SNR is zero: better than below zero, worse than above.
  EXPECT_EQ(best(R"([{"gatewayId":"a","snr":-1,"rssi":-10},{"gatewayId":"b","rssi":-99}])"), "b");
  EXPECT_EQ(best(R"([{"gatewayId":"a","rssi":-10},{"gatewayId":"b","snr":0.25,"rssi":-99}])"), "b");
}

// req: device.ack.5, device.wire.8
TEST(ChirpStackEvent, AnAckWithoutTheWordIsNegative) {
  const Event positive =
      read(EventKind::kAck,
           R"("deduplicationId":"d","queueItemId":"q","acknowledged":true,"fCntDown":3)");
  EXPECT_TRUE(positive.acknowledged);
  EXPECT_EQ(positive.queue_item_id, "q");
  EXPECT_EQ(positive.deduplication_id, "d");
  EXPECT_EQ(positive.f_cnt_down, 3U);
  EXPECT_FALSE(read(EventKind::kAck, R"("queueItemId":"q","acknowledged":false)").acknowledged);
  EXPECT_FALSE(read(EventKind::kAck, R"("queueItemId":"q")").acknowledged);
  EXPECT_FALSE(read(EventKind::kAck, R"("acknowledged":null)").acknowledged);
  EXPECT_TRUE(refused(EventKind::kAck, R"("acknowledged":"true")"));
  EXPECT_TRUE(refused(EventKind::kAck, R"("acknowledged":1)"));
}

// req: device.ack.2, device.wire.8
TEST(ChirpStackEvent, TheDownlinkIdIsANumberOrItsTextAndIsNotNeeded) {
  const auto id = [](const char* fields) {
    const Event event = read(EventKind::kTxAck, fields);
    EXPECT_EQ(event.queue_item_id, "q");
    return event.downlink_id;
  };
  EXPECT_EQ(id(R"("queueItemId":"q","downlinkId":3010917813)"), 3010917813U);
  EXPECT_EQ(id(R"("queueItemId":"q","downlinkId":"3010917813")"), 3010917813U);
  EXPECT_EQ(id(R"("queueItemId":"q","downlinkId":4294967295)"), 4294967295U);
  EXPECT_EQ(id(R"("queueItemId":"q","downlinkId":1e3)"), 1000U);
  EXPECT_EQ(id(R"("queueItemId":"q","downlinkId":null)"), 0U);
  EXPECT_EQ(id(R"("queueItemId":"q")"), 0U);
  for (const char* value : {"4294967296", "-1", "1.5", R"("")", R"("x")", R"("1x")", "true", "[]",
                            "18446744073709551615", "1e300"})
    EXPECT_TRUE(refused(EventKind::kTxAck, std::string(R"("downlinkId":)").append(value))) << value;
}

// req: device.ack.11
TEST(ChirpStackEvent, ThreeLogsSayThatTheItemIsGone) {
  const auto log = [](const char* code, const char* context) {
    return read(EventKind::kLog, std::string(R"("level":"ERROR","description":"x","code":)")
                                     .append(code)
                                     .append(R"(,"context":)")
                                     .append(context));
  };
  constexpr const char* kItem = R"({"queue_item_id":"q","other":"x"})";
  for (const char* code :
       {R"("EXPIRED")", R"("F_CNT_DOWN")", R"("DOWNLINK_PAYLOAD_SIZE")", "11", "10", "1"}) {
    const Event event = log(code, kItem);
    EXPECT_EQ(event.queue_item_id, "q") << code;
    EXPECT_TRUE(says_discarded(event)) << code;
    EXPECT_FALSE(says_discarded(log(code, "{}"))) << code;
  }
  for (const char* code : {R"("DOWNLINK_GATEWAY")", R"("UPLINK_CODEC")", R"("NEW_ONE")", "8", "99"})
    EXPECT_FALSE(says_discarded(log(code, kItem))) << code;
  EXPECT_EQ(log("8", "{}").code, "DOWNLINK_GATEWAY");
  EXPECT_EQ(log("99", "{}").code, "99");
  EXPECT_EQ(read(EventKind::kLog, "").code, "UNKNOWN");
  EXPECT_EQ(read(EventKind::kLog, "").level, "INFO");
  EXPECT_TRUE(refused(EventKind::kLog, R"("code":true)"));
  EXPECT_TRUE(refused(EventKind::kLog, R"("context":[])"));
  EXPECT_TRUE(refused(EventKind::kLog, R"("context":{"queue_item_id":1})"));
}

TEST(ChirpStackEvent, ReadsJoinAndStatus) {
  EXPECT_EQ(read(EventKind::kJoin, R"("devAddr":"00189440")").dev_addr, "00189440");
  const Event status = read(EventKind::kStatus, R"("margin":-7,"externalPowerSource":true,)"
                                                R"("batteryLevel":75.5)");
  EXPECT_EQ(status.margin, -7);
  EXPECT_TRUE(status.external_power_source);
  EXPECT_FALSE(status.battery_level_unavailable);
  EXPECT_EQ(status.battery_milli, 75'500);
}

TEST(ChirpStackEvent, WhatNamesNoDeviceIsRefused) {
  for (const EventKind kind : {EventKind::kUp, EventKind::kAck, EventKind::kTxAck, EventKind::kLog,
                               EventKind::kJoin, EventKind::kStatus}) {
    for (const char* body :
         {"", "{", "[]", "null", "{}", R"({"deviceInfo":[]})", R"({"deviceInfo":{}})",
          R"({"deviceInfo":{"devEui":"47003333623"}})", R"({"deviceInfo":{"devEui":7}})"})
      EXPECT_FALSE(decode_event_json(kind, body)) << name_of(kind) << body;
    EXPECT_FALSE(decode_event_protobuf(kind, "")) << name_of(kind);
    EXPECT_TRUE(refused(kind, R"("time":"yesterday")"));
    EXPECT_TRUE(refused(kind, R"("deduplicationId":5)"));
  }
  EXPECT_EQ(decode_event_json(EventKind::kJoin, R"({"deviceInfo":{"devEui":"A840410000000001"}})")
                ->dev_eui,
            "a840410000000001");
}

TEST(ChirpStackEvent, IsBounded) {
  const auto sized = [](std::size_t size) {
    std::string body = with_device(R"("object":"")");
    return body.insert(body.size() - 2, size - body.size(), 'x');
  };
  EXPECT_TRUE(decode_event_json(EventKind::kUp, sized(kEventBytesMax)));
  EXPECT_EQ(decode_event_json(EventKind::kUp, sized(kEventBytesMax + 1)).error().code,
            ErrorCode::kLimit);
  Event event = read(EventKind::kUp, "");
  event.data = std::string(kEventBytesMax, 'x');
  EXPECT_EQ(decode_event_protobuf(EventKind::kUp, encode_event_protobuf(event)).error().code,
            ErrorCode::kLimit);
  const std::string deep(200, '[');
  EXPECT_TRUE(refused(EventKind::kUp, R"("object":)" + deep + std::string(200, ']')));
  const std::string id(kIdBytesMax, 'x');
  EXPECT_FALSE(refused(EventKind::kAck, R"("queueItemId":")" + id + R"(")"));
  EXPECT_TRUE(refused(EventKind::kAck, R"("queueItemId":"x)" + id + R"(")"));
}

// The bytes are written out here, so that the encoder's slips cannot hide the decoder's.
// req: device.wire.8
TEST(ChirpStackEvent, ProtobufHasTheNumbersOfTheServer) {
  std::string device;
  protobuf::Writer(device)
      .bytes(1, "t")
      .bytes(3, "app-1")
      .bytes(7, "meter")
      .bytes(8, "0000047003333623");
  std::string ack;
  protobuf::Writer(ack)
      .bytes(1, "d")
      .message(2, from_hex("08e886f2d306"))
      .message(3, device)
      .bytes(4, "q")
      .boolean(5, true)
      .varint(6, 3);
  EXPECT_EQ(*decode_event_protobuf(EventKind::kAck, ack),
            read(EventKind::kAck, R"("deduplicationId":"d","time":"2026-08-12T14:30:00Z",)"
                                  R"("queueItemId":"q","acknowledged":true,"fCntDown":3)"));
  std::string txack;
  protobuf::Writer(txack)
      .varint(1, 3010917813U)
      .message(3, device)
      .bytes(4, "q")
      .varint(5, 9)
      .bytes(6, "gw")
      .message(7, "");
  EXPECT_EQ(*decode_event_protobuf(EventKind::kTxAck, txack),
            read(EventKind::kTxAck,
                 R"("downlinkId":3010917813,"queueItemId":"q","fCntDown":9,"gatewayId":"gw")"));
  std::string pair;
  protobuf::Writer(pair).bytes(1, "queue_item_id").bytes(2, "q");
  std::string other;
  protobuf::Writer(other).bytes(1, "other").bytes(2, "x");
  std::string log;
  protobuf::Writer(log)
      .message(2, device)
      .varint(3, 2)
      .varint(4, 11)
      .bytes(5, "x")
      .message(6, pair)
      .message(6, other);
  EXPECT_EQ(*decode_event_protobuf(EventKind::kLog, log),
            read(EventKind::kLog, R"("level":"ERROR","code":"EXPIRED","description":"x",)"
                                  R"("context":{"queue_item_id":"q"})"));
  std::string heard;
  protobuf::Writer(heard).bytes(1, "gw").varint(2, 7).i32(6, -36).f32(7, 10.5F);
  std::string up;
  protobuf::Writer(up)
      .bytes(1, "d")
      .message(3, device)
      .bytes(4, "00189440")
      .varint(7, 10)
      .varint(8, 1)
      .boolean(9, true)
      .bytes(10, "\xAA")
      .message(12, heard)
      .varint(77, 1);
  EXPECT_EQ(
      *decode_event_protobuf(EventKind::kUp, up),
      read(EventKind::kUp, R"("deduplicationId":"d","devAddr":"00189440","fCnt":10,"fPort":1,)"
                           R"("confirmed":true,"data":"qg==",)"
                           R"("rxInfo":[{"gatewayId":"gw","rssi":-36,"snr":10.5}])"));
  std::string status;
  protobuf::Writer(status).message(3, device).i32(5, -7).boolean(6, true).f32(8, 75.5F);
  EXPECT_EQ(
      *decode_event_protobuf(EventKind::kStatus, status),
      read(EventKind::kStatus, R"("margin":-7,"externalPowerSource":true,"batteryLevel":75.5)"));
}

std::string any_text() {
  return *rc::gen::resize(12, rc::gen::container<std::string>(rc::gen::inRange(' ', '\x7F')));
}

Event any_event() {
  Event event;
  event.kind = static_cast<EventKind>(*rc::gen::inRange(0, 6));
  event.dev_eui = *dev_eui_of(std::to_string(*rc::gen::inRange(1, 1'000'000'000)));
  event.application_id = any_text();
  event.device_name = any_text();
  event.time = Timestamp(*rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000));
  const bool has_id = event.kind != EventKind::kLog && event.kind != EventKind::kTxAck;
  if (has_id) event.deduplication_id = any_text();
  const auto number = [] { return *rc::gen::arbitrary<std::uint32_t>(); };
  switch (event.kind) {
    case EventKind::kUp:
      event.dev_addr = any_text();
      event.data = *rc::gen::arbitrary<std::string>();
      event.f_cnt = number();
      event.f_port = number();
      event.confirmed = *rc::gen::arbitrary<bool>();
      if (*rc::gen::arbitrary<bool>())
        event.heard =
            Heard{any_text(), *rc::gen::inRange(-200, 10), *rc::gen::inRange(-30'000, 30'000)};
      break;
    case EventKind::kAck:
    case EventKind::kTxAck:
      event.queue_item_id = any_text();
      event.f_cnt_down = number();
      if (event.kind == EventKind::kAck) event.acknowledged = *rc::gen::arbitrary<bool>();
      if (event.kind == EventKind::kTxAck) event.downlink_id = number();
      if (event.kind == EventKind::kTxAck) event.gateway_id = any_text();
      break;
    case EventKind::kLog:
      event.level = "WARNING";
      event.code = *rc::gen::element<std::string>("EXPIRED", "UNKNOWN", "DOWNLINK_GATEWAY", "77");
      event.description = any_text();
      event.queue_item_id = any_text();
      break;
    case EventKind::kJoin: event.dev_addr = any_text(); break;
    case EventKind::kStatus:
      event.margin = *rc::gen::inRange(-32, 32);
      event.battery_milli = *rc::gen::inRange(0, 100'000);
      event.external_power_source = *rc::gen::arbitrary<bool>();
      event.battery_level_unavailable = *rc::gen::arbitrary<bool>();
      break;
    case EventKind::kOther: break;
  }
  return event;
}

// req: device.wire.8
RC_GTEST_PROP(ChirpStackEvent, BothFormsGiveTheSameEvent, ()) {
  const Event event = any_event();
  const Result<Event> from_json = decode_event_json(event.kind, encode_event_json(event));
  const Result<Event> from_protobuf =
      decode_event_protobuf(event.kind, encode_event_protobuf(event));
  RC_ASSERT(from_json.has_value() && from_protobuf.has_value());
  RC_ASSERT(*from_json == event);
  RC_ASSERT(*from_protobuf == event);
}

}  // namespace
}  // namespace postrider::chirpstack
