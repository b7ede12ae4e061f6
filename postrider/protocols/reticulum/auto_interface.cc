#include "postrider/protocols/reticulum/auto_interface.h"

#include "postrider/protocols/reticulum/crypto.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

std::string hextet(std::uint8_t high, std::uint8_t low) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const unsigned value = static_cast<unsigned>(high) << 8 | low;
  std::string out;
  for (int shift = 12; shift >= 0; shift -= 4) {
    const unsigned digit = value >> shift & 0xF;
    if (digit != 0 || !out.empty() || shift == 0) out.push_back(kDigits[digit]);
  }
  return out;
}

}  // namespace

std::string auto_group_address(std::string_view group) {
  const Digest hash = sha256(group);
  std::string out = "ff12:0";
  for (std::size_t at = 2; at < 14; at += 2) out += ":" + hextet(hash[at], hash[at + 1]);
  return out;
}

Digest auto_beacon(std::string_view group, std::string_view address) {
  return sha256({group, address});
}

AutoPeers::Heard AutoPeers::hear(std::string_view address, std::string_view beacon, Timestamp now) {
  if (!equal_in_constant_time(beacon, view(auto_beacon(group_, address)))) return Heard::kForeign;
  if (lives(address, now)) return Heard::kKnown;
  if (peers_.size() >= peers_max_) return Heard::kTooMany;
  peers_.emplace(address, now);
  return Heard::kNew;
}

bool AutoPeers::lives(std::string_view address, Timestamp now) {
  const auto found = peers_.find(address);
  if (found == peers_.end()) return false;
  found->second = now;
  return true;
}

std::vector<std::string> AutoPeers::forget(Timestamp now) {
  std::vector<std::string> out;
  for (auto at = peers_.begin(); at != peers_.end();) {
    if (now < at->second + kAutoPeerLife) {
      ++at;
      continue;
    }
    out.push_back(at->first);
    at = peers_.erase(at);
  }
  return out;
}

std::optional<Timestamp> AutoPeers::next_deadline() const {
  std::optional<Timestamp> next;
  for (const auto& [address, heard] : peers_) {
    const Timestamp end = heard + kAutoPeerLife;
    if (!next || end < *next) next = end;
  }
  return next;
}

}  // namespace postrider::reticulum
