// Plugins of a configuration: the ways to devices.
#include <algorithm>

#include "postrider/base/nearest.h"
#include "postrider/config/config_reader.h"
#include "postrider/profiles/all.h"
#include "postrider/protocols/device/message.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider {
namespace {

constexpr std::string_view kPluginKeys[] = {"profile",    "settings",      "secret",
                                            "secret_env", "secret_header", "secret_file"};
// Settings that may come from a file or a variable.
constexpr std::string_view kHidden[] = {"api_key", "password", "vend_password"};

// "api_key_env" to "api_key"; empty when it is not of that kind.
std::string_view hidden_setting(std::string_view name) {
  for (const std::string_view base : kHidden) {
    if (!name.starts_with(base)) continue;
    const std::string_view rest = name.substr(base.size());
    if (rest == "_env" || rest == "_file") return base;
  }
  return {};
}

}  // namespace

void ConfigReader::read_plugin_setting(const TomlEntry& entry, PluginDraft& draft) {
  std::string name = entry.path[3];
  for (std::size_t i = 4; i < entry.path.size(); ++i) name += "." + entry.path[i];
  draft.lines[name] = entry.line;
  if (entry.kind == TomlKind::kTable) return;  // what is in it follows
  std::optional<std::string> value;
  if (const std::string_view hidden = hidden_setting(name); !hidden.empty()) {
    TomlEntry source = entry;
    source.path.back() = name.ends_with("_env") ? "secret_env" : "secret_file";
    value = read_secret(source);
    name = hidden;
    draft.lines[name] = entry.line;
    if (!value) return;
  } else {
    value = text_of(entry);
  }
  if (!value || value->size() > kConfigTextBytesMax) {
    problem(entry.line, name + " must be a text of at most " + std::to_string(kConfigTextBytesMax) +
                            " bytes, or a whole number");
    return;
  }
  NamedTexts& settings = draft.plugin.settings;
  const bool twice = std::any_of(settings.begin(), settings.end(),
                                 [&](const NamedText& text) { return text.first == name; });
  if (twice) return problem(entry.line, name + " is given twice");
  settings.emplace_back(name, std::move(*value));
}

void ConfigReader::read_plugin_key(const TomlEntry& entry, PluginDraft& draft) {
  const std::string& key = entry.path[2];
  if (entry.path.size() > 3) {
    if (key == "settings") read_plugin_setting(entry, draft);
  } else if (is_secret_key(key)) {
    ++draft.secrets;
    if (auto secret = read_secret(entry)) draft.plugin.secret = std::move(*secret);
  } else if (key == "settings") {
    if (entry.kind != TomlKind::kTable)
      problem(entry.line, "settings must be a section of its own");
  } else if (key == "profile" || key == "secret_header") {
    if (entry.kind != TomlKind::kText) return problem(entry.line, key + " must be a text");
    draft.lines[key] = entry.line;
    if (key == "profile") draft.plugin.profile = entry.text;
    if (key == "secret_header") draft.plugin.secret_header = to_lower(entry.text);
  } else {
    problem(entry.line, "unknown key '" + key + "' of a plugin" + did_you_mean(key, kPluginKeys) +
                            "; what its profile is told stands under [plugins." + entry.path[1] +
                            ".settings]");
  }
}

void ConfigReader::read_plugin_entry(const TomlEntry& entry) {
  if (entry.path.size() == 1) {
    if (entry.kind != TomlKind::kTable)
      problem(entry.line, "plugins is a section: write [plugins.NAME]");
    return;
  }
  if (entry.path.size() == 2 && entry.kind != TomlKind::kTable) {
    problem(entry.line,
            "'" + entry.path[1] + "' must be a section: write [plugins." + entry.path[1] + "]");
    return;
  }
  PluginDraft& draft = plugins_[entry.path[1]];
  if (draft.line == 0) draft.line = entry.line;
  if (entry.path.size() == 2) return;
  const std::size_t before = problems_.size();
  read_plugin_key(entry, draft);
  draft.spoiled = draft.spoiled || problems_.size() > before;
}

void ConfigReader::finish_plugin(const std::string& name, PluginDraft& draft) {
  device_door::DevicePlugin& plugin = draft.plugin;
  plugin.name = name;
  if (!device::is_plugin_name(name))
    problem(draft.line, "'" + name + "': a plugin's name has 1 to 64 letters, digits, '_' and '-'");
  if (plugin.profile != device_door::kDeviceProfile)
    problem(draft.lines["profile"], "plugin '" + name + "': its profile can only be '" +
                                        std::string(device_door::kDeviceProfile) + "'");
  if (draft.secrets > 1)
    problem(draft.line,
            "plugin '" + name + "' has more than one of secret, secret_file and secret_env");
  if (!is_header_name(plugin.secret_header))
    problem(draft.lines["secret_header"],
            "plugin '" + name + "': secret_header is not the name of a header");
  if (!is_header_value(plugin.secret))
    problem(draft.line,
            "plugin '" + name + "': the secret has characters that a header cannot carry");
  const ProfileSpec* const profile = find_profile(device_door::kDeviceProfile);
  if (draft.spoiled || profile == nullptr) return;
  check_settings(*profile, {"plugin '" + name + "'", device_door::queue_settings(plugin),
                            draft.lines, draft.line});
}

// Messages live for up to 7 d, and so long is their history kept: their ids must be known as long.
void ConfigReader::remember_correlations() {
  EngineOptions& engine = config_.host.shard.engine;
  if (!origins_.contains("engine.key_window")) engine.key_window = kCorrelationWindow;
  if (!origins_.contains("engine.ledger_age"))
    engine.ledger.age = std::max(engine.ledger.age, engine.key_window + engine.key_ahead);
  if (engine.key_window < kCorrelationWindow)
    config_.warnings.push_back(
        "engine.key_window is shorter than 15d: a command of a device that is older is not found "
        "by its correlationId, and a repeat of it is a second command");
}

// Brokers and plugins name each other; what is missing is not wrong, but of no use.
void ConfigReader::check_plugin_names() {
  const auto has_plugin = [&](const std::string& name) { return plugins_.contains(name); };
  for (const BrokerOptions& broker : config_.brokers) {
    if (!broker.source.empty() && !has_plugin(broker.source))
      config_.warnings.push_back("broker '" + broker.name + "' brings events of the plugin '" +
                                 broker.source + "', which is not configured: they are not kept");
  }
  for (const device_door::DevicePlugin& plugin : config_.device.plugins) {
    const std::string_view wanted = device_door::setting_of(plugin.settings, "broker");
    const bool found =
        std::any_of(config_.brokers.begin(), config_.brokers.end(),
                    [&](const BrokerOptions& broker) { return broker.name == wanted; });
    if (!wanted.empty() && !found)
      config_.warnings.push_back("plugin '" + plugin.name + "' sends by the broker '" +
                                 std::string(wanted) + "', which is not configured");
  }
}

void ConfigReader::finish_plugins() {
  if (plugins_.empty()) return check_plugin_names();
  if (plugins_.size() > kConfigPluginsMax) {
    problem(0, "has more than " + std::to_string(kConfigPluginsMax) + " plugins");
    return;
  }
  const auto all = listeners(config_);
  const auto beyond = std::find_if(all.begin(), all.end(), [](const HttpListen& listen) {
    return !is_loopback_listen(listen.address);
  });
  for (auto& [name, draft] : plugins_) {
    finish_plugin(name, draft);
    if (beyond != all.end() && draft.plugin.secret.empty() && device_door::is_push(draft.plugin))
      config_.warnings.push_back("plugin '" + name + "' has no secret, and we listen on " +
                                 beyond->address +
                                 ": everybody who reaches it may bring events of devices");
    config_.device.plugins.push_back(std::move(draft.plugin));
  }
  remember_correlations();
  check_plugin_names();
}

std::vector<UnheardEvents> unheard_events(const Config& config) {
  std::vector<UnheardEvents> out;
  for (const device_door::DevicePlugin& plugin : config.device.plugins) {
    const std::string name(device_door::setting_of(plugin.settings, "events"));
    const bool there =
        std::any_of(config.destinations.begin(), config.destinations.end(),
                    [&name](const DestinationConfig& one) { return one.name == name; });
    if (!name.empty() && !there) out.push_back({plugin.name, name});
  }
  return out;
}

}  // namespace postrider
