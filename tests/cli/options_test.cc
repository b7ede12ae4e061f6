// Options, complaints and help of every command.
#include <fstream>
#include <set>
#include <sstream>

#include "tests/cli/program.h"

namespace postrider {
namespace {

using cli::Ran;
using cli::run;

bool mentions(const Ran& ran, std::string_view part) {
  return ran.output.find(part) != std::string::npos;
}

constexpr const char* kCommands[] = {
    "explain",      "dest rotate",      "send",        "msg ls",     "msg get",   "msg explain",
    "msg timeline", "msg cancel",       "msg retry",   "dest put",   "dest ls",   "dest show",
    "dest pause",   "dest resume",      "dest wake",   "dest limit", "dest test", "dest rm",
    "dlq ls",       "dlq show",         "dlq redrive", "dlq drop",   "tail",      "config init",
    "config check", "config reference", "check",       "sink"};

// req: cli.help.1
TEST(Options, EveryCommandHelpsAndNamesNoOptionTwice) {
  for (const std::string command : kCommands) {
    const Ran ran = run(command + " --help", "", "");
    EXPECT_EQ(ran.code, 0) << command;
    EXPECT_TRUE(ran.output.starts_with("Usage: postrider " + command)) << ran.output;
    EXPECT_TRUE(mentions(ran, "\n  --help ")) << ran.output;
    std::set<std::string> names;
    std::istringstream lines(ran.output);
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  --")) continue;
      EXPECT_TRUE(names.insert(line.substr(2, line.find(' ', 2) - 2)).second) << command << line;
    }
    EXPECT_EQ(run(command + " -h", "", "").output, ran.output);
  }
  for (const std::string noun : {"msg", "dest", "dlq", "config"}) {
    const Ran ran = run(noun + " --help", "", "");
    EXPECT_EQ(ran.code, 0) << noun;
    for (const std::string command : kCommands) {
      if (command.starts_with(noun + " ")) {
        EXPECT_TRUE(mentions(ran, "postrider " + command + " ")) << ran.output;
      }
    }
  }
}

// req: cli.help.2
TEST(Options, EveryCommandRefusesWhatItDoesNotKnow) {
  for (const std::string command : kCommands) {
    const Ran ran = run(command + " --hepl", "POSTRIDER_URL=http://127.0.0.1:1");
    EXPECT_EQ(ran.code, 2) << command << ran.output;
    EXPECT_TRUE(mentions(ran, "unknown option '--hepl', did you mean '--help'?")) << ran.output;
    EXPECT_TRUE(mentions(ran, "Try 'postrider " + command + " --help'.")) << ran.output;
  }
}

// req: cli.help.2
TEST(Options, MistakesAreRepeatedWithoutControlCharacters) {
  const std::string word = R"_("$(printf 'sn\033]0;owned\007d')")_";
  for (const std::string& arguments :
       {word, "msg " + word, "msg get " + word + " b " + word, "msg ls --" + word,
        "msg ls --limit " + word, "serve --config " + word, "config check " + word}) {
    const Ran ran = run(arguments, "POSTRIDER_URL=http://127.0.0.1:1");
    EXPECT_NE(ran.code, 0) << arguments;
    EXPECT_NE(ran.output, "") << arguments;
    for (const char c : ran.output)
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= ' ') << arguments << ran.output;
  }
}

// req: cli.help.2, cli.help.3
TEST(Options, MistakesAreUsageErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"msg", "say one of ls, get, explain, timeline, cancel, retry"},
      {"msg list", "unknown verb 'list', did you mean 'ls'?"},
      {"dest create shop", "unknown verb 'create', did you mean 'put'?"},
      {"dest creaet shop", "did you mean 'put'?"},
      {"dest delete shop", "did you mean 'rm'?"},
      {"dest enable shop", "did you mean 'resume'?"},
      {"dlq replay", "did you mean 'redrive'?"},
      {"dlq delete", "did you mean 'drop'?"},
      {"dest frobnicate", "unknown verb 'frobnicate' (there are put, ls"},
      {"msg explian x", "did you mean 'explain'?"},
      {"msg get", "it needs ID"},
      {"msg get a b", "'b' is too much: it takes ID"},
      {"msg ls x", "it takes no 'x'"},
      {"msg ls --limit", "--limit needs a value: N"},
      {"msg ls --limit 0", "--limit is a whole number from 1 to 1000, not '0'"},
      {"msg ls --limit=1001", "--limit is a whole number from 1 to 1000, not '1001'"},
      {"msg ls --all=1", "--all takes no value"},
      {"msg ls --limit 1 --limit 2", "--limit is given twice"},
      {"msg ls --url ftp://x", "'ftp://x' is no address"},
      {"msg ls --url http://a@b", "is no address"},
      {"msg ls --url http://", "is no address"},
      {"msg ls --url http://x:99999999", "is no address"},
      {"msg ls --url unix:", "is no address"},
      {"msg ls --token 'a b'", "a token has printable characters"},
      {"msg ls --token-file /nowhere/x", "the token: '/nowhere/x': No such file"},
      {"msg cancel a b --idempotency-key k", "one key stands for one operation"},
      {"send", "it needs DESTINATION [BODY]"},
      {"send a b --to c,d", "with --to there is no DESTINATION"},
      {"send a --to c,d --wait", "--wait is for one destination"},
      {"send a b --skip-closed", "--skip-closed is for --to"},
      {"send a b c", "'c' is too much"},
      {"send a b --lane 16", "--lane is a whole number from 0 to 15"},
      {"send a b --priority 65536", "--priority is a whole number from 0 to 65535"},
      {"send a b --delay 5", "--delay: '5' is not a duration"},
      {"send a b --header x", "--header is NAME:VALUE"},
      {"dest put a --set url", "--set 'url' has no '=' between name and value"},
      {"dest put a --header x", "--header 'x' has no ':' between name and value"},
      {"dest put a --url http://example.com/", "--url is the address of the daemon"},
      {"dest limit a", "it needs NAME SETTING=VALUE"},
      {"dest limit a rate", "'rate' has no '='"},
      {"dest test a --time-out x", "--time-out: 'x' is not a duration"},
      {"tail --from yesterday", "--from is now or start"},
      {"tail --limit 0", "--limit is a whole number"},
      {"config chekc", "did you mean 'check'?"},
      {"check", "it needs DIRECTORY"},
      {"sink --status 99", "--status is a whole number from 200 to 599"},
      {"sink --fail-percent 101", "--fail-percent is a whole number from 0 to 100"},
      {"sink --slow later", "--slow: 'later' is not a duration"},
      {"sink --listen here", "'here' is no address"},
      {"sink --verify nosecret", "a secret begins with whsec_"},
      {"snd", "did you mean 'send'?"},
      {"destination ls", "unknown command 'destination', did you mean 'dest'?"},
      {"messages", "did you mean 'msg'?"},
      {"publish x", "did you mean 'send'?"},
      {"events", "did you mean 'tail'?"},
  };
  for (const auto& [arguments, complaint] : cases) {
    const Ran ran = run(arguments, "POSTRIDER_URL=http://127.0.0.1:1");
    EXPECT_EQ(ran.code, 2) << arguments << ": " << ran.output;
    EXPECT_TRUE(mentions(ran, complaint)) << arguments << ": " << ran.output;
  }
  EXPECT_EQ(run("msg ls", "POSTRIDER_URL=nonsense").code, 2);
}

TEST(Options, EndWithTwoDashes) {
  cli::Daemon daemon({{.body = "{\"id\":\"7\"}", .status = 202}});
  EXPECT_EQ(daemon.run("send -- billing --help").code, 0);
  EXPECT_EQ(daemon.body(0), "{\"destination\":\"billing\",\"body\":\"--help\"}");
}

// req: cli.config.1
TEST(ConfigCommand, WritesAFileThatItAccepts) {
  const cli::TemporaryDirectory directory;
  const std::string file = directory.path("p.toml");
  const Ran init = run("config init " + file);
  EXPECT_EQ(init.code, 0) << init.output;
  EXPECT_TRUE(init.output.starts_with("wrote " + file)) << init.output;
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::ifstream text(file);
  EXPECT_EQ(run("config init", "", "").output,
            std::string(std::istreambuf_iterator<char>(text), std::istreambuf_iterator<char>()));
  EXPECT_EQ(run("config init " + file).code, 1);
  EXPECT_TRUE(mentions(run("config init " + file), "is there already; --force writes over it"));
  EXPECT_EQ(run("config init --force " + file).code, 0);

  const Ran check = run("config check " + file, "", "");
  EXPECT_EQ(check.code, 0);
  EXPECT_EQ(check.output, "file          " + file +
                              "\nlistens on    127.0.0.1:8460\nTLS           no\n"
                              "stores in     data\ntokens        0\ndestinations  0\ngood\n");
}

TEST(CheckCommand, SaysWhenThereIsNoStore) {
  const cli::TemporaryDirectory directory;
  const Ran ran = run("check " + directory.path("nothing"));
  EXPECT_EQ(ran.code, 1);
  EXPECT_TRUE(ran.output.starts_with("postrider check: ")) << ran.output;
}

// req: cli.config.1
TEST(ConfigCommand, SaysWhatIsWrongAndWhere) {
  const cli::TemporaryDirectory directory;
  const std::string file =
      directory.write("p.toml", "[server]\nlsten = []\n[store]\ncache_bytes = 1\n");
  const Ran ran = run("config check " + file);
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.output, file + ":2: unknown setting 'server.lsten', did you mean 'listen'?\n" +
                            file +
                            ":4: store.cache_bytes must be a number of bytes from 1MiB to 64GiB\n");
  EXPECT_EQ(run("config check /nowhere").output, "/nowhere: No such file or directory\n");
  const Ran warned = run("config check", "POSTRIDER_STORE_DIRECTROY=x");
  EXPECT_EQ(warned.code, 0);
  EXPECT_TRUE(mentions(warned, "warning: the environment variable POSTRIDER_STORE_DIRECTROY"));
  EXPECT_TRUE(mentions(run("config check", "POSTRIDER_SERVER_LISTEN=0.0.0.0:80"), "needs a token"));
}

// req: config.plugins.3
TEST(ConfigCommand, WarnsOfEventsThatNobodyHears) {
  const cli::TemporaryDirectory directory;
  const std::string plugin =
      "[plugins.lorawan.settings]\nway = \"chirpstack\"\nurl = \"http://127.0.0.1:8080\"\n"
      "events = \"billing\"\n";
  const Ran ran = run("config check " + directory.write("a.toml", plugin));
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(mentions(ran,
                       "warning: plugin 'lorawan' tells its events to the destination "
                       "'billing', which is not in this file"))
      << ran.output;
  const std::string billing = "[destinations.billing.settings]\nurl = \"https://b.example\"\n";
  EXPECT_FALSE(
      mentions(run("config check " + directory.write("b.toml", plugin + billing)), "warning"));
}

}  // namespace
}  // namespace postrider
