// What a transaction of a homeserver holds, as messages for one server: PDUs one by one, EDUs taken
// apart by their keys. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/profiles/matrix/lanes.h"
#include "postrider/protocols/matrix/transaction.h"

namespace postrider::matrix_door {

inline constexpr Duration kTypingLife{30'000};
// Of one transaction: 100 units with as many receipts as fit into 65,536 bytes each would be more.
inline constexpr std::size_t kItemsMax = 10'000;

struct Item {
  matrix::Lane lane = matrix::kEventLane;
  std::string key;   // of its lane: the last value of a key goes; of an event, its room
  Duration life{0};  // 0: it does not expire
  std::string body;  // as it came; values of presence and receipts as units of their own
  // Why it cannot be sent, for people; empty: it can. Such an item is a dead letter.
  std::string fault;
  // Where it stood: in `pdus`, or in `edus`.
  bool is_event = false;
  std::uint32_t index = 0;

  bool operator==(const Item&) const = default;
};

struct ItemNames {
  std::string_view origin;       // our server
  std::string_view destination;  // the server that the transaction is for
};

// In the order of the transaction, events first. kNotFound: its origin is another server than ours.
// kInvalid, kLimit and kConflict as the reader of transactions has them. Then nothing of the
// transaction may be used.
Result<std::vector<Item>> items_of(std::string_view transaction, const ItemNames& names,
                                   const matrix::TransactionLimits& limits = {});

// {"pdus":{}}, and what cannot be sent by name: {"pdus":{"$id":{"error":"…"}},"edus":[{"index":3,
// "error":"…"}]}.
std::string transaction_answer(const std::vector<Item>& items);

}  // namespace postrider::matrix_door
