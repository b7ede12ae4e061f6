#include "postrider/core/books/bodies.h"

#include <gtest/gtest.h>

#include "postrider/model/fanout.h"
#include "postrider/model/records/keys.h"

namespace postrider {
namespace {

Bodies::Body body(std::uint32_t bytes, std::uint32_t references) {
  Bodies::Body out;
  out.bytes = bytes;
  out.references = references;
  return out;
}

TEST(Bodies, AreForgottenWhenNobodyInMemoryUsesThem) {
  Bodies bodies;
  EXPECT_EQ(bodies.bytes(), 0U);
  bodies.add(1, body(100, 2));
  EXPECT_EQ(bodies.bytes(), 100U);
  EXPECT_EQ(bodies.find(1)->users, 0U);
  bodies.use(1);
  bodies.use(1);
  bodies.add(2, body(50, 1));
  bodies.tidy();
  EXPECT_NE(bodies.find(1), nullptr);
  EXPECT_EQ(bodies.find(2), nullptr) << "it was only looked at";
  EXPECT_EQ(bodies.bytes(), 100U);
  bodies.leave(1);
  bodies.tidy();
  EXPECT_NE(bodies.find(1), nullptr);
  bodies.leave(1);
  bodies.tidy();
  EXPECT_EQ(bodies.find(1), nullptr);
  EXPECT_EQ(bodies.bytes(), 0U);
}

// req: engine.fanout.5
TEST(Bodies, WriteTheirCountOnceAndGoWithTheLastReference) {
  Bodies bodies;
  bodies.add(1, body(100, 1));
  bodies.use(1);
  EXPECT_FALSE(bodies.changed());
  bodies.refer(1);
  bodies.refer(1);
  bodies.release(1);
  EXPECT_TRUE(bodies.changed());
  Counters counters;
  counters.shared_bodies = 3;
  counters.shared_bytes = 300;
  WriteBatch out;
  bodies.write(counters, out);
  ASSERT_EQ(out.writes().size(), 1U);
  EXPECT_EQ(out.writes()[0].kind, Write::Kind::kPut);
  EXPECT_FALSE(bodies.changed());
  EXPECT_EQ(counters.shared_bodies, 3U);
  EXPECT_NE(bodies.find(1), nullptr) << "somebody in memory uses it";
  out.clear();
  bodies.release(1);
  bodies.release(1);
  bodies.write(counters, out);
  EXPECT_EQ(out.writes().size(), 2U) << "its bytes and its count";
  EXPECT_EQ(counters.shared_bodies, 2U);
  EXPECT_EQ(counters.shared_bytes, 200U);
  bodies.leave(1);
  bodies.tidy();
  EXPECT_EQ(bodies.find(1), nullptr);
}

TEST(Bodies, ThatNobodyUsesLeaveMemoryWhenTheirCountIsWritten) {
  Bodies bodies;
  bodies.add(1, body(100, 2));
  bodies.release(1);
  bodies.tidy();
  EXPECT_NE(bodies.find(1), nullptr) << "its count is not written yet";
  Counters counters;
  WriteBatch out;
  bodies.write(counters, out);
  EXPECT_EQ(bodies.find(1), nullptr);
  EXPECT_EQ(bodies.bytes(), 0U);
}

TEST(Bodies, WhoseCountIsLostStay) {
  Bodies bodies;
  Bodies::Body lost = body(100, 0);
  lost.counted = false;
  bodies.add(1, lost);
  bodies.refer(1);
  bodies.release(1);
  EXPECT_FALSE(bodies.changed());
}

TEST(Bodies, ANewOneIsCountedAndUntouched) {
  const Bodies::Body fresh;
  EXPECT_TRUE(fresh.counted);
  EXPECT_FALSE(fresh.touched);
  EXPECT_EQ(fresh.bytes + fresh.references + fresh.users, 0U);
}

TEST(Bodies, ThatAreGoneAreNotCountedAgain) {
  Bodies bodies;
  bodies.add(1, body(100, 1));
  bodies.use(1);
  bodies.release(1);
  Counters counters;
  counters.shared_bodies = 1;
  counters.shared_bytes = 100;
  WriteBatch out;
  bodies.write(counters, out);
  EXPECT_EQ(counters.shared_bodies, 0U);
  ASSERT_NE(bodies.find(1), nullptr) << "somebody in memory uses it";
  out.clear();
  bodies.refer(1);
  bodies.release(1);
  EXPECT_FALSE(bodies.changed());
  bodies.write(counters, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(counters.shared_bodies, 0U);
}

TEST(Bodies, AReferenceMoreIsWritten) {
  Bodies bodies;
  bodies.add(1, body(100, 1));
  bodies.refer(1);
  EXPECT_TRUE(bodies.changed());
  Counters counters;
  WriteBatch out;
  bodies.write(counters, out);
  ASSERT_EQ(out.writes().size(), 1U);
  EXPECT_EQ(decode_body_count(out.writes()[0].value.view())->references, 2U);
}

}  // namespace
}  // namespace postrider
