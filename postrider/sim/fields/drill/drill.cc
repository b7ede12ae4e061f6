#include "postrider/sim/fields/drill/drill.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "postrider/base/hash.h"
#include "postrider/model/id_address.h"
#include "postrider/model/typed_profile.h"
#include "postrider/sim/fields/drill/table.h"

namespace postrider::sim {
namespace {

using namespace drill;  // NOLINT(google-build-using-namespace): its tables

// A message is taken apart into its attributes.
using Typed = TypedProfile<Nothing, NamedTexts>;
using Facts = Typed::FactsView;
using Offer = Typed::OfferView;

// clang-format off
constexpr auto kGates = std::to_array<DrillGate>({
    {"narrow", {.in_use_max = 1}},
    {"wide",   {.in_use_max = 3}},
    {"spaced", {.spacing = 2s}},
    {"tokens", {.tokens_per_second = 1, .tokens_max = 3}},
});
// clang-format on

// Gates that are held until the end: one for each order key, and each of size one.
constexpr std::string_view kOrderGate = "order-";

// Gates that are held until the end and taken in the order of acceptance: one for each line of a
// destination's lane. Their names are told from the others by one bit.
constexpr GateName kLineBit = GateName{1} << 63;

constexpr GateLimits kFrailLimits = {.strikes_max = kDrillStrikes,
                                     .strikes_on = strike_on(FailureClass::kConnect),
                                     .closed_base = kDrillClosed,
                                     .closed_max = kDrillClosedMost,
                                     .relents = true};

GateName line_gate(const Offer& offer, std::string_view line) {
  return hash64(line, hash64(offer.destination.name, offer.lane)) | kLineBit | 1;
}

std::string_view method_name(std::uint8_t method) {
  return kMethods[method < kDrillMethods ? method : 0].name;
}

// Settings are numbers with few exceptions; a name that is none of these is refused.
struct Numbers {
  std::int64_t window = 64, fifo = 0, in_use = 0, spacing = 0, tokens = 0, burst = 0, strikes = 0,
               wait = 5'000, wait_max = 900'000, disable_after = 0, attempts = 0, budget = 0,
               base = 5'000, cap = 3'600'000, cap_after = 0, tick = 0, attempt = 30'000,
               probe = 10'000, stage = 300'000, hold = 0, jitter = 20, poll = 10'000,
               poll_error = 5'000, life = 0, strand = 0, adapt = 0, group = 0, tenant = 0,
               history = 0, clears = 0, lower = 16, ageing = 0, poison = 0, poison_after = 5,
               deep = 0, factor = 200, jitter_low = 1000, jitter_high = 1000, begins_behind = 0,
               drops = 0, idle = 0;
};

struct Setting {
  std::string_view name;
  std::int64_t Numbers::*field;
};
constexpr auto kSettings = std::to_array<Setting>({
    {"window", &Numbers::window},
    {"fifo", &Numbers::fifo},
    {"in-use", &Numbers::in_use},
    {"spacing", &Numbers::spacing},
    {"tokens", &Numbers::tokens},
    {"burst", &Numbers::burst},
    {"strikes", &Numbers::strikes},
    {"wait", &Numbers::wait},
    {"wait-max", &Numbers::wait_max},
    {"disable-after", &Numbers::disable_after},
    {"attempts", &Numbers::attempts},
    {"budget", &Numbers::budget},
    {"base", &Numbers::base},
    {"cap", &Numbers::cap},
    {"cap-after", &Numbers::cap_after},
    {"tick", &Numbers::tick},
    {"attempt", &Numbers::attempt},
    {"probe", &Numbers::probe},
    {"stage", &Numbers::stage},
    {"hold", &Numbers::hold},
    {"jitter", &Numbers::jitter},
    {"poll", &Numbers::poll},
    {"poll-error", &Numbers::poll_error},
    {"life", &Numbers::life},
    {"strand", &Numbers::strand},
    {"adapt", &Numbers::adapt},
    {"history", &Numbers::history},
    {"group", &Numbers::group},
    {"tenant", &Numbers::tenant},
    {"clears", &Numbers::clears},
    {"lower", &Numbers::lower},
    {"ageing", &Numbers::ageing},
    {"poison", &Numbers::poison},
    {"poison-after", &Numbers::poison_after},
    {"deep", &Numbers::deep},
    {"factor", &Numbers::factor},
    {"jitter-low", &Numbers::jitter_low},
    {"jitter-high", &Numbers::jitter_high},
    {"begins-behind", &Numbers::begins_behind},
    {"drops", &Numbers::drops},
    {"idle", &Numbers::idle},
});
constexpr std::array<std::string_view, 5> kWords = {"peer", "route", "link", "catch-up", "seal"};

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

// Digits, each a lane; none twice.
Result<LaneOrder> parse_lanes(const NamedTexts& settings) {
  LaneOrder order;
  const std::string* text = find_text(settings, "catch-up");
  for (const char c : text == nullptr ? std::string() : *text) {
    const auto lane = static_cast<std::uint8_t>(c - '0');
    if (c < '0' || c > '9' || order.contains(lane))
      return fail(ErrorCode::kInvalid, "setting 'catch-up' must be digits, none twice");
    order.add(lane);
  }
  return order;
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
  at(FailureClass::kHeldBack).strikes = false;
  at(FailureClass::kHeldBack).attempts_max = 0;
  at(FailureClass::kConnect).parks = at(FailureClass::kTimeout).parks = numbers.strand != 0;
  at(FailureClass::kOther).tick = Duration(numbers.tick);
  at(FailureClass::kOther).retry_after_max = 10min;
  policy.time_outs[static_cast<std::size_t>(TimeOut::kAttempt)] = Duration(numbers.attempt);
  policy.time_outs[static_cast<std::size_t>(TimeOut::kProbe)] = Duration(numbers.probe);
  policy.time_outs[static_cast<std::size_t>(TimeOut::kStage)] = Duration(numbers.stage);
  policy.time_outs[static_cast<std::size_t>(TimeOut::kLate)] = Duration(numbers.stage);
  policy.time_outs[static_cast<std::size_t>(TimeOut::kCall)] = 2 * Duration(numbers.probe);
  policy.time_outs[static_cast<std::size_t>(TimeOut::kPair)] = kDrillPairWindow;
  const Duration poll(numbers.poll);
  policy.poll.steps = {{{20s, poll}, {50s, poll * 3 / 2}, {90s, poll * 2}, {0s, poll * 3}}};
  policy.poll.steps_used = 4;
  policy.poll.error_base = Duration(numbers.poll_error);
  policy.poll.error_cap = 15min;
  policy.life_max = Duration(numbers.life);
  policy.idle_life = Duration(numbers.idle);
  policy.route = {static_cast<std::uint32_t>(numbers.in_use), Duration(numbers.spacing),
                  static_cast<std::uint32_t>(numbers.tokens),
                  static_cast<std::uint32_t>(numbers.burst)};
  policy.health = {static_cast<std::uint16_t>(numbers.strikes), Duration(numbers.wait),
                   Duration(numbers.wait_max), Duration(numbers.disable_after),
                   std::max(Duration(numbers.wait_max), Duration(10min))};
  policy.health.contact_clears = numbers.clears != 0;
  policy.health.factor_percent = static_cast<std::uint16_t>(numbers.factor);
  policy.health.jitter_low = static_cast<std::uint16_t>(numbers.jitter_low);
  policy.health.jitter_high = static_cast<std::uint16_t>(numbers.jitter_high);
  policy.health.deep_after = Duration(numbers.deep);
  policy.health.begins_behind = numbers.begins_behind != 0;
  for (std::uint8_t lane = 0; lane < kLanes; ++lane)
    policy.lanes[lane].dropped_when_deep = (numbers.drops >> lane & 1) != 0;
  POSTRIDER_TRY(order, parse_lanes(settings));
  policy.catch_up_lanes = order;
  if (numbers.jitter_low != 1000 || numbers.jitter_high != 1000) {
    at(FailureClass::kTimeout).jitter = Jitter::kFactor;
    at(FailureClass::kTimeout).jitter_low = policy.health.jitter_low;
    at(FailureClass::kTimeout).jitter_high = policy.health.jitter_high;
  }
  policy.adapts = numbers.adapt != 0 && numbers.in_use > 0;
  policy.group = static_cast<std::uint64_t>(numbers.group);
  if (policy.group == 1) policy.group_limits = {.in_use_max = 1};
  if (policy.group == 2) policy.group_limits = {.tokens_per_second = 1, .tokens_max = 2};
  if (policy.group == 3) policy.group_limits = {.in_use_max = 3, .spacing = 50ms};
  policy.tenant = static_cast<std::uint64_t>(numbers.tenant);
  policy.tenant_weight = static_cast<std::uint16_t>(numbers.tenant + 1);
  policy.fifo_lanes = static_cast<std::uint16_t>(numbers.fifo);
  policy.window_max = static_cast<std::uint32_t>(numbers.window);
  policy.refuse_when_disabled = numbers.hold == 0;
  policy.keeps_history = numbers.history != 0;
  policy.lower_every = static_cast<std::uint8_t>(numbers.lower);
  policy.age_step = Duration(numbers.ageing);
  policy.on_poison = static_cast<OnPoison>(numbers.poison % 3);
  policy.poison_after = static_cast<std::uint16_t>(numbers.poison_after);
  if (policy.window_max == 0)
    return fail(ErrorCode::kInvalid, "setting 'window' must be at least 1");
  return policy;
}

Result<std::optional<NamedTexts>> read(std::string_view /*body*/, std::string_view attributes) {
  if (attributes.empty()) return std::optional<NamedTexts>();
  POSTRIDER_TRY(texts, decode_texts(attributes));
  return std::optional<NamedTexts>(std::move(texts));
}

Result<Admission> admit(const Offer& offer) {
  Admission admission;
  if (offer.parsed == nullptr) return admission;
  const NamedTexts& texts = *offer.parsed;
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
  if (const std::string* order = find_text(texts, "order");
      order != nullptr && kMethods[admission.method].durable_intent) {
    admission.gates[used++] = Gate{drill_order_gate(*order), {.in_use_max = 1}, true};
  }
  if (find_text(texts, kDrillFrail) != nullptr && kMethods[admission.method].durable_intent)
    admission.gates[used++] = Gate{drill_gate_name(kDrillFrail), kFrailLimits};
  const std::string* line = find_text(texts, "line");
  // A relay may go to sleep before its first start, and then has no place in a line.
  const bool starts = admission.method != static_cast<std::uint8_t>(DrillMethod::kRelay);
  if (line != nullptr && starts && offer.policy.lane_kind(offer.lane) != LaneKind::kFifo) {
    admission.gates = {Gate{.name = line_gate(offer, *line),
                            .limits = {.in_use_max = 1},
                            .lasting = true,
                            .ordered = true}};
    used = kGatesMax;  // such a gate is the only one
  }
  if (const std::string* key = find_text(texts, "supersede")) admission.supersedes = *key;
  for (const DrillGate& gate : kGates) {
    if (find_text(texts, gate.name) == nullptr || used == kGatesMax) continue;
    admission.gates[used++] = Gate{drill_gate_name(gate.name), gate.limits};
  }
  return admission;
}

Judgement judge(const Facts& facts) {
  if (facts.state.method != static_cast<std::uint8_t>(DrillMethod::kRelay)) return {On::kDue};
  const std::string* route = find_text(facts.destination.settings, "route");
  const std::string* link = find_text(facts.destination.settings, "link");
  if (facts.state.state == kQueued && facts.state.attempts == 0 &&
      facts.state.failure == FailureClass::kNone) {
    // Only for a while, so that everything can end.
    if (link != nullptr && *link == "cold" && facts.now < facts.message.accepted + 1h)
      return {On::kNoLink};
    if (route != nullptr && *route == "ask") return {On::kNoRoute};
    if (route != nullptr && *route == "stale") return {On::kStaleRoute};
    const bool behind = facts.route != nullptr && facts.route->health == Health::kCatchUp;
    if (route != nullptr && *route == "behind" && behind) return {On::kNoRoute};
  }
  return {On::kDue};
}

// Notes: "task=<name>" of a task, ";paired" when two halves came together, and
// ";nudged=<arrival>/<witness>" of whoever holds the gate that news spoke of.
constexpr std::string_view kNudged = ";nudged=";

std::string_view nudge_in(std::string_view notes) {
  const std::size_t from = notes.find(kNudged);
  if (from == std::string_view::npos) return {};
  return notes.substr(from, notes.find(';', from + 1) - from);
}

std::string nudged(std::string_view notes, const Notice& notice) {
  const std::string_view old = nudge_in(notes);
  std::string out(notes);
  if (!old.empty()) out.erase(notes.find(kNudged), old.size());
  return out.append(kNudged)
      .append(std::to_string(notice.at.ms()))
      .append("/")
      .append(std::to_string(notice.witnessed().ms()));
}

std::string_view task_in(std::string_view notes) {
  constexpr std::string_view kStart = "task=";
  if (!notes.starts_with(kStart)) return {};
  return notes.substr(kStart.size(), notes.find(';') - kStart.size());
}

std::string attribute(const Facts& facts, std::string_view name) {
  const std::string* value = facts.parsed == nullptr ? nullptr : find_text(*facts.parsed, name);
  return value == nullptr ? std::string() : *value;
}

WireRequest encode(const Facts& facts, AttemptKind kind) {
  WireRequest request;
  request.verb =
      kind == AttemptKind::kSend ? "SEND" : (kind == AttemptKind::kProbe ? "PROBE" : "FIND");
  const std::string* peer = find_text(facts.destination.settings, "peer");
  request.target = "drill:" + (peer != nullptr ? *peer : std::string());
  request.headers = {{"drill-id", to_string(facts.message.id)},
                     {"drill-method", method_name(facts.state.method)}};
  const bool task = facts.state.method == static_cast<std::uint8_t>(DrillMethod::kTask);
  if (task && kind == AttemptKind::kSend) {
    // A task is stamped, and must be the same when it is sent again: so no number of the attempt.
    request.headers.add("drill-stamp", std::to_string(facts.wall.ms()));
  } else {
    request.headers.add("drill-attempt", std::to_string(facts.state.attempts));
    request.headers.add("drill-now", std::to_string(facts.now.ms()));
  }
  // By a key file: the bytes of the seal follow from it and from the body, and are no secret.
  if (const std::string* seal = find_text(facts.destination.settings, "seal")) {
    const std::string_view key = facts.secret(*seal);
    if (key.empty()) request.held_back = "there is no secret '" + *seal + "'";
    request.headers.add("drill-seal", std::to_string(drill_seal(key, facts.message.body)));
  }
  if (const std::string order = attribute(facts, "order"); !order.empty())
    request.headers.add("drill-order", order);
  if (task && kind == AttemptKind::kProbe && facts.state.state == kPolling)
    request.headers.add("drill-task", task_in(facts.notes));
  if (kind == AttemptKind::kSend) {
    request.owner = facts.message.body_owner();
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
    case WireEnd::kNoLogin:
      return reading(On::kNoLink, Certainty::kNotSent, FailureClass::kOther, "no trust");
    case WireEnd::kHeldBack:
      return reading(On::kNoLink, Certainty::kNotSent, FailureClass::kHeldBack, "held back");
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

Reading classify_task(const Facts& facts, AttemptKind kind, const WireReply& reply) {
  if (kind == AttemptKind::kProbe) {
    Reading out = reading(On::kStillHeld, Certainty::kAnswered, FailureClass::kNone, "");
    if (reply.status == 200) out.signal = On::kAnswered;
    if (reply.status == 404) {
      out = reading(On::kNoRoute, Certainty::kAnswered, FailureClass::kOther, "unknown there");
      // Whoever had a name there and is unknown now will not arrive any more.
      out.closes = facts.state.state == kPolling;
    } else if (reply.status >= 300) {
      out = reading(On::kFailed, Certainty::kAnswered, FailureClass::kServer,
                    "status " + std::to_string(reply.status));
    }
    if (const std::string* name = find_text(reply.headers, "task");
        name != nullptr && out.signal == On::kStillHeld) {
      out.notes = "task=" + *name + std::string(nudge_in(facts.notes));
      out.names.push_back({"task", *name});
    }
    return out;
  }
  const std::string* name = find_text(reply.headers, "task");
  if (reply.status != 202 || name == nullptr) return classify_send(reply, false, false);
  Reading out = reading(On::kAccepted, Certainty::kAnswered, FailureClass::kNone, "");
  out.notes = "task=" + *name + std::string(nudge_in(facts.notes));
  out.names.push_back({"task", *name});
  return out;
}

// What arrives: "done T", "lost T", "seen T", "ack T K" and "pair K"; "nudge N" is for whoever
// holds the gate of that order, and "alive N" for those who wait at the frail one; "here D" is a
// sign of life of destination D; anything else is noise.
Received receive(const Inbound& inbound) {
  const std::size_t first = inbound.bytes.find(' ');
  if (first == std::string_view::npos) return {};
  const std::string_view verb = inbound.bytes.substr(0, first);
  const std::string_view rest = inbound.bytes.substr(first + 1);
  const std::string name(rest.substr(0, rest.find(' ')));
  if (verb == "here") return {.alive_destinations = {name}};
  Subject subject;
  subject.detail = inbound.bytes;
  if (verb == "nudge" || verb == "alive") {
    subject.gate = verb == "nudge" ? drill_order_gate(name) : drill_gate_name(kDrillFrail);
    subject.alive = verb == "alive";
    subject.waits = false;
    if (verb == "nudge") subject.witness = {"last", name};
    return {.subjects = {subject}};
  }
  subject.names.push_back({verb == "pair" ? "pair" : "task", name});
  if (verb == "pair") subject.window = kDrillPairWindow;
  return {.subjects = {subject}};
}

Reading notice(const Facts& facts, const Notice& notice) {
  const std::string_view verb = notice.detail.substr(0, notice.detail.find(' '));
  Reading out = reading(On::kAnswered, Certainty::kAnswered, FailureClass::kNone, "");
  if (verb == "nudge") {
    out.silent = true;
    out.notes = nudged(facts.notes, notice);
    return out;
  }
  const bool task = facts.state.method == static_cast<std::uint8_t>(DrillMethod::kTask);
  if (verb == "alive" || !task) {
    out.declines = true;
    return out;
  }
  if (verb == "pair") out.notes = std::string(facts.notes) + ";paired";
  if (verb == "seen") out.signal = On::kPeerSeen;
  if (verb == "ack") {
    out.signal = On::kAcked;
    out.names.push_back({"pair", std::string(notice.detail.substr(notice.detail.rfind(' ') + 1))});
  }
  if (verb == "lost") {
    out = reading(On::kFailed, Certainty::kAnswered, FailureClass::kOther, "lost there");
    out.closes = true;
  }
  return out;
}

// What the first start sends on.
Aftermath started(const Facts& facts) {
  const std::string to = attribute(facts, "begins");
  if (to.empty() || facts.state.attempts != 1) return {};
  NestedSubmit submit;
  submit.destination = to;
  submit.attributes = encode_texts({{"method", "post"}, {"began", to_string(facts.message.id)}});
  submit.body = "began";
  Aftermath left;
  left.submits.push_back(std::move(submit));
  return left;
}

// An end sends a message on, and leaves a name by which the next one of its order knows when it
// was.
Aftermath ended(const Facts& facts, StateIndex end) {
  Aftermath left;
  if (const std::string order = attribute(facts, "order"); !order.empty())
    left.names.push_back({"last", order});
  const std::string position = attribute(facts, "position");
  std::from_chars(position.data(), position.data() + position.size(), left.position);
  const std::string then = attribute(facts, "then");
  if (then.empty()) return left;
  NestedSubmit submit;
  submit.destination = then;
  submit.priority = facts.message.id.priority();  // what follows from it goes where it went
  submit.attributes = encode_texts({{"method", "post"}, {"after", to_string(facts.message.id)}});
  submit.body = "ended " + std::string(name_of(kStates[end].phase));
  left.submits.push_back(std::move(submit));
  return left;
}

Aftermath after(const Facts& facts, const Moment& moment) {
  switch (moment.kind) {
    case Moment::Kind::kStarted: return started(facts);
    case Moment::Kind::kAbandoned: return {};
    case Moment::Kind::kEnded: return ended(facts, moment.end);
  }
  return {};
}

Reading classify(const Facts& facts, AttemptKind kind, const WireReply& reply) {
  const auto method = static_cast<DrillMethod>(facts.state.method);
  const bool keeps_open =
      method == DrillMethod::kOnce || (method == DrillMethod::kTask && kind == AttemptKind::kSend);
  if (reply.end != WireEnd::kAnswered) return classify_end(kind, reply, keeps_open);
  if (method == DrillMethod::kTask) return classify_task(facts, kind, reply);
  if (kind != AttemptKind::kSend) return classify_question(kind, reply.status);
  return classify_send(reply, method == DrillMethod::kRelay, method == DrillMethod::kPost);
}

GateLimits gate_limits(GateName name, const Policy& /*policy*/) {
  if ((name & kLineBit) != 0) return {.in_use_max = 1};
  for (const DrillGate& gate : kGates) {
    if (drill_gate_name(gate.name) == name) return gate.limits;
  }
  if (drill_gate_name(kDrillFrail) == name) return kFrailLimits;
  for (int i = 0; i < kDrillOrders; ++i) {
    if (drill_order_gate(std::to_string(i)) == name) return {.in_use_max = 1};
  }
  return {};
}

constexpr Typed kTyped = {
    .name = "drill",
    .states = kStates,
    .methods = kMethods,
    .settings = {.configure = configure},
    .door = {.read = read, .admit = admit},
    .wire = {.judge = judge, .encode = encode, .classify = classify},
    .news = {.receive = receive, .notice = notice},
    .after = after,
    .gates = {.limits = gate_limits},
};

}  // namespace

std::uint64_t drill_seal(std::string_view key, std::string_view body) {
  return hash64(body, hash64(key));
}

std::span<const DrillGate> drill_gates() { return kGates; }

GateName drill_gate_name(std::string_view name) { return (hash64(name, 77) | 1) & ~kLineBit; }

GateName drill_order_gate(std::string_view order) {
  return drill_gate_name(std::string(kOrderGate).append(order));
}

const ProfileSpec& drill_profile() {
  static constexpr ProfileSpec kSpec = profile_of<kTyped>();
  return kSpec;
}

}  // namespace postrider::sim
