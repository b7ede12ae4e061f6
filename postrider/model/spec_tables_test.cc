#include <gtest/gtest.h>

#include "postrider/model/spec_tables_testing.h"

namespace postrider {
namespace {

constexpr std::string_view kDocument = R"(# Title

text | with a bar

## One
| a | b |
|---|:-:|
| `x` | y z |
| only |

| c |
|---|
## Two
| d | e |
|---|---|
| | 1 |
)";

TEST(SpecTables, AreFoundByTheirHeading) {
  const SpecTables tables = parse_spec_tables(kDocument);
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[0].columns, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(tables[0].rows, (std::vector<std::vector<std::string>>{{"x", "y z"}, {"only", ""}}));
  EXPECT_EQ(tables[1].rows.size(), 0U);
  const std::optional<SpecTable> two = find_table(tables, "Two");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->cell(0, "e"), "1");
  EXPECT_EQ(two->cell(0, "d"), "");
  EXPECT_EQ(two->cell(0, "f", "-"), "-");
  EXPECT_FALSE(find_table(tables, "One")) << "two tables under one heading: which is meant?";
  EXPECT_FALSE(find_table(tables, "Three"));
}

TEST(SpecTables, AMissingFileHasNone) {
  EXPECT_TRUE(read_spec_tables("docs/spec/no-such-file.md").empty());
}

RetryRule rule_of(std::string_view columns, std::string_view cells) {
  const std::string text = "# H\n| class | delays | " + std::string(columns) +
                           " |\n|---|\n| none | " + std::string(cells) + " |\n";
  const std::optional<RetryRule> rule = parse_rule(parse_spec_tables(text).at(0), 0);
  EXPECT_TRUE(rule) << text;
  return rule.value_or(RetryRule{});
}

TEST(SpecTables, EveryColumnOfARetryRuleIsRead) {
  RetryRule want;
  want.curve = Curve::kExponential;
  want.base = 2s;
  want.cap = 1h;
  want.cap_after = 6;
  want.jitter = Jitter::kAbove;
  want.jitter_percent = 15;
  want.tick = 5s;
  want.attempts_max = 7;
  want.budget = 48h;
  want.retry_after_max = 30min;
  want.holds_route = true;
  want.strikes = true;
  EXPECT_EQ(rule_of("cap | cap after | jitter | tick | attempts | budget | retry-after | holds "
                    "route | strikes",
                    "exponential 2s | 1h | 6 | +15% | 5s | 7 | 2d | 30m | yes | yes"),
            want);
  EXPECT_EQ(rule_of("jitter", "fixed 5s | full").jitter, Jitter::kFull);
  EXPECT_EQ(rule_of("jitter", "linear 5s | -").curve, Curve::kLinear);
  EXPECT_EQ(rule_of("jitter", "1s, 2s | ±5%").steps_used, 2);
}

TEST(SpecTables, WhatCannotBeReadIsNoRule) {
  for (const char* cells :
       {"x | -", "fixed | -", "fixed 5s | 5%", "fixed 5s | ±5", "fixed 5s | ±300%", "fixed 5s |"}) {
    const std::string text =
        "# H\n| class | delays | jitter |\n|---|\n| none | " + std::string(cells) + " |\n";
    EXPECT_FALSE(parse_rule(parse_spec_tables(text).at(0), 0)) << cells;
  }
}

}  // namespace
}  // namespace postrider
