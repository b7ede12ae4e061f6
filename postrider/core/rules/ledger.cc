#include "postrider/core/rules/ledger.h"

#include "postrider/base/codec.h"
#include "postrider/base/planted.h"

namespace postrider {

std::string ledger_key(const OperationKey& key) {
  std::string out = key.key;
  if (key.kind == OperationKey::Kind::kSequenced) Writer(out).u64(key.sequence);
  return out;
}

namespace {

// A key that was not found: was it never used, or is that not known any more?
LedgerVerdict::Kind judge_absent(const OperationKey& key,
                                 const std::optional<SessionEntry>& session, const LedgerRule& rule,
                                 Timestamp now) {
  using Kind = LedgerVerdict::Kind;
  switch (key.kind) {
    case OperationKey::Kind::kNone:
    case OperationKey::Kind::kOpaque: return Kind::kNew;
    case OperationKey::Kind::kTimed:
      if (key.made > now + rule.doubt + rule.ahead) return Kind::kTooEarly;
      return key.made + rule.window < now ? Kind::kExpired : Kind::kNew;
    case OperationKey::Kind::kSequenced:
      if (session) return key.sequence <= session->highest ? Kind::kExpired : Kind::kNew;
      return key.made + rule.window < now ? Kind::kExpired : Kind::kNew;
  }
  return Kind::kExpired;
}

}  // namespace

LedgerVerdict judge_key(const OperationKey& key, const Fingerprint& fingerprint,
                        const std::optional<LedgerEntry>& entry,
                        const std::optional<SessionEntry>& session, const LedgerRule& rule,
                        Timestamp now) {
  const bool remembered = entry && entry->at + rule.window + rule.ahead > now;
  if (!remembered) return {judge_absent(key, session, rule, now), {}};
  if (entry->fingerprint != fingerprint && !planted(Bug::kDedupeWithoutFingerprint)) {
    return {LedgerVerdict::Kind::kConflict, {}};
  }
  auto answer = decode_answer(entry->answer);
  if (!answer) return {LedgerVerdict::Kind::kExpired, {}};
  answer->replayed = true;
  return {LedgerVerdict::Kind::kReplay, std::move(*answer)};
}

std::string canonical(const Submit& submit) {
  std::string out;
  Writer(out)
      .text("submit")
      .text(submit.destination)
      .u8(submit.lane)
      .u16(submit.priority)
      .i64(submit.not_before.ms())
      .i64(submit.expires.ms())
      .text(submit.attributes)
      .raw(submit.body);
  return out;
}

std::string canonical(const FanOut& fanout) {
  std::string out;
  Writer writer(out);
  writer.text(fanout.destinations.empty() ? "fan-out" : "fan-out to a list");
  if (!fanout.destinations.empty()) {
    writer.u8(fanout.skip_closed ? 1 : 0).varint(fanout.destinations.size());
    for (const std::string& name : fanout.destinations) writer.text(name);
  }
  writer.text(fanout.group)
      .text(fanout.type)
      .u8(fanout.lane)
      .u16(fanout.priority)
      .i64(fanout.not_before.ms())
      .i64(fanout.expires.ms())
      .text(fanout.attributes)
      .raw(fanout.body);
  return out;
}

std::string canonical(std::string_view verb, MessageId id) {
  std::string out;
  Writer(out).text(verb).u64(id.high).u64(id.low);
  return out;
}

std::string canonical(std::string_view verb, std::string_view destination, std::string_view text) {
  std::string out;
  Writer(out).text(verb).text(destination).raw(text);
  return out;
}

}  // namespace postrider
