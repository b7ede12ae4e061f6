// What the JSON and the protobuf form of ChirpStack's events share. Used by these two only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "postrider/protocols/chirpstack/events.h"

namespace postrider::chirpstack {

inline constexpr std::array<std::string_view, 3> kLogLevels = {"INFO", "WARNING", "ERROR"};
inline constexpr std::array<std::string_view, 12> kLogCodes = {"UNKNOWN",
                                                               "DOWNLINK_PAYLOAD_SIZE",
                                                               "UPLINK_CODEC",
                                                               "DOWNLINK_CODEC",
                                                               "OTAA",
                                                               "UPLINK_F_CNT_RESET",
                                                               "UPLINK_MIC",
                                                               "UPLINK_F_CNT_RETRANSMISSION",
                                                               "DOWNLINK_GATEWAY",
                                                               "RELAY_NEW_END_DEVICE",
                                                               "F_CNT_DOWN",
                                                               "EXPIRED"};
inline constexpr std::string_view kItemInContext = "queue_item_id";

// The name of a number, or the number itself as text: a newer server may know more.
std::string enumerator_name(std::span<const std::string_view> names, std::uint32_t number);
std::uint32_t enumerator_number(std::span<const std::string_view> names, std::string_view name);

// Thousandths; what is not finite or absurdly large is cut.
std::int32_t to_milli(float number);

void keep_best(std::optional<Heard>& best, Heard heard);

// What holds for both forms at the end: the device is named, ids are bounded.
Result<void> settle(Event& event);

}  // namespace postrider::chirpstack
