#include "postrider/protocols/lxmf/message.h"

#include <cmath>

#include "postrider/protocols/reticulum/msgpack.h"
#include "postrider/protocols/reticulum/sha256.h"

namespace postrider::lxmf {
namespace {

using reticulum::exactly;
using reticulum::is_signed_by;
using reticulum::MsgpackKind;
using reticulum::MsgpackReader;
using reticulum::MsgpackWriter;
using reticulum::sha256;
using reticulum::view;

constexpr std::size_t kAddressBytes = sizeof(Address);
constexpr std::size_t kPlainElements = 4;
constexpr std::size_t kElementsMax = 16;

bool is_map(std::string_view value) {
  MsgpackReader in(value);
  const bool map = in.peek() == MsgpackKind::kMap;
  in.raw();
  return map && in.at_end();
}

Digest id_of(std::string_view signed_bytes) { return sha256(signed_bytes); }

std::string to_be_signed(std::string_view signed_bytes, const Digest& id) {
  return std::string(signed_bytes) + std::string(view(id));
}

// What is sliced out of a payload: its elements as they were written.
struct Slices {
  std::uint32_t count = 0;
  std::string_view time, title, content, fields;
  std::optional<std::string_view> stamp;
};

std::optional<Slices> slice(std::string_view payload) {
  MsgpackReader whole(payload);
  whole.raw();  // also bounds the depth of all that is in it
  if (!whole.at_end()) return std::nullopt;
  MsgpackReader in(payload);
  Slices out{.count = in.array()};
  if (!in.ok() || out.count < kPlainElements || out.count > kElementsMax) return std::nullopt;
  out.time = in.raw();
  out.title = in.raw();
  out.content = in.raw();
  out.fields = in.raw();
  if (out.count > kPlainElements) out.stamp = in.raw();
  return in.ok() ? std::optional(out) : std::nullopt;
}

}  // namespace

double to_seconds(Timestamp wall) { return static_cast<double>(wall.ms()) / 1000.0; }

Result<PackedMessage> pack(const LxmfMessage& message, const reticulum::SigningKey& source) {
  if (!is_map(message.fields)) return fail(ErrorCode::kInvalid, "fields are no msgpack map");
  std::string signed_bytes(view(message.destination));
  signed_bytes += view(message.source);
  MsgpackWriter(signed_bytes)
      .array(kPlainElements)
      .real(message.time)
      .binary(message.title)
      .binary(message.content)
      .raw(message.fields);
  PackedMessage out{.id = id_of(signed_bytes)};
  const Signature signature = source.sign(to_be_signed(signed_bytes, out.id));
  out.bytes = signed_bytes.substr(0, 2 * kAddressBytes);
  out.bytes += view(signature);
  out.bytes += std::string_view(signed_bytes).substr(2 * kAddressBytes);
  return out;
}

Result<std::string> with_stamp(std::string_view packed, std::string_view stamp) {
  constexpr char kFour = static_cast<char>(0x94);
  constexpr char kFive = static_cast<char>(0x95);
  if (packed.size() <= kEnvelopeBytes || packed[kEnvelopeBytes] != kFour)
    return fail(ErrorCode::kInvalid, "no message without a stamp");
  std::string out(packed);
  out[kEnvelopeBytes] = kFive;
  MsgpackWriter(out).binary(stamp);
  return out;
}

std::size_t content_size(std::string_view packed) {
  constexpr std::size_t kOverhead = kEnvelopeBytes + 16;
  return packed.size() < kOverhead ? 0 : packed.size() - kOverhead;
}

Carriage carriage_for(Carriage wanted, std::string_view packed) {
  const bool fits = content_size(packed) <= kOpportunisticSizeMax;
  return wanted == Carriage::kOpportunistic && !fits ? Carriage::kDirect : wanted;
}

std::string_view opportunistic_part(std::string_view packed) {
  return packed.substr(std::min(packed.size(), kAddressBytes));
}

std::string from_opportunistic(const Address& recipient, std::string_view plain) {
  return std::string(view(recipient)) + std::string(plain);
}

Result<ReceivedMessage> unpack(std::string_view packed) {
  if (packed.size() <= kEnvelopeBytes) return fail(ErrorCode::kCorrupt, "message is cut off");
  const std::string_view payload = packed.substr(kEnvelopeBytes);
  const auto parts = slice(payload);
  if (!parts) return fail(ErrorCode::kCorrupt, "message with another payload");
  ReceivedMessage out;
  out.message.destination = *exactly<kAddressBytes>(packed.substr(0, kAddressBytes));
  out.message.source = *exactly<kAddressBytes>(packed.substr(kAddressBytes, kAddressBytes));
  out.signature = *exactly<64>(packed.substr(2 * kAddressBytes, 64));
  MsgpackReader time(parts->time);
  MsgpackReader title(parts->title);
  MsgpackReader content(parts->content);
  out.message.time = time.real();
  out.message.title = title.bytes();
  out.message.content = content.bytes();
  out.message.fields = parts->fields;
  if (!time.ok() || !std::isfinite(out.message.time) || !title.ok() || !content.ok() ||
      !is_map(parts->fields))
    return fail(ErrorCode::kCorrupt, "message with elements of other kinds");
  out.signed_bytes = packed.substr(0, 2 * kAddressBytes);
  if (parts->count == kPlainElements) {
    out.signed_bytes += payload;
  } else {
    MsgpackReader stamp(*parts->stamp);
    if (stamp.peek() == MsgpackKind::kBinary) out.stamp = stamp.binary();
    MsgpackWriter(out.signed_bytes)
        .array(kPlainElements)
        .raw(parts->time)
        .raw(parts->title)
        .raw(parts->content)
        .raw(parts->fields);
  }
  out.id = id_of(out.signed_bytes);
  return out;
}

SignatureVerdict judge_signature(ReceivedMessage& received, const Key* source) {
  if (source == nullptr) return SignatureVerdict::kUnknownSource;
  const std::string_view signature = view(received.signature);
  if (is_signed_by(*source, to_be_signed(received.signed_bytes, received.id), signature))
    return SignatureVerdict::kVerified;
  const std::string_view bytes = received.signed_bytes;
  const auto payload = reticulum::canonical_msgpack(bytes.substr(2 * kAddressBytes));
  if (!payload) return SignatureVerdict::kInvalid;
  const std::string again = std::string(bytes.substr(0, 2 * kAddressBytes)) + *payload;
  if (again == bytes) return SignatureVerdict::kInvalid;
  const Digest id = id_of(again);
  if (!is_signed_by(*source, to_be_signed(again, id), signature)) return SignatureVerdict::kInvalid;
  received.id = id;
  return SignatureVerdict::kVerified;
}

std::optional<std::string_view> find_field(std::string_view fields, std::uint64_t number) {
  MsgpackReader in(fields);
  for (std::uint32_t left = in.map(); left > 0 && in.ok(); --left) {
    const bool is_it = in.peek() == MsgpackKind::kWhole;
    MsgpackReader key(in.raw());
    const bool found = is_it && key.whole() == number;
    const std::string_view value = in.raw();
    if (found && in.ok()) return value;
  }
  return std::nullopt;
}

Result<std::string> with_field(std::string_view fields, std::uint64_t number,
                               std::string_view value) {
  if (!is_map(fields)) return fail(ErrorCode::kInvalid, "fields are no msgpack map");
  const bool replaces = find_field(fields, number).has_value();
  MsgpackReader in(fields);
  const std::uint32_t count = in.map();
  std::string out;
  MsgpackWriter to(out);
  to.map(count + (replaces ? 0 : 1));
  for (std::uint32_t left = count; left > 0; --left) {
    const bool is_number = in.peek() == MsgpackKind::kWhole;
    const std::string_view key = in.raw();
    const std::string_view old = in.raw();
    to.raw(key).raw(is_number && MsgpackReader(key).whole() == number ? value : old);
  }
  if (!replaces) to.whole(number).raw(value);
  return out;
}

}  // namespace postrider::lxmf
