// What is kept of a command: its history with attempts, transitions, events and outcome, the bytes
// that nobody could read, and how much of what others say.
#include "postrider/protocols/web/http_text.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceHistory : public DeviceRig {
 protected:
  // A list of the history, as its text.
  static std::string list(std::string_view history, std::string_view name) {
    const std::string key = "\"" + std::string(name) + "\":[";
    const std::size_t from = history.find(key);
    if (from == std::string_view::npos) return "";
    int depth = 0;
    for (std::size_t at = from + key.size() - 1; at < history.size(); ++at) {
      depth += history[at] == '[' ? 1 : history[at] == ']' ? -1 : 0;
      if (depth == 0) return std::string(history.substr(from, at + 1 - from));
    }
    return "";
  }
  // The words of a field in all entries of a list, one after the other.
  static std::string all(std::string text, std::string_view name) {
    std::string out;
    const std::string key = "\"" + std::string(name) + "\":";
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key)) {
      out += (out.empty() ? "" : " ") + field(std::string_view(text).substr(at), name);
      text.erase(0, at + key.size());
    }
    return out;
  }
  bool is_known(MessageId id) {
    const std::uint64_t ticket = ++tickets;
    Query question = ask(ticket, Query::What::kMessage);
    question.id = id;
    post(question);
    return code_of(ticket) != AnswerCode::kNotFound;
  }
  static std::string bytes_of(std::string_view hex) {
    std::string out;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
    return out;
  }
  // A frame whose last two bytes are made to fit what stands before them.
  static std::string sealed(std::string frame) {
    unsigned sum = 0;
    for (const char c : frame) sum += static_cast<unsigned char>(c);
    frame.push_back(static_cast<char>(sum & 0xFF));
    return frame + '\x16';
  }
};

// req: device.api.6
TEST_F(DeviceHistory, TellsAttemptsTransitionsEventsAndOutcome) {
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = send(command);
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  pass(2s);
  enqueued("i1");
  txack("i1");
  pass(1s);
  EXPECT_EQ(all(list(history(id), "events"), "event"), "webhook txack") << "while it lives";
  ack("i1", true);
  pass(1s);
  uplink(frame(command));
  pass(1s);
  const std::string told = history(id);
  EXPECT_EQ(field(told, "outcome"), "executed");
  EXPECT_EQ(all(list(told, "attempts"), "number"), "1 2");
  EXPECT_EQ(all(list(told, "attempts"), "closed"), "not-taken answered") << told;
  EXPECT_EQ(all(list(told, "transitions"), "state"),
            "Queued Sending ToRetry Queued Sending AtServer OnAir HalfAck Done");
  const std::string events = list(told, "events");
  EXPECT_EQ(all(events, "event"), "webhook txack ack up webhook") << events;
  EXPECT_EQ(all(events, "direction"), "out in in in out");
  EXPECT_EQ(all(events, "deliveryStatus"), "SENT_TO_NS DELIVERY_SUCCESSFUL");
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(all(events, "eventId"),
            field(bodies[0], "eventId") + " " + field(bodies[1], "eventId"));
  const auto at = [&](Duration since) { return to_rfc3339(kStart + since); };
  EXPECT_EQ(all(events, "at"), at(0s) + " " + at(2s) + " " + at(3s) + " " + at(4s) + " " + at(4s));
  restart();
  EXPECT_EQ(history(id), told) << "after a kill";
}

// req: device.api.6
TEST_F(DeviceHistory, TellsThatTheServerWasAskedAboutASendOfOpenFate) {
  open_all();
  const MessageId id = send(message("TURN_ON"));
  pass(20s);
  queue_holds({});
  pass(5s);
  queue_holds({});
  EXPECT_EQ(all(list(history(id), "transitions"), "state"), "Queued Sending CheckSend ToRetry");
}
// req: device.api.6, device.crash.4
TEST_F(DeviceHistory, ABackOffIsOverAtTheSameTimeAfterAKill) {
  open_all({{"spacing", "10m"}});
  const MessageId id = send(message("TURN_ON"));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  pass(5s);  // its back-off was over after 2 s, and the queue has no slot yet
  const std::string told = list(history(id), "transitions");
  EXPECT_EQ(all(told, "state"), "Queued Sending ToRetry Queued");
  EXPECT_NE(told.find(to_rfc3339(kStart + 2s)), std::string::npos) << told;
  restart();
  pass(30s);
  EXPECT_EQ(list(history(id), "transitions"), told) << "after a kill";
}

// req: device.api.6
TEST_F(DeviceHistory, TellsWhatTheServerSaidAndTheDeviceDidNot) {
  open_all();
  const MessageId id = send(message("READ_CREDIT"));
  enqueued("i1");
  join();
  queue_holds({held("i1")});
  ack("i1", false);
  pass(2s);
  enqueued("i2");
  server_log("EXPIRED", "i2");
  pass(4s);
  enqueued("i3");
  txack("i3");
  ack("i3", true);
  auto other = message("READ_VOLTAGE");
  other.request.phase = device::MeterPhase::kA;
  uplink(frame(other));
  EXPECT_EQ(all(list(history(id), "events"), "event"),
            "webhook join nack log txack ack mismatched");
}

// req: device.api.6
TEST_F(DeviceHistory, TellsNoEventThatNobodyWasToHear) {
  open_all();
  add_queue(kPushQueue, without(push_settings(), "events"));
  const MessageId id = send(message("READ_CREDIT"));
  EXPECT_EQ(list(history(id), "events"), "\"events\":[]");
}

// req: device.api.6
TEST_F(DeviceHistory, StaysForSevenDaysAfterTheEnd) {
  open_all();
  const MessageId id = send(message("READ_CREDIT"));
  enqueued("i1");
  uplink(frame(message("READ_CREDIT")));
  pass(1s);
  txack("i1");
  ack("i1", true);
  pass(1s);
  ASSERT_EQ(outcome(id), "executed");
  pass(7 * 24h);
  EXPECT_EQ(field(history(id), "outcome"), "executed");
  for (int day = 0; day < 8; ++day) {
    send(message("READ_CREDIT", meter(static_cast<std::uint64_t>(day))));
    pass(24h);
  }
  EXPECT_FALSE(is_known(id));
}

// req: device.wire.9
TEST_F(DeviceHistory, KeepsAPushedAnswerThatNobodyCanRead) {
  open_all();
  const MessageId id = send(message("READ_CREDIT"));
  enqueued("i1");
  txack("i1");
  // As the vector for a credit of 123.45, but for its first digits: 0x4A is no number.
  const std::string answer =
      sealed(bytes_of("682336330370046881085417"
                      "7d5634333433"));
  uplink(answer);
  pass(1h);
  EXPECT_EQ(status(id), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(outcome(id), "refused");
  const std::string told = history(id);
  EXPECT_EQ(field(told, "status"), "EXECUTION_FAILURE") << told;
  EXPECT_NE(told.find(R"("reason":"undecodable")"), std::string::npos) << told;
  EXPECT_EQ(field(told, "payload").substr(0, 36), "6823363303700468810854177d5634333433");
  EXPECT_EQ(field(told, "payload").size(), 40U);
  EXPECT_EQ(calls("Enqueue").size(), 1U) << "it is not asked again";
  restart();
  EXPECT_EQ(history(id), told);
}

// req: device.wire.9
TEST_F(DeviceHistory, KeepsAPulledAnswerThatNobodyCanRead) {
  open_all({}, {{"password", "letmein"}});
  const MessageId id = send(pulled("READ_DATE"));
  created("t1");
  pass(10s);
  polled("True", "26-13-01 letmein", "Date");
  pass(1h);
  EXPECT_EQ(outcome(id), "refused");
  const std::string told = history(id);
  EXPECT_NE(told.find(R"("reason":"undecodable")"), std::string::npos) << told;
  EXPECT_NE(told.find("26-13-01 …"), std::string::npos) << told;
  EXPECT_EQ(told.find("letmein"), std::string::npos) << told;
  EXPECT_EQ(creates().size(), 1U);
}

// req: device.wire.9, device.lim.1
TEST_F(DeviceHistory, CutsAnAnswerThatNobodyCanReadAndMarksIt) {
  open_all();
  const MessageId id = send(pulled("READ_DATE"));
  created("t1");
  pass(10s);
  polled("True", std::string(20'000, 'x'), "Date");
  const std::string payload = field(history(id), "payload");
  EXPECT_TRUE(payload.starts_with("{\\"));
  EXPECT_NE(history(id).find("xxx…"), std::string::npos);
  EXPECT_EQ(outcome(id), "refused") << "and is an answer all the same";
  EXPECT_LT(history(id).size(), 3000U);
}

// req: device.lim.1
TEST_F(DeviceHistory, CutsWhatAVendorSaysAtTwoHundredBytesAndMarksIt) {
  open_all();
  const auto reason_of = [&](std::uint64_t which, std::size_t bytes) {
    const MessageId id = send(pulled("READ_CREDIT", meter(which)));
    json(creates().back(), 200,
         R"({"ResultCode":"12","Reason":")" + std::string(bytes, 'x') + R"("})");
    EXPECT_EQ(state(id), "ToRetry");
    return field(failures(id), "reason");
  };
  EXPECT_EQ(reason_of(1, 199), std::string(199, 'x'));
  EXPECT_EQ(reason_of(2, 200), std::string(200, 'x'));
  EXPECT_EQ(reason_of(3, 201), std::string(197, 'x') + "…");
  EXPECT_EQ(reason_of(4, 5000), std::string(197, 'x') + "…");
}

// req: device.lim.1
TEST_F(DeviceHistory, CutsWhatAServerSaysAsWell) {
  open_all();
  const MessageId id = send(message("READ_CREDIT"));
  reply(calls("Enqueue").back().attempt, 8, "", {{"grpc-message", std::string(5000, 'x')}});
  const std::string reason = field(failures(id), "reason");
  EXPECT_EQ(reason.size(), 200U);
  EXPECT_TRUE(reason.starts_with("RESOURCE_EXHAUSTED: xxx")) << reason;
  EXPECT_TRUE(reason.ends_with("…")) << reason;
}

// req: device.lim.1
TEST_F(DeviceHistory, ShowsTheTwelveNewestFailures) {
  open_all({{"retries", "14"}, {"retry_cap", "10s"}});
  const MessageId id = send(message("READ_CREDIT"));
  for (std::size_t failed = 1; failed <= 15; ++failed) {
    const std::string words = "because-" + std::to_string(failed);
    reply(calls("Enqueue").back().attempt, 8, "", {{"grpc-message", words}});
    pass(10s);
    EXPECT_EQ(count(failures(id), "\"timestamp\""), std::min<std::size_t>(failed, 12)) << failed;
    EXPECT_NE(failures(id).find(words + '"'), std::string::npos) << "the newest is there";
  }
  EXPECT_EQ(failures(id).find("because-3\""), std::string::npos) << "the oldest go";
  EXPECT_NE(failures(id).find("because-4\""), std::string::npos);
}

}  // namespace
}  // namespace postrider
