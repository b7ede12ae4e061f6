#include "postrider/profiles/rpc/told.h"

#include <utility>

#include "postrider/base/check.h"
#include "postrider/profiles/rpc/outcome.h"

namespace postrider::rpc {
namespace {

constexpr std::string_view kNotTwice =
    "the operation was given up, and its method must not run twice; ask the service what became "
    "of it";
constexpr std::string_view kOpen = "the operation may have run, and may not; ask the service";

OutcomeKind kind_of(AnswerCode code) {
  switch (code) {
    case AnswerCode::kConflict: return OutcomeKind::kConflict;
    case AnswerCode::kKeyExpired: return OutcomeKind::kExpired;
    case AnswerCode::kNotFound: return OutcomeKind::kUnknownMethod;
    case AnswerCode::kInvalid:
    case AnswerCode::kTooLarge: return OutcomeKind::kBadArguments;
    case AnswerCode::kAccepted:
    case AnswerCode::kDone:
    case AnswerCode::kNothing:
    case AnswerCode::kPending:
    case AnswerCode::kDisabled:
    case AnswerCode::kEnded:
    case AnswerCode::kNotEmpty:
    case AnswerCode::kUnavailable:
    case AnswerCode::kFull:
    case AnswerCode::kBusy:
    case AnswerCode::kMayHaveRun:
    case AnswerCode::kChanged:
    case AnswerCode::kNoRoom: return OutcomeKind::kBusy;
  }
  POSTRIDER_CHECK(false);
}

OutcomeFrame sealed(const EndOf& what, const EndView& end) {
  auto outcome = decode_outcome(end.outcome.view());
  if (!outcome) {
    OutcomeFrame gone = outcome_of(what.number, OutcomeKind::kExpired,
                                   "the operation is sealed, and its outcome is kept no longer");
    gone.origin = what.origin;
    return gone;
  }
  OutcomeFrame frame;
  frame.number = what.number;
  frame.kind = outcome->failure ? OutcomeKind::kFailure : OutcomeKind::kValue;
  frame.origin = what.origin;
  frame.status = static_cast<std::uint16_t>(outcome->status);
  if (outcome->content_type.size() <= kContentTypeBytesMax)
    frame.content_type = std::move(outcome->content_type);
  frame.body = std::move(outcome->body);
  return frame;
}

}  // namespace

OutcomeFrame outcome_of(std::uint64_t number, OutcomeKind kind, std::string why) {
  OutcomeFrame frame;
  frame.number = number;
  frame.kind = kind;
  if (kind == OutcomeKind::kBusy) frame.retry_ms = kRetryMs;
  frame.body = std::move(why);
  if (frame.body.size() > kDetailBytesMax) frame.body.resize(kDetailBytesMax);
  return frame;
}

OutcomeFrame outcome_of_refusal(std::uint64_t number, const Answer& answer) {
  const OutcomeKind kind = kind_of(answer.code);
  // Nothing of the earlier call is told, and the engine's words speak of keys.
  if (kind == OutcomeKind::kConflict)
    return outcome_of(number, kind, "the number was used for another method or other arguments");
  if (kind == OutcomeKind::kExpired)
    return outcome_of(number, kind, "the number is too old to tell whether it was called");
  return outcome_of(number, kind, answer.detail);
}

OutcomeFrame outcome_of_end(const EndOf& what, const Answer& awaited) {
  const auto* const end = std::get_if<EndView>(&awaited.view);
  const auto told = [&what](OutcomeKind kind, std::string why) {
    OutcomeFrame frame = outcome_of(what.number, kind, std::move(why));
    frame.origin = what.origin;
    return frame;
  };
  if (end == nullptr) return told(OutcomeKind::kExpired, "how the operation ended is forgotten");
  if (end->phase == Phase::kDelivered) return sealed(what, *end);
  const std::string why = end->reason.empty() ? "" : ": " + end->reason;
  if (end->phase == Phase::kCancelled) {
    if (what.repeated) return told(OutcomeKind::kIndeterminate, std::string(kNotTwice));
    return told(OutcomeKind::kCancelled, "the operation was given up" + why);
  }
  return told(OutcomeKind::kIndeterminate, std::string(kOpen) + why);
}

}  // namespace postrider::rpc
