#include "postrider/shard/limits.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace postrider {
namespace {

void set(const LimitRow& row, ShardOptions& options, std::int64_t value) {
  struct Visitor {
    ShardOptions& options;
    std::int64_t value;
    void operator()(std::uint32_t& (*field)(ShardOptions&)) const {
      field(options) = static_cast<std::uint32_t>(value);
    }
    void operator()(std::uint64_t& (*field)(ShardOptions&)) const {
      field(options) = static_cast<std::uint64_t>(value);
    }
    void operator()(Duration& (*field)(ShardOptions&)) const { field(options) = Duration(value); }
  };
  std::visit(Visitor{options, value}, row.field);
}

// What is told of `name` when it alone is set to `value`; nothing when it may be.
std::string told(const LimitRow& row, std::int64_t value) {
  ShardOptions options;
  options.engine.key_window = Duration(limits::kMinute);
  options.engine.key_ahead = Duration(0);
  set(row, options, value);
  if (row.name == "key_window" || row.name == "key_ahead")
    options.engine.ledger.age = Duration(60 * limits::kDay);
  const auto legal = check_limits(options);
  return legal ? "" : legal.error().detail;
}

// req: engine.limit.3
TEST(ShardLimits, EachHoldsItsOwnRange) {
  std::set<std::string_view> names;
  for (const LimitRow& row : limits::kRows) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(told(row, row.range.low), "");
    EXPECT_EQ(told(row, row.range.high), "");
    EXPECT_TRUE(told(row, row.range.high + 1).starts_with(row.name)) << row.name;
    if (row.range.low > 1) {
      EXPECT_TRUE(told(row, row.range.low - 1).starts_with(row.name)) << row.name;
    }
    if (row.range.low > 0) {
      EXPECT_EQ(told(row, 0).empty(), row.range.or_zero) << row.name;
    }
  }
}

// req: engine.limit.3
TEST(ShardLimits, DefaultsAreLegalAndKeysAreKeptAsLongAsTheyAnswer) {
  ShardOptions options;
  EXPECT_TRUE(check_limits(options));
  options.engine.key_window = options.engine.ledger.age;
  const auto legal = check_limits(options);
  ASSERT_FALSE(legal);
  EXPECT_EQ(legal.error().detail, "ledger_age must be at least key_window and key_ahead together");
}

}  // namespace
}  // namespace postrider
