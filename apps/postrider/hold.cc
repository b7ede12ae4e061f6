// postrider hold put | ls | rm: pause everything that a rule fits.
#include <array>

#include "apps/postrider/commands.h"
#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"
#include "postrider/json/json_writer.h"

namespace postrider {
namespace {

constexpr auto kPutOptions = std::to_array<OptionRow>({
    {"--reason", "TEXT", "why; it appears in explain"},
    {"--prefix", "TEXT", "destinations whose names begin so"},
    {"--profile", "NAME", "destinations of this profile"},
    {"--tenant", "NAME", "destinations whose setting 'tenant' is this"},
    {"--all", "", "every destination"},
    kKeyRow,
});
constexpr auto kCommandOptions = std::to_array<OptionRow>({kKeyRow});
constexpr auto kListOptions = std::to_array<OptionRow>({kWatchRow});

std::string path_of(std::string_view name) { return "/v1/holds/" + percent_encode(name); }

int put(const Parsed& parsed) {
  const bool all = parsed.has("--all");
  const bool some = parsed.has("--prefix") || parsed.has("--profile") || parsed.has("--tenant");
  if (all == some)
    return usage_error(parsed.command,
                       "say what to hold: --prefix, --profile or --tenant; or --all");
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "PUT";
  request.path = path_of(parsed.operands[0]);
  add_key(parsed, request);
  json::JsonWriter json(request.body);
  json.open_object();
  for (const auto& [option, field] : {std::pair{"--reason", "reason"},
                                      {"--prefix", "destination_prefix"},
                                      {"--profile", "profile"},
                                      {"--tenant", "tenant"}}) {
    if (const std::string* value = parsed.find(option)) json.field(field, *value);
  }
  json.close_object();
  const std::optional<Json> answer = session->ask(request);
  if (!answer) return kExitFailure;
  if (!session->json()) print(parsed.operands[0] + ": " + answer_words(*answer) + "\n");
  return kExitOk;
}

std::vector<Table::Cell> row_of(const Json& hold, Timestamp now) {
  std::string what;
  for (const auto& [field, word] : {std::pair{"destination_prefix", "prefix "},
                                    {"profile", "profile "},
                                    {"tenant", "tenant "}}) {
    const std::string value = shown(hold.at(field));
    if (!value.empty()) what += (what.empty() ? "" : ", ") + std::string(word) + value;
  }
  return {{shown(hold.at("name"))},
          {what.empty() ? "all" : what},
          {moment_text(hold.at("since"), now)},
          {shown(hold.at("actor"))},
          {shown(hold.at("reason"), 100), Colour::kFaint}};
}

int list(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.path = "/v1/holds";
  return show(parsed, *session, [&request](const Session& asked, std::string& text) {
    const std::optional<Json> answer = asked.ask(request);
    if (!answer) return kExitFailure;
    Table table({"NAME", "WHAT", "SINCE", "BY", "REASON"});
    for (const Json& hold : answer->list("holds")) table.add(row_of(hold, wall_now()));
    if (!asked.json()) text = table.empty() ? "none\n" : table.text();
    return kExitOk;
  });
}

int remove(const Parsed& parsed) { return command_each(parsed, "DELETE", "/v1/holds/", ""); }

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"put", {"NAME", 1, 1}, "Pauses every destination that it fits, for as long as it stands.", kPutOptions, true, put},
    {"ls", {}, "Lists holds.", kListOptions, true, list},
    {"rm", {"NAME…", 1, kOperandsMax}, "Lets what it paused go on.", kCommandOptions, true, remove},
});
// clang-format on

}  // namespace

int run_hold(Arguments arguments) { return run_verbs("hold", kVerbTable, arguments); }

}  // namespace postrider
