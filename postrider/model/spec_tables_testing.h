// Reads the tables of docs/spec/*.md and compares them with what the code says. The documents are
// written apart from the code, so a change of one cell on either side alone is found. For tests of
// all profiles.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/model/policy.h"
#include "postrider/model/profile.h"

namespace postrider {

struct SpecTable {
  std::string heading;  // the nearest one above it
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // each as wide as the columns

  std::optional<std::size_t> column(std::string_view name) const;
  // The cell, or the fallback when there is no such column.
  std::string cell(std::size_t row, std::string_view column, std::string_view fallback = "") const;
};

using SpecTables = std::vector<SpecTable>;
using Differences = std::vector<std::string>;  // one sentence each; empty: equal

SpecTables parse_spec_tables(std::string_view markdown);
// `path` from the root of the repository. Empty when the file cannot be read.
SpecTables read_spec_tables(std::string_view path);
// The only table under the heading, or nothing when there is none or more than one.
std::optional<SpecTable> find_table(const SpecTables& tables, std::string_view heading);

// Columns: state, phase, timer, timer signal, and where a state does so keeps gates, revives and
// refreshes (yes, no).
Differences compare_states(const SpecTable& expected, std::span<const StateRow> states);

// Columns: state, then one per signal. Cells: "Next/verb", "Next/verb +raise", or "·" for ignore
// ("· +raise" when it raises).
Differences compare_transitions(const SpecTable& expected, std::span<const StateRow> states,
                                const Method& method);

// Columns: class, delays, and any of cap, cap after, jitter, tick, attempts, budget, retry-after,
// holds route, strikes; a column that is not there stands for the default. Delays: "5s, 30s, 2m" is
// a list, else "fixed 5s", "linear 5s", "exponential 5s". Jitter: "±20%", "+20%", "full".
Differences compare_retry(const SpecTable& expected, const Policy& policy);
std::optional<RetryRule> parse_rule(const SpecTable& table, std::size_t row);

std::optional<FailureClass> parse_failure(std::string_view name);
std::optional<On> parse_signal(std::string_view name);
std::optional<Certainty> parse_certainty(std::string_view name);

}  // namespace postrider
