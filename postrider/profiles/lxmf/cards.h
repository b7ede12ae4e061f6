// What the profile remembers of peers, paths and its own destinations, as cards, and what arrives
// from the station to change them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/profile.h"
#include "postrider/protocols/lxmf/message.h"
#include "postrider/protocols/lxmf/stamp.h"
#include "postrider/protocols/lxmf/ticket.h"
#include "postrider/protocols/reticulum/announce.h"
#include "postrider/protocols/reticulum/identity.h"
#include "postrider/protocols/reticulum/paths.h"

namespace postrider::lxmf {

// Drawers. The keys of kUploads are ids of our messages, those of kFetched and kKept transient ids.
// The key is an address of 16 bytes, of kSeen a message id of 32, of kTickets two
// addresses.
inline constexpr std::string_view kPeers = "peers";
inline constexpr std::string_view kPaths = "paths";
inline constexpr std::string_view kOwn = "own";
inline constexpr std::string_view kSeen = "seen";
inline constexpr std::string_view kTickets = "tickets";  // by our address and the giver's
inline constexpr std::string_view kUploads = "uploads";  // what is sealed for a node
inline constexpr std::string_view kFetched = "fetched";  // what a sync brought, and it was stored
inline constexpr std::string_view kKept = "kept";        // what our node took, for some time after
// As long as a message may wait for its node.
inline constexpr Duration kUploadKept = 31 * 24h;
// A node keeps a message for 30 d, and another node may have it later.
inline constexpr Duration kFetchedKept = 60 * 24h;
// As long as a mailbox may keep it, and 30 d more, in which it is not taken again.
inline constexpr Duration kKeptKnown = 60 * 24h;
inline constexpr Duration kPeerKept = 180 * 24h;
// As long as upstream remembers what it delivered: no copy of a message is older.
inline constexpr Duration kSeenKept = 180 * 24h;

struct PeerCard {  // as its newest announce said
  reticulum::PublicKeys keys{};
  std::optional<reticulum::Key> ratchet;
  Timestamp heard;  // wall
  bool is_node = false;  // a propagation node; else a recipient
  std::string app_data;
};
inline constexpr std::size_t kAppDataBytesMax = 1024;  // a longer one is cut
std::string encode_peer(const PeerCard& peer);
Result<PeerCard> decode_peer(std::string_view bytes);

struct PathCard {
  std::string interface;  // by name, because numbers mean nothing after a restart
  reticulum::Path path;
};
std::string encode_path_card(const PathCard& card);
Result<PathCard> decode_path_card(std::string_view bytes);

struct OwnCard {
  std::uint64_t seconds = 0;  // of the last announce
  reticulum::Ratchets ratchets;
};
std::string encode_own(const OwnCard& card);
Result<OwnCard> decode_own(std::string_view bytes);

// What arrives, by ArrivalSource::kind.
inline constexpr std::string_view kArrivedPeer = "announce";    // address ‖ peer ‖ path
inline constexpr std::string_view kArrivedOwn = "own announce";  // address ‖ own card
inline constexpr std::string_view kArrivedMessage = "message";   // InboundForm ‖ packed
inline constexpr std::string_view kArrivedUpload = "upload";     // what is sealed for a recipient
inline constexpr std::string_view kInboxSetting = "inbox";

// Received::reply.
inline constexpr std::string_view kReplyDone = "done";
inline constexpr std::string_view kReplyKnown = "known";  // a message that came before
inline constexpr std::string_view kReplyLate = "late";    // an own announce that is not the newest

// The mailbox in which our node keeps what is for this recipient.
inline constexpr std::string_view kKeptPrefix = "lxmf-node:";
std::string kept_for(const Address& recipient);

std::string encode_heard(const Address& destination, const PeerCard& peer, const PathCard& path);
std::string encode_own_change(const Address& destination, const OwnCard& card);
struct InboundForm {
  Carriage carriage = Carriage::kOpportunistic;
  SignatureVerdict signature = SignatureVerdict::kUnknownSource;
  StampReading stamp;
  std::optional<Digest> transient = {};  // of a message that a sync brought
};
std::string encode_inbound(const InboundForm& form, std::string_view packed);

// The ticket that a verified message brings, and the key of its card. Nothing: it brings none.
struct TicketCard {
  std::string key;
  GivenTicket ticket;
};
std::optional<TicketCard> ticket_of(const LxmfMessage& message, SignatureVerdict verdict);
std::string ticket_key(const Address& own, const Address& giver);

Received receive_arrival(const Inbound& inbound);

}  // namespace postrider::lxmf
