// Resources: bodies larger than one packet of a link, cut into parts that the receiver asks for by
// their map hashes. What both sides share: the advertisement, hashes, limits. Pure; any thread.
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
#include "postrider/protocols/reticulum/packet.h"

namespace postrider::reticulum {

inline constexpr std::size_t kSegmentBytesMax = 1'048'575;
inline constexpr std::size_t kMapHashesPerUpdate = 74;
inline constexpr std::size_t kMapHashesApart = 224;  // equal ones are further apart than this
inline constexpr std::size_t kSegmentsMax = 64;
// What random bytes, the token and its padding add to a segment.
inline constexpr std::size_t kBlobOverheadMax = 4 + 48 + 16;

using MapHash = Bytes<4>;
using ResourceSalt = Bytes<4>;
constexpr std::size_t part_bytes(std::size_t link_mtu) { return link_mtu - 36; }

MapHash map_hash(std::string_view part, const ResourceSalt& salt);
Digest resource_hash(std::string_view body, const ResourceSalt& salt);
Digest resource_proof(std::string_view body, const Digest& resource);

struct Advertisement {
  std::uint64_t blob_bytes = 0;
  std::uint64_t body_bytes = 0;
  std::uint64_t parts = 0;
  Digest resource{};
  ResourceSalt salt{};
  Digest original{};  // the first segment's
  std::uint64_t segment = 1;
  std::uint64_t segments = 1;
  std::optional<Address> request;
  bool encrypted = true;
  bool compressed = false;
  bool split = false;
  bool is_request = false;
  bool is_response = false;
  bool has_metadata = false;
  std::string map_hashes;
};
// How many bytes the body has at most: what memory and limits are about. A peer may say the size of
// one segment or that of all.
std::uint64_t body_bytes_max(const Advertisement& advertisement);
std::string encode_advertisement(const Advertisement& advertisement);
Result<Advertisement> decode_advertisement(std::string_view bytes);  // kCorrupt: it is none
// False: its numbers contradict each other or the link's part size, or it has too many segments.
bool is_consistent(const Advertisement& advertisement, std::size_t part_size);

// A packet that a resource wants sent on its link.
struct ResourceSend {
  Context context;
  std::string data;
};

}  // namespace postrider::reticulum
