// [plugins.NAME] of a configuration.
#include "postrider/doors/device/config.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "postrider/config/config.h"
#include "postrider/config/config_rows.h"

namespace postrider::device_door {
namespace {

constexpr std::string_view kSettings =
    "[plugins.lorawan.settings]\nway = \"chirpstack\"\nurl = \"http://127.0.0.1:8080\"\n";

Result<Config> read(const std::string& text, const Environment& environment = {}) {
  const ConfigPart* const parts[] = {&kConfigPart};
  return parse_config(text, "p.toml", environment, {}, parts);
}

std::string plugins_problems(const std::string& text, const Environment& environment = {}) {
  const Result<Config> config = read(text, environment);
  return config ? "" : config.error().detail;
}

std::string warnings_of(const std::string& text) {
  const Result<Config> config = read(text);
  if (!config) return "problem: " + config.error().detail;
  std::string out;
  for (const std::string& warning : config->warnings) out += warning + "\n";
  return out;
}

// req: config.plugins.1
TEST(ConfigPlugins, HaveASecretAndTheSettingsOfTheirQueues) {
  const Result<Config> config = read(
      "[plugins.lorawan]\nprofile = \"device\"\nsecret_env = \"INGRESS\"\n"
      "secret_header = \"X-My-Secret\"\n" +
          std::string(kSettings) +
          "api_key_env = \"KEY\"\nspacing = \"1s\"\nretries = 3\nevents_cancelled = true\n"
          "repeat.TURN_ON = \"never\"\n"
          "[plugins.vendor.settings]\nway = \"calin-v1\"\nurl = \"https://vendor.example\"\n"
          "company = \"c\"\nuser = \"u\"\npassword = \"p\"\n",
      {{"INGRESS", "open sesame\n"}, {"KEY", "jwt"}});
  ASSERT_TRUE(config) << config.error().detail;
  const auto& plugins = config->parts.of<DeviceConfig>().plugins;
  ASSERT_EQ(plugins.size(), 2U);
  EXPECT_EQ(plugins[0].name, "lorawan");
  EXPECT_EQ(plugins[0].profile, "device");
  EXPECT_EQ(plugins[0].secret, "open sesame");
  EXPECT_EQ(plugins[0].secret_header, "x-my-secret");
  EXPECT_EQ(plugins[0].settings, (NamedTexts{{"way", "chirpstack"},
                                             {"url", "http://127.0.0.1:8080"},
                                             {"api_key", "jwt"},
                                             {"spacing", "1s"},
                                             {"retries", "3"},
                                             {"events_cancelled", "true"},
                                             {"repeat.TURN_ON", "never"}}));
  EXPECT_EQ(plugins[1].secret, "");
  EXPECT_EQ(plugins[1].secret_header, "x-postrider-secret");
  EXPECT_TRUE(config->warnings.empty());
}

// req: config.plugins.1
TEST(ConfigPlugins, TakeTheirSecretsFromFiles) {
  const std::filesystem::path file =
      std::filesystem::path(::testing::TempDir()) / "postrider_plugin_secret";
  std::ofstream(file) << "from a file\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const Result<Config> config =
      read("[plugins.lorawan]\nsecret_file = \"" + file.string() + "\"\n" + std::string(kSettings) +
           "api_key_file = \"" + file.string() + "\"\n");
  std::filesystem::remove(file);
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->parts.of<DeviceConfig>().plugins[0].secret, "from a file");
  EXPECT_EQ(config->parts.of<DeviceConfig>().plugins[0].settings.back(),
            NamedText("api_key", "from a file"));
}

// req: config.plugins.2
TEST(ConfigPlugins, MistakesAreToldByTheirLine) {
  struct Case {
    std::string text;
    std::string problem;
  };
  const std::string settings(kSettings);
  for (const Case& c : {
           Case{"plugins = 1\n", "p.toml:1: plugins is a section: write [plugins.NAME]"},
           Case{"[plugins]\nlorawan = 1\n",
                "p.toml:2: 'lorawan' must be a section: write [plugins.lorawan]"},
           Case{"[plugins.lorawan]\nsecrt = \"x\"\n" + settings,
                "p.toml:2: unknown key 'secrt' of a plugin, did you mean 'secret'?; what its "
                "profile is told stands under [plugins.lorawan.settings]"},
           Case{"[plugins.lorawan]\nsettings = 1\n",
                "p.toml:2: settings must be a section of its own"},
           Case{"[plugins.lorawan]\nprofile = 1\n" + settings, "p.toml:2: profile must be a text"},
           Case{"[plugins.lorawan]\nprofile = \"webhook\"\n" + settings,
                "p.toml:2: plugin 'lorawan': its profile can only be 'device'"},
           Case{"[plugins.lorawan]\nsecret_header = \"a b\"\n" + settings,
                "p.toml:2: plugin 'lorawan': secret_header is not the name of a header"},
           Case{"[plugins.lorawan]\nsecret = \"a\"\nsecret_env = \"X\"\n" + settings,
                "p.toml:1: plugin 'lorawan' has more than one of secret, secret_file and "
                "secret_env"},
           Case{"[plugins.lorawan]\nsecret_env = \"NONE\"\n" + settings,
                "p.toml:2: secret_env: there is no environment variable of this name"},
           Case{settings + "api_key_env = \"NONE\"\n",
                "p.toml:4: secret_env: there is no environment variable of this name"},
           Case{settings + "api_key = \"a\"\napi_key_env = \"X\"\n",
                "p.toml:5: api_key is given twice"},
           Case{"[plugins.lorawan.settings]\nway = \"chirpstak\"\n",
                "p.toml:2: plugin 'lorawan': way: 'chirpstak' is unknown, did you mean "
                "'chirpstack'?; it may be chirpstack, chirpstack-mqtt, calin-v1 or calin-v2"},
       }) {
    const std::string problems = plugins_problems(c.text, {{"X", "x"}});
    EXPECT_NE(("\n" + problems + "\n").find("\n" + c.problem + "\n"), std::string::npos)
        << c.text << "gave:\n"
        << problems;
  }
  EXPECT_NE(plugins_problems("[plugins.\"a.b\".settings]\nway = \"chirpstack\"\n"
                             "url = \"http://127.0.0.1:8080\"\n")
                .find("a plugin's name has 1 to 64"),
            std::string::npos);
}

TEST(ConfigPlugins, AreAtMostAHundred) {
  const auto many = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += "[plugins.p" + std::to_string(i) +
              ".settings]\nway = \"chirpstack\"\nurl = \"http://127.0.0.1:8080\"\n";
    return text;
  };
  EXPECT_EQ(plugins_problems(many(100)), "");
  EXPECT_EQ(plugins_problems(many(101)), "p.toml: has more than 100 plugins");
}

// req: device.api.10
TEST(ConfigPlugins, WarnWhenOthersCouldBringEvents) {
  const std::string token =
      "[[tokens]]\nname = \"t\"\nscopes = [\"submit\"]\nsecret = \"0123456789abcdef\"\n";
  const std::string open = "[server]\nlisten = [\"127.0.0.1:1\", \"0.0.0.0:8460\"]\n";
  EXPECT_EQ(warnings_of(std::string(kSettings)), "") << "only this machine reaches us";
  EXPECT_EQ(warnings_of(open + token + std::string(kSettings)),
            "plugin 'lorawan' has no secret, and we listen on 0.0.0.0:8460: everybody who reaches "
            "it may bring events of devices\n");
  EXPECT_EQ(
      warnings_of(open + token + "[plugins.lorawan]\nsecret = \"s\"\n" + std::string(kSettings)),
      "");
  EXPECT_NE(plugins_problems(open + std::string(kSettings)).find("needs a token"),
            std::string::npos)
      << "without tokens it does not even start";
}

TEST(ConfigPlugins, KeepCorrelationIdsForTheWholeLifeOfAMessageAndItsHistory) {
  const auto window = [](const std::string& text) {
    const Result<Config> config = read(text);
    return config ? config->host.shard.engine.key_window : Duration(0);
  };
  EXPECT_EQ(window(""), 24h);
  EXPECT_EQ(window(std::string(kSettings)), kCorrelationWindow);
  EXPECT_GE(read(std::string(kSettings))->host.shard.engine.ledger.age, kCorrelationWindow);
  EXPECT_EQ(window("[engine]\nkey_window = \"20h\"\n" + std::string(kSettings)), 20h);
  EXPECT_NE(warnings_of("[engine]\nkey_window = \"20h\"\n" + std::string(kSettings))
                .find("engine.key_window is shorter than 15d"),
            std::string::npos);
}

// req: config.plugins.3
TEST(ConfigPlugins, NameDestinationsForTheirEventsThatAreNotInTheFile) {
  const auto unheard = [](const std::string& text) {
    const Result<Config> config = read(text);
    std::string out = config ? "" : config.error().detail;
    if (!config) return out;
    const ConfigPart* const parts[] = {&kConfigPart};
    for (const UnheardEvents& it : unheard_events(*config, parts))
      out += it.teller + ">" + it.destination + " ";
    return out;
  };
  const std::string plugin = std::string(kSettings) + "events = \"billing\"\n";
  const std::string billing = "[destinations.billing.settings]\nurl = \"https://b.example\"\n";
  EXPECT_EQ(unheard(plugin), "lorawan>billing ");
  EXPECT_EQ(unheard(plugin + billing), "");
  EXPECT_EQ(unheard(billing + plugin), "");
  EXPECT_EQ(unheard(std::string(kSettings)), "") << "who names none wants none";
}

// req: config.plugins.2
TEST(ConfigPlugins, AllMistakesOfOneAreToldAtOnce) {
  const std::string problems = plugins_problems(
      "[plugins.lorawan.settings]\nway = \"chirpstack\"\nurl = \"ftp://x\"\nspacing = \"soon\"\n"
      "retrys = 3\nretries = \"many\"\n[destinations.shop.settings]\nurl = \"https://s.example\"\n"
      "rate = \"fast\"\ntime_out = \"x\"\n");
  for (const char* begin :
       {"p.toml:3: plugin 'lorawan': url: ", "p.toml:4: plugin 'lorawan': spacing: ",
        "p.toml:5: plugin 'lorawan': unknown setting 'retrys'",
        "p.toml:6: plugin 'lorawan': retries: ", "p.toml:9: destination 'shop': rate: ",
        "p.toml:10: destination 'shop': time_out: "})
    EXPECT_NE(("\n" + problems).find("\n" + std::string(begin)), std::string::npos)
        << begin << "\nis not in\n"
        << problems;
  EXPECT_EQ(std::count(problems.begin(), problems.end(), '\n'), 5) << problems;
}

// req: config.plugins.2
TEST(ConfigPlugins, WhatFollowsFromAMistakeIsNotToldAsAnother) {
  const auto count = [](const std::string& text) {
    const std::string problems = plugins_problems(text);
    return std::count(problems.begin(), problems.end(), '\n') + (problems.empty() ? 0 : 1);
  };
  EXPECT_EQ(count("[plugins.p.settings]\nway = \"chirpstak\"\nurl = \"http://127.0.0.1:1\"\n"), 1);
  EXPECT_EQ(count("[plugins.p.settings]\nway = \"chirpstack\"\nurl = \"http://127.0.0.1:1\"\n"
                  "closed_base = \"soon\"\nclosed_max = \"1s\"\n"),
            1)
      << "whether it is below closed_base nobody can tell";
  EXPECT_EQ(count("[destinations.d.settings]\nurl = \"https://d.example\"\nsignature = "
                  "\"hmac-sha256-bdy\"\nsecret = \"plain words\"\n"),
            1);
}

// req: config.brokers.1
TEST(ConfigPlugins, BrokersBringAllEventsOfTheirPluginUnlessTheySayWhich) {
  const Result<Config> config =
      read("[brokers.field]\nhost = \"broker.example\"\nplugin = \"lorawan\"\n");
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->brokers[0].mqtt.subscriptions,
            (std::vector<std::string>{"application/+/device/+/event/+"}));
}

TEST(ConfigPlugins, WarnOfBrokersThatAreNotThere) {
  EXPECT_EQ(warnings_of("[brokers.field]\nhost = \"broker.example\"\nplugin = \"lorawan\"\n"),
            "broker 'field' brings events of the plugin 'lorawan', which is not configured: they "
            "are not kept\n");
  EXPECT_EQ(warnings_of("[plugins.lorawan.settings]\nway = \"chirpstack-mqtt\"\n"
                        "url = \"http://127.0.0.1:8080\"\napplication = \"a\"\n"
                        "broker = \"field\"\n"),
            "plugin 'lorawan' sends by the broker 'field', which is not configured\n");
}

TEST(ConfigPlugins, NeverShowASecret) {
  const std::string problems =
      plugins_problems("[plugins.lorawan]\nsecret = \"my hidden word\\u0001\"\n" +
                       std::string(kSettings) + "password = \"my hidden word\\u0001\"\n");
  EXPECT_NE(problems, "");
  EXPECT_EQ(problems.find("hidden word"), std::string::npos) << problems;
}

}  // namespace
}  // namespace postrider::device_door
