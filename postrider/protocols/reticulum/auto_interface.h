// Finding peers on the same network: the multicast group, the beacon that each peer sends to it,
// and who was heard. AutoPeers: one owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/protocols/reticulum/bytes.h"

namespace postrider::reticulum {

inline constexpr std::uint16_t kBeaconPort = 29716;
inline constexpr std::uint16_t kUnicastBeaconPort = 29717;
inline constexpr std::uint16_t kAutoDataPort = 42671;
inline constexpr Duration kBeaconEvery = 1600ms;
inline constexpr Duration kAutoPeerLife = 22s;
inline constexpr std::size_t kAutoMtu = 1196;
inline constexpr std::string_view kAutoGroup = "reticulum";

// "ff12:0:d70b:…": the group of the link's scope that a group id gives.
std::string auto_group_address(std::string_view group);
// `address`: the text of the sender's link-local address, without a zone.
Digest auto_beacon(std::string_view group, std::string_view address);

class AutoPeers {
 public:
  explicit AutoPeers(std::string group, std::size_t peers_max = 1024)
      : group_(std::move(group)), peers_max_(peers_max) {}

  enum class Heard : std::uint8_t { kNew, kKnown, kForeign, kTooMany };
  // A beacon from the address that the datagram came from; foreign: of another group, or forged.
  Heard hear(std::string_view address, std::string_view beacon, Timestamp now);
  // Data of a peer counts as a sign of life; false: no peer.
  bool lives(std::string_view address, Timestamp now);
  std::vector<std::string> forget(Timestamp now);  // the peers that fell silent
  std::optional<Timestamp> next_deadline() const;
  std::size_t size() const { return peers_.size(); }

 private:
  std::string group_;
  std::size_t peers_max_;
  std::map<std::string, Timestamp, std::less<>> peers_;  // when each was heard last
};

}  // namespace postrider::reticulum
