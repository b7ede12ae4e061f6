// Feeds arbitrary bytes to every parser of keys and ids. What parses must be exactly the key that
// its parts make.
#include "postrider/model/keys.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/model/ids.h"

namespace postrider {
namespace {

void parse_key(std::string_view key) {
  if (const auto due = keys::parse_due(key))
    POSTRIDER_CHECK(keys::due(due->at, due->kind, due->id) == key);
  if (const auto hot = keys::parse_hot(key))
    POSTRIDER_CHECK(keys::hot(hot->sequence, hot->part) == key);
  if (const auto cold = keys::parse_cold(key)) {
    POSTRIDER_CHECK(keys::cold(cold->id, cold->part) == key);
    const std::string lane = keys::cold_lane(cold->id.destination(), cold->id.lane());
    POSTRIDER_CHECK(key.starts_with(lane));
  }
  if (const auto parked = keys::parse_parked(key)) POSTRIDER_CHECK(keys::parked(*parked) == key);
  if (const auto destination = keys::parse_destination(key)) {
    POSTRIDER_CHECK(keys::config(*destination).substr(1) == key.substr(1));
  }
  if (const auto bucketed = keys::parse_bucketed(key)) {
    const bool with_id = key.size() == keys::dead(0, {}).size();
    const std::string again = with_id
                                  ? keys::dead(bucketed->bucket, {bucketed->high, bucketed->low})
                                  : keys::log(bucketed->bucket, Sequence(bucketed->high));
    POSTRIDER_CHECK(again.substr(1) == key.substr(1));
  }
}

}  // namespace
}  // namespace postrider

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  postrider::parse_key(bytes);
  if (const auto id = postrider::parse_message_id(bytes))
    POSTRIDER_CHECK(postrider::to_string(*id) == bytes);

  const std::string after = postrider::keys::after_prefix(std::string(bytes));
  if (!after.empty()) POSTRIDER_CHECK(after > bytes && !std::string_view(after).starts_with(bytes));
  return 0;
}
