#include "postrider/profiles/matrix/item.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "postrider/base/nearest.h"
#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix {
namespace {

constexpr auto kAttributes = std::to_array<std::string_view>(
    {kKeyAttribute, kFaultAttribute, kPositionAttribute, kAskedAttribute, kUrgentAttribute});

Result<std::uint64_t> position_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0)
    return fail(ErrorCode::kInvalid, "position: it must be a number above 0");
  return value;
}

Result<void> put_attribute(Item& item, std::string_view name, std::string value) {
  if (name == kKeyAttribute) {
    if (value.size() > kLaneKeyMax)
      return fail(ErrorCode::kInvalid,
                  "key: it has more than " + std::to_string(kLaneKeyMax) + " bytes");
    item.key = std::move(value);
  } else if (name == kFaultAttribute) {
    item.fault = std::move(value);
  } else if (name == kPositionAttribute) {
    POSTRIDER_TRY(position, position_of(value));
    item.position = position;
  } else if (name == kAskedAttribute) {
    item.asked = true;
  } else if (name == kUrgentAttribute) {
    item.urgent = true;
  } else {
    return fail(ErrorCode::kInvalid,
                "unknown attribute '" + std::string(name) + "'" + did_you_mean(name, kAttributes));
  }
  return {};
}

// What the body says of itself: a unit has a type of its own.
Result<void> read_body(Item& item, std::string_view body) {
  JsonDocument document;
  if (const Result<void> parsed = document.parse(body, kItemLimits); !parsed) return parsed;
  const JsonValue root = document.root();
  if (!is_object(root)) return fail(ErrorCode::kInvalid, "the body must be an object");
  if (const std::optional<std::string> type = text_of(root, "edu_type")) {
    item.lane = lane_of(kind_of_edu(*type));
    if (!object_of(root, "content"))
      return fail(ErrorCode::kInvalid, "content is missing in the unit");
  } else {
    POSTRIDER_TRY(facts, read_event(body));
    if (item.key.empty()) item.key = std::move(facts.room_id);
  }
  std::string canonical;
  item.canonical =
      append_canonical(canonical, root, Numbers::kAsWritten).has_value() && canonical == body;
  return {};
}

}  // namespace

Result<std::optional<Item>> read(std::string_view body, std::string_view attributes) {
  Item item;
  POSTRIDER_TRY(texts, decode_texts(attributes));
  for (NamedText& text : texts) {
    if (const auto put = put_attribute(item, text.first, std::move(text.second)); !put)
      return tl::unexpected<Error>(put.error());
  }
  if (item.fault.empty()) {
    if (const auto known = read_body(item, body); !known)
      return tl::unexpected<Error>(known.error());
  }
  return std::optional<Item>(std::move(item));
}

Result<Admission> admit(const Offer& offer) {
  const auto server = server_of_destination(offer.destination.name);
  if (!server || !parse_server_name(*server))
    return fail(ErrorCode::kInvalid, "the destination must be named matrix:SERVER");
  if (offer.lane >= kMatrixLanes)
    return fail(ErrorCode::kInvalid,
                "there are lanes 0 to " + std::to_string(kMatrixLanes - 1) + " only");
  if (offer.body.size() > kEventBytesMax)
    return fail(ErrorCode::kInvalid,
                "an item has at most " + std::to_string(kEventBytesMax) + " bytes");
  Admission admission;
  // What cannot be sent is no value of anything.
  if (offer.parsed == nullptr || !offer.parsed->fault.empty()) return admission;
  const Item& item = *offer.parsed;
  if (item.lane != offer.lane)
    return fail(ErrorCode::kInvalid, "such an item belongs into lane " + std::to_string(item.lane) +
                                         " (" + std::string(kLaneFacts[item.lane].name) + ")");
  if (kLaneFacts[item.lane].latest != Latest::kNever) admission.key = item.key;
  return admission;
}

}  // namespace postrider::matrix
