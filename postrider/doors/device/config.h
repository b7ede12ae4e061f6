// The device profile's part of the configuration: [device], and [plugins.NAME] for the ways to
// devices. Plain values; no thread owns them.
#pragma once

#include <string>
#include <vector>

#include "postrider/config/config_part.h"
#include "postrider/doors/device/plugins.h"

namespace postrider::device_door {

// A correlation id answers for the longest life of a message and for the time that its history is
// kept.
inline constexpr Duration kCorrelationWindow{15 * 24h};

// Kept in Config::parts.
struct DeviceConfig {
  std::vector<DevicePlugin> plugins;
  std::string metrics = "open";  // "token": /metrics needs one even when there are plugins
};

extern const ConfigPart kConfigPart;

}  // namespace postrider::device_door
