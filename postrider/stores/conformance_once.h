// The once-rules, for the stores that notice at the write when one is broken: the memory store and
// the simulated one. A store on a disk would have to read before each write for that. Used as
// StoreConformance is, with the same harness.
#pragma once

#include <utility>

#include <gtest/gtest.h>

#include "postrider/model/seams/store.h"
#include "postrider/stores/conformance.h"

namespace postrider {

template <class Harness>
class StoreOnceRules : public StoreConformance<Harness> {};
TYPED_TEST_SUITE_P(StoreOnceRules);

TYPED_TEST_P(StoreOnceRules, SecondPutOnceAborts) {  // req: engine.store.10
  const auto put_once = [this] {
    WriteBatch batch;
    batch.put_once("message", Blob::copy_of("x"));
    return this->commit(std::move(batch));
  };
  ASSERT_EQ(put_once(), CommitOutcome::kDurable);
  EXPECT_DEATH(put_once(), "broken invariant");
}

TYPED_TEST_P(StoreOnceRules, PutOnceAfterItsRemovalAborts) {  // req: engine.store.10
  const auto put_and_remove = [this] {
    WriteBatch batch;
    batch.put_once("message", Blob::copy_of("x"));
    batch.remove_once("message");
    return this->commit(std::move(batch));
  };
  ASSERT_EQ(put_and_remove(), CommitOutcome::kDurable);
  EXPECT_DEATH(put_and_remove(), "broken invariant");
}

TYPED_TEST_P(StoreOnceRules, PutOverAOnceRecordAborts) {  // req: engine.store.10
  WriteBatch once;
  once.put_once("message", Blob::copy_of("x"));
  ASSERT_EQ(this->commit(std::move(once)), CommitOutcome::kDurable);
  EXPECT_DEATH(
      {
        WriteBatch batch;
        batch.put("message", "other");
        (void)this->commit(std::move(batch));
      },
      "broken invariant");
}

TYPED_TEST_P(StoreOnceRules, UnmatchedRemoveOnceAborts) {  // req: engine.store.11
  this->put("rewritten", "x");
  const auto remove_once = [this](const char* key) {
    WriteBatch batch;
    batch.remove_once(key);
    return this->commit(std::move(batch));
  };
  EXPECT_DEATH(remove_once("absent"), "broken invariant");
  EXPECT_DEATH(remove_once("rewritten"), "broken invariant");
}

TYPED_TEST_P(StoreOnceRules, SecondRemoveOnceAborts) {  // req: engine.store.11
  WriteBatch once;
  once.put_once("message", Blob::copy_of("x"));
  once.remove_once("message");
  ASSERT_EQ(this->commit(std::move(once)), CommitOutcome::kDurable);
  EXPECT_DEATH(
      {
        WriteBatch batch;
        batch.remove_once("message");
        (void)this->commit(std::move(batch));
      },
      "broken invariant");
}

REGISTER_TYPED_TEST_SUITE_P(StoreOnceRules, SecondPutOnceAborts, PutOnceAfterItsRemovalAborts,
                            PutOverAOnceRecordAborts, UnmatchedRemoveOnceAborts,
                            SecondRemoveOnceAborts);

}  // namespace postrider
