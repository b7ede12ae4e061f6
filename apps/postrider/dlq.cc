// postrider dlq ls | show | redrive | drop: dead letters.
#include <array>

#include "apps/postrider/messages.h"
#include "apps/postrider/output.h"
#include "apps/postrider/session.h"

namespace postrider {
namespace {

constexpr auto kListOptions = std::to_array<OptionRow>({kLimitRow, kCursorRow, kAllRow, kWatchRow});
constexpr auto kShowOptions =
    std::to_array<OptionRow>({{"--body", "", "the body as it is, and nothing else"}});
constexpr auto kCommandOptions = std::to_array<OptionRow>({kKeyRow});

std::vector<Table::Cell> row_of(const Json& letter, Timestamp now) {
  const std::string phase = shown(letter.at("phase"));
  return {{shown(letter.at("id"))},
          {phase, colour_of_phase(phase)},
          {moment_text(letter.at("at"), now)},
          {letter.at("attempts")},
          {shown(letter.at("cause"))},
          {shown(letter.at("reason"), 100), Colour::kFaint}};
}

int list(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  Table table({"ID", "PHASE", "WHEN", "ATTEMPTS", "CAUSE", "REASON"});
  return session->list(parsed, "/v1/dead-letters", "dead_letters", std::move(table), row_of);
}

int show(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const bool body = parsed.has("--body");
  ClientRequest request;
  request.path = "/v1/dead-letters/" + percent_encode(parsed.operands[0]);
  if (body) request.path += "?body=true";
  const std::optional<Json> letter = session->ask(request);
  if (!letter) return kExitFailure;
  if (session->json()) return kExitOk;
  if (body) return print_body(*session, *letter);
  print(describe_message(*letter, wall_now()));
  return kExitOk;
}

int redrive(const Parsed& parsed) {
  return command_each(parsed, "POST", "/v1/dead-letters/", "redrive");
}
int drop(const Parsed& parsed) { return command_each(parsed, "DELETE", "/v1/dead-letters/", ""); }

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"ls", {}, "Lists dead letters.", kListOptions, true, list},
    {"show", {"ID", 1, 1}, "Shows a dead letter.", kShowOptions, true, show},
    {"redrive", {"ID…", 1, kOperandsMax}, "Sends dead letters again, each as a new message.", kCommandOptions, true, redrive},
    {"drop", {"ID…", 1, kOperandsMax}, "Forgets dead letters.", kCommandOptions, true, drop},
});
// clang-format on

}  // namespace

int run_dlq(Arguments arguments) { return run_verbs("dlq", kVerbTable, arguments); }

}  // namespace postrider
