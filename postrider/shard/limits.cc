#include "postrider/shard/limits.h"

#include <string>

namespace postrider {

std::int64_t value_of(const LimitRow& row, const ShardOptions& options) {
  struct Visitor {
    ShardOptions& options;
    std::int64_t operator()(std::uint32_t& (*field)(ShardOptions&)) const { return field(options); }
    std::int64_t operator()(std::uint64_t& (*field)(ShardOptions&)) const {
      const std::uint64_t value = field(options);
      return value > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(value);
    }
    std::int64_t operator()(Duration& (*field)(ShardOptions&)) const {
      return field(options).count();
    }
  };
  ShardOptions copy = options;  // the rows name fields that can be set
  return std::visit(Visitor{copy}, row.field);
}

Result<void> check_limits(const ShardOptions& options) {
  for (const LimitRow& row : limits::kRows) {
    const std::int64_t value = value_of(row, options);
    if (row.range.holds(value)) continue;
    return fail(ErrorCode::kInvalid, std::string(row.name) + " is " + std::to_string(value) +
                                         ", and must be from " + std::to_string(row.range.low) +
                                         " to " + std::to_string(row.range.high) +
                                         (row.range.or_zero ? ", or 0" : ""));
  }
  if (options.engine.ledger.age < options.engine.key_window + options.engine.key_ahead)
    return fail(ErrorCode::kInvalid,
                "ledger_age must be at least key_window and key_ahead together");
  return {};
}

}  // namespace postrider
