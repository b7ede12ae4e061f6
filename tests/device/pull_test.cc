// Commands by pull, told through the shard: the vendor is the test.
#include <array>

#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DevicePull : public DeviceRig {
 protected:
  void html(const StartAttempt& call, int http_status = 200) {
    reply(call.attempt, http_status, "<html>sorry</html>", {{"content-type", "text/html"}});
  }
  MessageId with_task(const device::DeviceMessage& command, const std::string& task = "t1") {
    const MessageId id = send(command);
    created(task);
    return id;
  }
};

// req: device.send.4
TEST_F(DevicePull, CreatesATaskAndAsksForItByItsNumber) {
  open_all();
  const MessageId id = send(pulled("READ_CREDIT"));
  const StartAttempt create = creates().at(0);
  EXPECT_EQ(create.request.verb, "POST");
  EXPECT_EQ(create.request.target, "http://vendor/COMM_RemoteReading");
  EXPECT_EQ(field(create.request.body, "CompanyName"), "acme");
  EXPECT_EQ(field(create.request.body, "MeterNo"), kMeter);
  EXPECT_EQ(field(create.request.body, "DataItem"), "Current Credit Register");
  EXPECT_TRUE(create.request.once);
  EXPECT_EQ(state(id), "Sending");
  store.holds_commits = true;
  created("t1");
  ASSERT_EQ(store.commits_held(), 1U);  // task and move: one record
  release_commit();
  store.holds_commits = false;
  restart();
  EXPECT_EQ(state(id), "AwaitTask");
  pass(10s);
  ASSERT_EQ(polls().size(), 1U);
  EXPECT_EQ(polls()[0].request.target, "http://vendor/COMM_RemoteReadingTask");
  EXPECT_EQ(field(polls()[0].request.body, "TaskNo"), "t1");
  EXPECT_EQ(state(id), "Polling");
  polled("True", "123.45,ON", "Current Credit Register");
  EXPECT_EQ(outcome(id), "executed");
  EXPECT_EQ(field(report(id), "data"), "123.45") << report(id);
}

// req: device.poll.12
TEST_F(DevicePull, ATaskOfAnotherWayIsNotAskedForUntilThatWayIsBack) {
  open_all();
  far_side = [this](const StartAttempt& call) {
    if (call.request.target.empty()) lose(call.attempt, WireEnd::kNoName);
  };
  const MessageId id = with_task(pulled("READ_CREDIT"), "t1");  // no number, as version 2 has them
  add_queue(kPullQueue, pull_settings("calin-v2"));
  pass(1h);
  EXPECT_EQ(state(id), "AwaitTask");
  EXPECT_TRUE(polls().empty());
  far_side = [this](const StartAttempt& call) {
    if (is_poll(call)) answer_poll(call, "True", "123.45,ON", "Current Credit Register");
  };
  add_queue(kPullQueue, pull_settings());
  pass(1h);
  EXPECT_EQ(polls().size(), 1U);
  EXPECT_EQ(outcome(id), "executed");
}

// req: device.poll.12
TEST_F(DevicePull, ATaskIsNotAskedForAtANetworkServerThatCannotExpressItsCommand) {
  constexpr std::string_view kLong = "123456789012345678901";
  ASSERT_FALSE(chirpstack::dev_eui_of(kLong));
  open_all();
  far_side = [this](const StartAttempt& call) {
    if (call.request.target.empty()) lose(call.attempt, WireEnd::kNoName);
  };
  const MessageId id = with_task(pulled("TURN_ON", kLong));
  NamedTexts push = push_settings();
  put(push, {"plugin", "calin"});
  add_queue(kPullQueue, push);
  pass(1h);
  EXPECT_TRUE(calls("GetQueue").empty());
  EXPECT_NE(outcome(id), "executed");
  EXPECT_EQ(creates().size(), 1U);
}

// req: device.st.2
TEST_F(DevicePull, NeverShowsSentToDevice) {
  open_all();
  const MessageId id = with_task(pulled("TURN_ON"));
  pass(10s);
  polled("");
  pass(10s);
  polled("True");
  EXPECT_EQ(statuses(id), (std::vector<std::string>{"QUEUED", "SENT_TO_NS", "DELIVERED_TO_NS",
                                                    "DELIVERY_SUCCESSFUL"}));
  EXPECT_EQ(outcome(id), "executed");
}

// req: device.poll.1
TEST_F(DevicePull, TheFirstPollIsTenSecondsAfterAcceptanceByTheVendor) {
  open_all();
  send(pulled("TURN_ON"));
  pass(19s);
  created("t1");
  pass(9'999ms);
  EXPECT_TRUE(polls().empty());
  pass(1ms);
  EXPECT_EQ(polls().size(), 1U);
}

struct Rung {
  Duration age;  // of the message when a pending answer comes
  Duration wait;
};
class DeviceLadder : public DeviceRig, public ::testing::WithParamInterface<Rung> {};

// req: device.poll.2
TEST_P(DeviceLadder, TheNextPollComesAfterTheStepOfItsAge) {
  open_all();
  send(pulled("TURN_ON"));
  pass(GetParam().age - 11s);
  created("t1");
  pass(10s);
  ASSERT_EQ(polls().size(), 1U);
  pass(1s);
  polled("unknown");
  pass(GetParam().wait - 1ms);
  EXPECT_EQ(polls().size(), 1U);
  pass(1ms);
  EXPECT_EQ(polls().size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(Ages, DeviceLadder,
                         ::testing::Values(Rung{11s, 10s}, Rung{19'999ms, 10s}, Rung{20s, 15s},
                                           Rung{49'999ms, 15s}, Rung{50s, 20s}, Rung{89'999ms, 20s},
                                           Rung{90s, 30s}, Rung{100s, 30s}),
                         [](const auto& one) { return std::to_string(one.param.age.count()); });

struct PollCase {
  const char* name;
  const char* body;  // %t is the task
  const char* state;
  const char* outcome;
  const char* execution;
};
class DevicePollV1 : public DeviceRig, public ::testing::WithParamInterface<PollCase> {};

// req: device.poll.3, device.st.4
TEST_P(DevicePollV1, MeansWhatTheTableSays) {
  open_all();
  const MessageId id = send(with_token(pulled("TOP_UP_KWH")));
  created("t1");
  pass(10s);
  json(polls().back(), 200, GetParam().body);
  if (std::string_view(GetParam().outcome).empty()) {
    EXPECT_EQ(state(id), GetParam().state);
    EXPECT_EQ(status(id), "DELIVERED_TO_NS");
  } else {
    EXPECT_EQ(outcome(id), GetParam().outcome);
    EXPECT_EQ(status(id), std::string_view(GetParam().state) == "Done" ? "DELIVERY_SUCCESSFUL"
                                                                       : "DELIVERY_FAILED");
  }
  const std::string all = report(id);
  const std::size_t response = all.find("\"response\":");
  EXPECT_EQ(response == std::string::npos ? "" : field(all.substr(response), "status"),
            GetParam().execution);
  pass(1h);
  EXPECT_EQ(creates().size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Replies, DevicePollV1,
    ::testing::Values(
        PollCase{"Null", R"({"Result":{"TaskNo":"t1","Status":null},"ResultCode":"00"})",
                 "AwaitTask", "", ""},
        PollCase{"Empty", R"({"Result":{"TaskNo":"t1","Status":""},"ResultCode":"00"})",
                 "AwaitTask", "", ""},
        PollCase{"Unknown", R"({"Result":{"TaskNo":"t1","Status":"unknown"},"ResultCode":"00"})",
                 "AwaitTask", "", ""},
        PollCase{"OtherWord", R"({"Result":{"TaskNo":"t1","Status":"Maybe"},"ResultCode":"00"})",
                 "AwaitTask", "", ""},
        PollCase{"True", R"({"Result":{"TaskNo":"t1","Status":"True"},"ResultCode":"00"})", "Done",
                 "executed", "EXECUTION_SUCCESS"},
        PollCase{"False", R"({"Result":{"TaskNo":"t1","Status":"False"},"ResultCode":"00"})",
                 "Done", "refused", "EXECUTION_FAILURE"},
        PollCase{"Code99", R"({"ResultCode":"99","Reason":"other error"})", "Failed", "refused",
                 ""},
        PollCase{"NoResult", R"({"ResultCode":"00","Reason":"OK"})", "AwaitTask", "", ""},
        PollCase{"OtherCode", R"({"ResultCode":"12","Reason":"?"})", "AwaitTask", "", ""}),
    [](const auto& one) { return std::string(one.param.name); });

struct VendorCase {
  const char* name;
  WireEnd end;
  int status;
  const char* type;
  const char* body;
  const char* act;  // what becomes of a token, V1
};
class DevicePullReply : public DeviceRig, public ::testing::WithParamInterface<VendorCase> {
 protected:
  MessageId after(const device::DeviceMessage& command) {
    const MessageId id = send(command);
    AttemptEnded event;
    event.attempt = creates().back().attempt;
    event.reply.end = GetParam().end;
    event.reply.status = GetParam().status;
    event.reply.body = GetParam().body;
    event.reply.headers = {{"content-type", GetParam().type}};
    post(event);
    return id;
  }
};

// req: device.send.10, device.st.3
TEST_P(DevicePullReply, MeansWhatTheTableSaysForAToken) {
  open_all();
  const MessageId id = after(with_token(pulled("TOP_UP_KWH")));
  const std::string_view want = GetParam().act;
  if (want == "Unknown") {
    EXPECT_EQ(phase(id), Phase::kIndeterminate);
    EXPECT_EQ(outcome(id), "unknown");
    EXPECT_EQ(may_have_run(id), "true");
    EXPECT_EQ(status(id), "DELIVERY_FAILED");
  } else if (want == "Failed") {
    EXPECT_EQ(phase(id), Phase::kDead);
    EXPECT_EQ(outcome(id), "refused");
    EXPECT_EQ(may_have_run(id), "false");
  } else {
    EXPECT_EQ(state(id), want);
  }
}
// req: device.send.10
TEST_P(DevicePullReply, MeansWhatTheTableSaysForARead) {
  open_all();
  const MessageId id = after(pulled("READ_CREDIT"));
  EXPECT_EQ(state(id), std::string_view(GetParam().act) == "AwaitTask" ? "AwaitTask" : "ToRetry");
}

constexpr WireEnd kSaid = WireEnd::kAnswered;
constexpr const char* kJson = "application/json";
INSTANTIATE_TEST_SUITE_P(
    Replies, DevicePullReply,
    ::testing::Values(
        VendorCase{"Success", kSaid, 200, kJson,
                   R"({"Result":{"TaskNo":"t1"},"ResultCode":"00","Reason":"OK"})", "AwaitTask"},
        VendorCase{"ConnectionRefused", WireEnd::kRefused, 0, "", "", "ToRetry"},
        VendorCase{"NoName", WireEnd::kNoName, 0, "", "", "ToRetry"},
        VendorCase{"NoTls", WireEnd::kNoTls, 0, "", "", "ToRetry"},
        VendorCase{"NoLogin", WireEnd::kNoLogin, 0, "", "", "ToRetry"},
        VendorCase{"Code99", kSaid, 200, kJson, R"({"ResultCode":"99","Reason":"other error"})",
                   "Failed"},
        VendorCase{"BadRequest", kSaid, 400, kJson, R"({"Message":"no"})", "ToRetry"},
        VendorCase{"Forbidden", kSaid, 403, kJson, "{}", "ToRetry"},
        VendorCase{"OtherCode", kSaid, 200, kJson, R"({"ResultCode":"12","Reason":"busy"})",
                   "ToRetry"},
        VendorCase{"ServerError", kSaid, 500, kJson, R"({"Message":"oops"})", "Unknown"},
        VendorCase{"GatewayTimeout", kSaid, 504, "text/plain", "", "Unknown"},
        VendorCase{"Page", kSaid, 200, "text/html", "<html></html>", "Unknown"},
        VendorCase{"Unparsable", kSaid, 200, kJson, "{\"Result\":", "Unknown"},
        VendorCase{"SuccessWithoutTask", kSaid, 200, kJson,
                   R"({"Result":{},"ResultCode":"00","Reason":"OK"})", "Unknown"},
        VendorCase{"LostReply", WireEnd::kReset, 0, "", "", "Unknown"},
        VendorCase{"TimedOut", WireEnd::kTimedOut, 0, "", "", "Unknown"}),
    [](const auto& one) { return std::string(one.param.name); });

// req: device.poll.5
TEST_F(DevicePull, FailedPollsWaitThirtySecondsDoublingToFifteenMinutes) {
  open_all({}, {{"strikes_max", "0"}});
  const MessageId id = with_task(with_token(pulled("TOP_UP_KWH")));
  int kind = 0;
  far_side = [&](const StartAttempt& call) {
    switch (kind++ % 5) {
      case 0: return lose(call.attempt, WireEnd::kReset);
      case 1: return html(call);
      case 2: return json(call, 503, "{}");
      case 3: return json(call, 200, R"({"ResultCode":"00"})");
      default: return json(call, 200, "garbage");
    }
  };
  pass(10s + 30s + 60s + 120s + 240s + 480s + 900s + 900s);
  const std::vector<Duration> times = call_times("Task");
  const std::array<Duration, 7> waits = {30s, 60s, 120s, 240s, 480s, 900s, 900s};
  ASSERT_EQ(times.size(), waits.size() + 1);
  for (std::size_t i = 0; i < waits.size(); ++i) EXPECT_EQ(times[i + 1] - times[i], waits[i]) << i;
  EXPECT_EQ(creates().size(), 1U);
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
}
// req: device.poll.5
TEST_F(DevicePull, APendingAnswerEndsTheRowOfErrors) {
  open_all();
  with_task(pulled("TURN_ON"));
  int polls_seen = 0;
  far_side = [&](const StartAttempt& call) {
    if (!is_poll(call)) return;
    if (++polls_seen % 3 == 0) return answer_poll(call, "");
    html(call);
  };
  pass(10s + 30s + 60s);
  ASSERT_EQ(polls_seen, 3);
  pass(30s);
  EXPECT_EQ(polls_seen, 4);  // the ladder again
  pass(30s);
  EXPECT_EQ(polls_seen, 5);  // the first error in a row
}

// req: device.ack.7
TEST_F(DevicePull, AnAnswerAboutAnotherDataItemGoesOnAsAfterAnError) {
  open_all();
  const MessageId id = with_task(pulled("READ_CREDIT"));
  pass(10s);
  polled("True", "230.1 V", "Voltage");
  EXPECT_EQ(state(id), "AwaitTask");
  EXPECT_EQ(tallies().mismatched, 1U);
  pass(30s - 1ms);
  EXPECT_EQ(polls().size(), 1U);
  pass(1ms);
  ASSERT_EQ(polls().size(), 2U);
  polled("True", "9.5,OFF", "Current Credit Register");
  EXPECT_EQ(outcome(id), "executed");
}

// req: device.retry.1, engine.retry.19
TEST_F(DevicePull, AnActThatOurOwnLimitsHeldBackIsNeitherCountedNorUnknown) {
  open_all();
  int held_back = 0;
  far_side = [&](const StartAttempt& call) {
    if (held_back < 40) {
      ++held_back;
      lose(call.attempt, WireEnd::kHeldBack);
    }
  };
  const MessageId id = send(pulled("TURN_ON"));
  pass(30s);
  EXPECT_GE(held_back, 10);  // and nothing was closed for a minute
  restart();
  pass(2min);
  EXPECT_EQ(held_back, 40);
  created("t1");
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
  pass(10s);
  polled("True");
  EXPECT_EQ(outcome(id), "executed");
}

// After so many the rule of a failure that counts begins with its first step, and has all of them.
// req: device.retry.1, engine.retry.19
TEST_F(DevicePull, WhatWasHeldBackLeavesTheRetriesAsTheyWere) {
  open_all({}, {{"retries", "1"}, {"strikes_max", "0"}});
  int calls_seen = 0;
  far_side = [&](const StartAttempt& call) {
    lose(call.attempt, ++calls_seen <= 20 ? WireEnd::kHeldBack : WireEnd::kRefused);
  };
  const MessageId id = send(pulled("READ_CREDIT"));
  pass(5min);
  EXPECT_EQ(calls_seen, 22);
  EXPECT_EQ(outcome(id), "failed");
}

// req: device.to.3
TEST_F(DevicePull, AnOpenCallIsLeftAloneUntilTwoMinutesAndThenAborted) {
  open_all();
  const MessageId read = send(pulled("READ_CREDIT"));
  EXPECT_EQ(creates().back().request.time_out, 120s);
  pass(120s - 1ms);
  EXPECT_EQ(state(read), "Sending");
  pass(1ms);
  EXPECT_EQ(state(read), "ToRetry");
  bool aborted = false;
  for (const Action& action : actions) {
    if (const auto* abort = std::get_if<AbortAttempt>(&action))
      aborted = aborted || abort->attempt == creates().front().attempt;
  }
  EXPECT_TRUE(aborted);
  const MessageId act = send(pulled("TURN_ON", meter(2)));
  const StartAttempt slow = creates().back();
  ASSERT_EQ(slow.message, act);
  pass(37s);
  give_task(slow, "t1");  // healthy
  EXPECT_EQ(state(act), "AwaitTask");
}

struct Beyond {
  const char* name;
  const char* way;
  const char* command;
  device::MeterPhase phase = device::MeterPhase::kNone;
  bool sent = false;
};
class DeviceBeyondVendor : public DeviceRig, public ::testing::WithParamInterface<Beyond> {};

// req: device.send.7, device.send.8
TEST_P(DeviceBeyondVendor, IsRefusedWhenItIsHandedIn) {
  open_all({}, {{"way", GetParam().way}});
  auto command = pulled(GetParam().command);
  command.request.phase = GetParam().phase;
  if (std::string_view(GetParam().command) == "SET_TIME")
    command.request.time = device::TimeOfDay{14, 30, 0};
  if (GetParam().sent) {
    send(command);
    EXPECT_EQ(calls().size(), 1U);
    return;
  }
  send_in_vain(command);
  pass(1h);
  EXPECT_TRUE(bodies.empty());
  EXPECT_TRUE(calls().empty());
}

using device::MeterPhase;
INSTANTIATE_TEST_SUITE_P(
    Vendor, DeviceBeyondVendor,
    ::testing::Values(Beyond{"TimeV1", "calin-v1", "READ_TIME"},
                      Beyond{"SetTimeV1", "calin-v1", "SET_TIME"},
                      Beyond{"TimeV2", "calin-v2", "READ_TIME"},
                      Beyond{"SetTimeV2", "calin-v2", "SET_TIME"},
                      Beyond{"NoTokenV1", "calin-v1", "TOP_UP_KWH"},
                      Beyond{"NoTokenV2", "calin-v2", "CLEAR_CREDIT"},
                      Beyond{"PowerBV1", "calin-v1", "READ_POWER", MeterPhase::kB},
                      Beyond{"CreditCV1", "calin-v1", "READ_CREDIT", MeterPhase::kC},
                      Beyond{"VoltageBV1", "calin-v1", "READ_VOLTAGE", MeterPhase::kB, true},
                      Beyond{"CurrentCV1", "calin-v1", "READ_CURRENT", MeterPhase::kC, true},
                      Beyond{"VoltageBV2", "calin-v2", "READ_VOLTAGE", MeterPhase::kB},
                      Beyond{"CurrentCV2", "calin-v2", "READ_CURRENT", MeterPhase::kC},
                      Beyond{"PowerBV2", "calin-v2", "READ_POWER", MeterPhase::kB},
                      Beyond{"VoltageV2", "calin-v2", "READ_VOLTAGE", MeterPhase::kNone, true},
                      Beyond{"VoltageAV2", "calin-v2", "READ_VOLTAGE", MeterPhase::kA, true},
                      Beyond{"VersionV1", "calin-v1", "READ_VERSION", MeterPhase::kNone, true}),
    [](const auto& one) { return std::string(one.param.name); });

class DeviceVersionTwo : public DevicePull {
 protected:
  void open_v2() { open_all({}, {{"way", "calin-v2"}}); }
  void row(const std::string& name, int row_status, const std::string& data) {
    json(calls("/Get").back(), 200,
         R"({"code":0,"reason":"success","result":{"data":[{"name":")" + name + R"(","status":)" +
             std::to_string(row_status) + R"(,"data":")" + data + R"("}]}})");
  }
  MessageId task_of(const device::DeviceMessage& command) {
    const MessageId id = send(command);
    json(calls("/Create").back(), 200, R"({"code":0,"reason":"success","result":[{"id":4711}]})");
    EXPECT_EQ(state(id), "AwaitTask");
    pass(10s);
    return id;
  }
};

// req: device.send.6
TEST_F(DeviceVersionTwo, LogsInByTheWayAndCreatesOncePerAttempt) {
  open_v2();
  const MessageId id = send(pulled("TURN_ON"));
  ASSERT_EQ(calls().size(), 1U);
  const StartAttempt create = calls()[0];
  EXPECT_EQ(create.request.target, "http://vendor/API/RemoteMeterTask/CreateControlTask");
  EXPECT_TRUE(create.request.once);
  ASSERT_NE(create.request.login, nullptr);
  EXPECT_EQ(create.request.login->target, "http://vendor/API/User/Login");
  EXPECT_EQ(field(create.request.login->body, "userId"), "u");
  EXPECT_EQ(field(create.request.login->body, "company"), "acme");
  // What is still 401 after the login anew was not accepted.
  json(create, 401, "{}");
  EXPECT_EQ(state(id), "ToRetry");
  pass(2s);
  EXPECT_EQ(calls().size(), 2U);
  lose(calls().back().attempt, WireEnd::kReset);
  EXPECT_EQ(outcome(id), "unknown");
  pass(1h);
  EXPECT_EQ(calls().size(), 2U);
}
// req: device.poll.4
TEST_F(DeviceVersionTwo, ARowSaysPendingDoneFailedOrTokenRejected) {
  open_v2();
  const auto command = with_token(pulled("TOP_UP_KWH"));
  const MessageId done = task_of(command);
  EXPECT_EQ(field(calls("/Get").back().request.body, "id"), "4711");
  row("Token", 0, "");
  EXPECT_EQ(state(done), "AwaitTask");
  pass(10s);
  row("Token", 1, "");
  EXPECT_EQ(outcome(done), "executed");

  const MessageId failed = task_of(command);
  row("Token", 2, "");
  EXPECT_EQ(status(failed), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(outcome(failed), "refused");
  EXPECT_NE(report(failed).find("EXECUTION_FAILURE"), std::string::npos);

  const MessageId rejected = task_of(command);
  row("Token", 3, "");
  EXPECT_EQ(status(rejected), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(outcome(rejected), "refused");
  EXPECT_NE(report(rejected).find("token_rejected"), std::string::npos) << report(rejected);
}
// req: device.poll.5
TEST_F(DeviceVersionTwo, AMissingRowIsAnErrorOfThePoll) {
  open_v2();
  const MessageId id = task_of(pulled("TURN_ON"));
  json(calls("/Get").back(), 200, R"({"code":0,"reason":"success","result":{"data":[]}})");
  EXPECT_EQ(state(id), "AwaitTask");
  pass(30s - 1ms);
  EXPECT_EQ(calls("/Get").size(), 1U);
  pass(1ms);
  EXPECT_EQ(calls("/Get").size(), 2U);
  EXPECT_EQ(calls("/Create").size(), 1U);
}
// req: device.poll.7
TEST_F(DeviceVersionTwo, TheRelaySaysWhetherItObeyed) {
  open_v2();
  const MessageId on = task_of(pulled("TURN_ON"));
  row("Relay On/Off", 1, "Connected");
  EXPECT_EQ(outcome(on), "executed");
  const MessageId crossed = task_of(pulled("TURN_ON"));
  row("Relay On/Off", 1, "Disconnected");
  EXPECT_EQ(outcome(crossed), "refused");
  const MessageId off = task_of(pulled("TURN_OFF"));
  row("Relay On/Off", 1, "Disconnected");
  EXPECT_EQ(outcome(off), "executed");
  const MessageId still_on = task_of(pulled("TURN_OFF"));
  row("Relay On/Off", 1, "Connected");
  EXPECT_EQ(outcome(still_on), "refused");
}

struct V2Case {
  const char* name;
  int status;
  const char* type;
  const char* body;
  const char* act;
};
class DeviceVersionTwoReply : public DeviceVersionTwo,
                              public ::testing::WithParamInterface<V2Case> {};

// req: device.send.10
TEST_P(DeviceVersionTwoReply, MeansWhatTheTableSaysForAnAct) {
  open_v2();
  const MessageId id = send(pulled("TURN_ON"));
  reply(calls("/Create").back().attempt, GetParam().status, GetParam().body,
        {{"content-type", GetParam().type}});
  if (std::string_view(GetParam().act) == "Unknown") {
    EXPECT_EQ(phase(id), Phase::kIndeterminate);
  } else {
    EXPECT_EQ(state(id), GetParam().act);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Replies, DeviceVersionTwoReply,
    ::testing::Values(V2Case{"Success", 200, kJson,
                             R"({"code":0,"reason":"success","result":[{"id":1}]})", "AwaitTask"},
                      V2Case{"OtherCode", 200, kJson, R"({"code":7,"reason":"no"})", "ToRetry"},
                      V2Case{"BadRequest", 400, kJson, "{}", "ToRetry"},
                      V2Case{"Unauthorised", 401, kJson, "{}", "ToRetry"},
                      V2Case{"ServerError", 502, kJson, "{}", "Unknown"},
                      V2Case{"Page", 200, "text/html", "<html>", "Unknown"},
                      V2Case{"Unparsable", 200, kJson, "{", "Unknown"},
                      V2Case{"NoId", 200, kJson, R"({"code":0,"reason":"success","result":[]})",
                             "Unknown"}),
    [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace postrider
