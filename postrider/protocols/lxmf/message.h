// Messages of LXMF as bytes: packed, signed, with or without a stamp; and what a received one says.
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/reticulum/bytes.h"
#include "postrider/protocols/reticulum/crypto.h"
#include "postrider/protocols/reticulum/identity.h"

namespace postrider::lxmf {

using reticulum::Address;
using reticulum::Digest;
using reticulum::Key;
using reticulum::Signature;

inline constexpr std::string_view kDeliveryName = "lxmf.delivery";
inline constexpr std::string_view kPropagationName = "lxmf.propagation";

enum class Carriage : std::uint8_t {
  kOpportunistic = 1,
  kDirect = 2,
  kPropagated = 3,
  kPaper = 5,
};

// What surrounds the payload: both addresses and the signature.
inline constexpr std::size_t kEnvelopeBytes = 96;
// Content sizes, up to which a message goes as one packet.
inline constexpr std::size_t kOpportunisticSizeMax = 295;
inline constexpr std::size_t kDirectPacketSizeMax = 319;
inline constexpr std::size_t kUploadPacketBytesMax = 319;

// Fields that a router looks at; the others are the application's.
inline constexpr std::uint64_t kFieldTicket = 0x0C;

double to_seconds(Timestamp wall);

struct LxmfMessage {
  Address destination{};  // of the recipient's delivery
  Address source{};       // of the sender's delivery
  double time = 0;        // seconds of the wall
  std::string title;
  std::string content;
  std::string fields = "\x80";  // a msgpack map, empty here
};

struct PackedMessage {
  Digest id{};
  std::string bytes;  // both addresses, signature, payload
};
// kInvalid: the fields are no map, or nested too deeply.
Result<PackedMessage> pack(const LxmfMessage& message, const reticulum::SigningKey& source);
// The same message with its stamp: neither id nor signature change. kInvalid: it has one, or is no
// packed message.
Result<std::string> with_stamp(std::string_view packed, std::string_view stamp);

// What the rules of size are about. The bytes are those of a packed message.
std::size_t content_size(std::string_view packed);
// How a message that was submitted as OPPORTUNISTIC travels.
Carriage carriage_for(Carriage wanted, std::string_view packed);

// In a packet to the recipient its own address is left out.
std::string_view opportunistic_part(std::string_view packed);
std::string from_opportunistic(const Address& recipient, std::string_view plain);

struct ReceivedMessage {
  LxmfMessage message;
  Signature signature{};
  std::optional<std::string> stamp;
  Digest id{};
  std::string signed_bytes;  // addresses and the payload without its stamp, as received
};
// kCorrupt: this is no message.
Result<ReceivedMessage> unpack(std::string_view packed);

enum class SignatureVerdict : std::uint8_t { kVerified, kUnknownSource, kInvalid };
// `source`: the sender's signing key, null when it is not known. A sender that did not write the
// shortest form may have signed what a reader makes of it: then the id is that one's too.
SignatureVerdict judge_signature(ReceivedMessage& received, const Key* source);

// The value of a field, as msgpack. Nothing: there is none.
std::optional<std::string_view> find_field(std::string_view fields, std::uint64_t number);
// The fields with this one set. kInvalid: they are no map.
Result<std::string> with_field(std::string_view fields, std::uint64_t number,
                               std::string_view value);

}  // namespace postrider::lxmf
