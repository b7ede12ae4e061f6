#include "postrider/protocols/reticulum/resource.h"

#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::reticulum {
namespace {

constexpr std::uint64_t kEncrypted = 1;
constexpr std::uint64_t kCompressed = 2;
constexpr std::uint64_t kSplit = 4;
constexpr std::uint64_t kIsRequest = 8;
constexpr std::uint64_t kIsResponse = 16;
constexpr std::uint64_t kHasMetadata = 32;
constexpr std::uint32_t kKeys = 11;

void set_flags(Advertisement& out, std::uint64_t flags) {
  out.encrypted = (flags & kEncrypted) != 0;
  out.compressed = (flags & kCompressed) != 0;
  out.split = (flags & kSplit) != 0;
  out.is_request = (flags & kIsRequest) != 0;
  out.is_response = (flags & kIsResponse) != 0;
  out.has_metadata = (flags & kHasMetadata) != 0;
}

std::uint64_t flags_of_advertisement(const Advertisement& in) {
  return (in.encrypted ? kEncrypted : 0) | (in.compressed ? kCompressed : 0) |
         (in.split ? kSplit : 0) | (in.is_request ? kIsRequest : 0) |
         (in.is_response ? kIsResponse : 0) | (in.has_metadata ? kHasMetadata : 0);
}

template <std::size_t kSize>
void read_fixed(MsgpackReader& in, Bytes<kSize>& to) {
  const auto bytes = exactly<kSize>(in.binary());
  if (bytes)
    to = *bytes;
  else
    in.fail();
}

// One entry of the map; unknown keys are for later versions.
void read_entry(MsgpackReader& in, std::string_view key, Advertisement& out) {
  if (key == "t")
    out.blob_bytes = in.whole();
  else if (key == "d")
    out.body_bytes = in.whole();
  else if (key == "n")
    out.parts = in.whole();
  else if (key == "h")
    read_fixed(in, out.resource);
  else if (key == "r")
    read_fixed(in, out.salt);
  else if (key == "o")
    read_fixed(in, out.original);
  else if (key == "i")
    out.segment = in.whole();
  else if (key == "l")
    out.segments = in.whole();
  else if (key == "q" && in.peek() == MsgpackKind::kNil)
    in.nil();
  else if (key == "q")
    read_fixed(in, out.request.emplace());
  else if (key == "f")
    set_flags(out, in.whole());
  else if (key == "m")
    out.map_hashes = in.binary();
  else
    in.raw();
}

}  // namespace

MapHash map_hash(std::string_view part, const ResourceSalt& salt) {
  return first<4>(sha256({part, view(salt)}));
}

Digest resource_hash(std::string_view body, const ResourceSalt& salt) {
  return sha256({body, view(salt)});
}

Digest resource_proof(std::string_view body, const Digest& resource) {
  return sha256({body, view(resource)});
}

std::uint64_t body_bytes_max(const Advertisement& in) {
  if (in.segments == 1) return in.body_bytes;
  return std::max(in.body_bytes, (in.segments - 1) * kSegmentBytesMax + 1);
}

std::string encode_advertisement(const Advertisement& in) {
  std::string out;
  MsgpackWriter to(out);
  to.map(kKeys);
  to.text("t").whole(in.blob_bytes).text("d").whole(in.body_bytes).text("n").whole(in.parts);
  to.text("h").binary(view(in.resource)).text("r").binary(view(in.salt));
  to.text("o").binary(view(in.original));
  to.text("i").whole(in.segment).text("l").whole(in.segments).text("q");
  if (in.request)
    to.binary(view(*in.request));
  else
    to.nil();
  to.text("f").whole(flags_of_advertisement(in)).text("m").binary(in.map_hashes);
  return out;
}

bool is_consistent(const Advertisement& in, std::size_t part_size) {
  const std::uint64_t segment_max = in.segments == 1 ? in.body_bytes : kSegmentBytesMax;
  const std::uint64_t hashes = in.map_hashes.size() / sizeof(MapHash);
  return in.segments >= 1 && in.segments <= kSegmentsMax &&
         in.body_bytes <= in.segments * kSegmentBytesMax && in.blob_bytes > 0 &&
         in.blob_bytes <= segment_max + kBlobOverheadMax &&
         in.parts == (in.blob_bytes + part_size - 1) / part_size && in.segment >= 1 &&
         in.segment <= in.segments && in.map_hashes.size() % sizeof(MapHash) == 0 &&
         hashes == std::min<std::uint64_t>(in.parts, kMapHashesPerUpdate);
}

Result<Advertisement> decode_advertisement(std::string_view bytes) {
  MsgpackReader whole(bytes);
  whole.raw();
  if (!whole.at_end()) return fail(ErrorCode::kCorrupt, "advertisement is not one value");
  MsgpackReader in(bytes);
  Advertisement out;
  for (std::uint32_t left = in.map(); left > 0 && in.ok(); --left) {
    const std::string_view key = in.bytes();
    read_entry(in, key, out);
  }
  if (!in.at_end()) return fail(ErrorCode::kCorrupt, "advertisement");
  return out;
}

}  // namespace postrider::reticulum
