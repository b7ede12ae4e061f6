#include "postrider/protocols/chirpstack/chirpstack.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/grpc/protobuf.h"
#include "postrider/protocols/hex_testing.h"

namespace postrider::chirpstack {
namespace {

using device::SendVerdict;

constexpr const char* kDevEui = "0000047003333623";
const std::string kData("\x68\x01");

constexpr const char* kEnqueueHex = "0a1a121030303030303437303033333333363233180120012a026801";

// req: device.wire.2, device.wire.7, device.send.2
TEST(ChirpStackEnqueue, IsTheOneOfTheVectors) {
  EXPECT_EQ(kEnqueuePath, "/api.DeviceService/Enqueue");
  const std::string bytes = encode_enqueue(make_command(kDevEui, kData, std::nullopt));
  EXPECT_EQ(to_hex(bytes), kEnqueueHex);
  EXPECT_EQ(to_hex(grpc::encode_frame(bytes)), std::string("000000001c") + kEnqueueHex);
  EXPECT_EQ(*grpc::decode_frame(grpc::encode_frame(bytes)), bytes);
  const Result<EnqueueRequest> request = decode_enqueue(bytes);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->item.dev_eui, kDevEui);
  EXPECT_EQ(request->item.f_port, 1U);
  EXPECT_TRUE(request->item.confirmed);
  EXPECT_EQ(request->item.data, kData);
  EXPECT_FALSE(request->flush_queue);
}

// req: device.wire.2, device.wire.7, device.send.3
TEST(ChirpStackEnqueue, CarriesItsExpiryAsInTheVectors) {
  const Timestamp at(1'786'545'000'000);  // 2026-08-12T14:30:00Z
  const std::string bytes = encode_enqueue(make_command(kDevEui, kData, at));
  EXPECT_EQ(to_hex(bytes),
            "0a22121030303030303437303033333333363233180120012a026801520608e886f2d306");
  EXPECT_EQ(decode_enqueue(bytes)->item.expires_at, at);
}

// req: device.wire.2, device.wire.7
TEST(ChirpStackGetQueue, IsTheOneOfTheVectors) {
  EXPECT_EQ(kGetQueuePath, "/api.DeviceService/GetQueue");
  EXPECT_EQ(to_hex(encode_get_queue(kDevEui)), "0a1030303030303437303033333333363233");
  EXPECT_EQ(*decode_get_queue(encode_get_queue(kDevEui)), kDevEui);
}

// req: device.wire.7, device.send.11
TEST(ChirpStackGetDevice, IsReadAndWrittenWithTheServersNumbers) {
  EXPECT_EQ(kGetDevicePath, "/api.DeviceService/Get");
  EXPECT_EQ(to_hex(encode_get_device(kDevEui)), "0a1030303030303437303033333333363233");
  EXPECT_EQ(*decode_get_device(encode_get_device(kDevEui)), kDevEui);
  const Device device{kDevEui, "app"};
  EXPECT_EQ(to_hex(encode_get_device_response(device)),
            "0a170a10303030303034373030333333333632332203617070");
  EXPECT_EQ(*decode_get_device_response(encode_get_device_response(device)), device);
  EXPECT_FALSE(decode_get_device_response("\x0A\x7F"));
}
// req: device.send.11
TEST(ChirpStackGetDevice, AnythingButOkLeavesTheCommandUnsent) {
  const auto verdict = [](grpc::Status status) {
    return read_get_device_reply(status, "").verdict;
  };
  EXPECT_EQ(verdict(grpc::Status::kNotFound), SendVerdict::kRejected);
  EXPECT_EQ(verdict(grpc::Status::kInvalidArgument), SendVerdict::kRejected);
  EXPECT_EQ(verdict(grpc::Status::kUnauthenticated), SendVerdict::kFailedAlarm);
  EXPECT_EQ(verdict(grpc::Status::kUnavailable), SendVerdict::kFailed);
  EXPECT_EQ(verdict(grpc::Status::kInternal), SendVerdict::kFailed);
  EXPECT_EQ(verdict(grpc::Status::kOk), SendVerdict::kFailed) << "not an end of both";
}

// req: device.wire.7
TEST(ChirpStackQueue, UnknownFieldsAreSkippedWhereverTheyAre) {
  std::string item;
  protobuf::Writer(item)
      .bytes(1, "item-1")
      .varint(99, 7)
      .f32(98, 1.5F)
      .message(6, "\x0A\x00")  // the object of a codec
      .bytes(97, "new")
      .varint(1, 5)  // a field that we know as another kind
      .varint(4, 1);
  std::string bytes;
  protobuf::Writer(bytes).varint(50, 1).varint(1, 3).message(2, item).bytes(51, "x");
  const Result<Queue> queue = decode_get_queue_response(bytes);
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->total_count, 3U);
  ASSERT_EQ(queue->items.size(), 1U);
  EXPECT_EQ(queue->items[0].id, "item-1");
  EXPECT_EQ(queue->items[0].f_port, 1U);
  std::string answer;
  protobuf::Writer(answer).varint(7, 1).bytes(1, "id").bytes(8, "x");
  EXPECT_EQ(*decode_enqueue_response(answer), "id");
}

TEST(ChirpStackQueue, BrokenAnswersAreErrors) {
  for (const char* hex : {"12", "1205", "1202080a0a", "0a05616263", "120b5209", "08"})
    EXPECT_FALSE(decode_get_queue_response(from_hex(hex))) << hex;
  EXPECT_FALSE(decode_enqueue_response(from_hex("0a05616263")));
  EXPECT_FALSE(decode_enqueue(""));
  EXPECT_TRUE(decode_get_queue_response("")->items.empty());
}

TEST(ChirpStackQueue, IsBounded) {
  std::string bytes;
  for (std::size_t i = 0; i < kQueueItemsMax; ++i) protobuf::Writer(bytes).message(2, "");
  EXPECT_EQ(decode_get_queue_response(bytes)->items.size(), kQueueItemsMax);
  protobuf::Writer(bytes).message(2, "");
  EXPECT_EQ(decode_get_queue_response(bytes).error().code, ErrorCode::kLimit);
  std::string id;
  protobuf::Writer(id).bytes(1, std::string(kIdBytesMax, 'x'));
  EXPECT_TRUE(decode_enqueue_response(id));
  id.clear();
  protobuf::Writer(id).bytes(1, std::string(kIdBytesMax + 1, 'x'));
  EXPECT_FALSE(decode_enqueue_response(id));
}

QueueItem any_item() {
  QueueItem item;
  item.id = *rc::gen::arbitrary<std::string>();
  item.dev_eui = *rc::gen::arbitrary<std::string>();
  item.data = *rc::gen::arbitrary<std::string>();
  item.confirmed = *rc::gen::arbitrary<bool>();
  item.is_pending = *rc::gen::arbitrary<bool>();
  item.is_encrypted = *rc::gen::arbitrary<bool>();
  item.f_port = *rc::gen::arbitrary<std::uint32_t>();
  item.f_cnt_down = *rc::gen::arbitrary<std::uint32_t>();
  if (*rc::gen::arbitrary<bool>())
    item.expires_at = Timestamp(*rc::gen::inRange<std::int64_t>(1, 253'402'300'799'000LL));
  return item;
}

RC_GTEST_PROP(ChirpStackQueue, GoesThroughBytesAndBack, ()) {
  Queue queue;
  queue.total_count = *rc::gen::arbitrary<std::uint32_t>();
  const int count = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) queue.items.push_back(any_item());
  RC_ASSERT(*decode_get_queue_response(encode_get_queue_response(queue)) == queue);
  const QueueItem item = any_item();
  const Result<EnqueueRequest> request = decode_enqueue(encode_enqueue(item));
  RC_ASSERT(request->item == item && !request->flush_queue);
}

std::string accepted_frame(std::string_view id) {
  return grpc::encode_frame(encode_enqueue_response(id));
}

// req: device.send.5, device.send.10
TEST(ChirpStackReply, OnlyOkWithAnIdIsAccepted) {
  const auto good = read_enqueue_reply(grpc::Status::kOk, "", accepted_frame("item-1"));
  EXPECT_EQ(good.verdict, SendVerdict::kAccepted);
  EXPECT_EQ(good.item, "item-1");
  for (const std::string& frame : {accepted_frame(""), std::string(), std::string("\0\0\0\0\5x", 6),
                                   grpc::encode_frame("\x0A\x05x")}) {
    const auto open = read_enqueue_reply(grpc::Status::kOk, "", frame);
    EXPECT_EQ(open.verdict, SendVerdict::kUnknown) << to_hex(frame);
    EXPECT_EQ(open.item, "");
  }
}

// req: device.send.10
TEST(ChirpStackReply, StatusesMeanWhatTheTableSays) {
  const std::pair<grpc::Status, SendVerdict> cases[] = {
      {grpc::Status::kInvalidArgument, SendVerdict::kRejected},
      {grpc::Status::kNotFound, SendVerdict::kRejected},
      {grpc::Status::kUnauthenticated, SendVerdict::kFailedAlarm},
      {grpc::Status::kPermissionDenied, SendVerdict::kFailedAlarm},
      {grpc::Status::kResourceExhausted, SendVerdict::kFailedAlarm},
      {grpc::Status::kDeadlineExceeded, SendVerdict::kUnknown},
      {grpc::Status::kInternal, SendVerdict::kUnknown},
      {grpc::Status::kUnknown, SendVerdict::kUnknown},
      {grpc::Status::kUnavailable, SendVerdict::kUnknown},
      {grpc::Status::kCancelled, SendVerdict::kUnknown},
      {grpc::Status::kAlreadyExists, SendVerdict::kUnknown},
      {grpc::Status::kAborted, SendVerdict::kUnknown},
      {grpc::Status::kUnimplemented, SendVerdict::kUnknown},
      {grpc::Status::kDataLoss, SendVerdict::kUnknown},
  };
  for (const auto& [status, verdict] : cases) {
    // A body does not turn a refusal into an acceptance.
    const auto reply = read_enqueue_reply(status, "because", accepted_frame("item-1"));
    EXPECT_EQ(reply.verdict, verdict) << grpc::name_of(status);
    EXPECT_EQ(reply.item, "");
    EXPECT_EQ(reply.reason, std::string(grpc::name_of(status)) + ": because");
  }
  EXPECT_EQ(read_enqueue_reply(grpc::Status::kUnauthenticated, "", "").reason, "UNAUTHENTICATED");
}

// req: device.send.10
TEST(ChirpStackReply, AnUnknownDeviceIsRejectedWhateverTheDatabase) {
  const auto verdict = [](const char* text) {
    return read_enqueue_reply(grpc::Status::kInternal, text, "").verdict;
  };
  EXPECT_EQ(verdict("insert or update on table \"device_queue_item\" violates foreign key "
                    "constraint \"device_queue_item_dev_eui_fkey\""),
            SendVerdict::kRejected);
  EXPECT_EQ(verdict("verletzt Fremdschlüssel-Constraint »device_queue_item_dev_eui_fkey«"),
            SendVerdict::kRejected);
  EXPECT_EQ(verdict("FOREIGN KEY constraint failed"), SendVerdict::kRejected);
  EXPECT_EQ(verdict("violates foreign key constraint \"device_tenant_id_fkey\""),
            SendVerdict::kUnknown);
  EXPECT_EQ(verdict("connection to database closed"), SendVerdict::kUnknown);
  EXPECT_EQ(read_enqueue_reply(grpc::Status::kUnknown, "FOREIGN KEY constraint failed", "").verdict,
            SendVerdict::kUnknown);
}

// req: device.send.2
TEST(ChirpStackDevEui, IsTheReferenceWithZerosInFront) {
  EXPECT_EQ(dev_eui_of("47003333623"), kDevEui);
  EXPECT_EQ(dev_eui_of("A"), "000000000000000a");
  EXPECT_EQ(dev_eui_of("0123456789abcdef"), "0123456789abcdef");
  for (const char* reference : {"", "0123456789abcdef0", "4700333362g", "470 0333"})
    EXPECT_EQ(dev_eui_of(reference), std::nullopt) << reference;
}

TEST(ChirpStackDevEui, GivesTheReferenceBack) {
  EXPECT_EQ(reference_of(kDevEui), "47003333623");
  EXPECT_EQ(reference_of("0000007003333623"), "07003333623");
  EXPECT_EQ(reference_of("0000147003333623"), "147003333623");
  EXPECT_EQ(reference_of("A840410000000001"), "a840410000000001");
  EXPECT_EQ(reference_of("0000000000000000"), "00000000000");
  for (const char* eui : {"", "47003333623", "00000470033336233", "000004700333362x"})
    EXPECT_EQ(reference_of(eui), std::nullopt) << eui;
}

TEST(ChirpStackMqtt, TopicsGoBothWays) {
  const EventTopic event{.application = "app-1", .dev_eui = kDevEui, .event = "txack"};
  EXPECT_EQ(event_topic(event), "application/app-1/device/0000047003333623/event/txack");
  EXPECT_EQ(parse_event_topic(event_topic(event)), event);
  EXPECT_EQ(event_filter("app-1"), "application/app-1/device/+/event/+");
  const CommandTopic command{.application = "app-1", .dev_eui = kDevEui};
  EXPECT_EQ(command_topic(command), "application/app-1/device/0000047003333623/command/down");
  EXPECT_EQ(parse_command_topic(command_topic(command)), command);
  for (const char* topic :
       {"", "/", "application/app-1/device/0000047003333623/event",
        "application/app-1/device/0000047003333623/event/up/x",
        "application//device/0000047003333623/event/up", "application/a/device/x/event/up",
        "application/+/device/0000047003333623/event/up",
        "application/a/device/0000047003333623/state/up",
        "Application/a/device/0000047003333623/event/up",
        "application/a/gateway/0000047003333623/event/up"}) {
    EXPECT_EQ(parse_event_topic(topic), std::nullopt) << topic;
    EXPECT_EQ(parse_command_topic(topic), std::nullopt) << topic;
  }
  EXPECT_EQ(parse_command_topic(event_topic(event)), std::nullopt);
  EXPECT_EQ(parse_event_topic(command_topic(command)), std::nullopt);
}

TEST(ChirpStackMqtt, ACommandHasTheIdThatWeChose) {
  QueueItem item = make_command(kDevEui, kData, Timestamp(1'786'545'000'000));
  item.id = "018f3c9e-0000-7000-8000-000000000001";
  const std::string json = encode_downlink_command(item);
  EXPECT_EQ(json, R"({"id":"018f3c9e-0000-7000-8000-000000000001","devEui":"0000047003333623",)"
                  R"("confirmed":true,"fPort":1,"data":"aAE=",)"
                  R"("expiresAt":"2026-08-12T14:30:00.000Z"})");
  EXPECT_EQ(*decode_downlink_command(json), item);
  item.expires_at.reset();
  EXPECT_EQ(*decode_downlink_command(encode_downlink_command(item)), item);
  for (const char* bad : {"", "[]", R"({"data":"?"})", R"({"expiresAt":"soon"})",
                          R"({"fPort":"x"})", R"({"confirmed":1})"})
    EXPECT_FALSE(decode_downlink_command(bad)) << bad;
}

}  // namespace
}  // namespace postrider::chirpstack
