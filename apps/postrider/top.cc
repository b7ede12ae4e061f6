// postrider top: what each destination is doing, drawn again every second.
//
// Two questions make one picture. The list of busy destinations is asked each round and costs the
// daemon little. What waits is counted by the daemon only by reading it (messages in back-off are
// in nobody's memory), so that count goes on a part per round beside the list, and is as old as the
// head of the screen says.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "apps/postrider/commands.h"
#include "apps/postrider/shapes.h"
#include "postrider/base/nearest.h"
#include "postrider/cli/output.h"
#include "postrider/cli/screen.h"
#include "postrider/cli/session.h"

namespace postrider {
namespace {

constexpr Duration kRound{1000};
constexpr Duration kCountAgain{5000};        // at least; and not more than a fifth of the time
constexpr std::size_t kAskedAloneMax = 100;  // destinations that only the count knows, per count
constexpr std::size_t kHeadRows = 3;

constexpr auto kOptions = std::to_array<OptionRow>({
    {"--sort", "KEY", "pending (the default), oldest, rate, failures, health or name"},
    {"--prefix", "TEXT", "whose names begin with it"},
    {"--limit", "N", "rows; on a terminal as many as there is room for (100)"},
    {"--once", "", "print it once, and nothing more"},
});
constexpr std::string_view kMore =
    "Keys: p pending, o oldest, r rate, f failures, h health, n name; q or Ctrl-C ends it.\n"
    "PENDING and OLDEST are counted by reading what waits, and are as old as the first line says;\n"
    "'64+' stands while the first count is under way: at least so many. OK/S and FAIL/S are those "
    "of\n"
    "the last minute. IN FLIGHT is of what may be open now: a route that fails has fewer than its "
    "limit.\n"
    "Destinations that are well and have nothing to do are left out.\n"
    "Without a terminal, with --once or --json it prints once.\n";

struct Line {
  std::string name;
  std::string health;
  std::uint64_t pending = 0;
  bool exact = false;
  std::string oldest_at;
  std::uint64_t open = 0;
  std::uint64_t open_max = 0;
  std::uint64_t delivered = 0;  // in the last minute
  std::uint64_t failed = 0;
  std::string next_at;
  std::string last_error;
  std::string failed_at;
};

struct SortKey {
  char key;
  std::string_view name;
};
constexpr auto kSortKeys = std::to_array<SortKey>({{'p', "pending"},
                                                   {'o', "oldest"},
                                                   {'r', "rate"},
                                                   {'f', "failures"},
                                                   {'h', "health"},
                                                   {'n', "name"}});

// The count of what waits: one part at a time, and again when it is old.
class Counting {
 public:
  // False: a complaint was made. `whole`: until it is finished.
  bool go_on(const Session& session, bool whole) {
    const auto now = std::chrono::steady_clock::now();
    if (cursor_.empty() && known_ && now < again_) return true;
    if (cursor_.empty()) began_ = now;
    do {
      const std::optional<Json> part = ask_shape(session, "", cursor_);
      if (!part) {
        cursor_.clear();
        under_way_.clear();
        return false;
      }
      for (const Json& row : part->list("destinations")) add_to(under_way_, row);
    } while (whole && !cursor_.empty());
    if (cursor_.empty()) finish();
    return true;
  }
  bool known() const { return known_; }
  bool fresh() const { return fresh_; }  // finished by the last go_on
  void seen() { fresh_ = false; }
  Timestamp at() const { return at_; }
  const Shapes& shapes() const { return finished_; }

 private:
  void finish() {
    finished_ = std::move(under_way_);
    under_way_.clear();
    known_ = fresh_ = true;
    at_ = wall_now();
    const auto end = std::chrono::steady_clock::now();
    again_ = end + std::max<std::chrono::steady_clock::duration>(kCountAgain, 4 * (end - began_));
  }

  std::string cursor_;
  Shapes under_way_;
  Shapes finished_;
  bool known_ = false;
  bool fresh_ = false;
  Timestamp at_;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point again_;
};

class Top {
 public:
  explicit Top(std::string prefix) : prefix_(std::move(prefix)) {}

  // False: a complaint was made, and the lines are what they were.
  bool look(const Session& session, bool whole) {
    std::vector<Json> found;
    if (!counting_.go_on(session, whole) || !list(session, found)) return false;
    lines_.clear();
    std::map<std::string, bool> listed;
    for (const Json& destination : found) {
      listed[destination.at("destination_id")] = true;
      add(destination);
    }
    return add_others(session, listed);
  }

  void sort(std::string_view by) {
    const auto before = [&](const Line& a, const Line& b) {
      if (by == "pending" && a.pending != b.pending) return a.pending > b.pending;
      if (by == "rate" && a.delivered != b.delivered) return a.delivered > b.delivered;
      if (by == "failures" && a.failed != b.failed) return a.failed > b.failed;
      if (by == "oldest" && a.oldest_at != b.oldest_at)
        return b.oldest_at.empty() || (!a.oldest_at.empty() && a.oldest_at < b.oldest_at);
      if (by == "health" && a.health != b.health)
        return b.health == "normal" || (a.health != "normal" && a.health < b.health);
      return a.name < b.name;
    };
    std::sort(lines_.begin(), lines_.end(), before);
  }

  std::string head(std::string_view by) const;
  std::string table(std::size_t limit) const;
  std::string json() const;

 private:
  bool list(const Session& session, std::vector<Json>& found) const {
    std::string cursor;
    do {
      ClientRequest request;
      request.path = "/v1/destinations?busy=true&limit=1000";
      if (!prefix_.empty()) request.path += "&prefix=" + percent_encode(prefix_);
      if (!cursor.empty()) request.path += "&cursor=" + percent_encode(cursor);
      const std::optional<Json> page = session.ask(request, false);
      if (!page) return false;
      for (const Json& destination : page->list("destinations")) found.push_back(destination);
      cursor = page->at("next");
    } while (!cursor.empty());
    return true;
  }

  // Those whose messages all sleep are busy only by the count; they are asked for one by one when
  // there is a new one.
  bool add_others(const Session& session, const std::map<std::string, bool>& listed) {
    if (counting_.fresh()) {
      counting_.seen();
      others_.clear();
      for (const auto& [id, sum] : counting_.shapes()) {
        if (listed.contains(id) || !sum.name.starts_with(prefix_)) continue;
        if (others_.size() == kAskedAloneMax) break;
        ClientRequest request;
        request.path = "/v1/destinations/" + percent_encode(sum.name);
        std::string complaints;  // it may have been removed since
        Session quiet = session;
        quiet.gather_complaints(&complaints);
        if (std::optional<Json> one = quiet.ask(request, false)) others_.push_back(std::move(*one));
      }
    }
    for (const Json& other : others_) {
      if (!listed.contains(other.at("destination_id"))) add(other);
    }
    return true;
  }

  void add(const Json& it) {
    Line line;
    line.name = shown(it.at("name"));
    line.health = shown(it.at("health"));
    line.open = number_of(it, "open_attempts");
    line.open_max = number_of(it, "in_flight_now");
    if (line.open_max == 0) line.open_max = number_of(it, "in_flight_max");
    line.delivered = number_of(it, "delivered_last_minute");
    line.failed = number_of(it, "failed_last_minute");
    line.last_error = shown(it.at("last_error"), 200);
    // Why it is as it is; of one that is well, somebody resumed it, and that is no error.
    if (line.last_error.empty() && line.health != "normal")
      line.last_error = shown(it.at("reason"), 200);
    line.failed_at = it.at("last_failure_at");
    line.next_at = it.at("next_at");
    line.pending = number_of(it, "in_window");
    line.exact = counting_.known();
    const auto sum = counting_.shapes().find(it.at("destination_id"));
    if (sum != counting_.shapes().end()) {
      line.pending = sum->second.total;
      line.oldest_at = sum->second.oldest_at;
      if (line.next_at.empty() && line.health != "paused" && line.health != "disabled")
        line.next_at = sum->second.next_at;
    }
    lines_.push_back(std::move(line));
  }

  std::string prefix_;
  Counting counting_;
  std::vector<Json> others_;
  std::vector<Line> lines_;
};

// Whole seconds: less changes too fast to be read.
std::string age_text(Duration age) {
  const std::int64_t seconds = std::max<std::int64_t>(age.count() / 1000, 0);
  return seconds < 2 ? std::to_string(seconds) + "s" : distance(age);
}

std::string per_second(std::uint64_t in_a_minute) {
  if (in_a_minute == 0) return "0";
  std::array<char, 32> text{};
  const double rate = static_cast<double>(in_a_minute) / 60;
  std::snprintf(text.data(), text.size(), rate < 10 ? "%.2f" : "%.0f", rate);
  return text.data();
}

std::string Top::head(std::string_view by) const {
  std::uint64_t pending = 0;
  std::uint64_t open = 0;
  std::uint64_t delivered = 0;
  std::uint64_t failed = 0;
  std::size_t unwell = 0;
  bool exact = true;
  for (const Line& line : lines_) {
    pending += line.pending;
    exact = exact && line.exact;
    open += line.open;
    delivered += line.delivered;
    failed += line.failed;
    if (line.health != "normal") ++unwell;
  }
  const Timestamp now = wall_now();
  std::string out = "postrider top   " + clock_text(now) + "   pending " + std::to_string(pending) +
                    (exact ? "" : "+") + "   in flight " + std::to_string(open) + "   ok/s " +
                    per_second(delivered) + "   fail/s " + per_second(failed) + "   busy " +
                    std::to_string(lines_.size()) + ", not well " + std::to_string(unwell) + "\n";
  out += coloured(
      "counted " + (counting_.known() ? age_text(now - counting_.at()) + " ago" : "never yet") +
          "   by " + std::string(by) + "   keys: pending oldest rate failures health name, quit",
      Colour::kFaint);
  return out + "\n";
}

std::string Top::table(std::size_t limit) const {
  if (lines_.empty()) return "nothing to do\n";
  const Timestamp now = wall_now();
  Table table({"DESTINATION", "HEALTH", "PENDING", "OLDEST", "IN FLIGHT", "OK/S", "FAIL/S", "NEXT",
               "LAST ERROR"});
  for (std::size_t i = 0; i < std::min(limit, lines_.size()); ++i) {
    const Line& line = lines_[i];
    const std::optional<Timestamp> oldest = parse_moment(line.oldest_at);
    const std::string when = moment_text(line.failed_at, now);
    table.add({{line.name},
               {line.health, colour_of_health(line.health)},
               {std::to_string(line.pending) + (line.exact ? "" : "+"), Colour::kStrong, true},
               {oldest ? age_text(now - *oldest) : "", Colour::kPlain, true},
               {std::to_string(line.open) +
                    (line.open_max == 0 ? "" : "/" + std::to_string(line.open_max)),
                Colour::kPlain, true},
               {per_second(line.delivered), Colour::kPlain, true},
               {per_second(line.failed), line.failed == 0 ? Colour::kPlain : Colour::kBad, true},
               {moment_text(line.next_at, now)},
               {line.last_error + (when.empty() || line.last_error.empty() ? "" : ", " + when),
                Colour::kFaint}});
  }
  return table.text();
}

std::string Top::json() const {
  std::string rows;
  const auto text = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) rows.append(",\"").append(name).append("\":").append(json_text(value));
  };
  const auto number = [&](std::string_view name, std::uint64_t value) {
    rows.append(",\"").append(name).append("\":").append(std::to_string(value));
  };
  for (const Line& line : lines_) {
    rows.append(rows.empty() ? "" : ",").append("{\"name\":").append(json_text(line.name));
    text("health", line.health);
    number("pending", line.pending);
    rows.append(",\"exact\":").append(line.exact ? "true" : "false");
    text("oldest_at", line.oldest_at);
    number("open_attempts", line.open);
    if (line.open_max != 0) number("in_flight_max", line.open_max);
    number("delivered_last_minute", line.delivered);
    number("failed_last_minute", line.failed);
    text("next_at", line.next_at);
    text("last_error", line.last_error);
    text("last_failure_at", line.failed_at);
    rows.append("}");
  }
  return "{\"destinations\":[" + rows + "]}\n";
}

int print_once(const Session& session, Top& top, std::string_view by, std::size_t limit) {
  if (!top.look(session, true)) return kExitFailure;
  top.sort(by);
  print(session.json() ? top.json() : top.head(by) + "\n" + top.table(limit));
  return kExitOk;
}

int draw(Session session, Screen& screen, Top& top, std::string by) {
  std::string complaints;
  session.gather_complaints(&complaints);
  auto next_round = std::chrono::steady_clock::now();
  bool good = true;
  while (true) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next_round) {
      complaints.clear();
      good = top.look(session, false);
      next_round = now + kRound;
    }
    top.sort(by);
    const std::size_t room = screen.rows() > kHeadRows + 1 ? screen.rows() - kHeadRows - 1 : 1;
    screen.show(top.head(by) + (good ? "" : coloured(complaints, Colour::kBad)) + "\n" +
                top.table(room));
    const auto left =
        std::chrono::duration_cast<Duration>(next_round - std::chrono::steady_clock::now());
    const char key = screen.wait(std::max(left, Duration(1)));
    if (key == Screen::kStop || key == 'q') return kExitOk;
    for (const SortKey& sort : kSortKeys) {
      if (sort.key == key) by = sort.name;
    }
  }
}

int run(const Parsed& parsed) {
  std::array<std::string_view, kSortKeys.size()> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kSortKeys[i].name;
  const std::string by = parsed.text("--sort", "pending");
  if (std::find(names.begin(), names.end(), by) == names.end())
    return usage_error(parsed.command,
                       "--sort: there is no '" + by + "'" + did_you_mean(by, names));
  const Result<std::uint64_t> limit = parsed.number("--limit", 100, 1, 1'000'000);
  if (!limit) return complain(parsed, limit.error());
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  Top top(parsed.text("--prefix"));
  const bool once = parsed.has("--once") || session->json();
  if (once) return print_once(*session, top, by, *limit);
  Screen screen(Screen::Use::kDraw);
  if (!screen.is_terminal()) return print_once(*session, top, by, *limit);
  return draw(*session, screen, top, by);
}

constexpr Command kCommand = {
    "top", {},   "Shows what each destination is doing, until it is stopped.", kOptions, true,
    run,   kMore};

}  // namespace

int run_top(Arguments arguments) { return run_command("", kCommand, arguments); }

}  // namespace postrider
