// What people read: aligned tables, times as distances from now, colour on a terminal only. What
// comes from elsewhere is made safe for a terminal first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/time.h"

namespace postrider {

enum class Colour : std::uint8_t { kPlain, kGood, kBad, kWarn, kFaint, kStrong };

// Whether the standard output is a terminal that wants colour (NO_COLOR is not set).
bool colour_wanted();
std::string coloured(std::string_view text, Colour colour);  // plain when it is not wanted
Colour colour_of_phase(std::string_view phase);
Colour colour_of_health(std::string_view health);

// No control characters, whole UTF-8, no longer than `bytes_max`.
std::string shown(std::string_view text, std::size_t bytes_max = 300);

// The same for each of several lines; their breaks stay.
std::string shown_lines(std::string_view text);

// What is typed for a command: "msg ls" is a word of `postrider`, "postrider-bench timers" of a
// program of its own. Empty: the program alone.
std::string typed(std::string_view command);

// "postrider COMMAND: WHAT" on the standard error, as shown_lines(). Every complaint goes
// this way, because what was typed or read is repeated in it. `command` may be empty.
void complain(std::string_view command, std::string_view what);

// Columns as wide as their widest cell, the last one unpadded; a head when there are rows.
class Table {
 public:
  struct Cell {
    std::string text;
    Colour colour = Colour::kPlain;
    bool right = false;  // a number: units below units
  };
  explicit Table(std::vector<std::string> head) : head_(std::move(head)) {}
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.empty(); }
  std::string text() const;

 private:
  std::vector<std::string> head_;
  std::vector<std::vector<Cell>> rows_;
};

// "name   value" lines with aligned values; empty values are left out.
class FactList {
 public:
  void add(std::string_view name, const std::string& value, Colour colour = Colour::kPlain);
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

Timestamp wall_now();
std::optional<Timestamp> parse_moment(std::string_view text);   // "2026-01-02T03:04:05.678Z"
std::string clock_text(Timestamp at);                           // "03:04:05" UTC
std::string distance(Duration duration);                        // "3s", "2m", "5h", "4d": rounded
std::string moment_text(std::string_view text, Timestamp now);  // "2h ago", "in 5m"; empty: ""
// "2h ago (2026-01-02T03:04:05.678Z)"
std::string moment_long(std::string_view text, Timestamp now);

void print(std::string_view text);  // on the standard output

}  // namespace postrider
