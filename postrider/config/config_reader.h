// ConfigReader: one reading of a configuration, from text to checked values. It collects problems
// instead of stopping at the first, because an operator wants to see all of them. Private to
// config*.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/config/config.h"
#include "postrider/config/config_part.h"
#include "postrider/config/config_rows.h"
#include "postrider/config/config_toml.h"
#include "postrider/model/profile.h"
#include "postrider/model/secrets.h"

namespace postrider {

class ConfigReader final : public ConfigReading {
 public:
  ConfigReader(std::string_view file, const Environment& environment, ConfigParts parts);

  Config& config() override { return config_; }
  void problem(std::uint32_t line, std::string_view what) override;
  std::size_t problem_count() const override { return problems_.size(); }
  bool is_given(std::string_view setting) const override { return origins_.contains(setting); }
  std::optional<std::string> read_secret(const TomlEntry& entry) override;
  void check_settings(const ProfileSpec& profile, Settings settings) override;

  void read_text(std::string_view text);
  void read_environment();
  void read_overrides(const ConfigOverrides& overrides);
  void check();  // what only together makes sense
  Result<Config> take();

 private:
  using Entries = std::span<const TomlEntry>;
  struct Problem {
    std::uint32_t line;  // UINT32_MAX: not in the file
    std::string text;
  };
  // One [[tokens]] table while it is read.
  struct TokenDraft {
    AccessToken token;
    bool has_scopes = false;
    bool spoiled = false;  // a problem was told; what follows from it need not be
    std::uint32_t line = 0;
    std::uint32_t secrets = 0;  // ways to say it that were used
  };
  struct DestinationDraft {
    DestinationConfig config;
    bool spoiled = false;
    std::uint32_t line = 0;
    std::map<std::string, std::uint32_t> lines;  // of its settings
  };

  // One [brokers.NAME] while it is read.
  struct BrokerDraft {
    BrokerOptions broker;
    bool spoiled = false;
    std::uint32_t line = 0;
    std::uint32_t passwords = 0;  // ways to say it that were used
  };

  void problem_with(std::string_view setting, std::string_view what);  // wherever it was given
  std::string place(std::uint32_t line) const;

  void read_entry(const TomlEntry& entry);
  void read_setting(const TomlEntry& entry);
  void unknown_key(const TomlEntry& entry);
  void unknown_section(const TomlEntry& entry);
  std::vector<std::string_view> section_names() const;
  bool has_rows(std::string_view section) const;
  const ConfigRow* find_row(std::string_view section, std::string_view key) const;

  // config_lists.cc
  void read_token_entry(const TomlEntry& entry);
  void read_token_key(const TomlEntry& entry, TokenDraft& draft);
  void read_scopes(const TomlEntry& entry, TokenDraft& draft);
  void finish_tokens();
  void finish_token(TokenDraft& draft);
  void read_destination_entry(const TomlEntry& entry);
  void read_destination_key(const TomlEntry& entry, DestinationDraft& draft);
  void read_destination_setting(const TomlEntry& entry, DestinationDraft& draft);
  void finish_destinations();
  void finish_destination(DestinationDraft& draft);
  std::optional<std::string> read_secret_file(const TomlEntry& entry);

  // config_secrets.cc
  void read_secrets_entry(const TomlEntry& entry);
  std::optional<std::string> read_key_file(const TomlEntry& entry);
  void check_named_secret(const DestinationDraft& draft);

  void read_station_entry(const TomlEntry& entry);

  // config_brokers.cc
  void read_broker_entry(const TomlEntry& entry);
  void read_broker_key(const TomlEntry& entry, BrokerDraft& draft);
  void finish_brokers();
  void finish_broker(const std::string& name, BrokerDraft& draft);

  // config_check.cc
  void check_listeners();
  void check_names();
  void check_ranges();
  void check_sizes();

  std::string file_;
  const Environment& environment_;
  Config config_;
  std::vector<Problem> problems_;
  std::map<std::string, std::string, std::less<>> origins_;  // of settings that were given
  std::map<std::string, TokenDraft> tokens_;                 // by their number in the list
  std::map<std::string, DestinationDraft> destinations_;
  std::map<std::string, BrokerDraft> brokers_;
  std::shared_ptr<Secrets> secrets_;  // null: no section
  bool secrets_spoiled_ = false;
  std::vector<ConfigSection> sections_;  // all, those of the parts too
  std::vector<ConfigRow> rows_;
  std::map<std::string_view, std::unique_ptr<ConfigList>> lists_;  // of the parts, by name
  std::vector<void (*)(ConfigReading&)> checks_;                   // of the parts
};

// A value of a file; the error says what it may be.
Result<void> set_from_entry(const ConfigRow& row, const TomlEntry& entry, Config& config);
inline constexpr std::string_view kSecretKeys[] = {"secret", "secret_file", "secret_env"};

}  // namespace postrider
