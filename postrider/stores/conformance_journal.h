// The checks that every Journal must pass. A journal's test gives a harness and instantiates the
// suite:
//
//   struct Harness {
//     Journal& journal();
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Memory, JournalConformance, Harness);
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "postrider/model/seams/journal.h"

namespace postrider {

using Groups = std::vector<std::pair<std::uint64_t, std::string>>;

inline Groups groups_of(Journal& journal, GroupNumber first, GroupNumber last) {
  Groups out;
  const auto read = journal.read(first, last, [&](GroupNumber number, Group group) {
    out.emplace_back(number.value(), std::string(group.bytes));
    return true;
  });
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().detail);
  return out;
}

template <class Harness>
class JournalConformance : public ::testing::Test {
 protected:
  Ownership acquire() {
    const auto owned = harness.journal().acquire(0);
    EXPECT_TRUE(owned.has_value()) << (owned ? "" : owned.error().detail);
    return owned ? *owned : Ownership{};
  }
  AppendEnd append(Epoch epoch, std::uint64_t number, const std::string& bytes) {
    return harness.journal().append(epoch, GroupNumber(number), {bytes, 1}).end;
  }

  Harness harness;
};
TYPED_TEST_SUITE_P(JournalConformance);

TYPED_TEST_P(JournalConformance, BeginsWithNothing) {
  const Ownership owned = this->acquire();
  EXPECT_EQ(owned.first, next(owned.last));
  EXPECT_EQ(owned.last, GroupNumber());
  EXPECT_TRUE(owned.epoch.is_set());
}

TYPED_TEST_P(JournalConformance, ReadsWhatWasAppendedInOrder) {
  const Ownership owned = this->acquire();
  Groups wanted;
  for (std::uint64_t number = 1; number <= 30; ++number) {
    const std::string bytes(number * 131 % 700, static_cast<char>('a' + number % 26));
    ASSERT_EQ(this->append(owned.epoch, number, bytes), AppendEnd::kDurable);
    wanted.emplace_back(number, bytes);
  }
  Journal& journal = this->harness.journal();
  EXPECT_EQ(groups_of(journal, GroupNumber(1), GroupNumber(30)), wanted);
  EXPECT_EQ(groups_of(journal, GroupNumber(7), GroupNumber(7)), Groups{wanted[6]});
  EXPECT_FALSE(journal.read(GroupNumber(30), GroupNumber(31), [](auto, auto) { return true; }));
}

TYPED_TEST_P(JournalConformance, AReadStopsWhenItsVisitorSaysSo) {
  const Ownership owned = this->acquire();
  for (std::uint64_t number = 1; number <= 3; ++number) this->append(owned.epoch, number, "x");
  int visits = 0;
  EXPECT_TRUE(this->harness.journal().read(GroupNumber(1), GroupNumber(3),
                                           [&](auto, auto) { return ++visits < 2; }));
  EXPECT_EQ(visits, 2);
}

TYPED_TEST_P(JournalConformance, ANewOwnerFencesTheFormerOne) {
  const Ownership former = this->acquire();
  ASSERT_EQ(this->append(former.epoch, 1, "one"), AppendEnd::kDurable);
  const Ownership owner = this->acquire();
  EXPECT_GT(owner.epoch, former.epoch);
  EXPECT_EQ(owner.last, GroupNumber(1));
  EXPECT_EQ(this->append(former.epoch, 2, "late"), AppendEnd::kFenced);
  EXPECT_FALSE(this->harness.journal().trim(former.epoch, GroupNumber(1)).has_value());
  EXPECT_EQ(*this->harness.journal().standing(former.epoch, GroupNumber(1)),
            GroupStanding::kFenced);
  ASSERT_EQ(this->append(owner.epoch, 2, "two"), AppendEnd::kDurable);
  EXPECT_EQ(groups_of(this->harness.journal(), GroupNumber(1), GroupNumber(2)),
            (Groups{{1, "one"}, {2, "two"}}));
}

TYPED_TEST_P(JournalConformance, SaysWhetherAGroupIsThere) {
  const Ownership owned = this->acquire();
  ASSERT_EQ(this->append(owned.epoch, 1, "one"), AppendEnd::kDurable);
  EXPECT_EQ(*this->harness.journal().standing(owned.epoch, GroupNumber(1)), GroupStanding::kThere);
  EXPECT_EQ(*this->harness.journal().standing(owned.epoch, GroupNumber(2)),
            GroupStanding::kNotThere);
}

TYPED_TEST_P(JournalConformance, TrimmedGroupsNeverComeBackInFrontOfOthers) {
  const Ownership owned = this->acquire();
  for (std::uint64_t number = 1; number <= 20; ++number)
    ASSERT_EQ(this->append(owned.epoch, number, std::to_string(number)), AppendEnd::kDurable);
  ASSERT_TRUE(this->harness.journal().trim(owned.epoch, GroupNumber(12)).has_value());
  const Ownership again = this->acquire();
  EXPECT_LE(again.first, GroupNumber(13));
  EXPECT_EQ(again.last, GroupNumber(20));
  const Groups kept = groups_of(this->harness.journal(), GroupNumber(13), GroupNumber(20));
  ASSERT_EQ(kept.size(), 8U);
  EXPECT_EQ(kept.front().second, "13");
}

TYPED_TEST_P(JournalConformance, OtherShardsAreRefused) {
  EXPECT_FALSE(this->harness.journal().acquire(7).has_value());
}

REGISTER_TYPED_TEST_SUITE_P(JournalConformance, BeginsWithNothing, ReadsWhatWasAppendedInOrder,
                            AReadStopsWhenItsVisitorSaysSo, ANewOwnerFencesTheFormerOne,
                            SaysWhetherAGroupIsThere, TrimmedGroupsNeverComeBackInFrontOfOthers,
                            OtherShardsAreRefused);

}  // namespace postrider
