#include "postrider/profiles/lxmf/wire.h"

#include <array>

#include "postrider/profiles/lxmf/cards.h"
#include "postrider/profiles/lxmf/notes.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/profiles/lxmf/work.h"
#include "postrider/protocols/lxmf/propagation.h"
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
      {Word::kNoNode,
       On::kNoRoute,
       {Certainty::kNotSent, FailureClass::kConnect, "no_propagation_node"}},
      {Word::kNodeNoPath, On::kNoRoute, {Certainty::kNotSent, kNodeFailure, "no_path"}},
      {Word::kStampRefused,
       On::kStaleRoute,
       {Certainty::kAnswered, FailureClass::kRejected, "stamp_refused"}},
      {Word::kUploadDropped,
       On::kStaleRoute,
       {Certainty::kAnswered, FailureClass::kRejected, "stamp_refused"}},
      {Word::kUploadLost,
       On::kStaleRoute,
       {Certainty::kNotSent, FailureClass::kOther, "transfer_failed"}},
      {Word::kNoAccess,
       On::kRejected,
       {Certainty::kAnswered, FailureClass::kRejected, "no_access"}},
      {Word::kLearnt, On::kAcked, {Certainty::kNotSent, FailureClass::kNone, "found"}},
  });
  for (const Meaning& meaning : kMeanings) {
    if (static_cast<int>(meaning.word) == status) return &meaning;
  }
  return nullptr;
}

std::string_view node_of(const Typed::FactsView& facts) {
  return facts.prepared == nullptr ? std::string_view() : facts.prepared->node;
}

// What is sealed is a card under the id of the message, also for a dead letter that is sent again:
// sealing it once more would make another message of it.
void take_learnt(const Typed::FactsView& facts, const WireReply& reply, Reading& reading) {
  if (reply.body.empty() || facts.parsed == nullptr) return;
  Notes notes = decode_notes(facts.notes);
  notes.cost = static_cast<std::uint8_t>(reply.body[0]);
  notes.node = node_of(facts);
  const std::string_view sealed = std::string_view(reply.body).substr(1);
  if (notes.sealed.empty()) {
    const std::string key = bytes_of(facts.parsed->id);
    const std::string* const before = facts.cabinet->card(kUploads, key);
    if (facts.cabinet->lacks()) return;
    notes.sealed = reticulum::view(transient_id(before != nullptr ? *before : sealed));
    if (before == nullptr)
      reading.cards.push_back({.drawer = std::string(kUploads),
                               .key = key,
                               .bytes = std::string(sealed),
                               .expires = facts.now + kUploadKept});
  }
  reading.notes = encode_notes(notes);
}

// A node that did not take the stamp is asked for its cost anew, and gets another stamp. A refusal
// that it says counts once, one that it only shows twice.
void take_refusal(const Typed::FactsView& facts, Word word, Reading& reading) {
  Notes notes = decode_notes(facts.notes);
  const std::uint8_t renewals_max = word == Word::kStampRefused ? 1 : 2;
  if (notes.renewed >= renewals_max) {
    reading.signal = On::kRejected;
    return;
  }
  ++notes.renewed;
  notes.cost = notes.stamped = 0;
  notes.stamp.clear();
  reading.notes = encode_notes(notes);
}

// The same words mean other things on the way to a node.
void read_for_node(const Typed::FactsView& facts, Word word, const WireReply& reply,
                   Reading& reading) {
  if (word == Word::kProven) reading.signal = On::kAccepted;
  if (word == Word::kFound) reading.outcome.certainty = Certainty::kNotSent;
  if (facts.state.method != kPropagated) return;
  const bool on_the_way = word == Word::kLinkTimedOut || word == Word::kUnproven ||
                          word == Word::kLinkClosed || word == Word::kNoInterface ||
                          word == Word::kTooLarge;
  if (on_the_way) reading.outcome.failure = kNodeFailure;
  if (word == Word::kLearnt) take_learnt(facts, reply, reading);
  if (word == Word::kStampRefused || word == Word::kUploadDropped)
    take_refusal(facts, word, reading);
  if (word == Word::kUploadLost) {
    Notes notes = decode_notes(facts.notes);
    notes.sealed.clear();
    notes.stamp.clear();
    reading.notes = encode_notes(notes);
  }
}

void add_propagated(const Typed::FactsView& facts, const Notes& notes, WireRequest& request) {
  request.headers.add(kHeaderNode, node_of(facts));
  if (facts.parsed != nullptr) request.headers.add(kHeaderId, facts.parsed->id);
  if (!notes.sealed.empty()) request.headers.add(kHeaderSealed, hex_of(notes.sealed));
}

// So long a search waits that found no room among others.
constexpr Duration kSearchAgain{1'000};

WireRequest encode_stamp_search(const Typed::FactsView& facts) {
  StampSearch::Job job;
  const Notes notes = decode_notes(facts.notes);
  job.cost = notes.lacks_inner() ? notes.inner_cost : notes.cost;
  if (facts.state.method == kPropagated && !notes.lacks_inner()) {
    job.material = notes.sealed;
    job.rounds = kPropagationRounds;
  } else if (facts.parsed != nullptr) {
    job.material = bytes_of(facts.parsed->id);
  }
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
  const bool inner = notes.lacks_inner();
  (inner ? notes.inner_stamp : notes.stamp) = reply.body;
  (inner ? notes.inner_stamped : notes.stamped) = inner ? notes.inner_cost : notes.cost;
  reading.notes = encode_notes(notes);
  reading.signal = inner ? On::kProgressed : On::kAnswered;
  reading.outcome = {Certainty::kNotSent, FailureClass::kNone, "stamped"};
  return reading;
}

}  // namespace

Judgement judge_letter(const Typed::FactsView& facts) {
  if (facts.state.state != kGenerating) return {};
  const Notes notes = decode_notes(facts.notes);
  const std::uint8_t cost = notes.lacks_inner() ? notes.inner_cost : notes.cost;
  if (!notes.lacks_inner()) {
    if (facts.state.method == kPropagated && !notes.is_ready_for(node_of(facts)))
      return {.signal = On::kNoRoute};
    if (cost == 0 || notes.is_stamped()) return {.signal = On::kAnswered};
  }
  if (cost > kWorkCostMax)
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
  const Notes notes = decode_notes(facts.notes);
  const bool learns = facts.state.method == kPropagated && !notes.is_ready_for(node_of(facts));
  request.headers.add(kHeaderKind, kind == AttemptKind::kSend ? "look" : learns ? "learn" : "find");
  if (facts.state.method == kPropagated) add_propagated(facts, notes, request);
  if (facts.state.method == kSync && facts.parsed != nullptr)
    request.headers.add(kHeaderFrom, facts.parsed->from);
  if (kind == AttemptKind::kFindRoute && !learns) return request;
  if (facts.parsed != nullptr && facts.parsed->stamp_cost)
    request.headers.add(kHeaderWants, std::to_string(*facts.parsed->stamp_cost));
  const std::string& stamp = learns ? notes.inner_stamp : notes.stamp;
  if (!stamp.empty()) {
    request.headers.add(kHeaderStamp, hex_of(stamp));
    request.headers.add(kHeaderStamped,
                        std::to_string(learns ? notes.inner_stamped : notes.stamped));
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
                       facts.state.method == kPropagated ? kNodeFailure : FailureClass::kTimeout,
                       "proof_timeout"};
    return reading;
  }
  reading.signal = meaning->signal;
  reading.outcome = meaning->outcome;
  if (meaning->word == Word::kWantsStamp && reply.body.size() == 1) {
    Notes notes = decode_notes(facts.notes);
    const bool inner = facts.state.method == kPropagated;
    (inner ? notes.inner_cost : notes.cost) = static_cast<std::uint8_t>(reply.body[0]);
    reading.notes = encode_notes(notes);
    if (inner) reading.signal = On::kAcked;  // what is to be learnt first is learnt
  }
  if (facts.state.method == kPropagated || facts.state.method == kSync)
    read_for_node(facts, meaning->word, reply, reading);
  // A look that ends in a search has not failed yet.
  if (kind == AttemptKind::kSend && facts.state.method != kSync &&
      (reading.signal == On::kNoRoute || reading.signal == On::kNoLink ||
       reading.signal == On::kStaleRoute))
    reading.outcome.failure = FailureClass::kNone;
  return reading;
}

}  // namespace postrider::lxmf
