#include "apps/postrider/demo_display.h"

#include <algorithm>
#include <cstdio>
#include <unistd.h>

#include "postrider/cli/output.h"

namespace postrider {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kNameWidth = 9;
constexpr std::size_t kCountWidth = 13;
constexpr auto kBetweenFrames = std::chrono::milliseconds(80);
constexpr auto kBetweenLines = std::chrono::seconds(2);

// In eighths of a character, so that it moves smoothly.
std::string bar(std::uint64_t part, std::uint64_t whole) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const std::uint64_t eighths = whole == 0 ? 0 : std::min(part, whole) * kBarWidth * 8 / whole;
  std::string full;
  for (std::uint64_t i = 0; i < eighths / 8; ++i) full.append("█");
  const bool partial = eighths % 8 != 0;
  full.append(kEighths[eighths % 8]);
  std::string rest(kBarWidth - eighths / 8 - (partial ? 1 : 0), ' ');
  return coloured(full, part >= whole && whole != 0 ? Colour::kGood : Colour::kPlain) + rest;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

void DemoDisplay::say(std::string_view line) {
  if (quiet_) return;
  if (lines_up_ != 0) std::printf("\033[%zuA\033[J", lines_up_);
  lines_up_ = 0;
  shown_at_ = {};
  std::printf("%.*s\n", static_cast<int>(line.size()), line.data());
  std::fflush(stdout);
}

void DemoDisplay::show(const std::vector<DemoRow>& rows, std::string_view footer, bool now) {
  if (quiet_) return;
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const Clock::time_point time = Clock::now();
  const Clock::duration pause = terminal ? Clock::duration(kBetweenFrames) : kBetweenLines;
  if (!now && time - shown_at_ < pause) return;
  shown_at_ = time;
  std::string out;
  if (!terminal) {
    for (const DemoRow& row : rows)
      out.append(row.name).append(" ").append(grouped(row.taken)).append("  ");
    std::printf("  %s| %.*s\n", out.c_str(), static_cast<int>(footer.size()), footer.data());
    std::fflush(stdout);
    return;
  }
  if (lines_up_ != 0) out += "\033[" + std::to_string(lines_up_) + "A";
  for (const DemoRow& row : rows) {
    const std::string count = grouped(row.taken) + "/" + grouped(row.of);
    out += "\033[K  " + padded(row.name, kNameWidth) + bar(row.taken, row.of) + " " +
           padded(count, kCountWidth) + coloured(row.mood, Colour::kFaint) + "\n";
  }
  out.append("\033[K\n\033[K  ").append(footer).append("\n");
  lines_up_ = rows.size() + 2;
  std::fputs(out.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace postrider
