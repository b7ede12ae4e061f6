#include "postrider/profiles/matrix/verdict.h"

#include "postrider/base/check.h"

namespace postrider::matrix {
namespace {

// A server that refuses everything must cost no item: an item is bad only if another transaction
// was delivered between its two refusals. Two bad items in front of a good one must not keep it
// back: what closed the server once makes room when it is refused again.
On refusal(const TryFacts& facts) {
  if (!facts.alone) return On::kStaleRoute;
  if (facts.nothing_since) return facts.struck ? On::kNoLink : On::kNoRoute;
  return facts.was_aside ? On::kRejected : On::kNoLink;
}

On better_status(const TryFacts& facts) {
  if (facts.status == 429) return On::kStillHeld;
  if (facts.status == 500) return facts.refused_before ? refusal(facts) : On::kFailed;
  if (facts.status > 500) return On::kFailed;
  if (facts.status == 413 || facts.status == 400) return refusal(facts);
  return On::kNoRoute;
}

On compatible_status(const TryFacts& facts) {
  return facts.status == 429 || facts.status >= 500 ? On::kFailed : On::kNoRoute;
}

}  // namespace

On verdict_of(PolicyChoice choice, const TryFacts& facts) {
  switch (facts.end) {
    case WireEnd::kRefused:
    case WireEnd::kNoName:
    case WireEnd::kNoTls:
    case WireEnd::kNoLogin:
    case WireEnd::kHeldBack: return On::kFailed;
    case WireEnd::kForbidden: return On::kNoRoute;
    case WireEnd::kTimedOut:
    case WireEnd::kReset: return On::kTimedOut;
    case WireEnd::kAnswered: break;
  }
  if (facts.status / 100 == 2) return facts.object ? On::kAnswered : On::kFailed;
  switch (choice) {
    case PolicyChoice::kCompatible: return compatible_status(facts);
    case PolicyChoice::kBetter: return better_status(facts);
  }
  POSTRIDER_CHECK(false);
}

}  // namespace postrider::matrix
