// DevicePlan: what a seed makes of a world of metering devices. Plugins, which are far sides with
// queues of their own, some by push and some by pull; consumers of events; meters; and the commands
// that clients have for them. Pure: everything follows from the options and the generator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/model/destination.h"
#include "postrider/profiles/device/settings.h"
#include "postrider/protocols/device/message.h"
#include "postrider/sim/world/options.h"

namespace postrider::sim {

inline constexpr std::string_view kDeviceProfile = "device";
inline constexpr std::string_view kDeviceApplication = "6d1f6a5e-0000-4000-8000-000000000001";

// One far side and those who speak to it.
struct DevicePlugin {
  std::string name;
  device::Wire wire = device::Wire::kChirpstack;
  std::uint32_t peer = 0;  // of the network
  std::string events;      // the destination that hears what becomes of commands; empty: none
};
std::uint32_t device_plugins(const SimOptions& options);
DevicePlugin device_plugin(const SimOptions& options, std::uint32_t plugin);

// Of all destinations of such a world every eighth is a consumer of events, the others are queues.
bool is_consumer(std::uint32_t destination);
std::uint32_t plugin_of(const SimOptions& options, std::uint32_t destination);
DestinationConfig draw_device_queue(const SimOptions& options, std::uint32_t destination, Rng& rng);

// Meters of a plugin: few, so that commands meet, or many.
// Whether few meters get the same few commands again and again, in a world where replies are lost
// and meters sleep: then items of the same content lie side by side in the queue of a server.
bool is_alike(const SimOptions& options);
std::uint32_t meters_of(const SimOptions& options);
std::string meter_number(std::uint32_t plugin, std::uint32_t meter);

// A command that a client wants carried out. `serial` makes its correlation id its own.
device::DeviceMessage draw_command(const SimOptions& options, std::uint32_t destination,
                                   std::uint64_t serial, Rng& rng);
// What commands of a client are known by: the key of the API.
std::string correlation_key(const device::DeviceMessage& command);

}  // namespace postrider::sim
