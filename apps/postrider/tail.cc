// postrider tail: events as they happen. Comes back by itself when the connection breaks, and goes
// on behind the last event it saw.
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include "apps/postrider/commands.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"

namespace postrider {
namespace {

constexpr Duration kPauseDefault{2000};  // before it comes back, until the daemon says otherwise
constexpr Duration kPauseMax{60'000};
constexpr Duration kSilenceMax{120'000};  // the daemon's heartbeats are far closer
constexpr std::size_t kLineBytesMax = 1U << 20;

constexpr auto kOptions = std::to_array<OptionRow>({
    {"--from", "now|start",
     "only what happens from now on (the default), or all that is remembered"},
    {"--last-event", "ID", "go on behind this event"},
    {"--until-now", "", "what is remembered up to now, and then end; --from is start then"},
    {"--destination", "NAME", "of this destination only"},
    {"--kind", "KIND,…",
     "only these: end, delivered, dead, expired, cancelled, indeterminate, parked, gap, late, "
     "alarm, "
     "removed, quarantined, destination-closed, destination-open, destination-disabled"},
    {"--limit", "N", "stop after N events"},
    {"--once", "", "do not come back when the connection breaks"},
});

// "12 ms"; from ten seconds on "14s", "3h".
std::string latency_text(std::uint64_t ms) {
  if (ms < 10'000) return std::to_string(ms) + " ms";
  return distance(Duration(static_cast<std::int64_t>(std::min<std::uint64_t>(ms, INT64_MAX))));
}

// Server-sent events, line by line (WHATWG HTML §9.2).
class Events {
 public:
  Events(bool json, std::uint64_t limit) : json_(json), left_(limit) {}

  // False: enough, or something is wrong.
  bool take(std::string_view piece) {
    while (!piece.empty()) {
      const std::size_t end = piece.find('\n');
      line_.append(piece.substr(0, end));
      if (line_.size() > kLineBytesMax) return false;
      if (end == std::string_view::npos) return true;
      piece.remove_prefix(end + 1);
      if (line_.ends_with('\r')) line_.pop_back();
      take_line();
      line_.clear();
      if (enough()) return false;
    }
    return true;
  }

  void begin() {  // a new connection: what was half read is lost
    line_.clear();
    data_.clear();
  }
  bool enough() const { return limited() && left_ == 0; }
  const std::string& last_id() const { return last_id_; }
  void set_last_id(std::string id) { last_id_ = std::move(id); }
  Duration pause() const { return pause_; }
  bool heard() const { return heard_; }

 private:
  bool limited() const { return left_ != UINT64_MAX; }

  void take_line() {
    heard_ = true;
    if (line_.empty()) return dispatch();
    if (line_.starts_with(':')) return;
    const std::size_t colon = std::min(line_.find(':'), line_.size());
    const std::string field = line_.substr(0, colon);
    std::string value = line_.substr(std::min(colon + 1, line_.size()));
    if (value.starts_with(' ')) value.erase(0, 1);
    if (field == "id") last_id_ = value;
    if (field == "data") data_.append(data_.empty() ? "" : "\n").append(value);
    if (field == "retry") {
      const std::uint64_t ms = std::strtoull(value.c_str(), nullptr, 10);
      pause_ = std::min(kPauseMax,
                        Duration(static_cast<std::int64_t>(std::min<std::uint64_t>(ms, 60'000))));
    }
  }

  void dispatch() {
    if (data_.empty()) return;
    const std::string data = std::move(data_);
    data_.clear();
    if (json_) {
      print(data + "\n");
    } else if (const Result<Json> event = parse_json(data)) {
      print_event(*event);
    }
    std::fflush(stdout);
    if (limited()) --left_;
  }

  void print_event(const Json& event) {
    const std::string phase = shown(event.at("phase"));
    const std::string kind = shown(event.at("kind"));
    const bool about_message = !event.at("id").empty();
    std::string line = coloured(shown(event.at("at")), Colour::kFaint);
    line.append(line.empty() ? "" : "  ");
    line += kind == "end" ? coloured(phase, colour_of_phase(phase)) : coloured(kind, Colour::kWarn);
    const bool named = !event.at("destination").empty();
    line.append("  ").append(shown(event.at(named ? "destination" : "destination_id")));
    if (about_message) line.append("  ").append(shown(event.at("id")));
    if (about_message && event.at("attempts") != "")
      line.append("  attempts ").append(event.at("attempts"));
    if (const std::string ms = event.at("latency_ms"); !ms.empty())
      line.append("  after ").append(latency_text(std::strtoull(ms.c_str(), nullptr, 10)));
    for (const std::string_view name : {"cause", "reason", "detail"}) {
      const std::string text = shown(event.at(name));
      if (!text.empty()) line.append("  ").append(text);
    }
    // What --last-event takes.
    if (!last_id_.empty()) line.append("  ").append(coloured(shown(last_id_), Colour::kFaint));
    print(line + "\n");
  }

  bool json_;
  std::uint64_t left_;
  bool heard_ = false;
  std::string line_;
  std::string data_;
  std::string last_id_;
  Duration pause_ = kPauseDefault;
};

int tail(const Parsed& parsed) {
  const Result<std::uint64_t> limit = parsed.number("--limit", UINT64_MAX, 1, UINT64_MAX - 1);
  if (!limit) return complain(parsed, limit.error());
  const bool until_now = parsed.has("--until-now");
  const std::string from = parsed.text("--from", until_now ? "start" : "now");
  if (from != "now" && from != "start")
    return usage_error(parsed.command, "--from is now or start, not '" + from + "'");
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientOptions client = session->client();
  client.time_out = kSilenceMax;
  client.answer_bytes_max = SIZE_MAX;
  Events events(session->json(), *limit);
  events.set_last_id(parsed.text("--last-event"));
  while (true) {
    ClientRequest request;
    request.path = "/v1/events?from=" + from + (until_now ? "&until=now" : "");
    for (const auto& [option, parameter] :
         {std::pair("--destination", "destination"), std::pair("--kind", "kind")}) {
      if (const std::string* value = parsed.find(option))
        request.path.append("&").append(parameter).append("=").append(percent_encode(*value));
    }
    request.headers.emplace_back("accept", "text/event-stream");
    if (!events.last_id().empty()) request.headers.emplace_back("last-event-id", events.last_id());
    events.begin();
    const Result<ClientAnswer> answer =
        follow(client, request, [&](std::string_view piece) { return events.take(piece); });
    if (events.enough()) return kExitOk;
    if (answer && answer->status / 100 != 2) {
      session->complain(*answer);
      return kExitFailure;
    }
    // A daemon that never answered is not waited for: the address is probably wrong.
    if (!answer && (!events.heard() || parsed.has("--once"))) {
      session->complain(answer.error().detail);
      return kExitFailure;
    }
    if (parsed.has("--once") || (until_now && answer)) return kExitOk;
    std::this_thread::sleep_for(events.pause());
  }
}

constexpr Command kCommand = {"tail",   {},   "Shows what happens, until it is stopped.",
                              kOptions, true, tail};

}  // namespace

int run_tail(Arguments arguments) { return run_command("", kCommand, arguments); }

}  // namespace postrider
