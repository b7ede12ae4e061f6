// Ends, outcomes, cancels, and what the consumer of events hears.
#include <array>
#include <set>

#include "postrider/profiles/device/notes.h"
#include "postrider/protocols/device/ulid.h"
#include "postrider/protocols/web/body_signature.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceEvents : public DeviceRig {
 protected:
  MessageId at_server(const device::DeviceMessage& command, const std::string& item = "i1") {
    const MessageId id = send(command);
    enqueued(item);
    return id;
  }
  std::string ulid(MessageId id) const {
    const PublicId shown = ids().outside(id);
    return device::to_ulid(shown.high, shown.low);
  }
};

// req: device.ev.1
TEST_F(DeviceEvents, EveryEndHasOneOutcomeAndOneEvent) {
  open_all({{"spacing", "0"}, {"repeat.TURN_OFF", "never"}});
  const auto on = message("TURN_ON", meter(1));
  const MessageId executed = at_server(on, "i1");
  txack("i1", eui_of(meter(1)));
  uplink(frame(on), "d1", eui_of(meter(1)));
  EXPECT_EQ(outcome(executed), "executed");
  const auto refuses = message("TURN_ON", meter(2));
  const MessageId refused = at_server(refuses, "i2");
  txack("i2", eui_of(meter(2)));
  uplink(frame(refuses, false), "d2", eui_of(meter(2)));
  EXPECT_EQ(outcome(refused), "refused");
  const MessageId failed = send(message("TURN_ON", meter(3)));
  reply(calls("Enqueue").back().attempt, 5, "");
  EXPECT_EQ(outcome(failed), "failed");
  const MessageId unknown = at_server(message("TURN_OFF", meter(4)), "i4");
  ack("i4", false, "", eui_of(meter(4)));
  EXPECT_EQ(outcome(unknown), "unknown");
  auto hurried = message("TURN_ON", meter(5));
  hurried.expires_at = kStart + 1min;
  const MessageId expired = at_server(hurried, "i5");
  const MessageId cancelled = send(message("TURN_ON", meter(6)));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  EXPECT_EQ(cancel(cancelled), AnswerCode::kDone);
  EXPECT_EQ(outcome(cancelled), "cancelled");
  pass(1min);
  EXPECT_EQ(outcome(expired), "expired");
  pass(24h);
  EXPECT_EQ(events_of("SENT_TO_NS"), 6U);
  EXPECT_EQ(events_of("DELIVERY_SUCCESSFUL"), 2U);
  EXPECT_EQ(events_of("DELIVERY_FAILED"), 3U);
  EXPECT_EQ(bodies.size(), 11U);
}

// req: device.ev.2
TEST_F(DeviceEvents, RetriesMakeNoneAndNoSendWaitsForTheFirst) {
  deaf = true;
  open_all();
  const MessageId id = send(message("TURN_ON"));
  // The command leaves though nobody has heard of it.
  ASSERT_EQ(calls("Enqueue").size(), 1U);
  for (const Duration wait : {2s, 4s, 8s}) {
    lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
    pass(wait);
  }
  EXPECT_EQ(calls("Enqueue").size(), 4U);
  EXPECT_EQ(state(id), "Sending");
  for (const StartAttempt& event : events())
    EXPECT_EQ(field(event.request.body, "deliveryStatus"), "SENT_TO_NS");
  std::set<std::string> ids;
  for (const StartAttempt& event : events()) ids.insert(field(event.request.body, "eventId"));
  EXPECT_EQ(ids.size(), 1U);
}
// req: device.ev.2
TEST_F(DeviceEvents, NoneAreMadeWhenNobodyIsToHearThem) {
  open();
  NamedTexts settings = push_settings();
  std::erase_if(settings, [](const NamedText& one) { return one.first == "events"; });
  add_queue(kPushQueue, settings);
  const MessageId id = send(message("TURN_ON"));
  reply(calls("Enqueue").back().attempt, 5, "");
  pass(1min);
  EXPECT_EQ(outcome(id), "failed");
  EXPECT_EQ(starts().size(), 1U);
}

// req: device.ev.3, device.st.5
TEST_F(DeviceEvents, AnEventIsInTheRecordOfTheTransitionThatItTellsOf) {
  deaf = true;
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = at_server(command);
  txack("i1");
  pass(1s);
  store.holds_commits = true;
  uplink(frame(command));
  ASSERT_EQ(store.commits_held(), 1U);
  // Killed before that record is durable: neither the end nor the event.
  store.release_commit(CommitOutcome::kFailed);
  store.holds_commits = false;
  restart();
  EXPECT_EQ(state(id), "OnAir");
  deaf = false;
  pass(1s);
  EXPECT_EQ(events_of("DELIVERY_SUCCESSFUL"), 0U);
  deaf = true;
  store.holds_commits = true;
  uplink(frame(command), "d2");
  ASSERT_EQ(store.commits_held(), 1U);
  store.release_commit();
  store.holds_commits = false;
  // Killed right after it: both.
  restart();
  EXPECT_EQ(outcome(id), "executed");
  deaf = false;
  pass(1min);
  EXPECT_EQ(events_of("DELIVERY_SUCCESSFUL"), 1U);
}

// req: device.ev.4
TEST_F(DeviceEvents, AnEventHasOneIdHoweverOftenItIsDelivered) {
  deaf = true;
  open_all();
  send_expired(message("READ_CREDIT"));
  std::set<std::string> ids;
  std::size_t deliveries = 0;
  const auto collect = [&] {
    for (const StartAttempt& event : events()) {
      ids.insert(field(event.request.body, "eventId"));
      ++deliveries;
    }
  };
  pass(3min);
  collect();
  restart();
  pass(3min);
  collect();
  EXPECT_GE(deliveries, 3U);
  ASSERT_EQ(ids.size(), 1U);
  EXPECT_TRUE(device::parse_ulid(*ids.begin()).has_value()) << *ids.begin();
}
// req: device.ev.4
TEST_F(DeviceEvents, DifferentEventsHaveDifferentIds) {
  open_all({{"spacing", "0"}});
  for (std::uint64_t i = 0; i < 50; ++i) {
    send(message("TURN_ON", meter(i)));
    reply(calls("Enqueue").back().attempt, 5, "");
  }
  pass(1min);
  std::set<std::string> ids;
  for (const std::string& body : bodies) ids.insert(field(body, "eventId"));
  EXPECT_EQ(bodies.size(), 100U);
  EXPECT_EQ(ids.size(), 100U);
}

// req: device.ev.5
TEST_F(DeviceEvents, TheBodyHasTheFieldsOfTheContract) {
  open_all();
  auto command = message("READ_VOLTAGE");
  command.request.phase = device::MeterPhase::kB;
  command.correlation = "c-1";
  command.relay =
      device::DeviceMessage::Relay{.id = "r", .reference = "ref", .snr = {}, .rssi = {}};
  const MessageId id = send(command);
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  pass(2s);
  enqueued("i1");
  txack("i1");
  uplink(frame(command));
  pass(1s);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(bodies[0], R"({"eventId":")" + field(bodies[0], "eventId") +
                           R"(","occurredAt":"2026-01-01T00:00:00.000Z","pluginId":"lora",)"
                           R"("message":{"deliveryStatus":"SENT_TO_NS","device":)"
                           R"({"type":"ELECTRICITY_METER","externalReference":"47003333623",)"
                           R"("relayNode":{"id":"r","externalReference":"ref"}},"id":")" +
                           ulid(id) + R"(","correlationId":"c-1","commandType":"READ_VOLTAGE",)" +
                           R"("phase":"B"}})");
  const std::string& end = bodies[1];
  EXPECT_EQ(field(end, "occurredAt"), "2026-01-01T00:00:02.000Z");
  EXPECT_EQ(field(end, "pluginId"), "lora");
  EXPECT_EQ(field(end, "deliveryStatus"), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(count(end, "\"id\":\"" + ulid(id) + "\""), 1U) << end;
  EXPECT_EQ(field(end, "correlationId"), "c-1");
  EXPECT_EQ(count(end, "\"failureHistory\":[{"), 1U) << end;
  EXPECT_EQ(count(end, "\"response\":{\"status\":\"EXECUTION_SUCCESS\""), 1U) << end;
  EXPECT_EQ(field(end, "outcome"), "executed");
  EXPECT_EQ(field(end, "mayHaveRun"), "false");
  EXPECT_EQ(count(end, "unsolicited"), 0U);
}

// req: device.ev.5
TEST_F(DeviceEvents, TheHeadersCarryTheIdAndTheSignatureOfTheBody) {
  open_all();
  const std::uint64_t ticket = ++tickets;
  post(configure(ticket, "hear",
                 {{"id_header", "X-Device-Messaging-Event-Id"},
                  {"signature", "hmac-sha256-body"},
                  {"secret", "secret"}}));
  ASSERT_EQ(code_of(ticket), AnswerCode::kDone) << told(ticket).detail;
  send(message("TURN_ON"));
  ASSERT_EQ(events().size(), 1U);
  const WireRequest request = events()[0].request;
  SCOPED_TRACE(request.headers.text());
  EXPECT_EQ(request.headers.find("x-device-messaging-event-id"), field(request.body, "eventId"));
  EXPECT_EQ(request.headers.find("x-device-messaging-signature"),
            body_signature("secret", request.body));
}

// req: device.ev.9
TEST_F(DeviceEvents, ATokenRefusedAfterAnAttemptThatMayHaveRunIsUnknown) {
  open_all({{"spacing", "0"}});
  const auto command = with_token(message("TOP_UP_KWH"));
  const MessageId id = at_server(command);
  ack("i1", false);
  pass(2s);
  enqueued("i2");
  txack("i2");
  ack("i2", true, "d2");
  uplink(frame(command, false), "d2");
  EXPECT_EQ(status(id), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(outcome(id), "unknown");
  EXPECT_EQ(may_have_run(id), "true");
  EXPECT_NE(report(id).find("token_maybe_applied"), std::string::npos) << report(id);
  pass(1s);
  EXPECT_NE(bodies.back().find("token_maybe_applied"), std::string::npos) << bodies.back();

  const auto other = with_token(message("TOP_UP_KWH", meter(2)));
  const MessageId first = send(other);
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);  // did not run
  pass(2s);
  enqueued("i3");
  txack("i3", eui_of(meter(2)));
  ack("i3", true, "d3", eui_of(meter(2)));
  uplink(frame(other, false), "d3", eui_of(meter(2)));
  EXPECT_EQ(outcome(first), "refused");
  EXPECT_EQ(may_have_run(first), "false");
}

// req: device.ack.13
TEST_F(DeviceEvents, JoinsAreUnsolicited) {
  open_all();
  join();
  pass(1s);
  ASSERT_EQ(bodies.size(), 1U);
  EXPECT_EQ(field(bodies[0], "unsolicited"), "true");
  EXPECT_EQ(field(bodies[0], "commandType"), "JOIN_NETWORK");
  EXPECT_EQ(field(bodies[0], "externalReference"), kMeter);
  EXPECT_EQ(field(bodies[0], "id"), "");
  EXPECT_EQ(field(bodies[0], "pluginId"), "lora");
}
// req: device.ack.13
TEST_F(DeviceEvents, ReportsAreUnsolicitedAndAnswerNothing) {
  open_all();
  const MessageId id = at_server(message("READ_CREDIT"));
  txack("i1");
  const auto report_frame =
      device::encode_frame({.meter = "047003333623",
                            .control = 0x81,
                            .body = std::string("\x11\xC1") + std::string(34, '\1')});
  ASSERT_TRUE(report_frame.has_value());
  uplink(*report_frame);
  pass(1s);
  EXPECT_EQ(state(id), "OnAir");
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(field(bodies[1], "unsolicited"), "true");
  EXPECT_EQ(field(bodies[1], "commandType"), "READ_REPORT");
  EXPECT_EQ(field(bodies[1], "id"), "");
}

// req: device.st.6
TEST_F(DeviceEvents, NothingLeadsOutOfAnEnd) {
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = at_server(command);
  txack("i1");
  ack("i1", true);
  uplink(frame(command));
  pass(1s);
  const std::string before = report(id);
  const std::uint64_t late = tallies().late_receipts;
  txack("i1");
  ack("i1", false);
  ack("i1", true, "d1");
  uplink(frame(command, false));
  server_log("EXPIRED", "i1");
  enqueued("i1");
  EXPECT_EQ(cancel(id), AnswerCode::kEnded);
  pass(24h);
  EXPECT_EQ(report(id), before);
  EXPECT_EQ(calls().size(), 1U);
  EXPECT_EQ(bodies.size(), 2U);
  EXPECT_GE(tallies().late_receipts, late + 4);
  const std::uint64_t ticket = ++tickets;
  post(ask(ticket, Query::What::kLog));
  std::size_t noted = 0;
  for (const LogEntry& entry : view_of<LogPage>(ticket).entries)
    noted += entry.kind == LogEntry::Kind::kLate && entry.id == id ? 1U : 0U;
  EXPECT_GE(noted, 4U);
}

// req: device.can.1
TEST_F(DeviceEvents, WhatWaitsCanBeCancelled) {
  open_all();
  const MessageId sent = send(message("TURN_ON", meter(1)));
  const MessageId queued = send(message("TURN_ON", meter(2)));
  EXPECT_EQ(cancel(queued), AnswerCode::kDone);
  EXPECT_EQ(phase(queued), Phase::kCancelled);
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  EXPECT_EQ(cancel(sent), AnswerCode::kDone);
  EXPECT_EQ(phase(sent), Phase::kCancelled);
  EXPECT_EQ(may_have_run(sent), "false");
  EXPECT_EQ(statuses(sent).back(), "CANCELLED");
  pass(24h);
  EXPECT_EQ(calls().size(), 1U);
}
// req: device.can.1
TEST_F(DeviceEvents, WhatIsUnderWayCannotAndNothingChanges) {
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = send(command);
  const auto keeps = [&](std::string_view where) {
    ASSERT_EQ(state(id), where);
    EXPECT_EQ(cancel(id), AnswerCode::kNothing) << where;
    EXPECT_EQ(state(id), where);
    EXPECT_FALSE(shown(id).explanation.cancel_wanted) << where;
  };
  keeps("Sending");
  enqueued("i1");
  keeps("AtServer");
  join();
  keeps("CheckNs");
  queue_holds({held("i1")});
  txack("i1");
  keeps("OnAir");
  pass(12s);
  keeps("CheckAir");
  ack("i1", false);
  EXPECT_EQ(state(id), "ToRetry");  // not cancelled in hindsight
  pass(2s);
  enqueued("i2");
  ack("i2", true);
  keeps("HalfAck");
  uplink(frame(command));
  EXPECT_EQ(outcome(id), "executed");

  const MessageId task = send(pulled("TURN_ON", meter(2)));
  EXPECT_EQ(cancel(task), AnswerCode::kNothing);
  created("t1");
  EXPECT_EQ(cancel(task), AnswerCode::kNothing);
  pass(10s);
  EXPECT_EQ(cancel(task), AnswerCode::kNothing);
  polled("True");
  EXPECT_EQ(outcome(task), "executed");
}
// req: device.can.2
TEST_F(DeviceEvents, OfACancelAndAPickOneWinsAndTheAnswerSaysWhich) {
  open_all();
  // Both in one turn, in either order.
  send(message("TURN_ON", meter(1)));
  const MessageId id = send(message("TURN_ON", meter(2)));
  elapsed += 2s;  // the pick is due, and not made yet
  const AnswerCode told = cancel(id);
  const bool sent = calls("Enqueue").size() == 2;
  EXPECT_EQ(told, sent ? AnswerCode::kNothing : AnswerCode::kDone);
  pass(1min);
  EXPECT_EQ(calls("Enqueue").back().message == id, sent);
}
class DeviceCancel : public DeviceRig, public ::testing::WithParamInterface<int> {};

// req: device.can.2
TEST_P(DeviceCancel, BetweenToRetryAndQueuedThereIsNoInstantWithoutIt) {
  open_all({{"spacing", "1m"}});
  const MessageId id = send(message("TURN_ON"));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  pass(Duration(GetParam()));
  EXPECT_EQ(state(id), GetParam() < 2000 ? "ToRetry" : "Queued");
  EXPECT_EQ(cancel(id), AnswerCode::kDone);
  EXPECT_EQ(outcome(id), "cancelled");
}
INSTANTIATE_TEST_SUITE_P(Milliseconds, DeviceCancel,
                         ::testing::Values(0, 1'999, 2'000, 2'001, 59'999));

// req: device.can.3
TEST_F(DeviceEvents, ACancelAfterAnAttemptThatMayHaveRunSaysSo) {
  open_all();
  const MessageId id = at_server(message("TURN_ON"));
  ack("i1", false);
  EXPECT_EQ(cancel(id), AnswerCode::kDone);
  EXPECT_EQ(outcome(id), "cancelled");
  EXPECT_EQ(may_have_run(id), "true");
}
// req: device.can.4
TEST_F(DeviceEvents, ACancelMakesAnEventOnlyWhenAskedTo) {
  open_all({}, {{"events_cancelled", "true"}});
  const MessageId quiet = send(message("TURN_ON"));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  EXPECT_EQ(cancel(quiet), AnswerCode::kDone);
  pass(1s);
  EXPECT_EQ(bodies.size(), 1U);
  const MessageId loud = send(pulled("TURN_ON", meter(2)));
  lose(creates().back().attempt, WireEnd::kRefused);
  EXPECT_EQ(cancel(loud), AnswerCode::kDone);
  pass(1s);
  ASSERT_EQ(bodies.size(), 3U);
  EXPECT_EQ(field(bodies.back(), "outcome"), "cancelled");
  EXPECT_EQ(count(bodies.back(), ulid(loud)), 1U) << bodies.back();
}

// req: device.obs.4
TEST_F(DeviceEvents, NothingThatIsShownHasATokenOrACredential) {
  open_all({}, {{"password", "letmein"}});
  const std::string token = "98765432109876543210";
  const MessageId id = send(with_token(pulled("TOP_UP_KWH"), token));
  EXPECT_NE(creates().back().request.body.find(token), std::string_view::npos);
  const auto shows = [&](const std::string& text) {
    return text.find(token) != std::string::npos || text.find("letmein") != std::string::npos;
  };
  EXPECT_FALSE(shows(report(id))) << report(id);
  EXPECT_FALSE(shows(history(id))) << history(id);
  EXPECT_NE(report(id).find("3210"), std::string::npos) << report(id);
  json(creates().back(), 200,
       R"({"ResultCode":"12","Reason":"token )" + token + R"( by letmein is bad"})");
  EXPECT_EQ(state(id), "ToRetry");
  EXPECT_FALSE(shows(history(id))) << history(id);
  pass(2s);
  json(creates().back(), 200, R"({"ResultCode":"99","Reason":"no )" + token + R"("})");
  EXPECT_EQ(phase(id), Phase::kDead);
  pass(1s);
  EXPECT_FALSE(shows(history(id))) << history(id);
  EXPECT_FALSE(shows(shown(id).explanation.reason));
  const std::string kept = device::decode_notes(shown(id).notes).summary;
  EXPECT_NE(kept.find("TOP_UP_KWH"), std::string::npos) << kept;
  EXPECT_FALSE(shows(kept)) << "what is kept of an ended command: " << kept;
  for (const std::string& body : bodies) EXPECT_FALSE(shows(body)) << body;
  const std::uint64_t ticket = ++tickets;
  post(ask(ticket, Query::What::kLog));
  EXPECT_FALSE(view_of<LogPage>(ticket).entries.empty());
  for (const LogEntry& entry : view_of<LogPage>(ticket).entries) EXPECT_FALSE(shows(entry.reason));
}

}  // namespace
}  // namespace postrider
