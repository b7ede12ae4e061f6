#include "postrider/core/window/residents.h"

#include <gtest/gtest.h>

#include "postrider/core/window/sleepers.h"

namespace postrider::core {
namespace {

const ProfileSpec kProfile{};
const ProfileSpec* const kProfiles[] = {&kProfile};

class ResidentsTest : public ::testing::Test {
 protected:
  ResidentsTest() {
    options_.profiles = kProfiles;
    options_.limits.residents_max = 2;
  }
  Slot add(std::uint64_t id) {
    Resident resident;
    resident.id = DestinationId(id);
    Bound bound;
    bound.profile = &kProfile;
    resident.bound = std::make_shared<const Bound>(std::move(bound));
    return residents_.add(std::move(resident));
  }

  EngineOptions options_;
  Timers timers_{Timestamp(10)};
  Residents residents_{options_, options_.limits, timers_};
  Found found_;
  Effects out_;
  Step step_{Timestamp(10), Timestamp(10), Duration(0), found_, out_};
};

TEST_F(ResidentsTest, AResidentIsFoundAsLongAsItIsThere) {
  const Slot slot = add(7);
  EXPECT_EQ(residents_.find(7), slot);
  EXPECT_TRUE(residents_.contains(7));
  EXPECT_EQ(residents_.find(8), kNoSlot);
  residents_.remove(slot);
  EXPECT_EQ(residents_.find(7), kNoSlot);
  EXPECT_EQ(residents_.size(), 0U);
}

TEST_F(ResidentsTest, TheOneThatHasBeenIdleForLongestIsSurplusFirst) {
  const Slot slots[] = {add(1), add(2), add(3)};
  for (const Slot slot : slots) residents_.touch(step_, slot);
  EXPECT_EQ(residents_.idle(), 3U);
  EXPECT_EQ(residents_.surplus(), slots[0]);
  residents_.touch(step_, slots[0]);
  EXPECT_EQ(residents_.surplus(), slots[1]) << "the first was used a moment ago";
  residents_[slots[1]].recounted = true;
  EXPECT_EQ(residents_.surplus(), kNoSlot) << "its census is not written yet";
  residents_[slots[1]].recounted = false;
  residents_.remove(slots[1]);
  EXPECT_EQ(residents_.surplus(), kNoSlot) << "there are no more than may be";
}

TEST_F(ResidentsTest, WhatHasSomethingToDoIsNotIdle) {
  const Slot busy = add(1);
  residents_[busy].in_memory = 1;
  const Slot reads = add(2);
  residents_[reads].chores = 1;
  const Slot owes = add(3);
  residents_[owes].lane_or_new(0).cold_ahead = true;
  for (const Slot slot : {busy, reads, owes}) residents_.touch(step_, slot);
  EXPECT_EQ(residents_.idle(), 0U);
  residents_[owes].lane_or_new(0).asleep = true;
  residents_.touch(step_, owes);
  EXPECT_EQ(residents_.idle(), 1U) << "a lane whose head sleeps has nothing to send";
}

TEST_F(ResidentsTest, SleepersAreCountedByStateAndDestination) {
  Sleepers sleepers(residents_, 1);
  const Slot slot = add(1);
  const MessageId one = MessageId::make(DestinationId(1), 0, 0, Sequence(5));
  const MessageId two = MessageId::make(DestinationId(1), 0, 0, Sequence(6));
  sleepers.put_to_sleep(slot, one, 3, Timestamp(9));
  sleepers.put_to_sleep(slot, two, 3, Timestamp(8));
  sleepers.put_to_sleep(slot, two, 3, Timestamp(8));
  EXPECT_EQ(sleepers.size(), 2U);
  EXPECT_EQ(sleepers.in_state(0, 3), 2U);
  EXPECT_EQ(sleepers.count_of(1), 2U);
  EXPECT_EQ(sleepers.oldest_of(DestinationId(1)), Timestamp(8));
  sleepers.wake_sleeper(two);
  EXPECT_EQ(sleepers.oldest_of(DestinationId(1)), Timestamp(9));
  sleepers.wake_sleeper(one);
  sleepers.wake_sleeper(one);
  EXPECT_EQ(sleepers.in_state(0, 3), 0U);
  EXPECT_FALSE(sleepers.any_of(1));
  EXPECT_FALSE(sleepers.oldest_of(DestinationId(1)).is_set());
}

}  // namespace
}  // namespace postrider::core
