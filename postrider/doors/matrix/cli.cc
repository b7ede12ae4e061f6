// unity: alone, a name of the command line is also one of typed_profile.h
// postrider matrix ls | show | rooms | event | seen | reset | drain | doctor: servers that a
// homeserver's events go to.
#include "postrider/doors/matrix/cli.h"

#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <thread>

#include "postrider/cli/messages.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"
#include "postrider/doors/matrix/doctor.h"
#include "postrider/json/json_writer.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix_door {
namespace {

constexpr std::string_view kPrefix = "matrix:";
constexpr std::size_t kFileBytesMax = 1U << 20;
constexpr std::chrono::seconds kDrainLook{1};

constexpr auto kDrainOptions = std::to_array<OptionRow>({
    {"--look", "", "say what is owed and end, instead of waiting"},
});
constexpr std::string_view kDrainMore =
    "Waits until no server is owed anything, and says once a second what is left. Take the lines "
    "out\n"
    "of the homeserver's file first, so that nothing new comes; then the daemon can be stopped.\n";
constexpr std::string_view kEventMore =
    "An event of the host API is found by its id, with all its servers. One that came through the\n"
    "egress is looked for among what waits and among dead letters; what was delivered has no trace\n"
    "there. Ends with 1 when nothing is found.\n";
constexpr std::string_view kWalkedNote =
    "looked for among what waits and among dead letters; a copy that was delivered is not there\n";
constexpr std::string_view kDoctorMore =
    "Ends with 1 when a line is missing or works against the daemon, such as a long retry "
    "interval.\n";

std::string path_of(const std::string& server) {
  return "/v1/destinations/" + percent_encode(matrix::destination_name(server));
}

using Queues = std::map<std::string, Json>;
bool read_queues(const Session& session, Queues& queues) {
  return session.walk("/v1/queues", "queues", [&](const Json& queue) {
    const std::string name(queue.at("destination"));
    if (name.starts_with(kPrefix)) queues[name] = queue;
  });
}

int list(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  Queues queues;
  if (!read_queues(*session, queues)) return kExitFailure;
  Table table({"SERVER", "HEALTH", "WAITING", "OLDEST", "CLOSED UNTIL", "WHY"});
  std::string lines;
  const Timestamp now = wall_now();
  const bool walked = session->walk(
      "/v1/destinations?prefix=" + percent_encode(kPrefix), "destinations",
      [&](const Json& server) {
        const std::string name(server.at("name"));
        if (server.at("template") == "true" || name.ends_with('*')) return;
        const auto queue = queues.find(name);
        const bool waits = queue != queues.end();
        const std::string count = waits ? std::string(queue->second.at("live")) : "0";
        const std::string oldest = waits ? std::string(queue->second.at("oldest_at")) : "";
        const std::string health(server.at("health"));
        json::JsonWriter(lines)
            .open_object()
            .field("server", name.substr(kPrefix.size()))
            .field("health", health)
            .field("waiting", count)
            .field("oldest_at", oldest)
            .field("closed_until", std::string(server.at("closed_until")))
            .field("reason", std::string(server.at("reason")))
            .close_object();
        lines.push_back('\n');
        table.add({{shown(name.substr(kPrefix.size()))},
                   {health, colour_of_health(health)},
                   {count, Colour::kPlain, true},
                   {moment_text(oldest, now)},
                   {moment_text(server.at("closed_until"), now)},
                   {shown(server.at("reason"))}});
      });
  if (!walked) return kExitFailure;
  print(session->json() ? lines : table.text());
  if (!session->json() && table.empty()) print("no server has been sent anything yet\n");
  return kExitOk;
}

int show(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.path = path_of(parsed.operands[0]);
  const std::optional<Json> server = session->ask(request);
  if (!server) return kExitFailure;
  if (session->json()) return kExitOk;
  Queues queues;
  if (!read_queues(*session, queues)) return kExitFailure;
  const auto queue = queues.find(matrix::destination_name(parsed.operands[0]));
  const Timestamp now = wall_now();
  FactList facts;
  const auto when = [&](std::string_view name, const char* member) {
    const std::string at(server->at(member));
    if (!at.empty()) facts.add(name, moment_text(at, now));
  };
  facts.add("server", shown(parsed.operands[0]));
  facts.add("health", std::string(server->at("health")),
            colour_of_health(std::string(server->at("health"))));
  when("since", "health_since");
  facts.add("why", shown(server->at("reason")));
  when("next try", "closed_until");
  when("failing since", "failing_since");
  when("last sign of life", "seen_at");
  facts.add("last error", shown(server->at("last_error")));
  facts.add("waiting", queue == queues.end() ? "0" : std::string(queue->second.at("live")));
  if (queue != queues.end()) facts.add("oldest", moment_text(queue->second.at("oldest_at"), now));
  facts.add("requests open", std::string(server->at("open_attempts")));
  facts.add("like", shown(server->at("like")));
  print(facts.text());
  return kExitOk;
}

// All pages of an answer that is given in parts. False: a complaint is printed.
bool read_parts(const Session& session, const std::string& path,
                const std::function<void(const Json& part)>& each) {
  for (std::string cursor;;) {
    ClientRequest request;
    request.path = path + (cursor.empty() ? "" : "?cursor=" + percent_encode(cursor));
    const std::optional<Json> part = session.ask(request);
    if (!part) return false;
    each(*part);
    cursor = std::string(part->at("next"));
    if (cursor.empty()) return true;
  }
}

int rooms(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  struct Room {
    std::uint64_t events = 0;
    std::string oldest;
  };
  std::map<std::string, Room> all;
  const bool read = read_parts(
      *session, "/v1/matrix/rooms/" + percent_encode(parsed.operands[0]), [&](const Json& part) {
        for (const Json& row : part.list("rooms")) {
          Room& room = all[std::string(row.at("room_id"))];
          room.events += std::strtoull(std::string(row.at("events")).c_str(), nullptr, 10);
          const std::string oldest(row.at("oldest_at"));
          if (room.oldest.empty() || oldest < room.oldest) room.oldest = oldest;
        }
      });
  if (!read) return kExitFailure;
  if (session->json()) return kExitOk;
  Table table({"ROOM", "EVENTS", "OLDEST"});
  const Timestamp now = wall_now();
  for (const auto& [name, room] : all)
    table.add({{shown(name)},
               {std::to_string(room.events), Colour::kPlain, true},
               {moment_text(room.oldest, now)}});
  print(table.empty() ? shown(parsed.operands[0]) + " is owed no events\n" : table.text());
  return kExitOk;
}

Colour colour_of_copy(std::string_view state) {
  if (state == "delivered") return Colour::kGood;
  return state == "refused" ? Colour::kBad : Colour::kPlain;
}

int event(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  Table table({"SERVER", "STATE", "REASON"});
  bool walked = false;
  const bool read = read_parts(
      *session, "/v1/matrix/events/" + percent_encode(parsed.operands[0]), [&](const Json& part) {
        walked = walked || part.at("found") == "walk";
        for (const Json& row : part.list("servers")) {
          const std::string state(row.at("state"));
          table.add({{shown(row.at("server"))},
                     {shown(state), colour_of_copy(state)},
                     {shown(row.at("reason"))}});
        }
      });
  if (!read) return kExitFailure;
  if (session->json()) return table.empty() ? kExitFailure : kExitOk;
  if (!table.empty()) print(table.text());
  if (walked) print(std::string(kWalkedNote));
  return table.empty() ? kExitFailure : kExitOk;
}

int reset(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "POST";
  request.path = path_of(parsed.operands[0]) + "/resume";
  if (!session->ask(request)) return kExitFailure;
  if (!session->json())
    print(shown(parsed.operands[0]) + ": its back-off is forgotten; what waits is sent now\n");
  return kExitOk;
}

int seen(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "POST";
  request.path = "/v1/matrix/seen/" + percent_encode(parsed.operands[0]);
  const auto answer = ask(session->client(), request);
  if (!answer) {
    session->complain(answer.error().detail);
    return kExitFailure;
  }
  if (answer->status != 204) {
    session->complain(*answer);
    return kExitFailure;
  }
  if (!session->json()) print(shown(parsed.operands[0]) + ": heard; what waits is sent now\n");
  return kExitOk;
}

int drain(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  for (std::string last;;) {
    Queues queues;
    if (!read_queues(*session, queues)) return kExitFailure;
    std::uint64_t items = 0;
    for (const auto& [name, queue] : queues)
      items += std::strtoull(std::string(queue.at("live")).c_str(), nullptr, 10);
    const std::string words = std::to_string(items) + " items are owed to " +
                              std::to_string(queues.size()) + " servers\n";
    if (words != last) print(items == 0 ? std::string("nothing is owed\n") : words);
    last = words;
    if (items == 0) return kExitOk;
    if (parsed.find("--look") != nullptr) return kExitFailure;
    std::this_thread::sleep_for(kDrainLook);
  }
}

int doctor(const Parsed& parsed) {
  std::ifstream file(parsed.operands[0], std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof()) {
    complain("matrix doctor", "'" + parsed.operands[0] + "' cannot be read");
    return kExitFailure;
  }
  if (text.size() > kFileBytesMax) {
    complain("matrix doctor", "'" + parsed.operands[0] + "' is too large for a homeserver's file");
    return kExitFailure;
  }
  bool harmful = false;
  for (const Finding& finding : examine_homeserver(text)) {
    harmful = harmful || finding.harmful;
    print(coloured(finding.harmful ? "bad   " : "good  ",
                   finding.harmful ? Colour::kBad : Colour::kGood) +
          shown(finding.text) + "\n");
  }
  return harmful ? kExitFailure : kExitOk;
}

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"ls", {"", 0, 0}, "Lists servers, their health and what waits for them.", {}, true, list},
    {"show", {"SERVER", 1, 1}, "Shows one server: health, next try, last error, what waits.", {}, true, show},
    {"rooms", {"SERVER", 1, 1}, "Lists the rooms of which a server is owed events.", {}, true, rooms},
    {"event", {"ID", 1, 1}, "Says which servers have an event, are owed it or refused it.", {}, true, event, kEventMore},
    {"reset", {"SERVER", 1, 1}, "Forgets the back-off of a server and tries it now.", {}, true, reset},
    {"seen", {"SERVER", 1, 1}, "Says that a server is alive: its back-off ends and what waits is sent.", {}, true, seen},
    {"drain", {"", 0, 0}, "Waits until no server is owed anything.", kDrainOptions, true, drain, kDrainMore},
    {"doctor", {"FILE", 1, 1}, "Reads a homeserver's file and says what is missing or harmful.", {}, false, doctor, kDoctorMore},
});
// clang-format on

}  // namespace

int run_matrix(Arguments arguments) { return run_verbs("matrix", kVerbTable, arguments); }

}  // namespace postrider::matrix_door
