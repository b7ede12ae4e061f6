// Proofs of single packets, and the receipts that wait for them. Receipts: one owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/ids.h"
#include "postrider/base/result.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/crypto.h"
#include "postrider/protocols/reticulum/packet.h"

namespace postrider::reticulum {

// The implicit form: the signature alone, to the address that the packet's hash gives.
std::string make_proof(const SigningKey& signing, const Digest& packet);
// The explicit form, on a link.
std::string make_link_proof(const SigningKey& signing, const Address& link, const Digest& packet);

// A caller's own number of what it sent.
using SendId = Id<struct SendIdTag>;

enum class ProofVerdict : std::uint8_t {
  kProven,
  kUnknown,  // of a packet that was never sent, is proven already, or is not waited for any more
  kForged,   // of another key
  kDamaged,
};
struct ProofReading {
  ProofVerdict verdict = ProofVerdict::kUnknown;
  SendId id;  // when proven
};

// What was sent to a destination and not proven yet. Registered before the bytes leave, so a proof
// cannot be too early. Several packets may belong to one id.
class Receipts {
 public:
  explicit Receipts(std::size_t waiting_max = 65'536) : waiting_max_(waiting_max) {}

  // False: there are too many, and this one would never be proven.
  bool expect(const Digest& packet, const Key& signer, SendId id);
  // Forgets the receipt when it is proven; `data` is a proof packet's, in either form.
  ProofReading settle(const Address& destination, std::string_view data);
  void forget(SendId id);  // all packets of it
  std::size_t size() const { return waiting_.size(); }

 private:
  struct Waiting {
    Digest packet;
    Key signer;
    SendId id;
  };
  std::size_t waiting_max_;
  std::map<Address, Waiting> waiting_;
  std::multimap<SendId, Address> by_id_;
};

}  // namespace postrider::reticulum
