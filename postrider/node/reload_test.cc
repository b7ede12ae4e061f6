#include "postrider/node/reload.h"

#include <gtest/gtest.h>

#include "postrider/doors/all.h"

namespace postrider {
namespace {

constexpr std::string_view kToken =
    "[[tokens]]\nname = \"all\"\nscopes = [\"operate\"]\nsecret = \"0123456789abcdef\"\n";

Config running(const std::string& text) {
  auto config = parse_config(text, "running.toml", {}, {}, doors::all_config_parts());
  EXPECT_TRUE(config) << config.error().detail;
  return *config;
}

Result<Reload> reload(const std::string& before, const std::string& after) {
  return reload_config(
      running(before),
      [&](const ConfigOverrides& bound) {
        return parse_config(after, "new.toml", {}, bound, doors::all_config_parts());
      },
      doors::all_config_parts());
}

std::string listen_on(std::string_view address) {
  return "[server]\nlisten = [\"" + std::string(address) + "\"]\n";
}

// req: daemon.process.10
TEST(Reload, KeepsTokensWhileOthersReachTheDaemon) {
  for (const std::string& after : {listen_on("127.0.0.1:8460"), std::string()}) {
    const auto read = reload(listen_on("0.0.0.0:8460") + std::string(kToken), after);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().detail.find("0.0.0.0:8460"), std::string::npos) << read.error().detail;
    EXPECT_NE(read.error().detail.find("token"), std::string::npos) << read.error().detail;
  }
}

// req: daemon.process.10
TEST(Reload, TakesTokensAwayFromADaemonOnLoopback) {
  const auto read = reload(listen_on("127.0.0.1:1") + std::string(kToken), listen_on("[::1]:1"));
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_TRUE(read->config.api.tokens.empty());
  EXPECT_EQ(read->kept, std::vector<std::string>{"server.listen"});
}

TEST(Reload, RefusesAFileThatCouldNotBeStartedWith) {
  const auto read = reload(listen_on("127.0.0.1:1"), listen_on("0.0.0.0:1"));
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().detail.find("new.toml:2"), std::string::npos) << read.error().detail;
}

// req: daemon.process.10
TEST(Reload, NamesEverySettingThatNeedsARestart) {
  const std::string before =
      "[server]\nunix_socket = \"/a\"\n[brokers.gone]\nhost = \"a\"\n"
      "[brokers.same]\nhost = \"b\"\n[brokers.moved]\nhost = \"c\"\nuser = \"u\"\n"
      "password = \"old\"\n";
  const std::string after =
      "[server]\nunix_socket = \"/b\"\n[store]\ncache_bytes = \"64MiB\"\n"
      "[log]\nlevel = \"debug\"\n[drain]\ntime_out = \"5s\"\n"
      "[brokers.same]\nhost = \"b\"\n[brokers.moved]\nhost = \"c\"\nuser = \"u\"\n"
      "password = \"new\"\n[brokers.fresh]\nhost = \"d\"\n";
  const auto read = reload(before, after);
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read->kept, (std::vector<std::string>{"brokers.fresh", "brokers.gone", "brokers.moved",
                                                  "server.unix_socket", "store.cache_bytes"}));
  EXPECT_EQ(read->config.log.level, "debug");
  EXPECT_EQ(read->config.drain_time_out, Duration(5000));
}

// A plugin without a secret is warned of where others reach it: the running address counts.
TEST(Reload, WarnsOfWhatIsBoundAndNotOfWhatTheFileSays) {
  const std::string plugin =
      "[plugins.lorawan.settings]\nway = \"chirpstack\"\nurl = \"http://127.0.0.1:1\"\n";
  const auto read = reload(listen_on("0.0.0.0:8460") + std::string(kToken),
                           listen_on("127.0.0.1:8460") + std::string(kToken) + plugin);
  ASSERT_TRUE(read) << read.error().detail;
  ASSERT_FALSE(read->config.warnings.empty());
  EXPECT_NE(read->config.warnings.front().find("0.0.0.0:8460"), std::string::npos)
      << read->config.warnings.front();
}

TEST(Reload, OfTheSameFileKeepsNothingBack) {
  const std::string text = "[server]\nlisten = []\nunix_socket = \"/a\"\n";
  const auto read = reload(text, text);
  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_TRUE(read->kept.empty());
}

}  // namespace
}  // namespace postrider
