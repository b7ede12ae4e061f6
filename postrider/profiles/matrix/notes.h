// What the profile notes of an item between its tries. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/time.h"

namespace postrider::matrix {

struct ItemNotes {
  Timestamp aside;                 // refused alone then; unset: never
  std::uint32_t failed_claim = 0;  // the receiver failed (500) at this claim; 0: at none
  bool struck = false;             // refused alone as an outage, since it was aside last

  // It travels alone.
  bool is_suspect() const { return aside.is_set(); }
  bool operator==(const ItemNotes&) const = default;
};

ItemNotes read_notes(std::string_view notes);  // what is not ours reads as nothing noted
std::string to_text(const ItemNotes& notes);

}  // namespace postrider::matrix
