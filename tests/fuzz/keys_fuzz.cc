// Feeds arbitrary bytes to every parser of keys and ids. What parses must be exactly the key that
// its parts make.
#include "postrider/model/records/keys.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/check.h"
#include "postrider/base/packing.h"
#include "postrider/model/dead_groups.h"
#include "postrider/model/fanout.h"
#include "postrider/model/id_address.h"
#include "postrider/model/ids.h"
#include "postrider/model/jobs.h"

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
  if (const auto holding = keys::parse_holding(key))
    POSTRIDER_CHECK(keys::holding(*holding) == key);
  if (const auto body = keys::parse_body(key))
    POSTRIDER_CHECK(keys::body(body->id, body->part) == key);
  if (const auto letter = keys::parse_body_letter(key))
    POSTRIDER_CHECK(keys::body_letter(letter->bucket, letter->body, letter->id) == key);
  if (const auto group = parse_group_key(key)) {
    POSTRIDER_CHECK(!name_of(group->phase).empty() && !name_of(group->cause).empty());
    POSTRIDER_CHECK(group_key(*group) == key);
  }
}

// What stands in keys and values beside fixed numbers.
void parse_texts(std::string_view text) {
  if (const auto from = keys::parse_parked_for_reach(text))
    POSTRIDER_CHECK(keys::parked_for_reach(*from) == text);
  if (const auto gate = keys::parse_parked_as_gap(text))
    POSTRIDER_CHECK(keys::parked_as_gap(*gate) == text);
  POSTRIDER_CHECK(keys::long_name(keys::short_name(text)) == text);
  const std::string name = keys::long_name(text);
  POSTRIDER_CHECK(keys::long_name(keys::short_name(name)) == name);
  if (const std::string uuid = bytes_of_uuid(text); !uuid.empty())
    POSTRIDER_CHECK(text_of_uuid(uuid) == text);
  if (const auto id = parse_message_id(text)) POSTRIDER_CHECK(to_string(*id) == text);
  if (const auto id = parse_public_id(text)) POSTRIDER_CHECK(to_string(*id) == text);
  if (const auto id = parse_job_id(text)) POSTRIDER_CHECK(to_string(*id) == text);
  if (const auto id = parse_fanout_id(text)) POSTRIDER_CHECK(to_string(*id) == text);
}

}  // namespace
}  // namespace postrider

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  postrider::parse_key(bytes);
  postrider::parse_texts(bytes);

  const std::string after = postrider::keys::after_prefix(std::string(bytes));
  if (!after.empty()) POSTRIDER_CHECK(after > bytes && !std::string_view(after).starts_with(bytes));
  return 0;
}
