// The lanes of a server's queue, and which kind of item goes into which. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/model/policy.h"
#include "postrider/protocols/matrix/edu.h"

namespace postrider::matrix {

// In the order in which a transaction takes from them, events last: they have limits of their own.
enum Lane : std::uint8_t {
  kPresenceLane,
  kReceiptLane,
  kToDeviceLane,
  kDeviceLane,  // lists, and signing keys, of which a user's newest goes
  kTypingLane,
  kOtherLane,  // types that we do not know: all of them go, in order
  kEventLane,
};
inline constexpr std::size_t kMatrixLanes = 7;

struct LaneFacts {
  std::string_view name;
  bool fifo = false;  // all go, in order
  // Messages without a key stay in any case. Of an event the key is its room.
  Latest latest = Latest::kNever;
  bool rides = false;  // travels with others, and leads only after its time
  bool dropped_when_deep = false;
  bool catches_up = false;  // starts while a server catches up, under `better`
};
inline constexpr std::array<LaneFacts, kMatrixLanes> kLaneFacts = {{
    {.name = "presence", .latest = Latest::kAlways, .rides = true, .dropped_when_deep = true},
    {.name = "receipts", .latest = Latest::kAlways, .rides = true, .dropped_when_deep = true},
    {.name = "to-device", .fifo = true, .catches_up = true},
    {.name = "devices", .fifo = true, .latest = Latest::kAlways, .catches_up = true},
    {.name = "typing", .latest = Latest::kAlways, .dropped_when_deep = true},
    {.name = "other", .fifo = true},
    {.name = "events", .fifo = true, .latest = Latest::kWhenBehind, .catches_up = true},
}};

constexpr Lane lane_of(EduKind kind) {
  switch (kind) {
    case EduKind::kToDevice: return kToDeviceLane;
    case EduKind::kDeviceList:
    case EduKind::kSigningKeys: return kDeviceLane;
    case EduKind::kReceipt: return kReceiptLane;
    case EduKind::kPresence: return kPresenceLane;
    case EduKind::kTyping: return kTypingLane;
    case EduKind::kOther: return kOtherLane;
  }
  POSTRIDER_CHECK(false);
}

}  // namespace postrider::matrix
