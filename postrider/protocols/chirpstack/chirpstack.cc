#include "postrider/protocols/chirpstack/chirpstack.h"

#include <algorithm>

#include "postrider/json/json_writer.h"
#include "postrider/protocols/grpc/protobuf.h"
#include "postrider/protocols/json_value.h"
#include "postrider/protocols/web/base64.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::chirpstack {
namespace {

using device::SendReply;
using device::SendVerdict;
using protobuf::WireType;

constexpr std::size_t kMeterDigits = 11;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

std::string encode_item(const QueueItem& item) {
  std::string out;
  protobuf::Writer writer(out);
  writer.bytes(1, item.id)
      .bytes(2, item.dev_eui)
      .boolean(3, item.confirmed)
      .varint(4, item.f_port)
      .bytes(5, item.data)
      .boolean(7, item.is_pending)
      .varint(8, item.f_cnt_down)
      .boolean(9, item.is_encrypted);
  if (item.expires_at) writer.message(10, protobuf::encode_timestamp(*item.expires_at));
  return out;
}

Result<QueueItem> read_item(protobuf::Reader reader) {
  QueueItem item;
  while (true) {
    POSTRIDER_TRY(field, reader.next());
    if (!field) return item;
    if (field->is(1, WireType::kBytes)) item.id = field->bytes;
    if (field->is(2, WireType::kBytes)) item.dev_eui = field->bytes;
    if (field->is(3, WireType::kVarint)) item.confirmed = field->boolean();
    if (field->is(4, WireType::kVarint)) item.f_port = field->u32();
    if (field->is(5, WireType::kBytes)) item.data = field->bytes;
    if (field->is(7, WireType::kVarint)) item.is_pending = field->boolean();
    if (field->is(8, WireType::kVarint)) item.f_cnt_down = field->u32();
    if (field->is(9, WireType::kVarint)) item.is_encrypted = field->boolean();
    if (!field->is(10, WireType::kBytes)) continue;
    POSTRIDER_TRY(time, protobuf::read_timestamp(reader.nested(*field)));
    item.expires_at = time;
  }
}

// The text of field 1 of a message that has nothing else for us.
Result<std::string> read_first_text(std::string_view bytes) {
  protobuf::Reader reader(bytes);
  std::string text;
  while (true) {
    POSTRIDER_TRY(field, reader.next());
    if (!field) return text;
    if (field->is(1, WireType::kBytes)) text = field->bytes;
  }
}

// PostgreSQL names the constraint, in any language; SQLite says only that some foreign key failed,
// and the table has no other. A text that names another constraint is not about the device.
bool names_device_key(std::string_view message) {
  const std::string text = to_lower(message);
  if (text.find("device_queue_item_dev_eui_fkey") != std::string::npos) return true;
  return text.find("foreign key") != std::string::npos && text.find("_fkey") == std::string::npos;
}

SendVerdict verdict_of(grpc::Status status, std::string_view message) {
  switch (status) {
    case grpc::Status::kInvalidArgument:
    case grpc::Status::kNotFound: return SendVerdict::kRejected;
    case grpc::Status::kPermissionDenied:
    case grpc::Status::kResourceExhausted:
    case grpc::Status::kUnauthenticated: return SendVerdict::kFailedAlarm;
    case grpc::Status::kInternal:
      return names_device_key(message) ? SendVerdict::kRejected : SendVerdict::kUnknown;
    // An answer that no rule names leaves the fate open; asking the queue will settle it.
    case grpc::Status::kOk:
    case grpc::Status::kCancelled:
    case grpc::Status::kUnknown:
    case grpc::Status::kDeadlineExceeded:
    case grpc::Status::kAlreadyExists:
    case grpc::Status::kFailedPrecondition:
    case grpc::Status::kAborted:
    case grpc::Status::kOutOfRange:
    case grpc::Status::kUnimplemented:
    case grpc::Status::kUnavailable:
    case grpc::Status::kDataLoss: break;
  }
  return SendVerdict::kUnknown;
}

// The words between slashes; empty ones and wildcards make it no topic of ours.
std::optional<std::vector<std::string_view>> words_of(std::string_view topic) {
  constexpr std::size_t kWordsMax = 6;
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t slash = topic.find('/');
    const std::string_view word = topic.substr(0, slash);
    if (word.empty() || word.size() > kIdBytesMax || words.size() == kWordsMax) return std::nullopt;
    if (word.find_first_of("+#") != std::string_view::npos) return std::nullopt;
    words.push_back(word);
    if (slash == std::string_view::npos) return words;
    topic.remove_prefix(slash + 1);
  }
}

std::string device_topic(std::string_view application, std::string_view dev_eui) {
  return std::string("application/").append(application).append("/device/").append(dev_eui);
}

}  // namespace

bool is_dev_eui(std::string_view text) {
  return text.size() == kDevEuiDigits && std::all_of(text.begin(), text.end(), is_hex);
}

std::optional<std::string> dev_eui_of(std::string_view reference) {
  if (reference.empty() || reference.size() > kDevEuiDigits) return std::nullopt;
  if (!std::all_of(reference.begin(), reference.end(), is_hex)) return std::nullopt;
  return std::string(kDevEuiDigits - reference.size(), '0').append(to_lower(reference));
}

std::optional<std::string> reference_of(std::string_view dev_eui) {
  if (!is_dev_eui(dev_eui)) return std::nullopt;
  const std::size_t zeros = std::min(dev_eui.find_first_not_of('0'), kDevEuiDigits - kMeterDigits);
  return to_lower(dev_eui.substr(zeros));
}

QueueItem make_command(std::string_view dev_eui, std::string_view data,
                       std::optional<Timestamp> expires_at) {
  QueueItem item;
  item.dev_eui = dev_eui;
  item.confirmed = true;
  item.f_port = kCommandPort;
  item.data = data;
  item.expires_at = expires_at;
  return item;
}

std::string encode_enqueue(const QueueItem& item) {
  std::string out;
  protobuf::Writer(out).message(1, encode_item(item));
  return out;
}

Result<EnqueueRequest> decode_enqueue(std::string_view bytes) {
  protobuf::Reader reader(bytes);
  EnqueueRequest request;
  bool has_item = false;
  while (true) {
    POSTRIDER_TRY(field, reader.next());
    if (!field) break;
    if (field->is(2, WireType::kVarint)) request.flush_queue = field->boolean();
    if (!field->is(1, WireType::kBytes)) continue;
    POSTRIDER_TRY(item, read_item(reader.nested(*field)));
    request.item = std::move(item);
    has_item = true;
  }
  if (!has_item) return fail(ErrorCode::kInvalid, "there is no queue item");
  return request;
}

std::string encode_enqueue_response(std::string_view id) {
  std::string out;
  protobuf::Writer(out).bytes(1, id);
  return out;
}

Result<std::string> decode_enqueue_response(std::string_view bytes) {
  POSTRIDER_TRY(id, read_first_text(bytes));
  if (id.size() > kIdBytesMax) return fail(ErrorCode::kLimit, "the id is too long");
  return std::move(id);
}

std::string encode_get_queue(std::string_view dev_eui) {
  std::string out;
  protobuf::Writer(out).bytes(1, dev_eui);
  return out;
}

Result<std::string> decode_get_queue(std::string_view bytes) { return read_first_text(bytes); }

std::string encode_get_queue_response(const Queue& queue) {
  std::string out;
  protobuf::Writer writer(out);
  writer.varint(1, queue.total_count);
  for (const QueueItem& item : queue.items) writer.message(2, encode_item(item));
  return out;
}

Result<Queue> decode_get_queue_response(std::string_view bytes) {
  protobuf::Reader reader(bytes);
  Queue queue;
  while (true) {
    POSTRIDER_TRY(field, reader.next());
    if (!field) return queue;
    if (field->is(1, WireType::kVarint)) queue.total_count = field->u32();
    if (!field->is(2, WireType::kBytes)) continue;
    if (queue.items.size() == kQueueItemsMax)
      return fail(ErrorCode::kLimit, "the queue has too many items");
    POSTRIDER_TRY(item, read_item(reader.nested(*field)));
    queue.items.push_back(std::move(item));
  }
}

std::string encode_get_device(std::string_view dev_eui) { return encode_get_queue(dev_eui); }

Result<std::string> decode_get_device(std::string_view bytes) { return read_first_text(bytes); }

std::string encode_get_device_response(const Device& device) {
  std::string inner;
  protobuf::Writer(inner).bytes(1, device.dev_eui).bytes(4, device.application);
  std::string out;
  protobuf::Writer(out).message(1, inner);
  return out;
}

Result<Device> decode_get_device_response(std::string_view bytes) {
  protobuf::Reader reader(bytes);
  Device device;
  while (true) {
    POSTRIDER_TRY(outer, reader.next());
    if (!outer) return device;
    if (!outer->is(1, WireType::kBytes)) continue;
    protobuf::Reader inner = reader.nested(*outer);
    while (true) {
      POSTRIDER_TRY(field, inner.next());
      if (!field) break;
      if (field->is(1, WireType::kBytes)) device.dev_eui = field->bytes;
      if (field->is(4, WireType::kBytes)) device.application = field->bytes;
    }
  }
}

SendReply read_get_device_reply(grpc::Status status, std::string_view message) {
  SendReply out = read_enqueue_reply(status, message, "");
  // The command has not left, so its fate is never open.
  if (out.verdict == SendVerdict::kUnknown) out.verdict = SendVerdict::kFailed;
  return out;
}

SendReply read_enqueue_reply(grpc::Status status, std::string_view message,
                             std::string_view frame) {
  if (status != grpc::Status::kOk) {
    std::string reason(grpc::name_of(status));
    const std::size_t left = device::kReasonBytesMax - reason.size() - 2;
    const std::string words = marked_excerpt(message, left);
    if (!words.empty()) reason.append(": ").append(words);
    return {.verdict = verdict_of(status, message), .item = "", .reason = std::move(reason)};
  }
  const auto open = [](std::string reason) {
    return SendReply{.verdict = SendVerdict::kUnknown, .item = "", .reason = std::move(reason)};
  };
  const Result<std::string_view> bytes = grpc::decode_frame(frame);
  if (!bytes) return open(bytes.error().detail);
  const Result<std::string> id = decode_enqueue_response(*bytes);
  if (!id) return open(id.error().detail);
  if (id->empty()) return open("the server took it without an id");
  return {.verdict = SendVerdict::kAccepted, .item = *id, .reason = ""};
}

std::string event_topic(const EventTopic& topic) {
  return device_topic(topic.application, topic.dev_eui).append("/event/").append(topic.event);
}

std::optional<EventTopic> parse_event_topic(std::string_view topic) {
  const auto words = words_of(topic);
  if (!words || words->size() != 6) return std::nullopt;
  const std::vector<std::string_view>& w = *words;
  if (w[0] != "application" || w[2] != "device" || w[4] != "event" || !is_dev_eui(w[3]))
    return std::nullopt;
  return EventTopic{std::string(w[1]), to_lower(w[3]), std::string(w[5])};
}

std::string event_filter(std::string_view application) {
  return event_topic({.application = std::string(application), .dev_eui = "+", .event = "+"});
}

std::string command_topic(const CommandTopic& topic) {
  return device_topic(topic.application, topic.dev_eui).append("/command/down");
}

std::optional<CommandTopic> parse_command_topic(std::string_view topic) {
  const auto words = words_of(topic);
  if (!words || words->size() != 6) return std::nullopt;
  const std::vector<std::string_view>& w = *words;
  if (w[0] != "application" || w[2] != "device" || !is_dev_eui(w[3])) return std::nullopt;
  if (w[4] != "command" || w[5] != "down") return std::nullopt;
  return CommandTopic{std::string(w[1]), to_lower(w[3])};
}

std::string encode_downlink_command(const QueueItem& item) {
  std::string text;
  json::JsonWriter object(text);
  object.open_object();
  if (!item.id.empty()) object.field("id", item.id);
  object.field("devEui", item.dev_eui).flag("confirmed", item.confirmed);
  object.count("fPort", item.f_port);
  object.field("data", base64_encode({reinterpret_cast<const std::uint8_t*>(item.data.data()),
                                      item.data.size()}));
  if (item.expires_at) object.field("expiresAt", to_rfc3339(*item.expires_at));
  object.close_object();
  return text;
}

Result<QueueItem> decode_downlink_command(std::string_view text) {
  POSTRIDER_TRY(object, json::parse_object(text));
  QueueItem item;
  POSTRIDER_TRY(id, json::text_of(object, "id"));
  POSTRIDER_TRY(dev_eui, json::text_of(object, "devEui"));
  POSTRIDER_TRY(confirmed, json::boolean_of(object, "confirmed"));
  POSTRIDER_TRY(f_port, json::u32_of(object, "fPort"));
  POSTRIDER_TRY(data, json::text_of(object, "data"));
  POSTRIDER_TRY(expires_at, json::text_of(object, "expiresAt"));
  item.id = id;
  item.dev_eui = dev_eui;
  item.confirmed = confirmed;
  item.f_port = f_port;
  const std::optional<std::string> bytes = base64_decode(data);
  if (!bytes) return fail(ErrorCode::kInvalid, "data: must be base64");
  item.data = *bytes;
  if (expires_at.empty()) return item;
  item.expires_at = parse_rfc3339(expires_at);
  if (!item.expires_at) return fail(ErrorCode::kInvalid, "expiresAt: must be a time");
  return item;
}

}  // namespace postrider::chirpstack
