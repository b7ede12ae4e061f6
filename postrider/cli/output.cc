#include "postrider/cli/output.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>

#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kComplaintBytesMax = 4000;  // of one line

// Characters, not bytes: an id in another script stays aligned.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  const std::size_t have = width_of(text);
  return have < width ? out.append(width - have, ' ') : out;
}

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::kPlain: return "";
    case Colour::kGood: return "\033[32m";
    case Colour::kBad: return "\033[31m";
    case Colour::kWarn: return "\033[33m";
    case Colour::kFaint: return "\033[2m";
    case Colour::kStrong: return "\033[1m";
  }
  return "";
}

}  // namespace

bool colour_wanted() {
  // NOLINTBEGIN(concurrency-mt-unsafe): commands have one thread
  static const bool kWanted = [] {
    const char* const no = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
    return isatty(STDOUT_FILENO) == 1 && (no == nullptr || *no == '\0') && !dumb;
  }();
  // NOLINTEND(concurrency-mt-unsafe)
  return kWanted;
}

std::string coloured(std::string_view text, Colour colour) {
  if (colour == Colour::kPlain || !colour_wanted()) return std::string(text);
  return std::string(code_of(colour)).append(text).append("\033[0m");
}

Colour colour_of_phase(std::string_view phase) {
  if (phase == "delivered") return Colour::kGood;
  if (phase == "dead" || phase == "indeterminate") return Colour::kBad;
  if (phase == "expired" || phase == "backoff" || phase == "parked") return Colour::kWarn;
  if (phase == "cancelled") return Colour::kFaint;
  return Colour::kPlain;
}

Colour colour_of_health(std::string_view health) {
  if (health == "normal") return Colour::kGood;
  if (health == "disabled") return Colour::kBad;
  return Colour::kWarn;
}

std::string shown(std::string_view text, std::size_t bytes_max) {
  return clean_excerpt(text, bytes_max);
}

std::string shown_lines(std::string_view text) {
  std::string out;
  while (true) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += shown(text.substr(0, end), kComplaintBytesMax);
    if (end == text.size()) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

std::string typed(std::string_view command) {
  if (command.empty()) return "postrider";
  return (command.starts_with("postrider-") ? "" : "postrider ") + std::string(command);
}

void complain(std::string_view command, std::string_view what) {
  std::fprintf(stderr, "%s: %s\n", typed(command).c_str(), shown_lines(what).c_str());
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const std::string& name : head_) widths.push_back(width_of(name));
  for (const std::vector<Cell>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width_of(row[i].text));
  }
  std::string out;
  const auto put = [&](std::size_t column, std::string_view text, Colour colour, bool right) {
    const bool last = column + 1 == head_.size();
    std::string cell(right ? widths[column] - width_of(text) : 0, ' ');
    cell += text;
    out += coloured(last ? cell : padded(cell, widths[column] + kGap), colour);
  };
  for (std::size_t i = 0; i < head_.size(); ++i)
    put(i, head_[i], Colour::kFaint, !rows_.empty() && i < rows_[0].size() && rows_[0][i].right);
  out += '\n';
  for (const std::vector<Cell>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) put(i, row[i].text, row[i].colour, row[i].right);
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
  return out;
}

void FactList::add(std::string_view name, const std::string& value, Colour colour) {
  if (!value.empty()) rows_.push_back({std::string(name), coloured(value, colour)});
}

std::string FactList::text() const {
  std::size_t width = 0;
  for (const std::vector<std::string>& row : rows_) width = std::max(width, width_of(row[0]));
  std::string out;
  for (const std::vector<std::string>& row : rows_)
    out.append(padded(row[0], width + kGap)).append(row[1]).append("\n");
  return out;
}

Timestamp wall_now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return Timestamp(static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000);
}

std::optional<Timestamp> parse_moment(std::string_view text) {
  std::tm parts{};
  int ms = 0;
  const std::string copy(text);
  const int fields =
      std::sscanf(copy.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &ms);
  if (fields < 6) return std::nullopt;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return Timestamp(static_cast<std::int64_t>(timegm(&parts)) * 1000 + (fields == 7 ? ms : 0));
}

std::string clock_text(Timestamp at) {
  const std::int64_t seconds = at.ms() / 1000 % 86'400;
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%02d:%02d:%02d", static_cast<int>(seconds / 3600),
                static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  return text.data();
}

std::string distance(Duration duration) {
  struct Unit {
    std::int64_t ms;
    std::string_view name;
  };
  constexpr auto kUnits = std::to_array<Unit>(
      {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}, {1, "ms"}});
  const std::int64_t ms = std::abs(duration.count());
  for (const Unit& unit : kUnits) {
    // Two of a unit before it is used: "90m" says more than "2h".
    if (ms >= 2 * unit.ms - unit.ms / 100 || unit.ms == 1) {
      return std::to_string((ms + unit.ms / 2) / unit.ms) + std::string(unit.name);
    }
  }
  return {};
}

std::string moment_text(std::string_view text, Timestamp now) {
  const std::optional<Timestamp> at = parse_moment(text);
  if (!at) return shown(text);
  const Duration left = *at - now;
  if (std::abs(left.count()) < 1000) return "now";
  return left.count() > 0 ? "in " + distance(left) : distance(left) + " ago";
}

std::string moment_long(std::string_view text, Timestamp now) {
  if (text.empty()) return {};
  return moment_text(text, now) + " (" + shown(text) + ")";
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace postrider
