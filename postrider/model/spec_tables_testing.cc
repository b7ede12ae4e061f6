#include "postrider/model/spec_tables_testing.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "postrider/base/durations.h"

namespace postrider {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r`";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  line = trimmed(line);
  line.remove_prefix(1);  // the bar at the beginning
  if (line.ends_with('|')) line.remove_suffix(1);
  while (true) {
    const std::size_t bar = line.find('|');
    cells.emplace_back(trimmed(line.substr(0, bar)));
    if (bar == std::string_view::npos) return cells;
    line.remove_prefix(bar + 1);
  }
}

bool is_rule(std::string_view line) {
  return line.find_first_not_of("|-: \t\r") == std::string_view::npos;
}

template <class Enum>
std::optional<Enum> parse_name(std::string_view name, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

std::string or_dash(bool shown, std::string_view text) { return shown ? std::string(text) : "-"; }

template <class... Parts>
void differ(Differences& differences, const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  differences.push_back(text.str());
}

std::string cell_of(const Transition& row, std::span<const StateRow> states) {
  std::string text = "·";
  if (row.verb != Do::kIgnore)
    text = std::string(states[row.to].name) + "/" + std::string(name_of(row.verb));
  if (row.raise != Raise::kNone) text.append(" +").append(name_of(row.raise));
  return text;
}

std::optional<std::uint16_t> parse_count(std::string_view text) {
  if (text == "-") return std::uint16_t{0};
  std::uint16_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || rest != end) return std::nullopt;
  return count;
}

std::optional<Duration> parse_time(std::string_view text) {
  if (text == "-") return Duration(0);
  const Result<Duration> duration = parse_duration(text);
  return duration ? std::optional<Duration>(*duration) : std::nullopt;
}

std::optional<bool> parse_yes(std::string_view text) {
  if (text != "yes" && text != "no") return std::nullopt;
  return text == "yes";
}

bool parse_delays(std::string_view text, RetryRule& rule) {
  const std::pair<std::string_view, Curve> curves[] = {{"fixed ", Curve::kFixed},
                                                       {"linear ", Curve::kLinear},
                                                       {"exponential ", Curve::kExponential}};
  for (const auto& [word, curve] : curves) {
    if (!text.starts_with(word)) continue;
    const std::optional<Duration> base = parse_time(text.substr(word.size()));
    rule.curve = curve;
    rule.base = base.value_or(Duration(-1));
    return base.has_value();
  }
  const auto steps = parse_durations(text, RetryRule::kSteps);
  if (!steps) return false;
  rule.curve = Curve::kList;
  std::copy(steps->begin(), steps->end(), rule.steps.begin());
  rule.steps_used = static_cast<std::uint8_t>(steps->size());
  return true;
}

bool parse_jitter(std::string_view text, RetryRule& rule) {
  if (text == "-") return true;
  if (text == "full") {
    rule.jitter = Jitter::kFull;
    return true;
  }
  constexpr std::string_view kAround = "±";
  const bool around = text.starts_with(kAround);
  if ((!around && !text.starts_with('+')) || !text.ends_with('%')) return false;
  text.remove_prefix(around ? kAround.size() : 1);
  text.remove_suffix(1);
  const std::optional<std::uint16_t> percent = parse_count(trimmed(text));
  if (!percent || *percent > 255) return false;
  rule.jitter = around ? Jitter::kAround : Jitter::kAbove;
  rule.jitter_percent = static_cast<std::uint8_t>(*percent);
  return true;
}

template <class Value, class Parsed>
bool take(Value& value, const std::optional<Parsed>& parsed) {
  if (parsed) value = *parsed;
  return parsed.has_value();
}

}  // namespace

std::optional<std::size_t> SpecTable::column(std::string_view name) const {
  const auto found = std::find(columns.begin(), columns.end(), name);
  if (found == columns.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

std::string SpecTable::cell(std::size_t row, std::string_view name,
                            std::string_view fallback) const {
  const std::optional<std::size_t> at = column(name);
  return at ? rows.at(row).at(*at) : std::string(fallback);
}

SpecTables parse_spec_tables(std::string_view markdown) {
  SpecTables tables;
  std::string heading;
  bool inside = false;
  std::istringstream lines{std::string(markdown)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#'))
      heading = trimmed(std::string_view(line).substr(line.find_first_not_of('#')));
    const bool row = line.starts_with('|');
    if (row && !inside) {
      tables.push_back({.heading = heading, .columns = cells_of(line), .rows = {}});
    } else if (row && !is_rule(line)) {
      tables.back().rows.push_back(cells_of(line));
      tables.back().rows.back().resize(tables.back().columns.size());
    }
    inside = row;
  }
  return tables;
}

SpecTables read_spec_tables(std::string_view path) {
  std::ifstream file(std::string(POSTRIDER_SOURCE_DIR "/").append(path));
  std::ostringstream text;
  text << file.rdbuf();
  return parse_spec_tables(text.str());
}

std::optional<SpecTable> find_table(const SpecTables& tables, std::string_view heading) {
  std::optional<SpecTable> found;
  for (const SpecTable& table : tables) {
    if (table.heading != heading) continue;
    if (found) return std::nullopt;
    found = table;
  }
  return found;
}

Differences compare_states(const SpecTable& expected, std::span<const StateRow> states) {
  Differences differences;
  if (expected.rows.size() != states.size()) {
    differ(differences, "the document has ", expected.rows.size(), " states, the code ",
           states.size());
  }
  for (std::size_t i = 0; i < std::min(states.size(), expected.rows.size()); ++i) {
    const StateRow& state = states[i];
    const bool has_timer = state.timer != TimeOut::kNone;
    const std::pair<std::string_view, std::string> cells[] = {
        {"state", std::string(state.name)},
        {"phase", std::string(name_of(state.phase))},
        {"timer", std::string(name_of(state.timer))},
        {"timer signal", or_dash(has_timer, name_of(state.timer_signal))},
        {"keeps gates", state.keeps_gates ? "yes" : "no"},
        {"revives", state.revives ? "yes" : "no"},
        {"refreshes", state.refreshes ? "yes" : "no"},
    };
    for (const auto& [column, code] : cells) {
      const bool optional = column == "keeps gates" || column == "revives" || column == "refreshes";
      const std::string document = expected.cell(i, column, optional ? "no" : "");
      if (document != code)
        differ(differences, state.name, ", ", column, ": document '", document, "', code '", code,
               "'");
    }
  }
  return differences;
}

Differences compare_transitions(const SpecTable& expected, std::span<const StateRow> states,
                                const Method& method) {
  Differences differences;
  for (std::size_t signal = 0; signal < kSignals; ++signal) {
    const std::string_view name = name_of(static_cast<On>(signal));
    const bool used = lifecycle_detail::uses(method.rows, static_cast<On>(signal));
    if (expected.column(name).has_value() != used)
      differ(differences, "signal ", name, " is used on one side only");
  }
  if (expected.columns.empty() || expected.columns[0] != "state") {
    differ(differences, "the first column of the document must be the state");
  }
  const StateMask used = lifecycle_detail::used_states(method.initial, method.rows);
  std::size_t live = 0;
  for (std::size_t index = 0; index < states.size(); ++index) {
    const auto state = static_cast<StateIndex>(index);
    if ((used & in(state)) == 0 || is_end(states[state].phase)) continue;
    ++live;
    const auto same_name = [&](const auto& row) { return row.at(0) == states[state].name; };
    const auto row = std::find_if(expected.rows.begin(), expected.rows.end(), same_name);
    if (row == expected.rows.end()) {
      differ(differences, "the document has no row for ", states[state].name);
      continue;
    }
    for (std::size_t column = 1; column < expected.columns.size(); ++column) {
      const std::optional<On> signal = parse_signal(expected.columns[column]);
      const Transition* code = signal ? find_row(method.rows, state, *signal) : nullptr;
      const std::string text = code == nullptr ? "nothing" : cell_of(*code, states);
      if (row->at(column) == text) continue;
      differ(differences, states[state].name, " on ", expected.columns[column], ": document '",
             row->at(column), "', code '", text, "'");
    }
  }
  if (live != expected.rows.size())
    differ(differences, "the document has ", expected.rows.size(), " rows for ", live, " states");
  return differences;
}

std::optional<RetryRule> parse_rule(const SpecTable& table, std::size_t row) {
  RetryRule rule;
  const bool good = parse_delays(table.cell(row, "delays"), rule) &&
                    parse_jitter(table.cell(row, "jitter", "-"), rule) &&
                    take(rule.cap, parse_time(table.cell(row, "cap", "-"))) &&
                    take(rule.cap_after, parse_count(table.cell(row, "cap after", "-"))) &&
                    take(rule.tick, parse_time(table.cell(row, "tick", "-"))) &&
                    take(rule.attempts_max, parse_count(table.cell(row, "attempts", "-"))) &&
                    take(rule.budget, parse_time(table.cell(row, "budget", "-"))) &&
                    take(rule.retry_after_max, parse_time(table.cell(row, "retry-after", "-"))) &&
                    take(rule.holds_route, parse_yes(table.cell(row, "holds route", "no"))) &&
                    take(rule.strikes, parse_yes(table.cell(row, "strikes", "no")));
  return good ? std::optional<RetryRule>(rule) : std::nullopt;
}

Differences compare_retry(const SpecTable& expected, const Policy& policy) {
  Differences differences;
  constexpr std::string_view kKnown[] = {"class",       "delays",      "cap",      "cap after",
                                         "jitter",      "tick",        "attempts", "budget",
                                         "retry-after", "holds route", "strikes"};
  for (const std::string& column : expected.columns) {
    if (std::find(std::begin(kKnown), std::end(kKnown), column) == std::end(kKnown)) {
      differ(differences, "nobody knows the column ", column);
    }
  }
  if (expected.rows.size() != kFailureClasses)
    differ(differences, "there must be one row per failure class");
  std::vector<bool> seen(kFailureClasses);
  for (std::size_t row = 0; row < expected.rows.size(); ++row) {
    const std::string name = expected.cell(row, "class");
    const std::optional<FailureClass> failure = parse_failure(name);
    const std::optional<RetryRule> rule = parse_rule(expected, row);
    if (!failure || !rule) {
      differ(differences, "the row of class '", name, "' cannot be read");
      continue;
    }
    seen[static_cast<std::size_t>(*failure)] = true;
    if (*rule != policy.rule(*failure))
      differ(differences, "the rule of class '", name, "' is another one in the code");
  }
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    if (!seen[i])
      differ(differences, "class '", name_of(static_cast<FailureClass>(i)), "' has no row");
  }
  return differences;
}

std::optional<FailureClass> parse_failure(std::string_view name) {
  return parse_name<FailureClass>(name, kFailureClasses);
}
std::optional<On> parse_signal(std::string_view name) { return parse_name<On>(name, kSignals); }
std::optional<Certainty> parse_certainty(std::string_view name) {
  return parse_name<Certainty>(name, 3);
}

}  // namespace postrider
