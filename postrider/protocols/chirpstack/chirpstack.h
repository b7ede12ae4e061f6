// Commands to a ChirpStack v4 network server: the messages of `api.DeviceService` by their field
// numbers, what an answer to Enqueue means, and the same command over MQTT. Both sides of each
// message are here, because the models of a network server speak them too. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/device/reply.h"
#include "postrider/protocols/grpc/grpc.h"

namespace postrider::chirpstack {

inline constexpr std::string_view kEnqueuePath = "/api.DeviceService/Enqueue";
inline constexpr std::string_view kGetQueuePath = "/api.DeviceService/GetQueue";
inline constexpr std::string_view kGetDevicePath = "/api.DeviceService/Get";
inline constexpr std::size_t kDevEuiDigits = 16;
inline constexpr std::uint32_t kCommandPort = 1;     // f_port of all our commands
inline constexpr std::size_t kQueueItemsMax = 1000;  // of one answer to GetQueue
inline constexpr std::size_t kIdBytesMax = 128;

// The device's address from a meter reference: zeros in front up to 16 hexadecimal digits, small
// letters. Nothing when it does not fit.
std::optional<std::string> dev_eui_of(std::string_view reference);
// And back. Meter numbers have 11 digits, so five zeros go; a longer one loses only its zeros.
std::optional<std::string> reference_of(std::string_view dev_eui);
bool is_dev_eui(std::string_view text);  // 16 hexadecimal digits

struct QueueItem {
  std::string id;  // made by the server
  std::string dev_eui;
  bool confirmed = false;
  std::uint32_t f_port = 0;
  std::string data;
  bool is_pending = false;
  std::uint32_t f_cnt_down = 0;
  bool is_encrypted = false;
  std::optional<Timestamp> expires_at;
  friend bool operator==(const QueueItem&, const QueueItem&) = default;
};
// As we send all of them: on port 1, confirmed.
QueueItem make_command(std::string_view dev_eui, std::string_view data,
                       std::optional<Timestamp> expires_at);

// `flush_queue` is never set: it would delete what others have queued.
std::string encode_enqueue(const QueueItem& item);
struct EnqueueRequest {
  QueueItem item;
  bool flush_queue = false;
};
Result<EnqueueRequest> decode_enqueue(std::string_view bytes);
std::string encode_enqueue_response(std::string_view id);
Result<std::string> decode_enqueue_response(std::string_view bytes);  // the id; may be empty

std::string encode_get_queue(std::string_view dev_eui);
Result<std::string> decode_get_queue(std::string_view bytes);  // the device
struct Queue {
  std::uint32_t total_count = 0;
  std::vector<QueueItem> items;  // oldest first
  friend bool operator==(const Queue&, const Queue&) = default;
};
std::string encode_get_queue_response(const Queue& queue);
Result<Queue> decode_get_queue_response(std::string_view bytes);

// What the answer to an Enqueue says about the command. `frame` is the body of the answer, empty
// when there was none. Accepted only with an id: without one nobody could ever name the item.
device::SendReply read_enqueue_reply(grpc::Status status, std::string_view message,
                                     std::string_view frame);

// Whether the server knows a device.
std::string encode_get_device(std::string_view dev_eui);
Result<std::string> decode_get_device(std::string_view bytes);  // the device
struct Device {
  std::string dev_eui;
  std::string application;
  friend bool operator==(const Device&, const Device&) = default;
};
std::string encode_get_device_response(const Device& device);
Result<Device> decode_get_device_response(std::string_view bytes);
// What an answer to Get means for a command that waits for it and has not left: anything but OK
// leaves it unsent, and a device that is not known refuses it for good.
device::SendReply read_get_device_reply(grpc::Status status, std::string_view message);

// MQTT. There is no answer to a command. Its id is chosen by us; the server refuses an id that is
// in the device's queue at that moment, and no other. A broker may hold a command for a server
// whose session is away, so a queue without it proves nothing.
struct EventTopic {
  std::string application;
  std::string dev_eui;
  std::string event;
  friend bool operator==(const EventTopic&, const EventTopic&) = default;
};
std::string event_topic(const EventTopic& topic);
std::optional<EventTopic> parse_event_topic(std::string_view topic);
std::string event_filter(std::string_view application);  // all events of all its devices
struct CommandTopic {
  std::string application;
  std::string dev_eui;
  friend bool operator==(const CommandTopic&, const CommandTopic&) = default;
};
std::string command_topic(const CommandTopic& topic);
std::optional<CommandTopic> parse_command_topic(std::string_view topic);
// DownlinkCommand as JSON.
std::string encode_downlink_command(const QueueItem& item);
Result<QueueItem> decode_downlink_command(std::string_view json);

}  // namespace postrider::chirpstack
