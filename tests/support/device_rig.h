// DeviceRig: a shard with a push plugin ("lora", ChirpStack) and a pull plugin ("calin", version
// 1), a consumer of events ("hear"), and the words in which server, vendor and meter answer.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "postrider/profiles/device/report.h"
#include "postrider/protocols/chirpstack.h"
#include "postrider/protocols/chirpstack_events.h"
#include "postrider/protocols/device_message.h"
#include "postrider/protocols/meter_frame.h"
#include "tests/support/shard_rig.h"

namespace postrider {

class DeviceRig : public ShardRig {
 protected:
  static constexpr std::string_view kMeter = "47003333623";
  static constexpr std::string_view kEui = "0000047003333623";
  static constexpr std::string_view kPushQueue = "lora.network:7";
  static constexpr std::string_view kPullQueue = "calin.gateway:g1";

  static Configure queue(std::uint64_t ticket, std::string_view name, NamedTexts settings) {
    Configure event;
    event.caller.ticket = Ticket(ticket);
    event.config.name = name;
    event.config.profile = "device";
    event.config.settings = std::move(settings);
    return event;
  }
  static NamedTexts push_settings() {
    return {{"plugin", "lora"},        {"way", "chirpstack"}, {"url", "http://ns:8080"},
            {"api_key", "secret-key"}, {"events", "hear"},    {"jitter_percent", "0"}};
  }
  static NamedTexts pull_settings(std::string_view way = "calin-v1") {
    return {{"plugin", "calin"},
            {"way", std::string(way)},
            {"url", "http://vendor"},
            {"company", "acme"},
            {"user", "u"},
            {"password", "p"},
            {"customer", "c"},
            {"events", "hear"},
            {"jitter_percent", "0"}};
  }
  // Opens with both queues and the consumer of events.
  void open_all(const NamedTexts& more_push = {}, const NamedTexts& more_pull = {}) {
    open();
    Configure hear = configure(1, "hear", {{"jitter_percent", "0"}});
    post(hear);
    NamedTexts push = push_settings();
    for (const NamedText& setting : more_push) put(push, setting);
    post(queue(2, kPushQueue, push));
    ASSERT_EQ(code_of(2), AnswerCode::kDone) << told(2).detail;
    NamedTexts pull = pull_settings();
    for (const NamedText& setting : more_pull) put(pull, setting);
    post(queue(3, kPullQueue, pull));
    ASSERT_EQ(code_of(3), AnswerCode::kDone) << told(3).detail;
  }
  static void put(NamedTexts& settings, const NamedText& setting) {
    std::erase_if(settings, [&](const NamedText& old) { return old.first == setting.first; });
    settings.push_back(setting);
  }

  static device::DeviceMessage message(std::string_view command, std::string_view meter = kMeter) {
    device::DeviceMessage out;
    out.request.command = device::parse_command(command).value_or(device::Command::kReadReport);
    out.request.meter = meter;
    out.plugin = "lora";
    out.network = 7;
    return out;
  }
  static device::DeviceMessage pulled(std::string_view command, std::string_view meter = kMeter) {
    device::DeviceMessage out = message(command, meter);
    out.plugin = "calin";
    out.relay = device::DeviceMessage::Relay{.id = "g1", .reference = "g1", .snr = {}, .rssi = {}};
    return out;
  }
  // Hands a command in and gives back its id.
  MessageId send(const device::DeviceMessage& command) {
    const std::uint64_t ticket = ++tickets;
    Submit event;
    event.caller.ticket = Ticket(ticket);
    event.destination = command.plugin == "lora" ? kPushQueue : kPullQueue;
    event.priority = command.priority;
    event.body = device::encode_device_message(command);
    post(event);
    EXPECT_EQ(code_of(ticket), AnswerCode::kAccepted) << told(ticket).detail;
    return id_of(ticket);
  }

  // Attempts that go to server or vendor, not events to the consumer.
  std::vector<StartAttempt> calls(std::string_view part = {}) const {
    std::vector<StartAttempt> out;
    for (const StartAttempt& start : starts()) {
      const bool event = start.request.target.find("hear.example") != std::string::npos;
      if (!event && start.request.target.find(part) != std::string::npos) out.push_back(start);
    }
    return out;
  }
  std::vector<StartAttempt> events() const {
    std::vector<StartAttempt> out;
    for (const StartAttempt& start : starts()) {
      if (start.request.target.find("hear.example") != std::string::npos) out.push_back(start);
    }
    return out;
  }
  void reply(AttemptId attempt, int status, std::string body, NamedTexts headers = {}) {
    AttemptEnded event;
    event.attempt = attempt;
    event.reply.status = status;
    event.reply.body = std::move(body);
    event.reply.headers = std::move(headers);
    post(event);
  }
  void lose(AttemptId attempt, WireEnd end = WireEnd::kTimedOut) {
    AttemptEnded event;
    event.attempt = attempt;
    event.reply.end = end;
    post(event);
  }
  // The network server.
  void enqueued(const std::string& item) {
    reply(calls("Enqueue").back().attempt, 0, chirpstack::encode_enqueue_response(item));
  }
  void queue_holds(const std::vector<chirpstack::QueueItem>& items) {
    chirpstack::Queue all;
    all.total_count = static_cast<std::uint32_t>(items.size());
    all.items = items;
    reply(calls("GetQueue").back().attempt, 0, chirpstack::encode_get_queue_response(all));
  }
  static chirpstack::QueueItem held(const std::string& id) {
    chirpstack::QueueItem item;
    item.id = id;
    item.dev_eui = kEui;
    return item;
  }
  chirpstack::QueueItem sent_item(std::size_t number, const std::string& id) const {
    auto sent = chirpstack::decode_enqueue(calls("Enqueue").at(number).request.body);
    EXPECT_TRUE(sent.has_value());
    sent->item.id = id;
    return sent->item;
  }
  std::uint64_t arrive(const chirpstack::Event& event, std::string_view eui = kEui) {
    chirpstack::Event whole = event;
    whole.dev_eui = eui;
    const std::uint64_t ticket = ++tickets;
    Arrived arrived;
    arrived.caller.ticket = Ticket(ticket);
    arrived.profile = "device";
    arrived.source = "lora " + std::string(chirpstack::name_of(event.kind)) + " json hear";
    arrived.bytes = chirpstack::encode_event_json(whole);
    post(arrived);
    return ticket;
  }
  void txack(const std::string& item) {
    chirpstack::Event event;
    event.kind = chirpstack::EventKind::kTxAck;
    event.queue_item_id = item;
    event.downlink_id = 17;
    arrive(event);
  }
  void ack(const std::string& item, bool positive, const std::string& deduplication = "d1") {
    chirpstack::Event event;
    event.kind = chirpstack::EventKind::kAck;
    event.queue_item_id = item;
    event.acknowledged = positive;
    event.deduplication_id = positive ? deduplication : "";
    arrive(event);
  }
  void uplink(std::string data, const std::string& deduplication = "d1") {
    chirpstack::Event event;
    event.kind = chirpstack::EventKind::kUp;
    event.deduplication_id = deduplication;
    event.data = std::move(data);
    arrive(event);
  }
  // What the meter answers to a command; credit 123.45 where a number is asked for.
  static std::string frame(const device::DeviceMessage& asked, bool executed = true) {
    device::Response response = executed ? device::executed(asked.request.command)
                                         : device::not_executed(asked.request.command, "refused");
    if (executed && device::is_read(asked.request.command)) {
      response.value = device::make_decimal(12345, 2);
      response.level = 1;
      response.relay_on = true;
    }
    const auto bytes = device::encode_response(asked.request, response);
    EXPECT_TRUE(bytes.has_value());
    return bytes.value_or("");
  }
  // The vendor, version 1.
  void created(const std::string& task) {
    reply(calls("COMM_Remote").back().attempt, 200,
          R"({"Result":{"TaskNo":")" + task + R"("},"ResultCode":"00","Reason":"OK"})",
          {{"content-type", "application/json"}});
  }
  void polled(const std::string& status, const std::string& data = "",
              const std::string& item = "") {
    reply(calls("Task").back().attempt, 200,
          R"({"Result":{"TaskNo":"t","Status":")" + status + R"(","DataItem":")" + item +
              R"(","Data":")" + data + R"("},"ResultCode":"00","Reason":"OK"})",
          {{"content-type", "application/json"}});
  }

  // Turns at every deadline on the way. Events to the consumer are answered with 200 at once.
  void pass(Duration time) {
    const Duration until = elapsed + time;
    for (;;) {
      hear_all();
      const auto next = shard->next_deadline();
      if (!next || *next > Timestamp(1000) + until) break;
      elapsed = std::max(elapsed, *next - Timestamp(1000));
      turn();
    }
    elapsed = until;
    turn();
    hear_all();
  }
  void hear_all() {
    if (deaf) return;
    for (const StartAttempt& start : events()) {
      if (std::find(heard.begin(), heard.end(), start.attempt) != heard.end()) continue;
      heard.push_back(start.attempt);
      bodies.emplace_back(start.request.body);
      reply(start.attempt, 200, "");
    }
  }
  void restart() {
    open();
    heard.clear();
    turn();
  }

  MessageView shown(MessageId which) {
    const std::uint64_t ticket = ++tickets;
    Ask question = ask(ticket, Ask::What::kMessage);
    question.id = which;
    post(question);
    turn();
    return view_of<MessageView>(ticket);
  }
  std::string state(MessageId which) { return shown(which).explanation.state; }
  Phase phase(MessageId which) { return shown(which).explanation.phase; }
  std::string history(MessageId which) {
    const MessageView view = shown(which);
    const auto told = device::report_history({view, "queue"});
    EXPECT_TRUE(told.has_value());
    return told.value_or("");
  }
  Tallies tallies() {
    const std::uint64_t ticket = ++tickets;
    post(ask(ticket, Ask::What::kStats));
    return view_of<Stats>(ticket).tallies;
  }

  std::uint64_t tickets = 100;
  bool deaf = false;  // the consumer does not answer
  std::vector<AttemptId> heard;
  std::vector<std::string> bodies;  // of the events that were heard, in order
};

}  // namespace postrider
