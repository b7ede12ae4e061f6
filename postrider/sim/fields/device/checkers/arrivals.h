// Events of network servers and names of their items, read from the disk for the checkers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/codec.h"
#include "postrider/model/records/records.h"
#include "postrider/protocols/chirpstack_events.h"

namespace postrider::sim {

// "PLUGIN EVENT FORMAT EVENTS" says what the bytes are.
inline std::optional<chirpstack::Event> event_in(const ArrivalRecord& arrival) {
  const std::string_view source = arrival.source;
  const std::size_t first = source.find(' ');
  const std::size_t second = source.find(' ', first + 1);
  if (arrival.profile != "device" || second == std::string_view::npos) return std::nullopt;
  const auto kind = chirpstack::parse_event_kind(source.substr(first + 1, second - first - 1));
  const bool protobuf = source.substr(second + 1).starts_with("protobuf");
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
