// postrider box put | ls | read | confirm: mailboxes.
#include "postrider/doors/mailbox/cli.h"

#include <array>
#include <map>
#include <string>

#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"
#include "postrider/json/json_writer.h"

namespace postrider::mailbox_door {
namespace {

constexpr auto kPutOptions = std::to_array<OptionRow>({
    {"--keep", "N", "messages that it holds at most (1000000)"},
    {"--keep-bytes", "N", "bytes that it holds at most (1073741824)"},
    kKeyRow,
});
constexpr auto kReadOptions = std::to_array<OptionRow>({
    {"--cursor", "TEXT", "read behind what was read before"},
    {"--limit", "N", "1 to 100 messages at a time (100)"},
    {"--wait", "SECONDS", "for something to come, up to 600"},
    {"--follow", "", "go on for ever, until it is stopped"},
    {"--confirm", "", "confirm what was printed"},
});
constexpr std::string_view kReadMore =
    "One line per message: its id, a tab, its body. With --json each page is printed as the "
    "daemon\n"
    "sent it. What is not confirmed is there again; with --confirm a message is confirmed after "
    "it\n"
    "was printed, so a kill in between prints it twice.\n";
constexpr std::uint64_t kFollowSeconds = 60;

std::string path_of(const std::string& name, std::string_view verb) {
  return "/v1/mailboxes/" + percent_encode(name) + "/" + std::string(verb);
}

int put(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "PUT";
  request.path = "/v1/destinations/" + percent_encode(parsed.operands[0]);
  json::JsonWriter json(request.body);
  json.open_object().field("profile", "mailbox").name("settings").open_object();
  if (const std::string* keep = parsed.find("--keep")) json.field("kept_max", *keep);
  if (const std::string* bytes = parsed.find("--keep-bytes")) json.field("kept_bytes_max", *bytes);
  json.close_object().close_object();
  add_key(parsed, request);
  const std::optional<Json> answer = session->ask(request);
  if (!answer) return kExitFailure;
  if (!session->json()) print(parsed.operands[0] + ": " + answer_words(*answer) + "\n");
  return kExitOk;
}

int list(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  std::map<std::string, Json> queues;
  if (!session->walk("/v1/queues", "queues", [&](const Json& queue) {
        queues[std::string(queue.at("destination"))] = queue;
      }))
    return kExitFailure;
  Table table({"NAME", "WAITING", "OLDEST"});
  std::string lines;
  const Timestamp now = wall_now();
  const bool walked = session->walk("/v1/destinations", "destinations", [&](const Json& box) {
    if (box.at("profile") != "mailbox") return;
    const std::string name(box.at("name"));
    const auto queue = queues.find(name);
    const bool waits = queue != queues.end();
    const std::string count = waits ? std::string(queue->second.at("live")) : "0";
    const std::string oldest = waits ? std::string(queue->second.at("oldest_at")) : "";
    json::JsonWriter(lines)
        .open_object()
        .field("name", name)
        .field("waiting", count)
        .field("oldest_at", oldest)
        .close_object();
    lines.push_back('\n');
    table.add({{shown(name)}, {count, Colour::kPlain, true}, {moment_text(oldest, now)}});
  });
  if (!walked) return kExitFailure;
  print(session->json() ? lines : table.text());
  if (!session->json() && table.empty())
    print("there are no mailboxes; 'postrider box put NAME' makes one\n");
  return kExitOk;
}

bool confirm_ids(const Session& session, const std::string& box,
                 const std::vector<std::string>& ids, bool prints) {
  ClientRequest request;
  request.method = "POST";
  request.path = path_of(box, "confirm");
  json::JsonWriter json(request.body);
  json.open_object().name("ids").open_array();
  for (const std::string& id : ids) json.text(id);
  json.close_array().close_object();
  const std::optional<Json> answer = session.ask(request, prints);
  if (!answer) return false;
  if (prints && !session.json())
    print(std::string(answer->at("confirmed")) + " confirmed, " + std::string(answer->at("gone")) +
          " gone before\n");
  return true;
}

// The ids of what was printed.
std::vector<std::string> print_page(const Session& session, const Json& page) {
  std::vector<std::string> ids;
  std::string text;
  for (const Json& message : page.list("messages")) {
    ids.emplace_back(message.at("id"));
    text.append(ids.back()).append("\t");
    const std::string body = message.at("body");
    text.append(body.empty() ? shown(message.at("body_base64"), 1 << 20) : shown(body, 1 << 20));
    text.push_back('\n');
  }
  if (!session.json()) print(text);
  return ids;
}

int read(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const bool follow = parsed.find("--follow") != nullptr;
  std::string cursor = parsed.text("--cursor");
  std::string wait = parsed.text("--wait");
  if (follow && wait.empty()) wait = std::to_string(kFollowSeconds);
  for (;;) {
    ClientRequest request;
    request.path =
        path_of(parsed.operands[0], "messages") + "?limit=" +
        (parsed.text("--limit").empty() ? "100" : percent_encode(parsed.text("--limit")));
    if (!cursor.empty()) request.path.append("&cursor=").append(percent_encode(cursor));
    if (!wait.empty()) request.path.append("&wait=").append(percent_encode(wait));
    const std::optional<Json> page = session->ask(request);
    if (!page) return kExitFailure;
    const std::vector<std::string> ids = print_page(*session, *page);
    if (parsed.find("--confirm") != nullptr && !ids.empty() &&
        !confirm_ids(*session, parsed.operands[0], ids, false))
      return kExitFailure;
    if (!ids.empty()) cursor = page->at("cursor");
    if (!follow) return kExitOk;
  }
}

int confirm(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const std::vector<std::string> ids(parsed.operands.begin() + 1, parsed.operands.end());
  return confirm_ids(*session, parsed.operands[0], ids, true) ? kExitOk : kExitFailure;
}

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"put", {"NAME", 1, 1}, "Makes a mailbox, or changes what it may hold.", kPutOptions, true, put},
    {"ls", {"", 0, 0}, "Lists mailboxes and what waits in them.", {}, true, list},
    {"read", {"NAME", 1, 1}, "Prints what waits in a mailbox, oldest first.", kReadOptions, true, read, kReadMore},
    {"confirm", {"NAME ID…", 2, 257}, "Confirms messages: they are delivered, and not read again.", {}, true, confirm},
});
// clang-format on

}  // namespace

int run_box(Arguments arguments) { return run_verbs("box", kVerbTable, arguments); }

}  // namespace postrider::mailbox_door
