// Which combinations of an entry's parts are legal, as one function; and whether the counts of a
// window are those of its entries. Tests ask after what they did, checked builds after every step.
#pragma once

#include <string>
#include <string_view>

#include "postrider/core/window/entries.h"
#include "postrider/model/lifecycle.h"

namespace postrider::core {

// What is wrong with an entry in this state of its profile's table; empty: nothing. Between two
// steps only: within one, an entry is on its way from one state to the next.
std::string_view check(const Entry& entry, const StateRow& state);

// What a lane says of its entries, counted by them.
struct LaneCounts {
  std::uint32_t in_memory = 0;
  std::uint32_t ready = 0;
  std::uint32_t at_gates = 0;
  std::uint32_t at_lasting = 0;
  std::uint32_t at_order = 0;
  std::uint32_t cold = 0;

  void add(const Entry& entry);
};
std::string_view check(const Lane& lane, const LaneCounts& counted);

}  // namespace postrider::core
