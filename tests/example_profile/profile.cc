#include "tests/example_profile/profile.h"

#include <array>
#include <optional>

#include "postrider/base/check.h"
#include "postrider/model/typed_profile.h"
#include "tests/example_profile/wire_format.h"

namespace postrider {
namespace pager {
namespace {

using Typed = TypedProfile<Nothing, Page>;
using FactsView = Typed::FactsView;

enum : StateIndex { kQueued, kCalling, kWaiting, kTaken, kDead, kExpired, kCancelled };

// clang-format off
constexpr auto kStates = std::to_array<StateRow>({
    {.name = "Queued",    .phase = Phase::kQueued},
    {.name = "Calling",   .phase = Phase::kInFlight, .timer = TimeOut::kAttempt, .timer_signal = On::kTimedOut},
    {.name = "Waiting",   .phase = Phase::kBackoff,  .timer = TimeOut::kRetry,   .timer_signal = On::kDue},
    {.name = "Taken",     .phase = Phase::kDelivered},
    {.name = "Dead",      .phase = Phase::kDead},
    {.name = "Expired",   .phase = Phase::kExpired},
    {.name = "Cancelled", .phase = Phase::kCancelled},
});

constexpr StateMask kLive = in(kQueued) | in(kCalling) | in(kWaiting);
constexpr StateMask kResting = kLive & ~in(kCalling);

constexpr auto kRows = std::to_array<Transition>({
    // from        on              to          verb               raise          why
    {in(kQueued),  On::kDue,       kCalling,   Do::kStartAttempt, Raise::kNone,  "its turn has come"},
    {in(kCalling), On::kDue,       kCalling,   Do::kIgnore,       Raise::kNone,  "an attempt is already open"},
    {in(kWaiting), On::kDue,       kQueued,    Do::kAwait,        Raise::kNone,  "the wait is over: back in line"},
    {kLive,        On::kAnswered,  kTaken,     Do::kComplete,     Raise::kOk,    "the centre has the page"},
    {in(kCalling), On::kFailed,    kWaiting,   Do::kRetry,        Raise::kFail,  "made again by the rule of its class"},
    {kResting,     On::kFailed,    kQueued,    Do::kIgnore,       Raise::kNone,  "news of an attempt that was given up"},
    {in(kCalling), On::kRejected,  kDead,      Do::kDeadLetter,   Raise::kSeen,  "the centre will never take this page"},
    {kResting,     On::kRejected,  kQueued,    Do::kIgnore,       Raise::kNone,  "news of an attempt that was given up"},
    {in(kCalling), On::kTimedOut,  kWaiting,   Do::kRetry,        Raise::kFail,  "no answer in time; a page may arrive twice"},
    {kResting,     On::kTimedOut,  kQueued,    Do::kIgnore,       Raise::kNone,  "news of an attempt that was given up"},
    {kLive,        On::kExhausted, kDead,      Do::kDeadLetter,   Raise::kNone,  "the budget is spent"},
    {kResting,     On::kExpired,   kExpired,   Do::kDeadLetter,   Raise::kNone,  "its time is over"},
    {in(kCalling), On::kExpired,   kCalling,   Do::kIgnore,       Raise::kNone,  "the open attempt may yet deliver; raised again after it"},
    {kResting,     On::kCancelled, kCancelled, Do::kDrop,         Raise::kNone,  "stopped on request"},
    {in(kCalling), On::kCancelled, kCalling,   Do::kIgnore,       Raise::kNone,  "the open attempt may yet deliver; raised again after it"},
});
// clang-format on

constexpr auto kMethods = std::to_array<Method>(
    {{.name = "page", .initial = kQueued, .durable_intent = false, .rows = kRows}});
static_assert(sound(kStates, kMethods[0]));

constexpr auto kSettings = std::to_array<SettingRow>({{.name = "url",
                                                       .fallback = "",
                                                       .example = "https://pager.example/centre",
                                                       .may_be = "a URL of http or https",
                                                       .meaning = "where the centre takes pages"}});

Result<Policy> configure(const NamedTexts& settings) {
  for (const auto& [name, value] : settings) {
    if (name != "url") return fail(ErrorCode::kInvalid, "unknown setting '" + name + "'");
    if (!value.starts_with("http://") && !value.starts_with("https://"))
      return fail(ErrorCode::kInvalid, "url: it begins with http:// or https://");
  }
  if (find_text(settings, "url") == nullptr) return fail(ErrorCode::kInvalid, "url: is missing");
  Policy policy;
  for (RetryRule& rule : policy.retry) {
    rule.base = 5s;
    rule.attempts_max = 8;
    rule.budget = 1h;
  }
  policy.time_outs[static_cast<std::size_t>(TimeOut::kAttempt)] = 10s;
  policy.route.in_use_max = 4;
  return policy;
}

Result<std::optional<Page>> read(std::string_view body, std::string_view attributes) {
  if (!attributes.empty()) {
    POSTRIDER_TRY(texts, decode_texts(attributes));
    for (const NamedText& text : texts) {
      // The API adds the trace of a request by itself; a page has no place for it.
      if (text.first != "traceparent" && text.first != "tracestate")
        return fail(ErrorCode::kInvalid, "unknown attribute '" + text.first + "'");
    }
  }
  POSTRIDER_TRY(page, decode_page(body));
  return std::optional<Page>(std::move(page));
}

Result<Admission> admit(const Typed::OfferView& /*offer*/) { return Admission{}; }

WireRequest encode(const FactsView& facts, AttemptKind /*kind*/) {
  WireRequest request;
  request.verb = "POST";
  request.target = *find_text(facts.destination.settings, "url");
  request.headers.add("content-type", "text/x-page");
  request.headers.add("page-id", to_string(facts.id()));
  request.owner = facts.message.body_owner();
  request.body = facts.message.body;
  request.time_out = facts.policy.time_out(TimeOut::kAttempt);
  return request;
}

Reading failed(Certainty certainty, FailureClass failure, std::string reason) {
  Reading reading;
  reading.signal = On::kFailed;
  reading.outcome = {certainty, failure, std::move(reason)};
  return reading;
}

Reading read_answer(const WireReply& reply) {
  Reading reading;
  reading.outcome.certainty = Certainty::kAnswered;
  switch (parse_verdict(reply.body)) {
    case Verdict::kTaken: reading.signal = On::kAnswered; return reading;
    case Verdict::kLater:
      return failed(Certainty::kAnswered, FailureClass::kThrottled, "the centre is busy");
    case Verdict::kNever:
      reading.signal = On::kRejected;
      reading.outcome.failure = FailureClass::kRejected;
      reading.outcome.reason = "the centre does not know the pager";
      return reading;
    case Verdict::kOther:
      return failed(Certainty::kAnswered, FailureClass::kServer,
                    "HTTP " + std::to_string(reply.status) + " without a verdict");
  }
  POSTRIDER_CHECK(false);
  return {};
}

Reading classify(const FactsView& /*facts*/, AttemptKind /*kind*/, const WireReply& reply) {
  switch (reply.end) {
    case WireEnd::kAnswered: return read_answer(reply);
    case WireEnd::kTimedOut:
    case WireEnd::kReset:
      return failed(Certainty::kUnknown, FailureClass::kTimeout, "no answer in time");
    case WireEnd::kHeldBack:
      return failed(Certainty::kNotSent, FailureClass::kHeldBack, "held back by our own limits");
    case WireEnd::kRefused:
    case WireEnd::kNoName:
    case WireEnd::kNoTls:
    case WireEnd::kForbidden:
    case WireEnd::kNoLogin:
      return failed(Certainty::kNotSent, FailureClass::kConnect, "the centre is not reached");
  }
  POSTRIDER_CHECK(false);
  return {};
}

constexpr Typed kTyped = {
    .name = "pager",
    .states = kStates,
    .methods = kMethods,
    .settings = {.rows = kSettings, .configure = configure},
    .door = {.read = read, .admit = admit},
    .wire = {.encode = encode, .classify = classify},
};

}  // namespace
}  // namespace pager

constinit const ProfileSpec kPager = profile_of<pager::kTyped>();

}  // namespace postrider
