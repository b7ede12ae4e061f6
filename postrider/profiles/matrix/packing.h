// Which items make one transaction, and in which order they stand in it. Pure; any thread.
//
// A receiver takes 50 events and 100 units. Presence and receipts are kept as one item for each
// value, and several of them make one unit, so members are counted apart from units.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "postrider/profiles/matrix/types.h"

namespace postrider::matrix {

inline constexpr std::uint32_t kPresenceUsersMax = 50;  // of one unit
inline constexpr std::uint32_t kReceiptUnitsMax = 5;
inline constexpr std::uint32_t kUnitsKeptFree = 10;  // messages to devices leave these

// ProfileSpec::Wire::compose.
std::vector<std::size_t> compose(const Facts& leader, std::span<const postrider::Facts> candidates,
                                 std::uint32_t members_max);

// A member of a transaction; `place` as Remark::member has it.
struct Member {
  const postrider::Facts* facts = nullptr;
  std::size_t place = 0;
};
// The leader and its followers as they stand in a transaction: by lane, each in its order. Follows
// from the members alone, whichever of them leads.
std::vector<Member> members_of(const Facts& leader);

}  // namespace postrider::matrix
