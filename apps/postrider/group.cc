// postrider group put | add | remove | ls | show | rm | send: destinations that get one message
// together, each what it subscribes to.
#include <array>

#include "apps/postrider/commands.h"
#include "apps/postrider/send.h"
#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"
#include "postrider/json/json_writer.h"

namespace postrider {
namespace {

constexpr OptionRow kTypeRow = {
    "--type", "TYPE", "what the members subscribe to: order.paid, or order.*; otherwise everything",
    true};
constexpr auto kPutOptions = std::to_array<OptionRow>({
    kTypeRow,
    {"--skip-closed", "", "leave out members that take no messages, instead of refusing the whole"},
    kKeyRow,
});
constexpr auto kAddOptions = std::to_array<OptionRow>({kTypeRow, kKeyRow});
constexpr auto kCommandOptions = std::to_array<OptionRow>({kKeyRow});
constexpr auto kListOptions = std::to_array<OptionRow>({kLimitRow, kCursorRow, kAllRow, kWatchRow});
constexpr auto kSendOptions = std::to_array<OptionRow>({
    {"--type", "TYPE", "of the event; without it only members that want everything are served"},
    kSendContentType,
    kSendHeader,
    kSendLane,
    kSendPriority,
    kSendOrderKey,
    kSendEventId,
    kSendDelay,
    kSendExpiresIn,
    kKeyRow,
});

std::string path_of(std::string_view name) { return "/v1/groups/" + percent_encode(name); }

// The operands behind the group's name are members.
void add_members(json::JsonWriter& json, const Parsed& parsed) {
  json.name("members").open_array();
  for (std::size_t i = 1; i < parsed.operands.size(); ++i) {
    json.open_object().field("destination", parsed.operands[i]).name("types").open_array();
    for (const std::string& type : parsed.all("--type")) json.text(type);
    json.close_array().close_object();
  }
  json.close_array();
}

int ask(const Parsed& parsed, ClientRequest request) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  add_key(parsed, request);
  const std::optional<Json> answer = session->ask(request);
  if (!answer) return kExitFailure;
  if (!session->json()) print(shown(parsed.operands[0]) + ": " + answer_words(*answer) + "\n");
  return kExitOk;
}

int put(const Parsed& parsed) {
  ClientRequest request;
  request.method = "PUT";
  request.path = path_of(parsed.operands[0]);
  json::JsonWriter json(request.body);
  json.open_object().flag("skip_closed", parsed.has("--skip-closed"));
  add_members(json, parsed);
  json.close_object();
  return ask(parsed, std::move(request));
}

int add(const Parsed& parsed) {
  ClientRequest request;
  request.method = "POST";
  request.path = path_of(parsed.operands[0]) + "/members";
  json::JsonWriter json(request.body);
  json.open_object();
  add_members(json, parsed);
  json.close_object();
  return ask(parsed, std::move(request));
}

int remove(const Parsed& parsed) {
  ClientRequest request;
  request.method = "DELETE";
  request.path =
      path_of(parsed.operands[0]) + "/members?destination=" + percent_encode(parsed.operands[1]);
  return ask(parsed, std::move(request));
}

std::string types_of(const Json& member) {
  std::string out;
  for (const Json& type : member.list("types")) out += (out.empty() ? "" : ", ") + shown(type.text);
  return out.empty() ? "everything" : out;
}

std::vector<Table::Cell> row_of(const Json& group, Timestamp now) {
  return {{shown(group.at("name"))},
          {std::to_string(group.list("members").size())},
          {group.at("skip_closed") == "true" ? "left out" : "refuse"},
          {moment_text(group.at("changed_at"), now)}};
}

int list(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  Table table({"NAME", "MEMBERS", "CLOSED ONES", "CHANGED"});
  return session->list(parsed, "/v1/groups", "groups", std::move(table), row_of);
}

int show(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.path = path_of(parsed.operands[0]);
  const std::optional<Json> group = session->ask(request);
  if (!group) return kExitFailure;
  if (session->json()) return kExitOk;
  Table table({"MEMBER", "SUBSCRIBES TO"});
  for (const Json& member : group->list("members"))
    table.add({{shown(member.at("destination"))}, {types_of(member)}});
  print(table.empty() ? "no members\n" : table.text());
  return kExitOk;
}

int drop(const Parsed& parsed) { return command_each(parsed, "DELETE", "/v1/groups/", ""); }

int send(const Parsed& parsed) {
  Handover what{.path = path_of(parsed.operands[0]) + "/messages", .members = {}};
  if (const std::string* type = parsed.find("--type"))
    what.members = "\"type\":" + json_text(*type);
  return hand_over(parsed, what, [](const Session& session, const Json& accepted) {
    if (session.json()) return kExitOk;
    print_fanout(accepted);
    return kExitOk;
  });
}

constexpr std::string_view kSendMore =
    "BODY is a text, @FILE, or - for the standard input, which is read too when there is none.\n"
    "Prints the id of the whole, then a line for each member: its message and its name. All of\n"
    "them are durable then; when one member refuses, nobody gets anything.\n";

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"put", {"NAME [DESTINATION…]", 1, kOperandsMax}, "Makes a group, or replaces it as a whole.", kPutOptions, true, put},
    {"add", {"NAME DESTINATION…", 2, kOperandsMax}, "Adds members, or changes what they subscribe to.", kAddOptions, true, add},
    {"remove", {"NAME DESTINATION", 2, 2}, "Removes a member.", kCommandOptions, true, remove},
    {"ls", {}, "Lists groups.", kListOptions, true, list},
    {"show", {"NAME", 1, 1}, "Lists the members of a group, and what each subscribes to.", {}, true, show},
    {"rm", {"NAME…", 1, kOperandsMax}, "Removes groups; their destinations and messages stay.", kCommandOptions, true, drop},
    {"send", {"NAME [BODY]", 1, 2}, "Sends one message to each member that subscribes to its type.", kSendOptions, true, send, kSendMore},
});
// clang-format on

}  // namespace

int run_group(Arguments arguments) { return run_verbs("group", kVerbTable, arguments); }

}  // namespace postrider
