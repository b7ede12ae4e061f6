#include "postrider/model/audit.h"

#include "postrider/base/codec.h"

namespace postrider {
namespace {

constexpr std::uint8_t kAuditVersion = 1;

}  // namespace

std::string encode_audit(const AuditRecord& audit) {
  std::string out(1, static_cast<char>(kAuditVersion));
  Writer(out)
      .i64(audit.at.ms())
      .text(audit.actor)
      .text(audit.action)
      .text(audit.target)
      .text(audit.reason)
      .text(audit.effect);
  seal_record(out);
  return out;
}

Result<AuditRecord> decode_audit(std::string_view record) {
  Reader reader = open_record(record, kAuditVersion);
  AuditRecord audit;
  audit.at = Timestamp(reader.i64());
  audit.actor = reader.text();
  audit.action = reader.text();
  audit.target = reader.text();
  audit.reason = reader.text();
  audit.effect = reader.text();
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "audit record");
  return audit;
}

}  // namespace postrider
