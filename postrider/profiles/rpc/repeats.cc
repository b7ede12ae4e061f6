#include "postrider/profiles/rpc/repeats.h"

#include "postrider/base/check.h"

namespace postrider::rpc {

std::string_view name_of(CallVerdict verdict) {
  switch (verdict) {
    case CallVerdict::kRuns: return "runs";
    case CallVerdict::kAttached: return "attached";
    case CallVerdict::kReplayed: return "replayed";
    case CallVerdict::kIndeterminate: return "indeterminate";
    case CallVerdict::kConflict: return "conflict";
    case CallVerdict::kExpired: return "expired";
  }
  POSTRIDER_CHECK(false);
}

CallVerdict judge_call(const CallFacts& facts) {
  const MethodPolicy& policy = facts.policy;
  if (facts.expired) return CallVerdict::kExpired;
  if (facts.record != RecordState::kAbsent && !facts.same_content) return CallVerdict::kConflict;
  const auto runs_if = [](bool may) {
    return may ? CallVerdict::kRuns : CallVerdict::kIndeterminate;
  };
  switch (facts.record) {
    // Records of volatile operations end with the process, so their absence proves nothing about an
    // id of an earlier one. Without this rule such a call would run twice.
    case RecordState::kAbsent: return runs_if(policy.persist || policy.idem || facts.same_epoch);
    case RecordState::kLive: return CallVerdict::kAttached;
    case RecordState::kSealed: return CallVerdict::kReplayed;
    // No persist operation is ever released: such a record is damaged, and nothing is guessed.
    case RecordState::kReleased: return runs_if(policy.idem && !policy.persist);
    case RecordState::kIndeterminate: return runs_if(policy.idem);
  }
  POSTRIDER_CHECK(false);
}

}  // namespace postrider::rpc
