#include "postrider/core/refill/restore.h"

#include <algorithm>

namespace postrider::core {
namespace {

// Owed destinations come into memory as idle ones leave it. The destinations in memory may have
// work for ever, so at least one page of owed ones comes in such a time.
constexpr Duration kOwedPatience{1000};

}  // namespace

void Restore::restore_hot(Step& step, const Chore& chore) {
  const std::string first = chore.cursor.empty() ? keys::space(keys::kHot) : chore.cursor;
  const Rows* rows = step.scan({first, keys::after_prefix(keys::space(keys::kHot)),
                                std::max<std::uint32_t>(3, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_hot(row.first);
    if (!key || key->part != keys::Part::kMessage) continue;
    const auto message = decode_message(row.second);
    if (message) destinations_.find_destination(step, message->id.destination());
    if (message) bodies_.need_body(step, row);
  }
  if (step.lacks()) return;
  for (Row& row : std::exchange(damaged_books_, {})) step.damaged.push_back(std::move(row));

  std::string next_cursor = rows->next;
  for (std::size_t next = 0; next < rows->rows.size();) {
    const Row& row = rows->rows[next];
    const bool has_state =
        next + 1 < rows->rows.size() && lookup_.is_state_of(rows->rows[next + 1].first, row.first);
    if (!has_state && !lookup_.is_whole(*rows, row.first)) {
      next_cursor = row.first;
      break;
    }
    const Row* state = has_state ? &rows->rows[next + 1] : nullptr;
    next += has_state ? 2 : 1;
    restore_hot_row(step, row, state);
  }
  if (!rows->complete) {
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = next_cursor});
    return;
  }
  step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kHolding)});
}

// Messages in the cold space that hold gates: all limits must be known before anything starts.
bool Restore::restore_holding(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kHolding)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return false;
  std::vector<Lookup::Stored> found;
  for (const Row& row : rows->rows) {
    const auto id = keys::parse_holding(row.first);
    if (id && !window_.contains(*id)) found.push_back(lookup_.read_message(step, *id));
  }
  if (step.lacks()) return false;
  for (Lookup::Stored& stored : found) {
    if (!stored.message || !stored.state) continue;
    gates_.hold_lasting(stored.resident, *stored.message, stored.state->state);
    const StateIndex state = stored.state->state.state;
    const ProfileSpec& profile = *residents_[stored.resident].bound->profile;
    // Messages in other phases hold gates until their end and wait on disk for their turn.
    const Phase phase = profile.states[state].phase;
    if (phase == Phase::kAwaiting || phase == Phase::kInFlight)
      refill_.settle_in(step, stored.resident, std::move(*stored.message), stored.state,
                        stored.hot);
  }
  if (!rows->complete) {
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
    return false;
  }
  window_.end_restoring();
  return true;
}

void Restore::begin_work(Step& step) {
  bodies_.count_down_later();  // perhaps: the former owner may have left some
  step.out.chores.push_back({.kind = Chore::Kind::kLoadDue});
  step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kOwed)});
  step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kNested)});
  step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = census_.cursor()});
  if (receipts_.may_have_pending_news())
    step.out.chores.push_back(
        {.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kPendingNews)});
  for (Slot slot = 0; slot < residents_.capacity(); ++slot) {
    if (!residents_[slot].bound) continue;
    if (residents_[slot].in_memory > 0) destinations_.begin_behind(step, residents_[slot]);
    if (residents_[slot].route.latest_until.is_set()) destinations_.begin_sweep(step, slot);
    // Until now nothing could start, and no draining destination could be seen to be empty.
    step.look_at(slot);
  }
}

void Restore::restore_hot_row(Step& step, const Row& row, const Row* state) {
  const auto key = keys::parse_hot(row.first);
  if (!key || key->part != keys::Part::kMessage) return;
  const auto peek = decode_message(row.second);
  if (!peek) {
    step.damaged.push_back(row);
    return;
  }
  if (window_.contains(peek->id)) return;
  const Destinations::Destined destined =
      destinations_.find_destination(step, peek->id.destination());
  if (destined.slot == kNoSlot) {  // its destination cannot be read; the message stays where it is
    census_.note_unserved();
    return;
  }
  std::optional<StoredState> stored;
  auto message = lookup_.decode_row(step, destined.slot, row, state, stored);
  if (!message) return;
  if (!bodies_.give_body(*message)) {
    step.damaged.push_back(row);
    return;
  }
  if (stored) gates_.hold_lasting(destined.slot, *message, stored->state);
  const std::uint8_t number = message->id.lane();
  refill_.settle_in(step, destined.slot, std::move(*message), stored, true);
  residents_[destined.slot].lane_or_new(number).passed = Lane::kAllPassed;
  step.look_at(destined.slot);
}

// With `chore.all` whether there is room or not.
void Restore::restore_owed(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kOwed)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  std::size_t taken = 0;
  for (const Row& row : rows->rows) {
    const std::size_t pinned = residents_.size() - residents_.idle();
    const bool full = pinned >= std::max<std::uint32_t>(1, limits_.residents_max);
    if (full && !chore.all) break;
    if (const auto id = keys::parse_destination(row.first))
      destinations_.find_destination(step, *id);
    if (step.lacks()) return;
    ++taken;
  }
  if (taken < rows->rows.size()) {
    owed_waits_at_ = rows->rows[taken].first;
    owed_timer_ = timers_.arm(step.now + kOwedPatience, Timer{.kind = TimerKind::kOwed});
  } else if (rows->complete) {
    owed_scanned_ = true;
  } else {
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
  }
}

// Enough destinations are idle, or the scan has waited long enough: the scan of owed
// destinations goes on.
void Restore::go_on_with_owed(Step& step, bool regardless) {
  const std::size_t pinned = residents_.size() - residents_.idle();
  const bool full = pinned >= std::max<std::uint32_t>(1, limits_.residents_max);
  if (!owed_waits_at_ || (full && !regardless)) return;
  step.out.chores.push_back(
      {.kind = Chore::Kind::kRestore, .cursor = *owed_waits_at_, .all = regardless});
  owed_waits_at_.reset();
  timers_.cancel(std::exchange(owed_timer_, 0));
}

}  // namespace postrider::core
