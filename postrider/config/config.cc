#include "postrider/config/config.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include "postrider/base/nearest.h"
#include "postrider/config/config_reader.h"

// POSIX leaves it to us. NOLINTNEXTLINE
extern char** environ;

namespace postrider {
namespace {

constexpr std::uint32_t kNoLine = UINT32_MAX;
constexpr std::string_view kPrefix = "POSTRIDER_";

Result<std::string> read_whole(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto broken = [&] {
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
                path + ": " + std::generic_category().message(errno));
  };
  if (fd < 0) return broken();
  std::string text(kConfigBytesMax + 1, '\0');
  std::size_t size = 0;
  ssize_t got = 0;
  while (size < text.size() && (got = read(fd, text.data() + size, text.size() - size)) > 0)
    size += static_cast<std::size_t>(got);
  const int reason = errno;
  close(fd);
  errno = reason;
  if (got < 0) return broken();
  text.resize(size);
  return text;
}

}  // namespace

Result<void> set_from_entry(const ConfigRow& row, const TomlEntry& entry, Config& config) {
  const bool takes_text = row.kind != ConfigKind::kNumber && row.kind != ConfigKind::kTexts &&
                          row.kind != ConfigKind::kFlag;
  if (entry.kind == TomlKind::kText && takes_text) return set_from_text(row, entry.text, config);
  if (entry.kind == TomlKind::kNumber) return set_number(row, entry.number, config);
  if (entry.kind == TomlKind::kFlag) return set_flag(row, entry.flag, config);
  if (entry.kind == TomlKind::kTexts) return set_texts(row, entry.texts, config);
  std::string detail = "must be " + may_be(row);
  if (row.kind == ConfigKind::kTexts) detail += ", in brackets";
  const bool bare = row.kind == ConfigKind::kNumber || row.kind == ConfigKind::kFlag;
  if (bare && entry.kind == TomlKind::kText) detail += ", without quotes";
  return fail(ErrorCode::kInvalid, std::move(detail));
}

ConfigReader::ConfigReader(std::string_view file, const Environment& environment, ConfigParts parts)
    : file_(file),
      environment_(environment),
      sections_(config_sections(parts)),
      rows_(config_rows(parts)) {
  for (const ConfigPart* part : parts) {
    if (part->check != nullptr) checks_.push_back(part->check);
    if (part->read_list != nullptr) lists_.emplace(part->list, part->read_list());
  }
}

std::vector<std::string_view> ConfigReader::section_names() const {
  std::vector<std::string_view> names;
  for (const ConfigSection& section : sections_) names.push_back(section.name);
  names.insert(names.end(), {"tokens", "destinations", "brokers", "secrets"});
  for (const auto& [name, list] : lists_) names.push_back(name);
  return names;
}

bool ConfigReader::has_rows(std::string_view section) const {
  return std::any_of(sections_.begin(), sections_.end(),
                     [&](const ConfigSection& known) { return known.name == section; });
}

const ConfigRow* ConfigReader::find_row(std::string_view section, std::string_view key) const {
  return find_config_row(rows_, section, key);
}

std::string ConfigReader::place(std::uint32_t line) const {
  if (line == kNoLine) return {};
  if (line == 0) return file_ + ": ";
  return file_ + ":" + std::to_string(line) + ": ";
}

void ConfigReader::problem(std::uint32_t line, std::string_view what) {
  problems_.push_back({line, place(line) + std::string(what)});
}

void ConfigReader::problem_with(std::string_view setting, std::string_view what) {
  const auto origin = origins_.find(setting);
  const std::string place = origin == origins_.end() ? "" : origin->second + ": ";
  problems_.push_back({kNoLine, place + std::string(setting) + " " + std::string(what)});
}

void ConfigReader::unknown_section(const TomlEntry& entry) {
  const std::string& name = entry.path.front();
  if (entry.kind == TomlKind::kTable || entry.kind == TomlKind::kTables) {
    problem(entry.line, "unknown section '" + name + "'" + did_you_mean(name, section_names()));
    return;
  }
  for (const ConfigRow& row : rows_) {
    if (row.key != name) continue;
    problem(entry.line, "'" + name + "' stands in no section: write it under [" +
                            std::string(row.section) + "]");
    return;
  }
  problem(entry.line, "unknown setting '" + name + "', and it stands in no section");
}

void ConfigReader::unknown_key(const TomlEntry& entry) {
  const std::string& section = entry.path[0];
  const std::string& key = entry.path[1];
  // A mailbox is a destination that its application reads.
  if (section == "door" && key == "mailbox_max") {
    problem(entry.line, "unknown setting 'door.mailbox_max', it is called 'event_queue_max' now");
    return;
  }
  std::vector<std::string_view> here;
  std::string elsewhere;
  for (const ConfigRow& row : rows_) {
    if (row.section == section) here.push_back(row.key);
    if (row.key == key) elsewhere = ", it belongs under [" + std::string(row.section) + "]";
  }
  problem(entry.line, "unknown setting '" + section + "." + key + "'" +
                          (elsewhere.empty() ? did_you_mean(key, here) : elsewhere));
}

void ConfigReader::read_setting(const TomlEntry& entry) {
  if (entry.path.size() == 1) {
    if (entry.kind != TomlKind::kTable)
      problem(entry.line, "'" + entry.path[0] + "' is a section: write [" + entry.path[0] + "]");
    return;
  }
  const ConfigRow* row = find_row(entry.path[0], entry.path[1]);
  if (row == nullptr) {
    if (entry.path.size() == 2) unknown_key(entry);
    return;
  }
  if (entry.path.size() > 2) return;  // its table was refused already
  const Result<void> set = set_from_entry(*row, entry, config_);
  if (!set) problem(entry.line, setting_name(*row) + " " + set.error().detail);
  origins_[setting_name(*row)] = file_ + ":" + std::to_string(entry.line);
}

void ConfigReader::read_entry(const TomlEntry& entry) {
  const std::string& section = entry.path.front();
  if (section == "tokens") {
    read_token_entry(entry);
  } else if (section == "destinations") {
    read_destination_entry(entry);
  } else if (section == "brokers") {
    read_broker_entry(entry);
  } else if (section == "secrets") {
    read_secrets_entry(entry);
  } else if (const auto list = lists_.find(section); list != lists_.end()) {
    list->second->read(entry, *this);
  } else if (section == "stations" && (entry.path.size() > 2 || (entry.path.size() == 2 &&
                                                                 entry.kind == TomlKind::kTable))) {
    read_station_entry(entry);
  } else if (has_rows(section)) {
    read_setting(entry);
  } else if (entry.path.size() == 1) {
    unknown_section(entry);
  }
}

void ConfigReader::read_text(std::string_view text) {
  if (text.size() > kConfigBytesMax) {
    problem(0, "is larger than " + bytes_text(kConfigBytesMax));
    return;
  }
  const TomlDocument document = read_toml(text);
  for (const TomlError& error : document.errors) problem(error.line, error.what);
  for (const TomlEntry& entry : document.entries) read_entry(entry);
}

// A variable that looks like ours and is not may come from a container platform, which makes
// variables of the names of services; so it is told and does not stop us.
void ConfigReader::read_environment() {
  std::set<std::string, std::less<>> known;
  std::vector<std::string_view> names;
  for (const ConfigRow& row : rows_) {
    const std::string variable = variable_name(row);
    names.push_back(*known.insert(variable).first);
    const auto given = environment_.find(variable);
    if (given == environment_.end()) continue;
    const Result<void> set = set_from_text(row, given->second, config_);
    if (!set) problem(kNoLine, variable + " " + set.error().detail);
    origins_[setting_name(row)] = variable;
  }
  for (const auto& [name, value] : environment_) {
    if (!name.starts_with(kPrefix) || known.contains(name)) continue;
    const std::string_view rest = std::string_view(name).substr(kPrefix.size());
    for (const ConfigSection& section : sections_) {
      std::string start(section.name);
      std::transform(start.begin(), start.end(), start.begin(),
                     [](char c) { return static_cast<char>(c - 'a' + 'A'); });
      if (rest.starts_with(start + "_"))
        config_.warnings.push_back("the environment variable " + name + " is no setting" +
                                   did_you_mean(name, names));
    }
  }
}

void ConfigReader::read_overrides(const ConfigOverrides& overrides) {
  for (const ConfigOverride& given : overrides) {
    const std::size_t dot = std::min(given.setting.find('.'), given.setting.size());
    const std::string_view setting = given.setting;
    const ConfigRow* row =
        find_row(setting.substr(0, dot), setting.substr(std::min(dot + 1, setting.size())));
    if (row == nullptr) {
      problem(kNoLine, given.origin + ": unknown setting '" + given.setting + "'");
      continue;
    }
    const Result<void> set = set_from_text(*row, given.value, config_);
    if (!set) problem(kNoLine, given.origin + " " + set.error().detail);
    origins_[given.setting] = given.origin;
  }
}

Result<Config> ConfigReader::take() {
  if (problems_.empty()) return std::move(config_);
  std::stable_sort(problems_.begin(), problems_.end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
  std::string detail;
  for (std::size_t i = 0; i < problems_.size(); ++i) {
    if (i == kConfigProblemsMax) {
      detail += "\nand " + std::to_string(problems_.size() - i) + " more";
      break;
    }
    if (i > 0) detail += '\n';
    detail += problems_[i].text;
  }
  return fail(ErrorCode::kInvalid, std::move(detail));
}

Environment process_environment() {
  Environment out;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

Result<Config> parse_config(std::string_view text, std::string_view file,
                            const Environment& environment, const ConfigOverrides& overrides,
                            ConfigParts parts) {
  ConfigReader reader(file, environment, parts);
  reader.read_text(text);
  reader.read_environment();
  reader.read_overrides(overrides);
  reader.check();
  return reader.take();
}

Result<Config> load_config(const std::string& path, const Environment& environment,
                           const ConfigOverrides& overrides, ConfigParts parts) {
  if (path.empty()) return parse_config("", "", environment, overrides, parts);
  POSTRIDER_TRY(text, read_whole(path));
  return parse_config(text, path, environment, overrides, parts);
}

std::vector<UnheardEvents> unheard_events(const Config& config, ConfigParts parts) {
  std::vector<UnheardEvents> all;
  for (const ConfigPart* part : parts) {
    if (part->unheard == nullptr) continue;
    for (UnheardEvents& one : part->unheard(config)) all.push_back(std::move(one));
  }
  return all;
}

}  // namespace postrider
