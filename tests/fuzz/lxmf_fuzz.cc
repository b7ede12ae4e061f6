// Feeds arbitrary bytes to the readers of LXMF: messages, fields, announce data, tickets, stamps,
// uploads, and what recipients and nodes tell each other. The first byte picks the reader.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/protocols/lxmf/app_data.h"
#include "postrider/protocols/lxmf/message.h"
#include "postrider/protocols/lxmf/propagation.h"
#include "postrider/protocols/lxmf/stamp.h"
#include "postrider/protocols/lxmf/ticket.h"
#include "postrider/protocols/reticulum/random_testing.h"

namespace postrider::lxmf {
namespace {

void read_message(std::string_view bytes) {
  auto received = unpack(bytes);
  if (!received) return;
  // Of Bob: messages of Alice, which she did sign, are among the seeds.
  static const reticulum::SigningKey signing = reticulum::bob().signing();
  POSTRIDER_CHECK(judge_signature(*received, &signing.public_key()) == SignatureVerdict::kInvalid);
  find_field(received->message.fields, kFieldTicket);
  ticket_in(received->message.fields);
  const auto packed = pack(received->message, signing);
  POSTRIDER_CHECK(packed.has_value());
  auto again = unpack(packed->bytes);
  POSTRIDER_CHECK(again.has_value());
  POSTRIDER_CHECK(again->id == packed->id);
  POSTRIDER_CHECK(judge_signature(*again, &signing.public_key()) == SignatureVerdict::kVerified);
  POSTRIDER_CHECK(again->message.title == received->message.title);
  POSTRIDER_CHECK(again->message.fields == received->message.fields);
  const auto stamped = with_stamp(packed->bytes, "stamp");
  POSTRIDER_CHECK(stamped && unpack(*stamped)->id == packed->id);
}

void read_fields(std::string_view bytes) {
  const auto fields = with_field(bytes, 12, "\xc3");
  if (!fields) return;
  POSTRIDER_CHECK(find_field(*fields, 12) == "\xc3");
  POSTRIDER_CHECK(with_field(*fields, 12, "\xc3") == *fields);
}

void read_announced(std::string_view bytes) {
  const DeliveryData data = decode_delivery_data(bytes);
  POSTRIDER_CHECK(data.display_name.size() <= kDisplayNameBytesMax);
  POSTRIDER_CHECK(!data.stamp_cost || (*data.stamp_cost >= 1 && *data.stamp_cost <= 254));
  const DeliveryData again = decode_delivery_data(encode_delivery_data(data));
  POSTRIDER_CHECK(again.display_name == data.display_name);
  POSTRIDER_CHECK(again.stamp_cost == data.stamp_cost);
  if (const auto node = decode_node_data(bytes)) {
    POSTRIDER_CHECK(cost_of_upload(*node) >= kNodeCostMin);
    POSTRIDER_CHECK(decode_node_data(encode_node_data(*node)).has_value());
  }
}

void read_propagated(std::string_view bytes) {
  if (const auto item = decode_upload(bytes)) {
    POSTRIDER_CHECK(item->stamp.size() == sizeof(Stamp));
    POSTRIDER_CHECK(item->sealed.size() >= kItemBytesMin - sizeof(Stamp));
  }
  if (const auto get = decode_get(bytes)) POSTRIDER_CHECK(decode_get(encode_get(*get)).has_value());
  if (const auto answer = decode_answer(bytes)) {
    POSTRIDER_CHECK(answer->error == 0 || answer->items.empty());
    if (const auto ids = ids_in(*answer)) POSTRIDER_CHECK(ids->size() == answer->items.size());
  }
  if (const auto word = decode_word(bytes))
    POSTRIDER_CHECK(decode_word(encode_word(*word)) == *word);
  if (const auto ticket = decode_ticket(bytes))
    POSTRIDER_CHECK(decode_ticket(encode_ticket(*ticket))->ticket == ticket->ticket);
  static const reticulum::Identity identity = reticulum::bob();
  POSTRIDER_CHECK(!open_from_node(bytes, identity, Address{}, {}));
}

void read_stamp(std::string_view bytes) {
  const std::uint32_t value = stamp_value("material", 3, bytes);
  POSTRIDER_CHECK(is_valid_stamp("material", 3, bytes, value));
}

}  // namespace
}  // namespace postrider::lxmf

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postrider::lxmf;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: read_message(bytes); break;
    case 1: read_fields(bytes); break;
    case 2: read_announced(bytes); break;
    case 3: read_propagated(bytes); break;
    default: read_stamp(bytes); break;
  }
  return 0;
}
