// Restore: back to work after a stop of any kind, page by page, without replaying history. First
// the hot messages, which are few; then due entries and owed destinations, while new messages are
// accepted already.
#include <algorithm>

#include "postrider/core/engine_impl.h"

namespace postrider {
namespace {

// Owed destinations come into memory as others leave it. Others may have work for ever, so at least
// one page of them comes in such a time.
constexpr Duration kOwedPatience{1000};

}  // namespace

void Engine::Impl::restore(Step& step, const Chore& chore) {
  if (chore.cursor.empty() || chore.cursor[0] == keys::kHot) return restore_hot(step, chore);
  if (chore.cursor[0] == keys::kHolding) return restore_holding(step, chore);
  if (chore.cursor[0] == keys::kNested) return restore_nested(step, chore);
  if (chore.cursor[0] == keys::kPendingNews) return restore_pending_news(step, chore);
  if (chore.cursor[0] == keys::kCensus) return restore_census(step, chore);
  if (chore.cursor[0] == keys::kRoute) return look_at_held(step, chore);
  restore_owed(step, chore);
}

void Engine::Impl::restore_hot(Step& step, const Chore& chore) {
  const std::string first = chore.cursor.empty() ? keys::space(keys::kHot) : chore.cursor;
  const Rows* rows = step.scan({first, keys::after_prefix(keys::space(keys::kHot)),
                                std::max<std::uint32_t>(3, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_hot(row.first);
    if (!key || key->part != keys::Part::kMessage) continue;
    const auto message = decode_message(row.second);
    if (message) find_destination(step, message->id.destination());
    if (message) need_body(step, row);
  }
  if (step.lacks()) return;
  for (Row& row : std::exchange(damaged_books_, {})) step.damaged.push_back(std::move(row));

  std::string next_cursor = rows->next;
  for (std::size_t next = 0; next < rows->rows.size();) {
    const Row& row = rows->rows[next];
    const bool has_state =
        next + 1 < rows->rows.size() && is_state_of(rows->rows[next + 1].first, row.first);
    if (!has_state && !is_whole(*rows, row.first)) {
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
void Engine::Impl::restore_holding(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kHolding)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  std::vector<Stored> found;
  for (const Row& row : rows->rows) {
    const auto id = keys::parse_holding(row.first);
    if (id && !by_id_.contains(*id)) found.push_back(read_message(step, *id));
  }
  if (step.lacks()) return;
  for (Stored& stored : found) {
    if (!stored.message || !stored.state) continue;
    hold_lasting(stored.resident, *stored.message, stored.state->state);
    const StateIndex state = stored.state->state.state;
    const ProfileSpec& profile = *residents_[stored.resident].bound->profile;
    // Others hold gates until their end and wait on disk for their turn, as before.
    const Phase phase = profile.states[state].phase;
    if (phase == Phase::kAwaiting || phase == Phase::kInFlight)
      settle_in(step, stored.resident, std::move(*stored.message), stored.state, stored.hot);
  }
  if (!rows->complete) {
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
    return;
  }
  restoring_hot_ = false;
  resume_jobs(step);
  bodies_wait_ = true;  // perhaps: the former owner may have left some
  step.out.chores.push_back({.kind = Chore::Kind::kLoadDue});
  step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kOwed)});
  step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kNested)});
  step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = census_cursor_});
  if (receipts_.may_have_pending_news())
    step.out.chores.push_back(
        {.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kPendingNews)});
  for (Slot slot = 0; slot < residents_.capacity(); ++slot) {
    if (!residents_[slot].bound) continue;
    maybe_refill(step, slot);
    // Until now nobody could tell whether it is empty.
    if (residents_[slot].bound->config.draining) touch(slot);
  }
}

void Engine::Impl::restore_hot_row(Step& step, const Row& row, const Row* state) {
  const auto key = keys::parse_hot(row.first);
  if (!key || key->part != keys::Part::kMessage) return;
  const auto peek = decode_message(row.second);
  if (!peek) {
    step.damaged.push_back(row);
    return;
  }
  if (by_id_.contains(peek->id)) return;
  const Destined destined = find_destination(step, peek->id.destination());
  if (destined.slot == kNoSlot) {  // its destination cannot be read; the message stays where it is
    unserved_ = true;
    return;
  }
  std::optional<StoredState> stored;
  auto message = decode_row(step, destined.slot, row, state, stored);
  if (!message) return;
  if (!give_body(*message)) {
    step.damaged.push_back(row);
    return;
  }
  if (stored) hold_lasting(destined.slot, *message, stored->state);
  const std::uint8_t number = message->id.lane();
  settle_in(step, destined.slot, std::move(*message), stored, true);
  residents_[destined.slot].lane_or_new(number).passed = Lane::kAllPassed;
  touch(destined.slot);
}

// With `chore.all` whether there is room or not.
void Engine::Impl::restore_owed(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kOwed)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  std::size_t taken = 0;
  for (const Row& row : rows->rows) {
    const std::size_t pinned = residents_.size() - lru_size_;
    const bool full = pinned >= std::max<std::uint32_t>(1, limits_.residents_max);
    if (full && !chore.all) break;
    if (const auto id = keys::parse_destination(row.first)) find_destination(step, *id);
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

// Submits that follow from others, and were written down with them: those of the former life, and
// behind them those that this one has written so far.
void Engine::Impl::restore_nested(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kNested)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto nested = decode_nested(row.second.view());
    const DestinationId to =
        nested ? destination_id(nested->destination, nested->destination, 0) : DestinationId();
    step.out.chores.push_back(
        {.kind = Chore::Kind::kNested, .destination = to, .cursor = row.first});
  }
  nested_restored_ = rows->complete;
  if (!rows->complete)
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
}

// News whose name may have been given just before the stop.
void Engine::Impl::restore_pending_news(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kPendingNews)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    if (row.first.size() <= 5) continue;
    step.out.chores.push_back(
        {.kind = Chore::Kind::kClaim, .cursor = tail_in(row.first), .all = true});
    ++old_claims_;
  }
  if (!rows->complete)
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
  all_old_claims_known_ = rows->complete;
  if (all_old_claims_known_ && old_claims_ == 0) receipts_.hold_news(false);
}

// Enough others have nothing to do any more, or it has waited long enough: the scan of owed
// destinations goes on.
void Engine::Impl::go_on_with_owed(Step& step, bool regardless) {
  const std::size_t pinned = residents_.size() - lru_size_;
  const bool full = pinned >= std::max<std::uint32_t>(1, limits_.residents_max);
  if (!owed_waits_at_ || (full && !regardless)) return;
  step.out.chores.push_back(
      {.kind = Chore::Kind::kRestore, .cursor = *owed_waits_at_, .all = regardless});
  owed_waits_at_.reset();
  timers_.cancel(std::exchange(owed_timer_, 0));
}

}  // namespace postrider
