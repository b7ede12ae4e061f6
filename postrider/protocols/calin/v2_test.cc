#include <gtest/gtest.h>

#include "postrider/protocols/calin/calin.h"

namespace postrider::calin {
namespace {

using device::Command;
using device::MeterPhase;
using device::PollVerdict;
using device::Request;
using device::SendVerdict;

const CredentialsV2 kCredentials{
    .user = "me", .password = "secret", .company = "Co", .customer = "C1"};

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
  return {.status = 200, .content_type = "application/json", .body = body};
}

TEST(CalinV2Login, CarriesTheCredentials) {
  const Call call = login_call_v2(kCredentials);
  EXPECT_EQ(call.path, "/API/User/Login");
  EXPECT_EQ(call.body, R"({"userId":"me","password":"secret","company":"Co"})");
}

// req: device.wire.2
TEST(CalinV2Create, EachCommandHasTheProtocolOfTheVectors) {
  struct Case {
    Command command;
    const char* kind;
    const char* protocol_and_data;
  };
  const Case cases[] = {
      {Command::kReadCredit, "Reading", "39"},
      {Command::kReadVoltage, "Reading", "5"},
      {Command::kReadPower, "Reading", "11"},
      {Command::kReadCurrent, "Reading", "8"},
      {Command::kReadPowerLimit, "Reading", "46"},
      {Command::kReadVersion, "Reading", "45"},
      {Command::kReadDate, "Reading", "29"},
      {Command::kTurnOn, "Control", "20000"},
      {Command::kTurnOff, "Control", "20001"},
      {Command::kSetDate, "Setting", R"(10000,"data":"2026-08-12 00:00:00")"},
      {Command::kTopUpKwh, "Token", R"(30000,"data":"12345678901234567890")"},
      {Command::kClearCredit, "Token", R"(30000,"data":"12345678901234567890")"},
      {Command::kClearTamper, "Token", R"(30000,"data":"12345678901234567890")"},
      {Command::kSetPowerLimit, "Token", R"(30000,"data":"12345678901234567890")"},
      {Command::kDeliverPreexistingToken, "Token", R"(30000,"data":"12345678901234567890")"},
  };
  for (const Case& c : cases) {
    const Result<Call> call = create_call_v2(kCredentials, ask(c.command));
    ASSERT_TRUE(call) << name_of(c.command);
    EXPECT_EQ(call->path, std::string("/API/RemoteMeterTask/Create") + c.kind + "Task");
    EXPECT_EQ(call->body, std::string(R"([{"meterId":"47003333623","protocolId":)") +
                              c.protocol_and_data + R"(,"customerId":"C1","company":"Co"}])");
    EXPECT_EQ(call->body.find("secret"), std::string::npos);
    const Result<Call> poll = poll_call_v2(kCredentials, ask(c.command), "17");
    EXPECT_EQ(poll->path, std::string("/API/RemoteMeterTask/Get") + c.kind + "Task");
    EXPECT_EQ(poll->body, R"({"id":17,"lang":"en","company":"Co"})");
  }
  for (const char* task : {"", "x", "17x", "99999999999999999999"})
    EXPECT_FALSE(poll_call_v2(kCredentials, ask(Command::kReadCredit), task)) << task;
}

// req: device.send.7, device.send.8
TEST(CalinV2Create, WhatTheVendorLacksIsNotEncodable) {
  const auto encodable = [](const Request& request) {
    return create_call_v2(kCredentials, request).has_value();
  };
  for (const Command command :
       {Command::kReadTime, Command::kSetTime, Command::kReadReport, Command::kJoinNetwork})
    EXPECT_FALSE(encodable(ask(command))) << name_of(command);
  for (std::size_t i = 0; i < device::kSubmitCommands; ++i) {
    const auto command = static_cast<Command>(i);
    if (!device::is_read(command) || command == Command::kReadTime) continue;
    EXPECT_TRUE(encodable(ask(command, MeterPhase::kA))) << name_of(command);
    EXPECT_FALSE(encodable(ask(command, MeterPhase::kB))) << name_of(command);
    EXPECT_FALSE(encodable(ask(command, MeterPhase::kC))) << name_of(command);
  }
  Request token = ask(Command::kClearTamper);
  token.token.clear();
  EXPECT_FALSE(encodable(token));
  Request date = ask(Command::kSetDate);
  date.date = device::Date{2025, 2, 29};
  EXPECT_FALSE(encodable(date));
}

// req: device.send.5, device.send.10
TEST(CalinV2Create, RepliesMeanWhatTheTableSays) {
  const auto accepted =
      read_create_v2(ok(R"({"code":0,"reason":"success","result":[{"id":4711}]})"));
  EXPECT_EQ(accepted.verdict, SendVerdict::kAccepted);
  EXPECT_EQ(accepted.item, "4711");
  EXPECT_EQ(read_create_v2(ok(R"({"code":"0","result":[{"id":"4711"}]})")).item, "4711");
  const auto failed = read_create_v2(ok(R"({"code":5,"reason":"no such meter","result":null})"));
  EXPECT_EQ(failed.verdict, SendVerdict::kFailed);
  EXPECT_EQ(failed.reason, "no such meter");
  const auto verdict = [](int status, std::string_view body, std::string_view type) {
    return read_create_v2({.status = status, .content_type = type, .body = body}).verdict;
  };
  for (const int status : {400, 403, 404, 422, 429})
    EXPECT_EQ(verdict(status, "{}", "application/json"), SendVerdict::kFailed) << status;
  for (const int status : {500, 502, 503, 504, 301, 0})
    EXPECT_EQ(verdict(status, R"({"code":5})", "application/json"), SendVerdict::kUnknown)
        << status;
  EXPECT_EQ(verdict(200, R"({"code":5})", "text/html"), SendVerdict::kUnknown);
  for (const char* body :
       {"", "x", "[]", "{}", R"({"code":0})", R"({"code":0,"result":[]})",
        R"({"code":0,"result":{}})", R"({"code":0,"result":[{}]})",
        R"({"code":0,"result":[{"id":null}]})", R"({"code":0,"result":[{"id":0}]})",
        R"({"code":0,"result":[7]})", R"({"code":null})", R"({"code":5,"result":[{"id":4711}]})"})
    EXPECT_EQ(verdict(200, body, "application/json"), SendVerdict::kUnknown) << body;
}

// req: device.send.6
TEST(CalinV2, OnlyAnUnauthorizedAnswerAsksForANewLogin) {
  const HttpAnswer answer{.status = 401, .content_type = "", .body = ""};
  EXPECT_EQ(read_create_v2(answer).verdict, SendVerdict::kLoginNeeded);
  EXPECT_EQ(read_poll_v2(ask(Command::kReadCredit), answer).verdict, PollVerdict::kLoginNeeded);
  for (const int status : {400, 403, 500})
    EXPECT_NE(read_create_v2({.status = status, .content_type = "", .body = ""}).verdict,
              SendVerdict::kLoginNeeded);
}

device::PollReply poll(Command command, std::string_view row) {
  const std::string body =
      std::string(R"({"code":0,"reason":"success","result":{"data":[{)").append(row).append("}]}}");
  return read_poll_v2(ask(command), ok(body));
}

// req: device.poll.4
TEST(CalinV2Poll, StatusesMeanWhatTheTableSays) {
  EXPECT_EQ(poll(Command::kTopUpKwh, R"("status":0)").verdict, PollVerdict::kPending);
  EXPECT_EQ(poll(Command::kTopUpKwh, R"("status":"0","name":"Anything")").verdict,
            PollVerdict::kPending);
  const auto done = poll(Command::kTopUpKwh, R"("status":1,"name":" Token ","data":"")");
  EXPECT_EQ(done.verdict, PollVerdict::kAnswered);
  EXPECT_EQ(done.response, device::executed(Command::kTopUpKwh));
  const auto failed = poll(Command::kTopUpKwh, R"("status":2,"name":"Token")");
  EXPECT_EQ(failed.verdict, PollVerdict::kAnswered);
  EXPECT_EQ(failed.response, device::not_executed(Command::kTopUpKwh, device::kRefusedByMeter));
  const auto rejected = poll(Command::kTopUpKwh, R"("status":3)");
  EXPECT_EQ(rejected.verdict, PollVerdict::kAnswered);
  EXPECT_EQ(rejected.response, device::not_executed(Command::kTopUpKwh, device::kTokenRejected));
}

// req: device.poll.5
TEST(CalinV2Poll, WhatSaysNothingAboutTheTaskIsAnError) {
  const auto verdict = [](const HttpAnswer& answer) {
    return read_poll_v2(ask(Command::kReadCredit), answer).verdict;
  };
  for (const char* body :
       {"", "x", "{}", R"({"code":0})", R"({"code":0,"result":{}})",
        R"({"code":0,"result":{"data":[]}})", R"({"code":0,"result":{"data":[1]}})",
        R"({"code":0,"result":[]})", R"({"code":3,"reason":"busy"})"})
    EXPECT_EQ(verdict(ok(body)), PollVerdict::kError) << body;
  for (const char* row :
       {"", R"("status":4)", R"("status":-1)", R"("status":null)", R"("status":"done")"})
    EXPECT_EQ(poll(Command::kReadCredit, row).verdict, PollVerdict::kError) << row;
  const char* const done =
      R"({"code":0,"result":{"data":[{"status":1,"name":"Current Credit Balance","data":"1"}]}})";
  EXPECT_EQ(verdict(ok(done)), PollVerdict::kAnswered);
  for (const int status : {0, 302, 400, 404, 500, 503})
    EXPECT_EQ(verdict({.status = status, .content_type = "", .body = done}), PollVerdict::kError);
  EXPECT_EQ(verdict({.status = 200, .content_type = "text/html", .body = done}),
            PollVerdict::kError);
}

// req: device.ack.7
TEST(CalinV2Poll, AnAnswerAboutAnotherItemIsMismatched) {
  for (const char* row : {R"("status":1,"name":"Power","data":"5")", R"("status":1,"data":"5")",
                          R"("status":2,"name":"Power")", R"("status":1,"name":5,"data":"5")"})
    EXPECT_EQ(poll(Command::kReadCredit, row).verdict, PollVerdict::kMismatched) << row;
}

TEST(CalinV2Poll, DataIsReadByItsName) {
  const auto read = [](Command command, const char* name, const char* data) {
    const auto reply = poll(
        command,
        std::string(R"("status":1,"name":")").append(name).append(R"(","data":)").append(data));
    EXPECT_EQ(reply.verdict, PollVerdict::kAnswered) << name;
    return reply.response;
  };
  const auto value = [](const device::Response& r) {
    return r.executed && r.value ? to_text(*r.value) : "failed: " + r.reason;
  };
  EXPECT_EQ(value(read(Command::kReadCredit, "Current Credit Balance", R"("123.45")")), "123.45");
  EXPECT_EQ(value(read(Command::kReadVoltage, "Phase-A Voltage", R"("230.12 V")")), "230.12");
  EXPECT_EQ(value(read(Command::kReadPower, "Power", "0.75")), "0.75");
  EXPECT_EQ(value(read(Command::kReadCurrent, "Phase-A Current(A)", R"("5.67")")), "5.67");
  EXPECT_EQ(value(read(Command::kReadPowerLimit, "Maximum power threshold", "5000")), "5000");
  EXPECT_EQ(value(read(Command::kReadCredit, "Current Credit Balance", R"("")")),
            "failed: undecodable");
  EXPECT_EQ(read(Command::kReadVersion, "Meter Firmware Version", R"("V1.2")").version, "V1.2");
  EXPECT_EQ(read(Command::kReadDate, "Clock(time)", R"("2026-08-12 14:30:00")").date,
            (device::Date{2026, 8, 12}));
  for (const char* data : {R"("2026-13-12 14:30:00")", R"("26-08-12")", R"("")", R"("2026-8-12 x")",
                           R"("20x6-08-12")", R"("-026-08-12")"})
    EXPECT_EQ(read(Command::kReadDate, "Clock(time)", data).reason, device::kUndecodable) << data;
  EXPECT_TRUE(read(Command::kSetDate, "Clock(time)", R"("")").executed);
}

// req: device.poll.7
TEST(CalinV2Poll, TheRelayMustBeInThePositionThatWasAskedFor) {
  const auto executed = [](Command command, const char* data) {
    const auto reply =
        poll(command, std::string(R"("status":1,"name":"Relay On/Off","data":)").append(data));
    EXPECT_EQ(reply.verdict, PollVerdict::kAnswered);
    return reply.response.executed;
  };
  EXPECT_TRUE(executed(Command::kTurnOn, R"("Connected")"));
  EXPECT_FALSE(executed(Command::kTurnOff, R"("Connected")"));
  for (const char* data : {R"("Disconnected")", R"("")", R"("connected")", "null"}) {
    EXPECT_FALSE(executed(Command::kTurnOn, data)) << data;
    EXPECT_TRUE(executed(Command::kTurnOff, data)) << data;
  }
}

}  // namespace
}  // namespace postrider::calin
