// What push does when it does not know: looks into the server's queue, proofs, and retries.
#include <array>

#include "postrider/model/records/keys.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceProbe : public DeviceRig {
 protected:
  // A command whose Enqueue was lost.
  MessageId lost(const device::DeviceMessage& command) {
    const MessageId id = send(command);
    lose(calls("Enqueue").back().attempt);
    return id;
  }
  // A command that the server has as i1.
  MessageId at_server(const device::DeviceMessage& command) {
    const MessageId id = send(command);
    enqueued("i1");
    return id;
  }
  void answer_looks(const std::vector<chirpstack::QueueItem>& items) {
    far_side = [this, items](const StartAttempt& call) {
      if (is_call(call, "GetQueue")) answer_queue(call, items);
    };
  }
  void fail_looks() {
    far_side = [this](const StartAttempt& call) {
      if (is_call(call, "GetQueue")) lose(call.attempt, WireEnd::kRefused);
    };
  }
};

// req: device.poll.8
TEST_F(DeviceProbe, WhatTheServerStillHasGetsFifteenMinutesMore) {
  open_all();
  const MessageId id = at_server(message("READ_CREDIT"));
  pass(15min - 1ms);
  EXPECT_TRUE(calls("GetQueue").empty());
  pass(1ms);
  ASSERT_EQ(calls("GetQueue").size(), 1U);
  const StartAttempt look = calls("GetQueue").back();
  EXPECT_EQ(look.request.verb, "CALL");
  EXPECT_EQ(look.request.target, "http://ns:8080/api.DeviceService/GetQueue");
  EXPECT_EQ(look.request.headers.find("authorization"), "Bearer secret-key");
  EXPECT_EQ(chirpstack::decode_get_queue(look.request.body).value_or(""), kEui);
  queue_holds({held("other"), held("i1")});
  EXPECT_EQ(state(id), "AtServer");
  pass(15min - 1ms);
  EXPECT_EQ(calls("GetQueue").size(), 1U);
  pass(1ms);
  ASSERT_EQ(calls("GetQueue").size(), 2U);
  // An item of the same content is not ours: its id is another.
  queue_holds({sent_item(0, "other")});
  EXPECT_EQ(state(id), "ToRetry");
}

// req: device.poll.9, device.send.5
TEST_F(DeviceProbe, TheOnlyItemOfTheSameContentIsAdopted) {
  open_all();
  const auto command = message("TURN_ON");
  const MessageId id = lost(command);
  queue_holds({held("x"), sent_item(0, "i1")});
  EXPECT_EQ(state(id), "AtServer");
  EXPECT_EQ(tallies().adopted, 1U);
  restart();
  txack("i1");
  EXPECT_EQ(state(id), "OnAir");
}
// req: device.poll.9
TEST_F(DeviceProbe, OtherContentPortOrFlagIsNotOurs) {
  open_all();
  const MessageId id = lost(message("TURN_ON"));
  chirpstack::QueueItem data = sent_item(0, "a");
  data.data = device::encode_request(message("TURN_OFF").request).value_or("");
  chirpstack::QueueItem port = sent_item(0, "b");
  port.f_port = 2;
  chirpstack::QueueItem unconfirmed = sent_item(0, "c");
  unconfirmed.confirmed = false;
  queue_holds({data, port, unconfirmed});
  EXPECT_EQ(state(id), "CheckSend");
  pass(5s);
  queue_holds({data, port, unconfirmed});
  EXPECT_EQ(state(id), "ToRetry");
}
// req: device.poll.9
TEST_F(DeviceProbe, OfSeveralOfTheSameContentTheNewestIsHeld) {
  open_all({{"server_expiry", "false"}});  // by which they could be told apart
  const MessageId id = lost(message("TURN_ON"));
  queue_holds({sent_item(0, "of another message"), sent_item(0, "i1")});
  EXPECT_EQ(state(id), "AtServer");
  pass(15min);
  queue_holds({sent_item(0, "i1")});
  EXPECT_EQ(state(id), "AtServer");
  txack("i1");
  EXPECT_EQ(state(id), "OnAir");
}
// req: device.poll.9
TEST_F(DeviceProbe, AnItemOfAnotherAttemptIsNotAdopted) {
  open_all();
  const MessageId id = at_server(message("TURN_ON"));
  const chirpstack::QueueItem old = sent_item(0, "i1");
  ack("i1", false);
  pass(2s);
  lose(calls("Enqueue").back().attempt);
  queue_holds({old, sent_item(1, "i2")});
  EXPECT_EQ(state(id), "AtServer");
  txack("i2");
  EXPECT_EQ(state(id), "OnAir");
}
// req: device.poll.9
TEST_F(DeviceProbe, AnItemWithTheExpiryOfAnotherAttemptIsNotAdopted) {
  open_all();
  const MessageId id = lost(message("TURN_ON"));
  queue_holds({});
  pass(5s);
  queue_holds({});
  ASSERT_EQ(state(id), "ToRetry");
  pass(2s);
  lose(calls("Enqueue").back().attempt);
  queue_holds({sent_item(0, "late")});
  EXPECT_EQ(state(id), "CheckSend");
  pass(5s);
  queue_holds({sent_item(0, "late"), sent_item(1, "i2")});
  EXPECT_EQ(state(id), "AtServer");
  txack("i2");
  EXPECT_EQ(state(id), "OnAir");
}
// req: device.poll.9
TEST_F(DeviceProbe, AnItemOfAnotherAttemptIsNotAdoptedFromAServerWithoutExpiry) {
  open_all({{"server_expiry", "false"}});
  const MessageId id = at_server(message("TURN_ON"));
  ack("i1", false);
  pass(2s);
  lose(calls("Enqueue").back().attempt);
  queue_holds({sent_item(0, "i1")});
  EXPECT_EQ(state(id), "CheckSend");
  pass(5s);
  queue_holds({sent_item(0, "i1")});
  EXPECT_EQ(state(id), "ToRetry");
}
// req: device.poll.9
TEST_F(DeviceProbe, AServerThatForgetsTheExpiryHoldsTheItemAllTheSame) {
  open_all();
  const MessageId id = lost(message("TURN_ON"));
  chirpstack::QueueItem item = sent_item(0, "i1");
  item.expires_at.reset();
  queue_holds({item});
  EXPECT_EQ(state(id), "AtServer");
}

// req: device.poll.10
TEST_F(DeviceProbe, AFailingLookIsRepeatedAfterTwoSecondsDoublingToAMinute) {
  open_all();
  const MessageId id = at_server(message("TURN_ON"));
  fail_looks();
  pass(15min + 300s);
  const std::vector<Duration> times = call_times("GetQueue");
  ASSERT_GE(times.size(), 9U);
  const std::array<Duration, 8> waits = {2s, 4s, 8s, 16s, 32s, 60s, 60s, 60s};
  for (std::size_t i = 0; i < waits.size(); ++i) EXPECT_EQ(times[i + 1] - times[i], waits[i]) << i;
  EXPECT_EQ(state(id), "CheckNs");
  EXPECT_EQ(calls("Enqueue").size(), 1U);
}
// req: device.poll.10
TEST_F(DeviceProbe, NoKindOfFailureIsAbsence) {
  open_all();
  const MessageId read = at_server(message("READ_CREDIT"));
  int look = 0;
  far_side = [&](const StartAttempt& call) {
    switch (look++ % 5) {
      case 0: return lose(call.attempt, WireEnd::kTimedOut);
      case 1: return lose(call.attempt, WireEnd::kReset);
      case 2: return reply(call.attempt, 16, "");
      case 3: return reply(call.attempt, 14, "");
      default: return reply(call.attempt, 0, "\xFF\xFF");
    }
  };
  pass(15min + 1h);
  EXPECT_GT(look, 50);
  EXPECT_EQ(status(read), "DELIVERED_TO_NS");
  EXPECT_EQ(calls("Enqueue").size(), 1U);
}
// req: device.poll.10
TEST_F(DeviceProbe, ALookThatIsNeverAnsweredEndsAfterTenSeconds) {
  open_all();
  at_server(message("TURN_ON"));
  pass(15min);
  EXPECT_EQ(calls("GetQueue").back().request.time_out, 10s);
  pass(12s - 1ms);
  EXPECT_EQ(calls("GetQueue").size(), 1U);
  pass(1ms);
  EXPECT_EQ(calls("GetQueue").size(), 2U);
}

// req: device.poll.11
TEST_F(DeviceProbe, AReadIsAbsentAfterOneLook) {
  open_all();
  const MessageId id = at_server(message("READ_CREDIT"));
  answer_looks({});
  pass(15min);
  EXPECT_EQ(state(id), "ToRetry");
  EXPECT_EQ(calls("GetQueue").size(), 1U);
}

struct Look {
  const char* name;
  const char* where;
};
class DeviceAbsence : public DeviceProbe, public ::testing::WithParamInterface<Look> {
 protected:
  MessageId reach(std::string_view command) {
    const std::string_view where = GetParam().where;
    if (where == "CheckSend") return lost(message(command));
    const MessageId id = at_server(message(command));
    if (where == "CheckNs") join();
    if (where == "CheckAir") {
      txack("i1");
      pass(12s);
    }
    return id;
  }
};

// req: device.poll.11, device.retry.5
TEST_P(DeviceAbsence, OfAnActNeedsTwoLooksFiveSecondsApart) {
  open_all();
  const MessageId id = reach("TURN_ON");
  ASSERT_EQ(state(id), GetParam().where);
  ASSERT_EQ(calls("GetQueue").size(), 1U);
  pass(3s);  // the answer counts, not the question
  queue_holds({});
  EXPECT_EQ(state(id), GetParam().where);
  pass(4'999ms);
  EXPECT_EQ(calls("GetQueue").size(), 1U);
  pass(1ms);
  ASSERT_EQ(calls("GetQueue").size(), 2U);
  queue_holds({});
  EXPECT_EQ(state(id), "ToRetry");
  EXPECT_EQ(field(history(id), "closed"), "absent") << history(id);
}
// req: device.poll.11, device.crash.4
TEST_P(DeviceAbsence, IsNotProvedByTwoLooksLessThanFiveSecondsApart) {
  open_all();
  const MessageId id = reach("TURN_ON");
  queue_holds({});
  pass(4'999ms);
  restart();  // looks at once
  pass(0ms);
  ASSERT_GE(calls("GetQueue").size(), 1U);
  EXPECT_EQ(call_times("GetQueue").front(), elapsed);
  answer_queue(calls("GetQueue").front(), {});
  EXPECT_EQ(state(id), GetParam().where);
  pass(10s);
  queue_holds({});
  EXPECT_EQ(state(id), "ToRetry");
}
// req: device.poll.11
TEST_P(DeviceAbsence, IsNotProvedByASecondLookThatIsReadLate) {
  open_all();
  const MessageId id = reach("TURN_ON");
  queue_holds({});
  restart();  // looks at once
  pass(0ms);
  ASSERT_GE(calls("GetQueue").size(), 1U);
  pass(6s);
  answer_queue(calls("GetQueue").front(), {});
  EXPECT_EQ(state(id), GetParam().where);
  pass(0ms);
  queue_holds({});
  EXPECT_EQ(state(id), "ToRetry");
}
// req: device.poll.11
TEST_P(DeviceAbsence, IsForgottenWhenTheItemIsSeenInBetween) {
  open_all();
  const MessageId id = reach("TURN_ON");
  queue_holds({});
  pass(5s);
  queue_holds({sent_item(0, "i1")});
  const std::string after = state(id);
  EXPECT_TRUE(after == "AtServer" || after == "OnAir") << after;
}
// req: device.st.3, device.ev.1
TEST_P(DeviceAbsence, EndsAsUnknownWhatMayNeverBeRepeated) {
  open_all({{"repeat.TURN_ON", "never"}});
  answer_looks({});
  const MessageId id = reach("TURN_ON");
  pass(10s);
  EXPECT_EQ(phase(id), Phase::kIndeterminate);
  EXPECT_EQ(outcome(id), "unknown");
  EXPECT_EQ(may_have_run(id), "true");
  pass(24h);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  EXPECT_EQ(events_of("DELIVERY_FAILED"), 1U);
}
// req: device.retry.8
TEST_P(DeviceAbsence, WithAnEventOfAnUnknownItemProvesNothingUntilTheExpiry) {
  open_all();
  const MessageId id = reach("TURN_ON");
  if (GetParam().where == std::string_view("CheckSend")) {
    queue_holds({sent_item(0, "i1")});
    pass(1s);
  }
  txack("stranger");
  if (calls("GetQueue").size() == 1 && state(id) != "AtServer") queue_holds({});
  answer_looks({});
  pass(24h + 60s - elapsed - 1ms);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  pass(2min);
  EXPECT_GE(calls("Enqueue").size(), 2U);
  EXPECT_EQ(field(history(id), "closed"), "expired") << history(id);
}

INSTANTIATE_TEST_SUITE_P(States, DeviceAbsence,
                         ::testing::Values(Look{"CheckSend", "CheckSend"},
                                           Look{"CheckNs", "CheckNs"},
                                           Look{"CheckAir", "CheckAir"}),
                         [](const auto& one) { return std::string(one.param.name); });

// req: device.retry.8
TEST_F(DeviceProbe, AnOpenAttemptIsClosedOneMinuteAfterItsExpiryAndNotBefore) {
  open_all({{"expires_after", "10m"}});
  const MessageId id = lost(message("TURN_ON"));
  fail_looks();
  pass(10min + 60s - 1ms);
  EXPECT_EQ(state(id), "CheckSend");
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  pass(1min);
  EXPECT_EQ(calls("Enqueue").size(), 2U);
  EXPECT_EQ(field(history(id), "closed"), "expired") << history(id);
}
// req: device.retry.8
TEST_F(DeviceProbe, AnActIsNeverSentAgainWhileTheServerMayStillHaveIt) {
  open_all({{"server_expiry", "false"}});
  const MessageId id = lost(message("TURN_ON"));
  fail_looks();
  pass(7 * 24h - 1s);
  EXPECT_EQ(calls("Enqueue").size(), 1U);
  EXPECT_EQ(state(id), "CheckSend");
  pass(1s);
  EXPECT_EQ(outcome(id), "expired");
  EXPECT_EQ(may_have_run(id), "true");
}

// req: device.st.7
TEST_F(DeviceProbe, TheRuleOfTheDocumentRepeatsActsLikeReads) {
  open_all({{"repeat", "document"}});
  const MessageId id = lost(message("TURN_ON"));
  EXPECT_EQ(state(id), "ToRetry");
  EXPECT_TRUE(calls("GetQueue").empty());
  pass(2s);
  enqueued("i2");
  txack("i2");
  pass(12s);
  EXPECT_EQ(state(id), "ToRetry");
}
// req: device.st.7
TEST_F(DeviceProbe, TheClassIsDecidedAtEnqueueAndStored) {
  open_all();
  send(message("READ_CREDIT", meter(1)));
  const MessageId id = send(message("TURN_ON"));
  ASSERT_EQ(state(id), "Queued");
  NamedTexts settings = push_settings();
  settings.emplace_back("repeat", "document");
  add_queue(kPushQueue, settings);
  restart();
  pass(2s);
  lose(calls("Enqueue").back().attempt);
  EXPECT_EQ(state(id), "CheckSend");
}
// req: device.st.7
TEST_F(DeviceProbe, AReadThatMayNeverBeRepeatedIsLookedFor) {
  open_all({{"repeat.READ_CREDIT", "never"}});
  const MessageId id = lost(message("READ_CREDIT"));
  EXPECT_EQ(state(id), "CheckSend");
  answer_looks({});
  pass(10s);
  EXPECT_EQ(outcome(id), "unknown");
  EXPECT_EQ(may_have_run(id), "false");  // a read changes nothing
}

// req: device.retry.1, device.retry.2
TEST_F(DeviceProbe, WithoutJitterTheWaitsAreTwoToTheTwoThousandAndFortyEightSeconds) {
  open_all();
  far_side = [&](const StartAttempt& call) { reply(call.attempt, 8, ""); };
  const MessageId id = send(message("READ_CREDIT"));
  pass(24h);
  const std::vector<Duration> times = call_times("Enqueue");
  ASSERT_EQ(times.size(), 12U);
  for (std::size_t k = 1; k < times.size(); ++k)
    EXPECT_EQ(times[k] - times[k - 1], Duration(1s) * (1 << k));
  EXPECT_EQ(times.back() - times.front(), 4'094s);
  EXPECT_EQ(phase(id), Phase::kDead);
  EXPECT_EQ(field(report(id), "retryCount"), "11");
}
// req: device.retry.1
TEST_F(DeviceProbe, LooksAreNotCountedAsAttempts) {
  open_all();
  const MessageId id = at_server(message("TURN_ON"));
  answer_looks({held("i1")});
  pass(20 * 15min);
  EXPECT_EQ(calls("GetQueue").size(), 20U);
  for (int i = 0; i < 11; ++i) {
    ack("i" + std::to_string(i + 1), false);
    ASSERT_EQ(state(id), "ToRetry") << i;
    pass(2s * (1 << i));
    ASSERT_EQ(state(id), "Sending") << i;
    enqueued("i" + std::to_string(i + 2));
  }
  ack("i12", false);
  EXPECT_EQ(phase(id), Phase::kDead);
  EXPECT_EQ(calls("Enqueue").size(), 12U);
  EXPECT_EQ(outcome(id), "unknown");  // twelve attempts that may have run
}
// req: device.retry.2
TEST_F(DeviceProbe, TheBackOffIsCappedAtAnHour) {
  open_all({{"retries", "13"}});
  far_side = [&](const StartAttempt& call) { lose(call.attempt, WireEnd::kRefused); };
  send(message("READ_CREDIT"));
  pass(24h);
  const std::vector<Duration> times = call_times("Enqueue");
  ASSERT_EQ(times.size(), 14U);
  EXPECT_EQ(times[11] - times[10], 2'048s);
  EXPECT_EQ(times[12] - times[11], 3'600s);
  EXPECT_EQ(times[13] - times[12], 3'600s);
}
// req: device.retry.3
TEST_F(DeviceProbe, ARejectionAtTheSixthAttemptIsTheEnd) {
  open_all();
  int attempt = 0;
  far_side = [&](const StartAttempt& call) {
    if (++attempt < 6) return lose(call.attempt, WireEnd::kRefused);
    reply(call.attempt, 5, "");
  };
  const MessageId id = send(message("TURN_ON"));
  pass(24h);
  EXPECT_EQ(attempt, 6);
  EXPECT_EQ(phase(id), Phase::kDead);
  EXPECT_EQ(outcome(id), "failed");
  EXPECT_EQ(field(report(id), "retryCount"), "5");
  EXPECT_EQ(count(failures(id), "\"isFinal\":false"), 5U);
  EXPECT_EQ(count(failures(id), "\"isFinal\":true"), 1U);
}
// req: device.retry.4
TEST_F(DeviceProbe, ARetryPutsItsFailureAtTheHead) {
  open_all();
  const MessageId id = send(message("TURN_ON"));
  EXPECT_EQ(field(report(id), "retryCount"), "0");
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  EXPECT_EQ(field(report(id), "retryCount"), "1");
  EXPECT_EQ(field(failures(id), "timestamp"), "2026-01-01T00:00:00.000Z");
  EXPECT_EQ(field(failures(id), "status"), "SENT_TO_NS");
  EXPECT_EQ(field(failures(id), "reason"), "connection refused");
  EXPECT_EQ(field(failures(id), "isFinal"), "false");
  pass(2s);
  enqueued("i1");
  txack("i1");
  pass(1s);
  ack("i1", false);
  EXPECT_EQ(field(report(id), "retryCount"), "2");
  EXPECT_EQ(field(failures(id), "timestamp"), "2026-01-01T00:00:03.000Z");
  EXPECT_EQ(field(failures(id), "status"), "SENT_TO_DEVICE");
  EXPECT_EQ(count(failures(id), "\"isFinal\":false"), 2U);
}
// req: device.retry.5
TEST_F(DeviceProbe, ARetryClosesTheAttemptWithItsProofOrSupersedesIt) {
  open_all({{"spacing", "0"}});
  const MessageId act = send(message("TURN_ON"));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  EXPECT_EQ(field(history(act), "closed"), "not-taken") << history(act);
  const MessageId read = send(message("READ_CREDIT", meter(2)));
  lose(calls("Enqueue").back().attempt);
  EXPECT_EQ(field(history(read), "closed"), "superseded") << history(read);
}

// req: device.retry.7
TEST_F(DeviceProbe, OneThatAlwaysFailsDelaysNoOther) {
  open_all({{"spacing", "0"}});
  for (std::uint64_t i = 1; i <= 50; ++i) send(message("READ_CREDIT", meter(i)));
  for (const StartAttempt& call : calls("Enqueue")) lose(call.attempt, WireEnd::kRefused);
  const MessageId id = send(message("READ_CREDIT"));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  far_side = [&](const StartAttempt& call) {
    if (call.message == id) return accept(call, "i1");
    reply(call.attempt, 0, "\xFF");  // nobody can decode it
  };
  pass(2s);
  EXPECT_EQ(state(id), "AtServer");
}

// req: device.retry.7
TEST_F(DeviceProbe, OneThatNobodyCanReadAnyMoreDelaysNoOther) {
  open_all({{"spacing", "0"}});
  send(message("READ_CREDIT", meter(1)));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  const MessageId id = send(message("READ_CREDIT"));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  std::size_t damaged = 0;
  for (const auto& [key, value] : store.memory().contents()) {
    const auto found = key[0] == keys::kHot
                           ? decode_message(Blob::copy_of(value), dictionaries_of(all_profiles()))
                           : Result<Message>(fail(ErrorCode::kNotFound, {}));
    const bool wanted = found && found->body.find(meter(1)) != std::string_view::npos;
    if (wanted && store.memory().damage(key)) ++damaged;
  }
  ASSERT_GT(damaged, 0U);
  restart();
  pass(2s);
  ASSERT_EQ(calls("Enqueue").size(), 1U);
  EXPECT_EQ(calls("Enqueue")[0].message, id);
}

}  // namespace
}  // namespace postrider
