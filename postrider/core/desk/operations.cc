#include "postrider/core/desk/operations.h"

#include <algorithm>

#include "postrider/base/planted.h"

namespace postrider::core {

Operations::Remembered Operations::recall(Step& step, const OperationKey& key) {
  Remembered out;
  const std::string name = ledger_key(key);
  for (const keys::Bucket bucket : receipts_.buckets(Kept::kLedger)) {
    const std::string at = keys::ledger(bucket, key.scope, name);
    if (const auto* value = step.get(at); value != nullptr && value->has_value() && !out.entry) {
      auto decoded = decode_ledger((*value)->view());
      if (decoded) {
        out.entry = std::move(*decoded);
        out.entry->at = receipts_.wall().meant(out.entry->at);
      } else {
        step.damaged.emplace_back(at, **value);
        out.damaged = true;
      }
    }
    if (key.kind != OperationKey::Kind::kSequenced) continue;
    const std::string session_at = keys::session(bucket, key.scope, key.key);
    if (const auto* value = step.get(session_at);
        value != nullptr && value->has_value() && !out.session) {
      auto decoded = decode_session((*value)->view());
      if (decoded) out.session = *decoded;
      if (!decoded) step.damaged.emplace_back(session_at, **value);
    }
  }
  if (out.entry) out.damaged = false;
  return out;
}

std::optional<Answer> Operations::consult_ledger(Step& step, const OperationKey& key,
                                                 const Fingerprint& fingerprint) {
  const Remembered remembered = recall(step, key);
  if (step.lacks()) return std::nullopt;
  LedgerVerdict verdict = judge_key(key, fingerprint, remembered.entry, remembered.session,
                                    ledger_rule(step), step.now);
  if (remembered.damaged) verdict.kind = LedgerVerdict::Kind::kExpired;
  Answer answer;
  switch (verdict.kind) {
    case LedgerVerdict::Kind::kNew: return std::nullopt;
    case LedgerVerdict::Kind::kReplay: return std::move(verdict.answer);
    case LedgerVerdict::Kind::kConflict:
      answer.code = AnswerCode::kConflict;
      answer.detail =
          "this operation key was used with other content; use a new key for a new operation";
      return answer;
    case LedgerVerdict::Kind::kExpired:
      answer.code = AnswerCode::kKeyExpired;
      answer.detail = "this operation key is too old to tell whether it was used";
      return answer;
    case LedgerVerdict::Kind::kTooEarly:
      answer.code = AnswerCode::kInvalid;
      answer.detail = "this operation key was made in the future; check the clock of its maker";
      return answer;
  }
  return answer;
}

void Operations::seal(Step& step, const OperationKey& key, const Fingerprint& fingerprint,
                      const Answer& answer) {
  if (planted(Bug::kForgottenSeal)) return;
  // What was refused changed nothing and may be asked again; what happened is remembered.
  const bool happened = answer.code == AnswerCode::kAccepted || answer.code == AnswerCode::kDone ||
                        answer.code == AnswerCode::kPending || answer.code == AnswerCode::kNothing;
  if (!happened) return;
  const keys::Bucket bucket = receipts_.running(Kept::kLedger);
  const LedgerEntry entry{fingerprint, step.now, encode_answer(answer)};
  receipts_.put_kept(Kept::kLedger, keys::ledger(bucket, key.scope, ledger_key(key)),
                     encode_ledger(entry), step.out.writes);
  if (key.kind != OperationKey::Kind::kSequenced) return;
  // A number that is admitted again may be lower than others that were used since.
  const std::uint64_t highest = std::max(key.sequence, highest_number(step, key));
  receipts_.put_kept(Kept::kLedger, keys::session(bucket, key.scope, key.key),
                     encode_session({highest, step.now}), step.out.writes);
}

// Of the session of this key, as far as anything remembers it; it was read when the key was judged.
std::uint64_t Operations::highest_number(Step& step, const OperationKey& key) {
  for (const keys::Bucket bucket : receipts_.buckets(Kept::kLedger)) {
    const auto* value = step.get(keys::session(bucket, key.scope, key.key));
    if (value == nullptr || !value->has_value()) continue;
    if (const auto session = decode_session((*value)->view())) return session->highest;
  }
  return 0;
}

// Only what changed something: a refusal and a repetition change nothing.
void Operations::audit(Step& step, const Caller& caller, const AuditLine& line,
                       const Answer& answer) {
  const bool changed = answer.code == AnswerCode::kDone || answer.code == AnswerCode::kAccepted ||
                       answer.code == AnswerCode::kPending;
  if (!changed || (planted(Bug::kAuditForgotten) && answer.code == AnswerCode::kPending)) return;
  AuditRecord record;
  record.at = step.now;
  record.actor = caller.actor.empty() ? "library" : caller.actor;
  record.action = line.action;
  record.target = line.target.empty() ? to_string(JobId(answer.id.low)) : line.target;
  record.reason = line.reason;
  record.effect = std::string(name_of(answer.code));
  if (!answer.detail.empty()) record.effect.append(": ").append(answer.detail);
  receipts_.audit(record, sequences_.next(), step.out.writes);
}

}  // namespace postrider::core
