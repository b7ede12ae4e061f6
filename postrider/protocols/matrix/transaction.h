// Transactions, the bodies of PUT /send: taken apart into slices of the bytes that came, and put
// together of such slices. An event or unit (here an item) is neither built nor written anew on the
// way: old room versions have numbers that a rewriting would change, and its signature with them.
// Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/protocols/matrix/canonical_json.h"

namespace postrider::matrix {

struct TransactionLimits {
  std::size_t bytes_max = 200 * 65'536;  // 12.5 MiB
  std::uint32_t pdus_max = 50;
  std::uint32_t edus_max = 100;
  std::uint32_t item_bytes_max = 65'536;
  std::uint32_t depth_max = kDepthMax;  // of the whole body
};

// Why an item cannot be sent; the others of its transaction can.
enum class ItemFault : std::uint8_t { kNone, kNoObject, kTooLarge, kNoType, kNoContent };
std::string_view reason_of(ItemFault fault);  // "it is no object"

struct TransactionItem {
  std::string_view bytes;  // of the body
  ItemFault fault = ItemFault::kNone;
};

struct Transaction {
  std::string origin;
  std::vector<TransactionItem> pdus;
  std::vector<TransactionItem> edus;
};

// kLimit: the body, the depth or the number of items is too large. kConflict: a name is given
// twice. kInvalid: other bodies that are no transaction. Then nothing of it may be used. `pdus` and
// `edus` may be absent. Of an item that is too large the inside is not read.
Result<Transaction> read_transaction(std::string_view body, const TransactionLimits& limits);

struct TransactionParts {
  std::string_view origin;
  Timestamp origin_server_ts;
  std::span<const std::string_view> pdus;
  std::span<const std::string_view> edus;  // none: the member is left out
};
// Appends the body; canonical when its items are.
void append_transaction(std::string& out, const TransactionParts& parts);

}  // namespace postrider::matrix
