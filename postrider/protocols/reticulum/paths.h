// Paths: by which interface and relay a destination is reached, as announces tell it. Path
// requests, and the header that a path gives a packet. Times are the wall's. PathTable: one owner,
// one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "postrider/base/ids.h"
#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/reticulum/announce.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/packet.h"

namespace postrider::reticulum {

using InterfaceId = Id<struct InterfaceIdTag>;

struct Path {
  Address next_hop{};  // a relay, or the destination itself
  std::uint8_t hops = 0;
  InterfaceId interface;
  Timestamp expires;
  bool unresponsive = false;
  std::vector<AnnounceRandom> randoms;  // oldest first, kRandomsMax at most
  static constexpr std::size_t kRandomsMax = 64;

  friend bool operator==(const Path&, const Path&) = default;
};
// The interface is not in it: its number means nothing after a restart.
std::string encode_path(const Path& path);
Result<Path> decode_path(std::string_view bytes);

// Where an announce came from.
struct AnnounceArrival {
  std::uint8_t hops = 0;  // after the increment
  InterfaceId interface;
  std::optional<Address> relay;  // the transport id of its header
};

class PathTable {
 public:
  static constexpr Duration kLife = 7 * 24h;
  explicit PathTable(std::size_t paths_max = 100'000) : paths_max_(paths_max) {}

  // Whether the announce, which must have been judged as good, changed the path. Of a full table
  // the path that was learnt first goes.
  bool learn(const Announce& announce, const AnnounceArrival& arrival, Timestamp wall);
  const Path* find(const Address& destination, Timestamp wall) const;  // null: none, or expired
  void put(const Address& destination, Path path);                     // a stored one
  // Forgets the path: the answer to a path request may be an announce that was heard before.
  void expire(const Address& destination);
  // A path over more hops may replace it although it was announced at the same time.
  void mark_unresponsive(const Address& destination);
  void forget_interface(InterfaceId interface);  // expires all paths over it
  std::size_t size() const { return paths_.size(); }

 private:
  struct Entry {
    Path path;
    std::uint64_t order = 0;
  };
  Path& entry(const Address& destination);

  std::size_t paths_max_;
  std::uint64_t next_order_ = 0;
  std::unordered_map<Address, Entry, HashOfBytes> paths_;
  std::map<std::uint64_t, Address> by_age_;
};

// A packet with a short header, as it leaves by the path. A shared instance wants the long header
// also for neighbours.
std::string by_path(std::string_view raw, const Path& path, bool to_shared_instance = false);

const Address& path_request_destination();
std::string make_path_request(const Address& wanted, const Bytes<16>& tag);
struct PathRequest {
  Address wanted{};
  std::optional<Address> relay;  // that asks
  Digest seen_key{};             // of wanted and tag: the same request again has the same
};
// kCorrupt: without a tag, or cut off.
Result<PathRequest> read_path_request(std::string_view data);

}  // namespace postrider::reticulum
