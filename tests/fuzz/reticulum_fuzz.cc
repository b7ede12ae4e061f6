// Feeds arbitrary bytes to the readers of Reticulum: msgpack, packets, frames, masks, announces,
// paths, proofs, advertisements, requests, tokens and compressed bytes. The first byte picks the
// reader.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/protocols/reticulum/announce.h"
#include "postrider/protocols/reticulum/bzip2.h"
#include "postrider/protocols/reticulum/frames.h"
#include "postrider/protocols/reticulum/identity.h"
#include "postrider/protocols/reticulum/ifac.h"
#include "postrider/protocols/reticulum/link.h"
#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/reticulum/packet.h"
#include "postrider/protocols/reticulum/paths.h"
#include "postrider/protocols/reticulum/proof.h"
#include "postrider/protocols/reticulum/random_testing.h"
#include "postrider/protocols/reticulum/request.h"
#include "postrider/protocols/reticulum/resource.h"
#include "postrider/protocols/reticulum/seen.h"

namespace postrider::reticulum {
namespace {

constexpr Timestamp kWall(1'700'000'000'000);

void read_msgpack(std::string_view bytes) {
  const auto first = canonical_msgpack(bytes);
  if (!first) return;
  POSTRIDER_CHECK(first->size() <= 2 * bytes.size());
  POSTRIDER_CHECK(canonical_msgpack(*first) == *first);
  MsgpackReader in(bytes);
  while (in.peek() != MsgpackKind::kNone) in.raw();
}

void read_packet(std::string_view raw) {
  const auto packet = decode_packet(raw);
  if (!packet) return;
  POSTRIDER_CHECK(encode_packet(*packet) == raw);
  const Digest hash = packet_hash(raw);
  if (!packet->transport_id) POSTRIDER_CHECK(packet_hash(for_relay(raw, Address{1})) == hash);
  may_repeat(*packet);
  is_for_endpoint(*packet, packet->hops, nullptr);
  if (const auto announce = read_announce(*packet)) {
    PathTable table(2);
    judge_announce(*announce, nullptr);
    POSTRIDER_CHECK(table.learn(*announce, {.hops = packet->hops}, kWall));
    POSTRIDER_CHECK(!table.learn(*announce, {.hops = packet->hops}, kWall));
  }
  if (const auto request = read_path_request(packet->data))
    POSTRIDER_CHECK(view(request->wanted) == packet->data.substr(0, 16));
  Receipts receipts;
  receipts.expect(hash, Key{}, SendId(1));
  POSTRIDER_CHECK(receipts.settle(truncated(hash), packet->data).verdict != ProofVerdict::kProven);
  static const Identity identity = bob();
  SeededRandom random(1);
  std::vector<std::string> out;
  const auto link =
      Link::answer({.packet = *packet, .raw = raw}, identity, {.mtu = 8192}, kWall, random, out);
  if (link) POSTRIDER_CHECK(link->mtu() >= LinkSignalling::kMtuMin && link->mtu() <= 8192);
}

// The first byte cuts the stream; the frames must be the same as of the uncut one.
void read_frames(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t cut = 1 + static_cast<std::uint8_t>(bytes[0]) % 32;
  bytes.remove_prefix(1);
  FrameReader whole;
  FrameReader parts;
  std::vector<std::string> from_whole;
  std::vector<std::string> from_parts;
  whole.feed(bytes, [&](std::string_view frame) { from_whole.emplace_back(frame); });
  for (std::size_t at = 0; at < bytes.size(); at += cut) {
    parts.feed(bytes.substr(at, cut),
               [&](std::string_view frame) { from_parts.emplace_back(frame); });
  }
  POSTRIDER_CHECK(from_whole == from_parts);
  std::string again;
  for (const std::string& frame : from_whole) again += encode_frame(frame);
  std::size_t at = 0;
  FrameReader once_more;
  once_more.feed(again,
                 [&](std::string_view frame) { POSTRIDER_CHECK(from_whole[at++] == frame); });
  POSTRIDER_CHECK(at == from_whole.size());
}

void read_masked(std::string_view bytes) {
  static const AccessCode code = AccessCode::make({.name = "net"}).value();
  if (const auto plain = code.unmask(bytes)) POSTRIDER_CHECK(code.mask(*plain) == bytes);
  if (const auto masked = code.mask(bytes)) {
    std::string plain(bytes);
    plain[0] = static_cast<char>(plain[0] & 0x7F);
    if (plain == bytes) POSTRIDER_CHECK(code.unmask(*masked) == bytes);
  }
}

void read_advertised(std::string_view bytes) {
  const auto in = decode_advertisement(bytes);
  if (!in || !is_consistent(*in, 464)) return;
  POSTRIDER_CHECK(in->parts <= (kSegmentBytesMax + kBlobOverheadMax) / 464 + 1);
  POSTRIDER_CHECK(body_bytes_max(*in) <= kSegmentsMax * kSegmentBytesMax);
  const auto again = decode_advertisement(encode_advertisement(*in));
  POSTRIDER_CHECK(again && again->map_hashes == in->map_hashes);
}

void read_rest(std::string_view bytes) {
  if (const auto request = decode_request(bytes))
    POSTRIDER_CHECK(decode_request(encode_request(*request)).has_value());
  if (const auto response = decode_response(bytes))
    POSTRIDER_CHECK(decode_response(encode_response(*response)).has_value());
  if (const auto path = decode_path(bytes)) POSTRIDER_CHECK(encode_path(*path) == bytes);
  if (const auto ratchets = Ratchets::decode(bytes)) POSTRIDER_CHECK(ratchets->encode() == bytes);
  if (const auto larger = unbzip2(bytes, 100'000)) POSTRIDER_CHECK(larger->size() <= 100'000);
  POSTRIDER_CHECK(unbzip2(bzip2(bytes), bytes.size()) == bytes);
  if (const auto plain = open_token(TokenKey{}, bytes))
    POSTRIDER_CHECK(token_bytes(plain->size()) == bytes.size());
  static const Identity identity = bob();
  POSTRIDER_CHECK(open_sealed(identity, {}, bytes).has_value() == false || bytes.size() > 80);
}

}  // namespace
}  // namespace postrider::reticulum

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider::reticulum;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0: read_msgpack(bytes); break;
    case 1: read_packet(bytes); break;
    case 2: read_frames(bytes); break;
    case 3: read_masked(bytes); break;
    case 4: read_advertised(bytes); break;
    default: read_rest(bytes); break;
  }
  return 0;
}
