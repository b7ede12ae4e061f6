// The program as a user meets it: exit codes, help, suggestions.
#include <array>
#include <cstdio>
#include <string>
#include <sys/wait.h>

#include <gtest/gtest.h>

namespace postrider {
namespace {

struct Ran {
  int code = -1;
  std::string output;  // standard output and standard error
};

Ran run(const std::string& arguments, const std::string& after = " 2>&1") {
  Ran ran;
  std::FILE* pipe = popen(("'" POSTRIDER_BINARY "' " + arguments + after).c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    ran.output.append(buffer.data(), size);
  }
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ran.code = WEXITSTATUS(status);
  return ran;
}

bool mentions(const Ran& ran, std::string_view part) {
  return ran.output.find(part) != std::string::npos;
}

TEST(CommandLine, HelpAndVersionAreAnswered) {
  for (const char* arguments : {"--help", "-h", "help"}) {
    const Ran ran = run(arguments, "");
    EXPECT_EQ(ran.code, 0) << arguments;
    EXPECT_TRUE(mentions(ran, "profile")) << ran.output;
    EXPECT_TRUE(mentions(ran, "sim")) << ran.output;
  }
  EXPECT_EQ(run("--version", "").code, 0);
  EXPECT_TRUE(run("--version", "").output.starts_with("postrider 0."));
  EXPECT_EQ(run("profile --help", "").code, 0);
  EXPECT_TRUE(mentions(run("profile show --help", ""), "--format"));
}

TEST(CommandLine, MistakesAreUsageErrorsWithASuggestion) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "Usage"},
      {"profle", "did you mean 'profile'?"},
      {"zzzzzz", "unknown command 'zzzzzz'\n"},
      {"profile", "say one of ls, show"},
      {"profile shwo webhook", "did you mean 'show'?"},
      {"profile show", "it needs NAME"},
      {"profile show webhok", "did you mean 'webhook'?"},
      {"profile show webhook --formt text", "did you mean '--format'?"},
      {"profile show webhook --format txt", "did you mean 'text'?"},
      {"profile show webhook --format", "needs a value"},
      {"profile show webhook --method pots", "did you mean 'post'?"},
      {"profile ls webhook", "it takes no 'webhook'"},
      {"profile show webhook --watch", "--watch goes with --live"},
      {"sim --sed 1", "did you mean '--seed'?"},
      {"shape --sort totl", "did you mean 'total'?"},
      {"top --sort pnding", "did you mean 'pending'?"},
      {"msg ls --watch=0", "--watch is a whole number from 1"},
      {"msg ls --watch=soon", "--watch is a whole number from 1"},
      {"completion", "it needs bash|zsh|fish"},
      {"completion bsh", "did you mean 'bash'?"},
      {"man mgs", "did you mean 'msg'?"},
  };
  for (const auto& [arguments, complaint] : cases) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << arguments;
    EXPECT_TRUE(mentions(ran, complaint)) << arguments << ": " << ran.output;
    EXPECT_EQ(run(arguments, " 2>/dev/null").output, "") << "complaints go to the standard error";
  }
}

TEST(CommandLine, WhatCannotBeWrittenIsAFailure) {
  EXPECT_EQ(run("profile show webhook", " >/dev/full").code, 1);
}

// req: webhook.show.2
TEST(ProfileCommand, ListsProfiles) {
  const Ran ran = run("profile ls", "");
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(ran.output.starts_with("webhook "));
}

// req: webhook.show.1
TEST(ProfileCommand, ShowsTheTableInEveryFormat) {
  const std::pair<const char*, const char*> cases[] = {
      {"profile show webhook", "Profile webhook\n"},
      {"profile show webhook --format text --method post", "Profile webhook\n"},
      {"profile show webhook --format markdown", "# Tables of the profile webhook\n"},
      {"profile show webhook --format mermaid --method post", "stateDiagram-v2\n"},
      {"profile show webhook --json", "{\"name\":\"webhook\","},
      {"profile show webhook --format json", "{\"name\":\"webhook\","},
  };
  for (const auto& [arguments, beginning] : cases) {
    const Ran ran = run(arguments, "");
    EXPECT_EQ(ran.code, 0) << arguments;
    EXPECT_TRUE(ran.output.starts_with(beginning)) << arguments << ": " << ran.output;
  }
  // The health table of the core is shown with it.
  EXPECT_TRUE(mentions(run("profile show webhook", ""), "too many strikes in a row"));
}

// req: webhook.show.1
TEST(ProfileCommand, JsonIsJson) {
  for (const char* arguments : {"profile ls --json", "profile show webhook --json"}) {
    EXPECT_EQ(run(arguments, " | python3 -c 'import json, sys; json.load(sys.stdin)'").code, 0)
        << arguments;
  }
}

// req: engine.sim.20
TEST(SimCommand, ReportsAsJson) {
  const Ran ran = run(
      "sim --profile webhook --seed 3 --seeds 2 --days 2 --destinations 3 --messages 30 --json",
      " 2>/dev/null | python3 -c 'import json, sys\n"
      "r = json.load(sys.stdin)\n"
      "assert r[\"seed\"] == 3 and r[\"seeds\"] == 2\n"
      "assert r[\"virtual_seconds\"] >= 2 * 2 * 86400 and r[\"wall_seconds\"] >= 0\n"
      "assert r[\"messages\"] > 0 and r[\"events\"] > r[\"messages\"]\n"
      "assert not r[\"violations\"] and r[\"trace_hash\"]\n"
      "ends = [\"delivered\", \"dead\", \"expired\", \"cancelled\", \"indeterminate\", \"live\"]\n"
      "assert sum(r[\"outcomes\"][end] for end in ends) >= r[\"messages\"]\n"
      "assert len(r[\"faults\"]) > 20 and sum(r[\"faults\"].values()) > 0\n"
      "assert isinstance(r[\"rows_never_hit\"], list)\n'");
  EXPECT_EQ(ran.code, 0) << ran.output;
}

}  // namespace
}  // namespace postrider
