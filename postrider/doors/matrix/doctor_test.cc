#include "postrider/doors/matrix/doctor.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace postrider::matrix_door {
namespace {

constexpr std::string_view kGood = R"(
server_name: "example.org"   # ours
instance_map: {main: {host: 127.0.0.1, port: 1}, postrider: {host: 127.0.0.1, port: 2}}
outbound_federation_restricted_to: [postrider]
worker_replication_secret: "a # secret"
federation:
  destination_min_retry_interval: 1s
  destination_max_retry_interval: 30s
)";

std::vector<std::string> harmful_in(std::string_view yaml) {
  std::vector<std::string> texts;
  for (const Finding& finding : examine_homeserver(yaml)) {
    if (finding.harmful) texts.push_back(finding.text);
  }
  return texts;
}

std::string without(std::string_view word) {
  std::string text(kGood);
  const std::size_t at = text.find(word);
  text.insert(at, "# ");
  return text;
}

TEST(HomeserverDoctor, FindsNothingInAGoodFile) {
  EXPECT_EQ(harmful_in(kGood), std::vector<std::string>());
  EXPECT_EQ(examine_homeserver(kGood).size(), 5U);
}

TEST(HomeserverDoctor, NamesEachLineThatIsMissing) {
  for (const char* word : {"server_name", "instance_map", "outbound_federation_restricted_to",
                           "worker_replication_secret", "destination_min_retry_interval",
                           "destination_max_retry_interval"}) {
    const std::vector<std::string> harmful = harmful_in(without(word));
    ASSERT_EQ(harmful.size(), 1U) << word;
    EXPECT_NE(harmful[0].find(word), std::string::npos) << harmful[0];
  }
}

TEST(HomeserverDoctor, ComplainsOfLongIntervals) {
  std::string text(kGood);
  text.replace(text.find("30s"), 3, "10m");
  ASSERT_EQ(harmful_in(text).size(), 1U);
  EXPECT_NE(harmful_in(text)[0].find("10m"), std::string::npos);
  text.replace(text.find("10m"), 3, "30000");
  EXPECT_EQ(harmful_in(text).size(), 0U) << "milliseconds";
  text.replace(text.find("30000"), 5, "soon ");
  EXPECT_EQ(harmful_in(text).size(), 1U);
}

TEST(HomeserverDoctor, ReadsAnything) {
  for (const char* text : {"", "\n\n", ":", "#", "\"'", "federation:", "federation: {"})
    EXPECT_FALSE(harmful_in(text).empty());
}

}  // namespace
}  // namespace postrider::matrix_door
