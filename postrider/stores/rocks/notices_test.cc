#include "postrider/stores/rocks/notices.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace postrider::rocks {
namespace {

using rocksdb::InfoLogLevel;

class NoticesTest : public ::testing::Test {
 protected:
  std::vector<StoreNotice> told;
  std::chrono::steady_clock::time_point now{std::chrono::hours(5)};
  std::shared_ptr<rocksdb::Logger> log = make_notices(
      [this](const StoreNotice& notice) { told.push_back(notice); }, 3, [this] { return now; });
};

// req: engine.disk.6
TEST_F(NoticesTest, HandsOnWarningsAndErrorsAndNothingElse) {
  rocksdb::Log(InfoLogLevel::DEBUG_LEVEL, log, "looks at %d", 1);
  rocksdb::Log(InfoLogLevel::INFO_LEVEL, log, "has done %d", 1);
  rocksdb::Log(InfoLogLevel::WARN_LEVEL, log, "file %d is slow\n", 7);
  rocksdb::Log(InfoLogLevel::HEADER_LEVEL, log, "options");
  rocksdb::Log(InfoLogLevel::ERROR_LEVEL, log, "file %s is gone", "x");
  ASSERT_EQ(told.size(), 2U);
  EXPECT_FALSE(told[0].is_error);
  EXPECT_EQ(told[0].text, "file 7 is slow");
  EXPECT_TRUE(told[1].is_error);
  EXPECT_EQ(told[1].text, "file x is gone");
}

TEST_F(NoticesTest, AreBoundedPerMinuteAndSayWhatWasLeftOut) {
  for (int i = 0; i < 8; ++i) rocksdb::Log(InfoLogLevel::ERROR_LEVEL, log, "no room");
  EXPECT_EQ(told.size(), 3U);
  now += std::chrono::seconds(59);
  rocksdb::Log(InfoLogLevel::ERROR_LEVEL, log, "no room");
  EXPECT_EQ(told.size(), 3U);
  now += std::chrono::seconds(1);
  rocksdb::Log(InfoLogLevel::ERROR_LEVEL, log, "no room");
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told.back().text, "no room (6 others were left out)");
  rocksdb::Log(InfoLogLevel::ERROR_LEVEL, log, "no room");
  EXPECT_EQ(told.back().text, "no room");
}

TEST_F(NoticesTest, AreCutWhenTheyAreLong) {
  rocksdb::Log(InfoLogLevel::ERROR_LEVEL, log, "%s", std::string(5000, 'x').c_str());
  ASSERT_EQ(told.size(), 1U);
  EXPECT_LT(told[0].text.size(), 1000U);
}

}  // namespace
}  // namespace postrider::rocks
