// Feeds arbitrary bytes to the codecs of the network server: protobuf, gRPC frames, queues, events
// in both forms, topics. The first byte picks the reader.
#include "postrider/protocols/chirpstack/chirpstack.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/protocols/chirpstack/events.h"
#include "postrider/protocols/grpc/protobuf.h"

namespace postrider::chirpstack {
namespace {

void read_fields(protobuf::Reader reader, std::uint32_t depth) {
  POSTRIDER_CHECK(depth <= protobuf::kDepthMax + 1);
  while (true) {
    const auto field = reader.next();
    if (!field || !*field) return;
    POSTRIDER_CHECK((*field)->number != 0 && depth <= protobuf::kDepthMax);
    // One branch is enough: all of them would take exponential time.
    if ((*field)->type == protobuf::WireType::kBytes && (*field)->number == 1)
      read_fields(reader.nested(**field), depth + 1);
  }
}

void read_calls(std::string_view bytes) {
  if (const auto queue = decode_get_queue_response(bytes)) {
    POSTRIDER_CHECK(queue->items.size() <= kQueueItemsMax);
    POSTRIDER_CHECK(*decode_get_queue_response(encode_get_queue_response(*queue)) == *queue);
  }
  if (const auto request = decode_enqueue(bytes))
    POSTRIDER_CHECK(decode_enqueue(encode_enqueue(request->item))->item == request->item);
  if (const auto id = decode_enqueue_response(bytes))
    POSTRIDER_CHECK(*decode_enqueue_response(encode_enqueue_response(*id)) == *id);
  if (const auto message = grpc::decode_frame(bytes))
    POSTRIDER_CHECK(grpc::encode_frame(*message) == bytes);
  const auto reply = read_enqueue_reply(grpc::Status::kOk, bytes, bytes);
  POSTRIDER_CHECK((reply.verdict == device::SendVerdict::kAccepted) == !reply.item.empty());
  static_cast<void>(read_enqueue_reply(grpc::Status::kInternal, bytes, bytes));
  POSTRIDER_CHECK(grpc::decode_message(grpc::encode_message(bytes)) == bytes);
}

void read_event(EventKind kind, std::string_view bytes) {
  const auto from_json = decode_event_json(kind, bytes);
  const auto from_protobuf = decode_event_protobuf(kind, bytes);
  for (const auto* event : {&from_json, &from_protobuf}) {
    if (!*event || kind == EventKind::kOther) continue;
    POSTRIDER_CHECK(is_dev_eui((*event)->dev_eui));
    static_cast<void>(says_discarded(**event));
    // Texts of protobuf need not be UTF-8, but they go through protobuf unchanged.
    const auto again = decode_event_protobuf(kind, encode_event_protobuf(**event));
    POSTRIDER_CHECK(again.has_value() || (*event)->data.size() > 100'000 || bytes.size() > 100'000);
    if (again) POSTRIDER_CHECK(again->queue_item_id == (*event)->queue_item_id);
    if (again) POSTRIDER_CHECK(again->acknowledged == (*event)->acknowledged);
    if (again) POSTRIDER_CHECK(again->data == (*event)->data);
  }
}

void read_texts(std::string_view text) {
  if (const auto topic = parse_event_topic(text))
    POSTRIDER_CHECK(parse_event_topic(event_topic(*topic)) == topic);
  if (const auto topic = parse_command_topic(text))
    POSTRIDER_CHECK(parse_command_topic(command_topic(*topic)) == topic);
  if (const auto eui = dev_eui_of(text)) POSTRIDER_CHECK(dev_eui_of(*reference_of(*eui)) == eui);
  if (const auto item = decode_downlink_command(text))
    POSTRIDER_CHECK(*decode_downlink_command(encode_downlink_command(*item)) == *item);
}

}  // namespace
}  // namespace postrider::chirpstack

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider::chirpstack;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr int kKinds = 7;
  const int choice = data[0] % (kKinds + 3);
  if (choice < kKinds) read_event(static_cast<EventKind>(choice), bytes);
  if (choice == kKinds) read_fields(postrider::protobuf::Reader(bytes), 1);
  if (choice == kKinds + 1) read_calls(bytes);
  if (choice == kKinds + 2) read_texts(bytes);
  return 0;
}
