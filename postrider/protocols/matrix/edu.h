// Ephemeral units (EDUs): taken apart into what is sent once, and put together again for a
// transaction. A unit of presence or of receipts carries many values; each value becomes a unit of
// its own with a key, so that a newer value takes the place of the older one that waits. Every part
// is a whole unit again and could be sent as it is. Other units stay the bytes that came. Pure; any
// thread.
//
// | type | key: the last value goes |
// |---|---|
// | m.typing | room, user |
// | m.presence | user |
// | m.receipt | room, type of receipt, user, thread |
// | m.signing_key_update | user |
// | m.direct_to_device, m.device_list_update, unknown types | none: all go, in order |
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"

namespace postrider::matrix {

inline constexpr std::size_t kEduKeyBytesMax = 255;
inline constexpr std::size_t kEduPartsMax = 10'000;  // of one unit

enum class EduKind : std::uint8_t {
  kToDevice,
  kDeviceList,
  kSigningKeys,
  kReceipt,
  kPresence,
  kTyping,
  kOther,
};

EduKind kind_of_edu(std::string_view type);

struct EduPart {
  EduKind kind = EduKind::kOther;
  std::string key;    // of its lane; empty: it has none
  std::string bytes;  // {"content":…,"edu_type":…}
  bool operator==(const EduPart&) const = default;
};

// What cannot be sent, with the reason. A receiver would ignore it, or fail the whole transaction.
struct EduRefusal {
  std::string bytes;
  std::string reason;
};

struct EduParts {
  std::vector<EduPart> parts;
  std::vector<EduRefusal> refused;
};

struct EduNames {
  std::string_view origin;       // our server: presence, typing and so on are of its users only
  std::string_view destination;  // messages to devices are for its users only
};

// kInvalid, kLimit and kConflict of the reader, and when `edu_type` or `content` is missing.
Result<EduParts> take_apart(std::string_view edu, const EduNames& names);

struct EduPacking {
  std::uint32_t presence_users_max = 50;  // of one unit
};
// The units of a transaction made of parts, given in the order of the lanes: presence of up to 50
// users makes one unit, receipts are put into as few as their threads allow, the rest goes as it
// is. Units stand where their first part stood.
std::vector<std::string> put_together(std::span<const EduPart* const> parts,
                                      const EduPacking& packing = {});

// The room, type and user of a receipt's key: a unit holds one receipt of each, so as many units
// are needed as threads of one group are waiting.
std::string_view receipt_group(std::string_view key);

}  // namespace postrider::matrix
