#include "postrider/profiles/render.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "postrider/base/durations.h"
#include "postrider/profiles/grid.h"

namespace postrider {
namespace {

std::string or_dash(Duration duration) {
  return duration == Duration(0) ? "-" : to_string(duration);
}
std::string or_dash(std::uint32_t number) { return number == 0 ? "-" : std::to_string(number); }
std::string or_dash(std::string_view text) { return text.empty() ? "-" : std::string(text); }
std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string delays_of(const RetryRule& rule) {
  switch (rule.curve) {
    case Curve::kFixed: return "fixed " + to_string(rule.base);
    case Curve::kLinear: return "linear " + to_string(rule.base);
    case Curve::kExponential: return "exponential " + to_string(rule.base);
    case Curve::kList: break;
  }
  std::string text;
  for (std::size_t i = 0; i < rule.steps_used; ++i)
    text.append(i > 0 ? ", " : "").append(to_string(rule.steps[i]));
  return or_dash(text);
}

std::string jitter_of(const RetryRule& rule) {
  const std::string percent = std::to_string(rule.jitter_percent) + "%";
  switch (rule.jitter) {
    case Jitter::kNone: return "-";
    case Jitter::kAround: return "±" + percent;
    case Jitter::kAbove: return "+" + percent;
    case Jitter::kFull: return "full";
    case Jitter::kFactor:
      return "×" + std::to_string(rule.jitter_low) + "‰–" + std::to_string(rule.jitter_high) + "‰";
  }
  return "-";
}

Grid states_grid(const ProfileSpec& profile) {
  Grid grid{.title = "States",
            .columns = {"state", "phase", "timer", "timer signal", "keeps gates", "revives"},
            .rows = {}};
  for (const StateRow& state : profile.states) {
    const bool has_timer = state.timer != TimeOut::kNone;
    grid.rows.push_back({std::string(state.name), std::string(name_of(state.phase)),
                         std::string(name_of(state.timer)),
                         has_timer ? std::string(name_of(state.timer_signal)) : "-",
                         state.keeps_gates ? "yes" : "no", state.revives ? "yes" : "no"});
  }
  drop_empty_columns(grid);
  return grid;
}

std::vector<StateIndex> all_states(const ProfileSpec& profile) {
  std::vector<StateIndex> states(profile.states.size());
  std::iota(states.begin(), states.end(), StateIndex{0});
  return states;
}

std::vector<StateIndex> live_states(const ProfileSpec& profile, const Method& method) {
  const StateMask used = lifecycle_detail::used_states(method.initial, method.rows);
  std::vector<StateIndex> live;
  for (const StateIndex state : all_states(profile)) {
    if ((used & in(state)) != 0 && !is_end(profile.states[state].phase)) live.push_back(state);
  }
  return live;
}

std::string cell_of(const ProfileSpec& profile, const Transition& row) {
  std::string cell = "·";
  if (row.verb != Do::kIgnore)
    cell = std::string(profile.states[row.to].name) + "/" + std::string(name_of(row.verb));
  if (row.raise != Raise::kNone) cell.append(" +").append(name_of(row.raise));
  return cell;
}

// One line per signal, because there are fewer live states than signals.
Grid matrix_grid(const ProfileSpec& profile, const Method& method) {
  Grid grid{.title = "Transitions", .columns = {"on"}, .rows = {}};
  const std::vector<StateIndex> live = live_states(profile, method);
  for (const StateIndex state : live) grid.columns.emplace_back(profile.states[state].name);
  for (std::size_t signal = 0; signal < kSignals; ++signal) {
    const On on = static_cast<On>(signal);
    if (!lifecycle_detail::uses(method.rows, on)) continue;
    std::vector<std::string> cells = {std::string(name_of(on))};
    for (const StateIndex state : live) {
      const Transition* row = find_row(method.rows, state, on);
      cells.push_back(row == nullptr ? "-" : cell_of(profile, *row));
    }
    grid.rows.push_back(std::move(cells));
  }
  return grid;
}

std::vector<std::string> words_of(const ProfileSpec& profile, const Transition& row,
                                  std::string from) {
  const bool moves = row.verb != Do::kIgnore;
  return {std::move(from),
          std::string(name_of(row.on)),
          moves ? std::string(profile.states[row.to].name) : "-",
          std::string(name_of(row.verb)),
          std::string(name_of(row.raise)),
          std::string(row.why)};
}

// Each row as it is written (`apart`: one line per state it starts from) with its reason.
Grid rows_grid(const ProfileSpec& profile, const Method& method, bool apart) {
  Grid grid{
      .title = "Reasons", .columns = {"from", "on", "to", "verb", "raise", "why"}, .rows = {}};
  for (const Transition& row : method.rows) {
    std::string names;
    for (const StateIndex state : all_states(profile)) {
      if ((row.from & in(state)) == 0) continue;
      if (apart)
        grid.rows.push_back(words_of(profile, row, std::string(profile.states[state].name)));
      names.append(names.empty() ? "" : ", ").append(profile.states[state].name);
    }
    if (!apart) grid.rows.push_back(words_of(profile, row, std::move(names)));
  }
  return grid;
}

Grid retry_grid(const Policy& policy) {
  Grid grid{.title = "Retry rules, with default settings",
            .columns = {"class", "delays", "cap", "cap after", "jitter", "tick", "attempts",
                        "budget", "retry-after", "holds route", "strikes"},
            .rows = {}};
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    const auto failure = static_cast<FailureClass>(i);
    const RetryRule& rule = policy.rule(failure);
    grid.rows.push_back({std::string(name_of(failure)), delays_of(rule), or_dash(rule.cap),
                         or_dash(std::uint32_t{rule.cap_after}), jitter_of(rule),
                         or_dash(rule.tick), or_dash(std::uint32_t{rule.attempts_max}),
                         or_dash(rule.budget), or_dash(rule.retry_after_max),
                         yes_or_no(rule.holds_route), yes_or_no(rule.strikes)});
  }
  drop_empty_columns(grid);
  return grid;
}

Grid limits_grid(const Policy& policy) {
  Grid grid{.title = "Limits, with default settings", .columns = {"limit", "value"}, .rows = {}};
  const auto add = [&](std::string_view name, std::string value) {
    grid.rows.push_back({std::string(name), std::move(value)});
  };
  for (std::size_t i = 1; i < kTimeOuts; ++i) {
    const Duration time_out = policy.time_outs[i];
    const std::string name = std::string(name_of(static_cast<TimeOut>(i))) + " time-out";
    if (time_out != Duration(0)) add(name, to_string(time_out));
  }
  add("attempts in flight", or_dash(policy.route.in_use_max));
  add("between two starts", or_dash(policy.route.spacing));
  add("starts per second", or_dash(policy.route.tokens_per_second));
  add("starts at once", or_dash(policy.route.tokens_max));
  add("strikes that close the route", or_dash(std::uint32_t{policy.health.strikes_max}));
  add("first wait of a closed route", or_dash(policy.health.wait_base));
  add("longest wait of a closed route", or_dash(policy.health.wait_max));
  add("disabled after failing for", or_dash(policy.health.disable_after));
  add("new messages while disabled", policy.refuse_when_disabled ? "refused" : "held");
  add("FIFO lanes", or_dash(static_cast<std::uint32_t>(std::popcount(policy.fifo_lanes))));
  add("messages of a lane in memory", std::to_string(policy.window_max));
  return grid;
}

Grid settings_grid(const ProfileSpec& profile) {
  Grid grid{
      .title = "Settings", .columns = {"setting", "default", "may be", "meaning"}, .rows = {}};
  for (const SettingRow& row : profile.settings.rows) {
    grid.rows.push_back({std::string(row.name),
                         row.example.empty() ? or_dash(row.fallback) : "required",
                         std::string(row.may_be), std::string(row.meaning)});
  }
  return grid;
}

Grid health_grid(std::span<const HealthWords> health) {
  Grid grid{.title = "Health of the route", .columns = {"from", "on", "to", "why"}, .rows = {}};
  for (const HealthWords& row : health) {
    grid.rows.push_back(
        {std::string(row.from), std::string(row.on), std::string(row.to), std::string(row.why)});
  }
  return grid;
}

std::vector<const Method*> methods_of(const RenderInput& input) {
  std::vector<const Method*> methods;
  for (const Method& method : input.profile.methods) {
    if (input.method.empty() || input.method == method.name) methods.push_back(&method);
  }
  return methods;
}

std::string about(const ProfileSpec& profile, const Method& method) {
  return "Starts in " + std::string(profile.states[method.initial].name) + "; an attempt is " +
         (method.durable_intent ? "recorded before it leaves."
                                : "not recorded: after a crash it is repeated.");
}

std::string mermaid(const ProfileSpec& profile, const Method& method) {
  // Signals with the same way and verb share one arrow, so that the drawing stays readable.
  std::map<std::pair<StateIndex, StateIndex>, std::string> arrows;
  for (const Transition& row : method.rows) {
    if (row.verb == Do::kIgnore) continue;
    for (const StateIndex from : live_states(profile, method)) {
      if ((row.from & in(from)) == 0) continue;
      std::string& label = arrows[{from, row.to}];
      label.append(label.empty() ? "" : ", ").append(name_of(row.on));
    }
  }
  std::string out =
      "stateDiagram-v2\n  [*] --> " + std::string(profile.states[method.initial].name) + "\n";
  StateMask ends = 0;
  for (const auto& [way, label] : arrows) {
    const auto& [from, to] = way;
    out.append("  ")
        .append(profile.states[from].name)
        .append(" --> ")
        .append(profile.states[to].name);
    out.append(": ").append(label).append("\n");
    if (is_end(profile.states[to].phase)) ends |= in(to);
  }
  for (const StateIndex state : all_states(profile)) {
    if ((ends & in(state)) != 0)
      out.append("  ").append(profile.states[state].name).append(" --> [*]\n");
  }
  return out;
}

struct Sheets {
  Grid states;
  Grid settings;
  Grid health;
  std::vector<Grid> numbers;  // empty when the profile refuses its own examples
};

Sheets sheets_of(const RenderInput& input) {
  Sheets sheets{
      states_grid(input.profile), settings_grid(input.profile), health_grid(input.health), {}};
  const Result<Policy> policy = input.profile.settings.configure(example_settings(input.profile));
  if (policy) sheets.numbers = {retry_grid(*policy), limits_grid(*policy)};
  return sheets;
}

std::string as_text(const RenderInput& input) {
  const Sheets sheets = sheets_of(input);
  std::string out = "Profile " + std::string(input.profile.name) + "\n\n" + to_text(sheets.states);
  for (const Method* method : methods_of(input)) {
    out.append("\nMethod ")
        .append(method->name)
        .append("\n")
        .append(about(input.profile, *method))
        .append("\n\n");
    out.append(to_text(matrix_grid(input.profile, *method))).append("\n");
    out.append(to_text(rows_grid(input.profile, *method, false)));
  }
  for (const Grid& grid : sheets.numbers) out.append("\n").append(to_text(grid));
  if (!sheets.settings.rows.empty()) out.append("\n").append(to_text(sheets.settings));
  return out.append("\n").append(to_text(sheets.health));
}

void append_section(std::string& out, const Grid& grid) {
  out.append("\n## ").append(grid.title).append("\n\n").append(to_markdown(grid));
}

std::string as_markdown(const RenderInput& input) {
  const Sheets sheets = sheets_of(input);
  std::string out = "# Tables of the profile " + std::string(input.profile.name) + "\n";
  append_section(out, sheets.states);
  for (const Method* method : methods_of(input)) {
    out.append("\n## Method ")
        .append(method->name)
        .append("\n\n")
        .append(about(input.profile, *method));
    out.append(
        "\nA cell is `Next/verb`, with `+word` for what the route's health is told; `·` is "
        "ignored.\n\n");
    out.append(to_markdown(matrix_grid(input.profile, *method)));
    out.append("\n```mermaid\n").append(mermaid(input.profile, *method)).append("```\n\n");
    out.append(to_markdown(rows_grid(input.profile, *method, false)));
  }
  for (const Grid& grid : sheets.numbers) append_section(out, grid);
  if (!sheets.settings.rows.empty()) append_section(out, sheets.settings);
  append_section(out, sheets.health);
  return out;
}

std::string as_json(const RenderInput& input) {
  const Sheets sheets = sheets_of(input);
  std::string out = "{\"name\":" + json_quoted(input.profile.name) +
                    ",\"states\":" + to_json(sheets.states) + ",\"methods\":[";
  bool first = true;
  for (const Method* method : methods_of(input)) {
    out.append(first ? "{" : ",{").append("\"name\":").append(json_quoted(method->name));
    out.append(",\"initial\":").append(json_quoted(input.profile.states[method->initial].name));
    out.append(",\"durable_intent\":").append(method->durable_intent ? "true" : "false");
    out.append(",\"transitions\":")
        .append(to_json(rows_grid(input.profile, *method, true)))
        .append("}");
    first = false;
  }
  out.append("]");
  if (!sheets.numbers.empty()) {
    out.append(",\"retry\":")
        .append(to_json(sheets.numbers[0]))
        .append(",\"limits\":")
        .append(to_json(sheets.numbers[1]));
  }
  out.append(",\"settings\":").append(to_json(sheets.settings));
  return out.append(",\"health\":").append(to_json(sheets.health)).append("}\n");
}

}  // namespace

std::string render_profile(const RenderInput& input, RenderFormat format) {
  switch (format) {
    case RenderFormat::kText: return as_text(input);
    case RenderFormat::kMarkdown: return as_markdown(input);
    case RenderFormat::kJson: return as_json(input);
    case RenderFormat::kMermaid: break;
  }
  const std::vector<const Method*> methods = methods_of(input);
  return methods.empty() ? std::string() : mermaid(input.profile, *methods.front());
}

std::string render_profile_list(std::span<const ProfileSpec* const> profiles, RenderFormat format) {
  Grid grid{.title = "", .columns = {"name", "states", "methods", "settings"}, .rows = {}};
  std::string lines;
  for (const ProfileSpec* profile : profiles) {
    std::string methods;
    for (const Method& method : profile->methods)
      methods.append(methods.empty() ? "" : ",").append(method.name);
    grid.rows.push_back({std::string(profile->name), std::to_string(profile->states.size()),
                         methods, std::to_string(profile->settings.rows.size())});
    lines.append(profile->name)
        .append("  ")
        .append(grid.rows.back()[1])
        .append(" states, methods: ");
    lines.append(methods).append("\n");
  }
  return format == RenderFormat::kJson ? to_json(grid) + "\n" : lines;
}

NamedTexts example_settings(const ProfileSpec& profile) {
  NamedTexts settings;
  for (const SettingRow& row : profile.settings.rows) {
    if (row.example.empty()) continue;
    std::string name(row.name);
    if (name.ends_with('*')) name.replace(name.size() - 1, 1, "example");
    settings.emplace_back(std::move(name), row.example);
  }
  return settings;
}

}  // namespace postrider
