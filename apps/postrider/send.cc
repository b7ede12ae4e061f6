// postrider send: hands a message over, and waits for its end if asked to.
#include "apps/postrider/send.h"

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
    "The message is durable when its id is printed.\n";

// The body and how it is written in JSON.
Result<std::string> body_member(const Parsed& parsed) {
  const std::string given = parsed.operands.size() > 1 ? parsed.operands[1] : "-";
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
Result<std::string> send_members(const Parsed& parsed) {
  POSTRIDER_TRY(lane, parsed.number("--lane", 0, 0, kLaneMax));
  POSTRIDER_TRY(priority, parsed.number("--priority", 0, 0, kPriorityMax));
  POSTRIDER_TRY(headers, headers_member(parsed));
  for (const std::string_view name : {"--delay", "--expires-in", "--time-out"}) {
    POSTRIDER_TRY(duration, parsed.duration(name, Duration(0)));
    static_cast<void>(duration);
  }
  POSTRIDER_TRY(body, body_member(parsed));
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

int send(const Parsed& parsed) {
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
                              {"DESTINATION [BODY]", 1, 2},
                              "Sends a message and prints its id.",
                              kOptions,
                              true,
                              send,
                              kMore};

}  // namespace

int hand_over(const Parsed& parsed, const Handover& what,
              const std::function<int(const Session&, const Json&)>& then) {
  const Result<std::string> members = send_members(parsed);
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
