#include "postrider/sim/fields/drill/link_profile.h"

#include <array>
#include <utility>

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
  policy.retry.fill(rule);
  policy.time_outs.fill(60s);
  policy.route.in_use_max = 8;
  return policy;
}

WireRequest encode_link(const postrider::Facts& facts, AttemptKind /*kind*/) {
  WireRequest request;
  request.verb = kLinkVerb;
  request.target = text_of(facts.destination.settings, "machine");
  request.headers.add("way", text_of(facts.destination.settings, "way"));
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

// What arrives is a message for the application behind this machine.
Received receive_link(const Inbound& inbound) {
  Received out;
  NestedSubmit submit;
  submit.destination = kLinkInbox;
  submit.body = inbound.bytes;
  out.submits.push_back(std::move(submit));
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
  };
  return kSpec;
}

}  // namespace postrider::sim
