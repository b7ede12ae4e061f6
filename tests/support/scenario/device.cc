// The commands of scenarios with devices. The network server is the plugin "lora", whose events go
// to the consumer "hear"; the vendor is whatever a command's queue calls. Nothing is answered but
// by the script: the queues' peers are to be silent.
#include <utility>

#include "postrider/profiles/device/report.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/protocols/meter/frame.h"
#include "tests/support/scenario/scenario.h"
#include "tests/support/scenario/world.h"

namespace postrider::scenario {
namespace {

constexpr std::string_view kMeter = "47003333623";

// The word or number behind `name` in a JSON text; empty when it is not there.
std::string field(std::string_view json, std::string_view name) {
  const std::string key = "\"" + std::string(name) + "\":";
  const std::size_t found = json.find(key);
  if (found == std::string_view::npos) return "";
  const std::string_view rest = json.substr(found + key.size());
  if (rest.starts_with('"')) return std::string(rest.substr(1, rest.find('"', 1) - 1));
  return std::string(rest.substr(0, rest.find_first_of(",}]")));
}

WireReply json_reply(int status, std::string body) {
  return {.end = WireEnd::kAnswered,
          .status = status,
          .headers = {{"content-type", "application/json"}},
          .body = std::move(body)};
}

// What the meter answers; 123.45 where a number is asked for.
std::string frame(const device::Request& asked, bool executed) {
  device::Response response =
      executed ? device::executed(asked.command) : device::not_executed(asked.command, "refused");
  if (executed && device::is_read(asked.command)) {
    response.value = device::make_decimal(12345, 2);
    response.level = 1;
    response.relay_on = true;
  }
  return device::encode_response(asked, response).value_or("");
}

// Queues are called PLUGIN.network:NUMBER and PLUGIN.gateway:ID.
void lead_to(const std::string& queue, device::DeviceMessage& command, Words& words) {
  const std::size_t dot = queue.find('.');
  const std::size_t colon = queue.find(':');
  if (dot == std::string::npos || colon == std::string::npos)
    return words.complain("'" + queue + "' is no queue of devices");
  command.plugin = queue.substr(0, dot);
  const std::string id = queue.substr(colon + 1);
  if (queue.substr(dot + 1).starts_with("network:")) {
    command.network = static_cast<std::uint32_t>(words.to_number(id));
  } else {
    command.relay = device::DeviceMessage::Relay{.id = id, .reference = id, .snr = {}, .rssi = {}};
  }
}

}  // namespace

void World::command(Words& words) {
  const std::string name = words.next("the command's name");
  const std::string verb = words.next("what the meter is to do");
  const std::string queue = words.option("to").value_or("");
  device::DeviceMessage command;
  const auto known = device::parse_command(verb);
  if (known) command.request.command = *known;
  if (!known) words.complain("no meter knows '" + verb + "'");
  command.request.meter = words.option("meter").value_or(std::string(kMeter));
  command.request.token = words.option("token").value_or("");
  command.priority = static_cast<std::uint16_t>(words.number("priority").value_or(0));
  command.correlation = name;
  lead_to(queue, command, words);
  Submit event;
  event.destination = queue;
  event.priority = command.priority;
  if (const auto life = words.duration("expires")) {
    event.expires = names_.start + elapsed_ + *life;
    command.expires_at = event.expires;
  }
  event.body = device::encode_device_message(command);
  if (words.complaint()) return;
  event.caller = caller({}, [this, name, queue, command](const Answer& answer) {
    std::string line = "command " + name + ": " + show_code(answer);
    learn(name, queue, answer, line);
    if (answer.code == AnswerCode::kAccepted) commands_[answer.id] = command;
    say(line);
  });
  post(std::move(event));
}

// As callers of the API see it.
void World::status(Words& words) {
  Query question;
  question.what = Query::What::kMessage;
  question.id = message_named(words);
  if (words.complaint()) return;
  const Answer answer = ask(question);
  const auto* view = std::get_if<MessageView>(&answer.view);
  if (view == nullptr) return say("status: " + show_code(answer));
  const IdCodec ids(options_.id_key);
  const auto told = device::report_message({*view, ids, destination_of_[question.id]});
  if (!told) return words.complain(told.error().detail);
  std::string line = name_of_message(question.id) + " is " + field(*told, "deliveryStatus");
  for (const char* name : {"retryCount", "outcome", "mayHaveRun", "executionStatus", "reason"}) {
    const std::string value = field(*told, name);
    if (!value.empty() && value != "0") line += std::string(", ") + name + " " + value;
  }
  say(line);
}

World::Open* World::open_of(MessageId message) {
  Open* found = nullptr;
  for (auto& [attempt, open] : open_) {
    if (open.message == message) found = &open;
  }
  return found;
}

void World::answer(MessageId message, WireReply reply) {
  for (auto open = open_.begin(); open != open_.end(); ++open) {
    if (open->second.message != message) continue;
    const AttemptId attempt = open->first;
    open_.erase(open);
    return post(AttemptEnded{attempt, std::move(reply)});
  }
}

void World::server(Words& words) {
  const std::string verb = words.next("what the server does");
  if (verb == "says") return server_says(words);
  const auto item = words.option("as");
  const auto about = words.option("for");
  const auto status = words.number("with");
  std::vector<std::string> items;
  if (verb == "holds") {
    while (!words.empty()) items.push_back(words.next("an item"));
    words = Words({about.value_or("")});
  }
  const MessageId id = message_named(words);
  const Open* open = open_of(id);
  if (open == nullptr) words.complain("the command has no open call");
  if (words.complaint()) return;
  WireReply reply{.end = WireEnd::kAnswered, .status = 0, .headers = {}, .body = {}};
  if (verb == "accepts") {
    const auto sent = chirpstack::decode_enqueue(open->body);
    if (!sent || !item) return words.complain("only an Enqueue is accepted: accepts C as ITEM");
    items_[id] = sent->item;
    reply.body = chirpstack::encode_enqueue_response(*item);
  } else if (verb == "refuses") {
    if (!status) return words.complain("say with which status of gRPC: refuses C with 5");
    reply.status = static_cast<int>(*status);
  } else if (verb == "holds") {
    chirpstack::Queue queue;
    for (const std::string& name : items) {
      if (name == "nothing") continue;
      chirpstack::QueueItem held = items_[id];
      held.id = name;
      held.dev_eui = chirpstack::dev_eui_of(commands_[id].request.meter).value_or("");
      queue.items.push_back(held);
    }
    queue.total_count = static_cast<std::uint32_t>(queue.items.size());
    reply.body = chirpstack::encode_get_queue_response(queue);
  } else {
    return words.complain("the server cannot '" + verb + "'");
  }
  if (!words.complaint()) answer(id, std::move(reply));
}

void World::server_says(Words& words) {
  using chirpstack::EventKind;
  const std::string what = words.next("an event");
  chirpstack::Event event;
  event.dev_eui =
      chirpstack::dev_eui_of(words.option("meter").value_or(std::string(kMeter))).value_or("");
  event.deduplication_id = words.option("as").value_or("");
  if (what == "txack") {
    event.kind = EventKind::kTxAck;
    event.queue_item_id = words.next("an item");
    event.downlink_id = static_cast<std::uint32_t>(words.number("downlink").value_or(17));
  } else if (what == "ack" || what == "nack") {
    event.kind = EventKind::kAck;
    event.queue_item_id = words.next("an item");
    event.acknowledged = what == "ack";
  } else if (what == "up") {
    event.kind = EventKind::kUp;
    const bool refused = words.flag("refused");
    if (const auto asked = words.option("answering")) {
      Words name({*asked});
      event.data = frame(commands_[message_named(name)].request, !refused);
      if (const auto complaint = name.complaint()) words.complain(*complaint);
    }
  } else if (what == "join") {
    event.kind = EventKind::kJoin;
  } else if (what == "log") {
    event.kind = EventKind::kLog;
    event.level = "ERROR";
    event.code = words.next("a code");
    event.queue_item_id = words.next("an item");
  } else {
    words.complain("no server says '" + what + "'");
  }
  if (words.complaint()) return;
  Arrived arrived;
  arrived.profile = "device";
  arrived.source = {
      .origin = "lora", .kind = std::string(chirpstack::name_of(event.kind)), .format = "json"};
  arrived.settings = {{"events", "hear"}};
  arrived.bytes = chirpstack::encode_event_json(event);
  arrived.caller = caller({}, [this](const Answer& answer) {
    if (answer.code != AnswerCode::kDone) say("!! the event was not taken: " + show_code(answer));
  });
  post(std::move(arrived));
}

void World::vendor(Words& words) {
  const std::string verb = words.next("what the vendor does");
  const auto data = words.option("data");
  const auto row = words.option("row");
  const std::string word = words.next(verb == "gives" ? "a task" : "a status");
  Words about({words.option("to").value_or(words.option("for").value_or(""))});
  const MessageId id = message_named(about);
  if (const auto complaint = about.complaint()) words.complain(*complaint);
  const Open* open = open_of(id);
  if (open == nullptr) words.complain("the command has no open call");
  if (words.complaint()) return;
  const bool second = open->target.find("/API/") != std::string::npos;
  const std::string quoted = word == "null" ? word : "\"" + word + "\"";
  if (verb == "answers")
    return answer(id, json_reply(static_cast<int>(words.to_number(word)), "{}"));
  if (verb == "gives" && second)
    return answer(
        id, json_reply(200, R"({"code":0,"reason":"success","result":[{"id":)" + word + "}]}"));
  if (verb == "gives")
    return answer(id, json_reply(200, R"({"Result":{"TaskNo":)" + quoted +
                                          R"(},"ResultCode":"00","Reason":"OK"})"));
  if (verb != "says") return words.complain("the vendor cannot '" + verb + "'");
  if (second)
    return answer(
        id, json_reply(200, R"({"code":0,"reason":"success","result":{"data":[{"name":")" +
                                row.value_or("Token") + R"(","status":)" + word + R"(,"data":")" +
                                data.value_or("") + R"("}]}})"));
  answer(id, json_reply(200, R"({"Result":{"TaskNo":")" + field(open->body, "TaskNo") +
                                 R"(","Status":)" + quoted + R"(,"DataItem":")" + row.value_or("") +
                                 R"(","Data":")" + data.value_or("") +
                                 R"("},"ResultCode":"00","Reason":"OK"})"));
}

// An event is a message that no client submitted: it is called after its command and what it tells.
void World::name_event(const StartAttempt& attempt) {
  if (message_names_.contains(attempt.message)) return;
  const std::string about = field(attempt.request.body, "correlationId");
  const std::string told = field(attempt.request.body, "deliveryStatus");
  if (!about.empty() && !told.empty()) message_names_[attempt.message] = about + "." + told;
}

}  // namespace postrider::scenario
