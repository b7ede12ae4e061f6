#include "postrider/sim/fields/lxmf/mistakes.h"

#include <string>
#include <vector>

#include "postrider/profiles/lxmf/cards.h"
#include "postrider/profiles/lxmf/notes.h"
#include "postrider/profiles/lxmf/profile.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/protocols/lxmf/text_form.h"

namespace postrider::sim {

Received forget_seen(const Inbound& inbound) {
  Received out = lxmf::receive_arrival(inbound);
  std::erase_if(out.cards, [](const Card& card) { return card.drawer == lxmf::kSeen; });
  return out;
}

Reading forget_stamp(const Facts& facts, AttemptKind kind, const WireReply& reply) {
  Reading out = kLxmf.wire.classify(facts, kind, reply);
  if (kind == AttemptKind::kProbe) out.notes.reset();
  if (kind == AttemptKind::kProbe && out.signal == On::kAnswered) out.signal = On::kFailed;
  return out;
}

Reading reseal(const Facts& facts, AttemptKind kind, const WireReply& reply) {
  Reading out = kLxmf.wire.classify(facts, kind, reply);
  if (facts.state.method != lxmf::kPropagated || kind != AttemptKind::kSend ||
      out.signal != On::kFailed)
    return out;
  lxmf::Notes notes = lxmf::decode_notes(facts.notes);
  const NamedTexts texts = decode_texts(facts.message.attributes).value_or(NamedTexts{});
  for (const auto& [name, text] : texts) {
    if (name != "id") continue;
    out.cards.push_back({.drawer = std::string(lxmf::kUploads),
                         .key = lxmf::bytes_of(text),
                         .removed = true});
  }
  notes.sealed.clear();
  notes.stamp.clear();
  out.notes = lxmf::encode_notes(notes);
  out.signal = On::kStaleRoute;
  return out;
}

}  // namespace postrider::sim
