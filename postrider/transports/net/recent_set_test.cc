#include "postrider/transports/net/recent_set.h"

#include <gtest/gtest.h>

namespace postrider {
namespace {

// req: daemon.ways.8
TEST(RecentSet, KeepsThoseThatWereAddedLastUpToItsLimit) {
  RecentSet set(3);
  for (const char* text : {"a", "b", "c"}) set.add(text);
  set.add("a");  // again: now "b" is the oldest
  set.add("d");
  EXPECT_TRUE(set.contains("a") && set.contains("c") && set.contains("d"));
  EXPECT_FALSE(set.contains("b"));
  EXPECT_EQ(set.size(), 3U);
  set.remove("c");
  set.remove("nobody");
  EXPECT_FALSE(set.contains("c"));
  set.add("e");
  EXPECT_TRUE(set.contains("a") && set.contains("d") && set.contains("e"));
}

TEST(RecentSet, MayKeepNothing) {
  RecentSet set(0);
  set.add("a");
  EXPECT_FALSE(set.contains("a"));
}

}  // namespace
}  // namespace postrider
