// [brokers.NAME] of a configuration: the rows of one broker, how they are read, and what they mean
// together.
// unity: alone, its names are those of config_table.cc
#include <algorithm>
#include <array>

#include "postrider/base/nearest.h"
#include "postrider/config/config_reader.h"

namespace postrider {
namespace {

constexpr std::string_view kSection = "brokers.NAME";
constexpr std::string_view kPasswordKeys[] = {"password", "password_file", "password_env"};
constexpr std::size_t kSourceBytesMax = 64;

// A row reads and writes the first broker, and each broker is read in a configuration of its own.
template <auto kMember>
auto& at(Config& config) {
  return config.brokers.front().*kMember;
}
template <auto kMember>
auto& at_mqtt(Config& config) {
  return config.brokers.front().mqtt.*kMember;
}
template <auto kMember>
constexpr auto kMqtt = &at_mqtt<kMember>;

constexpr std::int64_t kKiB = 1024;
constexpr std::int64_t kMiB = 1024 * kKiB;
constexpr std::int64_t kSecond = 1000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;

constexpr ConfigKind kText = ConfigKind::kText;
constexpr ConfigKind kTexts = ConfigKind::kTexts;
constexpr ConfigKind kNumber = ConfigKind::kNumber;
constexpr ConfigKind kBytes = ConfigKind::kBytes;
constexpr ConfigKind kDuration = ConfigKind::kDuration;
constexpr ConfigBounds kAnyText{0, kConfigTextBytesMax};

// clang-format off
constexpr auto kRows = std::to_array<ConfigRow>({
    {kSection, "host", kText, kMqtt<&MqttTransportOptions::host>, {1, 255},
     "name or address of the broker; private ranges must be in transport.allow"},
    {kSection, "port", kNumber, kMqtt<&MqttTransportOptions::port>, {1, 65'535},
     "its port; with TLS usually 8883"},
    {kSection, "tls", ConfigKind::kFlag, kMqtt<&MqttTransportOptions::tls>, {},
     "whether it is talked to over TLS"},
    {kSection, "trust_file", kText, kMqtt<&MqttTransportOptions::trust_file>, kAnyText,
     "PEM file with the authorities trusted for it; empty: transport.trust_file"},
    {kSection, "client_id", kText, kMqtt<&MqttTransportOptions::client_id>, {0, 64},
     "the broker keeps our session under it: no two clients may share one, and it must not change; empty: postrider-NAME"},
    {kSection, "user", kText, kMqtt<&MqttTransportOptions::user>, kAnyText,
     "the name at the broker; empty: none. The password is one of password, password_file and password_env"},
    {kSection, "plugin", kText, &at<&BrokerOptions::source>, {0, kSourceBytesMax},
     "whose events the broker brings; empty: it takes commands only"},
    {kSection, "subscriptions", kTexts, kMqtt<&MqttTransportOptions::subscriptions>, {0, kConfigListMax},
     "filters of the events; none, with a plugin: all of its events"},
    {kSection, "publishes_max", kNumber, kMqtt<&MqttTransportOptions::publishes_max>, {1, 65'535},
     "commands that the broker has not acknowledged; more fail at once"},
    {kSection, "publish_bytes_max", kBytes, kMqtt<&MqttTransportOptions::publish_bytes_max>, {kKiB, 16 * kMiB},
     "one command"},
    {kSection, "events_max", kNumber, kMqtt<&MqttTransportOptions::events_max>, {1, 4096},
     "events that are acknowledged together"},
    {kSection, "event_bytes_max", kBytes, kMqtt<&MqttTransportOptions::event_bytes_max>, {kKiB, 16 * kMiB},
     "one event; larger ones are acknowledged and not kept"},
    {kSection, "keep_alive", kDuration, kMqtt<&MqttTransportOptions::keep_alive>, {5 * kSecond, 18 * kHour},
     "of silence, before we ask whether the broker is there"},
    {kSection, "connect_time_out", kDuration, kMqtt<&MqttTransportOptions::connect_time_out>, {100, 5 * kMinute},
     "until the broker has taken us and our subscriptions"},
    {kSection, "publish_time_out_max", kDuration, kMqtt<&MqttTransportOptions::publish_time_out_max>, {100, kHour},
     "of commands that name a longer one or none"},
    {kSection, "back_off_min", kDuration, kMqtt<&MqttTransportOptions::back_off_min>, {100, kHour},
     "before we connect again; doubles"},
    {kSection, "back_off_max", kDuration, kMqtt<&MqttTransportOptions::back_off_max>, {100, kHour},
     "and at most so long"},
});
// clang-format on

bool is_plain_name(std::string_view text, std::size_t bytes_max) {
  return !text.empty() && text.size() <= bytes_max &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
         });
}

const ConfigRow* find_broker_row(std::string_view key) {
  const auto* found = std::find_if(kRows.begin(), kRows.end(),
                                   [&](const ConfigRow& row) { return row.key == key; });
  return found == kRows.end() ? nullptr : found;
}

bool is_password_key(std::string_view key) {
  return std::find(std::begin(kPasswordKeys), std::end(kPasswordKeys), key) !=
         std::end(kPasswordKeys);
}

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> out(std::begin(kPasswordKeys), std::end(kPasswordKeys));
  for (const ConfigRow& row : kRows) out.push_back(row.key);
  return out;
}

}  // namespace

std::span<const ConfigRow> broker_rows() { return kRows; }

Config one_broker(BrokerOptions broker) {
  Config out;
  out.brokers.push_back(std::move(broker));
  return out;
}

void ConfigReader::read_broker_key(const TomlEntry& entry, BrokerDraft& draft) {
  const std::string& key = entry.path[2];
  if (is_password_key(key)) {
    ++draft.passwords;
    draft.broker.mqtt.password = read_secret(entry).value_or("");
    return;
  }
  const ConfigRow* row = find_broker_row(key);
  if (row == nullptr) {
    problem(entry.line, "unknown key '" + key + "' of a broker" + did_you_mean(key, known_keys()));
    return;
  }
  Config scratch = one_broker(std::move(draft.broker));
  const Result<void> set = set_from_entry(*row, entry, scratch);
  draft.broker = std::move(scratch.brokers.front());
  if (!set) problem(entry.line, key + " " + set.error().detail);
}

void ConfigReader::read_broker_entry(const TomlEntry& entry) {
  if (entry.path.size() == 1) {
    if (entry.kind != TomlKind::kTable)
      problem(entry.line, "brokers is a section: write [brokers.NAME]");
    return;
  }
  if (entry.path.size() == 2 && entry.kind != TomlKind::kTable) {
    problem(entry.line,
            "'" + entry.path[1] + "' must be a section: write [brokers." + entry.path[1] + "]");
    return;
  }
  BrokerDraft& draft = brokers_[entry.path[1]];
  if (entry.path.size() == 2) draft.line = entry.line;
  if (entry.path.size() != 3) return;  // below a key whose table was refused already
  const std::size_t before = problems_.size();
  read_broker_key(entry, draft);
  draft.spoiled = draft.spoiled || problems_.size() > before;
}

void ConfigReader::finish_broker(const std::string& name, BrokerDraft& draft) {
  BrokerOptions& broker = draft.broker;
  MqttTransportOptions& mqtt = broker.mqtt;
  const auto wrong = [&](const std::string& what) {
    problem(draft.line, "broker '" + name + "': " + what);
  };
  broker.name = name;
  if (mqtt.client_id.empty()) mqtt.client_id = "postrider-" + name;
  if (mqtt.host.empty()) return wrong("needs a host");
  if (broker.source.empty() && !mqtt.subscriptions.empty())
    return wrong("subscriptions need a plugin whose events they are");
  if (!broker.source.empty() && !is_plain_name(broker.source, kSourceBytesMax))
    return wrong("plugin must have letters, digits, and any of - _");
  if (draft.passwords > 1)
    return wrong("has more than one of password, password_file and password_env");
  if (draft.passwords > 0 && mqtt.user.empty()) return wrong("a password needs a user");
  if (const Result<void> good = check_mqtt_options(mqtt); !good) return wrong(good.error().detail);
  for (const BrokerOptions& other : config_.brokers) {
    const bool same = other.mqtt.host == mqtt.host && other.mqtt.port == mqtt.port;
    if (same && other.mqtt.client_id == mqtt.client_id)
      return wrong("has the client_id of broker '" + other.name + "', which is the same one");
  }
  if (draft.passwords > 0 && !mqtt.tls &&
      !is_loopback_listen(mqtt.host + ":" + std::to_string(mqtt.port)))
    config_.warnings.push_back("broker '" + name +
                               "': the password is sent in the clear; set tls = true");
}

void ConfigReader::finish_brokers() {
  if (brokers_.size() > kConfigBrokersMax) {
    problem(0, "has more than " + std::to_string(kConfigBrokersMax) + " brokers");
    return;
  }
  for (auto& [name, draft] : brokers_) {
    if (!is_plain_name(name, kBrokerNameBytesMax)) {
      problem(draft.line, "'" + name + "': the name of a broker has 1 to " +
                              std::to_string(kBrokerNameBytesMax) +
                              " letters, digits, and any of - _");
      continue;
    }
    if (!draft.spoiled) finish_broker(name, draft);
    config_.brokers.push_back(std::move(draft.broker));
  }
}

}  // namespace postrider
