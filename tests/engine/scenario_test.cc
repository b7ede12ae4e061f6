// Plays every transcript of tests/scenarios and compares it with what is written there. With
// POSTRIDER_REWRITE=1 the files are rewritten instead; read the difference before you keep it.
#include "tests/support/scenario/scenario.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace postrider {
namespace {

namespace files = std::filesystem;

std::vector<std::string> scenario_files() {
  std::vector<std::string> out;
  for (const auto& entry : files::recursive_directory_iterator(std::string(POSTRIDER_SOURCE_DIR) +
                                                               "/tests/scenarios")) {
    if (entry.path().extension() == ".txt") out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string name_of_test(const ::testing::TestParamInfo<std::string>& info) {
  const files::path path(info.param);
  std::string name = path.parent_path().filename().string() + "_" + path.stem().string();
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, ReadsAsWritten) {
  std::ifstream in(GetParam());
  std::stringstream content;
  content << in.rdbuf();
  const std::string written = content.str();
  const std::string folder = files::path(GetParam()).parent_path().filename().string();
  const std::string profile = folder == "engine" ? "webhook" : folder;
  const std::string played = scenario::play(written, profile);
  EXPECT_EQ(played.find("\n!!"), std::string::npos) << played;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): tests have one thread
  if (std::getenv("POSTRIDER_REWRITE") != nullptr) {
    std::ofstream(GetParam()) << played;
    return;
  }
  EXPECT_EQ(played, written);
}

INSTANTIATE_TEST_SUITE_P(Transcripts, Scenario, ::testing::ValuesIn(scenario_files()),
                         name_of_test);

TEST(ScenarioRunner, SaysWhatIsWrongWithACommand) {
  const auto seen = [](const std::string& command) {
    return scenario::play("> " + command + "\n", "webhook");
  };
  EXPECT_NE(seen("dance").find("!! nobody knows the command 'dance'"), std::string::npos);
  EXPECT_NE(seen("advance soon").find("!! "), std::string::npos);
  EXPECT_NE(seen("peer sings").find("!! the peer cannot 'sings'"), std::string::npos);
  EXPECT_NE(seen("explain m1").find("!! there is no message 'm1'"), std::string::npos);
  EXPECT_NE(seen("stats please").find("!! what is 'please'?"), std::string::npos);
}

TEST(ScenarioRunner, SplitsWordsAtSpacesOutsideQuotationMarks) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(scenario::split_words("a  b=\"c d\" \"\""), (Words{"a", "b=c d", ""}));
}

}  // namespace
}  // namespace postrider
