// Planted bugs: mistakes that the simulator must notice. They exist only in the copies of the
// modules that are compiled with POSTRIDER_PLANTED_BUGS for the tests; everywhere else `planted` is
// a constant false and nothing of them remains.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace postrider {

enum class Bug : std::uint8_t {
  kNone,
  kReplyBeforeCommit,
  kReadPastView,
  kForgottenSeal,
  kAttemptCapOffByOne,
  kContactClearsBackoff,
  kDedupeWithoutFingerprint,
  kRefillSkipsBoundary,
  kExpiredMessageSent,
  kSlotLeakedOnTimeout,
  kCursorMovedBeforeCommit,
  kLateReceiptDropped,
  kJitterOutsideRange,
  kEndWithoutLog,
  kColdOvertakesHot,
  kRetryAfterIgnored,
  kBudgetCountsHeldTime,
  kLetterStaysCounted,
  kListSkipsBoundary,
  kResendRestamped,
  kNotesForgotten,
  kHalfForgotten,
  kWindowOpenTooLong,
  kSupersedesWhatIsOut,
  kNestedAfterCommit,
  kAskedTooOften,
  kLastingGateForgotten,
  kOrderOvertaken,
  kRevivalForgotten,
  kGateNeverCloses,
  kEverybodyTries,
  kHolderForgotten,
  kNameGoesStale,
  kStepLost,
  kStartNotTold,
  kIntentForgotten,
  kOlderNameIgnored,
  kExtensionForgotten,
  kGroupKeepsRedriven,
  kJobCursorLate,
  kJobOrderByBucket,
  kDryRunActs,
  kAuditForgotten,
  kHoldForgotten,
  kHistoryForgotten,
  kResendsWhatWasCalledOff,
  kAliveIgnored,
  kCensusForgotten,
  // Those of the service that the device profile takes over from.
  kTxAckAsTextOnly,
  kNackLostBeforeTxAck,
  kCapCheckedThenTaken,
  kOneLookIsAbsence,
  kFailedLookIsAbsence,
  kFailedPollResends,
  kItemOfAnother,
  kUnseenIsAbsence,
  kArrivalSendsNothing,
  kNothingLearnt,
  kPlacesHogged,
  kGroupIgnored,
  kBodyFreedEarly,
  kFanoutTorn,
  kBodyLeaked,
  kSubscriptionTooWide,
  kLowerStarved,
  kLowerOnDiskForgotten,
  kPoisonTooLate,
  kGapNotMarked,
  kGapKeepsGate,
  kSentAgainBlindly,
  kAttemptForgotten,
  kPlacesNotKept,
  kTenantsIgnored,
  kSlowStartSkipped,
  kAgeingForgotten,
  kRoundTooEarly,
  kTenantNotHeld,
  kImportedTwice,
  kImportLosesContent,
  kLostAttemptUntold,
  kLeapBelievedBlindly,
  kAwaitForgotten,
  kQuotaIgnored,
  kMailboxSkipsBoundary,
  kConfirmLost,
};
inline constexpr std::size_t kBugs = 85;

// In the order of the enumerators.
inline constexpr std::array<std::string_view, kBugs> kBugNames = {
    "none",
    "reply-before-commit",
    "read-past-view",
    "forgotten-seal",
    "attempt-cap-off-by-one",
    "contact-clears-backoff",
    "dedupe-without-fingerprint",
    "refill-skips-boundary",
    "expired-message-sent",
    "slot-leaked-on-timeout",
    "cursor-moved-before-commit",
    "late-receipt-dropped",
    "jitter-outside-range",
    "end-without-log",
    "cold-overtakes-hot",
    "retry-after-ignored",
    "budget-counts-held-time",
    "letter-stays-counted",
    "list-skips-boundary",
    "resend-restamped",
    "notes-forgotten",
    "half-forgotten",
    "window-open-too-long",
    "supersedes-what-is-out",
    "nested-after-commit",
    "asked-too-often",
    "lasting-gate-forgotten",
    "order-overtaken",
    "revival-forgotten",
    "gate-never-closes",
    "everybody-tries",
    "holder-forgotten",
    "name-goes-stale",
    "step-lost",
    "start-not-told",
    "intent-forgotten",
    "older-name-ignored",
    "extension-forgotten",
    "group-keeps-redriven",
    "job-cursor-late",
    "job-order-by-bucket",
    "dry-run-acts",
    "audit-forgotten",
    "hold-forgotten",
    "history-forgotten",
    "resends-what-was-called-off",
    "alive-ignored",
    "census-forgotten",
    "tx-ack-as-text-only",
    "nack-lost-before-tx-ack",
    "cap-checked-then-taken",
    "one-look-is-absence",
    "failed-look-is-absence",
    "failed-poll-resends",
    "item-of-another",
    "unseen-is-absence",
    "arrival-sends-nothing",
    "nothing-learnt",
    "places-hogged",
    "group-ignored",
    "body-freed-early",
    "fanout-torn",
    "body-leaked",
    "subscription-too-wide",
    "lower-starved",
    "lower-on-disk-forgotten",
    "poison-too-late",
    "gap-not-marked",
    "gap-keeps-gate",
    "sent-again-blindly",
    "attempt-forgotten",
    "places-not-kept",
    "tenants-ignored",
    "slow-start-skipped",
    "ageing-forgotten",
    "round-too-early",
    "tenant-not-held",
    "imported-twice",
    "import-loses-content",
    "lost-attempt-untold",
    "leap-believed-blindly",
    "await-forgotten",
    "quota-ignored",
    "mailbox-skips-boundary",
    "confirm-lost",
};

constexpr std::string_view name_of(Bug bug) {
  const auto index = static_cast<std::size_t>(bug);
  return index < kBugNames.size() ? kBugNames[index] : std::string_view("unknown");
}

#if defined(POSTRIDER_PLANTED_BUGS) && POSTRIDER_PLANTED_BUGS

// One bug at a time, chosen by the test that must see it caught. Tests of this kind are
// single-threaded.
inline Bug planted_bug = Bug::kNone;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

inline void plant(Bug bug) { planted_bug = bug; }
inline bool planted(Bug bug) { return planted_bug == bug; }

#else

constexpr bool planted(Bug /*bug*/) { return false; }

#endif

}  // namespace postrider
