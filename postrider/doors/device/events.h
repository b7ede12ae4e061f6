// What a network server tells about devices, on its way to the engine: the event is looked at as
// far as is needed to recognise it when it comes twice, and goes on as it came. Pure; for events
// by HTTP and by MQTT alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/doors/device/plugins.h"
#include "postrider/model/event.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/transports/mqtt/brokers.h"

namespace postrider::device_door {

inline constexpr std::size_t kIngressBytesMax = std::size_t{256} << 10;
inline constexpr std::string_view kIngressTenant = "ingress";  // has a share of its own

enum class EventFormat : std::uint8_t { kJson, kProtobuf };

struct IngressEvent {
  std::string_view plugin;
  chirpstack::EventKind kind = chirpstack::EventKind::kOther;
  EventFormat format = EventFormat::kJson;
  std::string_view bytes;
  NamedTexts settings = {};  // of the plugin
};

// The event as the engine takes it, with a key by which it is taken once within the window of the
// ledger: plugin, event, devEui, queueItemId, deduplicationId, downlinkId and code.
// kLimit when it is too large, kNotFound for a kind that nobody knows, any other Error when it is
// no such event.
Result<Arrived> make_arrival(IngressEvent event);

// The same for an event that a broker of MQTT brought, in either format. `settings` are the
// plugin's.
Result<Arrived> device_arrival(const BrokerEvent& event, const NamedTexts& settings);

}  // namespace postrider::device_door
