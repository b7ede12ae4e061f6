#include "postrider/base/bytes.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace postrider {
namespace {

TEST(Blob, EmptyIsNotTheSameAsNone) {
  const Blob none;
  const Blob empty = Blob::copy_of("");
  EXPECT_FALSE(none);
  EXPECT_TRUE(empty);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(empty.size(), 0U);
  EXPECT_EQ(none.view(), "");
  EXPECT_EQ(none, empty) << "equal as bytes";
}

TEST(Blob, HoldsACopyOfItsOwn) {
  std::string source = "hello";
  const Blob blob = Blob::copy_of(source);
  source = "other";
  EXPECT_EQ(blob.view(), "hello");
  EXPECT_EQ(blob.size(), 5U);
}

TEST(Blob, CopiesShareTheBytes) {
  const Blob first = Blob::copy_of("hello");
  Blob second;
  second = first;
  EXPECT_EQ(first.view().data(), second.view().data());
  const std::vector<Blob> more(2, first);
  EXPECT_EQ(first.view().data(), more[1].view().data());
}

TEST(Blob, BytesLiveAsLongAsAnyCopy) {
  Blob survivor;
  {
    const Blob first = Blob::copy_of("hello");
    survivor = first;
  }
  EXPECT_EQ(survivor.view(), "hello");
}

TEST(Blob, AMoveLeavesNothingBehind) {
  Blob first = Blob::copy_of("hello");
  const char* bytes = first.view().data();
  const Blob second = std::move(first);
  EXPECT_EQ(second.view().data(), bytes);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that it is empty is the promise
}

TEST(Blob, CanBeAssignedToItself) {
  Blob blob = Blob::copy_of("hello");
  const Blob& same = blob;
  blob = same;
  EXPECT_EQ(blob.view(), "hello");
}

TEST(Blob, IsFilledInPlace) {
  const Blob blob = Blob::make(4, [](char* to) { std::fill_n(to, 4, 'a'); });
  EXPECT_EQ(blob.view(), "aaaa");
  EXPECT_EQ(blob, Blob::copy_of("aaaa"));
  EXPECT_FALSE(blob == Blob::copy_of("aaab"));
}

// Loop and committer drop their copies at the same time; the sanitizers see a lost or a doubled
// release.
TEST(Blob, IsReleasedOnceByTwoThreads) {
  for (int round = 0; round < 200; ++round) {
    Blob blob = Blob::copy_of("shared by two");
    std::thread other([copy = blob] {
      const std::vector<Blob> copies(10, copy);
      EXPECT_EQ(copies.back().view(), "shared by two");
    });
    const std::vector<Blob> copies(10, blob);
    blob = Blob();
    EXPECT_EQ(copies.front().view(), "shared by two");
    other.join();
  }
}

}  // namespace
}  // namespace postrider
