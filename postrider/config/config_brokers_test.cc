// [brokers.NAME] of a configuration.
#include <string>

#include <gtest/gtest.h>

#include "postrider/config/config.h"
#include "postrider/config/config_rows.h"

namespace postrider {
namespace {

constexpr std::string_view kPassword = "a-password-of-many-bytes";
constexpr std::string_view kField = "[brokers.field]\nhost = \"broker.example\"\n";

std::string brokers_problems(const std::string& text, const Environment& environment = {}) {
  const Result<Config> config = parse_config(text, "p.toml", environment);
  return config ? "" : config.error().detail;
}

std::string problems_of_field(const std::string& lines) {
  return brokers_problems(std::string(kField) + lines);
}

// req: config.brokers.1
TEST(ConfigBrokers, HaveEverySettingAndAPasswordFromElsewhere) {
  const Result<Config> config = parse_config(
      "[brokers.field]\nhost = \"broker.example\"\nport = 8883\ntls = true\n"
      "client_id = \"me\"\nuser = \"meter\"\npassword_env = \"FIELD\"\nplugin = \"lorawan\"\n"
      "subscriptions = [\"a/+\", \"b/#\"]\nevent_bytes_max = \"64KiB\"\nkeep_alive = \"30s\"\n"
      "[brokers.other]\nhost = \"127.0.0.1\"\n",
      "p.toml", {{"FIELD", std::string(kPassword) + "\n"}});
  ASSERT_TRUE(config) << config.error().detail;
  ASSERT_EQ(config->brokers.size(), 2U);
  const BrokerOptions& field = config->brokers[0];
  EXPECT_EQ(field.name, "field");
  EXPECT_EQ(field.source, "lorawan");
  EXPECT_EQ(field.mqtt.host, "broker.example");
  EXPECT_EQ(field.mqtt.port, 8883U);
  EXPECT_TRUE(field.mqtt.tls);
  EXPECT_EQ(field.mqtt.client_id, "me");
  EXPECT_EQ(field.mqtt.user, "meter");
  EXPECT_EQ(field.mqtt.password, kPassword);
  EXPECT_EQ(field.mqtt.subscriptions, (std::vector<std::string>{"a/+", "b/#"}));
  EXPECT_EQ(field.mqtt.event_bytes_max, 64U * 1024);
  EXPECT_EQ(field.mqtt.keep_alive, 30s);
  EXPECT_TRUE(config->warnings.empty());
  const BrokerOptions& other = config->brokers[1];
  EXPECT_EQ(other.mqtt.port, 1883U);
  EXPECT_EQ(other.mqtt.client_id, "postrider-other");
  EXPECT_TRUE(other.mqtt.subscriptions.empty());
}

// req: config.brokers.2
TEST(ConfigBrokers, MistakesAreToldByTheirLine) {
  struct Case {
    std::string text;
    std::string problem;
  };
  const std::string field(kField);
  for (const Case& c : {
           Case{"[brokers]\n[brokers.field]\n", "p.toml:2: broker 'field': needs a host"},
           Case{"brokers = 1\n", "p.toml:1: brokers is a section: write [brokers.NAME]"},
           Case{"[brokers]\nfield = 1\n",
                "p.toml:2: 'field' must be a section: write [brokers.field]"},
           Case{field + "hots = \"x\"\n",
                "p.toml:3: unknown key 'hots' of a broker, did you mean 'host'?"},
           Case{field + "port = 0\n", "p.toml:3: port must be a whole number from 1 to 65535"},
           Case{field + "port = 65536\n", "p.toml:3: port must be a whole number from 1 to 65535"},
           Case{field + "tls = \"true\"\n", "p.toml:3: tls must be true or false, without quotes"},
           Case{field + "tls = 1\n", "p.toml:3: tls must be true or false"},
           Case{field + "keep_alive = \"4s\"\n",
                "p.toml:3: keep_alive must be a duration from 5s to 18h"},
           Case{field + "subscriptions = [\"a\"]\n",
                "p.toml:1: broker 'field': subscriptions need a plugin whose events they are"},
           Case{field + "plugin = \"p\"\nsubscriptions = [\"a/#/b\"]\n",
                "p.toml:1: broker 'field': subscriptions: 'a/#/b' is no filter"},
           Case{field + "plugin = \"a b\"\n",
                "p.toml:1: broker 'field': plugin must have letters, digits, and any of - _"},
           Case{field + "password = \"x\"\n", "p.toml:1: broker 'field': a password needs a user"},
           Case{field + "back_off_max = \"500ms\"\n",
                "p.toml:1: broker 'field': back_off_max is below back_off_min"},
           Case{"[brokers.\"a b\"]\nhost = \"x\"\n",
                "p.toml:1: 'a b': the name of a broker has 1 to 48 letters, digits, and any of - "
                "_"},
           Case{field + "[brokers.two]\nhost = \"broker.example\"\nclient_id = "
                        "\"postrider-field\"\n",
                "p.toml:3: broker 'two': has the client_id of broker 'field', which is the same "
                "one"},
       }) {
    EXPECT_EQ(brokers_problems(c.text), c.problem) << c.text;
  }
}

// req: config.tokens.2
TEST(ConfigBrokers, MistakesAreToldWithoutThePassword) {
  const std::string password(kPassword);
  for (const std::string& line :
       {"password = \"" + password + "\"", "password = [\"" + password + "\"]",
        "passwrod = \"" + password + "\"", "password_env = \"" + password + "\"",
        "password_file = \"" + password + "\"",
        "user = \"u\"\npassword = \"" + password + "\"\npassword_env = \"HOME\""}) {
    const std::string problems = problems_of_field(line + "\n");
    EXPECT_FALSE(problems.empty()) << line;
    EXPECT_EQ(problems.find(password), std::string::npos) << problems;
  }
}

TEST(ConfigBrokers, APasswordInTheClearIsAWarning) {
  const auto warnings = [](const std::string& lines) {
    return parse_config("[brokers.b]\nuser = \"u\"\npassword = \"p\"\n" + lines, "p", {})->warnings;
  };
  EXPECT_EQ(
      warnings("host = \"broker.example\"\n"),
      (std::vector<std::string>{"broker 'b': the password is sent in the clear; set tls = true"}));
  EXPECT_TRUE(warnings("host = \"broker.example\"\ntls = true\n").empty());
  EXPECT_TRUE(warnings("host = \"127.0.0.1\"\n").empty());
}

TEST(ConfigBrokers, AreBoundedInNumberAndName) {
  const auto broker = [](const std::string& name) {
    return "[brokers." + name + "]\nhost = \"broker.example\"\n";
  };
  EXPECT_EQ(brokers_problems(broker(std::string(48, 'n'))), "");
  EXPECT_NE(brokers_problems(broker(std::string(49, 'n'))), "");
  std::string many;
  for (std::size_t i = 0; i < kConfigBrokersMax; ++i) many += broker("b" + std::to_string(i));
  EXPECT_EQ(brokers_problems(many), "");
  EXPECT_EQ(brokers_problems(many + broker("last")), "p.toml: has more than 64 brokers");
}

TEST(ConfigBrokers, EveryDefaultIsWithinItsBoundsAndEveryNumberHoldsThem) {
  const Config defaults = one_broker();
  for (const ConfigRow& row : broker_rows()) {
    if (row.key == "host" || row.key == "subscriptions" || row.key == "plugin") continue;
    const std::string start = std::string(row.key) + " = ";
    EXPECT_EQ(problems_of_field(start + written_value(row, defaults) + "\n"), "") << row.key;
    const bool duration = row.kind == ConfigKind::kDuration;
    if (!duration && row.kind != ConfigKind::kNumber && row.kind != ConfigKind::kBytes) continue;
    const auto refuses = [&](std::int64_t value) {
      const std::string text = std::to_string(value);
      const std::string problems =
          problems_of_field(start + (duration ? "\"" + text + "ms\"" : text) + "\n");
      return problems.find(" must be " + may_be(row)) != std::string::npos;
    };
    EXPECT_FALSE(refuses(row.bounds.low)) << row.key;
    EXPECT_FALSE(refuses(row.bounds.high)) << row.key;
    EXPECT_TRUE(refuses(row.bounds.low - 1)) << row.key;
    EXPECT_TRUE(refuses(row.bounds.high + 1)) << row.key;
  }
}

}  // namespace
}  // namespace postrider
