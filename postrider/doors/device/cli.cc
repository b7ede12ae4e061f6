// postrider device send | show | history | cancel | token | queue: commands for devices.
#include "postrider/doors/device/cli.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "postrider/base/nearest.h"
#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"
#include "postrider/model/ids.h"
#include "postrider/protocols/device/command.h"
#include "postrider/protocols/device/message.h"
#include "postrider/protocols/device/mint.h"
#include "postrider/protocols/device/ulid.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr Duration kFirstPause{50};
constexpr Duration kLongestPause{1000};
constexpr Duration kTokenPatience{180'000};  // a vendor may take two minutes, and the daemon waits
constexpr std::uint64_t kPriorityMax = 65535;
constexpr std::uint64_t kNetworkMax = 4'294'967'295;
constexpr std::uint64_t kPagesMax = 1000;  // of messages that a queue is counted by

constexpr auto kSendOptions = std::to_array<OptionRow>({
    {"--plugin", "NAME", "the way to the device, as it is configured; needed"},
    {"--network", "N", "the device's network (none: unassigned)"},
    {"--gateway", "ID", "the gateway that reaches the device; a vendor's plugin needs it"},
    {"--phase", "A|B|C", "of a three-phase meter"},
    {"--meter-token", "DIGITS", "the token of a token command; @FILE or - keeps it off the screen"},
    {"--date", "YYYY-MM-DD", "of SET_DATE"},
    {"--time", "HH:MM[:SS]", "of SET_TIME"},
    {"--priority", "N", "0 to 65535 (0); higher goes first"},
    {"--correlation", "ID", "your own id: the same command again is not a second one"},
    {"--supersede", "KEY", "cancels waiting commands of the device with this key"},
    {"--expires-in", "DURATION", "nothing is sent after it"},
    {"--wait", "", "until it has ended; fails unless it was executed"},
    {"--time-out", "DURATION", "with --wait: not longer than this"},
});
constexpr auto kTokenOptions = std::to_array<OptionRow>({
    {"--plugin", "NAME", "who makes the token, as it is configured; needed"},
    {"--kwh", "N", "of TOP_UP_KWH"},
    {"--power-limit", "WATT", "of SET_POWER_LIMIT"},
    {"--decoder-key", "@FILE",
     "16 hexadecimal digits, where the plugin has an sts_url; - is the standard input"},
    {"--issued", "TIME", "RFC 3339 (now); the same with the same --correlation"},
    {"--correlation", "ID", "your own id: asked again, it gives the same token"},
});
constexpr std::string_view kTokenMore =
    "TYPE is one of TOP_UP_KWH, CLEAR_CREDIT, CLEAR_TAMPER, SET_POWER_LIMIT; in small letters and\n"
    "with '-' if you like. METER is the device's external reference. The token is printed, and\n"
    "delivered by 'postrider device send'. A reply of the vendor that was lost is not asked for\n"
    "again: 'postrider device history ID' tells.\n";
constexpr auto kPhaseOptions =
    std::to_array<OptionRow>({{"--phase", "A|B|C", "when several commands share the id"}});
constexpr auto kQueueOptions =
    std::to_array<OptionRow>({{"--plugin", "NAME", "queues of this plugin only"}, kWatchRow});
constexpr std::string_view kSendMore =
    "COMMAND is one of READ_VOLTAGE, READ_CURRENT, READ_POWER, READ_POWER_LIMIT, READ_CREDIT,\n"
    "READ_VERSION, READ_DATE, READ_TIME, TURN_ON, TURN_OFF, SET_DATE, SET_TIME, CLEAR_CREDIT,\n"
    "CLEAR_TAMPER, SET_POWER_LIMIT, TOP_UP_KWH, DELIVER_PREEXISTING_TOKEN; in small letters and\n"
    "with '-' if you like. METER is the device's external reference.\n"
    "The command is durable when its id is printed.\n";

Colour colour_of_outcome(std::string_view outcome) {
  if (outcome == "executed") return Colour::kGood;
  if (outcome == "cancelled" || outcome.empty()) return Colour::kPlain;
  return outcome == "unknown" ? Colour::kWarn : Colour::kBad;
}

Result<device::Command> command_of(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c == '-') c = '_';
  }
  std::array<std::string_view, device::kSubmitCommands> names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = device::name_of(static_cast<device::Command>(i));
  const auto command = device::parse_command(text);
  if (command && device::is_submittable(*command)) return *command;
  return fail(ErrorCode::kInvalid,
              "unknown command '" + text + "'" +
                  did_you_mean(text, std::span<const std::string_view>(names)));
}

// Numbers between marks, "2026-08-12" with '-'; nothing when there are others or none.
std::optional<std::vector<int>> numbers_of(std::string_view text, char mark) {
  std::vector<int> numbers(1, 0);
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == mark && digits > 0) {
      numbers.push_back(0);
      digits = 0;
    } else if (c >= '0' && c <= '9' && ++digits <= 4) {
      numbers.back() = numbers.back() * 10 + (c - '0');
    } else {
      return std::nullopt;
    }
  }
  return digits == 0 ? std::nullopt : std::optional(numbers);
}

Result<void> read_payload(const Parsed& parsed, device::Request& request) {
  if (const std::string* text = parsed.find("--date")) {
    const auto parts = numbers_of(*text, '-');
    if (!parts || parts->size() != 3) return fail(ErrorCode::kInvalid, "--date is YYYY-MM-DD");
    request.date = device::Date{(*parts)[0], (*parts)[1], (*parts)[2]};
  }
  if (const std::string* text = parsed.find("--time")) {
    const auto parts = numbers_of(*text, ':');
    if (!parts || parts->size() < 2 || parts->size() > 3)
      return fail(ErrorCode::kInvalid, "--time is HH:MM or HH:MM:SS");
    request.time =
        device::TimeOfDay{(*parts)[0], (*parts)[1], parts->size() == 3 ? (*parts)[2] : 0};
  }
  if (request.date && request.time)
    return fail(ErrorCode::kInvalid, "say --date or --time, not both");
  const std::string token = parsed.text("--meter-token");
  if (token != "-" && !token.starts_with('@')) {
    request.token = token;
    return {};
  }
  POSTRIDER_TRY(bytes, read_file(token == "-" ? token : token.substr(1), device::kIdBytesMax));
  while (!bytes.empty() && static_cast<unsigned char>(bytes.back()) <= ' ') bytes.pop_back();
  request.token = std::move(bytes);
  return {};
}

Result<device::DeviceMessage> message_of(const Parsed& parsed) {
  device::DeviceMessage message;
  POSTRIDER_TRY(command, command_of(parsed.operands[0]));
  message.request.command = command;
  message.request.meter = parsed.operands[1];
  message.plugin = parsed.text("--plugin");
  if (message.plugin.empty()) return fail(ErrorCode::kInvalid, "--plugin is missing");
  if (parsed.has("--network")) {
    POSTRIDER_TRY(network, parsed.number("--network", 0, 0, kNetworkMax));
    message.network = static_cast<std::uint32_t>(network);
  }
  if (const std::string* gateway = parsed.find("--gateway")) message.relay = {*gateway, {}, {}, {}};
  if (const std::string* phase = parsed.find("--phase")) {
    const auto known = device::parse_meter_phase(*phase);
    if (!known) return fail(ErrorCode::kInvalid, "--phase is A, B or C");
    message.request.phase = *known;
  }
  POSTRIDER_TRY(priority, parsed.number("--priority", 0, 0, kPriorityMax));
  message.priority = static_cast<std::uint16_t>(priority);
  message.correlation = parsed.text("--correlation");
  message.supersede = parsed.text("--supersede");
  POSTRIDER_TRY(life, parsed.duration("--expires-in", Duration(0)));
  if (life > Duration(0)) message.expires_at = wall_now() + life;
  const Result<void> payload = read_payload(parsed, message.request);
  if (!payload) return tl::unexpected<Error>(payload.error());
  return message;
}

std::string path_of(std::string_view id, std::string_view verb, const Parsed& parsed) {
  std::string path = "/message/" + percent_encode(id);
  if (!verb.empty()) path.append("/").append(verb);
  return path + query_of(parsed, {{"--phase", "phase"}});
}

std::string answer_text(const Json& message) {
  const Json* const response = message.find("response");
  if (response == nullptr) return {};
  std::string text = shown(response->at("status"));
  if (const Json* data = response->find("data")) {
    if (data->items.empty()) return text + " " + shown(data->text);
    for (std::size_t i = 0; i < data->names.size(); ++i)
      text += " " + shown(data->names[i]) + "=" + shown(data->items[i].text);
  }
  return text;
}

std::string describe(const Json& message) {
  FactList facts;
  facts.add("id", shown(message.at("id")), Colour::kStrong);
  facts.add("correlation id", shown(message.at("correlationId")));
  facts.add("command", shown(message.at("commandType")));
  facts.add("phase", shown(message.at("phase")));
  if (const Json* device = message.find("device"))
    facts.add("device", shown(device->at("externalReference")));
  facts.add("queue", shown(message.at("deliveryQueueId")));
  facts.add("priority", message.at("priority"));
  facts.add("status", shown(message.at("deliveryStatus")));
  facts.add("outcome", shown(message.at("outcome")), colour_of_outcome(message.at("outcome")));
  facts.add("reason", shown(message.at("reason")));
  facts.add("may have run", message.at("mayHaveRun"));
  facts.add("response", answer_text(message));
  facts.add("retries", message.at("retryCount"));
  if (const auto& failures = message.list("failureHistory"); !failures.empty())
    facts.add("last failure", shown(failures.front().at("reason")));
  return facts.text();
}

std::string describe_history(const Json& message, Timestamp now) {
  Table table({"WHEN", "STATE", "STATUS", "ON", "TIMES", "REASON"});
  for (const Json& step : message.list("transitions")) {
    table.add({{moment_long(step.at("at"), now)},
               {shown(step.at("state"))},
               {shown(step.at("deliveryStatus"))},
               {shown(step.at("on"))},
               {step.at("times")},
               {shown(step.at("reason"), 100)}});
  }
  Table runs({"RUN", "ACCEPTED", "STATUS", "OUTCOME", "MAY HAVE RUN"});
  for (const Json& run : message.list("runs")) {
    runs.add({{shown(run.at("id"))},
              {moment_long(run.at("acceptedAt"), now)},
              {shown(run.at("deliveryStatus"))},
              {shown(run.at("outcome")), colour_of_outcome(run.at("outcome"))},
              {run.at("mayHaveRun")}});
  }
  return describe(message) + (table.empty() ? "" : "\n" + table.text()) +
         (runs.empty() ? "" : "\n" + runs.text());
}

// Why it has not been sent yet, in the engine's words.
std::string explained(const Session& session, const Json& message) {
  const auto ulid = device::parse_ulid(message.at("id"));
  if (!ulid) return {};
  ClientRequest request;
  request.path = message_path(to_string(PublicId{ulid->high, ulid->low}), "explain");
  const Result<ClientAnswer> answer = ask(session.client(), request);
  if (!answer || answer->status != 200) return {};
  const Result<Json> json = parse_json(answer->body);
  if (!json) return {};
  const Timestamp now = wall_now();
  FactList facts;
  facts.add("state", shown(json->at("state")));
  facts.add("why", shown(json->at("why")));
  const std::string at = json->at("next_at");
  facts.add("next", shown(json->at("next")) + (at.empty() ? "" : " " + moment_text(at, now)));
  facts.add("accepted", moment_long(json->at("accepted_at"), now));
  facts.add("expires", moment_long(json->at("expires_at"), now));
  return facts.text();
}

// Asks until the command is alive no more, and shows what became of it.
int wait_for_outcome(const Session& session, const std::string& id, Duration time_out) {
  ClientRequest look;
  look.path = "/message/" + percent_encode(id);
  const auto begin = std::chrono::steady_clock::now();
  Duration pause = kFirstPause;
  while (true) {
    const Result<ClientAnswer> answer = ask(session.client(), look);
    if (!answer) {
      session.complain(answer.error().detail);
      return kExitFailure;
    }
    if (answer->status == 404) break;
    if (answer->status != 200) {
      session.complain(*answer);
      return kExitFailure;
    }
    if (time_out.count() > 0 && std::chrono::steady_clock::now() - begin >= time_out) {
      session.complain("the command " + id + " has not ended yet");
      return kExitFailure;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
  ClientRequest request;
  request.path = look.path + "/history";
  const std::optional<Json> message = session.ask(request);
  if (!message) return kExitFailure;
  if (!session.json()) print(describe(*message));
  return message->at("outcome") == "executed" ? kExitOk : kExitFailure;
}

int send(const Parsed& parsed) {
  const Result<device::DeviceMessage> message = message_of(parsed);
  if (!message) return complain(parsed, message.error());
  const Result<Duration> time_out = parsed.duration("--time-out", Duration(0));
  if (!time_out) return complain(parsed, time_out.error());
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "POST";
  request.path = "/message/enqueue";
  request.body = device::encode_device_message(*message);
  const bool waits = parsed.has("--wait");
  const std::optional<Json> accepted = session->ask(request, !waits);
  if (!accepted) return kExitFailure;
  if (waits) return wait_for_outcome(*session, accepted->at("id"), *time_out);
  if (!session->json()) print(shown(accepted->at("id")) + "\n");
  return kExitOk;
}

Result<std::string> mint_of(const Parsed& parsed) {
  device::Mint mint;
  POSTRIDER_TRY(type, command_of(parsed.operands[0]));
  mint.type = type;
  mint.meter = parsed.operands[1];
  mint.plugin = parsed.text("--plugin");
  mint.correlation = parsed.text("--correlation");
  mint.issued = wall_now();
  if (const std::string* issued = parsed.find("--issued")) {
    const auto time = parse_moment(*issued);
    if (!time) return fail(ErrorCode::kInvalid, "--issued is a time like 2026-08-12T14:30:00Z");
    mint.issued = *time;
  }
  const auto number = [&](const char* option) {
    return device::parse_decimal(parsed.text(option));
  };
  if (parsed.has("--kwh") && !(mint.kwh = number("--kwh")))
    return fail(ErrorCode::kInvalid, "--kwh is a number");
  if (parsed.has("--power-limit") && !(mint.power_limit = number("--power-limit")))
    return fail(ErrorCode::kInvalid, "--power-limit is a number");
  if (const std::string* key = parsed.find("--decoder-key")) {
    if (*key != "-" && !key->starts_with('@'))
      return fail(ErrorCode::kInvalid, "--decoder-key is @FILE or -: keys are not for the screen");
    POSTRIDER_TRY(bytes, read_file(*key == "-" ? *key : key->substr(1), device::kIdBytesMax));
    while (!bytes.empty() && static_cast<unsigned char>(bytes.back()) <= ' ') bytes.pop_back();
    mint.decoder_key = std::move(bytes);
  }
  std::string text = device::encode_mint(mint);
  POSTRIDER_TRY(checked,
                device::parse_mint(text));  // what is wrong is told before anything is sent
  return device::encode_mint(checked);
}

int token(const Parsed& parsed) {
  const Result<std::string> body = mint_of(parsed);
  if (!body) return complain(parsed, body.error());
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "POST";
  request.path = "/token/generate";
  request.patience = kTokenPatience;
  request.body = *body;
  const std::optional<Json> answer = session->ask(request);
  if (!answer) return kExitFailure;
  if (!session->json()) print(shown(answer->at("token")) + "\n");
  return kExitOk;
}

int show(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.path = path_of(parsed.operands[0], "", parsed);
  const std::optional<Json> message = session->ask(request);
  if (!message) return kExitFailure;
  if (!session->json()) print(describe(*message) + explained(*session, *message));
  return kExitOk;
}

int history(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.path = path_of(parsed.operands[0], "history", parsed);
  const std::optional<Json> message = session->ask(request);
  if (!message) return kExitFailure;
  if (!session->json()) print(describe_history(*message, wall_now()));
  return kExitOk;
}

int cancel(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "POST";
  request.path = "/messages/cancel";
  for (const std::string& id : parsed.operands)
    request.body.append(request.body.empty() ? "" : ",").append(json_text(id));
  request.body = "{\"correlationIds\":[" + request.body + "]}";
  const std::optional<Json> answer = session->ask(request);
  if (!answer) return kExitFailure;
  for (const Json& one : answer->items) {
    const std::string result = shown(one.at("result"));
    if (result != "CANCELLED") code = kExitFailure;
    if (!session->json()) print(shown(one.at("correlationId")) + ": " + result + "\n");
  }
  return code;
}

// What a queue holds.
struct Depth {
  std::string name;
  std::string health;
  std::string reason;
  std::uint64_t messages = 0;
  std::uint64_t under_way = 0;  // handed over, and not ended
  std::uint64_t retrying = 0;
  Timestamp oldest;  // unset: it is empty
  Timestamp next;    // of those that wait for a turn; unset: nothing waits for a time
  bool cut = false;  // there are more than were counted
};

void count(Depth& depth, const Json& message) {
  const std::string phase = message.at("phase");
  ++depth.messages;
  if (phase == "in-flight" || phase == "awaiting") ++depth.under_way;
  if (phase == "backoff") ++depth.retrying;
  const auto accepted = parse_moment(message.at("accepted_at"));
  if (accepted && (!depth.oldest.is_set() || *accepted < depth.oldest)) depth.oldest = *accepted;
  const auto next = parse_moment(message.at("next_at"));
  const bool waits = phase == "queued" || phase == "backoff";
  if (waits && next && (!depth.next.is_set() || *next < depth.next)) depth.next = *next;
}

bool count_messages(const Session& session, Depth& depth) {
  std::string next;
  for (std::uint64_t pages = 0; pages < kPagesMax; ++pages) {
    ClientRequest request;
    request.path = "/v1/messages?limit=1000&destination=" + percent_encode(depth.name);
    if (!next.empty()) request.path += "&cursor=" + percent_encode(next);
    const std::optional<Json> page = session.ask(request, false);
    if (!page) return false;
    for (const Json& message : page->list("messages")) count(depth, message);
    next = page->at("next");
    if (next.empty()) return true;
  }
  depth.cut = true;
  return true;
}

// The queues of all plugins, or those that were asked for.
std::optional<std::vector<Depth>> find_queues(const Session& session, const Parsed& parsed) {
  std::vector<Depth> out;
  std::string prefix = parsed.text("--plugin");
  if (!prefix.empty()) prefix += ".";
  if (!parsed.operands.empty()) prefix = parsed.operands[0];
  std::string next;
  do {
    ClientRequest request;
    request.path = "/v1/destinations?limit=1000&prefix=" + percent_encode(prefix);
    if (!next.empty()) request.path += "&cursor=" + percent_encode(next);
    const std::optional<Json> page = session.ask(request, false);
    if (!page) return std::nullopt;
    for (const Json& one : page->list("destinations")) {
      if (one.at("profile") != "device") continue;
      if (!parsed.operands.empty() && one.at("name") != parsed.operands[0]) continue;
      out.push_back(
          {.name = one.at("name"), .health = one.at("health"), .reason = one.at("reason")});
    }
    next = page->at("next");
  } while (!next.empty());
  return out;
}

std::string json_of(const Depth& depth) {
  std::string out =
      "{\"queue\":" + json_text(depth.name) + ",\"health\":" + json_text(depth.health);
  if (!depth.reason.empty()) out += ",\"reason\":" + json_text(depth.reason);
  out += ",\"depth\":" + std::to_string(depth.messages);
  out += ",\"in_flight\":" + std::to_string(depth.under_way);
  out += ",\"to_retry\":" + std::to_string(depth.retrying);
  if (depth.oldest.is_set()) out += ",\"oldest_at\":" + json_text(to_rfc3339(depth.oldest));
  if (depth.next.is_set()) out += ",\"next_slot_at\":" + json_text(to_rfc3339(depth.next));
  if (depth.cut) out += ",\"at_least\":true";
  return out + "}";
}

int look_at_queues(const Parsed& parsed, const Session& session, std::string& text) {
  std::optional<std::vector<Depth>> queues = find_queues(session, parsed);
  if (!queues) return kExitFailure;
  if (queues->empty() && !parsed.operands.empty()) {
    session.complain("there is no queue '" + parsed.operands[0] +
                     "'; 'postrider device queue' lists them");
    return kExitFailure;
  }
  const Timestamp now = wall_now();
  Table table(
      {"QUEUE", "HEALTH", "DEPTH", "IN FLIGHT", "TO RETRY", "OLDEST", "NEXT SLOT", "REASON"});
  std::string json;
  for (Depth& depth : *queues) {
    if (!count_messages(session, depth)) return kExitFailure;
    json.append(json.empty() ? "" : ",").append(json_of(depth));
    const auto moment = [&](Timestamp at) {
      return at.is_set() ? moment_text(to_rfc3339(at), now) : std::string();
    };
    table.add({{shown(depth.name)},
               {shown(depth.health), colour_of_health(depth.health)},
               {std::to_string(depth.messages) + (depth.cut ? "+" : "")},
               {std::to_string(depth.under_way)},
               {std::to_string(depth.retrying)},
               {moment(depth.oldest)},
               {moment(depth.next)},
               {shown(depth.reason, 100), Colour::kFaint}});
  }
  if (session.json()) {
    text = "{\"queues\":[" + json + "]}\n";
  } else {
    text = table.empty() ? "none\n" : table.text();
  }
  return kExitOk;
}

int queue(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  return postrider::show(parsed, *session, [&parsed](const Session& asked, std::string& text) {
    return look_at_queues(parsed, asked, text);
  });
}

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"send", {"COMMAND METER", 2, 2}, "Hands a command for a device over and prints its id.", kSendOptions, true, send, kSendMore},
    {"show", {"ID", 1, 1}, "Shows a command that lives, and why it is where it is. ID is a correlation id or the id of a message.", kPhaseOptions, true, show},
    {"history", {"ID", 1, 1}, "Shows what became of a command, until 7 days after its end.", kPhaseOptions, true, history},
    {"cancel", {"ID…", 1, 1000}, "Cancels commands that wait; fails unless all were.", {}, true, cancel},
    {"token", {"TYPE METER", 2, 2}, "Has a token made for a meter, and prints it.", kTokenOptions, true, token, kTokenMore},
    {"queue", {"[NAME]", 0, 1}, "Shows the queues of networks and gateways, and what they hold.", kQueueOptions, true, queue},
});
// clang-format on

}  // namespace

namespace device_door {

int run_device(Arguments arguments) { return run_verbs("device", kVerbTable, arguments); }

}  // namespace device_door

}  // namespace postrider
