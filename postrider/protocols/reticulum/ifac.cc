#include "postrider/protocols/reticulum/ifac.h"

#include "postrider/protocols/reticulum/packet.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

constexpr char kMaskedFlag = static_cast<char>(0x80);
constexpr Bytes<32> kNetworkSalt = {
    0xad, 0xf5, 0x4d, 0x88, 0x2c, 0x9a, 0x9b, 0x80, 0x77, 0x1e, 0xb4, 0x99, 0x5d, 0x70, 0x2d, 0x4a,
    0x3e, 0x73, 0x33, 0x91, 0xb2, 0xa0, 0xf5, 0x3f, 0x41, 0x6d, 0x9f, 0x90, 0x7e, 0x55, 0xcf, 0xf8};

Key seed_of(const Bytes<64>& key) {
  Key out;
  std::copy_n(key.begin() + 32, out.size(), out.begin());
  return out;
}

}  // namespace

Result<AccessCode> AccessCode::make(const Network& network) {
  if (network.bytes < kBytesMin || network.bytes > kBytesMax)
    return fail(ErrorCode::kInvalid, "an access code has 1 to 64 bytes");
  std::string origin;
  if (!network.name.empty()) origin += view(sha256(network.name));
  if (!network.passphrase.empty()) origin += view(sha256(network.passphrase));
  if (origin.empty())
    return fail(ErrorCode::kInvalid, "a private network has a name or passphrase");
  return AccessCode(hkdf<64>(view(sha256(origin)), view(kNetworkSalt)), network.bytes);
}

AccessCode::AccessCode(const Bytes<64>& key, std::size_t bytes)
    : key_(key), signing_(seed_of(key)), bytes_(bytes) {}

// Everything but the code itself, which the mask is made of. The bit that says "masked" stays.
void AccessCode::apply_mask(std::string& packet) const {
  const std::string_view code = std::string_view(packet).substr(2, bytes_);
  std::string mask(packet.size(), '\0');
  hkdf(code, view(key_), {reinterpret_cast<std::uint8_t*>(mask.data()), mask.size()});
  for (std::size_t i = 0; i < packet.size(); ++i) {
    if (i < 2 || i >= 2 + bytes_) packet[i] = static_cast<char>(packet[i] ^ mask[i]);
  }
}

Result<std::string> AccessCode::mask(std::string_view raw) const {
  if (raw.size() < kHeaderBytes || raw.size() > kPacketBytesMax)
    return fail(ErrorCode::kCorrupt, "no packet to be masked");
  const Signature signature = signing_.sign(raw);
  std::string out(raw.substr(0, 2));
  out += view(signature).substr(signature.size() - bytes_);
  out += raw.substr(2);
  apply_mask(out);
  out[0] = static_cast<char>(out[0] | kMaskedFlag);
  return out;
}

Result<std::string> AccessCode::unmask(std::string_view masked) const {
  if (masked.size() < kHeaderBytes + bytes_ || masked.size() > kPacketBytesMax + bytes_)
    return fail(ErrorCode::kCorrupt, "masked packet of an impossible length");
  if ((masked[0] & kMaskedFlag) == 0)
    return fail(ErrorCode::kCorrupt, "packet without an access code");
  std::string plain(masked);
  apply_mask(plain);
  const std::string code = plain.substr(2, bytes_);
  plain.erase(2, bytes_);
  plain[0] = static_cast<char>(plain[0] & ~kMaskedFlag);
  const Signature signature = signing_.sign(plain);
  if (!equal_in_constant_time(view(signature).substr(signature.size() - bytes_), code))
    return fail(ErrorCode::kCorrupt, "packet with the access code of another network");
  return plain;
}

}  // namespace postrider::reticulum
