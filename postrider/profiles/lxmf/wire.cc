#include "postrider/profiles/lxmf/wire.h"

#include <array>

#include "postrider/profiles/lxmf/notes.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/profiles/lxmf/work.h"
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
      {Word::kWantsStamp,
       On::kStillHeld,
       {Certainty::kNotSent, FailureClass::kHeldBack, "the recipient wants a stamp"}},
  });
  for (const Meaning& meaning : kMeanings) {
    if (static_cast<int>(meaning.word) == status) return &meaning;
  }
  return nullptr;
}

// So long a search waits that found no room among others.
constexpr Duration kSearchAgain{1'000};

WireRequest encode_stamp_search(const Typed::FactsView& facts) {
  StampSearch::Job job;
  job.cost = decode_notes(facts.notes).cost;
  job.material = facts.parsed != nullptr ? bytes_of(facts.parsed->id) : std::string();
  facts.cabinet->random(job.start);
  const Blob input = Blob::copy_of(encode_search(job));
  WireRequest request;
  request.verb = kWorkVerb;
  request.target = kStampWork;
  request.owner = input;
  request.body = input.view();
  return request;
}

// The stamp goes into the notes, so that it is not worked for again.
Reading classify_stamp(const Typed::FactsView& facts, const WireReply& reply) {
  Reading reading;
  if (reply.end != WireEnd::kAnswered || reply.status != 200 ||
      reply.body.size() != sizeof(Stamp)) {
    reading.outcome = {Certainty::kNotSent, FailureClass::kHeldBack, "no stamp was found"};
    reading.retry_after = kSearchAgain;
    return reading;
  }
  Notes notes = decode_notes(facts.notes);
  notes.stamp = reply.body;
  notes.stamped = notes.cost;
  reading.notes = encode_notes(notes);
  reading.signal = On::kAnswered;
  reading.outcome = {Certainty::kNotSent, FailureClass::kNone, "stamped"};
  return reading;
}

}  // namespace

Judgement judge_letter(const Typed::FactsView& facts) {
  if (facts.state.state != kGenerating) return {};
  const Notes notes = decode_notes(facts.notes);
  if (notes.cost == 0 || notes.is_stamped()) return {.signal = On::kAnswered};
  if (notes.cost > kWorkCostMax)
    return {.signal = On::kExhausted, .reason = "stamp_cost_above_cap"};
  return {};
}

WireRequest encode_attempt(const Typed::FactsView& facts, AttemptKind kind) {
  if (kind == AttemptKind::kProbe) return encode_stamp_search(facts);
  WireRequest request;
  request.verb = kVerb;
  const auto recipient = recipient_of(facts.destination.name);
  request.target = recipient ? hex_of(reticulum::view(*recipient)) : std::string();
  request.headers.add(kHeaderMethod, std::to_string(facts.state.method));
  request.headers.add(kHeaderKind, kind == AttemptKind::kFindRoute ? "find" : "look");
  if (kind == AttemptKind::kFindRoute) return request;
  if (facts.parsed != nullptr && facts.parsed->stamp_cost)
    request.headers.add(kHeaderWants, std::to_string(*facts.parsed->stamp_cost));
  const Notes notes = decode_notes(facts.notes);
  if (!notes.stamp.empty()) {
    request.headers.add(kHeaderStamp, hex_of(notes.stamp));
    request.headers.add(kHeaderStamped, std::to_string(notes.stamped));
  }
  request.body = facts.message.body;
  request.owner = facts.message.body_owner();
  return request;
}

// An attempt that the station did not end itself: its time was over, or the station is gone.
Reading classify_end(const Typed::FactsView& facts, AttemptKind kind, const WireReply& reply) {
  if (kind == AttemptKind::kProbe) return classify_stamp(facts, reply);
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
  if (meaning->word == Word::kWantsStamp && reply.body.size() == 1) {
    Notes notes = decode_notes(facts.notes);
    notes.cost = static_cast<std::uint8_t>(reply.body[0]);
    reading.notes = encode_notes(notes);
  }
  // A look that ends in a search has not failed yet.
  if (kind == AttemptKind::kSend &&
      (reading.signal == On::kNoRoute || reading.signal == On::kNoLink ||
       reading.signal == On::kStaleRoute))
    reading.outcome.failure = FailureClass::kNone;
  return reading;
}

}  // namespace postrider::lxmf
