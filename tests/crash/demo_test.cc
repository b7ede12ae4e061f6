// The demo is what people see first: it must be right about what it shows.
#include <array>
#include <cstdio>
#include <string>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "tests/crash/http.h"

namespace postrider::crash {
namespace {

struct Ran {
  int code = -1;
  std::string output;
};

Ran run_demo(const std::string& arguments) {
  Ran ran;
  const std::string command = "'" POSTRIDER_BINARY "' demo " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return ran;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    ran.output.append(buffer.data(), size);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ran.code = WEXITSTATUS(status);
  return ran;
}

// req: cli.demo.1
TEST(Demo, LosesNothingAndShowsIt) {
  const Ran ran = run_demo("--messages 400");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_NE(ran.output.find("accepted 400 = taken 320 + live 80 + lost 0"), std::string::npos)
      << ran.output;
  EXPECT_NE(ran.output.find("kill -9 after"), std::string::npos) << ran.output;
  EXPECT_NE(ran.output.find("postrider msg explain "), std::string::npos) << ran.output;
  EXPECT_EQ(ran.output.find('\033'), std::string::npos) << "no terminal, no escapes";
}

// req: cli.demo.2
TEST(Demo, WithoutTheSyncReportsTheLossAndFails) {
  const Ran ran = run_demo("--messages 400 --break sync --json");
  EXPECT_EQ(ran.code, 1) << ran.output;
  EXPECT_GT(number_member(ran.output, "lost"), 0U) << ran.output;
}

// req: cli.demo.3
TEST(DeviceDemo, BalancesEveryOutcomeWithWhatTheMeterDid) {
  const Ran ran = run_demo("device --calm --commands 40 --json");
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_EQ(number_member(ran.output, "accepted"), 40U) << ran.output;
  EXPECT_NE(ran.output.find("\"doubled\":0,\"wrong\":[],\"balanced\":true"), std::string::npos)
      << ran.output;
}

}  // namespace
}  // namespace postrider::crash
