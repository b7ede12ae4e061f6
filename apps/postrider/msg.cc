// postrider msg ls | get | explain | timeline | cancel | retry | resend, postrider explain:
// messages and where they are.
#include <array>

#include "apps/postrider/commands.h"
#include "apps/postrider/job.h"
#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"

namespace postrider {
namespace {

constexpr auto kListOptions = std::to_array<OptionRow>({
    {"--destination", "NAME", "of this destination only"},
    {"--phase", "PHASE", "queued, in-flight, awaiting, backoff or parked"},
    {"--older-than", "DURATION", "accepted at least so long ago"},
    kLimitRow,
    kCursorRow,
    kAllRow,
    kWatchRow,
});
constexpr auto kGetOptions =
    std::to_array<OptionRow>({{"--body", "", "the body as it is, and nothing else"}});
constexpr auto kCommandOptions = std::to_array<OptionRow>({kKeyRow});
constexpr auto kResendOptions = std::to_array<OptionRow>({kEvenIfItRan, kKeyRow});

std::vector<Table::Cell> row_of(const Json& message, Timestamp now) {
  const std::string phase = shown(message.at("phase"));
  const std::string at = message.at("next_at");
  return {{shown(message.at("id"))},
          {shown(message.at("destination"))},
          {phase, colour_of_phase(phase)},
          {message.at("attempts")},
          {moment_text(message.at("accepted_at"), now)},
          {shown(message.at("next")) + (at.empty() ? "" : " " + moment_text(at, now))},
          {shown(message.at("why"), 100), Colour::kFaint}};
}

int list(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const std::string query = query_of(
      parsed,
      {{"--destination", "destination"}, {"--phase", "phase"}, {"--older-than", "older_than"}});
  Table table({"ID", "DESTINATION", "PHASE", "ATTEMPTS", "ACCEPTED", "NEXT", "WHY"});
  return session->list(parsed, "/v1/messages" + query, "messages", std::move(table), row_of);
}

int show(const Parsed& parsed, std::string_view verb,
         std::string (*describe)(const Json& message, Timestamp now)) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const bool body = parsed.has("--body");
  ClientRequest request;
  request.path = message_path(parsed.operands[0], verb) + (body ? "?body=true" : "");
  const std::optional<Json> message = session->ask(request);
  if (!message) return kExitFailure;
  if (session->json()) return kExitOk;
  if (body) return print_body(*session, *message);
  print(describe(*message, wall_now()));
  return kExitOk;
}

std::string describe_timeline(const Json& timeline, Timestamp now) {
  Table table({"WHEN", "WHAT", "DETAIL"});
  for (const Json& entry : timeline.list("entries")) {
    table.add({{moment_long(entry.at("at"), now)},
               {shown(entry.at("what"))},
               {shown(entry.at("detail"))}});
  }
  return table.empty() ? "none\n" : table.text();
}

int get(const Parsed& parsed) { return show(parsed, "", describe_message); }
int explain(const Parsed& parsed) { return show(parsed, "explain", explain_message); }
int timeline(const Parsed& parsed) { return show(parsed, "timeline", describe_timeline); }
int cancel(const Parsed& parsed) { return command_each(parsed, "POST", "/v1/messages/", "cancel"); }
int resend(const Parsed& parsed) {
  const std::string_view query = parsed.has(kEvenIfItRan.name) ? kEvenIfItRanQuery : "";
  return command_each(parsed, "POST", "/v1/messages/", std::string("resend").append(query));
}
int retry(const Parsed& parsed) { return command_each(parsed, "POST", "/v1/messages/", "retry"); }

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"ls", {}, "Lists messages that have not ended.", kListOptions, true, list},
    {"get", {"ID", 1, 1}, "Shows a message.", kGetOptions, true, get},
    {"explain", {"ID", 1, 1}, "Says where a message is, why, and what comes next.", {}, true, explain},
    {"timeline", {"ID", 1, 1}, "Shows what happened to a message so far.", {}, true, timeline},
    {"cancel", {"ID…", 1, kOperandsMax}, "Ends messages without delivering them.", kCommandOptions, true, cancel},
    {"retry", {"ID…", 1, kOperandsMax}, "Does not wait any longer for the next attempt.", kCommandOptions, true, retry},
    {"resend", {"ID…", 1, kOperandsMax}, "Sends the content of messages again, each as a new message.", kResendOptions, true, resend,
     "Of messages that live, of dead letters, and of whatever ended at a destination with the setting\n"
     "history = on. The old ones stay as they are.\n"
     "By a filter: postrider job run resend --destination NAME --since 2h\n"},
});
constexpr Command kExplain = {"explain", {"ID", 1, 1}, "Says where a message is, why, and what comes next.", {}, true, explain};
// clang-format on

}  // namespace

int run_explain(Arguments arguments) { return run_command("", kExplain, arguments); }
int run_msg(Arguments arguments) { return run_verbs("msg", kVerbTable, arguments); }

}  // namespace postrider
