// Which command goes when: order, spacing, places, one attempt per device, breaker and hold-off.
#include <array>
#include <set>

#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceAdmission : public DeviceRig {
 protected:
  static device::DeviceMessage at_network(std::optional<std::uint32_t> network,
                                          const std::string& which) {
    device::DeviceMessage out = message("READ_CREDIT", which);
    out.network = network;
    return out;
  }
  static device::DeviceMessage at_gateway(const std::string& gateway, std::string_view command,
                                          const std::string& which) {
    device::DeviceMessage out = pulled(command, which);
    out.relay->id = gateway;
    return out;
  }
  static device::DeviceMessage urgent(device::DeviceMessage command, std::uint16_t priority) {
    command.priority = priority;
    return command;
  }
  std::vector<MessageId> order(std::string_view part = "Enqueue") const {
    std::vector<MessageId> out;
    for (const StartAttempt& call : calls(part)) out.push_back(call.message);
    return out;
  }
  // Looks at queues, decisions, reads and rows read.
  using Cost = std::array<std::uint64_t, 4>;
  Cost cost_of(const std::function<void()>& what) {
    const Tallies before = tallies();
    const std::array<std::uint64_t, 2> read = {store.reads(), store.rows()};
    what();
    const Tallies after = tallies();
    return {after.looks - before.looks, after.steps - before.steps, store.reads() - read[0],
            store.rows() - read[1]};
  }
  void refuse_last() { lose(calls("Enqueue").back().attempt, WireEnd::kRefused); }
};
using Ids = std::vector<MessageId>;

// req: device.adm.1
TEST_F(DeviceAdmission, EveryNetworkAndEveryGatewayOfAPluginIsAQueue) {
  open_all();
  add_queue("lora.network:8", push_settings());
  add_queue("lora.network:unassigned", push_settings());
  NamedTexts other = push_settings();
  put(other, {"plugin", "lora2"});
  add_queue("lora2.network:7", other);
  send(at_network(7, meter(1)));
  send(at_network(8, meter(2)));
  send(at_network(std::nullopt, meter(3)));
  auto second_plugin = at_network(7, meter(4));
  second_plugin.plugin = "lora2";
  send(second_plugin);
  EXPECT_EQ(calls("Enqueue").size(), 4U);  // none waits for another
  send(at_network(7, meter(5)));
  EXPECT_EQ(calls("Enqueue").size(), 4U);

  put(other = pull_settings(), {"in_flight_max", "1"});
  add_queue(kPullQueue, other);
  add_queue("calin.gateway:g2", other);
  send(at_gateway("g1", "READ_CREDIT", meter(6)));
  send(at_gateway("g2", "READ_CREDIT", meter(7)));
  send(at_gateway("g1", "READ_CREDIT", meter(8)));
  EXPECT_EQ(creates().size(), 2U);
}

// req: device.adm.2, device.adm.3
TEST_F(DeviceAdmission, TheLargerPriorityGoesFirstAndEqualOnesInOrderOfAcceptance) {
  open_all();
  send(message("READ_CREDIT", meter(0)));
  far_side = [&](const StartAttempt& call) {
    accept(call, "i" + std::to_string(call.message.low));
  };
  Ids want;
  std::array<std::vector<MessageId>, 3> by_priority;
  for (std::uint64_t i = 1; i <= 30; ++i) {  // all within one millisecond
    const auto priority = static_cast<std::uint16_t>(i * 7 % 3);
    by_priority.at(priority).push_back(
        send(urgent(message("READ_CREDIT", meter(i)), static_cast<std::uint16_t>(priority * 100))));
  }
  for (const std::size_t priority : {2U, 1U, 0U})
    want.insert(want.end(), by_priority.at(priority).begin(), by_priority.at(priority).end());
  pass(1min);
  Ids got = order();
  got.erase(got.begin());
  EXPECT_EQ(got, want);
}

// req: device.adm.3, device.crash.2
TEST_F(DeviceAdmission, AnOlderActOnDiskGoesBeforeANewerOneAfterARestart) {
  open_all();
  send(pulled("TURN_ON"));  // its call is open
  post(Pause{{Ticket(++tickets)}, std::string(kPullQueue), ""});
  const MessageId older = send(pulled("TURN_OFF"));  // goes to the disk, and is read from there
  post(Resume{{Ticket(++tickets)}, std::string(kPullQueue)});
  const MessageId newer = send(with_token(pulled("TOP_UP_KWH")));  // is in memory only
  restart();  // nobody can tell what became of the first: it ends, and the meter is free
  ASSERT_EQ(calls("COMM_Remote").size(), 1U);
  EXPECT_EQ(calls("COMM_Remote")[0].message, older);
  EXPECT_EQ(phase(newer), Phase::kQueued);
}

// req: device.adm.4, device.crash.4
TEST_F(DeviceAdmission, PicksOfANetworkAreTwoSecondsApartAlsoOverARestart) {
  open_all();
  for (std::uint64_t i = 0; i < 10; ++i) send(message("READ_CREDIT", meter(i)));
  pass(5s);
  const std::vector<Duration> times = call_times("Enqueue");
  ASSERT_EQ(times.size(), 3U);
  EXPECT_EQ(times[1] - times[0], 2s);
  EXPECT_EQ(times[2] - times[1], 2s);
  restart();
  pass(0ms);
  EXPECT_TRUE(calls("Enqueue").empty());  // the last pick was 1 s ago
  pass(30s);
  const std::vector<Duration> later = call_times("Enqueue");
  ASSERT_GE(later.size(), 7U);
  EXPECT_GE(later[0], 6s);
  for (std::size_t i = 1; i < later.size(); ++i) EXPECT_GE(later[i] - later[i - 1], 2s);
}

// req: device.adm.5
TEST_F(DeviceAdmission, ALookThatPicksNothingCostsNothing) {
  open_all();
  pass(1h);
  send_expired(message("READ_CREDIT", meter(1)));  // is not sent: no pick
  const MessageId cancelled = send(message("READ_CREDIT", meter(2)));
  EXPECT_EQ(order(), Ids{cancelled});
  pass(1'999ms);
  const MessageId next = send(message("READ_CREDIT", meter(3)));
  pass(1ms);
  EXPECT_EQ(order(), (Ids{cancelled, next}));
  pass(2s);  // the queue is looked into, and empty
  const MessageId last = send(message("READ_CREDIT", meter(4)));
  EXPECT_EQ(order(), (Ids{cancelled, next, last}));
}
// req: device.adm.5
TEST_F(DeviceAdmission, AMessageThatWaitsForItsDeviceSpendsNoPick) {
  open_all();
  send(message("READ_CREDIT"));
  enqueued("i1");
  send(urgent(message("READ_DATE"), 9));  // of the same meter
  pass(10s);
  ASSERT_EQ(calls("Enqueue").size(), 1U);
  send(message("READ_CREDIT", meter(1)));
  EXPECT_EQ(calls("Enqueue").size(), 2U);
}

// req: device.adm.6, device.adm.7
TEST_F(DeviceAdmission, AGatewayNeverHasMoreThanFiveOfAThousandAlsoOverRestarts) {
  open_all();
  std::set<MessageId> open_now;
  std::map<MessageId, int> polled_times;
  std::size_t most = 0;
  far_side = [&](const StartAttempt& call) {
    if (!is_poll(call)) {
      open_now.insert(call.message);
      most = std::max(most, open_now.size());
      return give_task(call, "t" + std::to_string(call.message.low));
    }
    if (++polled_times[call.message] < 2 + static_cast<int>(call.message.low % 2))
      return answer_poll(call, "");
    open_now.erase(call.message);
    answer_poll(call, "True", "1.5,ON", "Current Credit Register");
  };
  std::vector<std::uint64_t> asked;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    asked.push_back(++tickets);
    ASSERT_TRUE(shard->post(submission(tickets, pulled("READ_CREDIT", meter(i)))));
  }
  turn();
  hear_all();
  EXPECT_EQ(open_now.size(), 5U);
  for (int i = 0; i < 200; ++i) {
    pass(73s);
    if (i % 7 == 0) restart();
    EXPECT_LE(open_now.size(), 5U);
  }
  EXPECT_EQ(most, 5U);
  EXPECT_EQ(polled_times.size(), 1000U);
  EXPECT_TRUE(open_now.empty());
}
// req: device.adm.7
TEST_F(DeviceAdmission, ARetryAndAnEndGiveThePlaceBackInTheirOwnRecord) {
  open_all({}, {{"in_flight_max", "1"}});
  const MessageId first = send(pulled("READ_CREDIT", meter(1)));
  const MessageId second = send(pulled("READ_CREDIT", meter(2)));
  const MessageId third = send(pulled("READ_CREDIT", meter(3)));
  store.holds_commits = true;
  lose(creates().back().attempt, WireEnd::kRefused);
  ASSERT_EQ(store.commits_held(), 1U);
  release_commit();  // ToRetry and the free place
  store.holds_commits = false;
  turn();
  EXPECT_EQ(state(first), "ToRetry");
  EXPECT_EQ(state(second), "Sending");
  EXPECT_EQ(state(third), "Queued");
  json(creates().back(), 400, "{}");
  EXPECT_EQ(state(third), "Sending");
  give_task(creates().back(), "t3");
  restart();
  pass(0ms);
  EXPECT_TRUE(creates().empty());  // the place is taken by the third
  pass(10s);
  EXPECT_TRUE(creates().empty());
  polled("True", "1.5,ON", "Current Credit Register");
  EXPECT_EQ(outcome(third), "executed");
  EXPECT_EQ(creates().size(), 1U);
}

// req: device.adm.8
TEST_F(DeviceAdmission, AnEnqueueCostsTheSameBesideThreeHundredBusyQueues) {
  open_all();
  const NamedTexts quiet = without(push_settings(), "events");  // consumers are shared
  add_queue(kPushQueue, quiet);
  const auto cost = [&](std::uint64_t which) {
    const Cost out = cost_of([&] {
      send(message("READ_CREDIT", meter(which)));
      send(message("READ_CREDIT", meter(which + 1)));
    });
    pass(10s);
    return out;
  };
  cost(10);
  const auto alone = cost(20);
  for (std::uint32_t network = 100; network < 400; ++network) {
    add_queue("lora.network:" + std::to_string(network), quiet);
    for (std::uint64_t i = 0; i < 3; ++i) send(at_network(network, meter(network * 10'000ULL + i)));
  }
  const auto beside = cost(30);
  EXPECT_EQ(alone, beside);
}

// req: device.adm.8
TEST_F(DeviceAdmission, TheEndOfABackOffAndAFreedPlaceLookAtTheirOwnQueueAlone) {
  open_all({{"spacing", "0"}});
  const auto back_off = [&](std::uint64_t which) {
    send(message("READ_CREDIT", meter(which)));
    lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
    pass(1s);
    const std::size_t before = calls("Enqueue").size();
    const Cost out = cost_of([&] { pass(1s); });
    EXPECT_EQ(calls("Enqueue").size(), before + 1);
    accept(calls("Enqueue").back(), "i" + std::to_string(which));
    return out;
  };
  const auto freed = [&](const std::string& gateway) {
    add_queue("calin.gateway:" + gateway, without(pull_settings(), "events"));
    auto command = pulled("READ_CREDIT");
    command.relay->id = command.relay->reference = gateway;
    const std::size_t before = creates().size();
    for (std::uint64_t i = 0; i < 6; ++i) {
      command.request.meter = meter(i + 1000 * gateway.size());
      send(command);
    }
    EXPECT_EQ(creates().size(), before + 5);
    const Cost out = cost_of([&] { json(creates()[before], 400, "{}"); });
    EXPECT_EQ(creates().size(), before + 6);
    return out;
  };
  back_off(10);
  const Cost back_off_alone = back_off(20);
  freed("g2");
  const Cost freed_alone = freed("g33");
  pass(10s);  // whoever was refused is in line again
  NamedTexts slow = without(push_settings(), "events");
  put(slow, {"spacing", "1h"});
  for (std::uint32_t network = 100; network < 400; ++network) {
    add_queue("lora.network:" + std::to_string(network), slow);
    for (std::uint64_t i = 0; i < 3; ++i) send(at_network(network, meter(network * 10'000ULL + i)));
    accept(calls("Enqueue").back(), "n" + std::to_string(network));
  }
  pass(1s);
  EXPECT_EQ(back_off(30), back_off_alone);
  EXPECT_EQ(freed("g444"), freed_alone);
}

// req: device.adm.9
TEST_F(DeviceAdmission, ARetryKeepsItsIdItsPriorityAndItsPlace) {
  open_all({{"retry_base", "1s"}});
  const MessageId first = send(urgent(message("READ_CREDIT", meter(1)), 5));
  refuse_last();
  const MessageId equal = send(urgent(message("READ_CREDIT", meter(2)), 5));
  const MessageId lower = send(urgent(message("READ_CREDIT", meter(3)), 4));
  const MessageId higher = send(urgent(message("READ_CREDIT", meter(4)), 6));
  pass(20s);
  EXPECT_EQ(order(), (Ids{first, higher, first, equal, lower}));
}

// req: device.adm.10
TEST_F(DeviceAdmission, ADeviceHasOneAttemptOfOpenFate) {
  open_all();
  add_queue("lora.network:8", push_settings());
  const MessageId first = send(message("READ_CREDIT"));
  const MessageId second = send(message("READ_DATE"));
  const MessageId elsewhere = send(at_network(8, std::string(kMeter)));
  const MessageId by_pull = send(pulled("READ_CREDIT"));
  pass(10s);
  EXPECT_EQ(calls().size(), 1U);
  enqueued("i1");
  txack("i1");
  pass(1s);
  EXPECT_EQ(calls().size(), 1U);
  ack("i1", true);
  uplink(frame(message("READ_CREDIT")));
  EXPECT_EQ(outcome(first), "executed");
  pass(0ms);
  EXPECT_EQ(calls().size(), 2U);  // one of those that waited
  std::size_t waiting = 0;
  for (const MessageId id : {second, elsewhere, by_pull})
    waiting += state(id) == "Queued" ? 1U : 0U;
  EXPECT_EQ(waiting, 2U);
}
// req: device.adm.10
TEST_F(DeviceAdmission, ADeviceHasOneTaskAtTheVendor) {
  open_all();
  send(pulled("READ_CREDIT"));
  created("t1");
  const MessageId second = send(pulled("READ_DATE"));
  pass(10s);
  EXPECT_EQ(creates().size(), 1U);
  EXPECT_EQ(state(second), "Queued");
  polled("True", "1.5,ON", "Current Credit Register");
  EXPECT_EQ(state(second), "Sending");
}

// req: device.adm.11
TEST_F(DeviceAdmission, ReadsPassAnActThatWasAttemptedAndActsDoNot) {
  open_all();
  const MessageId off = send(message("TURN_OFF"));
  refuse_last();
  pass(1'999ms);
  const MessageId on = send(urgent(message("TURN_ON"), 9));
  const MessageId read = send(urgent(message("READ_CREDIT"), 1));
  pass(1ms);
  EXPECT_EQ(order(), (Ids{off, read}));
  refuse_last();
  pass(1'999ms);
  EXPECT_EQ(state(on), "Queued");
  pass(1ms);
  EXPECT_EQ(order(), (Ids{off, read, off}));
  reply(calls("Enqueue").back().attempt, 5, "");  // rejected: it has ended
  EXPECT_EQ(phase(off), Phase::kDead);
  pass(4s);
  const Ids all = order();
  EXPECT_EQ(std::count(all.begin(), all.end(), on), 1);
}
// req: device.adm.11
TEST_F(DeviceAdmission, AnOlderActThatWasAttemptedHoldsNewerOnesOverARestart) {
  open_all();
  const MessageId off = send(message("TURN_OFF"));
  refuse_last();
  const MessageId on = send(urgent(message("TURN_ON"), 9));
  restart();
  pass(2s);
  EXPECT_EQ(order(), Ids{off});
  EXPECT_EQ(state(on), "Queued");
}
// req: device.adm.11
TEST_F(DeviceAdmission, AnActOfAnotherPhaseOrOneThatWasNotAttemptedHoldsNothing) {
  open_all();
  auto a = message("TURN_OFF");
  a.request.phase = device::MeterPhase::kA;
  send(a);
  refuse_last();
  auto b = message("TURN_ON");
  b.request.phase = device::MeterPhase::kB;
  const MessageId other_phase = send(urgent(b, 9));
  pass(2s);
  EXPECT_EQ(order().back(), other_phase);
  refuse_last();

  send(message("READ_CREDIT", meter(1)));
  send(message("TURN_OFF", meter(2)));  // waits for its pick
  const MessageId newer = send(urgent(message("TURN_ON", meter(2)), 90));
  pass(2s);
  EXPECT_EQ(order().back(), newer);
}

// req: device.adm.12
TEST_F(DeviceAdmission, ASupersedeKeyCancelsOlderOnesOfItsDeviceThatWait) {
  open_all();
  const auto keyed = [](const std::string& which, const std::string& key) {
    auto out = message("TURN_ON", which);
    out.supersede = key;
    return out;
  };
  const MessageId sending = send(keyed(meter(1), "relay"));
  const MessageId queued = send(keyed(meter(1), "relay"));
  EXPECT_EQ(state(sending), "Sending");
  const MessageId other_key = send(keyed(meter(1), "clock"));
  const MessageId other_meter = send(keyed(meter(2), "relay"));
  const MessageId no_key = send(message("TURN_ON", meter(1)));
  const MessageId newest = send(keyed(meter(1), "relay"));
  EXPECT_EQ(phase(queued), Phase::kCancelled);
  EXPECT_EQ(outcome(queued), "cancelled");
  EXPECT_NE(history(queued).find("superseded"), std::string::npos) << history(queued);
  EXPECT_EQ(state(sending), "Sending");
  for (const MessageId id : {other_key, other_meter, no_key, newest})
    EXPECT_EQ(state(id), "Queued");
  restart();
  const MessageId yet_newer = send(keyed(meter(1), "relay"));
  EXPECT_EQ(phase(newest), Phase::kCancelled);
  EXPECT_EQ(state(yet_newer), "Queued");
}

class DeviceBreaker : public DeviceAdmission {
 protected:
  void open_with(std::uint64_t messages, const NamedTexts& more = {}) {
    NamedTexts pull = {{"in_flight_max", "100"}, {"retry_base", "1h"}};
    for (const NamedText& setting : more) put(pull, setting);
    open_all({}, pull);
    NamedTexts other = pull_settings();
    for (const NamedText& setting : pull) put(other, setting);
    add_queue("calin.gateway:g2", other);
    for (std::uint64_t i = 0; i < messages; ++i) send(pulled("READ_CREDIT", meter(i)));
  }
};

// req: device.poll.6, engine.gate.20
TEST_F(DeviceBreaker, FiveErrorsInARowRestTheEndpointForAMinuteAndThenOneCallDecides) {
  open_with(5);
  const std::vector<StartAttempt> first = creates();
  ASSERT_EQ(first.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) lose(first[i].attempt, WireEnd::kRefused);
  send(at_gateway("g2", "READ_CREDIT", meter(50)));
  EXPECT_EQ(creates().size(), 6U);  // four do not
  lose(first[4].attempt, WireEnd::kReset);
  for (std::uint64_t i = 60; i < 70; ++i) {
    send(at_gateway(i % 2 == 0 ? "g1" : "g2", "READ_CREDIT", meter(i)));
  }
  pass(59'999ms);
  EXPECT_EQ(creates().size(), 6U);
  pass(1ms);
  ASSERT_EQ(creates().size(), 7U);  // a single one
  lose(creates().back().attempt, WireEnd::kRefused);
  pass(59'999ms);
  EXPECT_EQ(creates().size(), 7U);
  pass(1ms);
  ASSERT_EQ(creates().size(), 8U);
  give_task(creates().back(), "t1");
  pass(0ms);
  EXPECT_GE(creates().size(), 16U);  // open again, for all queues of the endpoint
}
// req: device.poll.6
TEST_F(DeviceBreaker, PollsAndSendsShareIt) {
  open_with(5);
  for (const StartAttempt& call : creates())
    give_task(call, "t" + std::to_string(call.message.low));
  pass(10s);
  ASSERT_EQ(polls().size(), 5U);
  for (const StartAttempt& call : polls()) lose(call.attempt, WireEnd::kTimedOut);
  send(at_gateway("g2", "READ_CREDIT", meter(50)));
  pass(59'999ms);
  EXPECT_EQ(creates().size(), 5U);
  EXPECT_EQ(polls().size(), 5U);  // their own wait was 30 s
  pass(1ms);
  EXPECT_EQ(creates().size() + polls().size(), 11U);
}
// req: device.poll.6
TEST_F(DeviceBreaker, AnAnswerInBetweenOrAnErrorInAnAnswerIsNoTransportError) {
  open_with(9);
  const std::vector<StartAttempt> all = creates();
  for (std::size_t i = 0; i < 4; ++i) lose(all[i].attempt, WireEnd::kRefused);
  json(all[4], 500, "{}");
  for (std::size_t i = 5; i < 9; ++i) lose(all[i].attempt, WireEnd::kRefused);
  send(at_gateway("g2", "READ_CREDIT", meter(50)));
  EXPECT_EQ(creates().size(), 10U);
}
// req: device.poll.6
TEST_F(DeviceBreaker, AnswersThatAreErrorsDoNotOpenIt) {
  open_with(8);
  for (const StartAttempt& call : creates()) json(call, 500, "{}");
  send(at_gateway("g2", "READ_CREDIT", meter(50)));
  EXPECT_EQ(creates().size(), 9U);
}
// req: device.poll.6
TEST_F(DeviceBreaker, AnotherEndpointGoesOn) {
  open_with(5);
  NamedTexts other = pull_settings();
  put(other, {"plugin", "calin"});
  put(other, {"url", "http://another"});
  add_queue("calin.gateway:g3", other);
  for (const StartAttempt& call : creates()) lose(call.attempt, WireEnd::kRefused);
  send(at_gateway("g3", "READ_CREDIT", meter(50)));
  EXPECT_EQ(creates().size(), 6U);
}

class DeviceHoldOff : public DeviceAdmission {
 protected:
  // The next attempt comes, and the device does not acknowledge it.
  void nack_next() {
    const std::string item = "i" + std::to_string(++items);
    enqueued(item);
    ack(item, false);
  }
  int items = 0;
};

// req: device.adm.14
TEST_F(DeviceHoldOff, ThreeSilentAttemptsHoldADeviceOffForAMinuteDoublingToFifteen) {
  open_all({{"strikes_max", "3"}});
  send(message("READ_CREDIT"));
  nack_next();
  pass(2s);
  nack_next();
  pass(4s);
  ASSERT_EQ(calls("Enqueue").size(), 3U);
  nack_next();
  const std::array<Duration, 6> waits = {60s, 120s, 240s, 480s, 900s, 900s};
  std::size_t attempts = 3;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    pass(waits[i] - 1ms);
    EXPECT_EQ(calls("Enqueue").size(), attempts) << i;
    pass(1ms);
    ASSERT_EQ(calls("Enqueue").size(), ++attempts) << i;
    if (i + 1 < waits.size()) nack_next();
  }
}
// req: device.adm.14
TEST_F(DeviceHoldOff, TwelveSecondsOfSilenceCountAsWell) {
  open_all({{"strikes_max", "3"}});
  const MessageId id = send(message("READ_CREDIT"));
  far_side = [&](const StartAttempt& call) {
    const std::string item = "i" + std::to_string(++items);
    accept(call, item);
    txack(item);
  };
  pass(12s + 2s + 12s + 4s + 12s);
  ASSERT_EQ(items, 3);
  ASSERT_EQ(state(id), "ToRetry");
  pass(60s - 1ms);
  EXPECT_EQ(items, 3);
  pass(1ms);
  EXPECT_EQ(items, 4);
}
class DeviceSignOfLife : public DeviceHoldOff, public ::testing::WithParamInterface<bool> {};

// req: device.adm.14
TEST_P(DeviceSignOfLife, EndsAHoldOffAtOnceAndMeanwhileOthersDoNotWait) {
  open_all({{"strikes_max", "3"}});
  const MessageId held_off = send(message("READ_CREDIT"));
  for (const Duration wait : {2s, 4s, 8s}) {
    nack_next();
    pass(wait);
  }
  ASSERT_EQ(calls("Enqueue").size(), 3U);
  pass(10s);
  ASSERT_EQ(calls("Enqueue").size(), 3U);
  send(message("READ_CREDIT", meter(10)));  // no pick was taken from it
  EXPECT_EQ(calls("Enqueue").size(), 4U);
  pass(3s);
  if (GetParam()) {
    join();
  } else {
    uplink("", "d9");
  }
  pass(0ms);
  ASSERT_EQ(calls("Enqueue").size(), 5U);
  EXPECT_EQ(calls("Enqueue").back().message, held_off);
}
INSTANTIATE_TEST_SUITE_P(Signs, DeviceSignOfLife, ::testing::Bool(), [](const auto& one) {
  return std::string(one.param ? "Join" : "Uplink");
});

// req: device.adm.14
TEST_F(DeviceHoldOff, IsOffUnlessItIsSet) {
  open_all();
  send(message("READ_CREDIT"));
  for (const Duration wait : {2s, 4s, 8s, 16s}) {
    nack_next();
    pass(wait);
  }
  EXPECT_EQ(calls("Enqueue").size(), 5U);
}

}  // namespace
}  // namespace postrider
