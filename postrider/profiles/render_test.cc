#include "postrider/profiles/render.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "postrider/model/spec_tables_testing.h"
#include "postrider/profiles/all.h"
#include "postrider/profiles/grid.h"
#include "postrider/profiles/webhook/profile.h"

namespace postrider {
namespace {

constexpr auto kHealth =
    std::to_array<HealthWords>({{"normal", "fail", "wait", "too many | strikes"}});

std::string rendered(RenderFormat format, std::string_view method = "") {
  return render_profile({.profile = kWebhook, .health = kHealth, .method = method}, format);
}

SpecTable transposed(const SpecTable& table) {
  SpecTable result;
  result.columns.push_back("state");
  for (const auto& row : table.rows) result.columns.push_back(row.at(0));
  for (std::size_t column = 1; column < table.columns.size(); ++column) {
    std::vector<std::string> cells = {table.columns[column]};
    for (const auto& row : table.rows) cells.push_back(row.at(column));
    result.rows.push_back(std::move(cells));
  }
  return result;
}

// What is shown is read back and compared with what runs.
// req: webhook.show.1
TEST(RenderProfile, MarkdownSaysWhatRuns) {
  const SpecTables tables = parse_spec_tables(rendered(RenderFormat::kMarkdown));
  const auto states = find_table(tables, "States");
  ASSERT_TRUE(states);
  EXPECT_EQ(compare_states(*states, kWebhook.states), Differences());

  const auto of_method = [](const SpecTable& table) { return table.heading == "Method post"; };
  const auto matrix = std::find_if(tables.begin(), tables.end(), of_method);
  ASSERT_NE(matrix, tables.end());
  EXPECT_EQ(compare_transitions(transposed(*matrix), kWebhook.states, kWebhook.methods[0]),
            Differences());

  const auto retry = find_table(tables, "Retry rules, with default settings");
  ASSERT_TRUE(retry);
  EXPECT_EQ(compare_retry(*retry, *kWebhook.settings.configure(example_settings(kWebhook))),
            Differences());

  const auto settings = find_table(tables, "Settings");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->rows.size(), kWebhook.settings.rows.size());
  EXPECT_TRUE(find_table(tables, "Health of the route"));
  EXPECT_NE(rendered(RenderFormat::kMarkdown).find("too many \\| strikes"), std::string::npos);
}

// req: webhook.show.1
TEST(RenderProfile, TextHoldsEveryWordOfTheTables) {
  const std::string text = rendered(RenderFormat::kText);
  for (const StateRow& state : kWebhook.states) EXPECT_NE(text.find(state.name), std::string::npos);
  for (const Transition& row : kWebhook.methods[0].rows)
    EXPECT_NE(text.find(row.why), std::string::npos) << row.why;
  for (const SettingRow& row : kWebhook.settings.rows)
    EXPECT_NE(text.find(row.may_be), std::string::npos) << row.name;
  EXPECT_NE(text.find("too many | strikes"), std::string::npos);
  EXPECT_TRUE(text.ends_with('\n'));
}

// req: webhook.show.1
TEST(RenderProfile, MermaidDrawsEveryWay) {
  EXPECT_EQ(rendered(RenderFormat::kMermaid),
            "stateDiagram-v2\n"
            "  [*] --> Queued\n"
            "  Queued --> Sending: due\n"
            "  Queued --> Parked: out-of-reach\n"
            "  Queued --> Delivered: answered, confirmed\n"
            "  Queued --> Dead: exhausted, skipped\n"
            "  Queued --> Expired: expired\n"
            "  Queued --> Cancelled: cancelled\n"
            "  Queued --> Aside: poison\n"
            "  Sending --> Queued: no-route\n"
            "  Sending --> Waiting: failed, timed-out\n"
            "  Sending --> Parked: out-of-reach\n"
            "  Sending --> Delivered: answered, confirmed\n"
            "  Sending --> Dead: rejected, exhausted, skipped\n"
            "  Sending --> Aside: poison\n"
            "  Waiting --> Queued: due\n"
            "  Waiting --> Parked: out-of-reach\n"
            "  Waiting --> Delivered: answered, confirmed\n"
            "  Waiting --> Dead: exhausted, skipped\n"
            "  Waiting --> Expired: expired\n"
            "  Waiting --> Cancelled: cancelled\n"
            "  Waiting --> Aside: poison\n"
            "  Parked --> Queued: due\n"
            "  Parked --> Parked: out-of-reach\n"
            "  Parked --> Delivered: answered, confirmed\n"
            "  Parked --> Dead: exhausted, skipped\n"
            "  Parked --> Expired: expired\n"
            "  Parked --> Cancelled: cancelled\n"
            "  Parked --> Aside: poison\n"
            "  Aside --> Queued: due\n"
            "  Aside --> Parked: out-of-reach\n"
            "  Aside --> Delivered: answered, confirmed\n"
            "  Aside --> Dead: exhausted, skipped\n"
            "  Aside --> Expired: expired\n"
            "  Aside --> Cancelled: cancelled\n"
            "  Aside --> Aside: poison\n"
            "  Delivered --> [*]\n"
            "  Dead --> [*]\n"
            "  Expired --> [*]\n"
            "  Cancelled --> [*]\n");
}

// req: webhook.show.1
TEST(RenderProfile, JsonHasOneObjectPerStateAndSignal) {
  const std::string json = rendered(RenderFormat::kJson);
  EXPECT_TRUE(json.starts_with(
      "{\"name\":\"webhook\",\"states\":[{\"state\":\"Queued\",\"phase\":\"queued\""));
  EXPECT_NE(json.find("{\"from\":\"Waiting\",\"on\":\"due\",\"to\":\"Queued\",\"verb\":\"await\","
                      "\"raise\":\"-\","),
            std::string::npos);
  std::size_t transitions = 0;
  for (std::size_t at = 0; (at = json.find("\"verb\":", at)) != std::string::npos; ++at)
    ++transitions;
  EXPECT_EQ(transitions, 65U + 84U) << "of two methods";
}

TEST(RenderProfile, AMethodCanBeChosen) {
  EXPECT_NE(rendered(RenderFormat::kText).find("Method batch"), std::string::npos);
  EXPECT_NE(rendered(RenderFormat::kText, "post").find("Method post"), std::string::npos);
  EXPECT_EQ(rendered(RenderFormat::kText, "post").find("Method batch"), std::string::npos);
  EXPECT_EQ(rendered(RenderFormat::kText, "other").find("Method"), std::string::npos);
  EXPECT_EQ(rendered(RenderFormat::kMermaid, "other"), "");
}

// req: webhook.show.2
TEST(RenderProfile, TheListNamesEachProfileFirst) {
  const std::string lines = render_profile_list(all_profiles(), RenderFormat::kText);
  EXPECT_TRUE(lines.starts_with("webhook  10 states, methods: post,batch\n"));
  EXPECT_EQ(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')),
            all_profiles().size());
  EXPECT_TRUE(render_profile_list(all_profiles(), RenderFormat::kJson)
                  .starts_with("[{\"name\":\"webhook\","));
}

TEST(AllProfiles, AreFoundByNameAndSound) {
  EXPECT_EQ(find_profile("webhook"), &kWebhook);
  EXPECT_EQ(find_profile("Webhook"), nullptr);
  EXPECT_EQ(find_profile(""), nullptr);
  for (const ProfileSpec* profile : all_profiles()) {
    EXPECT_EQ(find_profile(profile->name), profile);
    EXPECT_TRUE(profile->settings.configure(example_settings(*profile))) << profile->name;
    for (const Method& method : profile->methods)
      EXPECT_TRUE(sound(profile->states, method)) << profile->name;
  }
}

TEST(Grid, AlignsByCharactersAndNotByBytes) {
  const Grid grid{.title = "T", .columns = {"a", "b"}, .rows = {{"±·", "1"}, {"xyz", ""}}};
  EXPECT_EQ(to_text(grid), "T\n  a    b\n  ±·   1\n  xyz\n");
}

TEST(Grid, DropsColumnsThatSayNothing) {
  Grid grid{.title = "T", .columns = {"a", "b", "c"}, .rows = {{"-", "-", "1"}, {"-", "-", "-"}}};
  drop_empty_columns(grid);
  EXPECT_EQ(grid.columns, (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(grid.rows[0], (std::vector<std::string>{"-", "1"}));
}

TEST(Grid, QuotesWhatJsonCannotHoldPlain) {
  EXPECT_EQ(json_quoted("a\"b\\c\n\x1F·"), "\"a\\\"b\\\\c\\u000a\\u001f·\"");
}

}  // namespace
}  // namespace postrider
