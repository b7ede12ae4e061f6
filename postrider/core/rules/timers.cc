#include "postrider/core/rules/timers.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "postrider/base/check.h"

// Why the order is exact: a timer's place is the highest byte in which its tick differs from the
// cursor, and the value of that byte. All timers of one tick are therefore always in one list. New
// ones are appended to it, and a cascade walks a list from its first to its last, so the list stays
// in the order of arming. Choosing the level by distance instead would let a late timer overtake an
// early one that still waits in a coarser slot.
namespace postrider {

Timers::Timers(Timestamp now) : cursor_(std::max<std::int64_t>(now.ms(), 0)) {}

TimerHandle Timers::arm(Timestamp at, const Timer& timer) {
  std::uint32_t index = free_;
  if (index != kNone) {
    free_ = nodes_[index].behind;
  } else {
    POSTRIDER_CHECK(nodes_.size() < kNone);
    index = static_cast<std::uint32_t>(nodes_.size());
    nodes_.emplace_back();
  }
  Node& node = nodes_[index];
  node.at = at.ms();
  node.id = timer.id;
  node.slot = timer.slot;
  node.kind = timer.kind;
  ++node.generation;
  ++size_;
  if (node.at < cursor_) {
    overdue_add(index);
  } else {
    append(index);
  }
  return (std::uint64_t{node.generation} << 32) | index;
}

bool Timers::armed(TimerHandle handle) const {
  const auto index = static_cast<std::uint32_t>(handle);
  const auto generation = static_cast<std::uint32_t>(handle >> 32);
  return index < nodes_.size() && nodes_[index].generation == generation && generation % 2 == 1;
}

void Timers::cancel(TimerHandle handle) {
  if (!armed(handle)) return;
  const auto index = static_cast<std::uint32_t>(handle);
  if (nodes_[index].at < cursor_) {
    overdue_remove(nodes_[index].before);
  } else {
    unlink(index);
  }
  release(index);
}

void Timers::advance(Timestamp now, std::size_t limit, std::vector<Timer>& fired) {
  const std::int64_t until = now.ms();
  for (; limit > 0 && !overdue_.empty() && overdue_.front().at <= until; --limit) {
    const std::uint32_t index = overdue_.front().index;
    overdue_remove(0);
    fired.push_back(release(index));
  }
  while (limit > 0) {
    const std::optional<Place> place = first_place();
    if (!place || start_of(*place) > until) {
      if (!place && reach_far(until)) continue;
      cursor_ = std::max(cursor_, until);
      return;
    }
    cursor_ = start_of(*place);
    if (place->level > 0) {
      cascade(*place);
      continue;
    }
    for (const List& list = list_of(*place); limit > 0 && list.first != kNone; --limit) {
      const std::uint32_t index = list.first;
      unlink(index);
      fired.push_back(release(index));
    }
  }
}

std::optional<Timestamp> Timers::next() const {
  if (!overdue_.empty()) return Timestamp(overdue_.front().at);
  if (const std::optional<Place> place = first_place()) return Timestamp(start_of(*place));
  if (far_.first != kNone) return Timestamp(((cursor_ >> kWheelBits) + 1) << kWheelBits);
  return std::nullopt;
}

std::size_t Timers::memory_bytes() const {
  return sizeof(*this) + nodes_.capacity() * sizeof(Node) + overdue_.capacity() * sizeof(Overdue);
}

Timers::Place Timers::place_of(std::int64_t at) const {
  const auto different = static_cast<std::uint64_t>(at ^ cursor_);
  const std::size_t level =
      different == 0 ? 0 : static_cast<std::size_t>(std::bit_width(different) - 1) / kSlotBits;
  if (level >= kLevels) return {kLevels, 0};
  return {level, static_cast<std::uint32_t>(at >> (level * kSlotBits)) % kSlots};
}

Timers::List& Timers::list_of(Place place) {
  return place.level == kLevels ? far_ : levels_[place.level].slots[place.slot];
}

// Finer levels come first, and within a level no occupied slot lies behind the cursor.
std::optional<Timers::Place> Timers::first_place() const {
  for (std::size_t level = 0; level < kLevels; ++level) {
    const auto& words = levels_[level].occupied;
    for (std::size_t word = 0; word < words.size(); ++word) {
      if (words[word] == 0) continue;
      return Place{level, static_cast<std::uint32_t>(word * 64) +
                              static_cast<std::uint32_t>(std::countr_zero(words[word]))};
    }
  }
  return std::nullopt;
}

// The first tick of a slot: the cursor's bytes above the level, the slot's number, zeros below.
std::int64_t Timers::start_of(Place place) const {
  const std::size_t shift = place.level * kSlotBits;
  const std::int64_t above = cursor_ >> (shift + kSlotBits) << kSlotBits;
  return (above | place.slot) << shift;
}

void Timers::append(std::uint32_t index) {
  Node& node = nodes_[index];
  const Place place = place_of(node.at);
  List& list = list_of(place);
  node.before = list.last;
  node.behind = kNone;
  if (list.last == kNone) {
    list.first = index;
    if (place.level < kLevels) {
      levels_[place.level].occupied[place.slot / 64] |= std::uint64_t{1} << (place.slot % 64);
    }
  } else {
    nodes_[list.last].behind = index;
  }
  list.last = index;
}

void Timers::unlink(std::uint32_t index) {
  const Node& node = nodes_[index];
  const Place place = place_of(node.at);
  List& list = list_of(place);
  (node.before == kNone ? list.first : nodes_[node.before].behind) = node.behind;
  (node.behind == kNone ? list.last : nodes_[node.behind].before) = node.before;
  if (list.first == kNone && place.level < kLevels) {
    levels_[place.level].occupied[place.slot / 64] &= ~(std::uint64_t{1} << (place.slot % 64));
  }
}

// Spreads a slot over finer ones, after the cursor has come to its first tick.
void Timers::cascade(Place place) {
  const List list = std::exchange(list_of(place), List{});
  levels_[place.level].occupied[place.slot / 64] &= ~(std::uint64_t{1} << (place.slot % 64));
  for (std::uint32_t index = list.first; index != kNone;) {
    const std::uint32_t behind = nodes_[index].behind;
    append(index);
    index = behind;
  }
}

// The wheel is empty: moves it to the first far timer's turn of the wheel, if that has begun by
// `now`. One walk over the far timers for each turn, which is 34 years.
bool Timers::reach_far(std::int64_t now) {
  if (far_.first == kNone || now >> kWheelBits <= cursor_ >> kWheelBits) return false;
  std::int64_t turn = INT64_MAX;
  for (std::uint32_t index = far_.first; index != kNone; index = nodes_[index].behind) {
    turn = std::min(turn, nodes_[index].at >> kWheelBits);
  }
  if (turn > now >> kWheelBits) return false;
  cursor_ = turn << kWheelBits;
  const List list = std::exchange(far_, List{});
  for (std::uint32_t index = list.first; index != kNone;) {
    const std::uint32_t behind = nodes_[index].behind;
    append(index);
    index = behind;
  }
  return true;
}

Timer Timers::release(std::uint32_t index) {
  Node& node = nodes_[index];
  ++node.generation;
  node.behind = free_;
  free_ = index;
  --size_;
  return {.kind = node.kind, .id = node.id, .slot = node.slot, .due = Timestamp(node.at)};
}

void Timers::overdue_add(std::uint32_t index) {
  overdue_.push_back({.at = nodes_[index].at, .arming = armings_++, .index = index});
  overdue_settle(overdue_.size() - 1);
}

void Timers::overdue_remove(std::size_t position) {
  const Overdue last = overdue_.back();
  overdue_.pop_back();
  if (position == overdue_.size()) return;
  overdue_put(position, last);
  overdue_settle(position);
}

void Timers::overdue_put(std::size_t position, const Overdue& entry) {
  overdue_[position] = entry;
  nodes_[entry.index].before = static_cast<std::uint32_t>(position);
}

// Moves the entry at `position` up or down to where it belongs.
void Timers::overdue_settle(std::size_t position) {
  const Overdue entry = overdue_[position];
  for (; position > 0 && entry < overdue_[(position - 1) / 2]; position = (position - 1) / 2) {
    overdue_put(position, overdue_[(position - 1) / 2]);
  }
  for (std::size_t child = 2 * position + 1; child < overdue_.size(); child = 2 * position + 1) {
    if (child + 1 < overdue_.size() && overdue_[child + 1] < overdue_[child]) ++child;
    if (!(overdue_[child] < entry)) break;
    overdue_put(position, overdue_[child]);
    position = child;
  }
  overdue_put(position, entry);
}

}  // namespace postrider
