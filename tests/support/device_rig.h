// DeviceRig: a shard with a push plugin ("lora", ChirpStack) and a pull plugin ("calin", version
// 1), a consumer of events ("hear"), and the words in which server, vendor and meter answer.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "postrider/profiles/device/report.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/protocols/device/message.h"
#include "postrider/protocols/meter/frame.h"
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

  static NamedTexts without(NamedTexts settings, std::string_view name) {
    std::erase_if(settings, [&](const NamedText& one) { return one.first == name; });
    return settings;
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
    post(submission(ticket, command));
    EXPECT_EQ(code_of(ticket), AnswerCode::kAccepted) << told(ticket).detail;
    return id_of(ticket);
  }
  static Submit submission(std::uint64_t ticket, const device::DeviceMessage& command) {
    Submit event;
    event.caller.ticket = Ticket(ticket);
    event.destination = command.plugin == "calin" ? device::pull_queue(command).value_or("")
                                                  : device::push_queue(command);
    event.priority = command.priority;
    if (command.expires_at) event.expires = *command.expires_at;
    event.body = device::encode_device_message(command);
    return event;
  }
  // Hands a command in whose method has no words for it.
  void send_in_vain(const device::DeviceMessage& command) {
    const std::uint64_t ticket = ++tickets;
    post(submission(ticket, command));
    EXPECT_EQ(code_of(ticket), AnswerCode::kInvalid);
    EXPECT_FALSE(told(ticket).detail.empty());
  }
  // Hands a command in that ends without an attempt: only its body knows that it has expired.
  MessageId send_expired(device::DeviceMessage command) {
    const std::uint64_t ticket = ++tickets;
    command.expires_at = kStart + elapsed;
    Submit event = submission(ticket, command);
    event.expires = Timestamp();
    post(event);
    EXPECT_EQ(code_of(ticket), AnswerCode::kAccepted) << told(ticket).detail;
    return id_of(ticket);
  }
  static device::DeviceMessage with_token(device::DeviceMessage command,
                                          std::string token = "12345678901234567890") {
    command.request.token = std::move(token);
    return command;
  }
  // Meters are many; all of them have numbers of 11 digits.
  static std::string meter(std::uint64_t number) {
    return std::to_string(47'003'000'000ULL + number);
  }
  static std::string eui_of(std::string_view meter) {
    return chirpstack::dev_eui_of(meter).value_or("");
  }
  // A further queue of the push or pull plugin.
  void add_queue(std::string_view name, const NamedTexts& settings) {
    const std::uint64_t ticket = ++tickets;
    post(queue(ticket, name, settings));
    ASSERT_EQ(code_of(ticket), AnswerCode::kDone) << told(ticket).detail;
  }

  static bool is_event(const StartAttempt& start) {
    return start.request.target.find("hear.example") != std::string::npos;
  }
  static bool is_call(const StartAttempt& start, std::string_view part) {
    return !is_event(start) && start.request.target.find(part) != std::string::npos;
  }
  // Attempts that go to server or vendor since the last start of the shard, not events to the
  // consumer.
  std::vector<StartAttempt> calls(std::string_view part = {}) const {
    std::vector<StartAttempt> out;
    for (const Action& action : actions) {
      const auto* start = std::get_if<StartAttempt>(&action);
      if (start != nullptr && is_call(*start, part)) out.push_back(*start);
    }
    return out;
  }
  // When they left, counted from the start of the test.
  std::vector<Duration> call_times(std::string_view part = {}) const {
    std::vector<Duration> out;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const auto* start = std::get_if<StartAttempt>(&actions[i]);
      if (start != nullptr && is_call(*start, part)) out.push_back(acted_at[i]);
    }
    return out;
  }
  std::vector<StartAttempt> events() const {
    std::vector<StartAttempt> out;
    for (const Action& action : actions) {
      const auto* start = std::get_if<StartAttempt>(&action);
      if (start != nullptr && is_event(*start)) out.push_back(*start);
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
  static chirpstack::QueueItem item_of(const StartAttempt& call, const std::string& id) {
    auto sent = chirpstack::decode_enqueue(call.request.body);
    EXPECT_TRUE(sent.has_value());
    sent->item.id = id;
    return sent->item;
  }
  // The network server.
  void accept(const StartAttempt& call, const std::string& item) {
    reply(call.attempt, 0, chirpstack::encode_enqueue_response(item));
  }
  void answer_queue(const StartAttempt& call, const std::vector<chirpstack::QueueItem>& items) {
    chirpstack::Queue all;
    all.total_count = static_cast<std::uint32_t>(items.size());
    all.items = items;
    reply(call.attempt, 0, chirpstack::encode_get_queue_response(all));
  }
  void enqueued(const std::string& item) { accept(calls("Enqueue").back(), item); }
  void queue_holds(const std::vector<chirpstack::QueueItem>& items) {
    ASSERT_FALSE(calls("GetQueue").empty());
    answer_queue(calls("GetQueue").back(), items);
  }
  static chirpstack::QueueItem held(const std::string& id) {
    chirpstack::QueueItem item;
    item.id = id;
    item.dev_eui = kEui;
    return item;
  }
  chirpstack::QueueItem sent_item(std::size_t number, const std::string& id) const {
    return item_of(calls("Enqueue").at(number), id);
  }
  std::uint64_t arrive(const chirpstack::Event& event, std::string_view eui = kEui) {
    chirpstack::Event whole = event;
    whole.dev_eui = eui;
    const std::uint64_t ticket = ++tickets;
    Arrived arrived;
    arrived.caller.ticket = Ticket(ticket);
    arrived.profile = "device";
    arrived.source = {
        .origin = "lora", .kind = std::string(chirpstack::name_of(event.kind)), .format = "json"};
    arrived.settings = {{"events", "hear"}};
    arrived.bytes = chirpstack::encode_event_json(whole);
    post(arrived);
    return ticket;
  }
  void txack(const std::string& item, std::string_view eui = kEui) {
    chirpstack::Event event;
    event.kind = chirpstack::EventKind::kTxAck;
    event.queue_item_id = item;
    event.downlink_id = 17;
    arrive(event, eui);
  }
  void ack(const std::string& item, bool positive, const std::string& deduplication = "d1",
           std::string_view eui = kEui) {
    chirpstack::Event event;
    event.kind = chirpstack::EventKind::kAck;
    event.queue_item_id = item;
    event.acknowledged = positive;
    event.deduplication_id = positive ? deduplication : "";
    arrive(event, eui);
  }
  void uplink(std::string data, const std::string& deduplication = "d1",
              std::string_view eui = kEui) {
    chirpstack::Event event;
    event.kind = chirpstack::EventKind::kUp;
    event.deduplication_id = deduplication;
    event.data = std::move(data);
    arrive(event, eui);
  }
  void join(std::string_view eui = kEui) {
    chirpstack::Event event;
    event.kind = chirpstack::EventKind::kJoin;
    event.deduplication_id = "join" + std::to_string(++tickets);
    arrive(event, eui);
  }
  void server_log(const std::string& code, const std::string& item, std::string_view eui = kEui) {
    chirpstack::Event event;
    event.kind = chirpstack::EventKind::kLog;
    event.level = "ERROR";
    event.code = code;
    event.queue_item_id = item;
    arrive(event, eui);
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
  static bool is_poll(const StartAttempt& call) { return call.request.target.ends_with("Task"); }
  std::vector<StartAttempt> creates() const {
    std::vector<StartAttempt> out = calls("COMM_Remote");
    std::erase_if(out, is_poll);
    return out;
  }
  std::vector<StartAttempt> polls() const { return calls("Task"); }
  void json(const StartAttempt& call, int http_status, std::string body) {
    reply(call.attempt, http_status, std::move(body), {{"content-type", "application/json"}});
  }
  void give_task(const StartAttempt& call, const std::string& task) {
    json(call, 200, R"({"Result":{"TaskNo":")" + task + R"("},"ResultCode":"00","Reason":"OK"})");
  }
  void created(const std::string& task) {
    ASSERT_FALSE(creates().empty());
    give_task(creates().back(), task);
  }
  void answer_poll(const StartAttempt& call, const std::string& status,
                   const std::string& data = "", const std::string& item = "") {
    json(call, 200,
         R"({"Result":{"TaskNo":")" + field(call.request.body, "TaskNo") + R"(","Status":")" +
             status + R"(","DataItem":")" + item + R"(","Data":")" + data +
             R"("},"ResultCode":"00","Reason":"OK"})");
  }
  void polled(const std::string& status, const std::string& data = "",
              const std::string& item = "") {
    ASSERT_FALSE(polls().empty());
    answer_poll(polls().back(), status, data, item);
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
  // Lets the far side answer what has left, and the consumer hear it.
  void hear_all() {
    for (; looked_at < actions.size(); ++looked_at) {
      const auto* start = std::get_if<StartAttempt>(&actions[looked_at]);
      if (start == nullptr) continue;
      const StartAttempt call = *start;
      if (is_event(call)) {
        hear(call);
      } else if (far_side) {
        far_side(call);
      }
    }
  }
  void hear(const StartAttempt& event) {
    if (deaf) return;
    bodies.emplace_back(event.request.body);
    reply(event.attempt, 200, "");
  }
  // As after kill -9: what was durable is there, and nothing else.
  void restart() {
    looked_at = 0;
    open();
    turn();
  }

  MessageView shown(MessageId which) {
    const std::uint64_t ticket = ++tickets;
    Query question = ask(ticket, Query::What::kMessage);
    question.id = which;
    post(question);
    turn();
    return view_of<MessageView>(ticket);
  }
  std::string state(MessageId which) { return shown(which).explanation.state; }
  Phase phase(MessageId which) { return shown(which).explanation.phase; }
  std::string history(MessageId which) {
    const MessageView view = shown(which);
    const auto told = device::report_history({view, ids(), "queue"});
    EXPECT_TRUE(told.has_value());
    return told.value_or("");
  }
  std::string report(MessageId which) {
    const MessageView view = shown(which);
    const auto told = device::report_message({view, ids(), "queue"});
    EXPECT_TRUE(told.has_value());
    return told.value_or("");
  }
  // The word or number behind the first `name` in a JSON text; empty when it is not there.
  static std::string field(std::string_view json, std::string_view name) {
    const std::string key = "\"" + std::string(name) + "\":";
    const std::size_t found = json.find(key);
    if (found == std::string_view::npos) return "";
    std::string_view rest = json.substr(found + key.size());
    if (rest.starts_with('"')) return std::string(rest.substr(1, rest.find('"', 1) - 1));
    return std::string(rest.substr(0, rest.find_first_of(",}]")));
  }
  static std::size_t count(std::string_view text, std::string_view part) {
    std::size_t out = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + part.size()))
      ++out;
    return out;
  }
  std::string status(MessageId which) { return field(report(which), "deliveryStatus"); }
  std::string outcome(MessageId which) { return field(report(which), "outcome"); }
  std::string may_have_run(MessageId which) { return field(report(which), "mayHaveRun"); }
  std::string failures(MessageId which) {
    const std::string all = report(which);
    const std::size_t from = all.find("\"failureHistory\":[");
    return from == std::string::npos ? "" : all.substr(from, all.find(']', from) - from);
  }
  // The statuses that its history tells of, in order, repeats left out.
  std::vector<std::string> statuses(MessageId which) {
    const std::string all = history(which);
    std::string_view rest = all;
    rest = rest.substr(std::min(rest.size(), rest.find("\"transitions\"")));
    rest = rest.substr(0, rest.find("\"events\""));
    std::vector<std::string> out;
    const std::string key = "\"deliveryStatus\":";
    for (std::size_t at = rest.find(key); at != std::string_view::npos; at = rest.find(key)) {
      rest = rest.substr(at);
      const std::string word = field(rest, "deliveryStatus");
      if (out.empty() || out.back() != word) out.push_back(word);
      rest = rest.substr(key.size());
    }
    return out;
  }
  std::size_t events_of(std::string_view status) const {
    const std::string part = "\"deliveryStatus\":\"" + std::string(status) + "\"";
    return static_cast<std::size_t>(std::count_if(
        bodies.begin(), bodies.end(),
        [&](const std::string& body) { return body.find(part) != std::string::npos; }));
  }
  AnswerCode cancel(MessageId which) {
    const std::uint64_t ticket = ++tickets;
    Cancel event;
    event.caller.ticket = Ticket(ticket);
    event.id = which;
    post(event);
    return code_of(ticket);
  }
  Tallies tallies() {
    const std::uint64_t ticket = ++tickets;
    post(ask(ticket, Query::What::kStats));
    return view_of<Stats>(ticket).tallies;
  }

  std::uint64_t tickets = 100;
  bool deaf = false;                                  // the consumer does not answer
  std::function<void(const StartAttempt&)> far_side;  // server and vendor, while time passes
  std::size_t looked_at = 0;                          // of the actions
  std::vector<std::string> bodies;                    // of the events that were heard, in order
};

}  // namespace postrider
