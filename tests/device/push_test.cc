// Commands by push, told through the shard: the network server and the meter are the test.
#include <array>

#include "postrider/protocols/grpc/grpc.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DevicePush : public DeviceRig {
 protected:
  // Leads a command into a state, as far as it has one. The item is i1.
  MessageId lead_to(std::string_view where, const device::DeviceMessage& command) {
    const MessageId id = send(command);
    if (where == "Sending") return id;
    if (where == "CheckSend") {
      lose(calls("Enqueue").back().attempt);
      return id;
    }
    enqueued("i1");
    if (where == "AtServer") return id;
    if (where == "CheckNs") {
      join();
      return id;
    }
    txack("i1");
    if (where == "OnAir") return id;
    if (where == "CheckAir") {
      pass(12s);
      return id;
    }
    ack("i1", true);
    return id;
  }
  static device::DeviceMessage voltage(device::MeterPhase phase) {
    device::DeviceMessage out = message("READ_VOLTAGE");
    out.request.phase = phase;
    return out;
  }
  void raw(std::string_view event, const std::string& json) {
    Arrived arrived;
    arrived.caller.ticket = Ticket(++tickets);
    arrived.profile = "device";
    arrived.source = {.origin = "lora", .kind = std::string(event), .format = "json"};
    arrived.settings = {{"events", "hear"}};
    arrived.bytes = json;
    post(arrived);
    EXPECT_EQ(code_of(tickets), AnswerCode::kDone);
  }
};

// req: device.ack.1
TEST_F(DevicePush, ReadsACreditFromEnqueueToAnswer) {
  open_all();
  const auto command = message("READ_CREDIT");
  const MessageId id = send(command);
  ASSERT_EQ(calls("Enqueue").size(), 1U);
  EXPECT_EQ(state(id), "Sending");
  enqueued("i1");
  EXPECT_EQ(state(id), "AtServer");
  txack("i2");
  EXPECT_EQ(state(id), "AtServer");
  txack("i1");
  EXPECT_EQ(state(id), "OnAir");
  ack("i1", true);
  EXPECT_EQ(state(id), "HalfAck");
  uplink(frame(command));
  EXPECT_EQ(phase(id), Phase::kDelivered);
  pass(1s);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_NE(bodies[0].find(R"("deliveryStatus":"SENT_TO_NS")"), std::string::npos);
  EXPECT_NE(bodies[1].find(R"("response":{"status":"EXECUTION_SUCCESS","data":123.45)"),
            std::string::npos)
      << bodies[1];
  EXPECT_NE(bodies[1].find(R"("outcome":"executed")"), std::string::npos) << bodies[1];
  EXPECT_NE(history(id).find("DELIVERY_SUCCESSFUL"), std::string::npos) << history(id);
}

// req: device.send.2
TEST_F(DevicePush, EnqueuesConfirmedOnPortOneUnderThePaddedReference) {
  open_all();
  send(message("TURN_ON"));
  const StartAttempt call = calls().at(0);
  EXPECT_EQ(call.request.verb, "CALL");
  EXPECT_EQ(call.request.target, "http://ns:8080/api.DeviceService/Enqueue");
  EXPECT_EQ(call.request.headers.find("authorization"), "Bearer secret-key");
  EXPECT_EQ(call.request.time_out, 20s);
  const auto sent = chirpstack::decode_enqueue(call.request.body);
  ASSERT_TRUE(sent.has_value());
  EXPECT_EQ(sent->item.dev_eui, "0000047003333623");
  EXPECT_EQ(sent->item.f_port, 1U);
  EXPECT_TRUE(sent->item.confirmed);
  EXPECT_FALSE(sent->flush_queue);
  EXPECT_EQ(sent->item.data, device::encode_request(message("TURN_ON").request).value_or(""));
}

// req: device.send.3
TEST_F(DevicePush, GivesTheServerUntilADayAfterTheAttemptBegan) {
  open_all();
  pass(5s);
  send(message("TURN_ON"));
  EXPECT_EQ(sent_item(0, "").expires_at, kStart + 5s + 24h);
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  pass(2s);
  EXPECT_EQ(sent_item(1, "").expires_at, kStart + 7s + 24h);
}

// req: device.send.3
TEST_F(DevicePush, GivesTheServerUntilTheDeadlineOfTheMessageWhenThatIsSooner) {
  open_all({{"life_max", "10h"}});
  pass(5s);
  send(message("TURN_ON"));
  EXPECT_EQ(sent_item(0, "").expires_at, kStart + 5s + 10h);
  auto hurried = message("TURN_ON", meter(2));
  hurried.expires_at = kStart + 1h;
  pass(2s);
  send(hurried);
  EXPECT_EQ(sent_item(1, "").expires_at, kStart + 1h);
}

// req: device.send.3
TEST_F(DevicePush, TellsAnOldServerNoExpiry) {
  open_all({{"server_expiry", "false"}});
  send(message("TURN_ON"));
  EXPECT_FALSE(sent_item(0, "").expires_at.has_value());
}

// req: device.send.4
TEST_F(DevicePush, TheIdOfTheServerIsInTheRecordOfTheMove) {
  open_all();
  const MessageId id = send(message("TURN_ON"));
  store.holds_commits = true;
  enqueued("i1");
  ASSERT_EQ(store.commits_held(), 1U);  // one record: both or nothing
  release_commit();
  EXPECT_EQ(store.commits_held(), 0U);
  store.holds_commits = false;
  restart();
  EXPECT_EQ(state(id), "AtServer");
  txack("i1");
  EXPECT_EQ(state(id), "OnAir");
}

// req: device.send.5
TEST_F(DevicePush, ASuccessWithoutAnIdProvesNothing) {
  open_all();
  const MessageId act = send(message("TURN_ON"));
  enqueued("");
  EXPECT_EQ(state(act), "CheckSend");
  EXPECT_EQ(calls("GetQueue").size(), 1U);
  pass(2s);
  const MessageId read = send(message("READ_CREDIT", meter(2)));
  enqueued("");
  EXPECT_EQ(state(read), "ToRetry");
}

struct SendCase {
  const char* name;
  WireEnd end;
  int status;
  const char* words;
  const char* act;   // the state that a TURN_ON gets into
  const char* read;  // and a READ_CREDIT
  bool alarm = false;
};
class DevicePushReply : public DeviceRig, public ::testing::WithParamInterface<SendCase> {
 protected:
  std::string after(std::string_view command) {
    const MessageId id = send(message(command));
    AttemptEnded event;
    event.attempt = calls("Enqueue").back().attempt;
    event.reply.end = GetParam().end;
    event.reply.status = GetParam().status;
    if (event.reply.status == 0) event.reply.body = chirpstack::encode_enqueue_response("i1");
    event.reply.headers = {{"grpc-message", GetParam().words}};
    post(event);
    return state(id) == "Failed" || phase(id) == Phase::kDead ? "Failed" : state(id);
  }
};

// req: device.send.10
TEST_P(DevicePushReply, MeansWhatTheTableSaysForAnAct) {
  open_all();
  EXPECT_EQ(after("TURN_ON"), GetParam().act);
  EXPECT_EQ(tallies().alarms, GetParam().alarm ? 1U : 0U);
  EXPECT_EQ(calls("GetQueue").size(), GetParam().act == std::string("CheckSend") ? 1U : 0U);
}
// req: device.send.10
TEST_P(DevicePushReply, MeansWhatTheTableSaysForARead) {
  open_all();
  EXPECT_EQ(after("READ_CREDIT"), GetParam().read);
  EXPECT_TRUE(calls("GetQueue").empty());
}

constexpr WireEnd kPushSaid = WireEnd::kAnswered;
INSTANTIATE_TEST_SUITE_P(
    Replies, DevicePushReply,
    ::testing::Values(
        SendCase{"Ok", kPushSaid, 0, "", "AtServer", "AtServer"},
        SendCase{"ConnectionRefused", WireEnd::kRefused, 0, "", "ToRetry", "ToRetry"},
        SendCase{"NoName", WireEnd::kNoName, 0, "", "ToRetry", "ToRetry"},
        SendCase{"NoTls", WireEnd::kNoTls, 0, "", "ToRetry", "ToRetry"},
        SendCase{"InvalidArgument", kPushSaid, 3, "invalid f_port", "Failed", "Failed"},
        SendCase{"NotFound", kPushSaid, 5, "", "Failed", "Failed"},
        SendCase{"ForeignKeyOfPostgres", kPushSaid, 13,
                 "insert or update on table \"device_queue_item\" violates foreign key constraint "
                 "\"device_queue_item_dev_eui_fkey\"",
                 "Failed", "Failed"},
        SendCase{"ForeignKeyOfSqlite", kPushSaid, 13, "FOREIGN KEY constraint failed", "Failed",
                 "Failed"},
        SendCase{"Unauthenticated", kPushSaid, 16, "", "ToRetry", "ToRetry", true},
        SendCase{"PermissionDenied", kPushSaid, 7, "", "ToRetry", "ToRetry", true},
        SendCase{"ResourceExhausted", kPushSaid, 8, "", "ToRetry", "ToRetry", true},
        SendCase{"Deadline", kPushSaid, 4, "", "CheckSend", "ToRetry"},
        SendCase{"OtherInternal", kPushSaid, 13, "database is locked", "CheckSend", "ToRetry"},
        SendCase{"Unknown", kPushSaid, 2, "", "CheckSend", "ToRetry"},
        SendCase{"Unavailable", kPushSaid, 14, "", "CheckSend", "ToRetry"},
        SendCase{"Cancelled", kPushSaid, 1, "", "CheckSend", "ToRetry"},
        SendCase{"Aborted", kPushSaid, 10, "", "CheckSend", "ToRetry"},
        SendCase{"TimedOut", WireEnd::kTimedOut, 0, "", "CheckSend", "ToRetry"},
        SendCase{"Reset", WireEnd::kReset, 0, "", "CheckSend", "ToRetry"}),
    [](const auto& one) { return std::string(one.param.name); });

struct Unsendable {
  const char* name;
  const char* command;
  const char* meter = "47003333623";
  const char* token = "";
  std::optional<device::Date> date = {};
};
class DeviceUnsendable : public DeviceRig, public ::testing::WithParamInterface<Unsendable> {};

// req: device.send.7
TEST_P(DeviceUnsendable, IsRefusedWhenItIsHandedIn) {
  open_all();
  auto command = message(GetParam().command, GetParam().meter);
  command.request.token = GetParam().token;
  command.request.date = GetParam().date;
  send_in_vain(command);
  pass(1h);
  EXPECT_TRUE(calls().empty());
  EXPECT_TRUE(bodies.empty());
}

INSTANTIATE_TEST_SUITE_P(
    ByLoRaWan, DeviceUnsendable,
    ::testing::Values(
        Unsendable{.name = "Version", .command = "READ_VERSION"},
        Unsendable{.name = "NoToken", .command = "TOP_UP_KWH"},
        Unsendable{.name = "NoTokenToClear", .command = "CLEAR_TAMPER"},
        Unsendable{.name = "OddToken", .command = "TOP_UP_KWH", .token = "123"},
        Unsendable{.name = "NoSuchDate", .command = "SET_DATE", .date = device::Date{2026, 2, 30}},
        Unsendable{.name = "NoDate", .command = "SET_DATE"},
        Unsendable{.name = "NoTime", .command = "SET_TIME"},
        Unsendable{.name = "NoMeterNumber", .command = "TURN_ON", .meter = "meter"}),
    [](const auto& one) { return std::string(one.param.name); });

// req: device.send.7, device.retry.3
TEST_F(DevicePush, WhatTheQueueCouldSayWhenItWasAcceptedIsRejectedWithoutACall) {
  open_all({{"spacing", "1m"}});
  send(message("READ_CREDIT", meter(1)));
  const MessageId id = send(message("READ_TIME"));
  NamedTexts pull = pull_settings();
  put(pull, {"plugin", "lora"});
  add_queue(kPushQueue, pull);  // the same queue goes another way from now on
  pass(1h);
  for (const StartAttempt& call : calls()) EXPECT_NE(call.message, id);
  EXPECT_EQ(phase(id), Phase::kDead);
  EXPECT_EQ(status(id), "DELIVERY_FAILED");
  EXPECT_EQ(outcome(id), "failed");
  EXPECT_EQ(may_have_run(id), "false");
  EXPECT_EQ(field(report(id), "retryCount"), "0");
  EXPECT_EQ(count(failures(id), "\"isFinal\":true"), 1U) << failures(id);
}

// req: device.ack.2
TEST_F(DevicePush, ATxAckMayHaveANumberATextOrNoDownlinkId) {
  open_all({{"spacing", "0"}});
  const std::array<std::string, 3> ids = {R"("downlinkId":4711,)", R"("downlinkId":"4711",)", ""};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string item = "i" + std::to_string(i);
    const MessageId id = send(message("TURN_ON", meter(i)));
    enqueued(item);
    raw("txack", "{" + ids[i] + R"("deviceInfo":{"devEui":")" + eui_of(meter(i)) +
                     R"("},"queueItemId":")" + item + R"("})");
    EXPECT_EQ(state(id), "OnAir") << ids[i];
  }
}

class DeviceNack : public DevicePush, public ::testing::WithParamInterface<std::string_view> {};

// req: device.ack.5, device.retry.5
TEST_P(DeviceNack, FailsTheAttemptInThisState) {
  open_all();
  const MessageId id = lead_to(GetParam(), message("TURN_ON"));
  ASSERT_EQ(state(id), GetParam());
  ack("i1", false);
  EXPECT_EQ(state(id), "ToRetry");
  EXPECT_EQ(field(history(id), "closed"), "negative-ack") << history(id);
}
// req: device.ack.5
TEST_P(DeviceNack, IsAnAckThatDoesNotSay) {
  open_all();
  const MessageId id = lead_to(GetParam(), message("TURN_ON"));
  raw("ack", R"({"deviceInfo":{"devEui":"0000047003333623"},"queueItemId":"i1"})");
  EXPECT_EQ(state(id), "ToRetry");
}
// req: device.st.3
TEST_P(DeviceNack, EndsAsUnknownWhatMayNeverBeRepeated) {
  open_all({{"repeat.TURN_ON", "never"}});
  const MessageId id = lead_to(GetParam(), message("TURN_ON"));
  ASSERT_EQ(state(id), GetParam());
  ack("i1", false);
  EXPECT_EQ(phase(id), Phase::kIndeterminate);
  EXPECT_EQ(outcome(id), "unknown");
  EXPECT_EQ(may_have_run(id), "true");
  EXPECT_EQ(status(id), "DELIVERY_FAILED");
}

INSTANTIATE_TEST_SUITE_P(States, DeviceNack,
                         ::testing::Values("Sending", "CheckSend", "AtServer", "CheckNs", "OnAir",
                                           "CheckAir"),
                         [](const auto& one) { return std::string(one.param); });

// req: device.st.4, device.wire.4
TEST_F(DevicePush, ARefusalIsDeliveredAndNotRetried) {
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = lead_to("HalfAck", command);
  uplink(frame(command, false));
  EXPECT_EQ(status(id), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(outcome(id), "refused");
  EXPECT_EQ(may_have_run(id), "false");
  pass(24h);
  EXPECT_EQ(calls().size(), 1U);
  EXPECT_NE(bodies.back().find(R"("status":"EXECUTION_FAILURE")"), std::string::npos);
}

class DeviceOtherFrame : public DevicePush,
                         public ::testing::WithParamInterface<std::string_view> {};

// req: device.ack.6
TEST_P(DeviceOtherFrame, AnswersTheOnlyOpenAttempt) {
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = lead_to(GetParam(), command);
  ASSERT_EQ(state(id), GetParam());
  pass(500ms);
  uplink(frame(command), "another");
  EXPECT_EQ(status(id), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(outcome(id), "executed");
}

INSTANTIATE_TEST_SUITE_P(States, DeviceOtherFrame,
                         ::testing::Values("OnAir", "CheckAir", "HalfAck"),
                         [](const auto& one) { return std::string(one.param); });

// req: device.ack.6
TEST_F(DevicePush, AnotherFrameAnswersNothingBeforeTheCommandIsOnAir) {
  open_all();
  const auto command = message("TURN_ON");
  for (const std::string_view where : {"Sending", "AtServer"}) {
    const MessageId id = lead_to(where, command);
    uplink(frame(command), "another");
    EXPECT_EQ(state(id), where);
    ack("i1", false);
    ASSERT_EQ(cancel(id), AnswerCode::kDone);
    pass(2s);
  }
}

// req: device.ack.6
TEST_F(DevicePush, AnotherFrameProvesNothingWhileAnOlderAttemptCouldAnswerAlike) {
  open_all();
  const MessageId older = lead_to("HalfAck", message("TURN_OFF"));
  pass(10s);
  ASSERT_EQ(outcome(older), "unknown");  // its answer may still come
  const auto command = message("TURN_ON");
  const MessageId id = send(command);
  enqueued("i2");
  txack("i2");
  uplink(frame(command), "another");
  EXPECT_EQ(state(id), "OnAir");
  ack("i2", true, "d2");
  uplink(frame(command), "d2");  // by the id it is ours
  EXPECT_EQ(outcome(id), "executed");
}
// req: device.ack.6
TEST_F(DevicePush, AnOlderAttemptOfAnotherKindOrLongExpiredDoesNotMatter) {
  open_all();
  lead_to("HalfAck", message("TURN_OFF"));
  pass(10s);
  const auto read = message("READ_CREDIT");
  const MessageId other_kind = send(read);
  enqueued("i2");
  txack("i2");
  uplink(frame(read), "another");
  EXPECT_EQ(outcome(other_kind), "executed");
  pass(24h + 2min);
  const auto command = message("TURN_ON");
  const MessageId id = send(command);
  enqueued("i3");
  txack("i3");
  uplink(frame(command), "yet another");
  EXPECT_EQ(outcome(id), "executed");
}

// req: device.ack.7
TEST_F(DevicePush, AResponseToSomethingElseCompletesNothing) {
  open_all();
  const auto command = voltage(device::MeterPhase::kA);
  const MessageId id = lead_to("HalfAck", command);
  uplink(frame(voltage(device::MeterPhase::kB)));
  EXPECT_EQ(state(id), "HalfAck");
  EXPECT_EQ(tallies().mismatched, 1U);
  uplink(frame(message("READ_CREDIT")), "d2");
  uplink(frame(message("TURN_ON")), "d3");
  EXPECT_EQ(state(id), "HalfAck");
  pass(10s);
  EXPECT_EQ(state(id), "ToRetry");
  EXPECT_EQ(events_of("DELIVERY_SUCCESSFUL"), 0U);
}

// req: device.ack.8
TEST_F(DevicePush, AnEmptyUplinkIsNoResponse) {
  open_all();
  const MessageId act = lead_to("HalfAck", message("TURN_ON"));
  uplink("");
  EXPECT_EQ(state(act), "HalfAck");
  pass(9'999ms);
  EXPECT_EQ(state(act), "HalfAck");
  pass(1ms);
  EXPECT_EQ(phase(act), Phase::kDelivered);
  EXPECT_EQ(outcome(act), "unknown");
  EXPECT_EQ(field(report(act), "response"), "");

  const MessageId read = lead_to("HalfAck", message("READ_CREDIT"));
  uplink("");
  pass(9'999ms);
  EXPECT_EQ(state(read), "HalfAck");
  pass(1ms);
  EXPECT_EQ(state(read), "ToRetry");
  pass(2s);
  EXPECT_EQ(calls("Enqueue").size(), 3U);
}

// req: device.ack.9
TEST_F(DevicePush, NewsOfAnOlderAttemptCountInEveryState) {
  open_all();
  const auto command = message("READ_CREDIT");
  const std::array<std::string_view, 4> states = {"ToRetry", "Queued", "Sending", "AtServer"};
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::string item = "old" + std::to_string(i);
    const std::string pair = "p" + std::to_string(i);
    const MessageId id = send(command);
    enqueued(item);
    txack(item);
    pass(12s);
    if (states[i] == "Queued") {
      pass(1'500ms);
      send(message("READ_CREDIT", meter(77)));  // takes the next pick
      lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
      pass(500ms);
    }
    if (states[i] == "Sending" || states[i] == "AtServer") pass(2s);
    if (states[i] == "AtServer") enqueued("new");
    ASSERT_EQ(state(id), states[i]);
    txack(item);
    EXPECT_EQ(state(id), "OnAir") << states[i];
    ack(item, true, pair);
    EXPECT_EQ(state(id), "HalfAck") << states[i];
    uplink(frame(command), pair);
    EXPECT_EQ(outcome(id), "executed") << states[i];
    pass(1h);
  }
}
// req: device.ack.9, device.st.6
TEST_F(DevicePush, TheAnswerToAnOlderAttemptEndsTheMessageAndNothingElseIsSent) {
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = lead_to("AtServer", command);
  ack("i1", false);
  pass(2s);
  ASSERT_EQ(state(id), "Sending");
  ack("i1", true);
  uplink(frame(command));
  EXPECT_EQ(outcome(id), "executed");
  enqueued("i2");
  txack("i2");
  ack("i2", false);
  pass(24h);
  EXPECT_EQ(calls("Enqueue").size(), 2U);
  EXPECT_EQ(status(id), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(bodies.size(), 2U);
}

// req: device.ack.10
TEST_F(DevicePush, AnEventThatOvertookTheReplyBelongsToTheOpenCall) {
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = send(command);
  txack("i1");
  EXPECT_EQ(state(id), "OnAir");
  EXPECT_EQ(statuses(id), (std::vector<std::string>{"QUEUED", "SENT_TO_NS", "DELIVERED_TO_NS",
                                                    "SENT_TO_DEVICE"}));
  EXPECT_EQ(tallies().adopted, 1U);
  enqueued("i1");
  EXPECT_EQ(state(id), "OnAir");
  ack("i1", true);
  uplink(frame(command));
  EXPECT_EQ(outcome(id), "executed");
  pass(1h);
  EXPECT_EQ(calls().size(), 1U);
}
// req: device.ack.10
TEST_F(DevicePush, AnEventOfAnUnknownItemIsTakenInCheckSendAndNotLater) {
  open_all();
  const MessageId id = lead_to("CheckSend", message("TURN_ON"));
  ASSERT_EQ(state(id), "CheckSend");
  ack("i1", true);
  EXPECT_EQ(state(id), "HalfAck");
  pass(10s);
  EXPECT_EQ(outcome(id), "unknown");

  const MessageId next = lead_to("AtServer", message("TURN_OFF"));
  txack("stranger");
  EXPECT_EQ(state(next), "AtServer");
  ack("stranger", false);
  EXPECT_EQ(state(next), "AtServer");
}

// req: device.ack.10
TEST_F(DevicePush, AnEventThatMayBeOfAnEarlierAttemptWaitsForItsId) {
  open_all();
  const MessageId id = send(message("READ_CREDIT"));
  lose(calls("Enqueue").back().attempt);  // nobody told its id
  pass(2s);
  ASSERT_EQ(state(id), "Sending");
  txack("i2");
  EXPECT_EQ(state(id), "Sending");
  EXPECT_EQ(tallies().adopted, 0U);
  enqueued("i2");
  EXPECT_EQ(state(id), "OnAir");
}

// req: device.ack.11, device.retry.5
TEST_F(DevicePush, ALogThatTheItemWasDiscardedFailsTheAttempt) {
  open_all();
  for (const char* code : {"EXPIRED", "F_CNT_DOWN", "DOWNLINK_PAYLOAD_SIZE"}) {
    const MessageId id = lead_to("AtServer", message("TURN_ON"));
    server_log("DOWNLINK_GATEWAY", "i1");
    EXPECT_EQ(state(id), "AtServer");
    server_log(code, "other");
    EXPECT_EQ(state(id), "AtServer") << code;
    server_log(code, "i1");
    EXPECT_EQ(state(id), "ToRetry") << code;
    EXPECT_EQ(field(history(id), "closed"), "discarded") << history(id);
    ASSERT_EQ(cancel(id), AnswerCode::kDone);
    EXPECT_EQ(may_have_run(id), "false");
    pass(2s);
  }
}

// req: device.ack.12
TEST_F(DevicePush, AJoinProbesOnlyWhatIsAtTheServer) {
  open_all();
  const MessageId id = lead_to("AtServer", message("READ_CREDIT"));
  join();
  EXPECT_EQ(state(id), "CheckNs");
  ASSERT_EQ(calls("GetQueue").size(), 1U);
  join();
  EXPECT_EQ(calls("GetQueue").size(), 1U);
  queue_holds({held("i1")});
  EXPECT_EQ(state(id), "AtServer");
  txack("i1");
  join();
  EXPECT_EQ(state(id), "OnAir");
  EXPECT_EQ(calls("GetQueue").size(), 1U);
}

}  // namespace
}  // namespace postrider
