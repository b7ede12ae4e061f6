#include "postrider/protocols/reticulum/paths.h"

#include "postrider/base/codec.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

constexpr std::uint8_t kPathVersion = 1;
constexpr std::size_t kTagBytesMax = 16;

std::optional<std::uint64_t> newest_seconds(const Path& path, Timestamp wall) {
  std::optional<std::uint64_t> newest;
  for (const AnnounceRandom& random : path.randoms) {
    if (const auto seconds = credible_seconds(random, wall)) newest = std::max(newest, seconds);
  }
  return newest;
}

// The three cases in which an announce replaces a path. A time that cannot be believed orders
// nothing: then a new random is enough for a path that is no longer.
bool replaces(const Path& path, const Announce& announce, std::uint8_t hops, Timestamp wall) {
  const bool is_new =
      std::find(path.randoms.begin(), path.randoms.end(), announce.random) == path.randoms.end();
  const auto seconds = credible_seconds(announce.random, wall);
  const auto newest = newest_seconds(path, wall);
  const bool is_newer = seconds && (!newest || *seconds > *newest);
  if (hops <= path.hops) return is_new && (is_newer || !seconds);
  if (wall >= path.expires) return true;
  if (is_newer && is_new) return true;
  return path.unresponsive && seconds && seconds == newest;
}

}  // namespace

std::string encode_path(const Path& path) {
  std::string out;
  Writer writer(out);
  writer.u8(kPathVersion).raw(view(path.next_hop)).u8(path.hops).i64(path.expires.ms());
  writer.u8(path.unresponsive ? 1 : 0);
  for (const AnnounceRandom& random : path.randoms) writer.raw(view(random));
  seal_record(out);
  return out;
}

Result<Path> decode_path(std::string_view bytes) {
  Reader in = open_record(bytes, kPathVersion);
  Path out;
  const auto next_hop = exactly<16>(in.raw(sizeof(Address)));
  out.hops = in.u8();
  out.expires = Timestamp(in.i64());
  out.unresponsive = in.u8() != 0;
  while (in.ok() && !in.rest().empty() && out.randoms.size() < Path::kRandomsMax) {
    if (const auto random = exactly<10>(in.raw(sizeof(AnnounceRandom))))
      out.randoms.push_back(*random);
  }
  if (!in.at_end() || !next_hop) return fail(ErrorCode::kCorrupt, "path");
  out.next_hop = *next_hop;
  return out;
}

Path& PathTable::entry(const Address& destination) {
  const auto found = paths_.find(destination);
  if (found != paths_.end()) return found->second.path;
  if (paths_.size() >= paths_max_ && !by_age_.empty()) {
    paths_.erase(by_age_.begin()->second);
    by_age_.erase(by_age_.begin());
  }
  const std::uint64_t order = next_order_++;
  by_age_[order] = destination;
  Entry& made = paths_[destination];
  made.order = order;
  return made.path;
}

bool PathTable::learn(const Announce& announce, const AnnounceArrival& arrival, Timestamp wall) {
  const auto found = paths_.find(announce.destination);
  if (found != paths_.end() && !replaces(found->second.path, announce, arrival.hops, wall))
    return false;
  Path& path = entry(announce.destination);
  path.next_hop = arrival.relay ? *arrival.relay : announce.destination;
  path.hops = arrival.hops;
  path.interface = arrival.interface;
  path.expires = wall + kLife;
  path.unresponsive = false;
  if (std::find(path.randoms.begin(), path.randoms.end(), announce.random) == path.randoms.end()) {
    if (path.randoms.size() == Path::kRandomsMax) path.randoms.erase(path.randoms.begin());
    path.randoms.push_back(announce.random);
  }
  return true;
}

const Path* PathTable::find(const Address& destination, Timestamp wall) const {
  const auto found = paths_.find(destination);
  return found == paths_.end() || wall >= found->second.path.expires ? nullptr
                                                                     : &found->second.path;
}

void PathTable::put(const Address& destination, Path path) { entry(destination) = std::move(path); }

void PathTable::expire(const Address& destination) {
  const auto found = paths_.find(destination);
  if (found == paths_.end()) return;
  by_age_.erase(found->second.order);
  paths_.erase(found);
}

void PathTable::mark_unresponsive(const Address& destination) {
  const auto found = paths_.find(destination);
  if (found != paths_.end()) found->second.path.unresponsive = true;
}

void PathTable::forget_interface(InterfaceId interface) {
  for (auto at = by_age_.begin(); at != by_age_.end();) {
    const Address destination = at->second;
    ++at;
    if (paths_.at(destination).path.interface == interface) expire(destination);
  }
}

std::string by_path(std::string_view raw, const Path& path, bool to_shared_instance) {
  const bool by_relay = path.hops > 1 || to_shared_instance;
  return by_relay ? for_relay(raw, path.next_hop) : std::string(raw);
}

const Address& path_request_destination() {
  static const Address address = plain_destination(name_hash("rnstransport.path.request"));
  return address;
}

std::string make_path_request(const Address& wanted, const Bytes<16>& tag) {
  std::string data(view(wanted));
  data += view(tag);
  return encode_packet({.kind = PacketKind::kData,
                        .destination_kind = DestinationKind::kPlain,
                        .destination = path_request_destination(),
                        .data = data});
}

Result<PathRequest> read_path_request(std::string_view data) {
  constexpr std::size_t kAddress = sizeof(Address);
  if (data.size() <= kAddress) return fail(ErrorCode::kCorrupt, "path request without a tag");
  PathRequest out{.wanted = *exactly<kAddress>(data.substr(0, kAddress))};
  std::string_view tag = data.substr(kAddress);
  if (tag.size() > kAddress) {
    out.relay = exactly<kAddress>(tag.substr(0, kAddress));
    tag.remove_prefix(kAddress);
  }
  out.seen_key = sha256({view(out.wanted), tag.substr(0, kTagBytesMax)});
  return out;
}

}  // namespace postrider::reticulum
