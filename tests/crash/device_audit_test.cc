// The audit of commands to meters: books that agree pass, and each way of not agreeing is a finding
// of its kind.
#include "tests/crash/device_audit.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace postrider::crash {
namespace {

Arrival event_of(const std::string& event, const std::string& more) {
  Arrival arrival;
  arrival.status = 200;
  arrival.life = 1;
  arrival.event = event;
  arrival.body = "{\"eventId\":\"" + event + "\"," + more + "}";
  return arrival;
}

// Two acts and a read for one meter, all of them executed.
DeviceEvidence good_evidence() {
  DeviceEvidence out;
  const auto add = [&out](const char* what, RepeatClass repeat) {
    const std::string number = std::to_string(out.commands.size() + 1);
    DeviceCommand command;
    command.is_push = true;
    command.repeat = repeat;
    command.meter = "47";
    command.what = what;
    command.correlation = "c" + number;
    command.id = {1, out.commands.size() + 1};
    out.commands.push_back(command);
    out.histories.push_back({200, command.id, "executed", command.is_act()});
    out.ends[command.id].phase = "delivered";
    out.ends[{2, out.ends.size()}].phase = "delivered";  // an event
    out.ledger.copies.push_back({"item" + number, "47", what, "acked", 1, 1});
    const std::string whose = "\"correlationId\":\"c" + number + "\"";
    out.events.push_back(event_of("start" + number, whose));
    out.events.push_back(event_of("end" + number, whose +
                                                      ",\"outcome\":\"executed\",\"mayHaveRun\":" +
                                                      (command.is_act() ? "true" : "false")));
  };
  add("TURN_OFF", RepeatClass::kNever);
  add("TURN_ON", RepeatClass::kClosed);
  add("READ_CREDIT", RepeatClass::kFree);
  return out;
}

Findings audit(const DeviceEvidence& evidence) {
  Findings out;
  audit_outcomes(evidence, out);
  audit_meters(evidence, out);
  audit_events(evidence, out);
  return out;
}

TEST(DeviceAudit, FindsNothingWhereAllAgree) { EXPECT_EQ(audit(good_evidence()), Findings()); }

TEST(DeviceAudit, ReadsTheIdsOfTheContract) {
  EXPECT_EQ(parse_contract_id("00000000000000000000000000"), PublicId());
  EXPECT_EQ(parse_contract_id("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"), (PublicId{UINT64_MAX, UINT64_MAX}));
  EXPECT_EQ(parse_contract_id("0000000000000G000000000000"), (PublicId{1, 0}));
  EXPECT_EQ(parse_contract_id("0000000000000000000000000"), PublicId());
}

struct WrongCase {
  const char* name;
  const char* kind;
  std::function<void(DeviceEvidence&)> spoil;
};
class DeviceAuditFinds : public ::testing::TestWithParam<WrongCase> {};

TEST_P(DeviceAuditFinds, WhatDoesNotAgree) {
  DeviceEvidence evidence = good_evidence();
  GetParam().spoil(evidence);
  const Findings findings = audit(evidence);
  ASSERT_FALSE(findings.empty());
  EXPECT_TRUE(findings.front().starts_with(GetParam().kind)) << findings.front();
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DeviceAuditFinds,
    ::testing::Values(
        WrongCase{"NoEnd", "lost:",
                  [](DeviceEvidence& it) {
                    it.ends.erase({1, 1});
                  }},
        WrongCase{"NoHistory", "lost:", [](DeviceEvidence& it) { it.histories[0].status = 404; }},
        WrongCase{"NeverAccepted", "answer:", [](DeviceEvidence& it) { it.commands[0].id = {}; }},
        WrongCase{"OtherMessage", "key:",
                  [](DeviceEvidence& it) {
                    it.histories[1].id = {1, 9};
                  }},
        WrongCase{"NoOutcome",
                  "unreported:", [](DeviceEvidence& it) { it.histories[0].outcome = ""; }},
        WrongCase{"OutcomeOfAnotherEnd", "end:",
                  [](DeviceEvidence& it) {
                    it.ends[{1, 1}].phase = "dead";
                  }},
        WrongCase{"EventNotDelivered", "unreported:",
                  [](DeviceEvidence& it) {
                    it.ends[{2, 1}].phase = "dead";
                  }},
        WrongCase{"RadiatedBesideAnother", "doubled:",
                  [](DeviceEvidence& it) {
                    it.ledger.doubled.push_back({"item9", "item2", "47", "TURN_ON"});
                  }},
        WrongCase{"NeverAndSentAgain", "doubled:",
                  [](DeviceEvidence& it) {
                    it.ledger.copies.insert(it.ledger.copies.begin(),
                                            {"item0", "47", "TURN_OFF", "nacked", 0, 0});
                  }},
        WrongCase{"PullActSentAgain", "doubled:",
                  [](DeviceEvidence& it) {
                    it.commands[1].is_push = false;
                    it.ledger.copies.push_back({"item9", "47", "TURN_ON", "failed", 0, 0});
                  }},
        WrongCase{"ExecutedAndNeverDone",
                  "ledger:", [](DeviceEvidence& it) { it.ledger.copies[1].executed = 0; }},
        WrongCase{"DeliveredAndNeverThere", "ledger:",
                  [](DeviceEvidence& it) {
                    it.histories[1].outcome = "unknown";
                    it.ledger.copies[1].ran = it.ledger.copies[1].executed = 0;
                  }},
        WrongCase{"NotRunAndDone", "ledger:",
                  [](DeviceEvidence& it) {
                    it.histories[0] = {200, {1, 1}, "failed", false};
                    it.ends[{1, 1}].phase = "dead";
                  }},
        WrongCase{"NotRunAndMayRun", "ledger:",
                  [](DeviceEvidence& it) {
                    it.histories[0] = {200, {1, 1}, "failed", false};
                    it.ends[{1, 1}].phase = "dead";
                    it.ledger.copies[0] = {"item1", "47", "TURN_OFF", "open", 0, 0};
                  }},
        WrongCase{"ToldAndNeverSent", "phantom:",
                  [](DeviceEvidence& it) {
                    it.ledger.copies.push_back({"item9", "47", "READ_POWER", "acked", 1, 1});
                  }},
        WrongCase{"OlderBehindNewer", "order:",
                  [](DeviceEvidence& it) { std::swap(it.ledger.copies[0], it.ledger.copies[1]); }},
        WrongCase{"EndNotTold", "unreported:",
                  [](DeviceEvidence& it) { it.events.erase(it.events.begin() + 1); }},
        WrongCase{"EndRefusedByTheConsumer",
                  "unreported:", [](DeviceEvidence& it) { it.events[1].status = 500; }},
        WrongCase{"StartNotTold",
                  "unreported:", [](DeviceEvidence& it) { it.events.erase(it.events.begin()); }},
        WrongCase{"EndToldByTwo", "unreported:",
                  [](DeviceEvidence& it) {
                    it.events.push_back(event_of("more",
                                                 "\"correlationId\":\"c1\",\"outcome\":"
                                                 "\"executed\",\"mayHaveRun\":true"));
                  }},
        WrongCase{"EndToldFirst",
                  "unreported:", [](DeviceEvidence& it) { std::swap(it.events[0], it.events[1]); }},
        WrongCase{"EndToldOtherwise",
                  "unreported:", [](DeviceEvidence& it) { it.histories[0].may_have_run = false; }},
        WrongCase{"CancelledAndExecuted", "unreported:",
                  [](DeviceEvidence& it) { it.commands[0].cancel = DeviceCommand::Cancel::kDone; }},
        WrongCase{"EventChanged", "changed:",
                  [](DeviceEvidence& it) {
                    it.events.push_back(it.events[0]);
                    it.events.back().life = 2;
                    it.events.back().body += " ";
                  }},
        WrongCase{"EventTwiceInALife",
                  "duplicate:", [](DeviceEvidence& it) { it.events.push_back(it.events[0]); }},
        WrongCase{"EventOfNobody", "phantom:",
                  [](DeviceEvidence& it) {
                    it.events.push_back(event_of("more", "\"correlationId\":\"c9\""));
                  }}),
    [](const ::testing::TestParamInfo<WrongCase>& it) { return std::string(it.param.name); });

}  // namespace
}  // namespace postrider::crash
