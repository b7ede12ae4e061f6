// The content of a group: batches of writes, one behind the other. Pure. docs/store-format.md has
// the bytes.
#pragma once

#include <string>
#include <string_view>

#include "postrider/base/codec.h"
#include "postrider/model/seams/store.h"

namespace postrider::layered {

void append_batch(std::string& group, const WriteBatch& batch);

struct GroupWrite {
  Write::Kind kind;
  std::string_view key;
  std::string_view value;  // of the puts; of kRemoveRange its end
};

// Calls `visit(GroupWrite)` for every write in order. False: the bytes are not a group; what was
// visited before that is right all the same.
template <class Visit>
bool for_each_write(std::string_view group, Visit&& visit) {
  Reader reader(group);
  while (!reader.at_end()) {
    for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
      const std::uint8_t kind = reader.u8();
      const std::string_view key = reader.text();
      const std::string_view value = reader.text();
      if (!reader.ok() || kind > static_cast<std::uint8_t>(Write::Kind::kRemoveRange)) return false;
      visit(GroupWrite{static_cast<Write::Kind>(kind), key, value});
    }
    if (!reader.ok()) return false;
  }
  return true;
}

}  // namespace postrider::layered
