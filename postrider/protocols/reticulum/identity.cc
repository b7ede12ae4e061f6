#include "postrider/protocols/reticulum/identity.h"

#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

Key half(const Bytes<64>& from, std::size_t at) {
  Key out;
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), out.size(), out.begin());
  return out;
}

// The salt is the identity also when the key agreed with is a ratchet.
TokenKey sealing_key(const Key& shared, const Address& identity) {
  return hkdf<64>(view(shared), view(identity));
}

}  // namespace

Address identity_hash(const PublicKeys& keys) { return short_hash({view(keys)}); }

Result<Identity> Identity::from_file(std::string_view bytes) {
  const auto secret = exactly<64>(bytes);
  if (!secret) {
    return fail(ErrorCode::kInvalid,
                "an identity file has 64 bytes, not " + std::to_string(bytes.size()));
  }
  return Identity(*secret);
}

Identity::Identity(const Bytes<64>& secret)
    : agreement_(half(secret, 0)), signing_(half(secret, 32)) {
  const Key agreement = x25519_public(agreement_);
  std::copy(agreement.begin(), agreement.end(), public_.begin());
  std::copy(signing_.public_key().begin(), signing_.public_key().end(), public_.begin() + 32);
  hash_ = identity_hash(public_);
}

NameHash name_hash(std::string_view name) { return first<10>(sha256(name)); }

Address single_destination(const NameHash& name, const Address& identity) {
  return short_hash({view(name), view(identity)});
}

Address plain_destination(const NameHash& name) { return short_hash({view(name)}); }

SealKeys fresh_seal_keys(Random& random) {
  return {.ephemeral = random.bytes<32>(), .iv = random.bytes<16>()};
}

Result<std::string> seal_for(const PublicKeys& recipient, const std::optional<Key>& ratchet,
                             const SealKeys& keys, std::string_view plain) {
  POSTRIDER_TRY(shared, x25519(keys.ephemeral, ratchet ? *ratchet : agreement_part(recipient)));
  TokenKey key = sealing_key(shared, identity_hash(recipient));
  std::string out(view(x25519_public(keys.ephemeral)));
  out += seal_token(key, keys.iv, plain);
  wipe(key);
  return out;
}

Result<std::string> open_sealed(const Identity& identity, std::span<const Key> ratchets,
                                std::string_view sealed, bool ratchets_only) {
  if (sealed.size() < sealed_bytes(0)) return fail(ErrorCode::kCorrupt, "sealed packet too short");
  const auto ephemeral = exactly<32>(sealed.substr(0, 32));
  const std::string_view token = sealed.substr(32);
  const auto attempt = [&](const Key& secret) -> Result<std::string> {
    POSTRIDER_TRY(shared, x25519(secret, *ephemeral));
    TokenKey key = sealing_key(shared, identity.hash());
    Result<std::string> out = open_token(key, token);
    wipe(key);
    return out;
  };
  for (const Key& ratchet : ratchets) {
    if (Result<std::string> out = attempt(ratchet)) return out;
  }
  if (ratchets_only) return fail(ErrorCode::kCorrupt, "sealed packet for none of the ratchets");
  return attempt(identity.agreement_secret());
}

}  // namespace postrider::reticulum
