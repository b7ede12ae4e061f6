#include "postrider/profiles/device/rules.h"

#include <array>

#include "postrider/base/check.h"
#include "postrider/profiles/device/table.h"

namespace postrider::device {

std::uint8_t method_of(Way way, Repeat repeat) {
  const bool push = way == Way::kPush;
  switch (repeat) {
    case Repeat::kFree: return push ? 0 : 3;
    case Repeat::kClosed: return push ? 1 : 4;
    case Repeat::kNever: return push ? 2 : 4;
  }
  POSTRIDER_CHECK(false);
  return 0;
}

Policy default_policy(Way way) {
  const bool push = way == Way::kPush;
  Policy policy;
  RetryRule rule;
  rule.curve = Curve::kExponential;
  rule.base = 2s;
  rule.cap = 1h;
  rule.jitter = Jitter::kAbove;
  rule.jitter_percent = 50;
  rule.attempts_max = 12;  // eleven retries
  for (RetryRule& each : policy.retry) each = rule;
  // What never left us is tried again at a steady pace until the command expires.
  RetryRule& held_back = policy.retry[static_cast<std::size_t>(FailureClass::kHeldBack)];
  held_back.curve = Curve::kFixed;
  held_back.cap = Duration(0);
  held_back.attempts_max = 0;
  const auto at = [&policy](TimeOut which) -> Duration& {
    return policy.time_outs[static_cast<std::size_t>(which)];
  };
  // A healthy call to a vendor may take long, and cutting it would make its fate open.
  at(TimeOut::kAttempt) = push ? Duration(20s) : Duration(120s);
  at(TimeOut::kProbe) = 10s;
  at(TimeOut::kStage) = 15min;
  at(TimeOut::kLate) = 12s;
  at(TimeOut::kPair) = kPairWindow;
  at(TimeOut::kCall) = 120s;
  policy.poll.steps = {{{20s, 10s}, {50s, 15s}, {90s, 20s}, {0s, 30s}}};
  policy.poll.steps_used = push ? 0 : 4;
  policy.poll.first = push ? Duration(0) : Duration(10s);
  policy.poll.error_base = push ? Duration(2s) : Duration(30s);
  policy.poll.error_cap = push ? Duration(60s) : Duration(15min);
  policy.life_max = push ? Duration(7 * 24h) : Duration(48h);
  // Of the gates that failures close: a device that stays silent, a vendor that cannot be reached.
  policy.health = push ? HealthRule{.strikes_max = 0, .wait_base = 60s, .wait_max = 15min}
                       : HealthRule{.strikes_max = 5, .wait_base = 60s, .wait_max = 60s};
  // What waits for news is in the window, and a network has many devices that sleep for hours.
  policy.window_max = 16384;
  policy.lower_every = 0;  // the larger priority goes first, always; age_step is for those who mind
  if (push) policy.route.spacing = 2s;
  if (!push) policy.route.in_use_max = 5;
  return policy;
}

std::string_view shown(StateIndex state) {
  constexpr std::array<std::string_view, kStates.size()> kShown = {
      "QUEUED",
      "SENT_TO_NS",
      "SENT_TO_NS",
      "DELIVERED_TO_NS",
      "DELIVERED_TO_NS",
      "SENT_TO_DEVICE",
      "SENT_TO_DEVICE",
      "SENT_TO_DEVICE",
      "DELIVERED_TO_NS",
      "DELIVERED_TO_NS",
      "TO_RETRY",
      "DELIVERY_SUCCESSFUL",
      "DELIVERY_SUCCESSFUL",
      "DELIVERY_FAILED",
      "DELIVERY_FAILED",
      "DELIVERY_FAILED",
      "",
  };
  POSTRIDER_CHECK(state < kShown.size());
  return kShown[state];
}

std::string_view name_of(Outcome outcome) {
  constexpr std::array<std::string_view, 6> kNames = {"executed", "refused",   "failed",
                                                      "expired",  "cancelled", "unknown"};
  return kNames[static_cast<std::size_t>(outcome)];
}

Outcome outcome_of(const Ending& ending) {
  const bool act = is_act(ending.command);
  switch (ending.end) {
    case kDone:
      if (ending.executed) return Outcome::kExecuted;
      // A meter refuses a token that it has used: perhaps an earlier attempt did that.
      return is_token(ending.command) && ending.earlier_may_have_run ? Outcome::kUnknown
                                                                     : Outcome::kRefused;
    case kAcked:
    case kUnknown: return Outcome::kUnknown;
    case kFailed:
      if (act && ending.any_may_have_run) return Outcome::kUnknown;
      return ending.refused ? Outcome::kRefused : Outcome::kFailed;
    case kExpired: return Outcome::kExpired;
    case kCancelled: return Outcome::kCancelled;
    default: break;
  }
  POSTRIDER_CHECK(false);
  return Outcome::kUnknown;
}

bool may_have_run(const Ending& ending) {
  if (is_read(ending.command)) return false;
  if (ending.end == kAcked || ending.end == kUnknown) return true;
  // A response tells what the attempt came to that it answers; only those before it are open.
  if (ending.end == kDone) return ending.executed || ending.earlier_may_have_run;
  return ending.any_may_have_run;
}

}  // namespace postrider::device
