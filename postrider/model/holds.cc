#include "postrider/model/holds.h"

#include "postrider/base/codec.h"

namespace postrider {
namespace {

constexpr std::uint8_t kHoldsVersion = 1;

}  // namespace

std::string encode_hold(const Hold& hold) {
  std::string out(1, static_cast<char>(kHoldsVersion));
  Writer(out)
      .text(hold.rule.name)
      .text(hold.rule.reason)
      .text(hold.rule.destination_prefix)
      .text(hold.rule.profile)
      .text(hold.rule.tenant)
      .text(hold.actor)
      .i64(hold.since.ms());
  seal_record(out);
  return out;
}

Result<Hold> decode_hold(std::string_view record) {
  Reader reader = open_record(record, kHoldsVersion);
  Hold hold;
  hold.rule.name = reader.text();
  hold.rule.reason = reader.text();
  hold.rule.destination_prefix = reader.text();
  hold.rule.profile = reader.text();
  hold.rule.tenant = reader.text();
  hold.actor = reader.text();
  hold.since = Timestamp(reader.i64());
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "hold");
  return hold;
}

}  // namespace postrider
