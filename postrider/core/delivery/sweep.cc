#include "postrider/core/delivery/sweep.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"
#include "postrider/base/planted.h"
#include "postrider/core/rules/lane_rules.h"

namespace postrider::core {

const Rows* Sweep::scan_page(Step& step, const Chore& chore, const Resident& resident) const {
  const std::string first = keys::cold_lane(resident.id, chore.lane);
  const std::string last = chore.cursor.empty() ? keys::after_prefix(first) : chore.cursor;
  return step.scan({first, last, std::max<std::uint32_t>(2, limits_.job_rows_max), true, true});
}

// The first page of a lane has what is in memory and what sleeps outside the window, too: both are
// bounded.
Sweep::Page Sweep::read_page(Step& step, const Chore& chore, const Resident& resident) {
  Page page;
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
  const Rows* rows = scan_page(step, chore, resident);
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
  const Route& route = residents_[slot].route;
  const LaneRule& rule = residents_[slot].bound->policy.lane_rule(chore.lane);
  Walk& walk = walks_[chore.destination.value()];
  if (chore.lane == 0 && chore.cursor.empty())
    walk = {.drop_until = route.sweep_until, .latest_until = route.latest_until};
  Page page{.ids = {}, .complete = true, .next = {}};
  if (rule.dropped_when_deep && walk.drop_until.is_set()) {
    page = drop_page(step, slot, chore);
  } else if (rule.latest != Latest::kNever && walk.latest_until.is_set()) {
    page = value_page(step, slot, chore, walk);
  }
  if (!step.lacks()) go_on(step, slot, chore, std::move(page));
}

Sweep::Page Sweep::drop_page(Step& step, Slot slot, const Chore& chore) {
  Page page = read_page(step, chore, residents_[slot]);
  for (const MessageId id : page.ids) lookup_.locate(step, id);
  if (step.lacks()) return page;
  const Timestamp until = walks_.at(chore.destination.value()).drop_until;
  for (const MessageId id : page.ids) {
    const Slot found = window_.find(id);
    if (found == kNoSlot || window_[found].message.accepted > until) continue;
    if (delivery_.call_off(step, found, "dropped: the destination has been away for too long"))
      ++tallies_.dropped_deep;
  }
  return page;
}

// Nothing of the walk changes while something is still to be read.
Sweep::Page Sweep::value_page(Step& step, Slot slot, const Chore& chore, Walk& walk) {
  Page page;
  const Rows* rows = scan_page(step, chore, residents_[slot]);
  if (rows == nullptr) return page;
  const bool first = chore.cursor.empty();
  std::uint64_t met = first ? 0 : walk.met;
  std::vector<Value> values = read_values(*rows, step, residents_[slot], walk, met);
  for (const Value& value : values) {
    if (!value.newer.is_set()) continue;
    lookup_.locate(step, value.id);
    lookup_.locate(step, value.newer);
  }
  if (step.lacks()) return page;
  if (first) {
    for (const MessageId id : values_in_memory(residents_[slot], chore.lane)) {
      if (const Slot found = window_.find(id); found != kNoSlot)
        delivery_.end_if_replaced(step, found);
    }
  }
  walk.met = met;
  end_values(step, slot, walk, values);
  page.complete = rows->complete || planted(Bug::kSweepStopsAtPage);
  page.next = rows->next;
  return page;
}

std::vector<MessageId> Sweep::values_in_memory(const Resident& resident, std::uint8_t lane) const {
  std::vector<MessageId> out;
  for (Slot slot = resident.newest; slot != kNoSlot; slot = window_[slot].next_here) {
    const Message& message = window_[slot].message;
    if (message.key_size != 0 && message.id.lane() == lane) out.push_back(message.id);
  }
  return out;
}

// The values of a page, each with the newest one of its hash that was met before or is in memory.
std::vector<Sweep::Value> Sweep::read_values(const Rows& rows, const Step& step,
                                             const Resident& resident, Walk& walk,
                                             std::uint64_t& met) const {
  std::vector<Value> out;
  std::map<std::uint64_t, MessageId> here;  // in this page
  for (const Row& row : rows.rows) {
    const auto key = keys::parse_cold(row.first);
    if (!key || key->part != keys::Part::kMessage) continue;
    const std::uint64_t newer_ones = met++;
    const auto message = decode_message(row.second);
    if (!message || message->key_size == 0) continue;
    Value value{.id = key->id,
                .key = std::string(message->key()),
                .age = step.now - message->accepted - window_.later(*message),
                .swept = message->accepted <= walk.latest_until};
    MessageId newer = newer_than(value, walk);
    MessageId& newest = here[hash64(value.key)];
    if (newest.is_set() && newest.sequence() > newer.sequence()) newer = newest;
    if (!newest.is_set() || newest.sequence() < value.id.sequence()) newest = value.id;
    const LaneRule& rule = resident.bound->policy.lane_rule(value.id.lane());
    const bool goes = value.swept && !stays_anyway(rule, value.age, newer_ones);
    if (goes && newer.sequence() > value.id.sequence()) value.newer = newer;
    out.push_back(std::move(value));
  }
  return out;
}

MessageId Sweep::newer_than(const Value& value, const Walk& walk) const {
  MessageId newest;
  const auto met = walk.newest.find(hash64(value.key));
  if (met != walk.newest.end()) newest = met->second;
  for (const LaneKeys::Value& held : window_.keys().of(value.id, value.key)) {
    if (held.slot != kNoSlot && held.id.sequence() > newest.sequence()) newest = held.id;
  }
  return newest;
}

void Sweep::note_newest(Walk& walk, std::uint64_t hash, MessageId id) {
  const auto known = walk.newest.find(hash);
  if (known != walk.newest.end()) {
    if (known->second.sequence() < id.sequence()) known->second = id;
    return;
  }
  if (keys_ >= limits_.swept_keys_max) return;
  walk.newest.emplace(hash, id);
  ++keys_;
}

// Each is ended against a newer one that is there, of the same key by its text. What may have a
// newer one that is gone is the newest itself.
void Sweep::end_values(Step& step, Slot slot, Walk& walk, const std::vector<Value>& values) {
  for (const Value& value : values) {
    const std::uint64_t hash = hash64(value.key);
    if (value.newer.is_set()) {
      const Slot older = window_.find(value.id);
      const Slot newer = window_.find(value.newer);
      if (older == kNoSlot) continue;
      if (newer != kNoSlot) {
        if (window_[newer].message.key() == value.key)
          delivery_.end_replaced(step, planted(Bug::kNewestSwept) ? newer : older);
        continue;
      }
      keys_ -= walk.newest.erase(hash);
    }
    note_newest(walk, hash, value.id);
    if (value.swept)
      delivery_.supersede(step, slot, value.id.lane(), value.key, value.id.sequence());
  }
}

void Sweep::forget_keys(Walk& walk) {
  keys_ -= walk.newest.size();
  walk.newest.clear();
  walk.met = 0;
}

void Sweep::go_on(Step& step, Slot slot, const Chore& chore, Page page) {
  Chore next{.kind = Chore::Kind::kSweep, .destination = chore.destination, .lane = chore.lane};
  Walk& walk = walks_.at(chore.destination.value());
  Resident& resident = residents_[slot];
  if (!page.complete) {
    next.cursor = std::move(page.next);
  } else {
    ++next.lane;
    forget_keys(walk);
  }
  if (next.lane < kLanes) {
    step.out.chores.push_back(std::move(next));
    return;
  }
  const bool again = resident.route.latest_until > walk.latest_until ||
                     resident.route.sweep_until > walk.drop_until;
  if (again) {
    next.lane = 0;
    step.out.chores.push_back(std::move(next));
    return;
  }
  walks_.erase(chore.destination.value());
  resident.sweeping = false;
  --resident.chores;
  resident.swept_cold = resident.cold_messages;
  resident.route.sweep_until = resident.route.latest_until = Timestamp();
  routes_.write_route(step, slot);
  step.look_at(slot);
}

}  // namespace postrider::core
