// postrider shape: how old the messages are that wait, by destination, after Postfix's qshape.
#include <algorithm>
#include <array>
#include <cstdio>
#include <unistd.h>

#include "apps/postrider/commands.h"
#include "apps/postrider/shapes.h"
#include "postrider/base/nearest.h"
#include "postrider/cli/output.h"
#include "postrider/cli/session.h"

namespace postrider {
namespace {

constexpr std::uint64_t kRowsDefault = 30;
constexpr std::uint64_t kRowsMax = 1'000'000;
constexpr std::size_t kColumnsMin = 6;  // so that a young queue looks like an old one

constexpr auto kOptions = std::to_array<OptionRow>({
    {"--destination", "NAME", "of this destination only"},
    {"--sort", "total|oldest|name", "what comes first (total)"},
    {"--limit", "N", "rows; the rest is one row (30)"},
    kWatchRow,
});
constexpr std::string_view kMore =
    "A column holds the messages accepted less than so many minutes ago, and not fewer than the\n"
    "column before it says; the last one holds all older ones. Parked messages are among them.\n"
    "Every message that waits is read once: a long queue takes a while, and costs others little.\n";

struct Count {
  std::vector<std::uint64_t> ages_s;
  Shapes shapes;
  std::uint64_t looked_at = 0;
};

class Progress {
 public:
  // Only for people, and not while the screen is drawn again and again.
  Progress(const Session& session, bool wanted)
      : wanted_(wanted && !session.json() && isatty(STDERR_FILENO) == 1) {
    if (!wanted_) return;
    ClientRequest request;
    request.path = "/v1/stats";
    const std::optional<Json> stats = session.ask(request, false);
    const Json* line = stats ? stats->find("conservation") : nullptr;
    if (line != nullptr) all_ = line->at("live");
  }
  ~Progress() {
    if (said_) std::fputs("\r\033[K", stderr);
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void tell(std::uint64_t looked_at) {
    if (!wanted_) return;
    std::fprintf(stderr, "\r%llu of about %s messages", static_cast<unsigned long long>(looked_at),
                 all_.c_str());
    std::fflush(stderr);
    said_ = true;
  }

 private:
  bool wanted_;
  bool said_ = false;
  std::string all_ = "?";
};

bool count(const Session& session, const Parsed& parsed, Count& out) {
  Progress progress(session, !parsed.has("--watch"));
  std::string cursor;
  do {
    const std::optional<Json> part = ask_shape(session, parsed.text("--destination"), cursor);
    if (!part) return false;
    if (out.ages_s.empty()) {
      for (const Json& age : part->list("ages_s"))
        out.ages_s.push_back(std::strtoull(age.text.c_str(), nullptr, 10));
    }
    for (const Json& row : part->list("destinations")) add_to(out.shapes, row);
    out.looked_at += number_of(*part, "looked_at");
    if (!cursor.empty()) progress.tell(out.looked_at);
  } while (!cursor.empty());
  return true;
}

std::vector<const ShapeSum*> sorted(const Count& count, std::string_view by) {
  std::vector<const ShapeSum*> rows;
  for (const auto& [id, row] : count.shapes) rows.push_back(&row);
  std::sort(rows.begin(), rows.end(), [&](const ShapeSum* a, const ShapeSum* b) {
    if (by == "total" && a->total != b->total) return a->total > b->total;
    if (by == "oldest" && a->oldest_at != b->oldest_at) return a->oldest_at < b->oldest_at;
    return a->name < b->name;
  });
  return rows;
}

void add(ShapeSum& sum, const ShapeSum& row) {
  sum.counts.resize(std::max(sum.counts.size(), row.counts.size()));
  for (std::size_t i = 0; i < row.counts.size(); ++i) sum.counts[i] += row.counts[i];
  sum.total += row.total;
  if (!row.oldest_at.empty() && (sum.oldest_at.empty() || row.oldest_at < sum.oldest_at))
    sum.oldest_at = row.oldest_at;
}

std::string column_name(const Count& count, std::size_t column) {
  const bool last = column >= count.ages_s.size();
  const std::uint64_t minutes =
      count.ages_s.empty() ? 0 : count.ages_s[std::min(column, count.ages_s.size() - 1)] / 60;
  return std::to_string(minutes) + (last ? "+" : "");
}

std::vector<Table::Cell> cells_of(const ShapeSum& row, std::size_t columns, Timestamp now) {
  std::vector<Table::Cell> cells{{shown(row.name)},
                                 {std::to_string(row.total), Colour::kStrong, true}};
  for (std::size_t i = 0; i < columns; ++i) {
    const std::uint64_t number = i < row.counts.size() ? row.counts[i] : 0;
    cells.push_back({number == 0 ? "." : std::to_string(number),
                     number == 0 ? Colour::kFaint : Colour::kPlain, true});
  }
  cells.push_back({moment_text(row.oldest_at, now)});
  return cells;
}

std::string table_of(const Count& count, std::string_view by, std::size_t limit) {
  if (count.shapes.empty()) return "nothing waits\n";
  const std::vector<const ShapeSum*> rows = sorted(count, by);
  ShapeSum total;
  ShapeSum rest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    add(total, *rows[i]);
    if (i >= limit) add(rest, *rows[i]);
  }
  // What is older than everything there is needs no column.
  std::size_t columns = total.counts.size();
  while (columns > kColumnsMin && total.counts[columns - 1] == 0) --columns;
  std::vector<std::string> head{"DESTINATION", "TOTAL"};
  for (std::size_t i = 0; i < columns; ++i) head.push_back(column_name(count, i));
  head.emplace_back("OLDEST");
  Table table(std::move(head));
  const Timestamp now = wall_now();
  total.name = "all";
  table.add(cells_of(total, columns, now));
  for (std::size_t i = 0; i < std::min(limit, rows.size()); ++i)
    table.add(cells_of(*rows[i], columns, now));
  if (rows.size() > limit) {
    rest.name = "(" + std::to_string(rows.size() - limit) + " more)";
    table.add(cells_of(rest, columns, now));
  }
  return table.text() + "messages by minutes since they were accepted\n";
}

std::string json_numbers(const std::vector<std::uint64_t>& numbers) {
  std::string out;
  for (const std::uint64_t number : numbers)
    out.append(out.empty() ? "" : ",").append(std::to_string(number));
  return "[" + out + "]";
}

std::string json_of(const Count& count, std::string_view by) {
  std::string rows;
  for (const ShapeSum* row : sorted(count, by)) {
    rows.append(rows.empty() ? "" : ",").append("{\"name\":").append(json_text(row->name));
    rows.append(",\"counts\":").append(json_numbers(row->counts));
    rows.append(",\"total\":").append(std::to_string(row->total));
    if (!row->oldest_at.empty()) rows.append(",\"oldest_at\":").append(json_text(row->oldest_at));
    if (!row->next_at.empty()) rows.append(",\"next_at\":").append(json_text(row->next_at));
    rows.append("}");
  }
  return "{\"ages_s\":" + json_numbers(count.ages_s) + ",\"destinations\":[" + rows +
         "],\"looked_at\":" + std::to_string(count.looked_at) + "}\n";
}

int shape(const Parsed& parsed) {
  constexpr auto kSorts = std::to_array<std::string_view>({"total", "oldest", "name"});
  const std::string by = parsed.text("--sort", "total");
  if (std::find(kSorts.begin(), kSorts.end(), by) == kSorts.end())
    return usage_error(parsed.command, "--sort is total, oldest or name, not '" + by + "'" +
                                           did_you_mean(by, kSorts));
  const Result<std::uint64_t> limit = parsed.number("--limit", kRowsDefault, 1, kRowsMax);
  if (!limit) return complain(parsed, limit.error());
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  const auto look = [&](const Session& asked, std::string& text) {
    Count counted;
    if (!count(asked, parsed, counted)) return kExitFailure;
    text = asked.json() ? json_of(counted, by) : table_of(counted, by, *limit);
    return kExitOk;
  };
  if (parsed.has("--watch")) return watch(parsed, *session, look);
  std::string text;
  code = look(*session, text);
  print(text);
  return code;
}

constexpr Command kCommand = {
    "shape", {},   "Counts the messages that wait by destination and age.", kOptions, true,
    shape,   kMore};

}  // namespace

int run_shape(Arguments arguments) { return run_command("", kCommand, arguments); }

}  // namespace postrider
