#include "postrider/protocols/device/message.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "postrider/base/rng.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::device {
namespace {

constexpr std::string_view kWhole =
    R"({"commandType":"TOP_UP_KWH","priority":7,"pluginId":"calin-v1","networkId":3,)"
    R"("correlationId":"order-4711","phase":"B","requestData":{"token":"12345678901234567890"},)"
    R"("device":{"type":"ELECTRICITY_METER","externalReference":"47003333623",)"
    R"("relayNode":{"id":"17","externalReference":"gw-17","snr":-7.5,"rssi":-112}},)"
    R"("expiresAt":"2026-08-12T14:30:00.000Z","supersedeKey":"relay"})";

// The least body, with the members of `fields` added or replaced; an empty one is left out.
std::string body_with(const std::map<std::string, std::string>& fields) {
  std::map<std::string, std::string> members = {
      {"commandType", R"("READ_CREDIT")"},
      {"priority", "1"},
      {"pluginId", R"("lorawan")"},
      {"device", R"({"type":"ELECTRICITY_METER","externalReference":"47003333623"})"}};
  for (const auto& [name, value] : fields) members[name] = value;
  std::string body = "{";
  for (const auto& [name, value] : members) {
    if (value.empty()) continue;
    if (body.size() > 1) body += ',';
    body += '"';
    body.append(name).append("\":").append(value);
  }
  return body + "}";
}

std::string error_of(const std::string& body) {
  const auto message = parse_device_message(body);
  if (message) return {};
  EXPECT_EQ(message.error().code, ErrorCode::kInvalid);
  return message.error().detail;
}

std::string error_of(const std::string& name, const std::string& value) {
  return error_of(body_with({{name, value}}));
}

std::string quoted(std::size_t bytes) { return '"' + std::string(bytes, 'x') + '"'; }

std::string device_with(const std::string& members) {
  return R"({"type":"ELECTRICITY_METER","externalReference":"1")" + members + "}";
}

std::string relay_with(const std::string& members) {
  return device_with(R"(,"relayNode":{"id":"1")" + members + "}");
}

// req: device.api.2
TEST(DeviceMessage, ReadsEveryField) {
  const auto message = parse_device_message(kWhole);
  ASSERT_TRUE(message) << message.error().detail;
  EXPECT_EQ(message->request.command, Command::kTopUpKwh);
  EXPECT_EQ(message->request.phase, MeterPhase::kB);
  EXPECT_EQ(message->request.meter, "47003333623");
  EXPECT_EQ(message->request.token, "12345678901234567890");
  EXPECT_EQ(message->plugin, "calin-v1");
  EXPECT_EQ(message->network, 3U);
  EXPECT_EQ(message->priority, 7);
  EXPECT_EQ(message->correlation, "order-4711");
  EXPECT_EQ(message->device_type, kElectricityMeter);
  ASSERT_TRUE(message->relay);
  EXPECT_EQ(message->relay->id, "17");
  EXPECT_EQ(message->relay->reference, "gw-17");
  EXPECT_EQ(message->relay->snr, (Decimal{-75, 1}));
  EXPECT_EQ(message->relay->rssi, (Decimal{-112, 0}));
  EXPECT_EQ(message->expires_at, parse_rfc3339("2026-08-12T14:30:00Z"));
  EXPECT_EQ(message->supersede, "relay");
}

TEST(DeviceMessage, WritesOneCanonicalForm) {
  EXPECT_EQ(encode_device_message(*parse_device_message(kWhole)), kWhole);
  const std::string least =
      R"({"commandType":"READ_CREDIT","priority":1,"pluginId":"lorawan",)"
      R"("device":{"type":"ELECTRICITY_METER","externalReference":"47003333623"}})";
  // Order, white space, absence and null make no difference, nor do spellings of a number or time.
  for (const std::string& body :
       {body_with({}), body_with({{"networkId", "null"}, {"phase", "null"}, {"requestData", "{}"}}),
        body_with({{"priority", "1.0"}, {"requestData", R"({"payload":null})"}}),
        std::string(" {\n\"device\" : {\"externalReference\":\"47003333623\", "
                    "\"type\":\"ELECTRICITY_METER\"},\"pluginId\":\"lorawan\",\"priority\":1,"
                    "\"commandType\":\"READ_\\u0043REDIT\"} ")}) {
    const auto message = parse_device_message(body);
    ASSERT_TRUE(message) << message.error().detail;
    EXPECT_EQ(encode_device_message(*message), least);
  }
  const auto offset =
      parse_device_message(body_with({{"expiresAt", R"("2026-08-12T16:30:00+02:00")"}}));
  EXPECT_NE(encode_device_message(*offset).find(R"("expiresAt":"2026-08-12T14:30:00.000Z")"),
            std::string::npos);
}

// req: device.api.3
TEST(DeviceMessage, TakesSeventeenCommandsAndRefusesTheTwoThatDevicesSay) {
  for (std::size_t i = 0; i < kCommands; ++i) {
    const auto command = static_cast<Command>(i);
    const std::string name(name_of(command));
    const auto message = parse_device_message(body_with({{"commandType", '"' + name + '"'}}));
    EXPECT_EQ(message.has_value(), is_submittable(command)) << name;
    if (message) {
      EXPECT_EQ(message->request.command, command);
    } else {
      EXPECT_NE(message.error().detail.find("only a device says " + name), std::string::npos);
    }
  }
  EXPECT_EQ(error_of("commandType", R"("READ_CREDT")"),
            "commandType: there is no 'READ_CREDT', did you mean 'READ_CREDIT'?");
}

// req: device.api.2
TEST(DeviceMessage, NamesAnUnknownKeyWhereverItIs) {
  EXPECT_EQ(error_of("comandType", "1"), "unknown key 'comandType', did you mean 'commandType'?");
  EXPECT_EQ(error_of("x", "1"), "unknown key 'x'");
  EXPECT_EQ(error_of("deliveryStatus", "1"), "unknown key 'deliveryStatus'");
  EXPECT_EQ(error_of("requestData", R"({"tokn":"1"})"),
            "unknown key 'requestData.tokn', did you mean 'token'?");
  EXPECT_EQ(error_of("requestData", R"({"payload":{"year":2026,"month":1,"dey":1}})"),
            "unknown key 'requestData.payload.dey', did you mean 'day'?");
  EXPECT_EQ(error_of("requestData", R"({"payload":{"hour":1,"minute":1,"day":1}})"),
            "unknown key 'requestData.payload.day'");
  EXPECT_EQ(error_of("device", device_with(R"(,"id":"1")")), "unknown key 'device.id'");
  EXPECT_EQ(error_of("device", relay_with(R"(,"rsi":"1")")),
            "unknown key 'device.relayNode.rsi', did you mean 'rssi'?");
}

TEST(DeviceMessage, SaysWhichNeededFieldIsMissing) {
  for (const char* name : {"commandType", "priority", "pluginId", "device"}) {
    EXPECT_EQ(error_of(name, ""), std::string(name) + ": is missing");
    EXPECT_EQ(error_of(name, "null"), std::string(name) + ": is missing");
  }
  EXPECT_EQ(error_of("device", R"({"externalReference":"1"})"), "device.type: is missing");
  EXPECT_EQ(error_of("device", R"({"type":"ELECTRICITY_METER"})"),
            "device.externalReference: is missing");
  EXPECT_EQ(error_of("device", device_with(R"(,"relayNode":{})")),
            "device.relayNode.id: is missing");
  EXPECT_EQ(error_of("requestData", R"({"payload":{}})"), "requestData.payload.year: is missing");
  EXPECT_EQ(error_of("requestData", R"({"payload":{"year":2026,"month":1}})"),
            "requestData.payload.day: is missing");
  EXPECT_EQ(error_of("requestData", R"({"payload":{"hour":1}})"),
            "requestData.payload.minute: is missing");
}

TEST(DeviceMessage, RefusesAnotherKindOfValue) {
  EXPECT_EQ(error_of("commandType", "1"), "commandType: must be a text");
  EXPECT_EQ(error_of("device", "[]"), "device: must be an object");
  EXPECT_EQ(error_of("requestData", "1"), "requestData: must be an object");
  EXPECT_EQ(error_of("requestData", R"({"payload":"x"})"),
            "requestData.payload: must be an object");
  EXPECT_EQ(error_of("requestData", R"({"token":12345})"), "requestData.token: must be a text");
  EXPECT_EQ(error_of("device", relay_with(R"(,"snr":"1")")),
            "device.relayNode.snr: must be a number");
  EXPECT_EQ(error_of("device", R"({"type":"WATER_METER","externalReference":"1"})"),
            "device.type: must be ELECTRICITY_METER");
  for (const char* body : {"", "1", "[]", "null", "{", "{}x", "\"READ_CREDIT\""})
    EXPECT_NE(error_of(body), "") << body;
}

// req: device.lim.1
TEST(DeviceMessage, TakesIdsOfAHundredAndTwentyEightBytesAndNoMore) {
  for (const char* name : {"correlationId", "supersedeKey"}) {
    EXPECT_EQ(error_of(name, quoted(1)), "");
    EXPECT_EQ(error_of(name, quoted(128)), "");
    EXPECT_EQ(error_of(name, quoted(129)), std::string(name) + ": must have 1 to 128 bytes");
    EXPECT_EQ(error_of(name, quoted(0)), std::string(name) + ": must have 1 to 128 bytes");
    EXPECT_EQ(error_of(name, R"("a\nb")"), std::string(name) + ": must have no control characters");
  }
  const auto meter = [](std::size_t bytes) {
    return R"({"type":"ELECTRICITY_METER","externalReference":)" + quoted(bytes) + "}";
  };
  EXPECT_EQ(error_of("device", meter(128)), "");
  EXPECT_NE(error_of("device", meter(129)), "");
  const auto relay = [](std::size_t bytes) {
    return device_with(R"(,"relayNode":{"id":)" + quoted(bytes) + "}");
  };
  EXPECT_EQ(error_of("device", relay(128)), "");
  EXPECT_NE(error_of("device", relay(129)), "");
  EXPECT_EQ(error_of("requestData", R"({"token":)" + quoted(128) + "}"), "");
  EXPECT_NE(error_of("requestData", R"({"token":)" + quoted(129) + "}"), "");
  EXPECT_EQ(error_of("pluginId", quoted(64)), "");
  EXPECT_NE(error_of("pluginId", quoted(65)), "");
  EXPECT_NE(error_of("pluginId", R"("a.b")"), "");
}

// req: device.lim.1
TEST(DeviceMessage, TakesBodiesOfSixtyFourKibibytesAndNoMore) {
  std::string body = body_with({});
  body.append(kMessageBytesMax - body.size(), ' ');
  EXPECT_TRUE(parse_device_message(body));
  body += ' ';
  ASSERT_FALSE(parse_device_message(body));
  EXPECT_EQ(parse_device_message(body).error().code, ErrorCode::kLimit);
}

TEST(DeviceMessage, TakesWholeNumbersWithinTheirRangesOnly) {
  for (const char* good : {"0", "65535", "7.0"}) EXPECT_EQ(error_of("priority", good), "") << good;
  for (const char* bad : {"-1", "65536", "1.5", "\"1\"", "true", "1e300", "18446744073709551615"})
    EXPECT_EQ(error_of("priority", bad), "priority: must be a whole number from 0 to 65535") << bad;
  for (const char* good : {"0", "4294967295", "null"})
    EXPECT_EQ(error_of("networkId", good), "") << good;
  for (const char* bad : {"-1", "4294967296", "0.5", "\"1\"", "\"unassigned\""})
    EXPECT_NE(error_of("networkId", bad), "") << bad;
}

TEST(DeviceMessage, TakesThePhasesAToC) {
  for (const MeterPhase phase : {MeterPhase::kA, MeterPhase::kB, MeterPhase::kC}) {
    const auto message =
        parse_device_message(body_with({{"phase", '"' + std::string(name_of(phase)) + '"'}}));
    ASSERT_TRUE(message);
    EXPECT_EQ(message->request.phase, phase);
  }
  EXPECT_EQ(parse_device_message(body_with({}))->request.phase, MeterPhase::kNone);
  for (const char* bad : {R"("D")", R"("a")", R"("AB")"})
    EXPECT_EQ(error_of("phase", bad), "phase: must be A, B or C") << bad;
}

TEST(DeviceMessage, ReadsDatesAndTimesEvenImpossibleOnes) {
  const auto with = [](const std::string& payload) {
    return parse_device_message(body_with({{"requestData", R"({"payload":)" + payload + "}"}}));
  };
  EXPECT_EQ(with(R"({"year":2026,"month":8,"day":12})")->request.date, (Date{2026, 8, 12}));
  EXPECT_EQ(with(R"({"hour":14,"minute":30})")->request.time, (TimeOfDay{14, 30, 0}));
  EXPECT_EQ(with(R"({"hour":14,"minute":30,"second":5})")->request.time, (TimeOfDay{14, 30, 5}));
  // These end as rejected, with a history, as a command that a method cannot express does.
  EXPECT_EQ(with(R"({"year":2026,"month":13,"day":0})")->request.date, (Date{2026, 13, 0}));
  EXPECT_EQ(with(R"({"hour":25,"minute":0})")->request.time, (TimeOfDay{25, 0, 0}));
  EXPECT_TRUE(with(R"({"year":9999,"month":1,"day":1})"));
  EXPECT_FALSE(with(R"({"year":10000,"month":1,"day":1})"));
  EXPECT_FALSE(with(R"({"year":-1,"month":1,"day":1})"));
  EXPECT_FALSE(with(R"({"hour":1.5,"minute":0})"));
  EXPECT_FALSE(with(R"({"hour":"1","minute":0})"));
}

TEST(DeviceMessage, TakesAnExpiryThatIsATime) {
  EXPECT_EQ(error_of("expiresAt", R"("2026-08-12T14:30:00Z")"), "");
  for (const char* bad :
       {R"("tomorrow")", R"("2026-08-12")", "1786545000", R"("1970-01-01T00:00:00Z")"})
    EXPECT_NE(error_of("expiresAt", bad), "") << bad;
}

TEST(DeviceMessage, NeverRepeatsATokenInAnError) {
  for (const std::string& body :
       {body_with({{"requestData", R"({"token":"9876543210)" + std::string(129, '9') + "\"}"}}),
        body_with({{"requestData", R"({"token":"9876543210\u0001"})"}}),
        body_with({{"requestData", R"({"token":"9876543210"})"}, {"x", "1"}})})
    EXPECT_EQ(error_of(body).find("9876543210"), std::string::npos) << error_of(body);
}

// req: device.adm.1
TEST(DeviceMessage, NamesItsQueue) {
  DeviceMessage message = *parse_device_message(kWhole);
  EXPECT_EQ(push_queue(message), "calin-v1.network:3");
  EXPECT_EQ(*pull_queue(message), "calin-v1.gateway:17");
  message.network.reset();
  message.relay.reset();
  EXPECT_EQ(push_queue(message), "calin-v1.network:unassigned");
  EXPECT_FALSE(pull_queue(message));
}

TEST(DeviceMessage, TakesTheIdOfARelayAsANumberToo) {
  const auto id_of = [](const std::string& id) {
    return parse_device_message(
        body_with({{"device", device_with(R"(,"relayNode":{"id":)" + id + "}")}}));
  };
  EXPECT_EQ(id_of("17")->relay->id, "17");
  EXPECT_EQ(id_of(R"("0a:b-c.d")")->relay->id, "0a:b-c.d");
  for (const char* bad : {"1.5", "true", R"("a b")", R"("a/b")", R"("\u00e9")"})
    EXPECT_FALSE(id_of(bad)) << bad;
}

std::string any_text(Rng& rng) {
  constexpr std::string_view kLetters = "ab\"\\/<é 0";
  std::string text = "x";
  for (std::uint64_t left = rng.below(20); left > 0; --left) {
    const std::size_t at = rng.below(kLetters.size());
    if (static_cast<unsigned char>(kLetters[at]) < 0x80) text += kLetters[at];
  }
  return text;
}

TEST(DeviceMessage, GoesBothWaysWhateverIsInIt) {
  Rng rng(11);
  for (int i = 0; i < 2000; ++i) {
    DeviceMessage message;
    message.request.command = static_cast<Command>(rng.below(kSubmitCommands));
    message.request.phase = static_cast<MeterPhase>(rng.below(4));
    message.request.meter = any_text(rng);
    message.plugin = "plugin";
    if (rng.chance(1, 2)) message.network = static_cast<std::uint32_t>(rng.next());
    message.priority = static_cast<std::uint16_t>(rng.next());
    if (rng.chance(1, 2)) message.correlation = any_text(rng);
    if (rng.chance(1, 2)) message.supersede = any_text(rng);
    if (rng.chance(1, 2)) message.request.token = any_text(rng);
    if (rng.chance(1, 2)) message.expires_at = Timestamp(rng.between(1, 2'000'000'000'000));
    if (rng.chance(1, 3)) message.request.date = Date{2026, static_cast<int>(rng.below(20)), 1};
    if (!message.request.date && rng.chance(1, 2))
      message.request.time = TimeOfDay{1, 2, static_cast<int>(rng.below(99))};
    if (rng.chance(1, 2))
      message.relay = {"id", any_text(rng), make_decimal(rng.between(-200, 200), 1), {}};
    const std::string text = encode_device_message(message);
    const auto read = parse_device_message(text);
    ASSERT_TRUE(read) << text << ": " << read.error().detail;
    EXPECT_EQ(*read, message) << text;
    EXPECT_EQ(encode_device_message(*read), text);
  }
}

}  // namespace
}  // namespace postrider::device
