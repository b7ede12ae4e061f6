#include "postrider/profiles/lxmf/wire.h"

#include "postrider/profiles/lxmf/table.h"
#include "postrider/protocols/lxmf/text_form.h"

namespace postrider::lxmf {
namespace {

struct Meaning {
  Word word;
  On signal;
  Outcome outcome;
};

// The reasons are a closed list, which people and programs see.
const Meaning* meaning_of(int status) {
  static const auto kMeanings = std::to_array<Meaning>({
      {Word::kProven, On::kConfirmed, {Certainty::kAnswered, FailureClass::kNone, "proven"}},
      {Word::kFound, On::kAcked, {Certainty::kAnswered, FailureClass::kNone, "found"}},
      {Word::kNoPath, On::kNoRoute, {Certainty::kNotSent, FailureClass::kConnect, "no_path"}},
      {Word::kNoLink, On::kNoLink, {Certainty::kNotSent, FailureClass::kConnect, "no_link"}},
      {Word::kLinkTimedOut,
       On::kNoLink,
       {Certainty::kNotSent, FailureClass::kTimeout, "link_timeout"}},
      {Word::kStalePath, On::kStaleRoute, {Certainty::kNotSent, FailureClass::kConnect, "no_path"}},
      {Word::kRefused,
       On::kRejected,
       {Certainty::kAnswered, FailureClass::kRejected, "size_refused"}},
      {Word::kUnproven,
       On::kFailed,
       {Certainty::kUnknown, FailureClass::kTimeout, "proof_timeout"}},
      {Word::kLinkClosed,
       On::kFailed,
       {Certainty::kUnknown, FailureClass::kConnect, "link_closed"}},
      {Word::kNoInterface,
       On::kFailed,
       {Certainty::kNotSent, FailureClass::kConnect, "no_interface"}},
      {Word::kTooLarge,
       On::kFailed,
       {Certainty::kNotSent, FailureClass::kOther, "transfer_failed"}},
  });
  for (const Meaning& meaning : kMeanings) {
    if (static_cast<int>(meaning.word) == status) return &meaning;
  }
  return nullptr;
}

}  // namespace

WireRequest encode_look(const Typed::FactsView& facts, AttemptKind kind) {
  WireRequest request;
  request.verb = kVerb;
  const auto recipient = recipient_of(facts.destination.name);
  request.target = recipient ? hex_of(reticulum::view(*recipient)) : std::string();
  request.headers.add(kHeaderMethod, std::to_string(facts.state.method));
  request.headers.add(kHeaderKind, kind == AttemptKind::kFindRoute ? "find" : "look");
  if (kind == AttemptKind::kFindRoute) return request;
  request.body = facts.message.body;
  request.owner = facts.message.body_owner();
  return request;
}

// An attempt that the station did not end itself: its time was over, or the station is gone.
Reading classify_word(const Typed::FactsView& /*facts*/, AttemptKind kind, const WireReply& reply) {
  Reading reading;
  const Meaning* meaning = reply.end == WireEnd::kAnswered ? meaning_of(reply.status) : nullptr;
  if (meaning == nullptr) {
    reading.signal = On::kFailed;
    reading.outcome = {kind == AttemptKind::kFindRoute ? Certainty::kNotSent : Certainty::kUnknown,
                       FailureClass::kTimeout, "proof_timeout"};
    return reading;
  }
  reading.signal = meaning->signal;
  reading.outcome = meaning->outcome;
  // A look that ends in a search has not failed yet.
  if (kind == AttemptKind::kSend &&
      (reading.signal == On::kNoRoute || reading.signal == On::kNoLink ||
       reading.signal == On::kStaleRoute))
    reading.outcome.failure = FailureClass::kNone;
  return reading;
}

}  // namespace postrider::lxmf
