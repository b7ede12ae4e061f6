// postrider send: hands a message over, and waits for its end if asked to.
#include "apps/postrider/send.h"

#include <algorithm>
#include <array>
#include <span>
#include <unistd.h>

#include "apps/postrider/commands.h"
#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"
#include "postrider/protocols/web/base64.h"

namespace postrider {
namespace {

constexpr std::size_t kBodyBytesMax = 16U << 20;  // what any daemon could be told to take
constexpr std::uint64_t kLaneMax = 15;
constexpr std::uint64_t kPriorityMax = 65535;

constexpr auto kOptions = std::to_array<OptionRow>({
    {"--to", "NAME,NAME…", "instead of DESTINATION: one message for each of them, for all or none",
     true},
    {"--skip-closed", "", "with --to: leave out destinations that take no new messages"},
    kSendContentType,
    kSendHeader,
    kSendLane,
    kSendPriority,
    kSendOrderKey,
    kSendEventId,
    kSendDelay,
    kSendExpiresIn,
    kKeyRow,
    {"--wait", "", "until the message has ended; fails unless it was delivered"},
    {"--time-out", "DURATION", "with --wait: not longer than this"},
});
constexpr std::string_view kMore =
    "BODY is a text, @FILE, or - for the standard input, which is read too when there is none.\n"
    "The message is durable when its id is printed. With --to the id of the whole is printed, "
    "then\n"
    "a line for each destination: its message and its name; a name that no destination has is "
    "made\n"
    "like its template.\n";

// The body and how it is written in JSON.
Result<std::string> body_member(const Parsed& parsed, std::size_t operand) {
  const std::string given = parsed.operands.size() > operand ? parsed.operands[operand] : "-";
  std::string body = given;
  if (given == "-" && isatty(STDIN_FILENO) == 1)
    complain(parsed.command,
             "reads the body from the terminal; Ctrl-D at the start of a line ends it");
  if (given == "-" || given.starts_with('@')) {
    POSTRIDER_TRY(bytes, read_file(given == "-" ? given : given.substr(1), kBodyBytesMax));
    body = std::move(bytes);
  }
  if (is_utf8_text(body)) return "\"body\":" + json_text(body);
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(body.data()), body.size());
  return "\"body_base64\":" + json_text(base64_encode(bytes));
}

Result<std::string> headers_member(const Parsed& parsed) {
  std::string members;
  for (const std::string& header : parsed.all("--header")) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos || colon == 0)
      return fail(ErrorCode::kInvalid, "--header is NAME:VALUE");
    std::string_view value = std::string_view(header).substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    members.append(members.empty() ? "" : ",").append(json_text(header.substr(0, colon)));
    members.append(":").append(json_text(value));
  }
  return members.empty() ? members : ",\"headers\":{" + members + "}";
}

// The members of the JSON object, without braces.
Result<std::string> send_members(const Parsed& parsed, std::size_t body_operand) {
  POSTRIDER_TRY(lane, parsed.number("--lane", 0, 0, kLaneMax));
  POSTRIDER_TRY(priority, parsed.number("--priority", 0, 0, kPriorityMax));
  POSTRIDER_TRY(headers, headers_member(parsed));
  for (const std::string_view name : {"--delay", "--expires-in", "--time-out"}) {
    POSTRIDER_TRY(duration, parsed.duration(name, Duration(0)));
    static_cast<void>(duration);
  }
  POSTRIDER_TRY(body, body_member(parsed, body_operand));
  std::string text = body + headers;
  if (lane != 0) text += ",\"lane\":" + std::to_string(lane);
  if (priority != 0) text += ",\"priority\":" + std::to_string(priority);
  for (const auto& [option, member] :
       {std::pair("--content-type", "content_type"), std::pair("--order-key", "order_key"),
        std::pair("--event-id", "event_id"), std::pair("--delay", "delay"),
        std::pair("--expires-in", "expires_in")}) {
    if (const std::string* value = parsed.find(option))
      text.append(",\"").append(member).append("\":").append(json_text(*value));
  }
  return text;
}

// Names have no commas.
std::vector<std::string> names_of(const std::vector<std::string>& given) {
  std::vector<std::string> names;
  for (std::string_view rest : given) {
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (comma > 0) names.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  return names;
}

int send_list(const Parsed& parsed) {
  if (parsed.operands.size() > 1)
    return complain(parsed, {ErrorCode::kInvalid, "with --to there is no DESTINATION"});
  if (parsed.has("--wait"))
    return complain(parsed, {ErrorCode::kInvalid, "--wait is for one destination"});
  Handover what{.path = "/v1/messages", .members = "\"to\":[", .body = 0};
  for (const std::string& name : names_of(parsed.all("--to")))
    what.members.append(what.members.ends_with('[') ? "" : ",").append(json_text(name));
  what.members += "]";
  if (parsed.has("--skip-closed")) what.members += ",\"skip_closed\":true";
  return hand_over(parsed, what, [](const Session& session, const Json& accepted) {
    if (!session.json()) print_fanout(accepted);
    return kExitOk;
  });
}

int send(const Parsed& parsed) {
  if (parsed.has("--to")) return send_list(parsed);
  if (parsed.operands.empty())
    return complain(parsed, {ErrorCode::kInvalid, "it needs DESTINATION [BODY], or --to"});
  if (parsed.has("--skip-closed"))
    return complain(parsed, {ErrorCode::kInvalid, "--skip-closed is for --to"});
  const bool waits = parsed.has("--wait");
  const Handover what{.path = "/v1/messages",
                      .members = "\"destination\":" + json_text(parsed.operands[0]),
                      .prints = !waits};
  return hand_over(parsed, what, [&](const Session& session, const Json& accepted) {
    const std::string id = accepted.at("id");
    if (waits) {
      return wait_for_end(session, id,
                          parsed.duration("--time-out", Duration(0)).value_or(Duration(0)));
    }
    if (!session.json()) print(shown(id) + "\n");
    return kExitOk;
  });
}

constexpr Command kCommand = {"send",
                              {"[DESTINATION] [BODY]", 0, 2},
                              "Sends a message and prints its id.",
                              kOptions,
                              true,
                              send,
                              kMore};

}  // namespace

void print_fanout(const Json& accepted) {
  print(shown(accepted.at("id")) + "\n");
  for (const Json& member : accepted.list("members"))
    print(shown(member.at("message")) + " " + shown(member.at("destination")) + "\n");
  for (const Json& name : accepted.list("skipped")) print("left out: " + shown(name.text) + "\n");
}

int hand_over(const Parsed& parsed, const Handover& what,
              const std::function<int(const Session&, const Json&)>& then) {
  const Result<std::string> members = send_members(parsed, what.body);
  if (!members && members.error().code == ErrorCode::kInvalid)
    return complain(parsed, members.error());
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  if (!members) {
    session->complain(members.error().detail);
    return kExitFailure;
  }
  ClientRequest request;
  request.method = "POST";
  request.path = what.path;
  request.body = "{" + what.members + (what.members.empty() ? "" : ",") + *members + "}";
  add_key(parsed, request);
  const std::optional<Json> accepted = session->ask(request, what.prints);
  return accepted ? then(*session, *accepted) : kExitFailure;
}

int run_send(Arguments arguments) { return run_command("", kCommand, arguments); }

}  // namespace postrider
