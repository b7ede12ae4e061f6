// unity: alone, its names are those of v2_test.cc
#include <gtest/gtest.h>

#include "postrider/protocols/calin/calin.h"

namespace postrider::calin {
namespace {

using device::Command;
using device::MeterPhase;
using device::PollVerdict;
using device::Request;
using device::SendVerdict;

const CredentialsV1 kCredentials{.company = "Co", .user = "me", .password = "pa\"ss"};
const std::string kHead = R"({"CompanyName":"Co","UserName":"me","Password":"pa\"ss",)";

Request ask(Command command, MeterPhase phase = MeterPhase::kNone) {
  Request request;
  request.command = command;
  request.phase = phase;
  request.meter = "47003333623";
  if (command == Command::kSetDate) request.date = device::Date{2026, 8, 12};
  if (command == Command::kSetTime) request.time = device::TimeOfDay{14, 30, 0};
  if (device::is_token(command)) request.token = "12345678901234567890";
  return request;
}

HttpAnswer ok(std::string_view body) {
  return {.status = 200, .content_type = "application/json; charset=utf-8", .body = body};
}

void expect_call(const Request& request, std::string_view path, const std::string& rest) {
  const Result<Call> call = create_call_v1(kCredentials, request);
  ASSERT_TRUE(call) << name_of(request.command);
  EXPECT_EQ(call->path, path);
  EXPECT_EQ(call->body, kHead + R"("MeterNo":"47003333623",)" + rest);
}

TEST(CalinV1Create, EachCommandHasItsPathAndItem) {
  expect_call(ask(Command::kReadCredit), "/COMM_RemoteReading",
              R"("DataItem":"Current Credit Register"})");
  expect_call(ask(Command::kReadVoltage), "/COMM_RemoteReading", R"("DataItem":"Voltage"})");
  expect_call(ask(Command::kReadCurrent), "/COMM_RemoteReading", R"("DataItem":"Current"})");
  expect_call(ask(Command::kReadPower), "/COMM_RemoteReading", R"("DataItem":"Power"})");
  expect_call(ask(Command::kReadPowerLimit), "/COMM_RemoteReading",
              R"("DataItem":"Maximum power threshold"})");
  expect_call(ask(Command::kReadVersion), "/COMM_RemoteReading", R"("DataItem":"Version"})");
  expect_call(ask(Command::kReadDate), "/COMM_RemoteReading", R"("DataItem":"Date"})");
  expect_call(ask(Command::kTurnOn), "/COMM_RemoteControl", R"("DataItem":"Switch On"})");
  expect_call(ask(Command::kTurnOff), "/COMM_RemoteControl", R"("DataItem":"Switch Off"})");
  for (const Command command : {Command::kTopUpKwh, Command::kClearCredit, Command::kClearTamper,
                                Command::kSetPowerLimit, Command::kDeliverPreexistingToken})
    expect_call(ask(command), "/COMM_RemoteToken", R"("Token":"12345678901234567890"})");
}

// req: device.wire.2
TEST(CalinV1Create, ADateIsWrittenAsInTheVectors) {
  expect_call(ask(Command::kSetDate), "/COMM_RemoteWrite",
              R"("DataItem":"Date","Data":"26081203"})");
  Request sunday = ask(Command::kSetDate);
  sunday.date = device::Date{2026, 8, 16};
  expect_call(sunday, "/COMM_RemoteWrite", R"("DataItem":"Date","Data":"26081600"})");
}

// req: device.send.7, device.send.8
TEST(CalinV1Create, WhatTheVendorLacksIsNotEncodable) {
  const auto encodable = [](Command command, MeterPhase phase) {
    return create_call_v1(kCredentials, ask(command, phase)).has_value();
  };
  for (const Command command :
       {Command::kReadTime, Command::kSetTime, Command::kReadReport, Command::kJoinNetwork})
    EXPECT_FALSE(encodable(command, MeterPhase::kNone)) << name_of(command);
  for (const MeterPhase phase : {MeterPhase::kB, MeterPhase::kC}) {
    for (std::size_t i = 0; i < device::kSubmitCommands; ++i) {
      const auto command = static_cast<Command>(i);
      if (!device::is_read(command)) continue;
      const bool has_item = command == Command::kReadVoltage || command == Command::kReadCurrent;
      EXPECT_EQ(encodable(command, phase), has_item) << name_of(command);
    }
  }
  expect_call(ask(Command::kReadVoltage, MeterPhase::kA), "/COMM_RemoteReading",
              R"("DataItem":"VoltageA"})");
  expect_call(ask(Command::kReadVoltage, MeterPhase::kC), "/COMM_RemoteReading",
              R"("DataItem":"VoltageC"})");
  expect_call(ask(Command::kReadCurrent, MeterPhase::kB), "/COMM_RemoteReading",
              R"("DataItem":"CurrentB"})");
  expect_call(ask(Command::kReadPower, MeterPhase::kA), "/COMM_RemoteReading",
              R"("DataItem":"Power"})");
  Request request = ask(Command::kTopUpKwh);
  request.token.clear();
  EXPECT_FALSE(create_call_v1(kCredentials, request));
  request = ask(Command::kSetDate);
  request.date = device::Date{2026, 2, 30};
  EXPECT_FALSE(create_call_v1(kCredentials, request));
}

TEST(CalinV1Poll, EachKindOfCommandHasItsPath) {
  const auto path = [](Command command) {
    const Result<Call> call = poll_call_v1(kCredentials, ask(command), "T1");
    EXPECT_EQ(call->body, kHead + R"("TaskNo":"T1"})");
    return call->path;
  };
  EXPECT_EQ(path(Command::kReadCredit), "/COMM_RemoteReadingTask");
  EXPECT_EQ(path(Command::kTurnOff), "/COMM_RemoteControlTask");
  EXPECT_EQ(path(Command::kSetDate), "/COMM_RemoteWriteTask");
  EXPECT_EQ(path(Command::kTopUpKwh), "/COMM_RemoteTokenTask");
}

// req: device.send.5, device.send.10
TEST(CalinV1Create, RepliesMeanWhatTheTableSays) {
  const auto verdict = [](Command command, const HttpAnswer& answer) {
    return read_create_v1(ask(command), answer).verdict;
  };
  const Command read = Command::kReadCredit;
  const Command token = Command::kTopUpKwh;
  const auto accepted = read_create_v1(
      ask(read),
      ok(R"({"Result":{"TaskNo":"T-17","Status":null},"ResultCode":"00","Reason":"OK"})"));
  EXPECT_EQ(accepted.verdict, SendVerdict::kAccepted);
  EXPECT_EQ(accepted.item, "T-17");
  EXPECT_EQ(read_create_v1(ask(read), ok(R"({"Result":{"TaskNo":17},"ResultCode":0})")).item, "17");
  const char* const rejected = R"({"ResultCode":"99","Reason":"other error"})";
  EXPECT_EQ(verdict(token, ok(rejected)), SendVerdict::kRejected);
  EXPECT_EQ(verdict(token, ok(R"({"ResultCode":99})")), SendVerdict::kRejected);
  EXPECT_EQ(verdict(read, ok(rejected)), SendVerdict::kFailed);
  EXPECT_EQ(verdict(Command::kTurnOff, ok(rejected)), SendVerdict::kFailed);
  EXPECT_EQ(verdict(token, ok(R"({"ResultCode":"01","Reason":"no such meter"})")),
            SendVerdict::kFailed);
  EXPECT_EQ(read_create_v1(ask(read), ok(R"({"ResultCode":"01","Reason":"no\nmeter"})")).reason,
            "no meter");
  for (const int status : {400, 401, 403, 404, 429, 499}) {
    EXPECT_EQ(verdict(token, {.status = status, .content_type = "application/json", .body = "{}"}),
              SendVerdict::kFailed);
    EXPECT_EQ(verdict(token, {.status = status, .content_type = "text/html", .body = "<html>"}),
              SendVerdict::kFailed);
  }
  for (const int status : {500, 502, 503, 599, 302, 100, 0})
    EXPECT_EQ(verdict(token, {.status = status, .content_type = "", .body = rejected}),
              SendVerdict::kUnknown)
        << status;
  EXPECT_EQ(verdict(token, {.status = 200, .content_type = "text/html", .body = rejected}),
            SendVerdict::kUnknown);
  for (const char* body :
       {"", "OK", "[]", "{}", R"({"ResultCode":null})", "<html></html>",
        R"({"ResultCode":"00","Reason":"OK"})", R"({"Result":{},"ResultCode":"00"})",
        R"({"Result":{"TaskNo":""},"ResultCode":"00"})", R"({"Result":7,"ResultCode":"00"})",
        R"({"Result":{"TaskNo":"T"},"ResultCode":"01"})"})
    EXPECT_EQ(verdict(read, ok(body)), SendVerdict::kUnknown) << body;
}

TEST(CalinV1Create, TasksAndAnswersAreBounded) {
  const auto verdict = [](std::size_t size) {
    const std::string body =
        R"({"ResultCode":"00","Result":{"TaskNo":")" + std::string(size, '1') + "\"}}";
    return read_create_v1(ask(Command::kReadCredit), ok(body)).verdict;
  };
  EXPECT_EQ(verdict(kTaskBytesMax), SendVerdict::kAccepted);
  EXPECT_EQ(verdict(kTaskBytesMax + 1), SendVerdict::kUnknown);
  EXPECT_EQ(verdict(kReplyBytesMax), SendVerdict::kUnknown);
}

device::PollReply poll(const Request& request, std::string_view result) {
  const std::string body =
      std::string(R"({"ResultCode":"00","Reason":"OK","Result":{)").append(result).append("}}");
  return read_poll_v1(request, "T1", ok(body));
}

// req: device.poll.3
TEST(CalinV1Poll, StatusesMeanWhatTheTableSays) {
  const Request token = ask(Command::kTopUpKwh);
  for (const char* result : {"", R"("Status":null)", R"("Status":"")", R"("Status":"unknown")"}) {
    EXPECT_EQ(poll(token, result).verdict, PollVerdict::kPending) << result;
    EXPECT_FALSE(poll(token, result).odd) << result;
  }
  for (const char* result : {R"("Status":"Running")", R"("Status":"true")", R"("Status":"FALSE")",
                             R"("Status":1)", R"("Status":true)"}) {
    EXPECT_EQ(poll(token, result).verdict, PollVerdict::kPending) << result;
    EXPECT_TRUE(poll(token, result).odd) << result;
  }
  const auto done = poll(token, R"("Status":"True","Data":"")");
  EXPECT_EQ(done.verdict, PollVerdict::kAnswered);
  EXPECT_EQ(done.response, device::executed(Command::kTopUpKwh));
  const auto failed = read_poll_v1(
      token, "T1",
      ok(R"({"Result":{"Status":"False"},"ResultCode":"01","Reason":"meter said no"})"));
  EXPECT_EQ(failed.verdict, PollVerdict::kAnswered);
  EXPECT_EQ(failed.response, device::not_executed(Command::kTopUpKwh, "meter said no"));
  EXPECT_EQ(read_poll_v1(token, "T1", ok(R"({"Result":{"Status":"False"}})")).response,
            device::not_executed(Command::kTopUpKwh, device::kRefusedByMeter));
  const auto rejected =
      read_poll_v1(token, "T1", ok(R"({"ResultCode":"99","Reason":"other error"})"));
  EXPECT_EQ(rejected.verdict, PollVerdict::kRejected);
  EXPECT_EQ(rejected.reason, "other error");
}

// req: device.poll.5
TEST(CalinV1Poll, WhatSaysNothingAboutTheTaskIsAnError) {
  const Request request = ask(Command::kReadCredit);
  const auto verdict = [&](const HttpAnswer& answer) {
    return read_poll_v1(request, "T1", answer).verdict;
  };
  for (const char* body : {"", "x", "[]", "{}", R"({"Result":null,"ResultCode":"01"})",
                           R"({"ResultCode":"00"})", R"({"Result":5,"ResultCode":"99"})"})
    EXPECT_EQ(verdict(ok(body)), PollVerdict::kError) << body;
  const char* const done = R"({"Result":{"Status":"True","Data":"1,ON"}})";
  EXPECT_EQ(verdict(ok(done)), PollVerdict::kAnswered);
  for (const int status : {0, 301, 400, 401, 404, 500, 503})
    EXPECT_EQ(verdict({.status = status, .content_type = "application/json", .body = done}),
              PollVerdict::kError);
  EXPECT_EQ(verdict({.status = 200, .content_type = "text/html", .body = done}),
            PollVerdict::kError);
}

// req: device.ack.7
TEST(CalinV1Poll, AnAnswerAboutAnotherItemOrTaskIsMismatched) {
  const auto verdict = [](Command command, const char* result,
                          MeterPhase phase = MeterPhase::kNone) {
    return poll(ask(command, phase), result).verdict;
  };
  EXPECT_EQ(verdict(Command::kReadCredit, R"("Status":"True","DataItem":"Power","Data":"5 W")"),
            PollVerdict::kMismatched);
  EXPECT_EQ(verdict(Command::kReadVoltage, R"("Status":"True","DataItem":"VoltageA","Data":"5 V")",
                    MeterPhase::kB),
            PollVerdict::kMismatched);
  EXPECT_EQ(verdict(Command::kTurnOn, R"("Status":"True","DataItem":"Switch Off")"),
            PollVerdict::kMismatched);
  EXPECT_EQ(verdict(Command::kTurnOn, R"("Status":"False","DataItem":"Switch Off")"),
            PollVerdict::kMismatched);
  EXPECT_EQ(verdict(Command::kTurnOn, R"("Status":"True","DataItem":" Switch On ")"),
            PollVerdict::kAnswered);
  EXPECT_EQ(verdict(Command::kTurnOn, R"("Status":"True","TaskNo":"T2")"),
            PollVerdict::kMismatched);
  EXPECT_EQ(verdict(Command::kTurnOn, R"("Status":"True","TaskNo":"T1")"), PollVerdict::kAnswered);
  EXPECT_EQ(verdict(Command::kTurnOn, R"("Status":"True","DataItem":5)"), PollVerdict::kMismatched);
  EXPECT_EQ(verdict(Command::kTopUpKwh, R"("Status":"True","DataItem":"Power","Data":"5 W")"),
            PollVerdict::kMismatched);
  EXPECT_EQ(verdict(Command::kTopUpKwh, R"("Status":"True","DataItem":"Token")"),
            PollVerdict::kAnswered);
}

TEST(CalinV1Poll, DataIsReadByItsItem) {
  const auto response = [](Command command, const char* item, const char* data) {
    const auto reply = poll(ask(command), std::string(R"("Status":"True","DataItem":")")
                                              .append(item)
                                              .append(R"(","Data":)")
                                              .append(data));
    EXPECT_EQ(reply.verdict, PollVerdict::kAnswered);
    return reply.response;
  };
  const auto value = [](const device::Response& r) {
    return r.executed && r.value ? to_text(*r.value) : "failed: " + r.reason;
  };
  const char* const credit = "Current Credit Register";
  const auto on = response(Command::kReadCredit, credit, R"("123.45,ON")");
  EXPECT_EQ(value(on), "123.45");
  EXPECT_EQ(on.relay_on, true);
  EXPECT_EQ(response(Command::kReadCredit, credit, R"("-1.50, OFF")").relay_on, false);
  EXPECT_EQ(response(Command::kReadCredit, credit, R"("7")").relay_on, std::nullopt);
  EXPECT_EQ(value(response(Command::kReadVoltage, "Voltage", R"("230.10 V")")), "230.1");
  EXPECT_EQ(value(response(Command::kReadCurrent, "Current", R"("5.67 A")")), "5.67");
  EXPECT_EQ(value(response(Command::kReadPower, "Power", R"("1234.5 W")")), "1234.5");
  EXPECT_EQ(value(response(Command::kReadPower, "Power", "1234.5")), "1234.5");
  EXPECT_EQ(value(response(Command::kReadPowerLimit, "Maximum power threshold", R"("5000 W")")),
            "5000");
  EXPECT_EQ(response(Command::kReadVersion, "Version", R"("V 1.2")").version, "V 1.2");
  EXPECT_EQ(response(Command::kReadDate, "Date", R"("26-08-12 Wednesday")").date,
            (device::Date{2026, 8, 12}));
  EXPECT_EQ(response(Command::kSetDate, "Date", R"("")"), device::executed(Command::kSetDate));
}

// req: device.wire.9
TEST(CalinV1Poll, DataThatIsNoValueIsUndecodable) {
  const auto reason = [](Command command, const char* data) {
    const auto reply = poll(ask(command), std::string(R"("Status":"True","Data":)").append(data));
    EXPECT_EQ(reply.verdict, PollVerdict::kAnswered);
    EXPECT_FALSE(reply.response.executed) << data;
    return reply.response.reason;
  };
  for (const char* data : {R"("")", R"(",ON")", R"("x,ON")", "null", "{}", R"("1e5,ON")"})
    EXPECT_EQ(reason(Command::kReadCredit, data), device::kUndecodable) << data;
  for (const char* data : {R"("")", R"("V")", R"("230,1 V")", R"("NaN")"})
    EXPECT_EQ(reason(Command::kReadVoltage, data), device::kUndecodable) << data;
  for (const char* data : {R"("")", R"("26-13-01 Mon")", R"("26-02-30 Mon")", R"("2026-08-12")",
                           R"("26/08/12")", R"("ab-cd-ef")", R"("2a-08-12")"})
    EXPECT_EQ(reason(Command::kReadDate, data), device::kUndecodable) << data;
  EXPECT_EQ(reason(Command::kReadVersion, R"(" ")"), device::kUndecodable);
}

}  // namespace
}  // namespace postrider::calin
