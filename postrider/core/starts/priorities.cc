// Which message goes first in a lane without order. The highest priority, and among equals the
// oldest; but of so many starts one is for a lower priority that has something to send, by turns,
// so that none of them waits for ever. What a lower priority has may be on disk, behind a window
// that is full of higher ones: then its oldest is read for its turn, beyond the window.
#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"
#include "postrider/core/starts/starts.h"

namespace postrider::core {
namespace {

// Of one look at the disk. Messages that sleep or are parked lie among those that can go; when that
// many rows show no other, the turn is over, and the next one goes on behind them.
constexpr std::uint8_t kPagesMax = 16;

constexpr MessageId first_below(std::uint64_t priority) { return {priority + 1, 0}; }
constexpr bool is_lowest(MessageId id) { return (id.high & 0xFFFF) == 0xFFFF; }
constexpr MessageId end_of_lane(MessageId id) { return {(id.high | 0xFFFF) + 1, 0}; }

}  // namespace

// The message that goes first when waiting counts: the highest priority plus full steps of waiting,
// then the order of acceptance. The oldest of each priority has waited longest, so only those are
// looked at.
Slot Starts::first_by_age(const Lane& lane, const Policy& policy, Timestamp now) const {
  Slot best = lane.first;
  if (policy.age_step <= Duration(0) || !lane.lower || planted(Bug::kAgeingForgotten)) return best;
  const auto worth_of = [&](Slot slot) {
    const Message& message = window_[slot].message;
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

// The message that starts next. None: the one whose turn it is must be read first.
Slot Starts::whose_turn(Step& step, Slot slot, Lane& lane) {
  const Policy& policy = residents_[slot].bound->policy;
  Slot usual = first_by_age(lane, policy, step.now);
  // An older one of its order may be on disk.
  if (window_[usual].message.ordered && window_.owes_before(lane, window_[usual]))
    usual = lane.first;
  if (policy.lower_every == 0 || planted(Bug::kLowerStarved)) return usual;
  if (is_lowest(window_[lane.first].message.id)) return usual;
  if (lane.lower && lane.lower->top != top_of(lane) && lane.lower->has_none())
    lane.lower->look = Lower::Look::kNone;  // other priorities are lower now
  if (lane.passed + 1 >= policy.lower_every) {
    const Slot lower = favourite(step, slot, lane);
    if (lower != kNoSlot) return lower;
    if (lane.lower->look == Lower::Look::kAsked) return kNoSlot;
  } else if (lane.cold_ahead && (lane.passed + 1) * 2 >= policy.lower_every) {
    look_below(step, slot, lane);  // so that it is there in time
  }
  return usual;
}

// Below which priority turns are had. When all of the highest sleep, the highest one then
// has been passed by them like any lower one: it has its turn before those below it have another.
std::uint64_t Starts::top_of(const Lane& lane) const {
  const std::uint64_t first = window_[lane.first].message.id.high;
  return lane.lower ? std::min(first, lane.lower->ahead) : first;
}

// The one below the highest priority whose turn it is.
Slot Starts::favourite(Step& step, Slot slot, Lane& lane) {
  look_below(step, slot, lane);
  const Lower& lower = *lane.lower;
  if (lower.look != Lower::Look::kDone || !lower.favourite.is_set()) return kNoSlot;
  return window_.at(lower.favourite);
}

// The first one in memory from there on. It may be the head, as long as higher ones are being read.
Slot Starts::next_lower(const Lane& lane, MessageId from) const {
  if (lane.first != kNoSlot && window_[lane.first].message.id.high >= from.high) return lane.first;
  const auto run = lane.lower->runs.lower_bound(from.high);
  return run == lane.lower->runs.end() ? kNoSlot : run->second;
}

// Finds whose turn it is, unless that is known or being read.
void Starts::look_below(Step& step, Slot slot, Lane& lane) {
  Lower& lower = lane.the_lower();
  const std::uint64_t top = top_of(lane);
  if (lower.look == Lower::Look::kDone) {
    if (!lower.favourite.is_set()) return;
    const Slot found = window_.find(lower.favourite);
    // It may have ended meanwhile, wait at a gate, or be one of the highest; or those before it in
    // turn were the highest then, and are not now.
    const bool skips = lower.wrapped && top < lower.top;
    if (found != kNoSlot && window_[found].ready() && lower.favourite.high > top && !skips) return;
    lower.look = Lower::Look::kNone;
  }
  if (lower.look == Lower::Look::kAsked) return;
  lower.favourite = MessageId();
  lower.top = top;
  lower.pages = 0;
  lower.missed = false;
  const bool resumes = lower.resume.is_set() && lower.resume.high > top;
  const bool below = lower.last_turn > top && !is_lowest({lower.last_turn, 0});  // there may be one
  const MessageId from = resumes ? lower.resume : first_below(below ? lower.last_turn : top);
  lower.wrapped = from == first_below(top);
  if (!look_from(step, slot, lane, from)) end_look(step, slot, lane, end_of_lane(from), true);
}

// Reads what the disk has from there on, up to the first in memory. False: it has nothing.
bool Starts::look_from(Step& step, Slot slot, Lane& lane, MessageId from) {
  Lower& lower = *lane.lower;
  const Slot next = next_lower(lane, from);
  const MessageId until = next == kNoSlot ? end_of_lane(from) : window_[next].message.id;
  lower.begin = from;
  lower.from = std::max(from, lane.cursor);
  lower.until = until;
  Resident& resident = residents_[slot];
  // A message that has its turn and then waits at a gate stays in memory; no other adds up.
  lower.full = lane.at_gates >= limits_.lane_waiters_max + resident.bound->policy.window_max;
  lower.missed = lower.missed || lower.full;
  if (!lane.cold_ahead || lower.from >= until || lower.full || planted(Bug::kLowerOnDiskForgotten))
    return false;
  lower.look = Lower::Look::kAsked;
  residents_.leave_lru(slot);
  ++resident.chores;
  step.out.chores.push_back(
      {.kind = Chore::Kind::kLower, .destination = resident.id, .lane = lane.number});
  return true;
}

Scan Starts::lower_scan(const Resident& resident, const Lane& lane) const {
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

void Starts::read_lower(Step& step, const Chore& chore) {
  const Slot found = residents_.find(chore.destination.value());
  POSTRIDER_CHECK(found != kNoSlot);  // pinned by its chore
  const Slot slot = found;
  const Rows* rows = step.scan(lower_scan(residents_[slot], residents_[slot].the_lane(chore.lane)));
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) bodies_.need_body(step, row);
  if (step.lacks()) return;
  Resident& resident = residents_[slot];
  --resident.chores;
  resident.the_lane(chore.lane).lower->look = Lower::Look::kNone;
  const std::uint32_t spills = resident.the_lane(chore.lane).spills;
  const bool fifo = resident.bound->policy.lane_kind(chore.lane) == LaneKind::kFifo;
  if (residents_.awake(resident, step.now) && !fifo) {
    const MessageId behind = take_lower(step, slot, chore.lane, *rows);
    Lane& lane = residents_[slot].the_lane(chore.lane);
    // The route closed and sent the window to disk: look again later.
    if (lane.spills == spills) end_look(step, slot, lane, behind, rows->complete);
  }
  step.look_at(slot);
}

// Brings the first that can go into memory. Returns where the page ends, or that message.
MessageId Starts::take_lower(Step& step, Slot slot, std::uint8_t number, const Rows& rows) {
  MessageId behind = residents_[slot].the_lane(number).lower->from;
  const std::uint32_t spills = residents_[slot].the_lane(number).spills;
  for (std::size_t next = 0; next < rows.rows.size();) {
    const Row& row = rows.rows[next];
    const auto key = keys::parse_cold(row.first);
    const bool has_state =
        next + 1 < rows.rows.size() && lookup_.is_state_of(rows.rows[next + 1].first, row.first);
    if (!has_state && !lookup_.is_whole(rows, row.first)) return behind;
    next += has_state ? 2 : 1;
    if (!key) continue;
    behind = {key->id.high, key->id.low + 1};
    if (key->part != keys::Part::kMessage || window_.contains(key->id)) continue;
    std::optional<StoredState> stored;
    auto message =
        lookup_.decode_row(step, slot, row, has_state ? &rows.rows[next - 1] : nullptr, stored);
    if (!message) continue;
    if (!bodies_.give_body(*message)) {
      step.damaged.push_back(row);
      continue;
    }
    refill_.settle_in(step, slot, std::move(*message), stored, false);
    if (residents_[slot].the_lane(number).spills != spills) return behind;
    const Slot entry = window_.find(key->id);
    if (entry != kNoSlot && window_[entry].ready()) return key->id;
  }
  if (!rows.complete) {
    const auto last = keys::parse_cold(std::string_view(rows.next).substr(0, rows.next.size() - 1));
    if (last) behind = std::max(behind, MessageId{last->id.high, last->id.low + 1});
  }
  return behind;
}

// The page showed a message, or the next one may; at the lane's end the turns begin anew below the
// highest priority.
void Starts::end_look(Step& step, Slot slot, Lane& lane, MessageId behind, bool complete) {
  Lower& lower = *lane.lower;
  const Slot read = window_.find(behind);
  Slot found = read != kNoSlot && window_[read].ready() ? read : kNoSlot;
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
  const bool before =
      first != kNoSlot && found != kNoSlot && window_[first].message.id < window_[found].message.id;
  if (found == kNoSlot || before) found = first;
  // The first in memory may be gone, and what lies behind it on disk was not read.
  const MessageId next = found == kNoSlot ? end_of_lane(lower.from) : window_[found].message.id;
  if (lower.until < next && look_from(step, slot, lane, lower.until)) return;
  lower.resume = MessageId();
  if (found == kNoSlot && !lower.wrapped) {
    lower.wrapped = true;
    if (look_from(step, slot, lane, first_below(lower.top))) return;
    found = next_lower(lane, first_below(lower.top));
  }
  // With no room to read, an older one of its order may be on disk.
  const bool unread = found != kNoSlot && lower.full && window_[found].message.ordered &&
                      window_.owes_before(lane, window_[found]);
  if (unread) found = kNoSlot;
  if (found != kNoSlot) lower.favourite = window_[found].message.id;
  // What came meanwhile may be before where the look began.
  const bool none = found == kNoSlot && !std::exchange(lower.missed, false);
  if (found != kNoSlot || none) lower.look = Lower::Look::kDone;
}

bool Starts::start_by_turns(Step& step, Slot slot, Slot chosen) {
  const MessageId id = window_[chosen].message.id;
  const std::uint64_t before = attempts_.last_id();
  const bool moved = try_start(step, chosen);
  Lane& lane = residents_[slot].the_lane(id.lane());
  const bool started = attempts_.last_id() != before;
  const Slot still = window_.find(id);
  const bool waits = still != kNoSlot && window_[still].at_gate();
  if (lane.lower && lane.lower->favourite == id && (started || waits)) {
    // Waiting at a gate is its turn, too: there it stands in another line.
    lane.lower->last_turn = id.high;
    lane.lower->look = Lower::Look::kNone;
    lane.lower->favourite = MessageId();
    lane.lower->ahead = UINT64_MAX;
    lane.passed = 0;
    if (started) ++tallies_.lower_turns;
  } else if (started && (is_lowest(id) || (lane.lower && lane.lower->has_none()))) {
    if (lane.lower) lane.lower->ahead = UINT64_MAX;
    lane.passed = 0;
  } else if (started) {
    if (lane.lower) lane.lower->ahead = std::min(lane.lower->ahead, id.high);
    if (lane.passed < Lane::kAllPassed) ++lane.passed;
  }
  return moved;
}

// Nothing of the lane is lower, so it passes no other; unless it has to wait, and higher ones come.
bool Starts::start_lowest(Step& step, Slot slot, const Lane& lane) {
  const std::uint8_t number = lane.number;
  const std::uint64_t before = attempts_.last_id();
  const bool moved = try_start(step, lane.first);
  if (attempts_.last_id() == before) return moved;
  Lane& after = residents_[slot].the_lane(number);
  after.passed = 0;
  if (after.lower) after.lower->ahead = UINT64_MAX;
  return moved;
}

}  // namespace postrider::core
