#include "postrider/doors/matrix/items.h"

#include <utility>

#include "postrider/json/json_writer.h"
#include "postrider/protocols/matrix/edu.h"
#include "postrider/protocols/matrix/event.h"

namespace postrider::matrix_door {
namespace {

using matrix::ItemFault;
using matrix::TransactionItem;

// Of what is too large the beginning is kept, so that a person can tell what it was.
std::string kept_of(std::string_view bytes) {
  return std::string(bytes.substr(0, matrix::kEventBytesMax));
}

Item faulty(const TransactionItem& found, std::string_view reason) {
  Item item;
  item.body = kept_of(found.bytes);
  item.fault = reason;
  return item;
}

Item event_of(const TransactionItem& found) {
  if (found.fault != ItemFault::kNone) return faulty(found, reason_of(found.fault));
  const auto facts = matrix::read_event(found.bytes);
  if (!facts) return faulty(found, facts.error().detail);
  Item item;
  item.key = facts->room_id;
  item.body = std::string(found.bytes);
  return item;
}

Item part_of(matrix::EduPart part) {
  Item item;
  item.lane = matrix::lane_of(part.kind);
  item.key = std::move(part.key);
  item.body = std::move(part.bytes);
  if (part.kind == matrix::EduKind::kTyping) item.life = kTypingLife;
  return item;
}

std::vector<Item> units_of(const TransactionItem& found, const ItemNames& names) {
  std::vector<Item> items;
  const auto refuse = [&items](std::string bytes, std::string reason) {
    Item item;
    item.lane = matrix::kOtherLane;
    item.body = std::move(bytes);
    item.fault = std::move(reason);
    items.push_back(std::move(item));
  };
  if (found.fault != ItemFault::kNone) {
    refuse(kept_of(found.bytes), std::string(reason_of(found.fault)));
    return items;
  }
  auto parts =
      matrix::take_apart(found.bytes, {.origin = names.origin, .destination = names.destination});
  if (!parts) {
    refuse(std::string(found.bytes), parts.error().detail);
    return items;
  }
  for (matrix::EduPart& part : parts->parts) items.push_back(part_of(std::move(part)));
  for (matrix::EduRefusal& refused : parts->refused)
    refuse(std::move(refused.bytes), std::move(refused.reason));
  return items;
}

}  // namespace

Result<std::vector<Item>> items_of(std::string_view transaction, const ItemNames& names,
                                   const matrix::TransactionLimits& limits) {
  POSTRIDER_TRY(read, matrix::read_transaction(transaction, limits));
  if (read.origin != names.origin)
    return fail(ErrorCode::kNotFound, "the origin of the transaction is not our server");
  std::vector<Item> items;
  for (std::size_t i = 0; i < read.pdus.size(); ++i) {
    Item item = event_of(read.pdus[i]);
    item.is_event = true;
    item.index = static_cast<std::uint32_t>(i);
    items.push_back(std::move(item));
  }
  for (std::size_t i = 0; i < read.edus.size(); ++i) {
    for (Item& item : units_of(read.edus[i], names)) {
      if (items.size() == kItemsMax)
        return fail(ErrorCode::kLimit,
                    "a transaction has at most " + std::to_string(kItemsMax) + " values");
      item.index = static_cast<std::uint32_t>(i);
      items.push_back(std::move(item));
    }
  }
  return items;
}

std::string transaction_answer(const std::vector<Item>& items) {
  std::string out;
  json::JsonWriter json(out);
  json.open_object().name("pdus").open_object();
  bool bad_units = false;
  for (const Item& item : items) {
    if (item.fault.empty()) continue;
    bad_units = bad_units || !item.is_event;
    if (!item.is_event) continue;
    const std::vector<std::string> ids = matrix::event_ids(item.body);
    // What is no event has no id; its place names it.
    json.text_name(ids.empty() ? "#" + std::to_string(item.index) : ids.front());
    json.open_object().field("error", item.fault).close_object();
  }
  json.close_object();
  if (bad_units) {
    json.name("edus").open_array();
    for (const Item& item : items) {
      if (item.fault.empty() || item.is_event) continue;
      json.open_object().count("index", item.index).field("error", item.fault).close_object();
    }
    json.close_array();
  }
  json.close_object();
  return out;
}

}  // namespace postrider::matrix_door
