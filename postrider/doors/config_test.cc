// The configuration with the parts of all doors: what a file may say as a whole.
#include "postrider/doors/device/config.h"

#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "postrider/config/config_rows.h"
#include "postrider/config/config_testing.h"
#include "postrider/doors/all.h"

namespace postrider::doors {
namespace {

std::string problems_of(std::string_view text) {
  const Result<Config> config = parse_config(text, "p.toml", {}, {}, all_config_parts());
  return config ? "" : config.error().detail;
}

std::string line_of(const ConfigRow& row, std::string_view value) {
  return "[" + std::string(row.section) + "]\n" + std::string(row.key) + " = " +
         std::string(value) + "\n";
}

std::string as_text(const ConfigRow& row, std::int64_t value) {
  return std::to_string(value) + (row.kind == ConfigKind::kDuration ? "ms" : "");
}

TEST(DoorConfig, EveryDefaultIsWithinItsBoundsAndEveryNumberHoldsThem) {
  const Config defaults;
  for (const ConfigPart* part : all_config_parts()) {
    for (const ConfigRow& row : part->rows) {
      EXPECT_EQ(problems_of(line_of(row, written_value(row, defaults))), "") << setting_name(row);
      if (row.kind != ConfigKind::kNumber) continue;
      const auto refuses = [&](std::int64_t value) {
        return problems_of(line_of(row, std::to_string(value))).find("must be " + may_be(row)) !=
               std::string::npos;
      };
      EXPECT_FALSE(refuses(row.bounds.low)) << setting_name(row);
      EXPECT_TRUE(refuses(row.bounds.high + 1)) << setting_name(row);
    }
  }
}

TEST(DoorConfig, NamesOfSettingsAreUniqueAndEverySectionHasRows) {
  std::set<std::string> variables;
  std::set<std::string_view> sections;
  for (const ConfigRow& row : config_rows(all_config_parts())) {
    EXPECT_TRUE(variables.insert(variable_name(row)).second) << setting_name(row);
    EXPECT_FALSE(row.meaning.empty()) << setting_name(row);
    sections.insert(row.section);
  }
  EXPECT_EQ(sections.size(), config_sections(all_config_parts()).size());
}

// req: engine.limit.3
TEST(DoorConfig, EveryLimitOfTheShardIsASettingWithTheSameRange) {
  const std::vector<ConfigRow> rows = config_rows(all_config_parts());
  for (const LimitRow& limit : limits::kRows) {
    const ConfigRow* found = nullptr;
    for (const char* section : {"engine", "door", "device"}) {
      if (found == nullptr) found = find_config_row(rows, section, limit.name);
    }
    ASSERT_NE(found, nullptr) << limit.name;
    EXPECT_EQ(found->bounds.low, limit.range.low) << limit.name;
    EXPECT_EQ(found->bounds.high, limit.range.high) << limit.name;
    EXPECT_EQ(found->bounds.or_zero, limit.range.or_zero) << limit.name;
    // Both name the same field: what the file says is what the range is about.
    Config config;
    ASSERT_TRUE(set_from_text(*found, as_text(*found, limit.range.high), config));
    EXPECT_EQ(value_of(limit, config.host.shard), limit.range.high) << limit.name;
  }
}

// req: config.init.1
TEST(ConfigTemplate, IsAFileWithEveryDefault) {
  const std::string text = config_template(all_config_parts());
  EXPECT_EQ(problems_of(text), "");
  // With the marks removed it says the same: every default is written as it is read.
  std::string active;
  std::size_t settings = 0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("# [[tokens]]")) break;
    const std::size_t equals = line.find(" = ");
    const bool is_setting =
        line.starts_with("# ") && equals != std::string::npos && line.find(' ', 2) == equals;
    settings += is_setting ? 1 : 0;
    active += (is_setting ? line.substr(2) : line) + "\n";
  }
  EXPECT_EQ(settings, config_rows(all_config_parts()).size());
  EXPECT_EQ(problems_of(active), "");
  // And so do the examples of tokens and destinations.
  const ConfigFolder directory;
  const std::string secret = directory.write("s", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  std::string examples;
  begin = text.find("# [[tokens]]");
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    for (const std::string key : {"# secret_file", "# password_file", "# api_key_file"}) {
      if (line.starts_with(key)) line = key + " = \"" + secret + "\"";
    }
    const bool is_example = line.starts_with("# [") || line.find(" = ") != std::string::npos;
    if (is_example) examples += line.substr(2) + "\n";
  }
  const Result<Config> config = parse_config(examples, "p", {}, {}, all_config_parts());
  ASSERT_TRUE(config) << config.error().detail << "\n" << examples;
  EXPECT_EQ(config->api.tokens.size(), 1U);
  EXPECT_EQ(config->destinations.size(), 1U);
  EXPECT_EQ(config->brokers.size(), 1U);
  EXPECT_EQ(config->parts.of<device_door::DeviceConfig>().plugins.size(), 1U);
}

// req: config.init.2
TEST(ConfigReference, IsInTheDocuments) {
  std::ifstream file(POSTRIDER_SOURCE_DIR "/docs/operating.md");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  EXPECT_NE(text.find(config_reference(all_config_parts())), std::string::npos)
      << "paste this into docs/operating.md:\n"
      << config_reference(all_config_parts());
}

}  // namespace
}  // namespace postrider::doors
