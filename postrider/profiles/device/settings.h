// What a queue of the device profile can be told: where its commands go, as whom, and the numbers.
// A queue is a destination; a plugin is the settings that many queues share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/model/profile.h"
#include "postrider/profiles/device/rules.h"
#include "postrider/protocols/device/command.h"

namespace postrider::device {

// By what its commands travel.
enum class Wire : std::uint8_t { kChirpstack, kChirpstackMqtt, kCalinV1, kCalinV2 };

inline constexpr std::size_t kSettingCount = 42;
extern const std::array<SettingRow, kSettingCount> kSettingRows;

Result<Policy> configure(const NamedTexts& settings);

std::string_view setting(const DestinationFacts& queue, std::string_view name,
                         std::string_view fallback = {});
Wire wire_of(const DestinationFacts& queue);
Way way_of(Wire wire);
Repeat repeat_of(const DestinationFacts& queue, Command command);
// How long the server may keep a command before it has to forget it, and the longest that any queue
// can say.
inline constexpr Duration kExpiresAfterMax{7 * 24h};
Duration expires_after(const DestinationFacts& queue);

}  // namespace postrider::device
