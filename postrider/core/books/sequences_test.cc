#include "postrider/core/books/sequences.h"

#include <gtest/gtest.h>

namespace postrider::core {
namespace {

TEST(Sequences, RiseAndBeginBehindThoseOfTheEpochBefore) {
  Sequences first(Epoch(3));
  const Sequence one = first.next();
  const Sequence two = first.next();
  EXPECT_LT(one, two);
  EXPECT_EQ(first.last(), two.value());
  EXPECT_GT(one.value(), first.first());
  EXPECT_GT(Sequences(Epoch(4)).next(), two);
}

}  // namespace
}  // namespace postrider::core
