// Access code of a private network ("IFAC"): every packet of such an interface is signed by a key
// that the network's name and passphrase give, and masked. Values; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/crypto.h"

namespace postrider::reticulum {

class AccessCode {
 public:
  static constexpr std::size_t kBytesMin = 1;
  static constexpr std::size_t kBytesMax = 64;
  static constexpr std::size_t kBytesDefault = 16;

  struct Network {
    std::string name;        // empty: none
    std::string passphrase;  // empty: none
    std::size_t bytes = kBytesDefault;
  };
  // kInvalid: neither name nor passphrase, or an impossible number of bytes.
  static Result<AccessCode> make(const Network& network);

  // kCorrupt: this is no packet.
  Result<std::string> mask(std::string_view raw) const;
  // kCorrupt: too short, not masked, or of another network.
  Result<std::string> unmask(std::string_view masked) const;

 private:
  AccessCode(const Bytes<64>& key, std::size_t bytes);
  void apply_mask(std::string& packet) const;

  Bytes<64> key_;
  SigningKey signing_;
  std::size_t bytes_;
};

}  // namespace postrider::reticulum
