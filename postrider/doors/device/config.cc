#include "postrider/doors/device/config.h"

#include <algorithm>
#include <array>
#include <map>

#include "postrider/base/nearest.h"
#include "postrider/profiles/device/profile.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/device/message.h"
#include "postrider/protocols/web/http_text.h"
#include "postrider/shard/limits.h"

namespace postrider::device_door {
namespace {

constexpr std::size_t kPluginsMax = 100;

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

constexpr std::string_view kSample =
    "\n# Ways to devices, for the profile 'device': a network server or a vendor each. Commands "
    "come\n"
    "# by POST /message/enqueue, events of the network server by POST /ingress/lorawan.\n"
    "# 'postrider profile show device' lists the settings; an api_key or a password may come from "
    "a\n"
    "# file or a variable, as secrets do.\n"
    "# [plugins.lorawan]\n"
    "# secret_file = \"/etc/postrider/ingress.secret\"  # that events must carry; or secret, "
    "secret_env\n"
    "# secret_header = \"x-postrider-secret\"\n"
    "# [plugins.lorawan.settings]\n"
    "# way = \"chirpstack\"\n"
    "# url = \"http://chirpstack.internal:8080\"\n"
    "# api_key_file = \"/etc/postrider/chirpstack.key\"\n"
    "# events = \"billing\"  # a destination that hears what becomes of commands\n";

// [plugins.NAME] while it is read.
class Plugins final : public ConfigList {
 public:
  void read(const TomlEntry& entry, ConfigReading& reading) override;
  void finish(ConfigReading& reading) override;

 private:
  struct Draft {
    DevicePlugin plugin;
    bool spoiled = false;  // a problem was told; what follows from it need not be
    std::uint32_t line = 0;
    std::uint32_t secrets = 0;  // ways to say it that were used
    std::map<std::string, std::uint32_t> lines;
  };
  void read_plugin_key(const TomlEntry& entry, Draft& draft, ConfigReading& reading);
  void read_plugin_setting(const TomlEntry& entry, Draft& draft, ConfigReading& reading);
  void finish_plugin(const std::string& name, Draft& draft, ConfigReading& reading);
  void check_names(ConfigReading& reading) const;

  std::map<std::string, Draft> drafts_;
};

void Plugins::read_plugin_setting(const TomlEntry& entry, Draft& draft, ConfigReading& reading) {
  std::string name = entry.path[3];
  for (std::size_t i = 4; i < entry.path.size(); ++i) name += "." + entry.path[i];
  draft.lines[name] = entry.line;
  if (entry.kind == TomlKind::kTable) return;  // what is in it follows
  std::optional<std::string> value;
  if (const std::string_view hidden = hidden_setting(name); !hidden.empty()) {
    TomlEntry source = entry;
    source.path.back() = name.ends_with("_env") ? "secret_env" : "secret_file";
    value = reading.read_secret(source);
    name = hidden;
    draft.lines[name] = entry.line;
    if (!value) return;
  } else {
    value = text_of(entry);
  }
  if (!value || value->size() > kConfigTextBytesMax) {
    reading.problem(entry.line, name + " must be a text of at most " +
                                    std::to_string(kConfigTextBytesMax) +
                                    " bytes, or a whole number");
    return;
  }
  NamedTexts& settings = draft.plugin.settings;
  const bool twice = std::any_of(settings.begin(), settings.end(),
                                 [&](const NamedText& text) { return text.first == name; });
  if (twice) return reading.problem(entry.line, name + " is given twice");
  settings.emplace_back(name, std::move(*value));
}

void Plugins::read_plugin_key(const TomlEntry& entry, Draft& draft, ConfigReading& reading) {
  const std::string& key = entry.path[2];
  if (entry.path.size() > 3) {
    if (key == "settings") read_plugin_setting(entry, draft, reading);
  } else if (is_secret_key(key)) {
    ++draft.secrets;
    if (auto secret = reading.read_secret(entry)) draft.plugin.secret = std::move(*secret);
  } else if (key == "settings") {
    if (entry.kind != TomlKind::kTable)
      reading.problem(entry.line, "settings must be a section of its own");
  } else if (key == "profile" || key == "secret_header") {
    if (entry.kind != TomlKind::kText) return reading.problem(entry.line, key + " must be a text");
    draft.lines[key] = entry.line;
    if (key == "profile") draft.plugin.profile = entry.text;
    if (key == "secret_header") draft.plugin.secret_header = to_lower(entry.text);
  } else {
    reading.problem(entry.line, "unknown key '" + key + "' of a plugin" +
                                    did_you_mean(key, kPluginKeys) +
                                    "; what its profile is told stands under [plugins." +
                                    entry.path[1] + ".settings]");
  }
}

void Plugins::read(const TomlEntry& entry, ConfigReading& reading) {
  if (entry.path.size() == 1) {
    if (entry.kind != TomlKind::kTable)
      reading.problem(entry.line, "plugins is a section: write [plugins.NAME]");
    return;
  }
  if (entry.path.size() == 2 && entry.kind != TomlKind::kTable) {
    reading.problem(entry.line, "'" + entry.path[1] + "' must be a section: write [plugins." +
                                    entry.path[1] + "]");
    return;
  }
  Draft& draft = drafts_[entry.path[1]];
  if (draft.line == 0) draft.line = entry.line;
  if (entry.path.size() == 2) return;
  const std::size_t before = reading.problem_count();
  read_plugin_key(entry, draft, reading);
  draft.spoiled = draft.spoiled || reading.problem_count() > before;
}

void Plugins::finish_plugin(const std::string& name, Draft& draft, ConfigReading& reading) {
  DevicePlugin& plugin = draft.plugin;
  plugin.name = name;
  if (!device::is_plugin_name(name))
    reading.problem(draft.line,
                    "'" + name + "': a plugin's name has 1 to 64 letters, digits, '_' and '-'");
  if (plugin.profile != kDeviceProfile)
    reading.problem(draft.lines["profile"], "plugin '" + name + "': its profile can only be '" +
                                                std::string(kDeviceProfile) + "'");
  if (draft.secrets > 1)
    reading.problem(draft.line, "plugin '" + name +
                                    "' has more than one of secret, secret_file and secret_env");
  if (!is_header_name(plugin.secret_header))
    reading.problem(draft.lines["secret_header"],
                    "plugin '" + name + "': secret_header is not the name of a header");
  if (!is_header_value(plugin.secret))
    reading.problem(draft.line,
                    "plugin '" + name + "': the secret has characters that a header cannot carry");
  if (draft.spoiled) return;
  reading.check_settings(
      kDevice, {"plugin '" + name + "'", queue_settings(plugin), draft.lines, draft.line});
}

// Messages live for up to 7 d, and so long is their history kept: their ids must be known as long.
void remember_correlations(ConfigReading& reading) {
  EngineOptions& engine = reading.config().host.shard.engine;
  if (!reading.is_given("engine.key_window")) engine.key_window = kCorrelationWindow;
  if (!reading.is_given("engine.ledger_age"))
    engine.ledger.age = std::max(engine.ledger.age, engine.key_window + engine.key_ahead);
  if (engine.key_window < kCorrelationWindow)
    reading.config().warnings.push_back(
        "engine.key_window is shorter than 15d: a command of a device that is older is not found "
        "by its correlationId, and a repeat of it is a second command");
}

// Brokers and plugins name each other; what is missing is not wrong, but of no use.
void Plugins::check_names(ConfigReading& reading) const {
  const auto has_plugin = [&](const std::string& name) { return drafts_.contains(name); };
  for (BrokerOptions& broker : reading.config().brokers) {
    if (!broker.source.empty() && broker.mqtt.subscriptions.empty())
      broker.mqtt.subscriptions.push_back(chirpstack::event_filter("+"));
    if (!broker.source.empty() && !has_plugin(broker.source))
      reading.config().warnings.push_back("broker '" + broker.name +
                                          "' brings events of the plugin '" + broker.source +
                                          "', which is not configured: they are not kept");
  }
  for (const DevicePlugin& plugin : reading.config().parts.of<DeviceConfig>().plugins) {
    const std::string_view wanted = setting_of(plugin.settings, "broker");
    const bool found =
        std::any_of(reading.config().brokers.begin(), reading.config().brokers.end(),
                    [&](const BrokerOptions& broker) { return broker.name == wanted; });
    if (!wanted.empty() && !found)
      reading.config().warnings.push_back("plugin '" + plugin.name + "' sends by the broker '" +
                                          std::string(wanted) + "', which is not configured");
  }
}

void Plugins::finish(ConfigReading& reading) {
  if (drafts_.empty()) return check_names(reading);
  if (drafts_.size() > kPluginsMax) {
    reading.problem(0, "has more than " + std::to_string(kPluginsMax) + " plugins");
    return;
  }
  const auto all = listeners(reading.config());
  const auto beyond = std::find_if(all.begin(), all.end(), [](const HttpListen& listen) {
    return !is_loopback_listen(listen.address);
  });
  for (auto& [name, draft] : drafts_) {
    finish_plugin(name, draft, reading);
    if (beyond != all.end() && draft.plugin.secret.empty() && is_push(draft.plugin))
      reading.config().warnings.push_back("plugin '" + name + "' has no secret, and we listen on " +
                                          beyond->address +
                                          ": everybody who reaches it may bring events of devices");
    reading.config().parts.of<DeviceConfig>().plugins.push_back(std::move(draft.plugin));
  }
  remember_correlations(reading);
  check_names(reading);
}

std::vector<UnheardEvents> unheard(const Config& config) {
  std::vector<UnheardEvents> out;
  for (const DevicePlugin& plugin : config.parts.of<DeviceConfig>().plugins) {
    const std::string name(setting_of(plugin.settings, "events"));
    const bool there =
        std::any_of(config.destinations.begin(), config.destinations.end(),
                    [&name](const DestinationConfig& one) { return one.name == name; });
    if (!name.empty() && !there) out.push_back({"plugin", plugin.name, name});
  }
  return out;
}

auto& metrics_of(Config& config) { return config.parts.of<DeviceConfig>().metrics; }
auto& live_max_of(Config& config) { return config.host.shard.engine.limits.live_max; }

constexpr auto kMetrics = std::to_array<std::string_view>({"open", "token"});
constexpr auto kSections = std::to_array<ConfigSection>(
    {{"device", "the routes of the device profile; its plugins have sections of their own"}});
constexpr auto kRows = std::to_array<ConfigRow>({
    {"device", "live_max", ConfigKind::kNumber, &live_max_of, limits::range_of("live_max"),
     "messages alive; at this number an enqueue is answered with 503"},
    {"device",
     "metrics",
     ConfigKind::kWord,
     &metrics_of,
     {},
     "with plugins, /metrics is open to every caller, or needs a token",
     kMetrics},
});

std::unique_ptr<ConfigList> read_plugins() { return std::make_unique<Plugins>(); }

}  // namespace

const ConfigPart kConfigPart{.sections = kSections,
                             .rows = kRows,
                             .list = "plugins",
                             .read_list = read_plugins,
                             .sample = kSample,
                             .unheard = unheard};

}  // namespace postrider::device_door
