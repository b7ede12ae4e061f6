#include "postrider/doors/rpc/cli.h"

#include <array>
#include <optional>
#include <string>

#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"

namespace postrider::rpc_door {
namespace {

constexpr std::size_t kBodyBytesMax = 16U << 20;
constexpr std::uint64_t kWaitUsual = 60;
constexpr std::uint64_t kWaitMax = 600;
constexpr Duration kMargin{10'000};  // beyond the wait, for the answer itself

constexpr auto kCallOptions = std::to_array<OptionRow>({
    {"--content-type", "TYPE", "of the body (application/json)"},
    {"--wait", "SECONDS", "for the outcome, up to 600 (60)"},
    {"--idempotency-key", "KEY", "the operation id: the same key again gets the same outcome"},
});
constexpr std::string_view kCallMore =
    "BODY is a text, @FILE, or - for the standard input; without one the call has no arguments.\n"
    "The outcome is printed as the handler answered it. The exit code is 0 for a value; 1 for the\n"
    "application's failure, for an operation that is indeterminate or was given up, and for one "
    "that\n"
    "has not ended. Its id and how the answer came about go to the standard error.\n";
constexpr auto kWaitOptions = std::to_array<OptionRow>({
    {"--wait", "SECONDS", "for the outcome, up to 600 (60)"},
});
constexpr auto kListOptions = std::to_array<OptionRow>({kLimitRow, kCursorRow, kAllRow, kWatchRow});

std::string operation_path(const std::string& key, std::string_view verb = "") {
  std::string path = "/v1/operations/" + percent_encode(key);
  if (!verb.empty()) path.append("/").append(verb);
  return path;
}

// Prints an outcome as it is; a problem is a complaint.
int print_outcome(const Parsed& parsed, const Session& session, const ClientRequest& request) {
  const Result<ClientAnswer> answer = ask(session.client(), request);
  if (!answer) {
    session.complain(answer.error().detail);
    return kExitFailure;
  }
  const std::string_view id = answer->header("operation-id");
  const std::string_view origin = answer->header("operation-origin");
  const bool is_problem =
      answer->header("content-type").find("application/problem+json") != std::string_view::npos;
  if (!id.empty())
    complain(parsed.command, "operation " + shown(id) + (origin.empty() ? "" : ", ") +
                                 shown(origin) + ", status " + std::to_string(answer->status));
  if (is_problem) {
    session.complain(*answer);
    return kExitFailure;
  }
  if (answer->status == 202) {
    complain(parsed.command, "it has not ended; 'postrider op wait " + shown(id) + "' waits on");
    return kExitFailure;
  }
  print(answer->body);
  if (!answer->body.empty() && answer->body.back() != '\n') print("\n");
  return answer->status / 100 == 2 ? kExitOk : kExitFailure;
}

int call(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const auto wait = parsed.number("--wait", kWaitUsual, 0, kWaitMax);
  if (!wait) return complain(parsed, wait.error());
  ClientRequest request;
  request.method = "POST";
  request.path = "/v1/services/" + percent_encode(parsed.operands[0]) + "/" +
                 percent_encode(parsed.operands[1]);
  if (parsed.operands.size() > 2) {
    const std::string& given = parsed.operands[2];
    request.body = given;
    if (given == "-" || given.starts_with('@')) {
      auto bytes = read_file(given == "-" ? given : given.substr(1), kBodyBytesMax);
      if (!bytes) return complain(parsed, bytes.error());
      request.body = std::move(*bytes);
    }
  }
  request.content_type = parsed.text("--content-type", "application/json");
  request.headers.emplace_back("Prefer", "wait=" + std::to_string(*wait));
  request.patience = Duration(1000 * static_cast<std::int64_t>(*wait)) + kMargin;
  add_key(parsed, request);
  return print_outcome(parsed, *session, request);
}

std::vector<Table::Cell> operation_row(const Json& item, Timestamp now) {
  return {{shown(item.at("id"))},
          {shown(item.at("state"))},
          {shown(item.at("attempts")), Colour::kPlain, true},
          {moment_text(item.at("accepted_at"), now)},
          {shown(item.at("reason"))}};
}

int list(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  return session->list(parsed, "/v1/messages?destination=" + percent_encode(parsed.operands[0]),
                       "messages", Table({"MESSAGE", "STATE", "STARTS", "ADMITTED", "REASON"}),
                       operation_row);
}

// The message of an operation, explained.
int show(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.path = operation_path(parsed.operands[0]);
  const std::optional<Json> operation = session->ask(request, false);
  if (!operation) return kExitFailure;
  request.path = message_path(operation->at("id"), "explain");
  const std::optional<Json> message = session->ask(request);
  if (!message) return kExitFailure;
  if (!session->json()) print(explain_message(*message, wall_now()));
  return kExitOk;
}

int wait(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const auto seconds = parsed.number("--wait", kWaitUsual, 0, kWaitMax);
  if (!seconds) return complain(parsed, seconds.error());
  ClientRequest request;
  request.path =
      operation_path(parsed.operands[0], "outcome") + "?wait=" + std::to_string(*seconds);
  request.patience = Duration(1000 * static_cast<std::int64_t>(*seconds)) + kMargin;
  return print_outcome(parsed, *session, request);
}

int cancel(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "DELETE";
  request.path = operation_path(parsed.operands[0]);
  const std::optional<Json> answer = session->ask(request);
  if (!answer) return kExitFailure;
  if (!session->json()) print(answer_words(*answer) + "\n");
  return kExitOk;
}

// clang-format off
constexpr Command kCall = {"call", {"SERVICE METHOD [BODY]", 2, 3}, "Calls a method of a service, and prints the outcome.", kCallOptions, true, call, kCallMore};
constexpr auto kVerbTable = std::to_array<Command>({
    {"ls", {"SERVICE", 1, 1}, "Lists operations of a service that have not ended.", kListOptions, true, list},
    {"show", {"KEY", 1, 1}, "Says where an operation is, and why.", {}, true, show},
    {"wait", {"KEY", 1, 1}, "Waits for the outcome of an operation, and prints it.", kWaitOptions, true, wait},
    {"cancel", {"KEY", 1, 1}, "Gives a volatile operation up; a persist one goes on.", {}, true, cancel},
});
// clang-format on

}  // namespace

int run_call(Arguments arguments) { return run_command("", kCall, arguments); }
int run_op(Arguments arguments) { return run_verbs("op", kVerbTable, arguments); }

}  // namespace postrider::rpc_door
