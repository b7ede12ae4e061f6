// Every row of the table of settings: default, bounds, and what overrides it.
#include "postrider/config/config_rows.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "postrider/config/config.h"

namespace postrider {
namespace {

std::string rows_problems(std::string_view text, const Environment& environment = {},
                          const ConfigOverrides& overrides = {}) {
  const Result<Config> config = parse_config(text, "p.toml", environment, overrides);
  return config ? "" : config.error().detail;
}

// A line of a file that sets one row.
std::string line_of(const ConfigRow& row, std::string_view value) {
  return "[" + std::string(row.section) + "]\n" + std::string(row.key) + " = " +
         std::string(value) + "\n";
}

std::string as_written(const ConfigRow& row, std::int64_t value) {
  return row.kind == ConfigKind::kDuration ? "\"" + std::to_string(value) + "ms\""
                                           : std::to_string(value);
}

std::string as_variable(const ConfigRow& row, std::int64_t value) {
  return std::to_string(value) + (row.kind == ConfigKind::kDuration ? "ms" : "");
}

bool is_numeric(const ConfigRow& row) {
  return row.kind == ConfigKind::kNumber || row.kind == ConfigKind::kBytes ||
         row.kind == ConfigKind::kDuration;
}

// Whether the problems have one about the bounds of this row; rules between settings may add
// others.
bool refuses_value(const ConfigRow& row, const std::string& problems) {
  return problems.find(setting_name(row) + " must be " + may_be(row)) != std::string::npos;
}

TEST(ConfigRows, EveryNumberHoldsItsBounds) {
  for (const ConfigRow& row : config_rows()) {
    if (!is_numeric(row)) continue;
    const auto [low, high, or_zero] = row.bounds;
    EXPECT_FALSE(refuses_value(row, rows_problems(line_of(row, as_written(row, low)))))
        << setting_name(row) << " at its lower bound";
    EXPECT_FALSE(refuses_value(row, rows_problems(line_of(row, as_written(row, high)))))
        << setting_name(row) << " at its upper bound";
    EXPECT_TRUE(refuses_value(row, rows_problems(line_of(row, as_written(row, high + 1)))))
        << setting_name(row) << " above";
    if (low > 0) {
      const bool refused =
          refuses_value(row, rows_problems(line_of(row, as_written(row, low - 1))));
      EXPECT_EQ(refused, !or_zero || low > 1) << setting_name(row) << " below";
      const bool zero_refused = refuses_value(row, rows_problems(line_of(row, "0")));
      EXPECT_EQ(zero_refused, !or_zero) << setting_name(row) << " at 0";
    }
    if (row.kind != ConfigKind::kDuration) {
      EXPECT_TRUE(refuses_value(row, rows_problems(line_of(row, "-1")))) << setting_name(row);
    }
  }
}

TEST(ConfigRows, EveryDefaultIsWithinItsBounds) {
  const Config defaults;
  for (const ConfigRow& row : config_rows()) {
    const std::string problems = rows_problems(line_of(row, written_value(row, defaults)));
    EXPECT_EQ(problems, "") << setting_name(row);
  }
}

TEST(ConfigRows, EveryRowCanBeGivenByTheEnvironmentWhichWins) {
  const Config defaults;
  for (const ConfigRow& row : config_rows()) {
    if (!is_numeric(row)) continue;
    // The file says something else; with the default from the environment no rule between settings
    // is broken.
    const std::int64_t other = row.bounds.high;
    std::string value = written_value(row, defaults);
    std::erase(value, '"');
    const Result<Config> config =
        parse_config(line_of(row, as_written(row, other)), "p.toml", {{variable_name(row), value}});
    ASSERT_TRUE(config) << config.error().detail;
    EXPECT_EQ(written_value(row, *config), written_value(row, defaults)) << setting_name(row);

    const Environment wrong = {{variable_name(row), as_variable(row, other + 1)}};
    EXPECT_EQ(rows_problems("", wrong), variable_name(row) + " must be " + may_be(row));
  }
  const Result<Config> config = parse_config("[engine]\nopen_attempts_max = 7\n", "p.toml",
                                             {{"POSTRIDER_ENGINE_OPEN_ATTEMPTS_MAX", "9"},
                                              {"POSTRIDER_SERVER_LISTEN", "127.0.0.1:1, [::1]:2"},
                                              {"POSTRIDER_DRAIN_TIME_OUT", "5s"},
                                              {"POSTRIDER_STORE_CACHE_BYTES", "2MiB"},
                                              {"POSTRIDER_LOG_LEVEL", "debug"}});
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->host.shard.engine.limits.open_attempts_max, 9U);
  EXPECT_EQ(config->server.listen, (std::vector<std::string>{"127.0.0.1:1", "[::1]:2"}));
  EXPECT_EQ(config->drain_time_out, 5s);
  EXPECT_EQ(config->store.cache_bytes, 2U << 20);
  EXPECT_EQ(config->log.level, "debug");
}

TEST(ConfigRows, TheCommandLineWinsOverBoth) {
  const Result<Config> config = parse_config(
      "[store]\ndirectory = \"file\"\n", "p.toml", {{"POSTRIDER_STORE_DIRECTORY", "variable"}},
      {{.setting = "store.directory", .value = "option", .origin = "--data"}});
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->store.directory, "option");
  EXPECT_EQ(rows_problems("", {}, {{"store.directory", "", "--data"}}),
            "--data must be a text of 1 to 4096 bytes");
}

TEST(ConfigRows, CoverTheOptionsOfTheParts) {
  constexpr std::string_view kWhy = "a field was added: give it a row, then correct the size";
  EXPECT_EQ(sizeof(HttpLimits), 80U) << kWhy;
  EXPECT_EQ(sizeof(HttpApiOptions), 184U) << kWhy;
  EXPECT_EQ(sizeof(EngineLimits), 272U) << kWhy;
  EXPECT_EQ(sizeof(EngineOptions), 560U) << kWhy;
  EXPECT_EQ(sizeof(ShardOptions), 616U) << kWhy;
  EXPECT_EQ(sizeof(HostOptions), 784U) << kWhy;
  EXPECT_EQ(sizeof(HttpTransportOptions), 304U) << kWhy;
  EXPECT_EQ(sizeof(GrpcTransportOptions), 288U) << kWhy;
  EXPECT_EQ(sizeof(BrokerOptions), 424U) << kWhy;
}

TEST(ConfigRows, NamesAreUniqueAndEverySectionHasRows) {
  std::set<std::string> variables;
  std::set<std::string_view> sections;
  for (const ConfigRow& row : config_rows()) {
    EXPECT_TRUE(variables.insert(variable_name(row)).second) << setting_name(row);
    EXPECT_FALSE(row.meaning.empty()) << setting_name(row);
    sections.insert(row.section);
  }
  for (const ConfigSection& section : config_sections())
    EXPECT_TRUE(sections.contains(section.name)) << section.name;
  EXPECT_EQ(sections.size(), config_sections().size());
}

TEST(ConfigRows, TextsAreWrittenSoThatTheyAreReadBack) {
  const std::vector<ConfigRow> rows = config_rows();
  const ConfigRow* row = find_config_row(rows, "store", "directory");
  ASSERT_NE(row, nullptr);
  Config config;
  config.store.directory = "a \"b\" \\c\n\t\x01\x7f \u00e4";
  const Result<Config> again = parse_config(line_of(*row, written_value(*row, config)), "p", {});
  ASSERT_TRUE(again) << again.error().detail;
  EXPECT_EQ(again->store.directory, config.store.directory);
}

TEST(ConfigRows, BytesAreReadWithAndWithoutUnits) {
  for (const auto& [text, bytes] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"0", 0}, {"17", 17}, {"4KiB", 4096}, {"3MiB", 3 << 20}, {"2TiB", 2ULL << 40}}) {
    EXPECT_EQ(parse_bytes(text).value_or(99), bytes);
    EXPECT_EQ(bytes_text(bytes), text);
  }
  for (const char* wrong : {"", "MiB", "4 KiB", "4kib", "-1", "1.5MiB", "99999999TiB", "4K"})
    EXPECT_FALSE(parse_bytes(wrong)) << wrong;
}

}  // namespace
}  // namespace postrider
