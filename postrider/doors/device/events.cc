#include "postrider/doors/device/events.h"

#include <utility>

#include "postrider/base/codec.h"
#include "postrider/base/hash.h"
#include "postrider/protocols/chirpstack/chirpstack.h"

namespace postrider::device_door {
namespace {

// One event of the server, whatever else is in it and whichever way it came.
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
  // What names no item comes again and again, and would be one event for ever.
  if (event.kind == chirpstack::EventKind::kLog && event.queue_item_id.empty())
    Writer(identity).u64(static_cast<std::uint64_t>(event.time.ms()));
  return identity;
}

}  // namespace

Result<Arrived> make_arrival(IngressEvent event) {
  if (event.kind == chirpstack::EventKind::kOther)
    return fail(ErrorCode::kNotFound, "unknown event");
  if (event.bytes.size() > kIngressBytesMax)
    return fail(ErrorCode::kLimit, "an event has at most 256 KiB");
  const bool json = event.format == EventFormat::kJson;
  POSTRIDER_TRY(read, json ? chirpstack::decode_event_json(event.kind, event.bytes)
                           : chirpstack::decode_event_protobuf(event.kind, event.bytes));
  Arrived arrived;
  arrived.profile = kDeviceProfile;
  arrived.source = {.origin = std::string(event.plugin),
                    .kind = std::string(chirpstack::name_of(event.kind)),
                    .format = json ? "json" : "protobuf"};
  arrived.settings = std::move(event.settings);
  arrived.bytes = event.bytes;
  arrived.caller.said = identity_of(event.plugin, read);
  arrived.caller.key.kind = OperationKey::Kind::kOpaque;
  arrived.caller.key.scope = "ingress";
  const Fingerprint print = fingerprint(arrived.caller.said);
  arrived.caller.key.key.assign(print.begin(), print.end());
  return arrived;
}

Result<Arrived> device_arrival(const BrokerEvent& event, const NamedTexts& settings) {
  const auto words = chirpstack::parse_event_topic(event.topic);
  if (!words) return fail(ErrorCode::kNotFound, "unknown topic");
  // No message of protobuf that is an event begins with a brace.
  const bool json = event.bytes.starts_with('{');
  return make_arrival({.plugin = event.source,
                       .kind = chirpstack::parse_event_kind(words->event),
                       .format = json ? EventFormat::kJson : EventFormat::kProtobuf,
                       .bytes = event.bytes,
                       .settings = settings});
}

}  // namespace postrider::device_door
