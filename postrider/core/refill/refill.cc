#include "postrider/core/refill/refill.h"

#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

// A destination with so late a success is at work: what it reads next is read by no other refill.
constexpr Duration kReadsOn(10'000);

}  // namespace

void Refill::maybe_refill(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (resident.bound->policy.pulled) return;  // its reader comes
  const bool behind = resident.route.health == Health::kCatchUp;
  const bool open =
      behind || resident.route.health == Health::kNormal || resident.route.health == Health::kProbe;
  if (window_.restoring() || !open || resident.route.closed_until > step.now) return;
  for (Lane& lane : resident.lanes) {
    if (!lane.cold_ahead || lane.asleep || lane.refilling) continue;
    if (behind && !resident.bound->policy.starts_in_catch_up(lane.number)) continue;
    // An empty lane always goes on, and so does one whose window waits for what goes before it.
    const bool passes =
        lane.stuck() || (lane.first != kNoSlot && window_.owes_before(lane, window_[lane.first]));
    const bool urgent = lane.in_memory == 0 || passes;
    const std::uint32_t used = lane.in_window(limits_.lane_waiters_max);
    const std::uint32_t window_max = resident.bound->policy.window_max;
    if (!urgent && used * 2 > window_max) continue;
    if (!urgent && window_.bytes() >= limits_.window_bytes_max) continue;
    residents_.leave_lru(slot);  // it has something to do
    lane.refilling = true;
    lane.refill_from = lane.cursor;
    // As much as there is room for, and one more row, which tells that the message before it has no
    // state; what goes past the window may be far.
    lane.refill_rows = passes ? 2 * window_max + 1 : window_max - used + 1;
    // An emptied lane is a new one when something comes; a job fills and empties it in turn.
    lane.deep = lane.deep || (resident.ok_at.is_set() && step.now - resident.ok_at < kReadsOn);
    ++resident.chores;
    step.out.chores.push_back(
        {.kind = Chore::Kind::kRefill, .destination = resident.id, .lane = lane.number});
  }
}

Scan Refill::refill_scan(const Resident& resident, const Lane& lane) const {
  const std::uint32_t limit =
      std::max<std::uint32_t>(3, std::min(limits_.refill_rows_max, lane.refill_rows));
  // A lane that wakes may share a block with neighbours that wake with it, so its first page is
  // cached. A lane that reads on shares no block with other refills and reads each message once.
  return {keys::cold(lane.refill_from, keys::Part::kMessage),
          keys::after_prefix(keys::cold_lane(resident.id, lane.number)), limit, lane.deep};
}

void Refill::refill(Step& step, const Chore& chore) {
  const Slot found = residents_.find(chore.destination.value());
  POSTRIDER_CHECK(found != kNoSlot);  // pinned by its chore
  const Slot slot = found;
  const Rows* rows =
      step.scan(refill_scan(residents_[slot], residents_[slot].the_lane(chore.lane)));
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) bodies_.need_body(step, row);
  if (step.lacks()) return;
  Resident& resident = residents_[slot];
  --resident.chores;
  resident.the_lane(chore.lane).refilling = false;
  // Something better came while we read, or the route closed: look again later.
  const Lane& before = resident.the_lane(chore.lane);
  if (before.cursor == before.refill_from && residents_.awake(resident, step.now))
    take_rows(step, slot, chore.lane, *rows);
  Lane& lane = residents_[slot].the_lane(chore.lane);
  destinations_.settle_owed(step, slot, lane);
  step.look_at(slot);
}

void Refill::take_rows(Step& step, Slot slot, std::uint8_t number, const Rows& rows) {
  const std::uint32_t window_max =
      std::max<std::uint32_t>(1, residents_[slot].bound->policy.window_max);
  std::size_t next = 0;
  bool cut = false;
  while (next < rows.rows.size() && !cut) {
    Lane& lane = residents_[slot].the_lane(number);
    const Row& row = rows.rows[next];
    const auto key = keys::parse_cold(row.first);
    const bool has_state =
        next + 1 < rows.rows.size() && lookup_.is_state_of(rows.rows[next + 1].first, row.first);
    const bool in_front = lane.first != kNoSlot && window_.owes_before(lane, window_[lane.first]);
    const std::uint32_t used = lane.in_window(limits_.lane_waiters_max);
    const bool no_room = used >= window_max && !in_front && !lane.stuck();
    cut = lane.asleep || no_room || (!has_state && !lookup_.is_whole(rows, row.first));
    if (cut && !no_room && planted(Bug::kRefillSkipsBoundary)) {
      cut = false;
      break;
    }
    if (cut) break;
    next += has_state ? 2 : 1;
    if (!key) continue;
    lane.cursor = MessageId{key->id.high, key->id.low + 1};
    const std::uint32_t spills = lane.spills;
    if (key->part == keys::Part::kMessage && !window_.contains(key->id)) {
      take_row(step, slot, number, row, has_state ? &rows.rows[next - 1] : nullptr);
    }
    // A sleeping FIFO head took the cursor back, or the route closed and sent the window to disk:
    // this page does not have what went there.
    const Lane& after = residents_[slot].the_lane(number);
    cut = after.cursor <= key->id || after.spills != spills;
  }
  Lane& lane = residents_[slot].the_lane(number);
  lane.deep = true;
  if (!cut && rows.complete) lane.cold_ahead = false;
  if (!cut && !rows.complete) {
    // Behind the last row there may be a state that belongs to it; a message that is gone needs no
    // second look.
    const auto behind =
        keys::parse_cold(std::string_view(rows.next).substr(0, rows.next.size() - 1));
    if (behind) lane.cursor = std::max(lane.cursor, MessageId{behind->id.high, behind->id.low + 1});
  }
  // Move the head up behind what is done, so that a restart does not look at it again.
  MessageId head = lane.cold_ahead ? lane.cursor : MessageId{UINT64_MAX, UINT64_MAX};
  for (const MessageId id : lane.cold) head = std::min(head, id);
  if (planted(Bug::kCursorMovedBeforeCommit) && lane.cold_ahead) head = lane.cursor;
  if (lane.head.is_set() && head > lane.head && head.high != UINT64_MAX) {
    lane.head = head;
    destinations_.write_owed(step, slot);
  }
}

void Refill::take_row(Step& step, Slot slot, std::uint8_t number, const Row& row,
                      const Row* state) {
  std::optional<StoredState> stored;
  auto message = lookup_.decode_row(step, slot, row, state, stored);
  if (!message) return;
  if (!bodies_.give_body(*message)) {
    step.damaged.push_back(row);
    return;
  }
  const MessageId id = message->id;
  if (!settle_in(step, slot, std::move(*message), stored, false)) {
    Lane& lane = residents_[slot].the_lane(number);
    if (lane.asleep) lane.cursor = id;
  }
}

}  // namespace postrider::core
