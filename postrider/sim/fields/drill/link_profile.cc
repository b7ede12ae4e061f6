#include "postrider/sim/fields/drill/link_profile.h"

#include <array>
#include <charconv>
#include <utility>

#include "postrider/sim/fields/drill/link_station.h"
#include "postrider/sim/fields/drill/table.h"

namespace postrider::sim {
namespace {

using namespace drill;  // NOLINT(google-build-using-namespace): its tables

constexpr std::array<Method, 1> kLinkMethods = {{{"post", kQueued, false, kPost}}};

std::string_view text_of(const NamedTexts& settings, std::string_view name) {
  for (const NamedText& setting : settings) {
    if (setting.first == name) return setting.second;
  }
  return {};
}

// Patient: what a world with faults delays must come through, and nothing is given up.
Result<Policy> configure_link(const NamedTexts& settings) {
  if (text_of(settings, "machine").empty())
    return fail(ErrorCode::kInvalid, "setting 'machine' is missing");
  Policy policy;
  RetryRule rule;
  rule.curve = Curve::kExponential;
  rule.base = 1s;
  rule.cap = 60s;
  rule.jitter = Jitter::kAround;
  rule.jitter_percent = 20;
  if (const std::string_view cap = text_of(settings, "cap"); !cap.empty()) {
    std::int64_t ms = 0;
    const auto read = std::from_chars(cap.data(), cap.data() + cap.size(), ms);
    if (read.ptr != cap.data() + cap.size() || ms < 1 || ms > 60'000)
      return fail(ErrorCode::kInvalid, "setting 'cap' must be a number of milliseconds");
    rule.base = rule.cap = Duration(ms);
  }
  policy.retry.fill(rule);
  policy.time_outs.fill(60s);
  policy.route.in_use_max = 8;
  if (text_of(settings, "machine") == kLinkApplication) {
    policy.pulled = true;
    policy.fifo_lanes = 0xFFFF;
  }
  return policy;
}

WireRequest encode_link(const postrider::Facts& facts, AttemptKind /*kind*/) {
  WireRequest request;
  request.verb = kLinkVerb;
  request.target = text_of(facts.destination.settings, "machine");
  request.headers.add("way", text_of(facts.destination.settings, "way"));
  request.headers.add("until", text_of(facts.destination.settings, "until"));
  request.headers.add("id", to_string(facts.id()));
  request.body = facts.message.body;
  request.owner = facts.message.body_owner();
  request.time_out = 30s;
  return request;
}

Reading classify_link(const postrider::Facts& /*facts*/, AttemptKind /*kind*/,
                      const WireReply& reply) {
  Reading reading;
  if (reply.end == WireEnd::kAnswered) {
    reading.signal = On::kAnswered;
    reading.outcome = {Certainty::kAnswered, FailureClass::kNone, "proven"};
    return reading;
  }
  const bool unsent = reply.end == WireEnd::kRefused;
  reading.signal = unsent ? On::kNoLink : On::kFailed;
  reading.outcome = {unsent ? Certainty::kNotSent : Certainty::kUnknown, FailureClass::kConnect,
                     unsent ? "no line" : "not proven"};
  return reading;
}

// "ID SENDER|TEXT" becomes "ID SENDER#NUMBER TEXT", a message for the application behind this
// machine; the card of its sender is the number of the last one.
Received receive_link(const Inbound& inbound) {
  Received out;
  const std::size_t blank = inbound.bytes.find(' ');
  const std::size_t bar = inbound.bytes.find('|');
  if (blank == std::string_view::npos || bar == std::string_view::npos || bar < blank) return out;
  const std::string id(inbound.bytes.substr(0, blank));
  const std::string sender(inbound.bytes.substr(blank + 1, bar - blank - 1));
  const std::string* const last = inbound.cabinet->card(kLinkCounts, sender);
  if (inbound.cabinet->lacks()) return out;
  std::uint64_t number = 0;
  if (last != nullptr) std::from_chars(last->data(), last->data() + last->size(), number);
  ++number;
  if (inbound.source.kind != kLinkUncounted)
    out.cards.push_back({.drawer = std::string(kLinkCounts),
                         .key = sender,
                         .bytes = std::to_string(number),
                         .expires = {}});
  if (inbound.source.kind == kLinkCount) return out;
  out.cards.push_back({.drawer = std::string(kLinkSeen),
                       .key = id,
                       .bytes = sender,
                       .expires = inbound.now + kLinkSeenFor});
  NestedSubmit submit;
  submit.destination = kLinkInbox;
  submit.body = id + " " + sender + "#" + std::to_string(number) + " ";
  submit.body.append(inbound.bytes.substr(bar + 1));
  out.submits.push_back(std::move(submit));
  out.firm = true;  // it will be proven
  return out;
}

Reading notice_link(const postrider::Facts& /*facts*/, const Notice& /*notice*/) {
  Reading reading;
  reading.declines = true;
  return reading;
}

}  // namespace

const ProfileSpec& link_profile() {
  static constexpr ProfileSpec kSpec{
      .name = kLinkProfile,
      .states = kStates,
      .methods = kLinkMethods,
      .settings = {.configure = configure_link},
      .door = {.admit = admit_first_method},
      .wire = {.judge = judge_due, .encode = encode_link, .classify = classify_link},
      .news = {.receive = receive_link, .notice = notice_link},
      .keeps_arrivals = false,
      .make_station = make_link_station,
  };
  return kSpec;
}

}  // namespace postrider::sim
