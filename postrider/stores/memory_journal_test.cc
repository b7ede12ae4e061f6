#include "postrider/stores/memory_journal.h"

#include "postrider/stores/conformance_journal.h"

namespace postrider {
namespace {

struct MemoryJournalHarness {
  Journal& journal() { return held; }
  MemoryJournal held;
};
INSTANTIATE_TYPED_TEST_SUITE_P(Memory, JournalConformance, MemoryJournalHarness);

TEST(MemoryJournal, IsFullAtItsLimitAndHasRoomAgainAfterATrim) {
  MemoryJournal journal(8);
  const Epoch epoch = journal.acquire(0)->epoch;
  EXPECT_EQ(journal.append(epoch, GroupNumber(1), {"12345678", 1}).end, AppendEnd::kDurable);
  EXPECT_EQ(journal.append(epoch, GroupNumber(2), {"9", 1}).end, AppendEnd::kFull);
  ASSERT_TRUE(journal.trim(epoch, GroupNumber(1)).has_value());
  EXPECT_EQ(journal.append(epoch, GroupNumber(2), {"9", 1}).end, AppendEnd::kDurable);
}

}  // namespace
}  // namespace postrider
