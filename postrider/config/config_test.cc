#include "postrider/config/config.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "postrider/config/config_rows.h"
#include "postrider/config/config_testing.h"
#include "postrider/config/config_toml.h"

namespace postrider {
namespace {

constexpr std::string_view kSecret = "a-secret-of-many-bytes";

std::string problems_of(std::string_view text, const Environment& environment = {},
                        const ConfigOverrides& overrides = {}) {
  const Result<Config> config = parse_config(text, "p.toml", environment, overrides);
  return config ? "" : config.error().detail;
}

TEST(Config, NothingIsEveryDefault) {
  const Result<Config> config = parse_config("", "", {});
  ASSERT_TRUE(config) << config.error().detail;
  const Config defaults;
  for (const ConfigRow& row : config_rows())
    EXPECT_EQ(written_value(row, *config), written_value(row, defaults)) << setting_name(row);
  EXPECT_EQ(config->server.listen, std::vector<std::string>{"127.0.0.1:8460"});
  EXPECT_TRUE(config->api.tokens.empty());
  EXPECT_TRUE(config->warnings.empty());
}

// req: config.rows.1
// req: config.rows.1
// req: config.rows.2
// A new limit needs a row; whoever adds a field learns it here.
struct Wrong {
  const char* text;
  const char* problem;
};

// req: config.errors.1
TEST(ConfigErrors, NameLineSettingAndWhatIsMeant) {
  const Wrong cases[] = {
      {"[server]\n\nconections_max = 5\n",
       "p.toml:3: unknown setting 'server.conections_max', did you mean 'connections_max'?"},
      {"[door]\nmailbox_max = 1\n",
       "p.toml:2: unknown setting 'door.mailbox_max', it is called 'event_queue_max' now"},
      {"[sever]\nlisten = []\n", "p.toml:1: unknown section 'sever', did you mean 'server'?"},
      {"[server]\ncache_bytes = 5\n",
       "p.toml:2: unknown setting 'server.cache_bytes', it belongs under [store]"},
      {"directory = \"x\"\n", "p.toml:1: 'directory' stands in no section: write it under [store]"},
      {"zzz = 1\n", "p.toml:1: unknown setting 'zzz', and it stands in no section"},
      {"server = 1\n", "p.toml:1: 'server' is a section: write [server]"},
      {"[server]\nconnections_max = \"5\"\n",
       "p.toml:2: server.connections_max must be a whole number from 1 to 1000000, without quotes"},
      {"[server]\nconnections_max = 1.5\n",
       "p.toml:2: server.connections_max must be a whole number from 1 to 1000000"},
      {"[server]\nlisten = \"127.0.0.1:1\"\n",
       "p.toml:2: server.listen must be a list of at most 64 texts, in brackets"},
      {"[server]\nlisten = [\"127.0.0.1:1\", 5]\n",
       "p.toml:2: server.listen must be a list of at most 64 texts, in brackets"},
      {"[server]\nhead_time_out = 10\n",
       "p.toml:2: server.head_time_out must be a duration from 100ms to 10m"},
      {"[server]\nhead_time_out = \"10\"\n",
       "p.toml:2: server.head_time_out must be a duration from 100ms to 10m"},
      {"[log]\nlevel = \"warn\"\n",
       "p.toml:2: log.level must be one of debug, info, warning, error, did you mean 'warning'?"},
      {"[log.level]\nx = 1\n", "p.toml:1: log.level must be one of debug, info, warning, error"},
      {"[log]\nformat = 2\n", "p.toml:2: log.format must be one of text, json"},
      {"[store]\ndirectory = true\n",
       "p.toml:2: store.directory must be a text of 1 to 4096 bytes"},
      {"[server]\nconnections_max = 5\nconnections_max = 6\n", "p.toml:3: "},
      {"[server\n", "p.toml:1: "},
      {"[[tokens]]\nnam = \"x\"\n", "p.toml:2: unknown key 'nam' of a token, did you mean 'name'?"},
      {"tokens = 5\n", "p.toml:1: tokens is a list: write [[tokens]] before each"},
      {"[stations.webhook]\n", "p.toml:1: there is no profile 'webhook' with a station"},
      {"[stations]\nlines_max = 0\n",
       "p.toml:2: stations.lines_max must be a whole number from 1 to 65536"},
      {"[stations]\nlines_max = 65537\n",
       "p.toml:2: stations.lines_max must be a whole number from 1 to 65536"},
      {"destinations = 5\n", "p.toml:1: destinations is a section: write [destinations.NAME]"},
      {"[destinations]\na = 5\n", "p.toml:2: 'a' must be a section: write [destinations.a]"},
      {"[destinations.a]\nurl = \"http://x/\"\n", "p.toml:2: unknown key 'url' of a destination"},
      {"[destinations.a]\nprofile = \"webhok\"\n",
       "p.toml:2: unknown profile 'webhok', did you mean 'webhook'?"},
      {"[destinations.a]\nprofile = 3\n", "p.toml:2: profile must be a text"},
      {"[destinations.a.settings]\n", "p.toml:1: destination 'a': url is missing"},
      {"[destinations.a.settings]\nurl = \"http://x/\"\nlader = \"5s\"\n",
       "p.toml:3: destination 'a': unknown setting 'lader', did you mean 'ladder'?"},
      {"[destinations.a.settings]\nurl = \"http://x/\"\nrate = 100001\n",
       "p.toml:3: destination 'a': rate: '100001' is out of bounds"},
      {"[destinations.a.settings]\nurl = 1979-05-27\n", "p.toml:2: url must be a text"},
  };
  for (const Wrong& wrong : cases) {
    const std::string problems = problems_of(wrong.text);
    EXPECT_TRUE(problems.starts_with(wrong.problem)) << wrong.text << "gave: " << problems;
  }
}

// req: config.errors.2
TEST(ConfigErrors, AreToldAllAtOnceInTheOrderOfLines) {
  EXPECT_EQ(problems_of("[log]\nlevel = \"x\"\n[server]\nfoo = 1\n",
                        {{"POSTRIDER_DOOR_WAITING_MAX", "none"}}),
            "p.toml:2: log.level must be one of debug, info, warning, error\n"
            "p.toml:4: unknown setting 'server.foo'\n"
            "POSTRIDER_DOOR_WAITING_MAX must be a whole number from 1 to 1000000");
  std::string many = "[server]\n";
  for (std::size_t i = 0; i < kConfigProblemsMax + 3; ++i)
    many += "zz" + std::to_string(i) + "z = 1\n";
  EXPECT_TRUE(problems_of(many).ends_with("\nand 3 more")) << problems_of(many);
}

// req: config.rules.1
TEST(ConfigRules, SettingsThatContradictEachOtherAreRefused) {
  const Wrong cases[] = {
      {"[server]\nlisten = [\"0.0.0.0:80\"]\n",
       "p.toml:2: server.listen has '0.0.0.0:80', which others can reach: that needs a token"},
      {"[server]\nlisten = [\"[::]:80\"]\n",
       "p.toml:2: server.listen has '[::]:80', which others can reach"},
      {"[server]\nlisten = [\"example.com:80\"]\n", "p.toml:2: server.listen has 'example.com:80'"},
      {"[server]\nlisten = [\"127.0.0.1:80\", \"127.0.0.1:80\"]\n",
       "p.toml:2: server.listen has '127.0.0.1:80' twice"},
      {"[server]\nlisten = [\"unix:/a\"]\nunix_socket = \"/a\"\n",
       "p.toml:2: server.listen has 'unix:/a' twice"},
      {"[server]\nlisten = [\"127.0.0.1\"]\n",
       "p.toml:2: server.listen has '127.0.0.1', which is no address"},
      {"[server]\nlisten = [\"::1:80\"]\n", "p.toml:2: server.listen has '::1:80', which is no"},
      {"[server]\nlisten = [\"127.0.0.1:65536\"]\n", "p.toml:2: server.listen has"},
      {"[server]\nlisten = []\n", "p.toml:2: server.listen is empty"},
      {"[server]\ntls_key = \"k\"\n", "p.toml:2: server.tls_key is given alone"},
      {"[server]\ntls_certificate = \"c\"\n", "p.toml:2: server.tls_certificate is given alone"},
      {"[engine]\nkey_window = \"25h\"\n", "engine.ledger_age must be at least"},
      {"[server]\nrequest_bytes_max = \"2MiB\"\nheld_bytes_max = \"2047KiB\"\n",
       "p.toml:3: server.held_bytes_max must hold"},
      {"[engine]\nbody_bytes_max = \"1MiB\"\n[server]\nheld_bytes_max = \"2MiB\"\n",
       "p.toml:4: server.held_bytes_max must hold"},
      {"[server]\nnames = [\"http://a.example\"]\n",
       "p.toml:2: server.names has 'http://a.example'"},
      {"[server]\nnames = [\"a.example:80\"]\n", "p.toml:2: server.names has 'a.example:80'"},
      {"[door]\nwaiting_max = 10\n", "door.tenant_waiting_max must not be above"},
      {"[transport]\nconnections_max = 10\n", "transport.idle_connections_max must not be above"},
      {"[transport]\nreply_bytes_max = \"1KiB\"\nexcerpt_bytes_max = \"2KiB\"\n",
       "p.toml:3: transport.excerpt_bytes_max must not be above"},
      {"[transport]\nallow = [\"10.0.0.0\"]\n", "p.toml:2: transport.allow has '10.0.0.0'"},
      {"[transport]\nallow = [\"10.0.0.0/33\"]\n", "p.toml:2: transport.allow has"},
      {"[transport]\nname_servers = [\"127.0.0.1\"]\n", "p.toml:2: transport.name_servers has"},
  };
  for (const Wrong& wrong : cases) {
    const std::string problems = problems_of(wrong.text);
    EXPECT_TRUE(problems.starts_with(wrong.problem)) << wrong.text << "gave: " << problems;
  }
}

// req: config.rules.1
TEST(ConfigRules, WhatMakesSenseIsTaken) {
  const char* const cases[] = {
      "[server]\nlisten = [\"127.0.0.1:0\", \"127.0.0.1:0\", \"127.1.2.3:80\", \"localhost:81\"]\n",
      "[server]\nlisten = []\nunix_socket = \"/run/p.sock\"\n",
      "[server]\ntls_certificate = \"c\"\ntls_key = \"k\"\n",
      "[store]\nfree_bytes_min = 0\n",
      "[transport]\nallow = [\"10.0.0.0/32\", \"fd00::/8\", \"::/0\"]\n",
      "[transport]\nname_servers = [\"127.0.0.1:5353\", \"[::1]:53\"]\n",
      "[engine]\nkey_window = \"25h\"\nledger_age = \"27h\"\n",
  };
  for (const char* text : cases) EXPECT_EQ(problems_of(text), "") << text;
}

TEST(ConfigRules, LoopbackIsOnlyWhatThisMachineReaches) {
  for (const char* address :
       {"127.0.0.1:1", "127.255.0.9:0", "[::1]:8460", "localhost:80", "unix:/tmp/x"})
    EXPECT_TRUE(is_loopback_listen(address)) << address;
  for (const char* address : {"0.0.0.0:1", "127.example.com:80", "[::]:1", "10.0.0.1:1",
                              "[::ffff:127.0.0.1]:80", "localhost.example.com:80", "", ":80"})
    EXPECT_FALSE(is_loopback_listen(address)) << address;
}

TEST(ConfigRules, ListenersHaveTlsExceptUnixSockets) {
  const Result<Config> config = parse_config(
      "[server]\nunix_socket = \"/s\"\ntls_certificate = \"c\"\ntls_key = \"k\"\n", "p", {});
  ASSERT_TRUE(config);
  const std::vector<HttpListen> all = listeners(*config);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].certificate_file, "c");
  EXPECT_EQ(all[0].key_file, "k");
  EXPECT_EQ(all[1].address, "unix:/s");
  EXPECT_EQ(all[1].certificate_file, "");
}

TEST(ConfigRules, OneBodyLimitBindsEngineAndApi) {
  const Result<Config> config = parse_config("[engine]\nbody_bytes_max = 2048\n", "p", {});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->api.body_bytes_max, 2048U);
  EXPECT_TRUE(config->warnings.empty());
  const Result<Config> large = parse_config("[engine]\nbody_bytes_max = \"1MiB\"\n", "p", {});
  ASSERT_TRUE(large);
  ASSERT_EQ(large->warnings.size(), 1U);
  EXPECT_NE(large->warnings[0].find("server.request_bytes_max"), std::string::npos);
}

TEST(ConfigRules, AWindowBelowOneBodyIsAWarning) {
  const Result<Config> config = parse_config("[engine]\nwindow_bytes_max = \"64KiB\"\n", "p", {});
  ASSERT_TRUE(config);
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_NE(config->warnings[0].find("engine.window_bytes_max"), std::string::npos);
}

TEST(ConfigRules, AVariableThatIsAlmostASettingIsAWarning) {
  const Result<Config> config = parse_config("", "",
                                             {{"POSTRIDER_STORE_DIRECTROY", "x"},
                                              {"POSTRIDER_URL", "http://x"},
                                              {"POSTRIDER_PORT", "tcp://10.0.0.1"}});
  ASSERT_TRUE(config);
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_EQ(config->warnings[0],
            "the environment variable POSTRIDER_STORE_DIRECTROY is no setting, did you mean "
            "'POSTRIDER_STORE_DIRECTORY'?");
}

// req: config.tokens.1
TEST(ConfigTokens, AreReadFromTextFileAndEnvironment) {
  const ConfigFolder directory;
  const std::string file = directory.write("token", "from-a-file-0123456789\n");
  const Result<Config> config = parse_config(
      "[server]\nlisten = [\"0.0.0.0:80\"]\n"
      "[[tokens]]\nname = \"a\"\nscopes = [\"submit\", \"read\"]\nsecret = "
      "\"in-the-text-0123456\"\n"
      "[[tokens]]\nname = \"b\"\ntenant = \"t\"\nscopes = [\"operate\"]\nsecret_file = \"" +
          file + "\"\n[[tokens]]\nname = \"c\"\nscopes = [\"read\"]\nsecret_env = \"VARIABLE\"\n",
      "p", {{"VARIABLE", "from-the-environment"}});
  ASSERT_TRUE(config) << config.error().detail;
  const std::vector<AccessToken>& tokens = config->api.tokens;
  ASSERT_EQ(tokens.size(), 3U);
  EXPECT_EQ(tokens[0].secret, "in-the-text-0123456");
  EXPECT_EQ(tokens[0].tenant, "default");
  EXPECT_TRUE(tokens[0].may_submit && tokens[0].may_read && !tokens[0].may_operate);
  EXPECT_EQ(tokens[1].secret, "from-a-file-0123456789") << "the line break is not part of it";
  EXPECT_EQ(tokens[1].tenant, "t");
  EXPECT_TRUE(tokens[1].may_operate && !tokens[1].may_read && !tokens[1].may_submit);
  EXPECT_EQ(tokens[2].secret, "from-the-environment");
}

// req: config.tokens.2
TEST(ConfigTokens, MistakesAreToldWithoutTheSecret) {
  const std::string secret(kSecret);
  const auto token = [](const std::string& lines) {
    return "[[tokens]]\nname = \"a\"\nscopes = [\"read\"]\n" + lines;
  };
  const std::pair<std::string, std::string> cases[] = {
      {token(""), "p.toml:1: token 'a' needs one of secret, secret_file and secret_env"},
      {token("secret = \"" + secret + "\"\nsecret_env = \"V\"\n"),
       "p.toml:1: token 'a' needs one of secret, secret_file and secret_env"},
      {token("secret = \"short\"\n"), "p.toml:1: the secret of token 'a' is shorter than 16 bytes"},
      {token("secret = \"" + secret + " \u00e4\"\n"),
       "p.toml:1: the secret of token 'a' has characters that cannot be sent"},
      {token("secret = \"\"\n"), "p.toml:4: secret: the secret is empty"},
      {token("secret = 5\n"), "p.toml:4: secret must be a text"},
      {token("secret = " + secret + "\n"), "p.toml:4: "},
      {token("secret = \"" + secret + "\n"), "p.toml:4: "},
      {token(secret + "\n"), "p.toml:4: "},
      {token("secret = \"" + secret + "\"\nsecret = \"" + secret + "\"\n"), "p.toml:5: "},
      {token("secret = '" + secret + "\n"), "p.toml:4: "},
      {token("secret = true" + secret + "\n"), "p.toml:4: "},
      {token("secret = \"\\q" + secret + "\"\n"), "p.toml:4: "},
      {token("secret_env = \"" + secret + "\"\n"),
       "p.toml:4: secret_env: there is no environment variable of this name"},
      {token("secret_file = \"/nowhere/" + secret + "\"\n"),
       "p.toml:4: secret_file: No such file or directory"},
      {token("secret_file = \"/\"\n"), "p.toml:4: secret_file: it is not a file"},
      {token("secret = \"" + secret + "\"\n") + token("secret = \"" + secret + "\"\n"),
       "p.toml:5: there are two tokens 'a'\np.toml:5: tokens 'a' and 'a' have one secret"},
      {"[[tokens]]\nscopes = [\"read\"]\nsecret = \"" + secret + "\"\n", "p.toml:1: a token needs"},
      {"[[tokens]]\nname = \"a b\"\n", "p.toml:2: the name of a token has 1 to 64 letters"},
      {"[[tokens]]\nname = \"a\"\nsecret = \"" + secret + "\"\n",
       "p.toml:1: token 'a' needs scopes"},
      {"[[tokens]]\nname = \"a\"\nscopes = [\"raed\"]\nsecret = \"" + secret + "\"\n",
       "p.toml:3: unknown scope 'raed', did you mean 'read'?"},
      {"[[tokens]]\nname = \"a\"\nscopes = \"read\"\nsecret = \"" + secret + "\"\n",
       "p.toml:3: scopes must be a list"},
  };
  for (const auto& [text, problem] : cases) {
    const std::string problems = problems_of(text, {{"V", "x"}});
    EXPECT_TRUE(problems.starts_with(problem)) << text << "gave: " << problems;
    EXPECT_EQ(problems.find(secret), std::string::npos) << problems;
  }
}

// Without quotes these look like numbers to the library, which repeats numbers that it cannot take.
// req: config.tokens.2
TEST(ConfigTokens, SecretsThatLookLikeNumbersAreNotRepeatedEither) {
  for (const std::string secret : {"12345678901234567890123456", "0x1234567890abcdef1234567890",
                                   "1e99999999999999", "1234567890123456"}) {
    const std::string problems = problems_of("[[tokens]]\nname = \"a\"\nsecret = " + secret + "\n");
    EXPECT_TRUE(problems.starts_with("p.toml:3: ")) << problems;
    EXPECT_EQ(problems.find(secret), std::string::npos) << problems;
  }
}

TEST(ConfigTokens, LimitsOfSecretsAndOfTheirNumberHold) {
  const auto with_secret = [](std::size_t size) {
    return "[[tokens]]\nname = \"a\"\nscopes = [\"read\"]\nsecret_env = \"V\"\n" +
           std::string(size > 0 ? "" : "#");
  };
  const auto problems_at = [&](std::size_t size) {
    return problems_of(with_secret(size), {{"V", std::string(size, 's')}});
  };
  EXPECT_NE(problems_at(kTokenSecretBytesMin - 1), "");
  EXPECT_EQ(problems_at(kTokenSecretBytesMin), "");
  EXPECT_EQ(problems_at(kTokenSecretBytesMax), "");
  EXPECT_NE(problems_at(kTokenSecretBytesMax + 1), "");

  std::string many;
  Environment environment;
  const auto add = [&](std::size_t number) {
    const std::string name = "T" + std::to_string(number);
    many +=
        "[[tokens]]\nname = \"" + name + "\"\nscopes = [\"read\"]\nsecret_env = \"" + name + "\"\n";
    environment[name] = "secret-of-this-token-" + name;
  };
  for (std::size_t i = 0; i < kConfigTokensMax; ++i) add(i);
  EXPECT_EQ(problems_of(many, environment), "");
  add(kConfigTokensMax);
  EXPECT_EQ(problems_of(many, environment), "p.toml: has more than 1000 tokens");
}

// req: station.limit.5, station.seat.2
TEST(Config, TheLimitsOfStationsAreSettings) {
  const StationLimits usual = parse_config("", "p", {})->host.stations;
  EXPECT_EQ(usual.lines.lines_max, 4096U);
  EXPECT_EQ(usual.lines.unsent_bytes_max, 8U << 20);
  EXPECT_EQ(usual.posts_max, 1024U);
  EXPECT_EQ(usual.wants_max, 4096U);
  const auto config = parse_config(
      "[stations]\nlines_max = 1\nunsent_bytes_max = \"1KiB\"\nposts_max = 1\nwants_max = 16\n"
      "exchanges_max = 1\ndatagram_bytes_max = 512\n",
      "p", {});
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->host.stations.lines.lines_max, 1U);
  EXPECT_EQ(config->host.stations.lines.unsent_bytes_max, 1024U);
  EXPECT_EQ(config->host.stations.lines.datagram_bytes_max, 512U);
  EXPECT_EQ(config->host.stations.posts_max, 1U);
  EXPECT_EQ(config->host.stations.exchanges_max, 1U);
  EXPECT_EQ(config->host.stations.wants_max, 16U);
}

// req: config.destinations.1
TEST(ConfigDestinations, HaveProfileSettingsAndSecretsFromElsewhere) {
  const Result<Config> config = parse_config(
      "[destinations.billing]\nprofile = \"webhook\"\n"
      "[destinations.billing.settings]\nurl = \"http://localhost/a\"\nrate = 5\n"
      "ladder = [\"5s\", \"10s\"]\nsecret_env = \"BILLING\"\nheaders = { x-team = \"blue\" }\n"
      "[destinations.\"other:one\"]\nsettings = { url = \"http://localhost/b\" }\n",
      "p.toml", {{"BILLING", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"}});
  ASSERT_TRUE(config) << config.error().detail;
  ASSERT_EQ(config->destinations.size(), 2U);
  const DestinationConfig& billing = config->destinations[0];
  EXPECT_EQ(billing.name, "billing");
  EXPECT_EQ(billing.profile, "webhook");
  const std::pair<const char*, const char*> settings[] = {
      {"url", "http://localhost/a"},
      {"rate", "5"},
      {"ladder", "5s,10s"},
      {"secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
      {"headers.x-team", "blue"}};
  for (const auto& [name, value] : settings) {
    const std::string* given = find_text(billing.settings, name);
    ASSERT_NE(given, nullptr) << name;
    EXPECT_EQ(*given, value);
  }
  EXPECT_EQ(config->destinations[1].name, "other:one");
  EXPECT_EQ(config->destinations[1].profile, "webhook");
}

// req: config.tokens.2
TEST(ConfigDestinations, MistakesAreToldWithoutTheSecret) {
  const std::string start = "[destinations.a.settings]\nurl = \"http://localhost/\"\n";
  const std::string secret(kSecret);
  for (const std::string& line :
       {"secret = \"" + secret + "\"", "secret = \"whsec_" + secret + "\"",
        "secret = [\"" + secret + "\"]", "secert = \"" + secret + "\"",
        "secret_env = \"" + secret + "\"", "headers.authorization = \"" + secret + "\\n\"",
        "headers.\"a b\" = \"" + secret + "\"", "secret_file = \"" + secret + "\""}) {
    const std::string problems = problems_of(start + line + "\n");
    EXPECT_TRUE(problems.starts_with("p.toml:3: ")) << line << " gave: " << problems;
    EXPECT_EQ(problems.find(secret), std::string::npos) << problems;
  }
}

TEST(ConfigDestinations, NamesAreThoseThatTheApiTakes) {
  const auto named = [](const std::string& name) {
    return "[destinations.\"" + name + "\".settings]\nurl = \"http://localhost/\"\n";
  };
  EXPECT_EQ(problems_of(named(std::string(255, 'n'))), "");
  for (const std::string& name : {std::string(256, 'n'), std::string("a b"), std::string()}) {
    EXPECT_TRUE(problems_of(named(name)).starts_with("p.toml:1: '" + name + "': a destination's"))
        << problems_of(named(name));
  }
  EXPECT_NE(problems_of(named(std::string(17, 'n')) + "[engine]\nname_bytes_max = 16\n"), "");
}

TEST(ConfigFile, IsBoundedInSizeLinesAndDepth) {
  EXPECT_EQ(problems_of("#" + std::string(kTomlLineBytesMax - 1, 'x')), "");
  EXPECT_EQ(problems_of("\n#" + std::string(kTomlLineBytesMax, 'x')),
            "p.toml:2: the line is longer than 8192 bytes");
  std::string lines;
  while (lines.size() < kConfigBytesMax) lines += "#" + std::string(1022, 'x') + "\n";
  EXPECT_EQ(problems_of(lines), "");
  EXPECT_EQ(problems_of(lines + "#"), "p.toml: is larger than 1MiB");
  std::string deep = "a";
  while (deep.size() + 2 < kTomlLineBytesMax - 4) deep += ".a";
  EXPECT_NE(problems_of(deep + "=1"), "");
  EXPECT_NE(problems_of("[" + deep + "]\n" + deep + "=1"), "");
  EXPECT_NE(problems_of("[server]\nlisten = " + std::string(4000, '[')), "");
}

TEST(ConfigFile, WithTooManyBracketsDoesNotStopTheProcess) {
  EXPECT_EQ(problems_of("[[[tokens]]\n"),
            "p.toml: is not TOML: look for brackets that are too many");
  for (const char* text : {"[", "[[", "[]", "[=]", "[[]]", "=", "a.=1", "a={", "a=[", "\""})
    EXPECT_NE(problems_of(text), "") << text;
}

TEST(ConfigFile, HasLettersBeyondAsciiInQuotesAndCommentsOnly) {
  for (const char* text : {
           "# \u00e4\n",
           "\xef\xbb\xbf# a byte order mark\n",
           "[store]\ndirectory = \"\u00e4\" # \u00e4\n",
           "[store]\ndirectory = '\u00e4\\'\n",
           "[store]\ndirectory = \"\"\"\n\u00e4\\\"\"\n\u00e4\"\"\"\"\n",
           "[store]\ndirectory = '''\u00e4\n''\u00e4'''\n",
           "[destinations.a.settings]\nurl = \"http://x/\" # \u00e4\n",
       }) {
    EXPECT_EQ(problems_of(text), "") << text;
  }
  for (const char* text :
       {"[log]\n\u00e4 = 1\n", "[log]\nlevel = \u00e4\n", "[log]\nlevel = \"\" \u00e4\n",
        "#\n\u00e4", "[log]\nlevel = '''a''' \u00e4\n", "[log]\nlevel = \"\\\"\" \u00e4\n"}) {
    EXPECT_EQ(problems_of(text), "p.toml:2: a letter beyond ASCII stands outside of quotes")
        << text;
  }
}

TEST(ConfigFile, HasNoQuotesInsideWords) {
  for (const char* text : {"\na = 2\"x\"", "\na = x'y'", "\na\"b\" = 1", "\na = \"b\"\"c\""})
    EXPECT_EQ(problems_of(text), "p.toml:2: a quotation mark stands inside a word") << text;
}

TEST(ConfigFile, HasNoControlCharacters) {
  using namespace std::string_view_literals;
  EXPECT_EQ(problems_of("[\0[tokens]]\n"sv), "p.toml:1: the line has a control character");
  EXPECT_EQ(problems_of("\r\n\t#\x7f"), "p.toml:2: the line has a control character");
  EXPECT_EQ(problems_of("\r\n\t# tabs and line ends are none\r\n"), "");
}

TEST(ConfigFile, IsReadFromDisk) {
  const ConfigFolder directory;
  const std::string path = directory.write("p.toml", "[door]\nwaiting_max = 9000\n");
  const Result<Config> config = load_config(path, {});
  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->host.waiting_max, 9000U);

  const Result<Config> missing = load_config(path + ".not", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(missing.error().detail, path + ".not: No such file or directory");
  const Result<Config> folder = load_config(testing::TempDir(), {});
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(load_config("", {{"POSTRIDER_DOOR_WAITING_MAX", "9000"}}));
}

}  // namespace
}  // namespace postrider
