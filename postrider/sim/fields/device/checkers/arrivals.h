// Events of network servers and names of their items, read from the disk for the checkers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/codec.h"
#include "postrider/model/records/records.h"
#include "postrider/protocols/chirpstack/events.h"

namespace postrider::sim {

// The source says what the bytes are.
inline std::optional<chirpstack::Event> event_in(const ArrivalRecord& arrival) {
  if (arrival.profile != "device" || arrival.source.kind.empty()) return std::nullopt;
  const auto kind = chirpstack::parse_event_kind(arrival.source.kind);
  const bool protobuf = arrival.source.format == "protobuf";
  auto event = protobuf ? chirpstack::decode_event_protobuf(kind, arrival.bytes)
                        : chirpstack::decode_event_json(kind, arrival.bytes);
  if (!event) return std::nullopt;
  return std::move(*event);
}

// The item that a name on the disk stands for.
inline std::optional<std::string> item_in(std::string_view tail) {
  Reader reader(tail);
  if (reader.text() != "device/item") return std::nullopt;
  return std::string(reader.rest());
}

}  // namespace postrider::sim
