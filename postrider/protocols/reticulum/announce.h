// Announces: how a destination says its keys, and what it wants known of itself. Also the ratchets
// of an own destination. Times are the wall's. Values and pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/identity.h"
#include "postrider/protocols/reticulum/packet.h"

namespace postrider::reticulum {

// Five random bytes, five of the time in seconds.
using AnnounceRandom = Bytes<10>;
AnnounceRandom announce_random(const Bytes<5>& random, std::uint64_t seconds);
std::uint64_t announce_seconds(const AnnounceRandom& random);

// Times before mean "no clock": nothing is ordered by them.
inline constexpr std::uint64_t kClockSecondsMin = 1'577'836'800;  // 2020-01-01
// Some peers fill the time with random bytes, too.
inline constexpr std::uint64_t kSecondsAheadMax = 24 * 60 * 60;
// The time of an announce, if it is one that announces can be ordered by.
std::optional<std::uint64_t> credible_seconds(const AnnounceRandom& random, Timestamp wall);
// The time of the next own announce: later than the last one, also when the clock was set back.
std::uint64_t next_announce_seconds(Timestamp wall, std::uint64_t last_seconds);

// A view of a packet's bytes, as Packet is.
struct Announce {
  Address destination{};
  PublicKeys keys{};
  NameHash name{};
  AnnounceRandom random{};
  std::optional<Key> ratchet;
  Signature signature{};
  std::string_view app_data;
  bool is_path_response = false;
};

struct AnnounceOrder {
  NameHash name;
  AnnounceRandom random;
  std::optional<Key> ratchet;  // public
  std::string_view app_data;
  bool is_path_response = false;
};
std::string make_announce(const Identity& identity, const AnnounceOrder& order);

// The cheap part: kCorrupt when it is cut off, kInvalid when the keys do not give the address.
Result<Announce> read_announce(const Packet& packet);

enum class AnnounceVerdict : std::uint8_t {
  kGood,
  kForeignKey,    // the address is known with other keys
  kBadSignature,  // the expensive part
};
AnnounceVerdict judge_announce(const Announce& announce, const PublicKeys* known);

// A peer's ratchet is used while its announce is younger.
inline constexpr Duration kRatchetUsedFor = 30 * 24h;

// The ratchets of an own destination, newest first. Must be durable before an announce carries the
// newest of them.
class Ratchets {
 public:
  static constexpr std::size_t kKeptMax = 512;
  static constexpr Duration kRotateAfter = 30min;

  ~Ratchets();
  Ratchets() = default;
  Ratchets(const Ratchets&) = default;
  Ratchets& operator=(const Ratchets&) = default;

  // Makes a new one unless the newest is young enough; true: it did. A clock that was set back
  // makes none earlier than before.
  bool rotate(Timestamp wall, Random& random);
  std::optional<Key> newest_public() const;
  std::span<const Key> secrets() const { return secrets_; }

  std::string encode() const;
  static Result<Ratchets> decode(std::string_view bytes);

 private:
  std::vector<Key> secrets_;
  Timestamp rotated_;
};

}  // namespace postrider::reticulum
