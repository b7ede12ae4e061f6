// Priorities: who goes first in a lane without order. The highest, and among equals the oldest; but
// of so many starts one is for a lower priority that has something to send, by turns, so that none
// of them waits for ever. What a lower priority has may be on disk, behind a window that is full of
// higher ones: then its oldest is read for its turn, beyond the window.
#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {
namespace {

// Of one look at the disk. Messages that sleep or are parked lie among those that can go; when that
// many rows show no other, the turn is over, and the next one goes on behind them.
constexpr std::uint8_t kPagesMax = 16;

// Lanes with several priorities whose destinations are not in memory. Beyond it all are forgotten,
// and begin with the highest of the lower ones: 2 MB are enough for a courtesy.
constexpr std::size_t kTurnsMax = 65'536;

constexpr MessageId first_below(std::uint64_t priority) { return {priority + 1, 0}; }
constexpr bool is_lowest(MessageId id) { return (id.high & 0xFFFF) == 0xFFFF; }
constexpr MessageId end_of_lane(MessageId id) { return {(id.high | 0xFFFF) + 1, 0}; }

}  // namespace

// Who goes first when waiting counts: the highest priority plus full steps of waiting, then the
// order of acceptance. The oldest of each priority has waited longest, so only those are looked at.
Slot Engine::Impl::first_by_age(const Lane& lane, const Policy& policy, Timestamp now) const {
  Slot best = lane.first;
  if (policy.age_step <= Duration(0) || !lane.lower || planted(Bug::kAgeingForgotten)) return best;
  const auto worth_of = [&](Slot slot) {
    const Message& message = entries_[slot].message;
    return message.id.priority() + (now - message.accepted) / policy.age_step;
  };
  std::int64_t best_worth = worth_of(best);
  for (const auto& [priority, slot] : lane.lower->runs) {
    const std::int64_t worth = worth_of(slot);
    if (worth < best_worth) continue;  // of the same worth a lower one was accepted earlier
    best = slot;
    best_worth = worth;
  }
  return best;
}

// Its neighbour in the ready list has another priority: it is the first of its own, or it is the
// head and the former head is now the first of a lower one.
void Engine::Impl::begin_run(Lane& lane, Slot slot) {
  const Slot first = entries_[slot].prev == kNoSlot ? entries_[slot].next : slot;
  Lower& lower = lane.the_lower();
  lower.runs[entries_[first].message.id.high] = first;
  lower.hear_of(entries_[first].message.id);
}

// It is about to leave the ready list.
void Engine::Impl::end_run(Lane& lane, const Entry& entry) {
  const std::uint64_t priority = entry.message.id.high;
  const std::uint64_t next =
      entry.next == kNoSlot ? priority : entries_[entry.next].message.id.high;
  if (entry.prev == kNoSlot) {
    if (next != priority) lane.lower->runs.erase(next);  // the highest one from now on
  } else if (entries_[entry.prev].message.id.high != priority) {
    if (entry.next != kNoSlot && next == priority) {
      lane.lower->runs[priority] = entry.next;
    } else {
      lane.lower->runs.erase(priority);
    }
  }
}

// Who starts next. Nobody: whose turn it is must be read first.
Slot Engine::Impl::whose_turn(Step& step, Slot slot, Lane& lane) {
  const Policy& policy = residents_[slot].bound->policy;
  Slot usual = first_by_age(lane, policy, step.now);
  // An older one of its order may be on disk.
  if (entries_[usual].message.ordered && owes_before(lane, entries_[usual])) usual = lane.first;
  if (policy.lower_every == 0 || planted(Bug::kLowerStarved)) return usual;
  if (is_lowest(entries_[lane.first].message.id)) return usual;
  if (lane.lower && lane.lower->top != top_of(lane) && lane.lower->has_nobody())
    lane.lower->look = Lower::Look::kNone;  // others are lower now
  if (lane.passed + 1 >= policy.lower_every) {
    const Slot lower = favourite(step, slot, lane);
    if (lower != kNoSlot) return lower;
    if (lane.lower->look == Lower::Look::kAsked) return kNoSlot;
  } else if (lane.cold_ahead && (lane.passed + 1) * 2 >= policy.lower_every) {
    look_below(step, slot, lane);  // so that nobody waits for it
  }
  return usual;
}

// Below which priority turns are had. When all of the highest sleep, whoever is the highest then
// has been passed by them like any lower one: it has its turn before those below it have another.
std::uint64_t Engine::Impl::top_of(const Lane& lane) const {
  const std::uint64_t first = entries_[lane.first].message.id.high;
  return lane.lower ? std::min(first, lane.lower->ahead) : first;
}

// The one below the highest priority whose turn it is.
Slot Engine::Impl::favourite(Step& step, Slot slot, Lane& lane) {
  look_below(step, slot, lane);
  const Lower& lower = *lane.lower;
  if (lower.look != Lower::Look::kDone || !lower.favourite.is_set()) return kNoSlot;
  return by_id_.at(lower.favourite);
}

// The first one in memory from there on. It may be the head, as long as higher ones are being read.
Slot Engine::Impl::next_lower(const Lane& lane, MessageId from) const {
  if (lane.first != kNoSlot && entries_[lane.first].message.id.high >= from.high) return lane.first;
  const auto run = lane.lower->runs.lower_bound(from.high);
  return run == lane.lower->runs.end() ? kNoSlot : run->second;
}

// Finds whose turn it is, unless that is known or being read.
void Engine::Impl::look_below(Step& step, Slot slot, Lane& lane) {
  Lower& lower = lane.the_lower();
  const std::uint64_t top = top_of(lane);
  if (lower.look == Lower::Look::kDone) {
    if (!lower.favourite.is_set()) return;
    const auto found = by_id_.find(lower.favourite);
    // It may have ended meanwhile, wait at a gate, or be one of the highest; or those before it in
    // turn were the highest then, and are not now.
    const bool skips = lower.wrapped && top < lower.top;
    if (found != by_id_.end() && entries_[found->second].ready && lower.favourite.high > top &&
        !skips)
      return;
    lower.look = Lower::Look::kNone;
  }
  if (lower.look == Lower::Look::kAsked) return;
  lower.favourite = MessageId();
  lower.top = top;
  lower.pages = 0;
  lower.missed = false;
  const bool resumes = lower.resume.is_set() && lower.resume.high > top;
  const bool below = lower.last_turn > top && !is_lowest({lower.last_turn, 0});  // somebody may be
  const MessageId from = resumes ? lower.resume : first_below(below ? lower.last_turn : top);
  lower.wrapped = from == first_below(top);
  if (!look_from(step, slot, lane, from)) end_look(step, slot, lane, end_of_lane(from), true);
}

// Reads what the disk has from there on, up to the first in memory. False: it has nothing.
bool Engine::Impl::look_from(Step& step, Slot slot, Lane& lane, MessageId from) {
  Lower& lower = *lane.lower;
  const Slot next = next_lower(lane, from);
  const MessageId until = next == kNoSlot ? end_of_lane(from) : entries_[next].message.id;
  lower.begin = from;
  lower.from = std::max(from, lane.cursor);
  lower.until = until;
  Resident& resident = residents_[slot];
  // Whoever has its turn and then waits at a gate stays in memory; nobody else adds up.
  lower.full = lane.at_gates >= limits_.lane_waiters_max + resident.bound->policy.window_max;
  lower.missed = lower.missed || lower.full;
  if (!lane.cold_ahead || lower.from >= until || lower.full || planted(Bug::kLowerOnDiskForgotten))
    return false;
  lower.look = Lower::Look::kAsked;
  leave_lru(slot);
  ++resident.chores;
  step.out.chores.push_back(
      {.kind = Chore::Kind::kLower, .destination = resident.id, .lane = lane.number});
  return true;
}

Scan Engine::Impl::lower_scan(const Resident& resident, const Lane& lane) const {
  // The first one can go, nearly always; and one more row tells that it has no state.
  const Lower& lower = *lane.lower;
  const std::uint32_t limit =
      lower.pages == 0 ? 3 : std::max<std::uint32_t>(3, limits_.refill_rows_max);
  const bool to_end = lower.until == end_of_lane(lower.from);
  return {keys::cold(lower.from, keys::Part::kMessage),
          to_end ? keys::after_prefix(keys::cold_lane(resident.id, lane.number))
                 : keys::cold(lower.until, keys::Part::kMessage),
          limit, true};
}

void Engine::Impl::read_lower(Step& step, const Chore& chore) {
  const auto found = by_destination_.find(chore.destination.value());
  POSTRIDER_CHECK(found != by_destination_.end());  // pinned by its chore
  const Slot slot = found->second;
  const Rows* rows = step.scan(lower_scan(residents_[slot], residents_[slot].the_lane(chore.lane)));
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) need_body(step, row);
  if (step.lacks()) return;
  Resident& resident = residents_[slot];
  --resident.chores;
  resident.the_lane(chore.lane).lower->look = Lower::Look::kNone;
  const std::uint32_t spills = resident.the_lane(chore.lane).spills;
  const bool fifo = resident.bound->policy.lane_kind(chore.lane) == LaneKind::kFifo;
  if (awake(resident, step.now) && !fifo) {
    const MessageId behind = take_lower(step, slot, chore.lane, *rows);
    Lane& lane = residents_[slot].the_lane(chore.lane);
    // The route closed and sent the window to disk: look again later.
    if (lane.spills == spills) end_look(step, slot, lane, behind, rows->complete);
  }
  maybe_refill(step, slot);
  ring(slot);
  touch(slot);
}

// Brings the first that can go into memory. Returns where the page ends, or that message.
MessageId Engine::Impl::take_lower(Step& step, Slot slot, std::uint8_t number, const Rows& rows) {
  MessageId behind = residents_[slot].the_lane(number).lower->from;
  const std::uint32_t spills = residents_[slot].the_lane(number).spills;
  for (std::size_t next = 0; next < rows.rows.size();) {
    const Row& row = rows.rows[next];
    const auto key = keys::parse_cold(row.first);
    const bool has_state =
        next + 1 < rows.rows.size() && is_state_of(rows.rows[next + 1].first, row.first);
    if (!has_state && !is_whole(rows, row.first)) return behind;
    next += has_state ? 2 : 1;
    if (!key) continue;
    behind = {key->id.high, key->id.low + 1};
    if (key->part != keys::Part::kMessage || by_id_.contains(key->id)) continue;
    std::optional<StoredState> stored;
    auto message = decode_row(step, slot, row, has_state ? &rows.rows[next - 1] : nullptr, stored);
    if (!message) continue;
    if (!give_body(*message)) {
      step.damaged.push_back(row);
      continue;
    }
    settle_in(step, slot, std::move(*message), stored, false);
    if (residents_[slot].the_lane(number).spills != spills) return behind;
    const auto entry = by_id_.find(key->id);
    if (entry != by_id_.end() && entries_[entry->second].ready) return key->id;
  }
  if (!rows.complete) {
    const auto last = keys::parse_cold(std::string_view(rows.next).substr(0, rows.next.size() - 1));
    if (last) behind = std::max(behind, MessageId{last->id.high, last->id.low + 1});
  }
  return behind;
}

// The page showed somebody, or the next one may; at the lane's end the turns begin anew below the
// highest priority.
void Engine::Impl::end_look(Step& step, Slot slot, Lane& lane, MessageId behind, bool complete) {
  Lower& lower = *lane.lower;
  const auto read = by_id_.find(behind);
  Slot found = read != by_id_.end() && entries_[read->second].ready ? read->second : kNoSlot;
  if (found == kNoSlot && !complete) {
    if (++lower.pages >= kPagesMax) {
      lower.resume = behind;
      lower.ahead = UINT64_MAX;
      lane.passed = 0;
    } else if (!look_from(step, slot, lane, behind)) {
      complete = true;  // something in memory comes before whatever is left of it
    }
    if (!complete) return;
  }
  // A refill may have brought others before the one that was read.
  const Slot first = next_lower(lane, lower.begin);
  const bool before = first != kNoSlot && found != kNoSlot &&
                      entries_[first].message.id < entries_[found].message.id;
  if (found == kNoSlot || before) found = first;
  // Whoever was first in memory may be gone, and what lies behind it on disk was not read.
  const MessageId next = found == kNoSlot ? end_of_lane(lower.from) : entries_[found].message.id;
  if (lower.until < next && look_from(step, slot, lane, lower.until)) return;
  lower.resume = MessageId();
  if (found == kNoSlot && !lower.wrapped) {
    lower.wrapped = true;
    if (look_from(step, slot, lane, first_below(lower.top))) return;
    found = next_lower(lane, first_below(lower.top));
  }
  // With no room to read, an older one of its order may be on disk.
  const bool unread = found != kNoSlot && lower.full && entries_[found].message.ordered &&
                      owes_before(lane, entries_[found]);
  if (unread) found = kNoSlot;
  if (found != kNoSlot) lower.favourite = entries_[found].message.id;
  // Whoever came meanwhile may be before where we looked.
  const bool nobody = found == kNoSlot && !std::exchange(lower.missed, false);
  if (found != kNoSlot || nobody) lower.look = Lower::Look::kDone;
}

// A route that is closed for long may leave memory between any two attempts; its lower priorities
// would begin anew each time, and only the highest of them would ever have a turn.
void Engine::Impl::remember_turns(const Resident& resident) {
  for (const Lane& lane : resident.lanes) {
    if (!lane.lower || lane.lower->last_turn == 0) continue;
    if (turns_.size() >= kTurnsMax) turns_.clear();
    const MessageId first = MessageId::make(resident.id, lane.number, UINT16_MAX, Sequence(0));
    turns_[first.high] = {lane.lower->last_turn, lane.lower->ahead, lane.passed};
  }
}

// What is not known is taken for as many starts as there may have been.
void Engine::Impl::recall_turns(DestinationId destination, Lane& lane) {
  lane.passed = Lane::kAllPassed;
  const auto known =
      turns_.find(MessageId::make(destination, lane.number, UINT16_MAX, Sequence(0)).high);
  if (known == turns_.end()) return;
  lane.the_lower().last_turn = known->second.last_turn;
  lane.lower->ahead = known->second.ahead;
  lane.passed = known->second.passed;
  turns_.erase(known);
}

bool Engine::Impl::start_by_turns(Step& step, Slot slot, Slot chosen) {
  const MessageId id = entries_[chosen].message.id;
  const std::uint64_t before = last_attempt_;
  const bool moved = try_start(step, chosen);
  Lane& lane = residents_[slot].the_lane(id.lane());
  const bool started = last_attempt_ != before;
  const auto still = by_id_.find(id);
  const bool waits = still != by_id_.end() && entries_[still->second].at_gate;
  if (lane.lower && lane.lower->favourite == id && (started || waits)) {
    // Waiting at a gate is its turn, too: there it stands in another line.
    lane.lower->last_turn = id.high;
    lane.lower->look = Lower::Look::kNone;
    lane.lower->favourite = MessageId();
    lane.lower->ahead = UINT64_MAX;
    lane.passed = 0;
    if (started) ++tallies_.lower_turns;
  } else if (started && (is_lowest(id) || (lane.lower && lane.lower->has_nobody()))) {
    if (lane.lower) lane.lower->ahead = UINT64_MAX;
    lane.passed = 0;
  } else if (started) {
    if (lane.lower) lane.lower->ahead = std::min(lane.lower->ahead, id.high);
    if (lane.passed < Lane::kAllPassed) ++lane.passed;
  }
  return moved;
}

// Nothing of the lane is lower, so it passes nobody; unless it has to wait, and higher ones come.
bool Engine::Impl::start_lowest(Step& step, Slot slot, const Lane& lane) {
  const std::uint8_t number = lane.number;
  const std::uint64_t before = last_attempt_;
  const bool moved = try_start(step, lane.first);
  if (last_attempt_ == before) return moved;
  Lane& after = residents_[slot].the_lane(number);
  after.passed = 0;
  if (after.lower) after.lower->ahead = UINT64_MAX;
  return moved;
}

}  // namespace postrider
