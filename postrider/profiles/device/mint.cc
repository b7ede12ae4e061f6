#include "postrider/profiles/device/mint.h"

#include "postrider/base/check.h"
#include "postrider/base/hash.h"
#include "postrider/profiles/device/notes.h"
#include "postrider/profiles/device/rules.h"
#include "postrider/profiles/device/settings.h"
#include "postrider/profiles/device/table.h"
#include "postrider/profiles/device/wire.h"
#include "postrider/protocols/device/mint.h"

namespace postrider::device {
namespace {

constexpr std::string_view kAttribute = "method";
constexpr int kRandomNumbers = 16;

bool by_vendor(const DestinationFacts& queue) {
  return way_of(wire_of(queue)) == Way::kPull && setting(queue, "sts_url").empty();
}

std::string_view maker_of(const DestinationFacts& queue) {
  return by_vendor(queue) ? setting(queue, "url") : setting(queue, "sts_url");
}

Result<calin::Call> call_of(const Facts& facts, const Mint& mint) {
  const std::string vend(setting(facts.destination, "vend_password"));
  if (!by_vendor(facts.destination)) {
    const std::uint64_t drawn = hash64(to_string(facts.id()), 5);
    return mint_call_sts(mint, static_cast<int>(drawn % kRandomNumbers));
  }
  if (wire_of(facts.destination) == Wire::kCalinV1)
    return mint_call_v1({.credentials = credentials_v1(facts), .vend_password = vend}, mint);
  return mint_call_v2({.credentials = credentials_v2(facts),
                       .vend_password = vend,
                       .serial = uuid_of(facts.id(), facts.now)},
                      mint);
}

SendReply read_reply(const Facts& facts, const WireReply& reply) {
  const calin::HttpAnswer answer = answer_of(reply);
  if (!by_vendor(facts.destination)) return read_mint_sts(answer);
  return wire_of(facts.destination) == Wire::kCalinV1 ? read_mint_v1(answer) : read_mint_v2(answer);
}

}  // namespace

std::string uuid_of(PublicId id, Timestamp at) {
  const std::string seed = to_string(id) + std::to_string(at.ms());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::uint64_t half : {hash64(seed, 1), hash64(seed, 2)}) {
    for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[(half >> shift) & 15]);
  }
  out[12] = '8';  // a version of one's own making …
  out[16] = '8';  // … and the usual variant
  for (const std::size_t place :
       {std::size_t{20}, std::size_t{16}, std::size_t{12}, std::size_t{8}})
    out.insert(place, 1, '-');
  return out;
}

std::string mint_attributes() {
  return encode_texts({{std::string(kAttribute), std::string(kMethods[kMintMethod].name)}});
}

Result<bool> says_mint(std::string_view attributes) {
  if (attributes.empty()) return false;
  POSTRIDER_TRY(texts, decode_texts(attributes));
  const std::string* const method = find_text(texts, kAttribute);
  if (method == nullptr) return false;
  if (*method == kMethods[kMintMethod].name) return true;
  return fail(ErrorCode::kInvalid, "method: it may be 'mint', and is left out for a command");
}

Result<Admission> admit_mint(const Offer& offer) {
  if (mint_of(offer).plugin != setting(offer.destination, "plugin"))
    return fail(ErrorCode::kInvalid, "pluginId: this queue is of another plugin");
  if (maker_of(offer.destination).empty())
    return fail(ErrorCode::kInvalid, "this plugin makes no tokens: it needs sts_url");
  Admission out;
  out.method = kMintMethod;
  out.gates[0] = endpoint_gate(maker_of(offer.destination), offer.policy);
  return out;
}

Judgement judge_mint(const Facts& facts) {
  const auto made = call_of(facts, mint_of(facts));
  if (!made) return {On::kRejected, made.error().detail};
  return {};
}

WireRequest encode_mint_call(const Facts& facts) {
  const auto made = call_of(facts, mint_of(facts));
  POSTRIDER_CHECK(made.has_value());  // judge has seen to it
  WireRequest request = post(facts, *made);
  request.target = std::string(maker_of(facts.destination)).append(made->path);
  if (!by_vendor(facts.destination)) request.login.reset();
  return request;
}

Reading classify_mint(const Facts& facts, const WireReply& reply) {
  if (reply.end != WireEnd::kAnswered) return unanswered_send(facts, reply);
  const SendReply said = read_reply(facts, reply);
  Notes notes = decode_notes(facts.notes);
  if (said.verdict == SendVerdict::kAccepted) {
    notes.executed = true;
    notes.item = said.item;
    Reading out;
    out.signal = On::kAnswered;
    out.outcome.certainty = Certainty::kAnswered;
    out.notes = encode_notes(notes);
    return out;
  }
  return refused_send(facts, said);
}

Aftermath ended_mint(const Facts& facts, StateIndex end) {
  Notes notes = decode_notes(facts.notes);
  Mint mint = mint_of(facts);
  mint.decoder_key.clear();
  notes.summary = encode_mint(mint);
  notes.may_have_run = end == kDone || end == kUnknown;
  Aftermath out;
  out.outcome = end == kDone      ? "executed"
                : end == kUnknown ? "unknown"
                                  : name_of(outcome_of({.end = end, .command = mint.type}));
  notes.outcome = out.outcome;
  out.notes = encode_notes(notes);
  return out;
}

Minted minted(const MessageView& view) {
  const Notes notes = decode_notes(view.notes);
  Minted out;
  if (!is_end(view.explanation.phase)) return out;
  out.reason = view.explanation.reason;
  out.fate = Minted::Fate::kFailed;
  if (view.explanation.phase == Phase::kIndeterminate) out.fate = Minted::Fate::kUnknown;
  if (view.explanation.phase == Phase::kDelivered) {
    out.fate = Minted::Fate::kMade;
    out.token = notes.item;
  }
  return out;
}

}  // namespace postrider::device
