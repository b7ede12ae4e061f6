// The acceptance scenarios of the device profile, one test per sentence. Server, vendor, meter and
// time are the test.
#include <array>
#include <cstdint>

#include "postrider/base/rng.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

using DeviceAcceptance = DeviceRig;
using Texts = std::vector<std::string>;

constexpr auto kSeconds = [](const std::vector<Duration>& times) {
  std::vector<double> out;
  for (const Duration time : times) out.push_back(static_cast<double>(time.count()) / 1000);
  return out;
};

// req: device.st.1, device.ack.1, device.ev.2 by scenario A1
TEST_F(DeviceAcceptance, AnIdleNetworkReadsACreditAndTellsOfItTwice) {
  open_all();
  const auto command = message("READ_CREDIT");
  const MessageId id = send(command);
  EXPECT_EQ(status(id), "SENT_TO_NS");
  enqueued("i1");
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
  txack("i1");
  EXPECT_EQ(status(id), "SENT_TO_DEVICE");
  ack("i1", true);
  EXPECT_EQ(status(id), "SENT_TO_DEVICE");
  uplink(frame(command));
  EXPECT_EQ(status(id), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(statuses(id), (Texts{"QUEUED", "SENT_TO_NS", "DELIVERED_TO_NS", "SENT_TO_DEVICE",
                                 "DELIVERY_SUCCESSFUL"}));
  pass(1min);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(field(bodies[0], "deliveryStatus"), "SENT_TO_NS");
  EXPECT_EQ(field(bodies[1], "deliveryStatus"), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(field(bodies[1], "data"), "123.45") << bodies[1];
  EXPECT_EQ(field(bodies[1], "outcome"), "executed");
  EXPECT_EQ(calls().size(), 1U);
}

// req: device.adm.4 by scenario A2
TEST_F(DeviceAcceptance, TheSecondOfANetworkStartsTwoSecondsAfterTheFirst) {
  open_all();
  send(message("READ_CREDIT", meter(1)));
  const MessageId second = send(message("READ_CREDIT", meter(2)));
  EXPECT_EQ(status(second), "QUEUED");
  pass(1'999ms);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  pass(1s);
  const std::vector<Duration> times = call_times("Enqueue");
  ASSERT_EQ(times.size(), 2U);
  EXPECT_GE(times[1] - times[0], 2'000ms);
  EXPECT_LE(times[1] - times[0], 2'050ms);
}

// req: device.adm.6 by scenario A3
TEST_F(DeviceAcceptance, OfTwentyAtOneGatewayFiveAreCreatedWhenNoneFinishes) {
  open_all();
  far_side = [&](const StartAttempt& call) {
    if (is_poll(call)) return answer_poll(call, "");
    give_task(call, "t" + std::to_string(call.message.low));
  };
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(shard->post(submission(++tickets, pulled("TURN_OFF", meter(i)))));
  }
  turn();
  pass(2h);
  EXPECT_EQ(creates().size(), 5U);
  EXPECT_GT(polls().size(), 1000U);
}

// req: device.poll.1, device.poll.2 by scenario A4
TEST_F(DeviceAcceptance, APendingTaskIsPolledOnTheLadder) {
  open_all();
  const MessageId id = send(pulled("READ_CREDIT"));
  created("t1");
  far_side = [&](const StartAttempt& call) { answer_poll(call, ""); };
  pass(125s);
  EXPECT_EQ(kSeconds(call_times("Task")), (std::vector<double>{10, 20, 35, 50, 70, 90, 120}));
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
}

class DeviceRefusedServer : public DeviceRig, public ::testing::WithParamInterface<int> {};

// req: device.retry.1, device.retry.2, device.retry.4 by scenario A5
TEST_P(DeviceRefusedServer, IsTriedTwelveTimesAndThenTheMessageFails) {
  options.engine.seed = static_cast<std::uint64_t>(GetParam());
  open_all({{"jitter_percent", "50"}});
  far_side = [&](const StartAttempt& call) { lose(call.attempt, WireEnd::kRefused); };
  const MessageId id = send(message("TURN_ON"));
  pass(3h);
  const std::vector<Duration> times = call_times("Enqueue");
  ASSERT_EQ(times.size(), 12U);
  for (std::size_t k = 1; k <= 11; ++k) {
    const Duration wait = times[k] - times[k - 1];
    EXPECT_GE(wait, Duration(1s) * (1 << k)) << k;
    EXPECT_LT(wait, Duration(1'500ms) * (1 << k)) << k;
  }
  // Without jitter it were 4,094 s.
  EXPECT_GT(times.back() - times.front(), 4'100s);
  EXPECT_LT(times.back() - times.front(), 6'141s);
  EXPECT_EQ(status(id), "DELIVERY_FAILED");
  EXPECT_EQ(outcome(id), "failed");
  EXPECT_EQ(may_have_run(id), "false");
  EXPECT_EQ(bodies.size(), 2U);
  ASSERT_EQ(events_of("DELIVERY_FAILED"), 1U);
  EXPECT_EQ(count(bodies.back(), "\"isFinal\":"), 12U) << bodies.back();
  EXPECT_EQ(count(bodies.back(), "\"isFinal\":true"), 1U);
  EXPECT_LT(bodies.back().find("\"isFinal\":true"), bodies.back().find("\"isFinal\":false"));
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeviceRefusedServer, ::testing::Range(1, 41));

// req: device.to.1, device.ack.2 by scenario A6
TEST_F(DeviceAcceptance, SilenceAfterTheTxAckRetriesAReadAndProbesAnAct) {
  open_all();
  const MessageId read = send(message("READ_CREDIT"));
  enqueued("i1");
  txack("i1");
  pass(11'999ms);
  EXPECT_EQ(status(read), "SENT_TO_DEVICE");
  pass(1ms);
  EXPECT_EQ(status(read), "TO_RETRY");
  EXPECT_TRUE(calls("GetQueue").empty());

  const std::string other = meter(2);
  const MessageId act = send(message("TURN_ON", other));
  enqueued("i2");
  txack("i2", eui_of(other));
  pass(11'999ms);
  EXPECT_TRUE(calls("GetQueue").empty());
  EXPECT_EQ(status(act), "SENT_TO_DEVICE");
  pass(1ms);
  EXPECT_EQ(calls("GetQueue").size(), 1U);
  EXPECT_EQ(status(act), "SENT_TO_DEVICE");
}

struct Halves {
  const char* name;
  bool uplink_first;
  bool restarted;
  Duration apart;
  bool pairs;
};
class DevicePairs : public DeviceRig, public ::testing::WithParamInterface<Halves> {};

// req: device.ack.3, device.ack.4 by scenario A7
TEST_P(DevicePairs, WithinTenSecondsInAnyOrderAndOverARestart) {
  open_all();
  const auto command = message("READ_CREDIT");
  const MessageId id = send(command);
  enqueued("i1");
  const auto say = [&](bool up) {
    if (up) return uplink(frame(command));
    ack("i1", true);
  };
  say(GetParam().uplink_first);
  EXPECT_EQ(status(id), GetParam().uplink_first ? "DELIVERED_TO_NS" : "SENT_TO_DEVICE");
  if (GetParam().restarted) {
    pass(GetParam().apart / 2);
    restart();
    pass(GetParam().apart - GetParam().apart / 2);
  } else {
    pass(GetParam().apart);
  }
  say(!GetParam().uplink_first);
  EXPECT_EQ(phase(id) == Phase::kDelivered, GetParam().pairs) << state(id);
  pass(1s);
  EXPECT_EQ(events_of("DELIVERY_SUCCESSFUL"), GetParam().pairs ? 1U : 0U);
  if (GetParam().pairs) {
    EXPECT_EQ(outcome(id), "executed");
  } else {
    EXPECT_EQ(outcome(id), "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Halves, DevicePairs,
    ::testing::Values(Halves{"AckThenUplinkAtOnce", false, false, 0ms, true},
                      Halves{"UplinkThenAckAtOnce", true, false, 0ms, true},
                      Halves{"AckThenUplink9999", false, false, 9'999ms, true},
                      Halves{"AckThenUplink10000", false, false, 10'000ms, false},
                      Halves{"AckThenUplink10100", false, false, 10'100ms, false},
                      Halves{"UplinkThenAck9999", true, false, 9'999ms, true},
                      Halves{"UplinkThenAck10000", true, false, 10'000ms, false},
                      Halves{"UplinkThenAck10100", true, false, 10'100ms, false},
                      Halves{"AckRestartUplink9999", false, true, 9'999ms, true},
                      Halves{"AckRestartUplink10000", false, true, 10'000ms, false},
                      Halves{"UplinkRestartAck9999", true, true, 9'999ms, true},
                      Halves{"UplinkRestartAck10000", true, true, 10'000ms, false}),
    [](const auto& one) { return std::string(one.param.name); });

// req: device.ack.5 by scenario A8
TEST_F(DeviceAcceptance, ANegativeAckBeforeTheTxAckRetriesWithinASecond) {
  open_all();
  const MessageId id = send(message("TURN_ON"));
  enqueued("i1");
  pass(3s);
  ack("i1", false);
  EXPECT_EQ(status(id), "TO_RETRY");
  EXPECT_TRUE(calls("GetQueue").empty());
}

// req: device.ack.8 by scenario A9
TEST_F(DeviceAcceptance, AnActThatWasAckedAndNeverAnsweredEndsAsUnknownAndIsNotSentAgain) {
  open_all();
  const MessageId id = send(message("TURN_OFF"));
  enqueued("i1");
  txack("i1");
  ack("i1", true);
  pass(9'999ms);
  EXPECT_EQ(status(id), "SENT_TO_DEVICE");
  pass(1ms);
  EXPECT_EQ(status(id), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(outcome(id), "unknown");
  EXPECT_EQ(may_have_run(id), "true");
  pass(8 * 24h);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  ASSERT_EQ(events_of("DELIVERY_SUCCESSFUL"), 1U);
  EXPECT_EQ(count(bodies.back(), "\"response\""), 0U) << bodies.back();
  EXPECT_EQ(field(bodies.back(), "outcome"), "unknown");
}

// req: device.poll.5 by scenario A10
TEST_F(DeviceAcceptance, ThirtyFailedPollsDoNotSendATokenAgain) {
  open_all();
  const MessageId id = send(with_token(pulled("TOP_UP_KWH")));
  created("t1");
  int answers = 0;
  far_side = [&](const StartAttempt& call) {
    if (++answers <= 30) return lose(call.attempt, WireEnd::kRefused);
    answer_poll(call, "True");
  };
  pass(24h);
  EXPECT_EQ(answers, 31);
  EXPECT_EQ(creates().size(), 1U);
  EXPECT_EQ(status(id), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(outcome(id), "executed");
  EXPECT_EQ(events_of("DELIVERY_SUCCESSFUL"), 1U);
}

// req: device.crash.3 by scenario A11
TEST_F(DeviceAcceptance, KilledAfterTheServerAcceptedItAdoptsTheItem) {
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = send(command);
  const chirpstack::QueueItem item = sent_item(0, "i1");
  restart();
  ASSERT_EQ(calls("GetQueue").size(), 1U);
  queue_holds({item});
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
  pass(14min);
  txack("i1");
  EXPECT_EQ(status(id), "SENT_TO_DEVICE");
  ack("i1", true);
  uplink(frame(command));
  EXPECT_EQ(status(id), "DELIVERY_SUCCESSFUL");
  EXPECT_EQ(outcome(id), "executed");
  EXPECT_TRUE(calls("Enqueue").empty());
}

// req: device.crash.3 by scenario A12
TEST_F(DeviceAcceptance, KilledWhileTheVendorTookATokenItIsUnknownAndNotSentAgain) {
  open_all();
  const MessageId id = send(with_token(pulled("TOP_UP_KWH")));
  ASSERT_EQ(creates().size(), 1U);
  restart();
  pass(49h);
  EXPECT_EQ(status(id), "DELIVERY_FAILED");
  EXPECT_EQ(outcome(id), "unknown");
  EXPECT_EQ(may_have_run(id), "true");
  EXPECT_TRUE(calls().empty());
  EXPECT_EQ(events_of("DELIVERY_FAILED"), 1U);
}

// req: device.poll.8, device.poll.11, device.ack.12 by scenario A13
TEST_F(DeviceAcceptance, WhileTheServerHoldsItNothingIsSentAndAJoinThatFlushedItRetries) {
  open_all();
  const MessageId id = send(message("TURN_ON"));
  enqueued("i1");
  far_side = [&](const StartAttempt& call) { answer_queue(call, {held("i1")}); };
  pass(4 * 15min);
  EXPECT_EQ(kSeconds(call_times("GetQueue")), (std::vector<double>{900, 1800, 2700, 3600}));
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  far_side = nullptr;
  pass(7min);
  join();
  ASSERT_EQ(calls("GetQueue").size(), 5U);
  EXPECT_EQ(call_times("GetQueue").back(), elapsed);
  queue_holds({});
  pass(5s);
  ASSERT_EQ(calls("GetQueue").size(), 6U);
  queue_holds({});
  EXPECT_EQ(status(id), "TO_RETRY");
  pass(2s);
  EXPECT_EQ(calls("Enqueue").size(), 2U);
}

// req: device.poll.10 by scenario A14
TEST_F(DeviceAcceptance, AServerThatCannotBeAskedForAnHourIsNotSentTheCommandAgain) {
  open_all();
  const MessageId id = send(message("TURN_ON"));
  enqueued("i1");
  far_side = [&](const StartAttempt& call) { lose(call.attempt, WireEnd::kRefused); };
  pass(15min + 1h);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  EXPECT_GE(calls("GetQueue").size(), 60U);
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
}

// req: device.to.4, device.adm.7 by scenario A15
TEST_F(DeviceAcceptance, AfterFortyEightHoursAPullMessageExpiresAndFreesItsPlace) {
  open_all({}, {{"in_flight_max", "1"}});
  const MessageId id = send(pulled("TURN_ON"));
  far_side = [&](const StartAttempt& call) {
    if (is_poll(call)) return answer_poll(call, "unknown");
    give_task(call, "t2");
  };
  pass(47h);
  const MessageId next = send(pulled("TURN_ON", meter(2)));
  pass(1h - 1ms);
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
  EXPECT_EQ(status(next), "QUEUED");
  pass(1ms);
  EXPECT_EQ(status(id), "DELIVERY_FAILED");
  EXPECT_EQ(outcome(id), "expired");
  EXPECT_EQ(may_have_run(id), "true");
  EXPECT_EQ(phase(id), Phase::kExpired);
  EXPECT_EQ(status(next), "DELIVERED_TO_NS");
  pass(1h);
  EXPECT_EQ(events_of("DELIVERY_FAILED"), 1U);
  EXPECT_EQ(creates().size(), 2U);
}

// req: device.adm.11 by scenario A16
TEST_F(DeviceAcceptance, ANewerActWaitsUntilTheOlderOneThatWasAttemptedHasEnded) {
  open_all();
  const auto off = message("TURN_OFF");
  const MessageId older = send(off);
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  EXPECT_EQ(status(older), "TO_RETRY");
  auto on = message("TURN_ON");
  on.priority = 9;
  const MessageId newer = send(on);
  pass(1'999ms);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  pass(1ms);
  ASSERT_EQ(calls("Enqueue").size(), 2U);
  EXPECT_EQ(status(older), "SENT_TO_NS");
  EXPECT_EQ(status(newer), "QUEUED");
  enqueued("i1");
  txack("i1");
  pass(10s);
  EXPECT_EQ(status(newer), "QUEUED");
  ack("i1", true);
  uplink(frame(off));
  EXPECT_EQ(status(older), "DELIVERY_SUCCESSFUL");
  pass(2s);
  EXPECT_EQ(status(newer), "SENT_TO_NS");
}

// req: device.adm.12 by scenario A16
TEST_F(DeviceAcceptance, ANewerActOfTheSameSupersedeKeyCancelsTheOlder) {
  open_all();
  auto off = message("TURN_OFF");
  off.supersede = "relay";
  const MessageId older = send(off);
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  EXPECT_EQ(status(older), "TO_RETRY");
  auto on = message("TURN_ON");
  on.supersede = "relay";
  const MessageId newer = send(on);
  EXPECT_EQ(phase(older), Phase::kCancelled);
  EXPECT_EQ(outcome(older), "cancelled");
  EXPECT_NE(history(older).find("superseded"), std::string::npos) << history(older);
  pass(1h);
  ASSERT_EQ(calls("Enqueue").size(), 2U);
  EXPECT_EQ(calls("Enqueue").back().message, newer);
}

class DeviceTraffic : public DeviceRig, public ::testing::WithParamInterface<bool> {
 protected:
  static constexpr std::uint64_t kMeters = 400;

  // What is said about one meter: one in eight negative, one in eight refused, one in eight acked
  // and never answered, one in eight discarded by the server.
  enum class Fate : std::uint8_t { kExecuted, kNack, kRefused, kSilent, kDiscarded };
  static Fate fate_of(std::uint64_t number) {
    const std::array<Fate, 4> odd = {Fate::kNack, Fate::kRefused, Fate::kSilent, Fate::kDiscarded};
    return number % 8 < 4 ? odd[number % 8] : Fate::kExecuted;
  }
  static device::DeviceMessage command_of(std::uint64_t number) {
    const std::array<std::string_view, 3> names = {"TURN_ON", "READ_CREDIT", "TURN_OFF"};
    return message(names[number % 3], meter(number));
  }
  struct News {
    chirpstack::Event event;
    std::string eui;
  };
  static void say(std::vector<News>& out, std::uint64_t number, const std::string& item) {
    const std::string eui = eui_of(meter(number));
    const std::string pair = "d" + item;
    chirpstack::Event event;
    event.queue_item_id = item;
    const Fate fate = item.ends_with(".1") ? fate_of(number) : Fate::kExecuted;
    if (fate == Fate::kDiscarded) {
      event.kind = chirpstack::EventKind::kLog;
      event.code = "EXPIRED";
      out.push_back({event, eui});
      return;
    }
    event.kind = chirpstack::EventKind::kTxAck;
    out.push_back({event, eui});
    event.kind = chirpstack::EventKind::kAck;
    event.acknowledged = fate != Fate::kNack;
    event.deduplication_id = fate == Fate::kNack ? "" : pair;
    out.push_back({event, eui});
    if (fate == Fate::kNack || fate == Fate::kSilent) return;
    chirpstack::Event up;
    up.kind = chirpstack::EventKind::kUp;
    up.deduplication_id = pair;
    up.data = frame(command_of(number), fate != Fate::kRefused);
    out.push_back({up, eui});
  }
  // As the door does it: what came before is the same again.
  void ingest(const News& news) {
    Arrived arrived;
    arrived.caller.ticket = Ticket(++tickets);
    arrived.profile = "device";
    const std::string word(chirpstack::name_of(news.event.kind));
    arrived.source = {.origin = "lora", .kind = word, .format = "json"};
    arrived.settings = {{"events", "hear"}};
    chirpstack::Event whole = news.event;
    whole.dev_eui = news.eui;
    arrived.bytes = chirpstack::encode_event_json(whole);
    arrived.caller.key = opaque(word + news.eui + whole.queue_item_id + whole.deduplication_id);
    arrived.caller.key.scope = "ingress";
    arrived.caller.said = arrived.caller.key.key;
    post(arrived);
  }
  // The outcomes by meter. With trouble the news of each second come in random order, three of ten
  // twice.
  std::vector<std::string> run(bool trouble) {
    open_all({{"spacing", "0"}});
    std::vector<News> waiting;
    std::map<std::string, std::uint64_t> numbers;
    for (std::uint64_t i = 0; i < kMeters; ++i) numbers[eui_of(meter(i))] = i;
    std::map<std::uint64_t, int> attempts;
    far_side = [&](const StartAttempt& call) {
      if (!is_call(call, "Enqueue")) return answer_queue(call, {});
      const std::uint64_t number = numbers.at(item_of(call, "").dev_eui);
      const std::string item =
          "i" + std::to_string(number) + "." + std::to_string(++attempts[number]);
      accept(call, item);
      say(waiting, number, item);
    };
    std::vector<MessageId> ids;
    for (std::uint64_t i = 0; i < kMeters; ++i) ids.push_back(send(command_of(i)));
    Rng rng(7);
    for (int second = 0; second < 300; ++second) {
      hear_all();
      std::vector<News> now = std::exchange(waiting, {});
      if (trouble) disturb(now, rng);
      for (const News& news : now) {
        ingest(news);
        pass(1ms);
      }
      pass(1s - Duration(1ms) * std::min<std::size_t>(now.size(), 1000));
    }
    std::vector<std::string> out;
    for (const MessageId id : ids) {
      out.push_back(status(id) + " " + outcome(id) + " " + may_have_run(id));
    }
    return out;
  }
  static void disturb(std::vector<News>& news, Rng& rng) {
    const std::size_t all = news.size();
    for (std::size_t i = 0; i < all; ++i) {
      if (rng.below(10) < 3) news.push_back(news[i]);
    }
    for (std::size_t i = news.size(); i > 1; --i) std::swap(news[i - 1], news[rng.below(i)]);
  }
};

// req: device.ev.1 by scenario A19
TEST_P(DeviceTraffic, InRandomOrderAndThreeTenthsTwiceHasTheOutcomesOfACleanRun) {
  const std::vector<std::string> troubled = run(GetParam());
  EXPECT_EQ(events_of("DELIVERY_SUCCESSFUL"), kMeters);
  EXPECT_EQ(events_of("SENT_TO_NS"), kMeters);
  for (std::uint64_t i = 0; i < kMeters; ++i) {
    const bool read = device::is_read(command_of(i).request.command);
    switch (fate_of(i)) {
      case Fate::kExecuted:
      case Fate::kNack:
      case Fate::kDiscarded:
        EXPECT_EQ(troubled[i], read ? "DELIVERY_SUCCESSFUL executed false"
                                    : "DELIVERY_SUCCESSFUL executed true");
        break;
      case Fate::kRefused: EXPECT_EQ(troubled[i], "DELIVERY_SUCCESSFUL refused false"); break;
      case Fate::kSilent:
        EXPECT_EQ(troubled[i],
                  read ? "DELIVERY_SUCCESSFUL executed false" : "DELIVERY_SUCCESSFUL unknown true");
        break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Traffic, DeviceTraffic, ::testing::Bool(), [](const auto& one) {
  return std::string(one.param ? "Troubled" : "Clean");
});

}  // namespace
}  // namespace postrider
