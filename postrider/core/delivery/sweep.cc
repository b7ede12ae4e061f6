#include "postrider/core/delivery/sweep.h"

#include <algorithm>

#include "postrider/base/check.h"

namespace postrider::core {

// The first page of a lane has what is in memory and what sleeps outside the window, too: both are
// bounded.
Sweep::Page Sweep::read_page(Step& step, const Chore& chore, const Resident& resident) {
  Page page;
  const std::string first = keys::cold_lane(resident.id, chore.lane);
  if (chore.cursor.empty()) {
    for (Slot slot = resident.newest; slot != kNoSlot; slot = window_[slot].next_here) {
      if (window_[slot].message.id.lane() == chore.lane)
        page.ids.push_back(window_[slot].message.id);
    }
    const MessageId from = MessageId::make(resident.id, chore.lane, UINT16_MAX, Sequence(0));
    for (const MessageId id : sleepers_.page_of(resident.id, from, limits_.hot_sleepers_max)) {
      if (id.lane() != chore.lane) break;
      page.ids.push_back(id);
    }
  }
  const std::string last = chore.cursor.empty() ? keys::after_prefix(first) : chore.cursor;
  const Rows* rows =
      step.scan({first, last, std::max<std::uint32_t>(2, limits_.job_rows_max), true, true});
  if (rows == nullptr) return page;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_cold(row.first);
    if (key && key->part == keys::Part::kMessage) page.ids.push_back(key->id);
  }
  page.complete = rows->complete;
  page.next = rows->next;
  return page;
}

void Sweep::sweep(Step& step, const Chore& chore) {
  const Slot slot = residents_.find(chore.destination.value());
  POSTRIDER_CHECK(slot != kNoSlot);  // pinned by its chore
  const Policy& policy = residents_[slot].bound->policy;
  Page page{.ids = {}, .complete = true, .next = {}};
  if (policy.lane_rule(chore.lane).dropped_when_deep) {
    page = read_page(step, chore, residents_[slot]);
    for (const MessageId id : page.ids) lookup_.locate(step, id);
    if (step.lacks()) return;
    const Timestamp until = residents_[slot].route.sweep_until;
    for (const MessageId id : page.ids) {
      const Slot found = window_.find(id);
      if (found == kNoSlot || window_[found].message.accepted > until) continue;
      if (delivery_.call_off(step, found, "dropped: the destination has been away for too long"))
        ++tallies_.dropped_deep;
    }
  }
  go_on(step, slot, chore, std::move(page));
}

void Sweep::go_on(Step& step, Slot slot, const Chore& chore, Page page) {
  Chore next{.kind = Chore::Kind::kSweep, .destination = chore.destination, .lane = chore.lane};
  if (!page.complete) {
    next.cursor = std::move(page.next);
  } else {
    ++next.lane;
  }
  if (next.lane < kLanes) {
    step.out.chores.push_back(std::move(next));
    return;
  }
  Resident& resident = residents_[slot];
  resident.sweeping = false;
  --resident.chores;
  resident.route.sweep_until = Timestamp();
  routes_.write_route(step, slot);
  step.look_at(slot);
}

}  // namespace postrider::core
