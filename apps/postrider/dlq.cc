// postrider dlq ls | groups | show | redrive | drop | export | import: dead letters.
#include <algorithm>
#include <array>
#include <map>

#include "apps/postrider/commands.h"
#include "apps/postrider/dlq_files.h"
#include "apps/postrider/job.h"
#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"

namespace postrider {
namespace {

constexpr auto kListOptions =
    std::to_array<OptionRow>({kJobDestination, kLimitRow, kCursorRow, kAllRow, kWatchRow});
constexpr auto kShowOptions =
    std::to_array<OptionRow>({{"--body", "", "the body as it is, and nothing else"}});
constexpr auto kDropOptions = std::to_array<OptionRow>(
    {kJobDestination, kJobPrefix, kJobPhase, kJobCause, kJobSince, kJobUntil, kJobReasonPrefix,
     kJobAll, kJobRate, kJobDryRun, kJobReason, kKeyRow});
constexpr auto kRedriveOptions = std::to_array<OptionRow>(
    {kJobDestination, kJobPrefix, kJobPhase, kJobCause, kJobSince, kJobUntil, kJobReasonPrefix,
     kJobAll, kJobRate, kJobEvery, kJobDryRun, kJobReason, kEvenIfItRan, kKeyRow});
constexpr auto kImportOptions = std::to_array<OptionRow>({kEvenIfItRan});
constexpr auto kGroupOptions = std::to_array<OptionRow>({kJobDestination, kLimitRow, kWatchRow});

std::vector<Table::Cell> row_of(const Json& letter, Timestamp now) {
  const std::string phase = shown(letter.at("phase"));
  const std::string destination = shown(letter.at("destination"));
  return {{shown(letter.at("id"))},
          {destination.empty() ? "(gone)" : destination},
          {phase, colour_of_phase(phase)},
          {moment_text(letter.at("at"), now)},
          {letter.at("attempts")},
          {shown(letter.at("cause"))},
          {shown(letter.at("reason"), 100), Colour::kFaint}};
}

// Letters know the numbers of their destinations.
bool add_names(const Session& session, std::vector<Json>& letters) {
  if (letters.empty()) return true;
  std::map<std::string, std::string> names;
  const bool known = session.walk("/v1/destinations", "destinations", [&](const Json& item) {
    names[item.at("destination_id")] = item.at("name");
  });
  if (!known) return false;
  for (Json& letter : letters) {
    const auto found = names.find(letter.at("destination_id"));
    if (found == names.end()) continue;
    letter.names.emplace_back("destination");
    letter.items.push_back(
        {.kind = Json::Kind::kText, .text = found->second, .items = {}, .names = {}});
  }
  return true;
}

int list(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  Table table({"ID", "DESTINATION", "PHASE", "WHEN", "ATTEMPTS", "CAUSE", "REASON"});
  std::string path = "/v1/dead-letters";
  if (const std::string* name = parsed.find("--destination")) {
    ClientRequest request;
    request.path = "/v1/destinations/" + percent_encode(*name);
    const std::optional<Json> destination = session->ask(request, false);
    if (!destination) return kExitFailure;
    path += "?destination_id=" + percent_encode(destination->at("destination_id"));
  }
  return session->list(parsed, path, "dead_letters", std::move(table), row_of,
                       {.by = {}, .complete = add_names});
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

std::vector<Table::Cell> group_row(const Json& group, Timestamp now) {
  const std::string phase = shown(group.at("phase"));
  const std::string destination = shown(group.at("destination"));
  return {{destination.empty() ? "(gone)" : destination},
          {phase, colour_of_phase(phase)},
          {shown(group.at("cause"))},
          {group.at("count")},
          {moment_text(group.at("first_at"), now)},
          {moment_text(group.at("last_at"), now)},
          {shown(group.at("reason"), 60), Colour::kFaint},
          {shown(group.at("example")), Colour::kFaint}};
}

std::string describe_groups(const Json& list) {
  Table table({"DESTINATION", "PHASE", "CAUSE", "COUNT", "FIRST", "LAST", "REASON", "EXAMPLE"});
  for (const Json& group : list.list("groups")) table.add(group_row(group, wall_now()));
  std::string text = table.empty() ? "none\n" : table.text();
  if (list.at("unlisted_groups") != "0")
    text += list.at("unlisted_groups") + " more groups: --limit\n";
  if (list.at("others") != "0")
    text += list.at("others") + " letters of groups that have no place of their own\n";
  return text;
}

int groups(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.path = "/v1/dead-letters/groups" +
                 query_of(parsed, {{"--destination", "destination"}, {"--limit", "limit"}});
  return postrider::show(parsed, *session, [&request](const Session& asked, std::string& text) {
    const std::optional<Json> list = asked.ask(request);
    if (!list) return kExitFailure;
    if (!asked.json()) text = describe_groups(*list);
    return kExitOk;
  });
}

// By ids, one by one and at once; or by a filter, as a job.
int by_ids_or_job(const Parsed& parsed, std::string_view action, std::string_view method,
                  std::string_view verb) {
  const bool filtered =
      std::any_of(kRedriveOptions.begin(), kRedriveOptions.end(), [&parsed](const OptionRow& row) {
        const bool filters = row.name != kKeyRow.name && row.name != kEvenIfItRan.name;
        return filters && parsed.has(row.name);
      });
  if (filtered && !parsed.operands.empty())
    return usage_error(parsed.command, "give ids or a filter, not both");
  if (filtered) return start_job(parsed, {.action = action});
  if (parsed.operands.empty())
    return usage_error(parsed.command,
                       "say which: ids, or a filter like --destination NAME, or --all");
  const std::string_view query = parsed.has(kEvenIfItRan.name) ? kEvenIfItRanQuery : "";
  return command_each(parsed, method, "/v1/dead-letters/", std::string(verb).append(query));
}

int redrive(const Parsed& parsed) { return by_ids_or_job(parsed, "redrive", "POST", "redrive"); }
int drop(const Parsed& parsed) { return by_ids_or_job(parsed, "drop", "DELETE", ""); }

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"ls", {}, "Lists dead letters.", kListOptions, true, list},
    {"show", {"ID", 1, 1}, "Shows a dead letter.", kShowOptions, true, show},
    {"groups", {}, "Counts dead letters by destination, phase and cause.", kGroupOptions, true, groups},
    {"redrive", {"[ID…]", 0, kOperandsMax}, "Sends dead letters again, each as a new message: these, or by a job those that the options name.", kRedriveOptions, true, redrive},
    {"drop", {"[ID…]", 0, kOperandsMax}, "Forgets dead letters: these, or by a job those that the options name.", kDropOptions, true, drop},
    {"export", {}, "Prints all dead letters with their bodies, one JSON object per line.", {}, true, export_letters},
    {"import", {"FILE", 1, 1}, "Makes a new message of each line of an export, once; - is the standard input.", kImportOptions, true, import_letters},
});
// clang-format on

}  // namespace

int run_dlq(Arguments arguments) { return run_verbs("dlq", kVerbTable, arguments); }

}  // namespace postrider
