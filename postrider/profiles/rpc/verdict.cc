#include "postrider/profiles/rpc/verdict.h"

#include "postrider/base/check.h"

namespace postrider::rpc {
namespace {

HandlerReading did_not_begin(FailureClass failure) {
  return {HandlerVerdict::kDidNotBegin, On::kFailed, failure};
}

HandlerReading open(FailureClass failure) {
  return {HandlerVerdict::kOpen, On::kTimedOut, failure};
}

HandlerReading read_status(const HandlerFacts& facts) {
  const HandlerReading failure = {HandlerVerdict::kFailure, On::kRejected, FailureClass::kRejected};
  switch (facts.status) {
    // Classes of what did not begin are not those of an open fate, because their rules differ.
    case 408:
    case 425:
    case 429:
    case 503: return did_not_begin(FailureClass::kThrottled);
    default: break;
  }
  switch (facts.status / 100) {
    case 2:
      // It has run, so it cannot be asked again; what is too large to keep is told as such.
      if (facts.body_bytes > facts.body_bytes_max) return failure;
      return {HandlerVerdict::kValue, On::kAnswered, FailureClass::kNone};
    case 4: return failure;
    case 5: return open(FailureClass::kServer);
    default: return open(FailureClass::kOther);
  }
}

}  // namespace

std::string_view name_of(HandlerVerdict verdict) {
  switch (verdict) {
    case HandlerVerdict::kValue: return "value";
    case HandlerVerdict::kFailure: return "failure";
    case HandlerVerdict::kDidNotBegin: return "did not begin";
    case HandlerVerdict::kOpen: return "open";
  }
  POSTRIDER_CHECK(false);
}

HandlerReading read_handler(const HandlerFacts& facts) {
  switch (facts.end) {
    case WireEnd::kAnswered: return read_status(facts);
    case WireEnd::kRefused:
    case WireEnd::kNoName:
    case WireEnd::kNoTls:
    case WireEnd::kForbidden:
    case WireEnd::kNoLogin: return did_not_begin(FailureClass::kConnect);
    case WireEnd::kHeldBack: return did_not_begin(FailureClass::kHeldBack);
    case WireEnd::kTimedOut:
    case WireEnd::kReset: return open(FailureClass::kTimeout);
  }
  POSTRIDER_CHECK(false);
}

On read_hook(int status) {
  switch (status) {
    case 200: return On::kAnswered;
    case 202: return On::kStillHeld;
    case 404: return On::kStaleRoute;
    default: return On::kFailed;
  }
}

}  // namespace postrider::rpc
