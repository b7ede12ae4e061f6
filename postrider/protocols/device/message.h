// DeviceMessage: a command for a device as callers hand it in, the body of POST /message/enqueue.
// Read strictly, and written back in one canonical form, so that equal content is equal bytes:
// that form is what a message of the device profile has as its body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/device/command.h"
#include "postrider/protocols/device/reply.h"

namespace postrider::device {

inline constexpr std::size_t kMessageBytesMax = std::size_t{64} << 10;
inline constexpr std::size_t kIdBytesMax = 128;  // of every id, key and reference in it
inline constexpr std::size_t kPluginBytesMax = 64;
inline constexpr std::string_view kElectricityMeter = "ELECTRICITY_METER";

struct DeviceMessage {
  // Through whom a device is reached. Its id names a queue of pull commands.
  struct Relay {
    std::string id;
    std::string reference;
    std::optional<Decimal> snr;
    std::optional<Decimal> rssi;
    friend bool operator==(const Relay&, const Relay&) = default;
  };

  Request request;  // `meter` is the external reference of the device
  std::string plugin;
  std::optional<std::uint32_t> network;  // none: unassigned
  std::uint16_t priority = 0;            // the larger goes first
  std::string correlation;               // empty: none
  std::string device_type{kElectricityMeter};
  std::optional<Relay> relay;
  std::string supersede;                // empty: none
  std::optional<Timestamp> expires_at;  // wall time
  friend bool operator==(const DeviceMessage&, const DeviceMessage&) = default;
};

// 1 to 64 letters, digits, '_' and '-'.
bool is_plugin_name(std::string_view name);

// kInvalid names the field and what it may be, and an unknown one with the nearest known; kLimit
// when the text is too large. Numbers must be numbers. A token never appears in an error. Whether
// the command can be sent at all (check_request) is not asked here: a message that cannot ends as
// rejected, where everybody can see it.
Result<DeviceMessage> parse_device_message(std::string_view json);
// Fixed order of names, what is absent is left out, times in UTC. Parsing it gives the same value.
std::string encode_device_message(const DeviceMessage& message);

// "PLUGIN.network:7", "PLUGIN.network:unassigned".
std::string push_queue(const DeviceMessage& message);
// "PLUGIN.gateway:ID"; kInvalid when the device has no relay node.
Result<std::string> pull_queue(const DeviceMessage& message);

}  // namespace postrider::device
