#include "postrider/doors/device/events.h"

#include <set>

#include <gtest/gtest.h>

#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/chirpstack/events.h"

namespace postrider::device_door {
namespace {

using chirpstack::Event;
using chirpstack::EventKind;

Event txack() {
  Event event;
  event.kind = EventKind::kTxAck;
  event.dev_eui = "0000047003333623";
  event.queue_item_id = "11111111-2222-3333-4444-555555555555";
  event.downlink_id = 7;
  return event;
}

std::string topic_of(std::string_view word) {
  return chirpstack::event_topic(
      {.application = "1", .dev_eui = "0000047003333623", .event = std::string(word)});
}

Result<Arrived> arrive(const Event& event, bool protobuf = false,
                       std::string_view plugin = "lorawan") {
  const std::string bytes = protobuf ? encode_event_protobuf(event) : encode_event_json(event);
  return device_arrival({.source = plugin, .topic = topic_of(name_of(event.kind)), .bytes = bytes},
                        {});
}

TEST(BrokerEvent, SaysWhoBroughtWhatAsTheProfileReadsIt) {
  const std::string bytes = encode_event_json(txack());
  const auto arrived = device_arrival(
      {.source = "lorawan", .topic = topic_of("txack"), .bytes = bytes}, {{"events", "billing"}});
  ASSERT_TRUE(arrived) << arrived.error().detail;
  EXPECT_EQ(arrived->profile, "device");
  EXPECT_EQ(to_string(arrived->source), "lorawan txack json");
  EXPECT_EQ(arrived->settings, (NamedTexts{{"events", "billing"}}));
  EXPECT_EQ(arrived->bytes, bytes);
  EXPECT_EQ(arrived->caller.key.kind, OperationKey::Kind::kOpaque);
  EXPECT_EQ(arrived->caller.key.scope, "ingress");
  EXPECT_EQ(to_string(arrive(txack(), true)->source), "lorawan txack protobuf");
}

// req: device.api.9
TEST(BrokerEvent, AnEventThatComesTwiceIsTheSameInEitherForm) {
  const Arrived first = *arrive(txack());
  Event again = txack();
  again.device_name = "another name";
  again.time = Timestamp(1'800'000'000'000);
  for (const bool protobuf : {false, true}) {
    const Arrived second = *arrive(again, protobuf);
    EXPECT_EQ(second.caller.key.key, first.caller.key.key);
    EXPECT_EQ(second.caller.said, first.caller.said);
  }
}

// req: device.api.9
TEST(BrokerEvent, EventsThatDifferInWhatTellsThemApartAreDifferent) {
  std::set<std::string> keys;
  const auto add = [&](const Event& event, std::string_view plugin = "lorawan") {
    const auto arrived = arrive(event, false, plugin);
    ASSERT_TRUE(arrived) << arrived.error().detail;
    EXPECT_TRUE(keys.insert(arrived->caller.key.key).second) << arrived->caller.said;
  };
  add(txack());
  add(txack(), "other");
  Event event = txack();
  event.dev_eui = "0000047003333624";
  add(event);
  event = txack();
  event.queue_item_id = "11111111-2222-3333-4444-555555555556";
  add(event);
  event = txack();
  event.downlink_id = 8;
  add(event);
  event = txack();
  event.kind = EventKind::kAck;
  event.deduplication_id = "a";
  add(event);
  event.deduplication_id = "b";
  add(event);
  event.kind = EventKind::kLog;
  event.code = "EXPIRED";
  add(event);
  event.code = "OTAA";
  add(event);
}

TEST(BrokerEvent, UnknownWordsAndBytesThatAreNoEventAreRefused) {
  const auto code_of = [](std::string_view event, std::string_view bytes) {
    const auto arrived =
        device_arrival({.source = "lorawan", .topic = topic_of(event), .bytes = bytes}, {});
    return arrived ? std::optional<ErrorCode>() : arrived.error().code;
  };
  EXPECT_EQ(code_of("location", "{}"), ErrorCode::kNotFound);
  EXPECT_EQ(code_of("", "{}"), ErrorCode::kNotFound);
  EXPECT_TRUE(code_of("up", "{").has_value());
  EXPECT_TRUE(code_of("up", "{}").has_value());  // of which device?
  EXPECT_TRUE(code_of("up", "\xff").has_value());
  const std::string large = "{" + std::string(chirpstack::kEventBytesMax, ' ');
  EXPECT_EQ(code_of("up", large), ErrorCode::kLimit);
  const auto elsewhere =
      device_arrival({.source = "lorawan", .topic = "gateway/up", .bytes = "{}"}, {});
  EXPECT_EQ(elsewhere.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace postrider::device_door
