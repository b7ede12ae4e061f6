// Identities, names and destinations, and how a packet for one destination is sealed. Secrets are
// wiped when an identity goes. Values; any thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/crypto.h"

namespace postrider::reticulum {

// X25519, then Ed25519.
using PublicKeys = Bytes<64>;
Address identity_hash(const PublicKeys& keys);
inline Key signing_part(const PublicKeys& keys) {
  Key out;
  std::copy_n(keys.begin() + 32, 32, out.begin());
  return out;
}
inline Key agreement_part(const PublicKeys& keys) { return first<32>(keys); }

class Identity {
 public:
  // The 64 raw bytes of an identity file. kInvalid: it has another length.
  static Result<Identity> from_file(std::string_view bytes);
  explicit Identity(const Bytes<64>& secret);
  ~Identity() { wipe(agreement_); }
  Identity(const Identity&) = default;
  Identity& operator=(const Identity&) = default;

  const PublicKeys& public_keys() const { return public_; }
  const Address& hash() const { return hash_; }
  const Key& agreement_secret() const { return agreement_; }
  const SigningKey& signing() const { return signing_; }
  Signature sign(std::string_view bytes) const { return signing_.sign(bytes); }

 private:
  Key agreement_;
  SigningKey signing_;
  PublicKeys public_{};
  Address hash_{};
};

// "lxmf.delivery": an application and its aspects.
NameHash name_hash(std::string_view name);
Address single_destination(const NameHash& name, const Address& identity);
Address plain_destination(const NameHash& name);

// What one packet to a destination hides in: a fresh key and a token.
struct SealKeys {
  Key ephemeral;  // secret, fresh for each packet
  TokenIv iv;
};
SealKeys fresh_seal_keys(Random& random);
constexpr std::size_t sealed_bytes(std::size_t plain) { return 32 + token_bytes(plain); }

// To the ratchet that the destination announced last, if there is one, else to its identity.
// kInvalid: its key is no good key.
Result<std::string> seal_for(const PublicKeys& recipient, const std::optional<Key>& ratchet,
                             const SealKeys& keys, std::string_view plain);
// Tries the ratchets in the given order, then, unless `ratchets_only`, the identity's own key: many
// peers have not heard the newest announce. kCorrupt: none of them opens it.
Result<std::string> open_sealed(const Identity& identity, std::span<const Key> ratchets,
                                std::string_view sealed, bool ratchets_only = false);

}  // namespace postrider::reticulum
