// ConfigPart: what another module adds to the configuration, as tables. Its settings are rows like
// all others; a list of named tables ([plugins.NAME]) is read by the part itself. The configuration
// knows no part by name: parse_config and its relatives are handed all that there are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/config/config.h"
#include "postrider/config/config_rows.h"
#include "postrider/config/config_toml.h"
#include "postrider/model/profile.h"

namespace postrider {

// What a part may use of the reading that is under way.
class ConfigReading {
 public:
  ConfigReading() = default;
  virtual ~ConfigReading() = default;
  ConfigReading(const ConfigReading&) = delete;
  ConfigReading& operator=(const ConfigReading&) = delete;

  virtual Config& config() = 0;
  virtual void problem(std::uint32_t line, std::string_view what) = 0;
  virtual std::size_t problem_count() const = 0;
  virtual bool is_given(std::string_view setting) const = 0;  // "engine.key_window", in any way
  // A secret from one of `secret`, `secret_file`, `secret_env`, which entry.path.back() says; the
  // same for `password`. Nothing: the problem is noted.
  virtual std::optional<std::string> read_secret(const TomlEntry& entry) = 0;

  struct Settings {
    std::string who;  // "destination 'shop'"
    NamedTexts given;
    const std::map<std::string, std::uint32_t>& lines;
    std::uint32_t line;  // of the whole
  };
  // What a profile says to settings: all that is wrong, not only the first.
  virtual void check_settings(const ProfileSpec& profile, Settings settings) = 0;
};

// One reading of a part's list.
class ConfigList {
 public:
  ConfigList() = default;
  virtual ~ConfigList() = default;
  ConfigList(const ConfigList&) = delete;
  ConfigList& operator=(const ConfigList&) = delete;

  virtual void read(const TomlEntry& entry, ConfigReading& reading) = 0;
  // Once, when everything has been read and the lists of the configuration itself are finished.
  virtual void finish(ConfigReading& reading) = 0;
};

struct ConfigPart {
  std::span<const ConfigSection> sections = {};
  std::span<const ConfigRow> rows = {};
  std::string_view list = {};  // "plugins"; empty: none
  std::unique_ptr<ConfigList> (*read_list)() = nullptr;
  std::string_view sample = {};  // of the list, for `config init`; commented out
  // Looks at what only together makes sense, once everything has been read. May be null.
  void (*check)(ConfigReading& reading) = nullptr;
  // News that the part tells to destinations which the file does not have. May be null.
  std::vector<UnheardEvents> (*unheard)(const Config& config) = nullptr;
};

// A value as the text that a profile gets: lists with commas. Nothing for a table or a fraction.
std::optional<std::string> text_of(const TomlEntry& entry);
bool is_secret_key(std::string_view key);  // secret, secret_file, secret_env

}  // namespace postrider
