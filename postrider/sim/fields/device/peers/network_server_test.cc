#include "postrider/sim/fields/device/peers/network_server.h"

#include <map>

#include <gtest/gtest.h>

#include "postrider/protocols/meter/frame.h"

namespace postrider::sim {
namespace {

using chirpstack::Event;
using chirpstack::EventKind;
using device::Command;
using grpc::Status;

constexpr Timestamp kStart(1'786'536'000'000);
constexpr std::string_view kMeter = "47003333623";

// A network server, and all that it has said so far.
class Rig {
 public:
  explicit Rig(NetworkServerOptions options = {}, std::uint64_t seed = 1)
      : server(std::move(options), meters, Rng(seed), kStart) {}

  std::uint64_t enqueue(Command command, std::string_view meter = kMeter,
                        std::optional<Timestamp> expires_at = {}) {
    device::Request request;
    request.command = command;
    request.meter = meter;
    if (device::is_token(command)) request.token = "12345678901234567890";
    const std::string frame = device::encode_request(request).value_or("");
    return send(chirpstack::make_command(*chirpstack::dev_eui_of(meter), frame, expires_at));
  }
  std::uint64_t send(const chirpstack::QueueItem& item) {
    return call(chirpstack::kEnqueuePath, chirpstack::encode_enqueue(item));
  }
  std::uint64_t call(std::string_view path, std::string_view message, std::string_view key = "") {
    server.call(now, {++ticket, path, key, message, 0});
    return ticket;
  }
  chirpstack::Queue look(std::string_view meter = kMeter) {
    const auto asked = call(chirpstack::kGetQueuePath,
                            chirpstack::encode_get_queue(*chirpstack::dev_eui_of(meter)));
    run(Duration(50));
    return chirpstack::decode_get_queue_response(replies.at(asked).message).value();
  }
  std::string id_of(std::uint64_t asked) {
    return chirpstack::decode_enqueue_response(replies.at(asked).message).value_or("?");
  }

  void run(Duration time) {
    const Timestamp until = now + time;
    while (server.next() && *server.next() <= until) {
      now = *server.next();
      for (NetworkHappening& happening : server.due(now)) {
        EXPECT_EQ(happening.at, now);
        if (auto* reply = std::get_if<NetworkReply>(&happening.what))
          replies[reply->ticket] = std::move(*reply);
        if (auto* post = std::get_if<NetworkPost>(&happening.what)) keep(*post);
      }
    }
    now = until;
  }
  void keep(const NetworkPost& post) {
    const bool json = post.content_type == "application/json";
    Result<Event> event = json ? chirpstack::decode_event_json(post.kind, post.body)
                               : chirpstack::decode_event_protobuf(post.kind, post.body);
    ASSERT_TRUE(event.has_value()) << event.error().detail;
    EXPECT_EQ(event->dev_eui, post.dev_eui);
    events.push_back({now, std::move(*event)});
  }
  std::vector<Event> of(EventKind kind) const {
    std::vector<Event> out;
    for (const auto& [at, event] : events) {
      if (event.kind == kind) out.push_back(event);
    }
    return out;
  }
  Timestamp first_at(EventKind kind) const {
    for (const auto& [at, event] : events) {
      if (event.kind == kind) return at;
    }
    return Timestamp::never();
  }

  Meters meters;
  NetworkServer server;
  Timestamp now = kStart;
  std::uint64_t ticket = 0;
  std::map<std::uint64_t, NetworkReply> replies;
  std::vector<std::pair<Timestamp, Event>> events;
};

TEST(NetworkServer, BringsACommandToTheMeterAndItsAnswerBack) {
  Rig rig;
  const auto asked = rig.enqueue(Command::kTurnOff);
  rig.run(10s);
  EXPECT_EQ(rig.replies.at(asked).status, Status::kOk);
  const std::string id = rig.id_of(asked);
  EXPECT_EQ(id.size(), 36U);
  ASSERT_EQ(rig.of(EventKind::kTxAck).size(), 1U);
  EXPECT_EQ(rig.of(EventKind::kTxAck)[0].queue_item_id, id);
  EXPECT_NE(rig.of(EventKind::kTxAck)[0].downlink_id, 0U);
  ASSERT_EQ(rig.of(EventKind::kAck).size(), 1U);
  const Event ack = rig.of(EventKind::kAck)[0];
  EXPECT_TRUE(ack.acknowledged);
  EXPECT_EQ(ack.queue_item_id, id);
  ASSERT_EQ(rig.of(EventKind::kUp).size(), 1U);
  EXPECT_EQ(rig.of(EventKind::kUp)[0].deduplication_id, ack.deduplication_id);
  EXPECT_FALSE(rig.meters.at(kMeter).relay_on());
  ASSERT_EQ(rig.meters.ledger.copies().size(), 1U);
  EXPECT_EQ(rig.meters.ledger.copy(0).name, id);
  EXPECT_EQ(rig.meters.ledger.copy(0).end, CopyEnd::kAcked);
  EXPECT_EQ(rig.meters.ledger.copy(0).ran, 1U);
  EXPECT_EQ(rig.server.queued(), 0U);
}

TEST(NetworkServer, AnswersInAnyOrderOfAckAndUplink) {
  bool ack_first = false;
  bool up_first = false;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rig rig({}, seed);
    rig.enqueue(Command::kReadCredit);
    rig.run(10s);
    (rig.first_at(EventKind::kAck) < rig.first_at(EventKind::kUp) ? ack_first : up_first) = true;
  }
  EXPECT_TRUE(ack_first);
  EXPECT_TRUE(up_first);
}

TEST(NetworkServer, TellsTheSameInBothForms) {
  NetworkServerOptions options;
  options.tells_protobuf = true;
  Rig protobuf(options);
  Rig json;
  for (Rig* rig : {&protobuf, &json}) {
    rig->enqueue(Command::kReadVoltage);
    rig->run(10s);
  }
  ASSERT_EQ(protobuf.events.size(), 3U);
  EXPECT_EQ(protobuf.events, json.events);
}

TEST(NetworkServer, DoesTheSameFromTheSameSeed) {
  const auto run = [](std::uint64_t seed) {
    Rig rig({}, seed);
    rig.server.faults.lose_downlinks = 30;
    rig.server.faults.duplicate_events = 30;
    rig.server.faults.joins = 20;
    for (int i = 0; i < 50; ++i) rig.enqueue(Command::kTurnOn, std::to_string(47000000000 + i));
    rig.run(120s);
    return rig.events;
  };
  EXPECT_EQ(run(5), run(5));
  EXPECT_NE(run(5), run(6));
}

TEST(NetworkServer, RefusesWhatTheRealOneRefuses) {
  Rig rig;
  const std::string eui = *chirpstack::dev_eui_of(kMeter);
  chirpstack::QueueItem bad_eui = chirpstack::make_command("47", "x", {});
  chirpstack::QueueItem bad_port = chirpstack::make_command(eui, "x", {});
  bad_port.f_port = 0;
  chirpstack::QueueItem high_port = bad_port;
  high_port.f_port = 256;
  const auto a = rig.send(bad_eui);
  const auto b = rig.send(bad_port);
  const auto c = rig.send(high_port);
  const auto d = rig.call(chirpstack::kEnqueuePath, "");
  const auto e = rig.call("/api.DeviceService/Nothing", "");
  const auto f = rig.call(chirpstack::kEnqueuePath, "\xFF\xFF");
  rig.run(1s);
  for (const auto refused : {a, b, c, d, f})
    EXPECT_EQ(rig.replies.at(refused).status, Status::kInvalidArgument);
  EXPECT_EQ(rig.replies.at(e).status, Status::kUnimplemented);
  EXPECT_TRUE(rig.meters.ledger.copies().empty());
}

TEST(NetworkServer, AsksForItsKey) {
  NetworkServerOptions options;
  options.api_key = "secret";
  Rig rig(options);
  const std::string message = chirpstack::encode_get_queue(*chirpstack::dev_eui_of(kMeter));
  const auto without = rig.call(chirpstack::kGetQueuePath, message);
  const auto wrong = rig.call(chirpstack::kGetQueuePath, message, "Bearer other");
  const auto right = rig.call(chirpstack::kGetQueuePath, message, "Bearer secret");
  rig.run(1s);
  EXPECT_EQ(rig.replies.at(without).status, Status::kUnauthenticated);
  EXPECT_EQ(rig.replies.at(without).text, "");
  EXPECT_EQ(rig.replies.at(wrong).status, Status::kUnauthenticated);
  EXPECT_EQ(rig.replies.at(right).status, Status::kOk);
}

TEST(NetworkServer, DoesNotKnowADeviceInThreeWays) {
  const auto refused_by = [](bool sqlite, bool tenant) {
    NetworkServerOptions options;
    options.is_sqlite = sqlite;
    options.is_tenant_key = tenant;
    Rig rig(options);
    rig.server.set_unknown(kMeter, true);
    const auto asked = rig.enqueue(Command::kTurnOn);
    rig.run(1s);
    const NetworkReply reply = rig.replies.at(asked);
    EXPECT_TRUE(rig.meters.ledger.copies().empty());
    return chirpstack::read_enqueue_reply(reply.status, reply.text, "").verdict;
  };
  EXPECT_EQ(refused_by(false, false), device::SendVerdict::kRejected);
  EXPECT_EQ(refused_by(true, false), device::SendVerdict::kRejected);
  EXPECT_EQ(refused_by(false, true), device::SendVerdict::kFailedAlarm);
}

TEST(NetworkServer, HoldsOnePendingItemAndSendsOneAfterTheOther) {
  Rig rig;
  rig.server.faults.lose_downlinks = 100;
  const auto first = rig.enqueue(Command::kTurnOn);
  const auto second = rig.enqueue(Command::kReadCredit);
  rig.run(2s);
  const chirpstack::Queue queue = rig.look();
  ASSERT_EQ(queue.items.size(), 2U);
  EXPECT_EQ(queue.total_count, 2U);
  EXPECT_EQ(queue.items[0].id, rig.id_of(first));
  EXPECT_TRUE(queue.items[0].is_pending);
  EXPECT_FALSE(queue.items[1].is_pending);
  // Nobody answers; after the time for it the item is given up, and the next one goes.
  rig.run(6s);
  ASSERT_EQ(rig.of(EventKind::kAck).size(), 1U);
  EXPECT_FALSE(rig.of(EventKind::kAck)[0].acknowledged);
  EXPECT_EQ(rig.of(EventKind::kAck)[0].queue_item_id, rig.id_of(first));
  EXPECT_EQ(rig.of(EventKind::kTxAck).back().queue_item_id, rig.id_of(second));
  rig.run(10s);
  EXPECT_TRUE(rig.look().items.empty());
  EXPECT_EQ(rig.meters.ledger.copy(0).end, CopyEnd::kNacked);
  EXPECT_EQ(rig.meters.ledger.copy(0).ran, 0U);
}

TEST(NetworkServer, TakesNoMoreThanItsLimits) {
  NetworkServerOptions options;
  options.is_class_a = true;
  options.uplink_period = 1000h;
  options.queue_items_max = 2;
  options.copies_max = 3;
  options.devices_max = 2;
  Rig rig(options);
  const auto statuses = [&](std::initializer_list<std::string_view> meters) {
    std::vector<Status> out;
    for (const std::string_view meter : meters) {
      const auto asked = rig.enqueue(Command::kTurnOn, meter);
      rig.run(Duration(50));
      out.push_back(rig.replies.at(asked).status);
    }
    return out;
  };
  using S = Status;
  EXPECT_EQ(statuses({"1", "1", "1"}), (std::vector{S::kOk, S::kOk, S::kResourceExhausted}));
  EXPECT_EQ(statuses({"2", "2"}), (std::vector{S::kOk, S::kResourceExhausted}));
  EXPECT_EQ(statuses({"3"}), (std::vector{S::kInternal})) << "no more devices";
  EXPECT_EQ(rig.meters.ledger.copies().size(), 3U);
}

TEST(NetworkServer, GivesClassAADownlinkOnlyAfterAnUplink) {
  NetworkServerOptions options;
  options.is_class_a = true;
  options.uplink_period = 10h;
  Rig rig(options);
  rig.enqueue(Command::kTurnOff);
  rig.run(60s);
  EXPECT_TRUE(rig.of(EventKind::kTxAck).empty());
  rig.server.report(rig.now, kMeter);
  rig.run(10s);
  EXPECT_EQ(rig.of(EventKind::kTxAck).size(), 1U);
  EXPECT_EQ(rig.of(EventKind::kAck).size(), 1U);
  EXPECT_EQ(rig.meters.ledger.copy(0).ran, 1U);
}

TEST(NetworkServer, TellsOfALostClassADownlinkOnlyWithTheNextUplink) {
  NetworkServerOptions options;
  options.is_class_a = true;
  options.uplink_period = 1000h;
  Rig rig(options);
  rig.server.faults.lose_downlinks = 100;
  rig.enqueue(Command::kTurnOff);
  rig.server.report(rig.now, kMeter);
  rig.run(1h);
  EXPECT_TRUE(rig.of(EventKind::kAck).empty());
  EXPECT_EQ(rig.look().items.size(), 1U);
  rig.server.report(rig.now, kMeter);
  rig.run(10s);
  ASSERT_EQ(rig.of(EventKind::kAck).size(), 1U);
  EXPECT_FALSE(rig.of(EventKind::kAck)[0].acknowledged);
}

TEST(NetworkServer, ThrowsAwayWhatHasExpiredOrIsTooLarge) {
  NetworkServerOptions options;
  options.payload_bytes_max = 20;
  Rig rig(options);
  const auto late = rig.enqueue(Command::kTurnOn, kMeter, rig.now);
  const auto large = rig.enqueue(Command::kTopUpKwh);
  rig.run(10s);
  const std::vector<Event> logs = rig.of(EventKind::kLog);
  ASSERT_EQ(logs.size(), 2U);
  std::map<std::string, std::string> by_item;
  for (const Event& log : logs) {
    EXPECT_TRUE(chirpstack::says_discarded(log));
    by_item[log.queue_item_id] = log.code;
  }
  EXPECT_EQ(by_item[rig.id_of(late)], "EXPIRED");
  EXPECT_EQ(by_item[rig.id_of(large)], "DOWNLINK_PAYLOAD_SIZE");
  EXPECT_EQ(rig.meters.ledger.copy(0).end, CopyEnd::kExpired);
  EXPECT_EQ(rig.meters.ledger.copy(1).end, CopyEnd::kDiscarded);
  EXPECT_EQ(rig.server.counts().radiated, 0U);
}

TEST(NetworkServer, ForgetsTheQueueWhenTheDeviceJoins) {
  NetworkServerOptions options;
  options.is_class_a = true;
  options.uplink_period = 1000h;
  Rig rig(options);
  rig.enqueue(Command::kTurnOn);
  rig.run(1s);
  rig.server.join(rig.now, kMeter);
  rig.run(1s);
  EXPECT_EQ(rig.of(EventKind::kJoin).size(), 1U);
  EXPECT_TRUE(rig.look().items.empty());
  EXPECT_EQ(rig.meters.ledger.copy(0).end, CopyEnd::kFlushed);
  rig.server.report(rig.now, kMeter);
  rig.run(10s);
  EXPECT_EQ(rig.meters.ledger.copy(0).ran, 0U);
}

TEST(NetworkServer, RefusesARepeatedCommandOfMqttWhileItIsQueued) {
  NetworkServerOptions options;
  options.is_class_a = true;
  options.uplink_period = 1000h;
  Rig rig(options);
  const std::string eui = *chirpstack::dev_eui_of(kMeter);
  chirpstack::QueueItem item = chirpstack::make_command(eui, "x", {});
  item.id = "0c9f1e9e-0000-4000-8000-000000000042";
  const std::string topic = chirpstack::command_topic({options.application, eui});
  const std::string body = chirpstack::encode_downlink_command(item);
  rig.server.command(rig.now, topic, body);
  rig.server.command(rig.now, topic, body);
  rig.server.command(rig.now, chirpstack::command_topic({"another", eui}), body);
  rig.server.command(rig.now, topic, "no json");
  rig.run(1s);
  ASSERT_EQ(rig.look().items.size(), 1U);
  EXPECT_EQ(rig.look().items[0].id, item.id);
  EXPECT_EQ(rig.server.counts().repeats_refused, 1U);
}

TEST(NetworkServer, ABrokerHoldsCommandsWhileTheServerIsAwayAndBringsThemInOrder) {
  const NetworkServerOptions options;
  Rig rig(options);
  const std::string eui = *chirpstack::dev_eui_of(kMeter);
  const std::string topic = chirpstack::command_topic({options.application, eui});
  device::Request request;
  request.command = Command::kTurnOn;
  request.meter = kMeter;
  chirpstack::QueueItem item =
      chirpstack::make_command(eui, device::encode_request(request).value_or(""), {});
  rig.server.leave_broker(rig.now, 1h);
  for (const char* id : {"a", "b", "b"}) {
    item.id = id;
    rig.server.command(rig.now, topic, chirpstack::encode_downlink_command(item), 7);
  }
  rig.run(30min);
  EXPECT_TRUE(rig.look().items.empty()) << "gRPC answers, and its queue lacks them";
  EXPECT_EQ(rig.server.counts().held, 3U);
  EXPECT_EQ(rig.meters.ledger.copies().size(), 3U) << "they can run from when the broker has them";
  rig.run(31min);
  EXPECT_EQ(rig.server.counts().repeats_refused, 1U);
  EXPECT_EQ(rig.meters.ledger.count(request, 7).ran, 2U);
  EXPECT_EQ(rig.meters.ledger.copy(0).end, CopyEnd::kAcked);
  EXPECT_EQ(rig.meters.ledger.copy(2).end, CopyEnd::kDiscarded);
  EXPECT_FALSE(rig.meters.ledger.doubled().empty());
}

TEST(NetworkServer, TellsWhetherItKnowsADevice) {
  Rig rig;
  const std::string eui = *chirpstack::dev_eui_of(kMeter);
  rig.server.set_unknown(kMeter, true);
  const auto unknown = rig.call(chirpstack::kGetDevicePath, chirpstack::encode_get_device(eui));
  const auto nonsense = rig.call(chirpstack::kGetDevicePath, chirpstack::encode_get_device("47"));
  rig.run(50ms);
  EXPECT_EQ(rig.replies.at(unknown).status, Status::kNotFound);
  EXPECT_EQ(rig.replies.at(nonsense).status, Status::kInvalidArgument);
  rig.server.set_unknown(kMeter, false);
  const auto again = rig.call(chirpstack::kGetDevicePath, chirpstack::encode_get_device(eui));
  rig.run(50ms);
  ASSERT_EQ(rig.replies.at(again).status, Status::kOk);
  EXPECT_EQ(chirpstack::decode_get_device_response(rig.replies.at(again).message)->dev_eui, eui);
}

struct SendFault {
  const char* name;
  std::uint32_t NetworkFaults::*fault;
  CallEnd end;
  Status status;
  std::size_t taken;
};
class NetworkSendFault : public testing::TestWithParam<SendFault> {};

TEST_P(NetworkSendFault, EndsTheCallAsItSays) {
  const SendFault& row = GetParam();
  Rig rig;
  rig.server.faults.*row.fault = 100;
  const auto asked = rig.enqueue(Command::kTurnOn);
  rig.run(1s);
  EXPECT_EQ(rig.replies.at(asked).end, row.end);
  if (row.end == CallEnd::kAnswered) {
    EXPECT_EQ(rig.replies.at(asked).status, row.status);
  }
  EXPECT_EQ(rig.meters.ledger.copies().size(), row.taken);
  rig.run(60s);
  const std::size_t late = row.fault == &NetworkFaults::take_late ? 1 : row.taken;
  EXPECT_EQ(rig.meters.ledger.copies().size(), late);
}

INSTANTIATE_TEST_SUITE_P(
    All, NetworkSendFault,
    testing::Values(
        SendFault{"Refuse", &NetworkFaults::refuse, CallEnd::kAnswered, Status::kUnavailable, 0},
        SendFault{"LoseCalls", &NetworkFaults::lose_calls, CallEnd::kCut, Status::kOk, 0},
        SendFault{"LoseReplies", &NetworkFaults::lose_replies, CallEnd::kCut, Status::kOk, 1},
        SendFault{"Hang", &NetworkFaults::hang, CallEnd::kSilent, Status::kOk, 1},
        SendFault{"FailTaken", &NetworkFaults::fail_taken, CallEnd::kAnswered, Status::kInternal,
                  1},
        SendFault{"EmptyIds", &NetworkFaults::empty_ids, CallEnd::kAnswered, Status::kOk, 1},
        SendFault{"TakeLate", &NetworkFaults::take_late, CallEnd::kSilent, Status::kOk, 0}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(NetworkFaults, FailLooks) {
  Rig rig;
  rig.server.faults.fail_looks = 100;
  const std::string message = chirpstack::encode_get_queue(*chirpstack::dev_eui_of(kMeter));
  const auto failed = rig.call(chirpstack::kGetQueuePath, message);
  rig.run(1s);
  rig.server.faults.look_status = 0;
  const auto silent = rig.call(chirpstack::kGetQueuePath, message);
  rig.run(1s);
  EXPECT_EQ(rig.replies.at(failed).status, Status::kUnavailable);
  EXPECT_EQ(rig.replies.at(silent).end, CallEnd::kSilent);
}

TEST(NetworkFaults, NackBeforeTheTxAck) {
  Rig rig;
  rig.server.faults.nack_first = 100;
  rig.enqueue(Command::kTurnOn);
  rig.run(10s);
  ASSERT_EQ(rig.of(EventKind::kAck).size(), 1U);
  EXPECT_FALSE(rig.of(EventKind::kAck)[0].acknowledged);
  EXPECT_LT(rig.first_at(EventKind::kAck), rig.first_at(EventKind::kTxAck));
  EXPECT_EQ(rig.meters.ledger.copy(0).ran, 0U);
}

TEST(NetworkFaults, AnswerInALaterFrame) {
  Rig rig;
  rig.server.faults.later_frame = 100;
  rig.enqueue(Command::kReadCredit);
  rig.run(20s);
  const std::vector<Event> ups = rig.of(EventKind::kUp);
  ASSERT_EQ(ups.size(), 2U);
  EXPECT_EQ(ups[0].deduplication_id, rig.of(EventKind::kAck)[0].deduplication_id);
  EXPECT_EQ(ups[0].data, "");
  EXPECT_NE(ups[1].deduplication_id, ups[0].deduplication_id);
  EXPECT_NE(ups[1].data, "");
}

TEST(NetworkFaults, AckWithAnEmptyUplink) {
  Rig rig;
  rig.server.faults.empty_uplinks = 100;
  rig.enqueue(Command::kTurnOff);
  rig.run(20s);
  EXPECT_TRUE(rig.of(EventKind::kAck)[0].acknowledged);
  ASSERT_EQ(rig.of(EventKind::kUp).size(), 1U);
  EXPECT_EQ(rig.of(EventKind::kUp)[0].data, "");
  EXPECT_EQ(rig.meters.ledger.copy(0).ran, 1U);
}

TEST(NetworkFaults, LostUplinkMakesANackAlthoughItRan) {
  Rig rig;
  rig.server.faults.lose_uplinks = 100;
  rig.enqueue(Command::kTurnOff);
  rig.run(20s);
  ASSERT_EQ(rig.of(EventKind::kAck).size(), 1U);
  EXPECT_FALSE(rig.of(EventKind::kAck)[0].acknowledged);
  EXPECT_EQ(rig.meters.ledger.copy(0).ran, 1U);
  EXPECT_EQ(rig.meters.ledger.copy(0).end, CopyEnd::kNacked);
}

TEST(NetworkFaults, GatewayRefusesAndTheItemStays) {
  Rig rig;
  rig.server.faults.gateway_refuses = 100;
  rig.enqueue(Command::kTurnOff);
  rig.run(5s);
  EXPECT_FALSE(rig.of(EventKind::kLog).empty());
  EXPECT_EQ(rig.of(EventKind::kLog)[0].code, "DOWNLINK_GATEWAY");
  EXPECT_EQ(rig.look().items.size(), 1U);
  rig.server.faults.gateway_refuses = 0;
  rig.run(10s);
  EXPECT_EQ(rig.meters.ledger.copy(0).ran, 1U);
}

TEST(NetworkFaults, LoseAndDuplicateEvents) {
  Rig lost;
  lost.server.faults.lose_events = 100;
  lost.enqueue(Command::kTurnOff);
  lost.run(20s);
  EXPECT_TRUE(lost.events.empty());
  EXPECT_EQ(lost.server.counts().events_lost, 3U);
  Rig twice;
  twice.server.faults.duplicate_events = 100;
  twice.enqueue(Command::kTurnOff);
  twice.run(60s);
  EXPECT_EQ(twice.events.size(), 6U);
  EXPECT_EQ(twice.of(EventKind::kAck)[0], twice.of(EventKind::kAck)[1]);
}

TEST(NetworkFaults, ReportsAndJoinsComeUnasked) {
  Rig rig;
  rig.server.faults.reports = 100;
  rig.server.faults.joins = 100;
  rig.enqueue(Command::kTurnOff);
  rig.run(60s);
  EXPECT_EQ(rig.of(EventKind::kJoin).size(), 1U);
  bool reported = false;
  for (const Event& up : rig.of(EventKind::kUp)) {
    const auto uplink = device::read_uplink(up.data, kMeter, nullptr);
    reported = reported || (uplink && uplink->kind == device::UplinkKind::kReport);
  }
  EXPECT_TRUE(reported);
}

TEST(NetworkFaults, AreSetByTheirNames) {
  NetworkFaults faults;
  EXPECT_TRUE(set_fault(network_fault_rows(), faults, "lose-events", 100).has_value());
  EXPECT_EQ(faults.lose_events, 100U);
  EXPECT_FALSE(set_fault(network_fault_rows(), faults, "lose-events", 101).has_value());
  EXPECT_EQ(faults.lose_events, 100U);
  const Result<void> unknown = set_fault(network_fault_rows(), faults, "lose-event", 1);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().detail.find("'lose-events'"), std::string::npos);
}

// A run with everything wrong at once: whatever happens, a copy never runs after its end, and in
// the end nothing is open.
TEST(NetworkServer, ClosesEveryCopyWhateverIsWrong) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    NetworkServerOptions options;
    options.is_class_a = seed % 2 == 0;
    Rig rig(options, seed);
    for (const FaultRow<NetworkFaults>& row : network_fault_rows()) {
      if (row.unit == "P") rig.server.faults.*row.value = 10;
    }
    for (int i = 0; i < 500; ++i) {
      rig.enqueue(i % 2 == 0 ? Command::kTurnOn : Command::kReadCredit,
                  std::to_string(47000000000 + i % 50));
      rig.run(Duration(100));
    }
    rig.run(72h);
    EXPECT_EQ(rig.server.queued(), 0U);
    EXPECT_FALSE(rig.server.next().has_value());
    std::size_t ran = 0;
    for (const Copy& copy : rig.meters.ledger.copies()) {
      EXPECT_NE(copy.end, CopyEnd::kOpen);
      EXPECT_LE(copy.ran, 1U);
      ran += copy.ran;
    }
    EXPECT_EQ(ran, rig.meters.ledger.runs().size());
    EXPECT_GT(ran, 100U);
  }
}

}  // namespace
}  // namespace postrider::sim
