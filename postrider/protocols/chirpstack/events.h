// The events that a ChirpStack v4 network server tells about its devices, from JSON or from
// protobuf: both give the same value. The encoders are for models of a network server. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace postrider::chirpstack {

inline constexpr std::size_t kEventBytesMax = std::size_t{256} << 10;

enum class EventKind : std::uint8_t { kUp, kAck, kTxAck, kLog, kJoin, kStatus, kOther };
// The word in the query or the topic. Unknown words are kOther: new servers have new events.
EventKind parse_event_kind(std::string_view name);
std::string_view name_of(EventKind kind);  // "txack"; empty for kOther

// How a gateway heard an uplink.
struct Heard {
  std::string gateway_id;
  std::int32_t rssi = 0;
  std::int32_t snr_milli = 0;  // thousandths of a dB: decisions are made with whole numbers
  friend bool operator==(const Heard&, const Heard&) = default;
};

struct Event {
  EventKind kind = EventKind::kOther;
  std::string dev_eui;  // small letters
  std::string application_id;
  std::string device_name;
  std::string deduplication_id;
  Timestamp time;  // not set when the server gave none

  // up, join
  std::string dev_addr;
  // up
  std::string data;
  std::uint32_t f_cnt = 0;
  std::uint32_t f_port = 0;
  bool confirmed = false;
  std::optional<Heard> heard;  // by the gateway with the best SNR, then the best RSSI

  // ack, txack
  std::string queue_item_id;  // log too, from its context
  std::uint32_t f_cnt_down = 0;
  // ack
  bool acknowledged = false;
  // txack
  std::uint32_t downlink_id = 0;
  std::string gateway_id;

  // log
  std::string level;  // "ERROR"
  std::string code;   // "EXPIRED"; the number when nobody knows its name
  std::string description;

  // status
  std::int32_t margin = 0;
  bool external_power_source = false;
  bool battery_level_unavailable = false;
  std::int32_t battery_milli = 0;  // thousandths of a percent

  friend bool operator==(const Event&, const Event&) = default;
};

// kInvalid or kCorrupt for a body that is no such event, also when it names no device; kLimit when
// it is too large. The body of kOther is not read.
Result<Event> decode_event_json(EventKind kind, std::string_view body);
Result<Event> decode_event_protobuf(EventKind kind, std::string_view body);

std::string encode_event_json(const Event& event);
std::string encode_event_protobuf(const Event& event);

// A log that says the queued item is gone and will not be sent.
bool says_discarded(const Event& event);

}  // namespace postrider::chirpstack
