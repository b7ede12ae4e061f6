// Time-outs, deadlines, restarts, and the numbers that hold unless somebody says otherwise.
#include <array>

#include "postrider/model/records/keys.h"
#include "postrider/profiles/device/settings.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceTime : public DeviceRig {
 protected:
  MessageId at_server(const device::DeviceMessage& command, const std::string& item = "i1") {
    const MessageId id = send(command);
    enqueued(item);
    return id;
  }
  static device::DeviceMessage set_time(std::string_view which = kMeter) {
    device::DeviceMessage out = message("SET_TIME", which);
    out.request.time = device::TimeOfDay{14, 30, 0};
    return out;
  }
};

// req: device.to.1
TEST_F(DeviceTime, EveryStateEndsAfterItsOwnTime) {
  open_all();
  const MessageId id = send(message("READ_CREDIT"));
  pass(19'999ms);
  EXPECT_EQ(state(id), "Sending");
  pass(1ms);
  EXPECT_EQ(state(id), "ToRetry");
  pass(2s);
  pass(5s);
  enqueued("i1");  // counted from entering the state
  pass(15min - 1ms);
  EXPECT_EQ(state(id), "AtServer");
  pass(1ms);
  EXPECT_EQ(state(id), "CheckNs");
  queue_holds({held("i1")});
  pass(3min);
  txack("i1");
  pass(11'999ms);
  EXPECT_EQ(state(id), "OnAir");
  ack("i1", true);
  pass(9'999ms);
  EXPECT_EQ(state(id), "HalfAck");
  pass(1ms);
  EXPECT_EQ(state(id), "ToRetry");
}
// req: device.to.1
TEST_F(DeviceTime, AnActThatWasNotAnsweredInTwentySecondsIsLookedFor) {
  open_all();
  const MessageId id = send(message("TURN_ON"));
  pass(19'999ms);
  EXPECT_EQ(state(id), "Sending");
  pass(1ms);
  EXPECT_EQ(state(id), "CheckSend");
  EXPECT_EQ(calls("GetQueue").size(), 1U);
}

// req: device.send.1
TEST_F(DeviceTime, NoByteLeavesBeforeItsAttemptIsOnRecord) {
  open_all();
  for (const bool pull : {false, true}) {
    const std::size_t before = calls().size();
    store.holds_commits = true;
    post(submission(++tickets, pull ? pulled("TURN_ON", meter(2)) : message("TURN_ON")));
    EXPECT_EQ(calls().size(), before);
    while (store.commits_held() > 0) {
      EXPECT_EQ(calls().size(), before);
      release_commit();
    }
    store.holds_commits = false;
    EXPECT_EQ(calls().size(), before + 1);
  }
  // What is on record comes back as an attempt whose fate is open.
  restart();
  EXPECT_EQ(calls("GetQueue").size(), 1U);
  EXPECT_TRUE(calls("Enqueue").empty());
  EXPECT_TRUE(creates().empty());
}
// req: device.send.1
TEST_F(DeviceTime, ARetryIsOnRecordBeforeItsBytesLeaveToo) {
  open_all();
  send(message("TURN_ON"));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  pass(1'999ms);
  store.holds_commits = true;
  elapsed += 1ms;
  turn();
  ASSERT_GT(store.commits_held(), 0U);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  while (store.commits_held() > 0) release_commit();
  EXPECT_EQ(calls("Enqueue").size(), 2U);
}

// req: device.send.9
TEST_F(DeviceTime, ASetTimeIsSentAtAnAgeBelowAMinute) {
  open_all({{"spacing", "1m"}});
  send(message("READ_CREDIT", meter(1)));
  enqueued("i0");
  pass(1ms);
  const MessageId id = send(set_time());
  pass(59'999ms);
  EXPECT_EQ(state(id), "Sending");
}
// req: device.send.9
TEST_F(DeviceTime, ASetTimeOfAMinuteIsExpiredBeforeItsFirstAttempt) {
  open_all({{"spacing", "1m"}});
  send(message("READ_CREDIT", meter(1)));
  enqueued("i0");
  const MessageId id = send(set_time());
  pass(60s);
  EXPECT_EQ(phase(id), Phase::kExpired);
  EXPECT_EQ(outcome(id), "expired");
  EXPECT_EQ(may_have_run(id), "false");
  pass(1h);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  EXPECT_EQ(events_of("DELIVERY_FAILED"), 1U);
}
// req: device.send.9
TEST_F(DeviceTime, ASetTimeIsNotSentAgainAtAnAgeOfAMinute) {
  open_all({{"spacing", "0"}, {"retry_base", "30s"}, {"retry_cap", "30s"}});
  const MessageId id = send(set_time());
  const auto refuse = [&] { lose(calls("Enqueue").back().attempt, WireEnd::kRefused); };
  refuse();
  pass(29'999ms);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  pass(1ms);
  EXPECT_EQ(calls("Enqueue").size(), 2U);
  refuse();
  pass(30s);
  EXPECT_EQ(phase(id), Phase::kExpired);
  EXPECT_EQ(calls("Enqueue").size(), 2U);
}
// req: device.send.9
TEST_F(DeviceTime, ASetTimeIsSentAgainOneMillisecondEarlier) {
  open_all({{"spacing", "0"}, {"retry_base", "59999ms"}});
  const MessageId id = send(set_time());
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  pass(59'999ms);
  EXPECT_EQ(state(id), "Sending");
  EXPECT_EQ(calls("Enqueue").size(), 2U);
}

struct Old {
  const char* state;
  bool pull;
};
class DeviceOldAge : public DeviceTime, public ::testing::WithParamInterface<Old> {
 protected:
  // Is in the state one millisecond before the hour.
  MessageId reach(std::string_view where) {
    if (GetParam().pull) return reach_pull(where);
    if (where == "Queued") {
      at_server(message("READ_CREDIT"), "i0");
      far_side = [&](const StartAttempt& call) { answer_queue(call, {held("i0")}); };
      const MessageId id = send(message("TURN_ON"));
      pass(1h - 1ms);
      return id;
    }
    const MessageId id = at_server(message("TURN_ON"));
    far_side = [&](const StartAttempt& call) { answer_queue(call, {held("i1")}); };
    pass(where == "ToRetry" ? 1h - 1s : 1h - 5s);
    far_side = nullptr;
    if (where == "CheckNs") join();
    if (where == "OnAir" || where == "HalfAck") txack("i1");
    if (where == "HalfAck") ack("i1", true);
    if (where == "ToRetry" || where == "Sending" || where == "CheckSend") ack("i1", false);
    if (where == "Sending" || where == "CheckSend") pass(2s);
    if (where == "CheckSend") lose(calls("Enqueue").back().attempt);
    pass(1h - 1ms - elapsed);
    return id;
  }
  MessageId reach_pull(std::string_view where) {
    if (where == "Queued") {
      send(pulled("TURN_OFF"));
      created("t0");
    }
    const MessageId id = send(pulled("TURN_ON"));
    far_side = [&](const StartAttempt& call) {
      if (is_poll(call)) answer_poll(call, "");
    };
    if (where == "AwaitTask" || where == "Polling") created("t1");
    if (where == "ToRetry" || where == "Sending") {
      for (int i = 0; i < 10; ++i) {  // 2046 s
        lose(creates().back().attempt, WireEnd::kRefused);
        pass(2s * (1 << i));
      }
      lose(creates().back().attempt, WireEnd::kRefused);  // waits 2048 s
      if (where == "ToRetry") {
        pass(1h - 1ms - elapsed);
        return id;
      }
    }
    if (where == "Polling") {
      pass(1h - 1min);
      far_side = nullptr;
    }
    pass(1h - 1ms - elapsed);
    return id;
  }
};

// req: device.to.4, device.to.5
TEST_P(DeviceOldAge, ExpiresInThisState) {
  open_all({{"life_max", "1h"}}, {{"life_max", "1h"}, {"strikes_max", "0"}});
  const MessageId id = reach(GetParam().state);
  ASSERT_EQ(state(id), GetParam().state);
  const auto sends = [&] {
    std::size_t out = 0;
    for (const StartAttempt& call : calls())
      out += call.message == id && !is_poll(call) && !is_call(call, "GetQueue") ? 1U : 0U;
    return out;
  };
  const std::size_t before = sends();
  pass(1ms);
  EXPECT_EQ(phase(id), Phase::kExpired);
  EXPECT_EQ(status(id), "DELIVERY_FAILED");
  EXPECT_EQ(outcome(id), "expired");
  pass(2h);
  std::size_t events_about = 0;
  for (const std::string& body : bodies) {
    events_about +=
        body.find("expired") != std::string::npos && body.find("TURN_ON") != std::string::npos ? 1U
                                                                                               : 0U;
  }
  EXPECT_EQ(events_about, 1U);
  EXPECT_EQ(sends(), before);
}

INSTANTIATE_TEST_SUITE_P(States, DeviceOldAge,
                         ::testing::Values(Old{"Queued", false}, Old{"Sending", false},
                                           Old{"CheckSend", false}, Old{"AtServer", false},
                                           Old{"CheckNs", false}, Old{"OnAir", false},
                                           Old{"HalfAck", false}, Old{"ToRetry", false},
                                           Old{"Queued", true}, Old{"AwaitTask", true},
                                           Old{"Polling", true}, Old{"ToRetry", true}),
                         [](const auto& one) {
                           return std::string(one.param.pull ? "Pull" : "Push") + one.param.state;
                         });

// req: device.to.5
TEST_F(DeviceTime, APushMessageExpiresAtSevenDaysAndNotBefore) {
  open_all();
  const MessageId id = at_server(message("TURN_ON"));
  far_side = [&](const StartAttempt& call) { answer_queue(call, {held("i1")}); };
  pass(7 * 24h - 1ms);
  EXPECT_EQ(status(id), "DELIVERED_TO_NS");
  pass(1ms);
  EXPECT_EQ(phase(id), Phase::kExpired);
  EXPECT_EQ(may_have_run(id), "true");
  pass(1min);
  EXPECT_EQ(events_of("DELIVERY_FAILED"), 1U);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
}
// req: device.to.5
TEST_F(DeviceTime, AMonthSwitchedOffEndsMessagesWithAnEvent) {
  open_all();
  const MessageId at = at_server(message("TURN_ON"));
  const MessageId waits = send(message("TURN_ON", meter(1)));
  const MessageId task = send(pulled("TURN_ON", meter(2)));
  created("t1");
  pass(1s);
  elapsed += 30 * 24h;
  restart();
  pass(1min);
  for (const MessageId id : {at, waits, task}) {
    EXPECT_EQ(outcome(id), "expired");
    EXPECT_EQ(status(id), "DELIVERY_FAILED");
  }
  EXPECT_EQ(events_of("DELIVERY_FAILED"), 3U);
  EXPECT_TRUE(calls("Enqueue").empty());
  EXPECT_TRUE(creates().empty());
}

// req: device.to.6
TEST_F(DeviceTime, NothingIsSentAfterTheExpiryOfTheMessageItself) {
  open_all();
  auto push = message("TURN_ON");
  push.expires_at = kStart + 3s;
  const MessageId first = send(push);
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  pass(2s);
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);  // the next would be at 6 s
  pass(999ms);
  EXPECT_EQ(state(first), "ToRetry");
  pass(1ms);
  EXPECT_EQ(outcome(first), "expired");
  auto pull = pulled("TURN_ON", meter(2));
  pull.expires_at = kStart + 1h;
  const MessageId second = send(pull);
  created("t1");
  far_side = [&](const StartAttempt& call) {
    if (is_poll(call)) answer_poll(call, "");
  };
  pass(1h - elapsed - 1ms);
  EXPECT_EQ(state(second), "AwaitTask");
  pass(1ms);
  EXPECT_EQ(outcome(second), "expired");
  const std::size_t all = calls().size();
  pass(24h);
  EXPECT_EQ(calls().size(), all);
}
// req: device.to.6
TEST_F(DeviceTime, NothingIsSentAfterAnExpiryThatOnlyTheBodyTells) {
  open_all();
  send(message("READ_CREDIT", meter(1)));
  auto command = message("TURN_ON");
  command.expires_at = kStart + 2s;
  Submit event = submission(++tickets, command);
  event.expires = Timestamp();
  post(event);
  const MessageId id = id_of(tickets);
  pass(1h);
  EXPECT_EQ(outcome(id), "expired");
  for (const StartAttempt& call : calls("Enqueue")) EXPECT_NE(call.message, id);
}

// req: device.to.7
TEST_F(DeviceTime, SettingTheClockBackFiresNothingTwice) {
  open_all();
  const MessageId id = at_server(message("TURN_ON"));
  far_side = [&](const StartAttempt& call) { answer_queue(call, {held("i1")}); };
  pass(15min);
  ASSERT_EQ(calls("GetQueue").size(), 1U);
  wall_step = -1h;
  pass(14min);
  EXPECT_EQ(calls("GetQueue").size(), 1U);
  pass(1min);
  EXPECT_EQ(calls("GetQueue").size(), 2U);
  wall_step = -25h;
  restart();
  pass(14min);
  EXPECT_TRUE(calls("GetQueue").empty());
  pass(1min);
  EXPECT_EQ(calls("GetQueue").size(), 1U);
  EXPECT_EQ(state(id), "AtServer");
}

// req: device.crash.3
TEST_F(DeviceTime, APullReadInterruptedByAKillIsRetried) {
  open_all();
  const MessageId id = send(pulled("READ_CREDIT"));
  restart();
  EXPECT_EQ(state(id), "ToRetry");
  pass(2s);
  EXPECT_EQ(creates().size(), 1U);
}
// req: device.crash.3
TEST_F(DeviceTime, APushActWhoseItemIsNotThereAfterAKillIsRetriedOnlyAfterTwoLooks) {
  open_all();
  const MessageId id = send(message("TURN_ON"));
  restart();
  queue_holds({});
  EXPECT_EQ(state(id), "CheckSend");
  pass(5s);
  queue_holds({});
  EXPECT_EQ(state(id), "ToRetry");
}

// req: device.crash.4
TEST_F(DeviceTime, TimersKeepTheirDueTimesOverARestart) {
  open_all();
  const MessageId at = at_server(message("TURN_ON"));
  pass(5min);
  restart();
  pass(10min - 1ms);
  EXPECT_EQ(state(at), "AtServer");
  pass(1ms);
  EXPECT_EQ(state(at), "CheckNs");
  const MessageId task = send(pulled("TURN_ON", meter(2)));
  created("t1");
  pass(4s);
  restart();
  pass(6s - 1ms);
  EXPECT_EQ(state(task), "AwaitTask");
  pass(1ms);
  EXPECT_EQ(state(task), "Polling");
}
// req: device.crash.4
TEST_F(DeviceTime, OverdueTimersFireInTheOrderOfTheirDueTimes) {
  open_all();
  std::vector<MessageId> ids;
  std::vector<StartAttempt> made;
  for (std::uint64_t i = 0; i < 4; ++i) ids.push_back(send(pulled("TURN_ON", meter(i))));
  made = creates();
  ASSERT_EQ(made.size(), 4U);
  const std::array<std::size_t, 4> order = {2, 0, 3, 1};
  for (const std::size_t which : order) {
    give_task(made[which], "t" + std::to_string(which));
    pass(1s);
  }
  elapsed += 1h;
  restart();
  pass(0ms);
  ASSERT_EQ(polls().size(), 4U);
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(polls()[i].message, ids[order[i]]);
}

// req: device.crash.5
TEST_F(DeviceTime, AQueueThatNobodyServesKeepsItsMessagesAndSaysSo) {
  open_all();
  send(message("READ_CREDIT", meter(1)));
  const MessageId id = send(message("TURN_ON"));
  Pause pause;
  pause.caller.ticket = Ticket(++tickets);
  pause.destination = kPushQueue;
  pause.reason = "unserved: the plugin 'lora' is not configured";
  post(pause);
  restart();
  pass(24h);
  EXPECT_EQ(state(id), "Queued");
  EXPECT_NE(shown(id).explanation.why.find("unserved"), std::string::npos)
      << shown(id).explanation.why;
  EXPECT_TRUE(calls("Enqueue").empty());
  Resume resume;
  resume.caller.ticket = Ticket(++tickets);
  resume.destination = kPushQueue;
  post(resume);
  pass(4s);
  EXPECT_FALSE(calls("Enqueue").empty());
}

// req: device.crash.6, device.st.5
TEST_F(DeviceTime, AfterAFailedCommitNoByteLeavesAndTheStoreIsTheTruth) {
  open_all();
  const MessageId id = send(message("TURN_ON"));
  store.holds_commits = true;
  enqueued("i1");
  post(submission(++tickets, message("READ_CREDIT", meter(1))));
  const std::size_t before = starts().size();
  store.release_commit(CommitOutcome::kFailed);
  turn();
  EXPECT_EQ(shard->fate(), Shard::Fate::kRestart);
  EXPECT_EQ(starts().size(), before);
  store.holds_commits = false;
  EXPECT_FALSE(answered(tickets) && code_of(tickets) == AnswerCode::kAccepted);
  restart();
  EXPECT_EQ(state(id), "CheckSend");
  queue_holds({held("x")});
  EXPECT_TRUE(calls("Enqueue").empty());
}

// req: device.st.5
TEST_F(DeviceTime, AMessageIsInOneStageAfterAKillAtEveryCommit) {
  for (int kill_at = 0; kill_at < 6; ++kill_at) {
    const std::string which = meter(static_cast<std::uint64_t>(kill_at));
    if (kill_at == 0) open_all({{"spacing", "0"}});
    const auto command = message("READ_CREDIT", which);
    const MessageId id = send(command);
    const std::array<std::function<void()>, 5> steps = {
        [&] { enqueued("i" + which); },
        [&] { txack("i" + which, eui_of(which)); },
        [&] { ack("i" + which, true, "d" + which, eui_of(which)); },
        [&] { uplink(frame(command), "d" + which, eui_of(which)); },
        [&] { pass(1s); },
    };
    for (int step = 0; step < static_cast<int>(steps.size()); ++step) {
      if (step == kill_at) restart();
      if (step == 0 && kill_at == 0) continue;  // the reply is lost with the process
      steps[static_cast<std::size_t>(step)]();
    }
    restart();
    far_side = [&](const StartAttempt& call) {
      if (is_call(call, "Enqueue")) accept(call, "again");
    };
    pass(1s);
    far_side = nullptr;
    const MessageView view = shown(id);
    EXPECT_FALSE(view.explanation.state.empty()) << kill_at;
    EXPECT_EQ(field(report(id), "externalReference"), which) << kill_at;
    // Alive in one place, or ended and in none.
    const bool hot = store.memory().get(keys::hot(id.sequence(), keys::Part::kMessage)).has_value();
    const bool cold = store.memory().get(keys::cold(id, keys::Part::kMessage)).has_value();
    EXPECT_EQ((hot ? 1 : 0) + (cold ? 1 : 0) + (is_end(view.explanation.phase) ? 1 : 0), 1)
        << kill_at;
    if (kill_at > 0) {
      EXPECT_EQ(outcome(id), "executed") << kill_at;
    }
  }
}

// req: device.lim.3
TEST_F(DeviceTime, TheOldestUplinksMakeRoomForHalvesAndAcksOfLiveAttemptsDoNot) {
  options.engine.pending_news.count = 50;
  open_all({{"spacing", "0"}});
  const auto crowded_out = message("READ_CREDIT", meter(1));
  const MessageId first = at_server(crowded_out, "i1");
  const auto acked = message("READ_CREDIT", meter(2));
  const MessageId second = at_server(acked, "i2");
  const auto kept = message("READ_CREDIT", meter(3));
  const MessageId third = at_server(kept, "i3");
  uplink(frame(crowded_out), "d1", eui_of(meter(1)));
  ack("i2", true, "d2", eui_of(meter(2)));
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto other = message("READ_CREDIT", meter(1000 + i));
    uplink(frame(other), "x" + std::to_string(i), eui_of(other.request.meter));
    pass(1ms);
  }
  uplink(frame(kept), "d3", eui_of(meter(3)));
  ack("i1", true, "d1", eui_of(meter(1)));
  EXPECT_EQ(state(first), "HalfAck");  // its uplink has made room
  uplink(frame(acked), "d2", eui_of(meter(2)));
  EXPECT_EQ(outcome(second), "executed");
  ack("i3", true, "d3", eui_of(meter(3)));
  EXPECT_EQ(outcome(third), "executed");
}

const Policy& defaults(std::string_view way) {
  static const auto kPolicies = [] {
    std::array<Policy, 4> out;
    const std::array<std::string, 4> ways = {"chirpstack", "chirpstack-mqtt", "calin-v1",
                                             "calin-v2"};
    for (std::size_t i = 0; i < ways.size(); ++i) {
      NamedTexts settings = {{"plugin", "p"}, {"way", ways[i]}, {"url", "http://x"}};
      if (i == 1) settings.insert(settings.end(), {{"application", "a"}, {"broker", "b"}});
      if (i >= 2)
        settings.insert(settings.end(), {{"company", "c"}, {"user", "u"}, {"password", "p"}});
      const auto policy = device::configure(settings);
      EXPECT_TRUE(policy.has_value());
      out[i] = policy.value_or(Policy());
    }
    return out;
  }();
  return kPolicies[way == "chirpstack"        ? 0U
                   : way == "chirpstack-mqtt" ? 1U
                   : way == "calin-v1"        ? 2U
                                              : 3U];
}

// req: device.to.1, device.retry.1, device.retry.2, device.adm.4, device.adm.6
TEST(DeviceDefaults, AreThoseOfTheSourceDocument) {
  for (const std::string_view way : {"chirpstack", "chirpstack-mqtt", "calin-v1", "calin-v2"}) {
    const bool push = way.starts_with("chirpstack");
    const Policy& policy = defaults(way);
    for (std::size_t i = 0; i < policy.retry.size(); ++i) {
      if (i == static_cast<std::size_t>(FailureClass::kHeldBack)) continue;  // no failure of theirs
      const RetryRule& rule = policy.retry[i];
      EXPECT_EQ(rule.curve, Curve::kExponential);
      EXPECT_EQ(rule.base, 2s);
      EXPECT_EQ(rule.cap, 3'600s);
      EXPECT_EQ(rule.attempts_max, 12U);
      EXPECT_EQ(rule.jitter, Jitter::kAbove);
      EXPECT_EQ(rule.jitter_percent, 50U);
      EXPECT_EQ(rule.tick, 0s);
    }
    EXPECT_EQ(policy.time_out(TimeOut::kAttempt), push ? 20s : 120s);
    EXPECT_EQ(policy.time_out(TimeOut::kProbe), 10s);
    EXPECT_EQ(policy.time_out(TimeOut::kStage), 15min);
    EXPECT_EQ(policy.time_out(TimeOut::kLate), 12s);
    EXPECT_EQ(policy.time_out(TimeOut::kPair), 10s);
    EXPECT_EQ(policy.time_out(TimeOut::kCall), 120s);
    EXPECT_EQ(policy.life_max, push ? Duration(7 * 24h) : Duration(48h));
    EXPECT_EQ(policy.route.spacing, push ? 2s : 0s);
    EXPECT_EQ(policy.route.in_use_max, push ? 0U : 5U);
    EXPECT_EQ(policy.health.strikes_max, push ? 0U : 5U);
    EXPECT_EQ(policy.health.wait_base, 60s);
    EXPECT_EQ(policy.health.wait_max, push ? Duration(15min) : Duration(60s));
    EXPECT_EQ(policy.poll.first, push ? 0s : 10s);
    EXPECT_EQ(policy.poll.error_base, push ? 2s : 30s);
    EXPECT_EQ(policy.poll.error_cap, push ? Duration(60s) : Duration(15min));
    EXPECT_EQ(policy.fifo_lanes, 0U);
  }
}

}  // namespace
}  // namespace postrider
