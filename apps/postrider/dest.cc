// postrider dest put | ls | show | pause | resume | wake | limit | rotate | test | recover | rm:
// where messages go.
#include <algorithm>
#include <array>
#include <map>
#include <sys/random.h>

#include "apps/postrider/commands.h"
#include "apps/postrider/job.h"
#include "apps/postrider/shapes.h"
#include "postrider/base/check.h"
#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"
#include "postrider/protocols/web/base64.h"

namespace postrider {
namespace {

constexpr std::size_t kSecretBytesMax = 4096;
constexpr std::size_t kNewSecretBytes = 32;  // Standard Webhooks: 24 to 64
constexpr std::string_view kSecretIsShownOnce =
    "It is shown this once: give it to the receiver, who checks signatures with it.\n";

constexpr auto kPutOptions = std::to_array<OptionRow>({
    {"--profile", "NAME", "how it is spoken to (webhook); 'postrider profile ls' lists them"},
    {"--new-secret", "", "make the secret that signs requests, and print it this once"},
    {"--secret-file", "FILE", "the secret that signs requests; - for the standard input"},
    {"--header", "NAME:VALUE", "sent with every request", true},
    {"--set", "NAME=VALUE", "a setting; 'postrider profile show webhook' lists them", true},
    kKeyRow,
});
constexpr auto kListOptions = std::to_array<OptionRow>({
    {"--prefix", "TEXT", "whose names begin with it"},
    {"--health", "HEALTH", "normal, wait, probe, paused or disabled"},
    kLimitRow,
    kCursorRow,
    kAllRow,
    kWatchRow,
});
constexpr auto kPauseOptions =
    std::to_array<OptionRow>({{"--reason", "TEXT", "shown to whoever asks why"}, kKeyRow});
constexpr auto kKeyOptions = std::to_array<OptionRow>({kKeyRow});
constexpr auto kRotateOptions = std::to_array<OptionRow>({
    {"--overlap", "DURATION",
     "how long the old secret signs too, so that the receiver can change "
     "over (24h); 0s: not at all"},
    {"--secret-file", "FILE", "this secret instead of one that is made; - for the standard input"},
    kKeyRow,
});
constexpr auto kTestOptions = std::to_array<OptionRow>({
    {"--wait", "", "until the message has ended; fails unless it was delivered"},
    {"--time-out", "DURATION", "with --wait: not longer than this"},
    kKeyRow,
});
constexpr auto kRemoveOptions = std::to_array<OptionRow>(
    {{"--drain", "", "take no new messages, and remove it when those it has have ended"}, kKeyRow});

constexpr auto kRecoverOptions = std::to_array<OptionRow>({
    kJobSince,
    kJobUntil,
    {"--dead-only", "", "what was not delivered; without it what was delivered comes again, too"},
    kJobRate,
    kJobDryRun,
    kJobReason,
    kKeyRow,
});

std::string path_of(const Parsed& parsed, std::string_view verb = "") {
  std::string path = "/v1/destinations/" + percent_encode(parsed.operands[0]);
  if (!verb.empty()) path.append("/").append(verb);
  return path;
}

// Asks, and prints "NAME: done", or what else was done, and the secret that was made for it.
struct Told {
  std::string_view made = {};  // empty: none was
  std::string done = {};       // empty: as the daemon says it
};
int change(const Parsed& parsed, ClientRequest request, const Told& told = {}) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  add_key(parsed, request);
  const std::optional<Json> answer = told.made.empty()
                                         ? session->ask(request)
                                         : session->ask_and_add(request, "secret", told.made);
  if (!answer) return kExitFailure;
  if (session->json()) return kExitOk;
  print(parsed.operands[0] + ": " + (told.done.empty() ? answer_words(*answer) : told.done) + "\n");
  if (!told.made.empty())
    print("secret: " + std::string(told.made) + "\n" + std::string(kSecretIsShownOnce));
  return kExitOk;
}

int post(const Parsed& parsed, std::string_view verb, std::string body = "") {
  ClientRequest request;
  request.method = "POST";
  request.path = path_of(parsed, verb);
  request.body = std::move(body);
  return change(parsed, std::move(request));
}

// Appends "name": "value", split at the first `mark`.
Result<void> add_setting(std::string_view text, char mark, std::string_view prefix,
                         std::string& members) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos || at == 0)
    return fail(ErrorCode::kInvalid, std::string("'") + std::string(text.substr(0, at)) +
                                         "' has no '" + mark + "' between name and value");
  std::string_view value = text.substr(at + 1);
  while (mark == ':' && value.starts_with(' ')) value.remove_prefix(1);
  members.append(members.empty() ? "" : ",");
  members.append(json_text(std::string(prefix).append(text.substr(0, at))));
  members.append(":").append(json_text(value));
  return {};
}

std::string new_secret() {
  std::array<std::uint8_t, kNewSecretBytes> bytes{};
  POSTRIDER_CHECK(getrandom(bytes.data(), bytes.size(), 0) == ssize_t{kNewSecretBytes});
  return "whsec_" + base64_encode(bytes);
}

Result<std::string> read_secret(const std::string& file) {
  POSTRIDER_TRY(secret, read_file(file, kSecretBytesMax));
  while (!secret.empty() && static_cast<unsigned char>(secret.back()) <= ' ') secret.pop_back();
  return secret;
}

// `made` is the secret of --new-secret; empty: none.
Result<std::string> read_settings(const Parsed& parsed, std::string_view made) {
  std::string members;
  if (parsed.operands.size() > 1) members = "\"url\":" + json_text(parsed.operands[1]);
  if (const std::string* file = parsed.find("--secret-file")) {
    if (!made.empty())
      return fail(ErrorCode::kInvalid, "give --new-secret or --secret-file, not both");
    POSTRIDER_TRY(secret, read_secret(*file));
    members.append(members.empty() ? "" : ",").append("\"secret\":").append(json_text(secret));
  }
  if (!made.empty())
    members.append(members.empty() ? "" : ",").append("\"secret\":").append(json_text(made));
  for (const std::string& header : parsed.all("--header")) {
    const Result<void> added = add_setting(header, ':', "headers.", members);
    if (!added) return fail(added.error().code, "--header " + added.error().detail);
  }
  for (const std::string& setting : parsed.all("--set")) {
    const Result<void> added = add_setting(setting, '=', "", members);
    if (!added) return fail(added.error().code, "--set " + added.error().detail);
  }
  return members;
}

int put(const Parsed& parsed) {
  const std::string made = parsed.has("--new-secret") ? new_secret() : std::string();
  const Result<std::string> settings = read_settings(parsed, made);
  if (!settings) return complain(parsed, settings.error());
  // Otherwise the settings, and the token, would go to the destination itself.
  if (parsed.has("--url") && settings->find("\"url\":") == std::string::npos)
    return usage_error(
        parsed.command,
        "--url is the address of the daemon; that of the destination stands behind its "
        "name: postrider dest put NAME URL");
  ClientRequest request;
  request.method = "PUT";
  request.path = path_of(parsed);
  request.body = "{\"profile\":" + json_text(parsed.text("--profile", "webhook")) +
                 ",\"settings\":{" + *settings + "}}";
  return change(parsed, std::move(request), {.made = made});
}

std::vector<Table::Cell> row_of(const Json& destination, Timestamp now) {
  const std::string health = shown(destination.at("health"));
  const Json* settings = destination.find("settings");
  return {{shown(destination.at("name"))},
          {shown(destination.at("profile"))},
          {health, colour_of_health(health)},
          {moment_text(destination.at("health_since"), now)},
          {destination.at("waiting")},
          {destination.at("open_attempts")},
          {settings == nullptr ? "" : shown(settings->at("url"), 100)}};
}

// What is not on the wire, wherever it is: in memory, on disk, in back-off or parked.
bool add_waiting(const Session& session, std::vector<Json>& destinations) {
  if (destinations.empty()) return true;
  std::map<std::string, std::uint64_t> live;
  const bool counted = session.walk("/v1/queues", "queues", [&](const Json& queue) {
    live[queue.at("destination_id")] = number_of(queue, "live");
  });
  if (!counted) return false;
  for (Json& destination : destinations) {
    const std::uint64_t all = live[destination.at("destination_id")];
    const std::uint64_t open = number_of(destination, "open_attempts");
    destination.names.emplace_back("waiting");
    destination.items.push_back({.kind = Json::Kind::kNumber,
                                 .text = std::to_string(all - std::min(all, open)),
                                 .items = {},
                                 .names = {}});
  }
  return true;
}

int list(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const std::string query = query_of(parsed, {{"--prefix", "prefix"}, {"--health", "health"}});
  Table table({"NAME", "PROFILE", "HEALTH", "SINCE", "WAITING", "OPEN", "URL"});
  return session->list(parsed, "/v1/destinations" + query, "destinations", std::move(table), row_of,
                       {.by = "name", .complete = add_waiting});
}

std::string describe(const Json& destination, Timestamp now) {
  FactList facts;
  facts.add("name", shown(destination.at("name")), Colour::kStrong);
  facts.add("profile", shown(destination.at("profile")));
  const std::string health = shown(destination.at("health"));
  facts.add("health", health, colour_of_health(health));
  facts.add("since", moment_long(destination.at("health_since"), now));
  facts.add("reason", shown(destination.at("reason")));
  if (destination.at("strikes") != "0") facts.add("strikes", destination.at("strikes"));
  facts.add("closed until", moment_long(destination.at("closed_until"), now));
  facts.add("failing since", moment_long(destination.at("failing_since"), now));
  facts.add("last seen", moment_long(destination.at("seen_at"), now));
  facts.add("in window", destination.at("in_window"));
  facts.add("on disk only", destination.at("owed") == "true" ? "more" : "");
  const std::string most = destination.at("in_flight_max");
  facts.add("open attempts",
            destination.at("open_attempts") + (most.empty() ? "" : " of at most " + most));
  if (!most.empty())
    facts.add("last minute", destination.at("delivered_last_minute") + " delivered, " +
                                 destination.at("failed_last_minute") + " attempts failed");
  facts.add("last error", shown(destination.at("last_error")));
  facts.add("that was", moment_long(destination.at("last_failure_at"), now));
  facts.add("old secret until", moment_long(destination.at("old_secret_until"), now));
  if (destination.at("draining") == "true")
    facts.add("draining", "removed when its messages have ended", Colour::kWarn);
  if (const Json* settings = destination.find("settings")) {
    for (std::size_t i = 0; i < settings->names.size(); ++i)
      facts.add(shown(settings->names[i]), shown(settings->items[i].text));
  }
  return facts.text();
}

int show(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.path = path_of(parsed);
  const std::optional<Json> destination = session->ask(request);
  if (!destination) return kExitFailure;
  if (!session->json()) print(describe(*destination, wall_now()));
  return kExitOk;
}

int pause(const Parsed& parsed) {
  const std::string* reason = parsed.find("--reason");
  return post(parsed, "pause", reason == nullptr ? "" : "{\"reason\":" + json_text(*reason) + "}");
}

int resume(const Parsed& parsed) { return post(parsed, "resume"); }
int wake(const Parsed& parsed) { return post(parsed, "wake"); }

int limit(const Parsed& parsed) {
  std::string members;
  for (std::size_t i = 1; i < parsed.operands.size(); ++i) {
    const std::string& given = parsed.operands[i];
    const std::size_t equals = given.find('=');
    if (equals != std::string::npos && given.substr(equals + 1) == "default") {
      members.append(members.empty() ? "" : ",").append(json_text(given.substr(0, equals)));
      members.append(":null");
      continue;
    }
    const Result<void> added = add_setting(given, '=', "", members);
    if (!added) return complain(parsed, added.error());
  }
  ClientRequest request;
  request.method = "PATCH";
  request.path = path_of(parsed, "limits");
  request.body = "{" + members + "}";
  return change(parsed, std::move(request));
}

int rotate(const Parsed& parsed) {
  const std::string overlap = parsed.text("--overlap", "24h");
  const Result<Duration> length = parsed.duration("--overlap", Duration(24h));
  if (!length) return complain(parsed, length.error());
  const std::string* file = parsed.find("--secret-file");
  const Result<std::string> secret = file == nullptr ? new_secret() : read_secret(*file);
  if (!secret) return complain(parsed, secret.error());
  ClientRequest request;
  request.method = "POST";
  request.path = path_of(parsed, "rotate");
  request.body = "{\"secret\":" + json_text(*secret) + ",\"overlap\":" + json_text(overlap) + "}";
  return change(
      parsed, std::move(request),
      {.made = file == nullptr ? std::string_view(*secret) : "",
       .done = length->count() == 0 ? "rotated; the old secret signs no longer"
                                    : "rotated; the old secret signs for another " + overlap});
}

int test(const Parsed& parsed) {
  const Result<Duration> time_out = parsed.duration("--time-out", Duration(0));
  if (!time_out) return complain(parsed, time_out.error());
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "POST";
  request.path = path_of(parsed, "test");
  add_key(parsed, request);
  const bool waits = parsed.has("--wait");
  const std::optional<Json> accepted = session->ask(request, !waits);
  if (!accepted) return kExitFailure;
  if (waits) return wait_for_end(*session, accepted->at("id"), *time_out);
  if (!session->json()) print(shown(accepted->at("id")) + "\n");
  return kExitOk;
}

// What is not kept is not sent again, and a count of nothing does not say why.
int tell_history(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.path = path_of(parsed);
  const std::optional<Json> destination = session->ask(request, false);
  if (!destination) return kExitFailure;
  const Json* settings = destination->find("settings");
  if (settings != nullptr && settings->at("history") == "on") return kExitOk;
  session->complain(
      "history is off: what " + parsed.operands[0] +
      " was given is not kept, so of what was delivered nothing can be sent again; the setting "
      "history=on keeps it from now on");
  return kExitOk;
}

// Its far side lost what it was given since then.
int recover(const Parsed& parsed) {
  if (!parsed.has("--since"))
    return usage_error(parsed.command, "say since when: --since 2h, or a time");
  const std::string& name = parsed.operands[0];
  int code = start_job(parsed, {.action = "redrive", .destination = name});
  if (code != kExitOk || parsed.has("--dead-only")) return code;
  if (code = tell_history(parsed); code != kExitOk) return code;
  return start_job(parsed, {.action = "resend", .destination = name, .key_suffix = "#delivered"});
}

int remove(const Parsed& parsed) {
  ClientRequest request;
  request.method = "DELETE";
  request.path = path_of(parsed) + (parsed.has("--drain") ? "?drain=true" : "");
  return change(parsed, std::move(request));
}

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"put", {"NAME [URL]", 1, 2}, "Makes a destination, or replaces its settings.", kPutOptions, true, put,
     "URL is where requests go: postrider dest put billing https://example.com/hook\n"},
    {"ls", {}, "Lists destinations.", kListOptions, true, list},
    {"show", {"NAME", 1, 1}, "Shows a destination.", {}, true, show},
    {"pause", {"NAME", 1, 1}, "Holds its messages; new ones are still accepted.", kPauseOptions, true, pause},
    {"resume", {"NAME", 1, 1}, "Ends a pause, or enables what was disabled.", kKeyOptions, true, resume},
    {"wake", {"NAME", 1, 1}, "Tries it now instead of waiting.", kKeyOptions, true, wake},
    {"limit", {"NAME SETTING=VALUE…", 2, kOperandsMax}, "Changes some settings and leaves the others.", kKeyOptions, true, limit,
     "VALUE 'default' goes back to the default: postrider dest limit billing rate=5 burst=default\n"},
    {"rotate", {"NAME", 1, 1}, "Makes a new secret and prints it; the old one signs too for a while.", kRotateOptions, true, rotate,
     "Requests carry a signature by each, so the receiver may change over at any time until then.\n"},
    {"test", {"NAME", 1, 1}, "Sends a test message and prints its id.", kTestOptions, true, test},
    {"recover", {"NAME", 1, 1}, "Sends again everything that ended since then, by jobs.", kRecoverOptions, true, recover,
     "For a far side that lost what it was given. Dead letters are redriven; what was delivered is sent again as far as it is kept: that needs the setting history = on,\n"
     "and goes back as far as engine.history_age: postrider dest recover billing --since 2h --dry-run\n"},
    {"rm", {"NAME", 1, 1}, "Removes a destination that has no messages.", kRemoveOptions, true, remove},
});
// clang-format on

}  // namespace

int run_dest(Arguments arguments) { return run_verbs("dest", kVerbTable, arguments); }

}  // namespace postrider
