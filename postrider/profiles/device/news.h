// What the network server tells unasked: whom an event is about, and what it means for a command.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "postrider/profiles/device/types.h"

namespace postrider::device {

// The source of an arrival names the plugin, the server's word for the event and its format, "json"
// or "protobuf". Of the plugin's settings two count: `events`, the destination that hears of what
// comes unsolicited, and `pair_window`.
inline constexpr std::string_view kJson = "json";
inline constexpr std::string_view kProtobuf = "protobuf";
Received receive(const Inbound& inbound);
Reading notice(const Facts& facts, const Notice& notice);

// The name under which a device is known to owe an answer to an attempt that nobody waits for any
// more. Empty for what proves nothing.
ExternalName owed_answer(std::string_view dev_eui, std::string_view kind);
// The name under which a device is known to have an item whose id nobody told us.
ExternalName nameless_item(std::string_view dev_eui);

}  // namespace postrider::device
