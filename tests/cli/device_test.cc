// `postrider device …` and `profile show --live`, against a daemon that follows a script.
#include "tests/cli/program.h"

namespace postrider {
namespace {

using cli::Daemon;
using cli::moment;
using cli::Ran;
using cli::Reply;
using cli::run;

const std::string kUlid = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

std::string message(const std::string& more) {
  return "{\"id\":\"" + kUlid +
         R"(","commandType":"TURN_ON","priority":3,"pluginId":"lorawan","networkId":7,)"
         R"("correlationId":"c1","device":{"type":"ELECTRICITY_METER",)"
         R"("externalReference":"47003333623"},"deliveryQueueId":"lorawan.network:7",)"
         R"("retryCount":1,"failureHistory":[{"reason":"refused"}])" +
         more + "}";
}

Reply error(int status, const std::string& text) {
  return {.body = "{\"error\":\"" + text + "\"}", .status = status};
}

// req: cli.device.1
TEST(DeviceCommand, SendsWhatTheContractTakes) {
  Daemon daemon({{.body = message(""), .status = 201}, {.body = message(""), .status = 201}});
  const Ran ran = daemon.run(
      "device send turn-on 47003333623 --plugin lorawan --network 7 --phase B --priority 9 "
      "--correlation c1 --supersede relay",
      "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.output, kUlid + "\n");
  EXPECT_EQ(daemon.first_line(0), "POST /message/enqueue");
  EXPECT_EQ(daemon.body(0),
            R"({"commandType":"TURN_ON","priority":9,"pluginId":"lorawan","networkId":7,)"
            R"("correlationId":"c1","phase":"B","device":{"type":"ELECTRICITY_METER",)"
            R"("externalReference":"47003333623"},"supersedeKey":"relay"})");
  EXPECT_EQ(daemon.run("device send SET_TIME 1 --plugin calin --gateway g --time 14:30 --json", "")
                .output,
            message("") + "\n");
  EXPECT_EQ(daemon.body(1), R"({"commandType":"SET_TIME","priority":0,"pluginId":"calin",)"
                            R"("requestData":{"payload":{"hour":14,"minute":30,"second":0}},)"
                            R"("device":{"type":"ELECTRICITY_METER","externalReference":"1",)"
                            R"("relayNode":{"id":"g"}}})");
}

// req: cli.device.1
TEST(DeviceCommand, TakesATokenFromTheStandardInput) {
  Daemon daemon({{.body = message(""), .status = 201}});
  EXPECT_EQ(run("device send TOP_UP_KWH 1 --plugin lorawan --meter-token -",
                "printf '1234567890\\n' | " + daemon.environment())
                .code,
            0);
  EXPECT_NE(daemon.body(0).find(R"("token":"1234567890")"), std::string::npos);
}

// req: cli.device.1
TEST(DeviceCommand, SaysWhatIsWrongBeforeItAsks) {
  const std::pair<const char*, const char*> cases[] = {
      {"device send TURN_AN 1 --plugin p", "unknown command 'TURN_AN', did you mean 'TURN_ON'?"},
      {"device send READ_REPORT 1 --plugin p", "unknown command 'READ_REPORT'"},
      {"device send TURN_ON 1", "--plugin is missing"},
      {"device send TURN_ON 1 --plugin p --phase D", "--phase is A, B or C"},
      {"device send SET_DATE 1 --plugin p --date 2026-08", "--date is YYYY-MM-DD"},
      {"device send SET_TIME 1 --plugin p --time 14", "--time is HH:MM or HH:MM:SS"},
      {"device send SET_TIME 1 --plugin p --time 14:00 --date 2026-01-01", "not both"},
      {"device send TURN_ON 1 --plugin p --priority 65536", "--priority"},
      {"device send TURN_ON", "METER"},
      {"device sent TURN_ON 1", "did you mean 'send'?"},
  };
  for (const auto& [arguments, words] : cases) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_NE(ran.output.find(words), std::string::npos) << ran.output;
  }
  for (const char* verb : {"send", "show", "history", "cancel", "token", "queue"}) {
    const Ran ran = run(std::string("device ") + verb + " --help");
    EXPECT_EQ(ran.code, 0);
    EXPECT_NE(ran.output.find("Usage: postrider device " + std::string(verb)), std::string::npos)
        << ran.output;
  }
}

// req: cli.device.2
TEST(DeviceCommand, WaitsForTheOutcome) {
  const Reply accepted{.body = message(""), .status = 201};
  const Reply gone = error(404, "there is no such message, or it has ended");
  const auto ended = [](const std::string& outcome) {
    return Reply{.body = message(",\"deliveryStatus\":\"DELIVERY_SUCCESSFUL\",\"outcome\":\"" +
                                 outcome + "\",\"mayHaveRun\":true")};
  };
  Daemon daemon({accepted, {.body = message("")}, gone, ended("executed")});
  const Ran ran = daemon.run("device send TURN_ON 47003333623 --plugin lorawan --wait", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.output.find("outcome         executed\n"), std::string::npos) << ran.output;
  EXPECT_EQ(daemon.first_line(3), "GET /message/" + kUlid + "/history");
  for (const char* outcome : {"refused", "failed", "expired", "cancelled", "unknown"}) {
    Daemon other({accepted, gone, ended(outcome)});
    EXPECT_EQ(other.run("device send TURN_ON 1 --plugin lorawan --wait").code, 1) << outcome;
  }
  Daemon slow({accepted, {.body = message("")}, {.body = message("")}});
  const Ran late = slow.run("device send TURN_ON 1 --plugin lorawan --wait --time-out 1ms");
  EXPECT_EQ(late.code, 1);
  EXPECT_NE(late.output.find("has not ended yet"), std::string::npos) << late.output;
}

// req: cli.device.3
TEST(DeviceCommand, ShowsACommandAndWhyItIsWhereItIs) {
  Daemon daemon({{.body = message(R"(,"deliveryStatus":"TO_RETRY")")},
                 {.body = R"({"state":"ToRetry","why":"waits for its next attempt",)"
                          R"("next":"attempt","next_at":")" +
                          moment(300) + "\"}"}});
  const Ran ran = daemon.run("device show c1 --phase A", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(daemon.first_line(0), "GET /message/c1?phase=A");
  EXPECT_TRUE(daemon.first_line(1).starts_with("GET /v1/messages/")) << daemon.first_line(1);
  for (const char* part :
       {"status          TO_RETRY\n", "last failure    refused\n", "waits for its next attempt"})
    EXPECT_NE(ran.output.find(part), std::string::npos) << ran.output;
}

// req: cli.device.3
TEST(DeviceCommand, ShowsTheHistory) {
  const std::string steps =
      R"(,"outcome":"unknown","mayHaveRun":true,"transitions":[{"at":")" + moment(-10) +
      R"(","state":"Sending","deliveryStatus":"SENT_TO_NS","on":"due"},{"at":")" + moment(-5) +
      R"(","state":"Unknown","deliveryStatus":"DELIVERY_FAILED","on":"timed-out","reason":"x"}])";
  Daemon daemon({{.body = message(steps)}, {.body = message(steps)}});
  const Ran ran = daemon.run("device history c1", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.output.find("SENT_TO_NS"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("timed-out"), std::string::npos) << ran.output;
  EXPECT_EQ(daemon.run("device history c1 --json", "").output, message(steps) + "\n");
}

// req: cli.device.4
TEST(DeviceCommand, CancelsAndFailsUnlessAllWereCancelled) {
  Daemon daemon({{.body = R"([{"correlationId":"a","result":"CANCELLED"},)"
                          R"({"correlationId":"b","result":"NOT_FOUND"}])"},
                 {.body = R"([{"correlationId":"a","result":"CANCELLED"}])"}});
  const Ran some = daemon.run("device cancel a b", "");
  EXPECT_EQ(some.code, 1);
  EXPECT_EQ(some.output, "a: CANCELLED\nb: NOT_FOUND\n");
  EXPECT_EQ(daemon.first_line(0), "POST /messages/cancel");
  EXPECT_EQ(daemon.body(0), R"({"correlationIds":["a","b"]})");
  EXPECT_EQ(daemon.run("device cancel a", "").code, 0);
}

// req: cli.device.5
TEST(DeviceCommand, ShowsWhatTheQueuesHold) {
  const Reply destinations{
      .body = R"({"destinations":[{"name":"shop","profile":"webhook","health":"normal"},)"
              R"({"name":"lorawan.network:7","profile":"device","health":"normal"}]})"};
  const Reply first{.body = R"({"messages":[{"phase":"queued","accepted_at":")" + moment(-60) +
                            R"(","next_at":")" + moment(320) +
                            R"("},{"phase":"awaiting","accepted_at":")" + moment(-7200) +
                            R"("}],"next":"more"})"};
  const Reply second{.body = R"({"messages":[{"phase":"backoff","accepted_at":")" + moment(-60) +
                             R"("}]})"};
  Daemon daemon({destinations, first, second, destinations, first, second, destinations});
  const Ran ran = daemon.run("device queue", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.output.find("lorawan.network:7  normal  3      1          1         2h ago  in 5m"),
            std::string::npos)
      << ran.output;
  EXPECT_EQ(ran.output.find("shop"), std::string::npos);
  const Ran json = daemon.run("device queue lorawan.network:7 --json", "");
  EXPECT_NE(json.output.find(R"("depth":3,"in_flight":1,"to_retry":1,"oldest_at":)"),
            std::string::npos)
      << json.output;
  EXPECT_EQ(daemon.run("device queue nowhere").code, 1);
}

// req: cli.refusals.1
TEST(DeviceCommand, TellsARefusalInWords) {
  Daemon daemon({error(400, "phase: must be A, B or C"), error(409, "used")});
  const Ran ran = daemon.run("device show c1");
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.output, "postrider device show: phase: must be A, B or C\n");
  EXPECT_EQ(daemon.run("device show c1 --json").output, "{\"error\":\"used\"}\n");
}

// req: cli.profile.live.1
TEST(ProfileLive, DrawsTheStatesWithTheirMessages) {
  const Reply first{
      .body =
          R"({"destinations":[{"destination_id":"1","profile":"webhook","states":{"Queued":1}},)"
          R"({"destination_id":"2","profile":"device","states":{"Queued":1}}],"next":"more"})"};
  const Reply second{.body =
                         R"({"destinations":[{"destination_id":"2","profile":"device","states":)"
                         R"({"Queued":1,"OnAir":1}}]})"};
  const Reply unknown{.body = R"({"restoring":true})"};
  const Reply known{.body =
                        R"({"states":{"device":{"Queued":2,"OnAir":1},"webhook":{"Queued":1}}})"};
  const Reply shape{.body = R"({"destinations":[{"destination_id":"2","profile":"device",)"
                            R"("states":{"Queued":5},"methods":{"push-closed":{"Queued":2},)"
                            R"("push-free":{"Queued":3}}}]})"};
  Daemon daemon({unknown, first, second, known, shape, shape});
  const Ran ran = daemon.run("profile show device --live", "");
  EXPECT_EQ(ran.code, 0);
  for (const char* part : {"due → Sending", "3 messages live\n", "AwaitTask",
                           "timed-out → CheckSend (push-closed, push-never)"})
    EXPECT_NE(ran.output.find(part), std::string::npos) << ran.output;
  const Ran json = daemon.run("profile show device --live --json", "");
  EXPECT_NE(json.output.find(R"("live":3,"states":{"Queued":2,"Sending":0)"), std::string::npos)
      << json.output;
  const Ran diagram =
      daemon.run("profile show device --live --format mermaid --method push-closed", "");
  EXPECT_NE(diagram.output.find("  Queued : 2\n"), std::string::npos) << diagram.output;
  const Ran table =
      daemon.run("profile show device --live --format markdown --method push-free", "");
  EXPECT_NE(table.output.find("| Queued | queued | 3 | "), std::string::npos) << table.output;
  EXPECT_EQ(table.output.find("CheckSend"), std::string::npos) << table.output;
}

// req: cli.device.6
TEST(DeviceCommand, HasATokenMade) {
  Daemon daemon({{.body = R"({"token":"12345678901234567890"})"}});
  const Ran ran = daemon.run(
      "device token top-up-kwh 47003333623 --plugin calin --kwh 5.5 --correlation m1 "
      "--issued 2026-08-12T14:30:00Z",
      "");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_EQ(ran.output, "12345678901234567890\n");
  EXPECT_EQ(daemon.first_line(0), "POST /token/generate");
  EXPECT_EQ(daemon.body(0), R"({"type":"TOP_UP_KWH","pluginId":"calin",)"
                            R"("issueDateString":"2026-08-12T14:30:00.000Z",)"
                            R"("device":{"externalReference":"47003333623"},"correlationId":"m1",)"
                            R"("payload":{"kwh":5.5}})");
  for (const auto& [arguments, words] : std::vector<std::pair<std::string, std::string>>{
           {"device token TURN_ON 1 --plugin p", "type: must be TOP_UP_KWH"},
           {"device token TOP_UP_KWH 1 --plugin p", "payload.kwh"},
           {"device token TOP_UP_KWH 1 --plugin p --kwh many", "--kwh is a number"},
           {"device token CLEAR_CREDIT 1 --plugin p --decoder-key 00",
            "keys are not for the screen"},
           {"device token CLEAR_CREDIT 1 --plugin p --issued soon", "--issued is a time"}}) {
    const Ran wrong = run(arguments);
    EXPECT_EQ(wrong.code, 2) << arguments;
    EXPECT_NE(wrong.output.find(words), std::string::npos) << wrong.output;
  }
}

// req: cli.device.3
TEST(DeviceCommand, ListsTheRunsOfACommandThatWasSentAgain) {
  Daemon daemon({{.body = message(R"(,"outcome":"executed","mayHaveRun":true,"response":)"
                                  R"({"status":"EXECUTION_SUCCESS","data":564.59},"runs":[)"
                                  R"({"id":"RUN1","outcome":"failed","mayHaveRun":false},)"
                                  R"({"id":"RUN2","outcome":"executed","mayHaveRun":true}])")}});
  const Ran ran = daemon.run("device history c1", "");
  EXPECT_EQ(ran.code, 0);
  for (const char* part : {"RUN1", "RUN2", "failed", "EXECUTION_SUCCESS 564.59"})
    EXPECT_NE(ran.output.find(part), std::string::npos) << ran.output;
}

// req: device.again.1
TEST(DeviceCommand, SendsAgainWhatMayHaveRunWhenItIsTold) {
  const Reply redriven{.body = R"({"id":"n2","redrives":"n1","durability":"synced"})",
                       .status = 202};
  const Reply job{.body = R"({"id":"00000000000000aa","action":"redrive"})", .status = 202};
  Daemon daemon({redriven, job});
  EXPECT_EQ(daemon.run("dlq redrive n1 --even-if-it-ran", "").code, 0);
  EXPECT_EQ(daemon.first_line(0), "POST /v1/dead-letters/n1/redrive?even_if_it_ran=true");
  EXPECT_EQ(daemon.run("dlq redrive --prefix v1. --even-if-it-ran", "").code, 0);
  EXPECT_NE(daemon.body(1).find(R"("even_if_it_ran":true)"), std::string::npos) << daemon.body(1);
}

}  // namespace
}  // namespace postrider
