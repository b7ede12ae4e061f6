// The table of settings: one row each. Everything that must know them all goes through it: reading
// the file and the environment, `config init`, the reference in docs/operating.md, and the tests.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "postrider/config/config.h"
#include "postrider/shard/limits.h"

namespace postrider {

enum class ConfigKind : std::uint8_t { kText, kWord, kTexts, kNumber, kBytes, kDuration, kFlag };

// Where a setting lives. Its default is what a new Config says there.
using ConfigField =
    std::variant<std::uint16_t& (*)(Config&), std::uint32_t& (*)(Config&),
                 std::uint64_t& (*)(Config&), Duration& (*)(Config&), bool& (*)(Config&),
                 std::string& (*)(Config&), std::vector<std::string>& (*)(Config&)>;

// Of numbers and bytes themselves, of durations in milliseconds, of texts in bytes, of lists in
// elements. Those of the engine and its shard are kept in shard/limits.h.
using ConfigBounds = LimitRange;

struct ConfigRow {
  std::string_view section;
  std::string_view key;
  ConfigKind kind;
  ConfigField field;
  ConfigBounds bounds;
  std::string_view meaning;
  std::span<const std::string_view> words = {};  // what a kWord may be
};

struct ConfigSection {
  std::string_view name;
  std::string_view meaning;
  bool reloads = false;  // taken on SIGHUP; settings of the others need a restart
};

// Those of the configuration itself, in the order of documents, then those of the parts.
std::vector<ConfigSection> config_sections(ConfigParts parts = {});
std::vector<ConfigRow> config_rows(ConfigParts parts = {});
// Those of one [brokers.NAME]; their fields are of the first broker of a Config, as one_broker()
// makes it.
std::span<const ConfigRow> broker_rows();
Config one_broker(BrokerOptions broker = {});
// Null: there is none.
const ConfigRow* find_config_row(std::span<const ConfigRow> rows, std::string_view section,
                                 std::string_view key);

std::string setting_name(const ConfigRow& row);   // server.listen
std::string variable_name(const ConfigRow& row);  // POSTRIDER_SERVER_LISTEN
std::string may_be(const ConfigRow& row);         // "a duration from 100ms to 10m, or 0"

// The value as it is written in a file. `config` is not changed.
std::string written_value(const ConfigRow& row, const Config& config);

// From a text, as in the environment; a list has commas between its elements. The error says what
// it may be.
Result<void> set_from_text(const ConfigRow& row, std::string_view text, Config& config);
// From what a file says.
Result<void> set_number(const ConfigRow& row, std::int64_t number, Config& config);
Result<void> set_texts(const ConfigRow& row, std::vector<std::string> texts, Config& config);
Result<void> set_flag(const ConfigRow& row, bool flag, Config& config);

// "64MiB", "1GiB", or a plain number of bytes.
Result<std::uint64_t> parse_bytes(std::string_view text);
std::string bytes_text(std::uint64_t bytes);  // in the largest unit that divides it

}  // namespace postrider
