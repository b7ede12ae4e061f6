#include "postrider/api/broker_event.h"

#include "postrider/base/codec.h"
#include "postrider/base/hash.h"
#include "postrider/protocols/chirpstack_events.h"

namespace postrider {
namespace {

// What tells events apart, whatever else is in them and whichever way they came.
std::string identity_of(std::string_view plugin, const chirpstack::Event& event) {
  std::string identity;
  Writer(identity)
      .text(plugin)
      .text(chirpstack::name_of(event.kind))
      .text(event.dev_eui)
      .text(event.queue_item_id)
      .text(event.deduplication_id)
      .u32(event.downlink_id)
      .text(event.code);
  return identity;
}

}  // namespace

Result<Arrived> device_arrival(const BrokerEvent& event, std::string_view events) {
  const chirpstack::EventKind kind = chirpstack::parse_event_kind(event.event);
  if (kind == chirpstack::EventKind::kOther) return fail(ErrorCode::kNotFound, "unknown event");
  // No message of protobuf that is an event begins with a brace.
  const bool json = event.bytes.starts_with('{');
  POSTRIDER_TRY(read, json ? chirpstack::decode_event_json(kind, event.bytes)
                           : chirpstack::decode_event_protobuf(kind, event.bytes));
  Arrived out;
  out.caller.said = identity_of(event.plugin, read);
  out.caller.key.kind = OperationKey::Kind::kOpaque;
  out.caller.key.scope = "ingress";
  const Fingerprint print = fingerprint(out.caller.said);
  out.caller.key.key.assign(print.begin(), print.end());
  out.profile = "device";
  out.source = event.plugin;
  out.source.append(" ").append(event.event).append(json ? " json " : " protobuf ");
  out.source.append(events.empty() ? "-" : events);
  out.bytes = event.bytes;
  return out;
}

}  // namespace postrider
