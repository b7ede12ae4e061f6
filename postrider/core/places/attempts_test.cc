#include "postrider/core/places/attempts.h"

#include <gtest/gtest.h>

namespace postrider::core {
namespace {

class AttemptsTest : public ::testing::Test {
 protected:
  AttemptsTest() {
    limits_.open_attempts_max = 16;
    resident_.bound = std::make_shared<const Bound>();
  }
  Attempt& open(Entry& entry, Slot slot) {
    return attempts_.open({.id = {},
                           .subject = {entry.message.id},
                           .kind = AttemptKind::kProbe,
                           .started = Timestamp(5)},
                          slot, entry, resident_);
  }

  EngineLimits limits_;
  Tallies tallies_;
  Attempts attempts_{limits_, tallies_, 100};
  Resident resident_;
};

TEST_F(AttemptsTest, AnAttemptIsKnownAsLongAsItIsOpen) {
  Entry entry;
  entry.message.id = MessageId{1, 2};
  EXPECT_FALSE(attempts_.is_open(entry));
  EXPECT_EQ(attempts_.of(entry), nullptr);
  const AttemptId id = open(entry, 9).id;
  EXPECT_EQ(id.value(), 101U);
  EXPECT_EQ(attempts_.find(id), 9U);
  ASSERT_NE(attempts_.of(entry), nullptr);
  EXPECT_EQ(attempts_.of(entry)->subject.leader, entry.message.id);
  EXPECT_TRUE(attempts_.of(entry)->subject.followers.empty());
  EXPECT_EQ(attempts_.of(entry)->kind, AttemptKind::kProbe);
  EXPECT_EQ(attempts_.of(entry)->started, Timestamp(5));
  EXPECT_FALSE(attempts_.close(entry, resident_));
  EXPECT_EQ(attempts_.find(id), kNoSlot) << "an outcome that comes now is late";
  EXPECT_FALSE(attempts_.is_open(entry));
  EXPECT_EQ(open(entry, 9).id.value(), 102U) << "no id is given twice";
}

TEST_F(AttemptsTest, CountsWhatIsOpenAndWhatIsFree) {
  Entry entries[16];
  for (Slot i = 0; i < 16; ++i) {
    EXPECT_FALSE(attempts_.full());
    open(entries[i], i);
  }
  EXPECT_EQ(attempts_.open_now(), 16U);
  EXPECT_EQ(resident_.open_attempts, 16U);
  EXPECT_TRUE(attempts_.full());
  resident_.held_back = true;
  EXPECT_TRUE(attempts_.close(entries[3], resident_)) << "its destination waited for this";
  EXPECT_FALSE(attempts_.close(entries[4], resident_));
  EXPECT_EQ(attempts_.free(), 2U);
  EXPECT_EQ(resident_.open_attempts, 14U);
}

// req: engine.fair.4
TEST_F(AttemptsTest, KeepsOnePlaceInEightForRoutesThatAnswer) {
  Entry unproven[2];
  EXPECT_EQ(attempts_.unproven_free(), 14U);
  open(unproven[0], 0);
  EXPECT_EQ(attempts_.unproven_free(), 13U);
  resident_.ok_at = Timestamp(1);
  open(unproven[1], 1);
  EXPECT_EQ(attempts_.unproven_free(), 13U) << "a route that is known to answer takes none of them";
  resident_.route.failing_since = Timestamp(2);
  EXPECT_FALSE(is_proven(resident_));
  EXPECT_FALSE(attempts_.close(unproven[0], resident_));
  EXPECT_EQ(attempts_.unproven_free(), 14U);
}

TEST_F(AttemptsTest, AStartCostsItsTenantOneAndMoreWhenItIsLarge) {
  Entry small;
  Entry large;
  large.message.shared.bytes = 10 * (64U << 10);
  open(small, 0);
  EXPECT_EQ(attempts_.take_cost(), 1U);
  EXPECT_EQ(attempts_.take_cost(), 0U);
  open(large, 1);
  EXPECT_EQ(attempts_.take_cost(), 11U);
}

}  // namespace
}  // namespace postrider::core
