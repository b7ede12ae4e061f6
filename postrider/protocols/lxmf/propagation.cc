#include "postrider/protocols/lxmf/propagation.h"

#include <cmath>

#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::lxmf {
namespace {

using reticulum::exactly;
using reticulum::MsgpackKind;
using reticulum::MsgpackReader;
using reticulum::MsgpackWriter;
using reticulum::view;

constexpr std::size_t kRecipientBytes = sizeof(Address);

void write_ids(MsgpackWriter& to, const std::optional<std::vector<Digest>>& ids) {
  if (!ids) {
    to.nil();
    return;
  }
  to.array(static_cast<std::uint32_t>(ids->size()));
  for (const Digest& id : *ids) to.binary(view(id));
}

std::optional<std::vector<Digest>> read_ids(MsgpackReader& in) {
  if (in.peek() == MsgpackKind::kNil) {
    in.nil();
    return std::nullopt;
  }
  std::vector<Digest> out;
  const std::uint32_t count = in.array();
  if (count > kListedMax) in.fail();
  for (std::uint32_t left = count; left > 0 && in.ok(); --left) {
    const auto id = exactly<32>(in.binary());
    if (id)
      out.push_back(*id);
    else
      in.fail();
  }
  return out;
}

}  // namespace

Result<std::string> seal_for_node(std::string_view packed, const reticulum::PublicKeys& recipient,
                                  const std::optional<Key>& ratchet,
                                  const reticulum::SealKeys& keys) {
  if (packed.size() <= kEnvelopeBytes) return fail(ErrorCode::kInvalid, "no packed message");
  POSTRIDER_TRY(sealed,
                reticulum::seal_for(recipient, ratchet, keys, packed.substr(kRecipientBytes)));
  return std::string(packed.substr(0, kRecipientBytes)) + sealed;
}

Digest transient_id(std::string_view sealed) { return reticulum::sha256(sealed); }

Result<std::string> open_from_node(std::string_view sealed, const reticulum::Identity& identity,
                                   const Address& delivery, std::span<const Key> ratchets) {
  if (sealed.substr(0, kRecipientBytes) != view(delivery))
    return fail(ErrorCode::kCorrupt, "message for another recipient");
  POSTRIDER_TRY(plain, reticulum::open_sealed(identity, ratchets, sealed.substr(kRecipientBytes)));
  return from_opportunistic(delivery, plain);
}

std::string encode_upload(double time, std::string_view sealed, const Stamp& stamp) {
  std::string out;
  const std::string item = std::string(sealed) + std::string(view(stamp));
  MsgpackWriter(out).array(2).real(time).array(1).binary(item);
  return out;
}

Result<UploadedItem> decode_upload(std::string_view bytes) {
  MsgpackReader in(bytes);
  const bool is_pair = in.array() == 2;
  in.real();
  const bool is_one = in.array() == 1;
  const std::string_view item = in.binary();
  if (!in.at_end() || !is_pair || !is_one) return fail(ErrorCode::kCorrupt, "upload");
  if (item.size() < kItemBytesMin) return fail(ErrorCode::kCorrupt, "upload is too short");
  const std::size_t sealed = item.size() - sizeof(Stamp);
  return UploadedItem{.recipient = *exactly<kRecipientBytes>(item.substr(0, kRecipientBytes)),
                      .sealed = item.substr(0, sealed),
                      .stamp = item.substr(sealed)};
}

bool fits_one_packet(std::string_view upload) { return upload.size() <= kUploadPacketBytesMax; }

std::string encode_word(std::uint8_t word) {
  std::string out;
  MsgpackWriter(out).array(1).whole(word);
  return out;
}

std::optional<std::uint8_t> decode_word(std::string_view plain) {
  MsgpackReader in(plain);
  const bool is_one = in.array() == 1;
  const std::uint64_t word = in.whole();
  if (!in.at_end() || !is_one || word > UINT8_MAX) return std::nullopt;
  return static_cast<std::uint8_t>(word);
}

std::string encode_get(const GetRequest& request) {
  std::string out;
  MsgpackWriter to(out);
  to.array(request.limit_kb ? 3 : 2);
  write_ids(to, request.wanted);
  write_ids(to, request.removed);
  if (request.limit_kb) to.real(*request.limit_kb);
  return out;
}

Result<GetRequest> decode_get(std::string_view data) {
  MsgpackReader in(data);
  const std::uint32_t count = in.array();
  if (count < 2 || count > 3) in.fail();
  GetRequest out{.wanted = read_ids(in), .removed = read_ids(in)};
  if (count == 3 && in.peek() == MsgpackKind::kNil) {
    in.nil();
  } else if (count == 3) {
    out.limit_kb = in.real();
    if (!std::isfinite(*out.limit_kb) || *out.limit_kb < 0) in.fail();
  }
  if (!in.at_end()) return fail(ErrorCode::kCorrupt, "request of messages");
  return out;
}

std::string encode_answer(const std::vector<std::string_view>& items) {
  std::string out;
  MsgpackWriter to(out);
  to.array(static_cast<std::uint32_t>(items.size()));
  for (const std::string_view item : items) to.binary(item);
  return out;
}

std::string encode_answer_error(std::uint8_t error) {
  std::string out;
  MsgpackWriter(out).whole(error);
  return out;
}

Result<GetAnswer> decode_answer(std::string_view value) {
  MsgpackReader in(value);
  GetAnswer out;
  if (in.peek() == MsgpackKind::kWhole) {
    const std::uint64_t error = in.whole();
    if (!in.at_end() || error == 0 || error > UINT8_MAX)
      return fail(ErrorCode::kCorrupt, "answer with an unknown error");
    out.error = static_cast<std::uint8_t>(error);
    return out;
  }
  const std::uint32_t count = in.array();
  if (count > kListedMax) in.fail();
  for (std::uint32_t left = count; left > 0 && in.ok(); --left) out.items.push_back(in.binary());
  if (!in.at_end()) return fail(ErrorCode::kCorrupt, "answer of a node");
  return out;
}

Result<std::vector<Digest>> ids_in(const GetAnswer& answer) {
  std::vector<Digest> out;
  for (const std::string_view item : answer.items) {
    const auto id = exactly<32>(item);
    if (!id) return fail(ErrorCode::kCorrupt, "list with something else than an id");
    out.push_back(*id);
  }
  return out;
}

}  // namespace postrider::lxmf
