// Link: an encrypted session with a destination, from request to close. It knows keys, times and
// states, and nothing of what travels on it (conversation.h does). A machine without a clock: each
// call says the time, and what is to be sent is handed back. One owner, one thread.
//
// Always: keys exist in kHandshake, kActive and kStale only and are wiped at the end; nothing but
// the handshake passes before kActive; a closed link stays closed.
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
#include "postrider/protocols/reticulum/crypto.h"
#include "postrider/protocols/reticulum/identity.h"
#include "postrider/protocols/reticulum/packet.h"
#include "postrider/protocols/reticulum/paths.h"

namespace postrider::reticulum {

// What both sides say about a link: how it encrypts, and how long its packets may be.
struct LinkSignalling {
  std::uint8_t mode = kModeAes256;
  std::uint32_t mtu = kMtu;
  static constexpr std::uint8_t kModeAes256 = 1;
  static constexpr std::uint32_t kMtuMin = 128;
};
std::string encode_signalling(const LinkSignalling& signalling);  // three bytes
LinkSignalling decode_signalling(const Bytes<3>& bytes);

// How many bytes one packet of a link carries.
constexpr std::size_t link_payload_max(std::size_t mtu) {
  return (mtu - 1 - kHeaderBytes - 48) / 16 * 16 - 1;
}

// The address of a link, from the raw bytes of its request; signalling is no part of it.
Address link_id(std::string_view raw_request);

enum class LinkState : std::uint8_t { kOpening, kHandshake, kActive, kStale, kClosed };
enum class LinkEnd : std::uint8_t {
  kNone,
  kTimedOut,  // never became active
  kOtherMode,
  kWentStale,
  kIdle,
  kByPeer,
  kByUs,
  kInterfaceLost,
};

struct LinkSettings {
  std::uint32_t mtu = kMtu;  // of the interface: proposed, or the upper limit of what is agreed
  Duration idle_max = 600s;
  Duration serialisation{};  // what the interface needs for the request
};

// A packet as it came in.
struct Arrival {
  const Packet& packet;
  std::string_view raw;
  InterfaceId interface;
  std::uint8_t hops = 1;  // after the increment
};

struct LinkReading {
  enum class What : std::uint8_t {
    kNothing,     // taken or ignored by the link itself
    kActive,      // just now
    kClosed,      // just now
    kIdentified,  // the opener, by `keys`
    kPlain,       // decrypted payload of `context`
    kClear,       // payload of `context` that is never encrypted on a link
    kProof,
  };
  What what = What::kNothing;
  Context context = Context::kNone;
  std::string plain;
  PublicKeys keys{};
};

class Link {
 public:
  struct Target {
    Address destination{};
    PublicKeys keys{};
    std::optional<std::uint8_t> hops;  // as its path says; the proof must come as far
    InterfaceId interface;
  };
  // The opener's side; the request goes into `out`.
  static Link open(const Target& target, const LinkSettings& settings, Timestamp now,
                   Random& random, std::vector<std::string>& out);
  // The responder's side; the proof goes into `out`. kCorrupt: no link request; kInvalid: another
  // mode, an impossible MTU or a bad key.
  static Result<Link> answer(const Arrival& request, const Identity& owner,
                             const LinkSettings& settings, Timestamp now, Random& random,
                             std::vector<std::string>& out);
  ~Link() { wipe_keys(); }
  Link(Link&&) = default;
  Link& operator=(Link&&) = delete;

  LinkReading take(const Arrival& arrival, Timestamp now, Random& random,
                   std::vector<std::string>& out);
  // A proof or a part was good, which the link itself cannot know: the peer is alive.
  void peer_lives(Timestamp now) { heard(now, true); }
  std::optional<Timestamp> next_deadline() const;
  LinkReading on_time(Timestamp now, Random& random, std::vector<std::string>& out);

  // The raw packet of an encrypted payload. Only while usable.
  std::string send(Context context, std::string_view plain, Timestamp now, Random& random);
  // Of a payload that is not encrypted.
  std::string send_clear(Context context, std::string_view data, Timestamp now);
  std::string seal(std::string_view plain, Random& random) const;
  Result<std::string> open_sealed_bytes(std::string_view token) const;
  std::string prove(const Digest& packet) const;
  std::string prove_resource(const Digest& resource, const Digest& proof) const;
  // Says who the opener is; the responder has no such right.
  std::string identify(const Identity& identity, Timestamp now, Random& random);
  void close(LinkEnd end, Random& random, std::vector<std::string>& out);

  bool is_usable() const { return state_ == LinkState::kActive || state_ == LinkState::kStale; }
  LinkState state() const { return state_; }
  LinkEnd end() const { return end_; }
  bool was_active() const { return was_active_; }
  bool is_opener() const { return is_opener_; }
  const Address& id() const { return id_; }
  InterfaceId interface() const { return interface_; }
  std::uint32_t mtu() const { return mtu_; }
  std::size_t payload_max() const { return link_payload_max(mtu_); }
  Duration rtt() const { return rtt_; }
  Duration keepalive() const;
  const Key& peer_signing_key() const { return peer_signing_; }
  const std::optional<PublicKeys>& identified() const { return identified_; }

  std::uint64_t foreign_packets() const { return foreign_; }  // by another interface
  std::uint64_t damaged_packets() const { return damaged_; }  // not decryptable, bad, out of place

 private:
  Link(const SigningKey& signing, InterfaceId interface, const LinkSettings& settings)
      : signing_(signing), interface_(interface), settings_(settings) {}
  bool agree(const Key& secret, const Key& other);
  LinkReading take_request_proof(const Arrival& arrival, Timestamp now, Random& random,
                                 std::vector<std::string>& out);
  LinkReading take_rtt(const Arrival& arrival, Timestamp now);
  LinkReading take_live(const Arrival& arrival, Timestamp now, std::vector<std::string>& out);
  LinkReading take_plain(Context context, std::string plain, Timestamp now);
  LinkReading take_identify(std::string_view plain);
  LinkReading take_keepalive(std::string_view data, Timestamp now, std::vector<std::string>& out);
  LinkReading damaged();
  LinkReading closed(LinkEnd end);
  void heard(Timestamp now, bool payload);
  void become_active(Timestamp now);
  std::string packet_of(Context context, std::string_view data) const;
  Duration stale_grace() const { return 4 * rtt_ + 5s; }
  void wipe_keys();

  SigningKey signing_;  // the opener's of this link, the responder's of its destination
  InterfaceId interface_;
  LinkSettings settings_;
  bool is_opener_ = false;
  bool was_active_ = false;
  LinkState state_ = LinkState::kOpening;
  LinkEnd end_ = LinkEnd::kNone;
  Address id_{};
  Target target_;    // the opener's
  Key agreement_{};  // the opener's secret until the proof comes
  TokenKey key_{};
  Key peer_signing_{};
  std::optional<PublicKeys> identified_;
  std::uint32_t mtu_ = kMtu;
  Duration rtt_{};
  Timestamp began_;
  Timestamp establish_until_;
  Timestamp heard_;
  Timestamp payload_;
  Timestamp keepalive_sent_;
  Timestamp stale_since_;
  std::uint64_t foreign_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace postrider::reticulum
