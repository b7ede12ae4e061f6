#include "postrider/protocols/meter/frame.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "postrider/protocols/hex_testing.h"

namespace postrider::device {
namespace {

constexpr const char* kMeter = "47003333623";

Request ask(Command command, MeterPhase phase = MeterPhase::kNone) {
  Request request;
  request.command = command;
  request.phase = phase;
  request.meter = kMeter;
  if (command == Command::kSetDate) request.date = Date{2026, 8, 12};
  if (command == Command::kSetTime) request.time = TimeOfDay{14, 30, 0};
  if (is_token(command)) request.token = "12345678901234567890";
  return request;
}

struct RequestVector {
  Request request;
  const char* hex;
};

std::vector<RequestVector> request_vectors() {
  return {
      {ask(Command::kReadCredit), "6823363303700468010254174116"},
      {ask(Command::kReadVoltage, MeterPhase::kA), "6823363303700468010244e90316"},
      {ask(Command::kReadVoltage, MeterPhase::kB), "6823363303700468010245e90416"},
      {ask(Command::kReadVoltage, MeterPhase::kC), "6823363303700468010246e90516"},
      {ask(Command::kReadCurrent, MeterPhase::kA), "6823363303700468010254e91316"},
      {ask(Command::kReadPower, MeterPhase::kA), "6823363303700468010263e92216"},
      {ask(Command::kReadDate), "6823363303700468010243f30c16"},
      {ask(Command::kReadTime), "6823363303700468010244f30d16"},
      {ask(Command::kReadPowerLimit), "000100660001000dc001c100470000110000ff0300"},
      {ask(Command::kTurnOn), "6823363303700468040770f333333333c9d616"},
      {ask(Command::kTurnOff), "682336330370046804076ff333333333687416"},
      {ask(Command::kSetDate), "6823363303700468040a43f33333333336453b59f216"},
      {ask(Command::kSetTime), "6823363303700468040944f333333333336347c016"},
      {ask(Command::kTopUpKwh), "6823363303700468000c53d4c3ab896745c3ab8967454c16"},
  };
}

Response with_value(Command command, std::int64_t units, std::uint8_t scale) {
  Response response = executed(command);
  response.value = Decimal{units, scale};
  return response;
}

struct ResponseVector {
  Request asked;
  const char* hex;
  Response response;
};

std::vector<ResponseVector> response_vectors() {
  Response credit = with_value(Command::kReadCredit, 12345, 2);
  credit.level = 1;
  credit.relay_on = true;
  Response date = executed(Command::kReadDate);
  date.date = Date{2026, 8, 12};
  Response time = executed(Command::kReadTime);
  time.time = TimeOfDay{14, 30, 5};
  return {
      {ask(Command::kReadCredit), "6823363303700468810854177856343334336316", credit},
      {ask(Command::kReadVoltage, MeterPhase::kA), "6823363303700468810644e9334563359716",
       with_value(Command::kReadVoltage, 23012, 2)},
      {ask(Command::kReadPower, MeterPhase::kA), "6823363303700468810663e978563433db16",
       with_value(Command::kReadPower, 12345, 1)},
      {ask(Command::kReadCurrent, MeterPhase::kA), "6823363303700468810454e99a386716",
       with_value(Command::kReadCurrent, 567, 2)},
      {ask(Command::kReadDate), "6823363303700468810643f336453b599f16", date},
      {ask(Command::kReadTime), "6823363303700468810544f33863477216", time},
      {ask(Command::kTurnOn), "682336330370046884005716", executed(Command::kTurnOn)},
      {ask(Command::kTurnOff), "6823363303700468c40134cc16",
       not_executed(Command::kTurnOff, kRefusedByMeter)},
      {ask(Command::kTopUpKwh), "682336330370046880005316", executed(Command::kTopUpKwh)},
      {ask(Command::kTopUpKwh), "6823363303700468c00134c816",
       not_executed(Command::kTopUpKwh, kTokenRejected)},
  };
}

Uplink read(std::string_view bytes, const Request& asked) {
  const Result<Uplink> uplink = read_uplink(bytes, kMeter, &asked);
  EXPECT_TRUE(uplink) << (uplink ? "" : uplink.error().detail);
  return uplink.value_or(Uplink());
}

std::string framed(std::uint8_t control, std::string_view body) {
  return *encode_frame({.meter = kMeter, .control = control, .body = std::string(body)});
}

// req: device.wire.1, device.wire.2
TEST(MeterFrame, EncodesEveryRequestOfTheVectors) {
  for (const RequestVector& vector : request_vectors()) {
    const Result<std::string> bytes = encode_request(vector.request);
    ASSERT_TRUE(bytes) << vector.hex;
    EXPECT_EQ(to_hex(*bytes), vector.hex) << name_of(vector.request.command);
  }
}

// req: device.wire.2
TEST(MeterFrame, DecodesEveryRequestOfTheVectors) {
  for (const RequestVector& vector : request_vectors()) {
    const Result<Request> request = decode_request(from_hex(vector.hex));
    ASSERT_TRUE(request) << vector.hex;
    Request want = vector.request;
    want.meter = "047003333623";
    if (is_token(want.command)) want.command = Command::kDeliverPreexistingToken;
    if (want.command == Command::kReadPowerLimit) want.meter.clear();
    EXPECT_EQ(*request, want) << vector.hex;
  }
}

// req: device.wire.2, device.wire.4
TEST(MeterFrame, DecodesEveryResponseOfTheVectors) {
  for (const ResponseVector& vector : response_vectors()) {
    const Uplink uplink = read(from_hex(vector.hex), vector.asked);
    EXPECT_EQ(uplink.kind, UplinkKind::kAnswer) << vector.hex;
    EXPECT_EQ(uplink.response, vector.response) << vector.hex;
  }
}

// req: device.wire.2
TEST(MeterFrame, EncodesEveryResponseOfTheVectors) {
  for (const ResponseVector& vector : response_vectors()) {
    const Result<std::string> bytes = encode_response(vector.asked, vector.response);
    ASSERT_TRUE(bytes) << vector.hex;
    EXPECT_EQ(to_hex(*bytes), vector.hex);
  }
}

// A vector that is changed here has to be changed in the document as well, and the other way round.
// req: device.wire.2
TEST(MeterFrame, TheVectorsAreThoseOfTheDocument) {
  std::ifstream file(POSTRIDER_SOURCE_DIR "/docs/spec/device.md");
  std::ostringstream text;
  text << file.rdbuf();
  std::size_t listed = 0;
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);)
    if (line.find("| `6823363303700468") != std::string::npos) ++listed;
  const auto in_document = [&](const std::string& hex) {
    return text.str().find("| `" + hex + "` |") != std::string::npos;
  };
  for (const RequestVector& vector : request_vectors()) EXPECT_TRUE(in_document(vector.hex));
  for (const ResponseVector& vector : response_vectors()) EXPECT_TRUE(in_document(vector.hex));
  EXPECT_EQ(listed, request_vectors().size() + response_vectors().size() - 1);  // one is DLMS
}

// req: device.wire.2
TEST(MeterFrame, NumbersReadAsTheyAreWrittenInTheVectors) {
  EXPECT_EQ(to_text(*response_vectors()[0].response.value), "123.45");
  EXPECT_EQ(to_text(*response_vectors()[1].response.value), "230.12");
  EXPECT_EQ(to_text(*response_vectors()[2].response.value), "1234.5");
  EXPECT_EQ(to_text(*response_vectors()[3].response.value), "5.67");
}

// req: device.wire.2, device.wire.3
TEST(MeterFrame, AnySingleBitOfHeadOrChecksumChangedIsRefused) {
  for (const ResponseVector& vector : response_vectors()) {
    const std::string good = from_hex(vector.hex);
    std::vector<std::size_t> places = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, good.size() - 2};
    for (const std::size_t place : places) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string bad = good;
        bad[place] = static_cast<char>(bad[place] ^ (1 << bit));
        EXPECT_FALSE(read_uplink(bad, kMeter, &vector.asked)) << vector.hex << " " << place;
      }
    }
  }
}

// Each check alone: the checksum is right again, so that it cannot do the work of the others.
// req: device.wire.3
TEST(MeterFrame, WrongStartEndLengthAndAddressAreRefusedByThemselves) {
  const std::string good = from_hex(response_vectors()[0].hex);
  const Request asked = ask(Command::kReadCredit);
  const auto refused = [&](std::size_t place, int value) {
    std::string bad = good;
    bad[place] = static_cast<char>(value);
    std::uint8_t sum = 0;
    for (std::size_t i = 0; i + 2 < bad.size(); ++i)
      sum = static_cast<std::uint8_t>(sum + static_cast<std::uint8_t>(bad[i]));
    bad[bad.size() - 2] = static_cast<char>(sum);
    return !read_uplink(bad, kMeter, &asked);
  };
  EXPECT_FALSE(refused(0, 0x68));
  EXPECT_TRUE(refused(0, 0x69));
  EXPECT_TRUE(refused(7, 0x69));
  EXPECT_TRUE(refused(9, 7));
  EXPECT_TRUE(refused(9, 9));
  EXPECT_TRUE(refused(good.size() - 1, 0x17));
  EXPECT_TRUE(refused(1, 0x24));  // another meter
  EXPECT_TRUE(refused(1, 0x2A));  // no meter at all
  EXPECT_FALSE(read_uplink(good, "47003333624", &asked));
  EXPECT_FALSE(read_uplink(good, "", &asked));
  EXPECT_FALSE(read_uplink(good, "x", &asked));
  EXPECT_TRUE(read_uplink(good, "047003333623", &asked));
  EXPECT_FALSE(read_uplink(good + "\x16", kMeter, &asked));
  EXPECT_FALSE(read_uplink("", kMeter, &asked));
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(read_uplink(good.substr(0, size), kMeter, &asked)) << size;
}

TEST(MeterFrame, BodiesAreBounded) {
  Frame frame{.meter = kMeter, .control = 0x81, .body = std::string(kFrameBodyBytesMax, 'x')};
  const Result<std::string> most = encode_frame(frame);
  ASSERT_TRUE(most);
  EXPECT_EQ(most->size(), kFrameBytesMax);
  EXPECT_EQ(decode_frame(*most)->body, frame.body);
  frame.body.push_back('x');
  EXPECT_EQ(encode_frame(frame).error().code, ErrorCode::kLimit);
  EXPECT_EQ(decode_frame(*most + "x").error().code, ErrorCode::kLimit);
}

// req: device.wire.2, device.send.7
TEST(MeterFrame, WhatTheMeterLacksIsNotEncodable) {
  EXPECT_FALSE(encode_request(ask(Command::kReadVersion)));
  EXPECT_FALSE(encode_request(ask(Command::kReadReport)));
  EXPECT_FALSE(encode_request(ask(Command::kJoinNetwork)));
  for (const Command command : {Command::kTopUpKwh, Command::kClearCredit, Command::kClearTamper,
                                Command::kSetPowerLimit, Command::kDeliverPreexistingToken}) {
    Request request = ask(command);
    EXPECT_TRUE(encode_request(request));
    request.token = "123";
    EXPECT_FALSE(encode_request(request)) << "an odd number of digits";
    request.token.clear();
    EXPECT_FALSE(encode_request(request)) << name_of(command);
  }
  Request date = ask(Command::kSetDate);
  date.date = Date{2026, 2, 30};
  EXPECT_FALSE(encode_request(date));
  for (const char* meter : {"1234567890123", "4700333362a", "-1", " 1"}) {
    for (const Command command : {Command::kReadCredit, Command::kReadPowerLimit}) {
      Request request = ask(command);
      request.meter = meter;
      EXPECT_FALSE(encode_request(request)) << meter;
    }
  }
}

// req: device.wire.4
TEST(MeterFrame, ARefusalIsAnExecutionFailureOfTheCommandAsked) {
  const auto refusal = [](std::uint8_t control, Command command) {
    return read(framed(control, "\x01"), ask(command));
  };
  for (const Command command : {Command::kReadCredit, Command::kReadDate, Command::kReadVoltage}) {
    EXPECT_EQ(refusal(0xC1, command).response, not_executed(command, kRefusedByMeter));
  }
  EXPECT_EQ(refusal(0xC4, Command::kSetTime).response,
            not_executed(Command::kSetTime, kRefusedByMeter));
  EXPECT_EQ(refusal(0xC0, Command::kClearTamper).response,
            not_executed(Command::kClearTamper, kTokenRejected));
}

// req: device.wire.6
TEST(MeterFrame, AWriteAnswerIsReportedAsTheCommandAsked) {
  for (const Command command :
       {Command::kTurnOn, Command::kTurnOff, Command::kSetDate, Command::kSetTime}) {
    const Uplink uplink = read(from_hex("682336330370046884005716"), ask(command));
    EXPECT_EQ(uplink.kind, UplinkKind::kAnswer);
    EXPECT_EQ(uplink.response, executed(command)) << name_of(command);
    EXPECT_FALSE(uplink.response.relay_on);
  }
}

// req: device.ack.7
TEST(MeterFrame, AnAnswerToSomethingElseIsMismatched) {
  const std::vector<ResponseVector> vectors = response_vectors();
  for (const ResponseVector& vector : vectors) {
    EXPECT_EQ(read_uplink(from_hex(vector.hex), kMeter, nullptr)->kind, UplinkKind::kMismatched);
    for (const ResponseVector& other : vectors) {
      const UplinkKind want =
          answers_alike(vector.asked, other.asked) ? UplinkKind::kAnswer : UplinkKind::kMismatched;
      EXPECT_EQ(read(from_hex(vector.hex), other.asked).kind, want)
          << vector.hex << " for " << name_of(other.asked.command);
    }
  }
  const std::string voltage = from_hex(vectors[1].hex);
  EXPECT_EQ(read(voltage, ask(Command::kReadVoltage, MeterPhase::kB)).kind,
            UplinkKind::kMismatched);
  EXPECT_EQ(read(voltage, ask(Command::kReadVoltage)).kind, UplinkKind::kAnswer);
  // A request heard back, a control that nobody knows, and a read without an identifier.
  EXPECT_EQ(read(from_hex("6823363303700468010254174116"), ask(Command::kReadCredit)).kind,
            UplinkKind::kMismatched);
  EXPECT_EQ(read(framed(0x99, "ab"), ask(Command::kReadCredit)).kind, UplinkKind::kMismatched);
  EXPECT_EQ(read(framed(0x81, "a"), ask(Command::kReadCredit)).kind, UplinkKind::kMismatched);
  EXPECT_EQ(read(framed(0xC1, "\x01"), ask(Command::kReadPowerLimit)).kind,
            UplinkKind::kMismatched);
}

TEST(MeterFrame, RequestsThatOneFrameCouldAnswerAreAlike) {
  EXPECT_TRUE(answers_alike(ask(Command::kTurnOn), ask(Command::kSetDate)));
  EXPECT_TRUE(answers_alike(ask(Command::kTopUpKwh), ask(Command::kClearTamper)));
  EXPECT_TRUE(
      answers_alike(ask(Command::kReadVoltage), ask(Command::kReadVoltage, MeterPhase::kA)));
  EXPECT_TRUE(answers_alike(ask(Command::kReadPowerLimit), ask(Command::kReadPowerLimit)));
  EXPECT_FALSE(
      answers_alike(ask(Command::kReadVoltage), ask(Command::kReadVoltage, MeterPhase::kB)));
  EXPECT_FALSE(answers_alike(ask(Command::kReadDate), ask(Command::kSetDate)));
  EXPECT_FALSE(answers_alike(ask(Command::kReadDate), ask(Command::kReadTime)));
  EXPECT_FALSE(answers_alike(ask(Command::kTopUpKwh), ask(Command::kTurnOn)));
  EXPECT_FALSE(answers_alike(ask(Command::kReadPowerLimit), ask(Command::kReadCredit)));
}

std::string read_ok(std::uint16_t identifier, std::string_view data) {
  std::string body{static_cast<char>(identifier & 0xFF), static_cast<char>(identifier >> 8)};
  return framed(0x81, body.append(data));
}

// req: device.wire.9
TEST(MeterFrame, WhatIsNoDecimalOrNoDateIsUndecodableAndNotLost) {
  struct Case {
    Command command;
    std::uint16_t identifier;
    std::string data;
  };
  const Case cases[] = {
      {Command::kReadCredit, 0xE421, from_hex("0a2301000100")},  // a digit above 9
      {Command::kReadCredit, 0xE421, from_hex("a02301000100")},
      {Command::kReadCredit, 0xE421, from_hex("45230100")},  // no level, no relay
      {Command::kReadCredit, 0xE421, ""},
      {Command::kReadVoltage, 0xB611, from_hex("0012300f")},
      {Command::kReadVoltage, 0xB611, from_hex("001230")},
      {Command::kReadPower, 0xB630, from_hex("ffffffff")},
      {Command::kReadCurrent, 0xB621, from_hex("6f05")},
      {Command::kReadDate, 0xC010, from_hex("03121326")},  // month 13
      {Command::kReadDate, 0xC010, from_hex("03300226")},  // 30 February
      {Command::kReadDate, 0xC010, from_hex("0f120826")},
      {Command::kReadDate, 0xC010, from_hex("031208")},
      {Command::kReadTime, 0xC011, from_hex("053024")},  // hour 24
      {Command::kReadTime, 0xC011, from_hex("056014")},
      {Command::kReadTime, 0xC011, from_hex("0530")},
  };
  for (const Case& c : cases) {
    const Uplink uplink = read(read_ok(c.identifier, c.data), ask(c.command));
    EXPECT_EQ(uplink.kind, UplinkKind::kAnswer);
    EXPECT_EQ(uplink.response, not_executed(c.command, kUndecodable)) << to_hex(c.data);
  }
}

TEST(MeterFrame, TheRelayIsOnOnlyWhenItsByteIsZero) {
  const auto relay = [](const char* hex) {
    return read(read_ok(0xE421, from_hex(hex)), ask(Command::kReadCredit)).response.relay_on;
  };
  EXPECT_EQ(relay("452301000100"), true);
  EXPECT_EQ(relay("452301000101"), false);
  EXPECT_EQ(relay("4523010001ff"), false);
}

constexpr const char* kLimitAnswer =
    "00010001006600"
    "09"
    "c401c10006"
    "00001388";

// req: device.wire.5
TEST(MeterFrame, AWellFormedDlmsAnswerToTheQuestionIsThePowerLimit) {
  const Uplink uplink = read(from_hex(kLimitAnswer), ask(Command::kReadPowerLimit));
  EXPECT_EQ(uplink.kind, UplinkKind::kAnswer);
  EXPECT_EQ(uplink.response, with_value(Command::kReadPowerLimit, 5000, 0));
  EXPECT_EQ(to_hex(*encode_response(ask(Command::kReadPowerLimit), uplink.response)), kLimitAnswer);
  const Response refused = not_executed(Command::kReadPowerLimit, kRefusedByMeter);
  EXPECT_EQ(read(from_hex("0001000100660005c401c10103"), ask(Command::kReadPowerLimit)).response,
            refused);
  const Result<std::string> refusal = encode_response(ask(Command::kReadPowerLimit), refused);
  EXPECT_EQ(read(*refusal, ask(Command::kReadPowerLimit)).response, refused);
}

// req: device.wire.5
TEST(MeterFrame, AnyOtherFrameThatBeginsWithZeroIsNoPowerLimit) {
  const Request limit = ask(Command::kReadPowerLimit);
  const char* const cases[] = {
      "00",
      "0000",
      "00001388",
      "000000000000000000000000000000001388",
      "000100660001000dc001c100470000110000ff0300",  // the request, heard back
      "0001000100660009c401c1000600001",             // cut off
      "0001000100660009c401c1000600001388ff",        // too long
      "0001000100660008c401c1000600001388",          // says another length
      "0002000100660009c401c1000600001388",          // another version
      "0001000100670009c401c1000600001388",          // another port
      "0001000100660009c501c1000600001388",          // another answer
      "0001000100660009c401c2000600001388",          // to another request
      "0001000100660009c401c1000900001388",          // no number of 32 bits
      "0001000100660009c401c1010600001388",
      "0001000100660005c401c10203",
  };
  for (const char* hex : cases) EXPECT_FALSE(read_uplink(from_hex(hex), kMeter, &limit)) << hex;
  for (const Command command : {Command::kReadCredit, Command::kTurnOn, Command::kTopUpKwh}) {
    const Request other = ask(command);
    EXPECT_EQ(read(from_hex(kLimitAnswer), other).kind, UplinkKind::kMismatched);
  }
  EXPECT_EQ(read_uplink(from_hex(kLimitAnswer), kMeter, nullptr)->kind, UplinkKind::kMismatched);
}

// The body of a report up to its status; see the places in the header of the profile's wire notes.
std::string report_body() {
  return from_hex(
      "11c1"        // 10: identifier
      "00"          // 12
      "3014120826"  // 13: 14:30, 12 August 2026
      "39300000"    // 18: 123.45 kWh
      "0000f742"    // 22: 123.5
      "01000000"    // 26: 0.01
      "000080bf"    // 30: -1
      "d2040000"    // 34: 1234
      "fd08"        // 38: 230.1
      "27160000"    // 40: 5.671
      "05");        // 44
}

// req: device.ack.13
TEST(MeterFrame, AReportIsReadWhateverWasAsked) {
  const std::string bytes = framed(0x81, report_body());
  const Request asked = ask(Command::kReadCredit);
  for (const Request* request : {&asked, static_cast<const Request*>(nullptr)}) {
    const Result<Uplink> uplink = read_uplink(bytes, kMeter, request);
    ASSERT_TRUE(uplink);
    EXPECT_EQ(uplink->kind, UplinkKind::kReport);
    const Report& report = uplink->report;
    EXPECT_TRUE(report.readable);
    EXPECT_EQ(report.frozen_on, (Date{2026, 8, 12}));
    EXPECT_EQ(report.frozen_at, (TimeOfDay{14, 30, 0}));
    EXPECT_EQ(to_text(report.consumption), "123.45");
    EXPECT_EQ(to_text(report.credit), "123.5");
    EXPECT_EQ(to_text(report.second_consumption), "0.01");
    EXPECT_EQ(to_text(report.second_credit), "-1");
    EXPECT_EQ(report.demand, 1234U);
    EXPECT_EQ(to_text(report.voltage), "230.1");
    EXPECT_EQ(to_text(report.current), "5.671");
    EXPECT_EQ(report.status, 5);
  }
}

TEST(MeterFrame, AReportThatCannotBeDecodedIsStillAReport) {
  std::string month_13 = report_body();
  month_13[6] = 0x13;
  std::string not_finite = report_body();
  not_finite.replace(12, 4, from_hex("0000807f"));
  std::string too_much = report_body();
  too_much.replace(20, 4, from_hex("ffff7f7f"));
  std::string no_digit = report_body();
  no_digit[3] = 0x3A;
  for (const std::string& body : {month_13, not_finite, too_much, no_digit,
                                  report_body().substr(0, 34), report_body().substr(0, 2)}) {
    const Result<Uplink> uplink = read_uplink(framed(0x81, body), kMeter, nullptr);
    ASSERT_TRUE(uplink);
    EXPECT_EQ(uplink->kind, UplinkKind::kReport);
    EXPECT_EQ(uplink->report, Report());
  }
  EXPECT_EQ(read_uplink(framed(0xC1, report_body()), kMeter, nullptr)->kind,
            UplinkKind::kMismatched);
}

std::string digits(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text.push_back(*rc::gen::inRange('0', static_cast<char>('9' + 1)));
  return text;
}

RC_GTEST_PROP(MeterFrame, FramesGoThroughBytesAndBack, (std::uint8_t control)) {
  const auto body = *rc::gen::resize(100, rc::gen::arbitrary<std::string>());
  const Frame frame{.meter = digits(12), .control = control, .body = body};
  RC_ASSERT(*decode_frame(*encode_frame(frame)) == frame);
}

RC_GTEST_PROP(MeterFrame, RequestsGoThroughBytesAndBack, ()) {
  Request request;
  request.command = *rc::gen::element(
      Command::kReadVoltage, Command::kReadCredit, Command::kReadTime, Command::kTurnOn,
      Command::kTurnOff, Command::kSetDate, Command::kSetTime, Command::kDeliverPreexistingToken);
  if (request.command == Command::kReadVoltage)
    request.phase = *rc::gen::element(MeterPhase::kA, MeterPhase::kB, MeterPhase::kC);
  request.meter = digits(12);
  if (request.command == Command::kSetDate)
    request.date = Date{*rc::gen::inRange(kYearMin, kYearMax + 1), *rc::gen::inRange(1, 13),
                        *rc::gen::inRange(1, 29)};
  if (request.command == Command::kSetTime)
    request.time =
        TimeOfDay{*rc::gen::inRange(0, 24), *rc::gen::inRange(0, 60), *rc::gen::inRange(0, 60)};
  if (is_token(request.command)) request.token = digits(2 * *rc::gen::inRange(1, 21));
  RC_ASSERT(*decode_request(*encode_request(request)) == request);
}

// req: device.wire.3
RC_GTEST_PROP(MeterFrame, AnyBytesAreReadOrRefused, (const std::string& bytes)) {
  const Request asked = ask(Command::kReadCredit);
  static_cast<void>(read_uplink(bytes, kMeter, &asked).has_value());
  const Result<Uplink> wrapped = read_uplink(framed(0x81, bytes.substr(0, 100)), kMeter, &asked);
  RC_ASSERT(wrapped.has_value());
}

}  // namespace
}  // namespace postrider::device
