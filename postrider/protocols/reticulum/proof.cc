#include "postrider/protocols/reticulum/proof.h"

namespace postrider::reticulum {

std::string make_proof(const SigningKey& signing, const Digest& packet) {
  const Signature signature = signing.sign(view(packet));
  return encode_packet({.kind = PacketKind::kProof,
                        .destination_kind = DestinationKind::kSingle,
                        .destination = truncated(packet),
                        .data = view(signature)});
}

std::string make_link_proof(const SigningKey& signing, const Address& link, const Digest& packet) {
  std::string data(view(packet));
  data += view(signing.sign(view(packet)));
  return encode_packet({.kind = PacketKind::kProof,
                        .destination_kind = DestinationKind::kLink,
                        .destination = link,
                        .data = data});
}

bool Receipts::expect(const Digest& packet, const Key& signer, SendId id) {
  if (waiting_.size() >= waiting_max_) return false;
  const Address key = truncated(packet);
  if (!waiting_.emplace(key, Waiting{packet, signer, id}).second) return false;
  by_id_.emplace(id, key);
  return true;
}

ProofReading Receipts::settle(const Address& destination, std::string_view data) {
  const auto found = waiting_.find(destination);
  if (found == waiting_.end()) return {.verdict = ProofVerdict::kUnknown};
  const Waiting& waiting = found->second;
  constexpr std::size_t kHash = sizeof(Digest);
  if (data.size() == kHash + sizeof(Signature)) {
    if (data.substr(0, kHash) != view(waiting.packet)) return {.verdict = ProofVerdict::kForged};
    data.remove_prefix(kHash);
  }
  if (data.size() != sizeof(Signature)) return {.verdict = ProofVerdict::kDamaged};
  if (!is_signed_by(waiting.signer, view(waiting.packet), data))
    return {.verdict = ProofVerdict::kForged};
  const SendId id = waiting.id;
  const auto [begin, end] = by_id_.equal_range(id);
  for (auto at = begin; at != end; ++at) {
    if (at->second != destination) continue;
    by_id_.erase(at);
    break;
  }
  waiting_.erase(found);
  return {.verdict = ProofVerdict::kProven, .id = id};
}

void Receipts::forget(SendId id) {
  const auto [begin, end] = by_id_.equal_range(id);
  for (auto at = begin; at != end; ++at) waiting_.erase(at->second);
  by_id_.erase(begin, end);
}

}  // namespace postrider::reticulum
