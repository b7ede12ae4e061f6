#include "postrider/protocols/reticulum/outgoing_resource.h"

#include <cstring>

#include "postrider/base/check.h"
#include "postrider/protocols/reticulum/bzip2.h"
#include "postrider/protocols/reticulum/crypto.h"
#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

constexpr int kAdvertisementsMax = 5;  // the first and four repetitions
constexpr int kProofAsksMax = 3;
constexpr int kSaltsMax = 64;
constexpr char kExhausted = static_cast<char>(0xFF);

std::uint32_t number_of(const MapHash& hash) {
  std::uint32_t out = 0;
  std::memcpy(&out, hash.data(), sizeof(out));
  return out;
}

Duration request_patience(Duration rtt) { return 16 * 6 * rtt + 78s; }
Duration proof_patience(Duration rtt) { return 3 * rtt + 10s; }

}  // namespace

void compress_segments(ResourceBody& body) {
  body.compressed.clear();
  for (std::size_t at = 0; at < body.bytes.size(); at += kSegmentBytesMax) {
    const std::string_view plain = std::string_view(body.bytes).substr(at, kSegmentBytesMax);
    std::string smaller = bzip2(plain);
    if (smaller.size() >= plain.size()) smaller.clear();
    body.compressed.push_back(std::move(smaller));
  }
}

OutgoingResource::OutgoingResource(ResourceBody body, std::size_t part_size, Duration rtt)
    : body_(std::move(body)), part_size_(part_size), rtt_(rtt) {
  POSTRIDER_CHECK(!body_.bytes.empty());
  POSTRIDER_CHECK(body_.compressed.empty() || body_.compressed.size() == segments());
}

std::size_t OutgoingResource::segments() const {
  return (body_.bytes.size() + kSegmentBytesMax - 1) / kSegmentBytesMax;
}

std::string_view OutgoingResource::segment_bytes() const {
  return std::string_view(body_.bytes).substr(segment_ * kSegmentBytesMax, kSegmentBytesMax);
}

void OutgoingResource::start(Timestamp now, const Seal& seal, Random& random,
                             std::vector<ResourceSend>& out) {
  if (segments() > kSegmentsMax)
    state_ = State::kFailed;
  else
    begin_segment(now, seal, random, out);
}

// False: two parts have the same hash, and another salt is needed. The protocol wants them apart by
// 224; we want them different, so a request always names one part.
bool OutgoingResource::map_parts(const ResourceSalt& salt) {
  hashes_.clear();
  index_.clear();
  for (std::size_t at = 0; at < blob_.size(); at += part_size_) {
    const MapHash hash = map_hash(std::string_view(blob_).substr(at, part_size_), salt);
    if (!index_.emplace(number_of(hash), hashes_.size()).second) return false;
    hashes_.push_back(hash);
  }
  return true;
}

void OutgoingResource::begin_segment(Timestamp now, const Seal& seal, Random& random,
                                     std::vector<ResourceSend>& out) {
  const bool is_smaller = !body_.compressed.empty() && !body_.compressed[segment_].empty();
  std::string stream(view(random.bytes<4>()));
  stream += is_smaller ? std::string_view(body_.compressed[segment_]) : segment_bytes();
  blob_ = seal(stream);
  ResourceSalt salt = random.bytes<4>();
  int salts = 1;
  while (!map_parts(salt) && salts++ < kSaltsMax) salt = random.bytes<4>();
  if (hashes_.size() * part_size_ < blob_.size()) {
    state_ = State::kFailed;
    return;
  }
  const Digest resource = resource_hash(segment_bytes(), salt);
  if (!original_) original_ = resource;
  proof_ = resource_proof(segment_bytes(), resource);
  served_in_.assign(hashes_.size(), 0);
  parts_served_ = 0;
  requests_ = 0;
  repeats_ = 0;
  advertisement_ = {.blob_bytes = blob_.size(),
                    .body_bytes = body_.bytes.size(),
                    .parts = hashes_.size(),
                    .resource = resource,
                    .salt = salt,
                    .original = *original_,
                    .segment = segment_ + 1,
                    .segments = segments(),
                    .request = body_.request,
                    .compressed = is_smaller,
                    .split = segments() > 1,
                    .is_request = body_.is_request,
                    .is_response = body_.is_response,
                    .map_hashes = hashes(0)};
  state_ = State::kAdvertised;
  advertise(now, out);
}

std::string OutgoingResource::hashes(std::size_t from) const {
  std::string out;
  const std::size_t to = std::min(hashes_.size(), from + kMapHashesPerUpdate);
  for (std::size_t i = from; i < to; ++i) out += view(hashes_[i]);
  return out;
}

// The first repetition is early, because a receiver can lose what comes too fast after the link.
void OutgoingResource::advertise(Timestamp now, std::vector<ResourceSend>& out) {
  ++repeats_;
  deadline_ = now + 6 * rtt_ + (repeats_ == 1 ? Duration(250ms) : Duration(1s));
  out.push_back({Context::kResourceAdvertisement, encode_advertisement(advertisement_)});
}

void OutgoingResource::send_part(std::size_t index, std::vector<ResourceSend>& out) {
  if (served_in_[index] == requests_) return;  // named twice in one request
  if (served_in_[index] == 0) ++parts_served_;
  served_in_[index] = requests_;
  out.push_back({Context::kResource, blob_.substr(index * part_size_, part_size_)});
}

void OutgoingResource::send_hashes_after(const MapHash& last, std::vector<ResourceSend>& out) {
  const auto found = index_.find(number_of(last));
  if (found == index_.end() || (found->second + 1) % kMapHashesPerUpdate != 0) return;
  const std::size_t from = found->second + 1;
  if (from >= hashes_.size()) return;
  std::string data(view(advertisement_.resource));
  MsgpackWriter(data).array(2).whole(from / kMapHashesPerUpdate).binary(hashes(from));
  out.push_back({Context::kResourceHashmapUpdate, std::move(data)});
}

void OutgoingResource::on_request(std::string_view plain, Timestamp now,
                                  std::vector<ResourceSend>& out) {
  if (has_ended() || plain.empty()) return;
  const bool is_exhausted = plain[0] == kExhausted;
  const std::size_t head = 1 + (is_exhausted ? sizeof(MapHash) : 0);
  if (plain.size() < head + sizeof(Digest) ||
      plain.substr(head, sizeof(Digest)) != view(advertisement_.resource))
    return;
  ++requests_;
  for (std::string_view wanted = plain.substr(head + sizeof(Digest));
       wanted.size() >= sizeof(MapHash); wanted.remove_prefix(sizeof(MapHash))) {
    const auto found = index_.find(number_of(*exactly<4>(wanted.substr(0, sizeof(MapHash)))));
    if (found != index_.end()) send_part(found->second, out);
  }
  if (is_exhausted) send_hashes_after(*exactly<4>(plain.substr(1, sizeof(MapHash))), out);
  const bool all_served = parts_served_ == hashes_.size();
  state_ = all_served ? State::kProving : State::kTransferring;
  repeats_ = 0;
  deadline_ = now + (all_served ? proof_patience(rtt_) : request_patience(rtt_));
}

bool OutgoingResource::on_proof(std::string_view data, Timestamp now, const Seal& seal,
                                Random& random, std::vector<ResourceSend>& out) {
  if (has_ended() || data.size() != 2 * sizeof(Digest)) return false;
  if (!equal_in_constant_time(data.substr(0, 32), view(advertisement_.resource)) ||
      !equal_in_constant_time(data.substr(32), view(proof_)))
    return false;
  if (++segment_ == segments())
    state_ = State::kDone;
  else
    begin_segment(now, seal, random, out);
  return true;
}

void OutgoingResource::on_refusal(std::string_view plain) {
  if (!has_ended() && plain == view(advertisement_.resource)) state_ = State::kRefused;
}

void OutgoingResource::cancel(std::vector<ResourceSend>& out) {
  if (has_ended()) return;
  state_ = State::kFailed;
  out.push_back({Context::kResourceCancelledBySender, std::string(view(advertisement_.resource))});
}

void OutgoingResource::on_time(Timestamp now, const Address& link, std::vector<ResourceSend>& out) {
  if (has_ended() || now < deadline_) return;
  if (state_ == State::kAdvertised && repeats_ < kAdvertisementsMax) {
    advertise(now, out);
    return;
  }
  if (state_ == State::kProving && repeats_ < kProofAsksMax) {
    ++repeats_;
    deadline_ = now + proof_patience(rtt_);
    // The proof is asked for by the hash that its packet must have.
    const std::string expected = encode_packet(
        {.kind = PacketKind::kProof,
         .destination_kind = DestinationKind::kLink,
         .destination = link,
         .context = Context::kResourceProof,
         .data = std::string(view(advertisement_.resource)) + std::string(view(proof_))});
    out.push_back({Context::kCacheRequest, std::string(view(packet_hash(expected)))});
    return;
  }
  cancel(out);
}

std::optional<Timestamp> OutgoingResource::next_deadline() const {
  if (has_ended()) return std::nullopt;
  return deadline_;
}

std::uint32_t OutgoingResource::progress_permille() const {
  if (state_ == State::kDone) return 1000;
  const std::size_t parts = std::max<std::size_t>(1, hashes_.size());
  return static_cast<std::uint32_t>((segment_ * 1000 + parts_served_ * 1000 / parts) / segments());
}

}  // namespace postrider::reticulum
