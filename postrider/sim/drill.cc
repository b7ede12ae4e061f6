#include "postrider/sim/drill.h"

#include <array>
#include <charconv>
#include <string>

#include "postrider/base/hash.h"

namespace postrider::sim {
namespace {

enum : StateIndex {
  kQueued,
  kFinding,
  kSending,
  kSent,
  kHeld,
  kMoving,
  kLingering,
  kChecking,
  kResting,
  kParked,
  kRouted,
  kDelivered,
  kDead,
  kExpired,
  kCancelled,
  kIndeterminate,
};

// clang-format off
constexpr auto kStates = std::to_array<StateRow>({
    // name          phase                  timer              signal          keeps gates
    {"queued",        Phase::kQueued,        TimeOut::kNone,    On::kTimedOut, false},
    {"finding",       Phase::kInFlight,      TimeOut::kProbe,   On::kTimedOut, true},
    {"sending",       Phase::kInFlight,      TimeOut::kAttempt, On::kTimedOut, true},
    {"sent",          Phase::kInFlight,      TimeOut::kAttempt, On::kTimedOut, true},
    {"held",          Phase::kAwaiting,      TimeOut::kStage,   On::kTimedOut, true},
    {"moving",        Phase::kAwaiting,      TimeOut::kStage,   On::kTimedOut, false},
    {"lingering",     Phase::kAwaiting,      TimeOut::kStage,   On::kTimedOut, false},
    {"checking",      Phase::kInFlight,      TimeOut::kProbe,   On::kTimedOut, true},
    {"resting",       Phase::kBackoff,       TimeOut::kRetry,   On::kDue,      false},
    {"parked",        Phase::kParked,        TimeOut::kNone,    On::kTimedOut, false},
    {"routed",        Phase::kQueued,        TimeOut::kNone,    On::kTimedOut, false},
    {"delivered",     Phase::kDelivered,     TimeOut::kNone,    On::kTimedOut, false},
    {"dead",          Phase::kDead,          TimeOut::kNone,    On::kTimedOut, false},
    {"expired",       Phase::kExpired,       TimeOut::kNone,    On::kTimedOut, false},
    {"cancelled",     Phase::kCancelled,     TimeOut::kNone,    On::kTimedOut, false},
    {"indeterminate", Phase::kIndeterminate, TimeOut::kNone,    On::kTimedOut, false},
});

constexpr StateMask kAwaits = in(kHeld) | in(kMoving) | in(kLingering);
constexpr StateMask kOut = in(kSending) | in(kSent);
constexpr StateMask kAsks = in(kFinding) | in(kChecking);
constexpr StateMask kWaits = in(kQueued) | in(kResting);
constexpr StateMask kLines = in(kQueued) | in(kRouted);
constexpr StateMask kRests = kLines | in(kResting);
constexpr StateMask kRelayLive = kRests | kAsks | kOut | kAwaits | in(kParked);

constexpr auto kRelay = std::to_array<Transition>({
    {kLines,                                  On::kDue,        kSending,       Do::kStartAttempt,      Raise::kNone, "its turn has come"},
    {in(kResting),                            On::kDue,        kQueued,        Do::kAwait,             Raise::kNone, "back in line"},
    {in(kParked),                             On::kDue,        kQueued,        Do::kRelease,           Raise::kNone, "revived"},
    {kAsks | kOut | kAwaits,                  On::kDue,        0,              Do::kIgnore,            Raise::kNone, "on its way already"},

    {in(kQueued),                             On::kNoRoute,    kFinding,       Do::kFindRoute,         Raise::kNone, "ask for the way first"},
    {in(kChecking),                           On::kNoRoute,    kQueued,        Do::kRelease,           Raise::kSeen, "the relay does not know it: send again"},
    {kOut | in(kFinding),                     On::kNoRoute,    kResting,       Do::kRetry,             Raise::kFail, "the way is lost"},
    {kAwaits | in(kParked) | in(kResting) | in(kRouted), On::kNoRoute, 0,      Do::kIgnore,            Raise::kNone, "says nothing about what the relay holds"},

    {kLines,                                  On::kNoLink,     kParked,        Do::kPark,              Raise::kNone, "an operator must connect it"},
    {kOut | kAsks,                            On::kNoLink,     kResting,       Do::kRetry,             Raise::kFail, "nobody listens"},
    {kAwaits | in(kParked) | in(kResting),    On::kNoLink,     0,              Do::kIgnore,            Raise::kNone, "says nothing about what the relay holds"},

    {kRests | kOut | kAwaits,                 On::kStaleRoute, kQueued,        Do::kNextMethod,        Raise::kSeen, "no relay any more: post it"},
    {kAsks,                                   On::kStaleRoute, kResting,       Do::kRetry,             Raise::kFail, "the way led elsewhere"},
    {in(kParked),                             On::kStaleRoute, 0,              Do::kIgnore,            Raise::kNone, "an operator has it"},

    {in(kSending),                            On::kSent,       kSent,          Do::kAwait,             Raise::kNone, "handed to the wire"},
    {kRelayLive & ~in(kSending),              On::kSent,       0,              Do::kIgnore,            Raise::kNone, "no news"},

    {kRests | kOut,                           On::kAccepted,   kHeld,          Do::kAwait,             Raise::kOk,   "the relay took it"},
    {kAsks | kAwaits | in(kParked),           On::kAccepted,   0,              Do::kIgnore,            Raise::kNone, "no news"},

    {kRests | kOut | in(kHeld) | in(kChecking), On::kProgressed, kMoving,      Do::kAwait,             Raise::kSeen, "it moved on"},
    {in(kFinding) | in(kMoving) | in(kLingering) | in(kParked), On::kProgressed, 0, Do::kIgnore,       Raise::kNone, "no news"},

    {in(kFinding),                            On::kAcked,      kRouted,        Do::kRelease,           Raise::kSeen, "the way is found: back in line"},
    {kRests | kOut | in(kHeld) | in(kMoving) | in(kChecking), On::kAcked, kLingering, Do::kAwait,      Raise::kSeen, "arrived, not yet answered"},
    {in(kLingering) | in(kParked),            On::kAcked,      0,              Do::kIgnore,            Raise::kNone, "no news"},

    {kRelayLive,                              On::kAnswered,   kDelivered,     Do::kComplete,          Raise::kOk,   "an answer may outrun our time-out"},
    {kRelayLive,                              On::kConfirmed,  kDelivered,     Do::kComplete,          Raise::kOk,   "a receipt may outrun our time-out"},

    {in(kChecking) | in(kHeld),               On::kStillHeld,  kHeld,          Do::kAwait,             Raise::kSeen, "wait on"},
    {kRelayLive & ~(in(kChecking) | in(kHeld)), On::kStillHeld, 0,             Do::kIgnore,            Raise::kNone, "no news"},

    {kOut | kAsks,                            On::kFailed,     kResting,       Do::kRetry,             Raise::kFail, "later again"},
    {kAwaits,                                 On::kFailed,     kResting,       Do::kRetry,             Raise::kNone, "the relay lost it"},
    {kRests | in(kParked),                    On::kFailed,     0,              Do::kIgnore,            Raise::kNone, "no news"},

    {kRelayLive & ~in(kParked),               On::kRejected,   kDead,          Do::kDeadLetter,        Raise::kSeen, "refused for good"},
    {in(kParked),                             On::kRejected,   0,              Do::kIgnore,            Raise::kNone, "an operator has it"},

    {kOut,                                    On::kTimedOut,   kChecking,      Do::kProbe,             Raise::kFail, "fate open: ask before repeating"},
    {in(kHeld) | in(kMoving),                 On::kTimedOut,   kChecking,      Do::kProbe,             Raise::kNone, "too long: ask"},
    {in(kLingering),                          On::kTimedOut,   kDelivered,     Do::kComplete,          Raise::kNone, "arrived is enough"},
    {kAsks,                                   On::kTimedOut,   kResting,       Do::kRetry,             Raise::kFail, "no answer to our question"},
    {kRests | in(kParked),                    On::kTimedOut,   0,              Do::kIgnore,            Raise::kNone, "no attempt is open"},

    {kRelayLive,                              On::kExhausted,  kDead,          Do::kDeadLetter,        Raise::kNone, "nothing left to try"},

    {kRests | kAwaits | in(kParked),          On::kExpired,    kExpired,       Do::kDeadLetter,        Raise::kNone, "too late"},
    {kOut | kAsks,                            On::kExpired,    0,              Do::kIgnore,            Raise::kNone, "the open attempt may still succeed"},

    {kRests | in(kFinding) | in(kParked),     On::kCancelled,  kCancelled,     Do::kDrop,              Raise::kNone, "stopped in time"},
    {in(kMoving),                             On::kCancelled,  kIndeterminate, Do::kMarkIndeterminate, Raise::kNone, "beyond our reach"},
    {kOut | in(kChecking) | in(kHeld) | in(kLingering), On::kCancelled, 0,     Do::kIgnore,            Raise::kNone, "perhaps there already"},

    {kRelayLive,                              On::kPeerSeen,   0,              Do::kIgnore,            Raise::kNone, "the route takes note"},
});

constexpr StateMask kPostLive = kWaits | in(kSending) | in(kParked);
constexpr auto kPost = std::to_array<Transition>({
    {in(kQueued),              On::kDue,        kSending,   Do::kStartAttempt, Raise::kNone, "its turn has come"},
    {in(kResting) | in(kParked), On::kDue,      kQueued,    Do::kRelease,      Raise::kNone, "back in line"},
    {in(kSending),             On::kDue,        0,          Do::kIgnore,       Raise::kNone, "on its way already"},
    {in(kSending),             On::kNoRoute,    kParked,    Do::kPark,         Raise::kGone, "the destination exists no more"},
    {kPostLive & ~in(kSending), On::kNoRoute,   0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),             On::kNoLink,     kResting,   Do::kRetry,        Raise::kFail, "nobody listens"},
    {kPostLive & ~in(kSending), On::kNoLink,    0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kPostLive,                On::kSent,       0,          Do::kIgnore,       Raise::kNone, "no news"},
    {kPostLive,                On::kAnswered,   kDelivered, Do::kComplete,     Raise::kOk,   "done"},
    {kPostLive,                On::kConfirmed,  kDelivered, Do::kComplete,     Raise::kOk,   "done, as we hear"},
    {in(kSending),             On::kFailed,     kResting,   Do::kRetry,        Raise::kFail, "later again"},
    {kPostLive & ~in(kSending), On::kFailed,    0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),             On::kRejected,   kDead,      Do::kDeadLetter,   Raise::kSeen, "refused for good"},
    {kPostLive & ~in(kSending), On::kRejected,  0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {in(kSending),             On::kTimedOut,   kResting,   Do::kRetry,        Raise::kFail, "no answer in time"},
    {kPostLive & ~in(kSending), On::kTimedOut,  0,          Do::kIgnore,       Raise::kNone, "no attempt is open"},
    {kPostLive,                On::kExhausted,  kParked,    Do::kPark,         Raise::kNone, "an operator may know better"},
    {kPostLive & ~in(kSending), On::kExpired,   kExpired,   Do::kDeadLetter,   Raise::kNone, "too late"},
    {in(kSending),             On::kExpired,    0,          Do::kIgnore,       Raise::kNone, "the open attempt may still succeed"},
    {kPostLive & ~in(kSending), On::kCancelled, kCancelled, Do::kDrop,         Raise::kNone, "stopped in time"},
    {in(kSending),             On::kCancelled,  0,          Do::kIgnore,       Raise::kNone, "perhaps there already"},
});

// What must never happen twice. A refusal before sending, or an answer that it was not done, allows another attempt;
// anything open is indeterminate for good.
constexpr StateMask kOnceLive = kWaits | in(kSending);
constexpr auto kOnce = std::to_array<Transition>({
    {in(kQueued),   On::kDue,       kSending,       Do::kStartAttempt,      Raise::kNone, "its turn has come"},
    {in(kResting),  On::kDue,       kQueued,        Do::kAwait,             Raise::kNone, "back in line"},
    {in(kSending),  On::kDue,       0,              Do::kIgnore,            Raise::kNone, "on its way already"},
    {in(kSending),  On::kNoLink,    kResting,       Do::kRetry,             Raise::kFail, "nothing was sent"},
    {kWaits,        On::kNoLink,    0,              Do::kIgnore,            Raise::kNone, "no attempt is open"},
    {in(kSending),  On::kFailed,    kResting,       Do::kRetry,             Raise::kFail, "the answer says: not done"},
    {kWaits,        On::kFailed,    0,              Do::kIgnore,            Raise::kNone, "no attempt is open"},
    {kOnceLive,     On::kAnswered,  kDelivered,     Do::kComplete,          Raise::kOk,   "done"},
    {kOnceLive,     On::kConfirmed, kDelivered,     Do::kComplete,          Raise::kOk,   "done, as we hear"},
    {in(kSending),  On::kRejected,  kDead,          Do::kDeadLetter,        Raise::kSeen, "refused for good"},
    {kWaits,        On::kRejected,  0,              Do::kIgnore,            Raise::kNone, "no attempt is open"},
    {in(kSending),  On::kTimedOut,  kIndeterminate, Do::kMarkIndeterminate, Raise::kFail, "nobody can tell"},
    {kWaits,        On::kTimedOut,  0,              Do::kIgnore,            Raise::kNone, "no attempt is open"},
    {kOnceLive,     On::kExhausted, kDead,          Do::kDeadLetter,        Raise::kNone, "nothing left to try"},
    {kWaits,        On::kExpired,   kExpired,       Do::kDeadLetter,        Raise::kNone, "too late"},
    {in(kSending),  On::kExpired,   0,              Do::kIgnore,            Raise::kNone, "the open attempt may still succeed"},
    {kWaits,        On::kCancelled, kCancelled,     Do::kDrop,              Raise::kNone, "stopped in time"},
    {in(kSending),  On::kCancelled, 0,              Do::kIgnore,            Raise::kNone, "perhaps there already"},
});

constexpr auto kMethods = std::to_array<Method>({
    {"relay", kQueued, false, kRelay},
    {"post",  kQueued, false, kPost},
    {"once",  kQueued, true,  kOnce},
});
static_assert(kMethods.size() == kDrillMethods);
static_assert(sound(kStates, kMethods[0]));
static_assert(sound(kStates, kMethods[1]));
static_assert(sound(kStates, kMethods[2]));

constexpr auto kGates = std::to_array<DrillGate>({
    {"narrow", {.in_use_max = 1}},
    {"wide",   {.in_use_max = 3}},
    {"spaced", {.spacing = 2s}},
    {"tokens", {.tokens_per_second = 1, .tokens_max = 3}},
});
// clang-format on

std::string_view method_name(std::uint8_t method) {
  return kMethods[method < kDrillMethods ? method : 0].name;
}

// Settings are numbers with few exceptions; a name that is none of these is refused.
struct Numbers {
  std::int64_t window = 64, fifo = 0, in_use = 0, spacing = 0, tokens = 0, burst = 0, strikes = 0,
               wait = 5'000, wait_max = 900'000, disable_after = 0, attempts = 0, budget = 0,
               base = 5'000, cap = 3'600'000, cap_after = 0, tick = 0, attempt = 30'000,
               probe = 10'000, stage = 300'000, hold = 0, jitter = 20;
};

struct Setting {
  std::string_view name;
  std::int64_t Numbers::*field;
};
constexpr auto kSettings = std::to_array<Setting>({
    {"window", &Numbers::window},       {"fifo", &Numbers::fifo},
    {"in-use", &Numbers::in_use},       {"spacing", &Numbers::spacing},
    {"tokens", &Numbers::tokens},       {"burst", &Numbers::burst},
    {"strikes", &Numbers::strikes},     {"wait", &Numbers::wait},
    {"wait-max", &Numbers::wait_max},   {"disable-after", &Numbers::disable_after},
    {"attempts", &Numbers::attempts},   {"budget", &Numbers::budget},
    {"base", &Numbers::base},           {"cap", &Numbers::cap},
    {"cap-after", &Numbers::cap_after}, {"tick", &Numbers::tick},
    {"attempt", &Numbers::attempt},     {"probe", &Numbers::probe},
    {"stage", &Numbers::stage},         {"hold", &Numbers::hold},
    {"jitter", &Numbers::jitter},
});
constexpr std::array<std::string_view, 3> kWords = {"peer", "route", "link"};

Result<Numbers> parse_numbers(const NamedTexts& settings) {
  Numbers numbers;
  for (const NamedText& setting : settings) {
    bool known = false;
    for (const std::string_view word : kWords) known = known || setting.first == word;
    for (const Setting& row : kSettings) {
      if (row.name != setting.first) continue;
      const char* last = setting.second.data() + setting.second.size();
      const auto parsed = std::from_chars(setting.second.data(), last, numbers.*row.field);
      if (parsed.ec != std::errc() || parsed.ptr != last || numbers.*row.field < 0) {
        return fail(ErrorCode::kInvalid, "setting '" + setting.first + "' must be a number");
      }
      known = true;
    }
    if (!known) return fail(ErrorCode::kInvalid, "there is no setting '" + setting.first + "'");
  }
  return numbers;
}

RetryRule rule_of(const Numbers& numbers, Curve curve, Jitter jitter) {
  RetryRule rule;
  rule.curve = curve;
  rule.base = Duration(numbers.base);
  rule.steps = {Duration(numbers.base), Duration(numbers.base * 6), Duration(numbers.base * 24)};
  rule.steps_used = 3;
  rule.cap = Duration(numbers.cap);
  rule.cap_after = static_cast<std::uint16_t>(numbers.cap_after);
  rule.jitter = jitter;
  rule.jitter_percent = static_cast<std::uint8_t>(numbers.jitter);
  rule.attempts_max = static_cast<std::uint16_t>(numbers.attempts);
  rule.budget = Duration(numbers.budget);
  rule.strikes = true;
  return rule;
}

// Each class of failure goes by another curve, so that one world tests all of them.
Result<Policy> configure(const NamedTexts& settings) {
  POSTRIDER_TRY(numbers, parse_numbers(settings));
  Policy policy;
  const auto at = [&policy](FailureClass failure) -> RetryRule& {
    return policy.retry[static_cast<std::size_t>(failure)];
  };
  for (RetryRule& rule : policy.retry) rule = rule_of(numbers, Curve::kFixed, Jitter::kNone);
  at(FailureClass::kConnect) = rule_of(numbers, Curve::kFixed, Jitter::kFull);
  at(FailureClass::kTimeout) = rule_of(numbers, Curve::kLinear, Jitter::kAround);
  at(FailureClass::kServer) = rule_of(numbers, Curve::kExponential, Jitter::kAbove);
  at(FailureClass::kThrottled) = rule_of(numbers, Curve::kList, Jitter::kAbove);
  at(FailureClass::kThrottled).retry_after_max = 1h;
  at(FailureClass::kThrottled).holds_route = true;
  at(FailureClass::kThrottled).strikes = false;
  at(FailureClass::kOther).tick = Duration(numbers.tick);
  at(FailureClass::kOther).retry_after_max = 10min;
  policy.time_outs[static_cast<std::size_t>(TimeOut::kAttempt)] = Duration(numbers.attempt);
  policy.time_outs[static_cast<std::size_t>(TimeOut::kProbe)] = Duration(numbers.probe);
  policy.time_outs[static_cast<std::size_t>(TimeOut::kStage)] = Duration(numbers.stage);
  policy.route = {static_cast<std::uint32_t>(numbers.in_use), Duration(numbers.spacing),
                  static_cast<std::uint32_t>(numbers.tokens),
                  static_cast<std::uint32_t>(numbers.burst)};
  policy.health = {static_cast<std::uint16_t>(numbers.strikes), Duration(numbers.wait),
                   Duration(numbers.wait_max), Duration(numbers.disable_after)};
  policy.fifo_lanes = static_cast<std::uint16_t>(numbers.fifo);
  policy.window_max = static_cast<std::uint32_t>(numbers.window);
  policy.refuse_when_disabled = numbers.hold == 0;
  if (policy.window_max == 0)
    return fail(ErrorCode::kInvalid, "setting 'window' must be at least 1");
  return policy;
}

Result<Admission> admit(const Offer& offer) {
  Admission admission;
  if (offer.attributes.empty()) return admission;
  POSTRIDER_TRY(texts, decode_texts(offer.attributes));
  if (const std::string* method = find_text(texts, "method")) {
    bool known = false;
    for (std::uint8_t i = 0; i < kDrillMethods; ++i) {
      if (kMethods[i].name != *method) continue;
      admission.method = i;
      known = true;
    }
    if (!known) return fail(ErrorCode::kInvalid, "there is no method '" + *method + "'");
  }
  std::size_t used = 0;
  for (const DrillGate& gate : kGates) {
    if (find_text(texts, gate.name) == nullptr || used == kGatesMax) continue;
    admission.gates[used++] = Gate{drill_gate_name(gate.name), gate.limits};
  }
  return admission;
}

On judge(const Facts& facts) {
  if (facts.state.method != static_cast<std::uint8_t>(DrillMethod::kRelay)) return On::kDue;
  const std::string* route = find_text(facts.destination.settings, "route");
  const std::string* link = find_text(facts.destination.settings, "link");
  if (facts.state.state == kQueued && facts.state.attempts == 0 &&
      facts.state.failure == FailureClass::kNone) {
    // Only for a while, so that everything can end.
    if (link != nullptr && *link == "cold" && facts.now < facts.message.accepted + 1h)
      return On::kNoLink;
    if (route != nullptr && *route == "ask") return On::kNoRoute;
    if (route != nullptr && *route == "stale") return On::kStaleRoute;
  }
  return On::kDue;
}

WireRequest encode(const Facts& facts, AttemptKind kind) {
  WireRequest request;
  request.verb =
      kind == AttemptKind::kSend ? "SEND" : (kind == AttemptKind::kProbe ? "PROBE" : "FIND");
  const std::string* peer = find_text(facts.destination.settings, "peer");
  request.target = "drill:" + (peer != nullptr ? *peer : std::string());
  request.headers = {{"drill-id", to_string(facts.message.id)},
                     {"drill-method", std::string(method_name(facts.state.method))},
                     {"drill-attempt", std::to_string(facts.state.attempts)},
                     {"drill-now", std::to_string(facts.now.ms())}};
  if (kind == AttemptKind::kSend) {
    request.owner = facts.message.record;
    request.body = facts.message.body;
  }
  request.time_out =
      facts.policy.time_out(kind == AttemptKind::kSend ? TimeOut::kAttempt : TimeOut::kProbe);
  return request;
}

Reading reading(On signal, Certainty certainty, FailureClass failure, std::string reason) {
  Reading out;
  out.signal = signal;
  out.outcome = {certainty, failure, std::move(reason)};
  return out;
}

std::optional<Duration> wish(const WireReply& reply) {
  const std::string* text = find_text(reply.headers, "retry-after");
  if (text == nullptr) return std::nullopt;
  std::int64_t seconds = 0;
  const char* last = text->data() + text->size();
  const auto parsed = std::from_chars(text->data(), last, seconds);
  if (parsed.ec != std::errc() || parsed.ptr != last || seconds < 0 || seconds > 1'000'000)
    return std::nullopt;
  return Duration(seconds * 1000);
}

Reading classify_end(AttemptKind kind, const WireReply& reply, bool once) {
  switch (reply.end) {
    case WireEnd::kRefused:
      return reading(On::kNoLink, Certainty::kNotSent, FailureClass::kConnect, "refused");
    case WireEnd::kNoName:
      return reading(kind == AttemptKind::kSend && !once ? On::kFailed : On::kNoLink,
                     Certainty::kNotSent, FailureClass::kConnect, "no such name");
    case WireEnd::kNoTls:
    case WireEnd::kForbidden:
      return reading(On::kNoLink, Certainty::kNotSent, FailureClass::kOther, "no trust");
    case WireEnd::kTimedOut:
    case WireEnd::kReset:
    case WireEnd::kAnswered: break;
  }
  // What is open is open: only the method that must not repeat treats it as the end.
  return reading(once ? On::kTimedOut : On::kFailed, Certainty::kUnknown, FailureClass::kTimeout,
                 "no answer");
}

Reading classify_question(AttemptKind kind, int status) {
  const bool found = kind == AttemptKind::kFindRoute;
  if (status == 200)
    return reading(found ? On::kAcked : On::kConfirmed, Certainty::kAnswered, FailureClass::kNone,
                   "");
  if (status == 202) return reading(On::kStillHeld, Certainty::kAnswered, FailureClass::kNone, "");
  if (status == 404)
    return reading(On::kNoRoute, Certainty::kAnswered, FailureClass::kOther, "unknown there");
  return reading(On::kFailed, Certainty::kAnswered, FailureClass::kServer,
                 "status " + std::to_string(status));
}

Reading classify_send(const WireReply& reply, bool relay, bool post) {
  const std::string status = "status " + std::to_string(reply.status);
  switch (reply.status) {
    case 200: return reading(On::kAnswered, Certainty::kAnswered, FailureClass::kNone, "");
    case 202:
      return reading(relay ? On::kAccepted : On::kAnswered, Certainty::kAnswered,
                     FailureClass::kNone, "");
    case 204:
      return reading(relay ? On::kAcked : On::kAnswered, Certainty::kAnswered, FailureClass::kNone,
                     "");
    case 206:
      return reading(relay ? On::kProgressed : On::kAnswered, Certainty::kAnswered,
                     FailureClass::kNone, "");
    case 301:
      return reading(relay ? On::kStaleRoute : On::kFailed, Certainty::kAnswered,
                     FailureClass::kOther, status);
    case 410:
      return reading(post ? On::kNoRoute : On::kRejected, Certainty::kAnswered, FailureClass::kGone,
                     status);
    case 408:
    case 425: return reading(On::kFailed, Certainty::kAnswered, FailureClass::kOther, status);
    case 429:
    case 503: {
      Reading out = reading(On::kFailed, Certainty::kAnswered, FailureClass::kThrottled, status);
      out.retry_after = wish(reply);
      return out;
    }
    default: break;
  }
  if (reply.status >= 500)
    return reading(On::kFailed, Certainty::kAnswered, FailureClass::kServer, status);
  return reading(On::kRejected, Certainty::kAnswered, FailureClass::kRejected, status);
}

Reading classify(const Facts& facts, AttemptKind kind, const WireReply& reply) {
  const auto method = static_cast<DrillMethod>(facts.state.method);
  if (reply.end != WireEnd::kAnswered)
    return classify_end(kind, reply, method == DrillMethod::kOnce);
  if (kind != AttemptKind::kSend) return classify_question(kind, reply.status);
  return classify_send(reply, method == DrillMethod::kRelay, method == DrillMethod::kPost);
}

GateLimits gate_limits(GateName name, const Policy& /*policy*/) {
  for (const DrillGate& gate : kGates) {
    if (drill_gate_name(gate.name) == name) return gate.limits;
  }
  return {};
}

}  // namespace

std::span<const DrillGate> drill_gates() { return kGates; }

GateName drill_gate_name(std::string_view name) { return hash64(name, 77) | 1; }

const ProfileSpec& drill_profile() {
  static constexpr ProfileSpec kSpec = {
      .name = "drill",
      .states = kStates,
      .methods = kMethods,
      .configure = configure,
      .admit = admit,
      .judge = judge,
      .encode = encode,
      .classify = classify,
      .gate_limits = gate_limits,
  };
  return kSpec;
}

}  // namespace postrider::sim
