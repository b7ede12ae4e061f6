#include "postrider/api/broker_event.h"

#include "postrider/api/device_ingress.h"

namespace postrider {

Result<Arrived> device_arrival(const BrokerEvent& event, const NamedTexts& settings) {
  // No message of protobuf that is an event begins with a brace.
  const bool json = event.bytes.starts_with('{');
  return api::make_arrival({.plugin = event.plugin,
                            .kind = chirpstack::parse_event_kind(event.event),
                            .format = json ? api::EventFormat::kJson : api::EventFormat::kProtobuf,
                            .bytes = event.bytes,
                            .settings = settings});
}

}  // namespace postrider
