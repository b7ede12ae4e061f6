// What is counted and measured of commands, as /metrics tells it.
#include <map>
#include <numeric>

#include "postrider/model/records/keys.h"
#include "tests/support/device_rig.h"

namespace postrider {
namespace {

class DeviceFigures : public DeviceRig {
 protected:
  Stats stats() {
    const std::uint64_t ticket = ++tickets;
    post(ask(ticket, Query::What::kStats));
    return view_of<Stats>(ticket);
  }
  QueueRow queue_named(std::string_view name) {
    const std::uint64_t ticket = ++tickets;
    post(ask(ticket, Query::What::kQueues));
    const QueuePage page = view_of<QueuePage>(ticket);
    for (const QueueRow& queue : page.rows) {
      if (queue.destination == name) return queue;
    }
    ADD_FAILURE() << name << " is not told of";
    return {};
  }
  static std::uint64_t times(const CountedWords& words, std::string_view word) {
    for (const Counted& one : words) {
      if (one.word == word) return one.times;
    }
    return 0;
  }
  static std::uint64_t total(const Histogram& it) {
    return std::accumulate(it.counts.begin(), it.counts.end(), std::uint64_t{0});
  }
  MessageId on_air(const device::DeviceMessage& command, const std::string& item) {
    const MessageId id = send(command);
    enqueued(item);
    txack(item, eui_of(command.request.meter));
    return id;
  }
};

// req: device.obs.2
TEST_F(DeviceFigures, EachOutcomeIsCountedByItsName) {
  open_all({{"spacing", "0"}, {"server_expiry", "true"}});
  const auto executed = message("READ_CREDIT", meter(1));
  on_air(executed, "i1");
  uplink(frame(executed), "d1", eui_of(meter(1)));
  const auto refused = message("TURN_ON", meter(2));
  on_air(refused, "i2");
  uplink(frame(refused, false), "d2", eui_of(meter(2)));
  const auto unknown = message("TURN_OFF", meter(3));
  on_air(unknown, "i3");
  ack("i3", true, "d3", eui_of(meter(3)));
  pass(10s);
  send(message("READ_CREDIT", meter(4)));
  reply(calls("Enqueue").back().attempt, 5, "");  // nobody knows that meter: failed
  auto late = message("READ_CREDIT", meter(5));
  late.expires_at = kStart + elapsed + 5s;
  send(late);
  pass(6s);
  const MessageId waiting = send(message("READ_CREDIT", meter(6)));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  cancel(waiting);
  const CountedWords outcomes = tallies().outcomes;
  for (const char* word : {"executed", "refused", "failed", "expired", "cancelled", "unknown"})
    EXPECT_EQ(times(outcomes, word), 1U) << word;
  EXPECT_EQ(outcomes.size(), 6U);
}

// req: device.obs.2
TEST_F(DeviceFigures, AttemptsRetriesProbesAndBreakersAreCounted) {
  open_all({{"spacing", "0"}});
  const Tallies before = tallies();
  send(message("TURN_ON"));
  lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
  pass(2s);
  lose(calls("Enqueue").back().attempt);  // nobody knows: looked for
  queue_holds({sent_item(1, "i1")});
  Tallies now = tallies();
  EXPECT_EQ(now.probes - before.probes, 1U);
  EXPECT_EQ(now.adopted - before.adopted, 1U);
  EXPECT_EQ(now.attempts - before.attempts, 3U + 1U) << "with the event that tells of the first";
  const auto of = [](const Tallies& it, FailureClass cause) {
    return it.retries[static_cast<std::size_t>(cause)];
  };
  EXPECT_EQ(of(now, FailureClass::kConnect), 1U);
  send(message("READ_CREDIT", meter(1)));
  lose(calls("Enqueue").back().attempt);
  pass(4s);
  EXPECT_EQ(of(tallies(), FailureClass::kTimeout), 1U);
  for (std::uint64_t i = 10; i < 15; ++i) {
    EXPECT_EQ(times(tallies().closings, "breaker"), 0U);
    send(pulled("READ_CREDIT", meter(i)));
    lose(creates().back().attempt, WireEnd::kRefused);
  }
  EXPECT_EQ(times(tallies().closings, "breaker"), 1U);
  EXPECT_EQ(times(tallies().closings, "hold-off"), 0U);
}

// req: device.obs.2
TEST_F(DeviceFigures, DoubleLateAndMismatchedNewsAreCounted) {
  open_all();
  const auto command = message("READ_CREDIT");
  on_air(command, "i1");
  ack("i1", true);
  auto other = message("READ_VOLTAGE");
  other.request.phase = device::MeterPhase::kA;
  uplink(frame(other));
  EXPECT_EQ(tallies().mismatched, 1U);
  Arrived twice;
  twice.profile = "device";
  twice.source = {.origin = "lora", .kind = "txack", .format = "json"};
  twice.settings = {{"events", "hear"}};
  twice.caller.key = opaque("txack-1");
  chirpstack::Event event;
  event.kind = chirpstack::EventKind::kTxAck;
  event.dev_eui = kEui;
  event.queue_item_id = "i1";
  twice.bytes = chirpstack::encode_event_json(event);
  for (int i = 0; i < 2; ++i) {
    twice.caller.ticket = Ticket(++tickets);
    post(twice);
  }
  EXPECT_EQ(tallies().repeated_arrivals, 1U);
  uplink(frame(command), "d2");
  EXPECT_EQ(tallies().late_receipts, 0U);
  ack("i1", true, "d3");
  EXPECT_EQ(tallies().late_receipts, 1U);
}

// req: device.obs.2
TEST_F(DeviceFigures, FourTimesAreMeasured) {
  open_all();
  send(message("READ_CREDIT", meter(1)));
  enqueued("i1");
  const MessageId id = send(message("READ_CREDIT"));  // waits for its slot
  const Tallies before = tallies();
  pass(2s);
  EXPECT_EQ(tallies().until_sent.sum_ms - before.until_sent.sum_ms, 2000U) << "of the second";
  enqueued("i2");
  txack("i2");
  pass(3s);
  uplink(frame(message("READ_CREDIT")));
  EXPECT_EQ(outcome(id), "executed");
  const Tallies after = tallies();
  EXPECT_EQ(total(after.until_answered) - total(before.until_answered), 1U);
  EXPECT_EQ(after.until_answered.sum_ms - before.until_answered.sum_ms, 3000U);
  EXPECT_EQ(after.until_ended.sum_ms - before.until_ended.sum_ms, 5000U);
  EXPECT_GT(total(after.timers_late), 0U);
  const std::uint64_t late = after.timers_late.sum_ms;
  elapsed += 20min;  // nobody looked when i1 should have been asked for
  turn();
  EXPECT_GE(tallies().timers_late.sum_ms - late, 300'000U);
}

// req: device.obs.1
TEST_F(DeviceFigures, QueuesTellTheirDepthOldestAgePlacesAndNextSlot) {
  open_all();
  for (std::uint64_t i = 0; i < 3; ++i) send(message("READ_CREDIT", meter(i)));
  pass(500ms);
  QueueRow push = queue_named(kPushQueue);
  EXPECT_EQ(push.messages, 3U);
  EXPECT_FALSE(push.more);
  EXPECT_EQ(push.slots, 1U);
  EXPECT_EQ(push.next_slot, 1500ms);
  EXPECT_EQ(stats().now - push.oldest, 500ms);
  for (std::uint64_t i = 10; i < 17; ++i) send(pulled("READ_CREDIT", meter(i)));
  EXPECT_EQ(queue_named(kPullQueue).messages, 7U);
  EXPECT_EQ(queue_named(kPullQueue).slots, 5U);
}

// req: device.obs.1, engine.census.1, engine.census.2
TEST_F(DeviceFigures, EveryMessageIsCountedInItsStateWhereverItIs) {
  open_all({{"spacing", "0"}, {"retry_base", "2m"}});  // longer than anybody sleeps in memory
  const auto counted = [&](std::string_view state) {
    for (const Stats::InState& it : stats().in_states) {
      if (it.profile == "device" && it.state == state) return it;
    }
    return Stats::InState{};
  };
  const Duration began = elapsed;
  for (std::uint64_t i = 0; i < 4; ++i) {
    send(message("READ_CREDIT", meter(i)));
    lose(calls("Enqueue").back().attempt, WireEnd::kRefused);
    pass(1s);
  }
  send(message("READ_CREDIT", meter(4)));
  enqueued("i4");
  send(message("READ_CREDIT", meter(5)));
  const auto expect = [&](const char* when) {
    EXPECT_TRUE(stats().all_counted) << when;
    EXPECT_EQ(counted("ToRetry").messages, 4U) << when;
    EXPECT_EQ(counted("ToRetry").in_memory, 0U) << when;
    EXPECT_EQ(counted("AtServer").messages, 1U) << when;
    EXPECT_EQ(counted("Queued").messages, 0U) << when;
    EXPECT_EQ(queue_named(kPushQueue).messages, 6U) << when;
    EXPECT_TRUE(queue_named(kPushQueue).more) << when;
    EXPECT_EQ(stats().now - queue_named(kPushQueue).oldest, elapsed - began)
        << when << ": the oldest is on disk only";
  };
  expect("at first");
  EXPECT_EQ(counted("Sending").messages, 1U);
  restart();
  EXPECT_EQ(counted("ToRetry").messages + counted("Sending").messages, 5U)
      << "a read whose reply is lost is retried";
  lose(calls("Enqueue").empty() ? AttemptId() : calls("Enqueue").back().attempt);
  restart();
  EXPECT_EQ(counted("ToRetry").messages, 5U);
  EXPECT_EQ(counted("AtServer").messages, 1U);
  EXPECT_EQ(queue_named(kPushQueue).messages, 6U);
  far_side = [&](const StartAttempt& call) {
    if (is_call(call, "Enqueue")) reply(call.attempt, 5, "");  // no such device
  };
  pass(10min);
  EXPECT_EQ(counted("ToRetry").messages, 0U) << "they ended";
  EXPECT_EQ(queue_named(kPushQueue).messages, 1U);
  restart();
  EXPECT_EQ(counted("ToRetry").messages, 0U);
  EXPECT_TRUE(stats().all_counted);
}

// req: device.lim.4
TEST_F(DeviceFigures, ALifecycleWritesAKibibyteBesideWhatArrived) {
  open();
  NamedTexts settings = push_settings();
  std::erase_if(settings, [](const NamedText& one) { return one.first == "events"; });
  add_queue(kPushQueue, settings);
  const std::map<char, std::size_t> before = store.bytes_by_space();
  const std::size_t commits = store.commits();
  const auto command = message("READ_CREDIT");
  const std::string item = "6d1f6a5e-0000-4000-8000-00000000abcd";
  const MessageId id = send(command);
  enqueued(item);
  pass(1s);
  txack(item);
  pass(1s);
  ack(item, true, "0b54c9a0-77f3-4d3a-9d0e-5f2b6a1c0d9e");
  uplink(frame(command), "0b54c9a0-77f3-4d3a-9d0e-5f2b6a1c0d9e");
  ASSERT_EQ(outcome(id), "executed");
  EXPECT_LE(store.commits() - commits, 6U);
  std::size_t sum = 0;
  std::string each;
  for (auto [space, bytes] : store.bytes_by_space()) {
    if (before.contains(space)) bytes -= before.at(space);
    each.append(1, space).append(" ").append(std::to_string(bytes)).append(", ");
    // Each commit has one record of the books, which all messages of it share.
    if (space != keys::kMeta && space != keys::kArrival) sum += bytes;
  }
  RecordProperty("bytes", each);
  EXPECT_LE(sum, 1024U) << each;
}

}  // namespace
}  // namespace postrider
