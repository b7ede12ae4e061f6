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

void Engine::Impl::restore(Turn& turn, const Chore& chore) {
  if (chore.cursor.empty() || chore.cursor[0] == keys::kHot) return restore_hot(turn, chore);
  if (chore.cursor[0] == keys::kHolding) return restore_holding(turn, chore);
  if (chore.cursor[0] == keys::kNested) return restore_nested(turn, chore);
  if (chore.cursor[0] == keys::kHalf) return restore_halves(turn, chore);
  if (chore.cursor[0] == keys::kCensus) return restore_census(turn, chore);
  if (chore.cursor[0] == keys::kRoute) return look_at_held(turn, chore);
  restore_owed(turn, chore);
}

void Engine::Impl::restore_hot(Turn& turn, const Chore& chore) {
  const std::string first = chore.cursor.empty() ? keys::space(keys::kHot) : chore.cursor;
  const Rows* rows = turn.scan({first, keys::after_prefix(keys::space(keys::kHot)),
                                std::max<std::uint32_t>(3, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_hot(row.first);
    if (!key || key->part != keys::Part::kMessage) continue;
    const auto message = decode_message(row.second);
    if (message) find_destination(turn, message->id.destination());
    if (message) need_body(turn, row);
  }
  if (turn.lacks()) return;
  for (Row& row : std::exchange(damaged_books_, {})) turn.damaged.push_back(std::move(row));

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
    restore_hot_row(turn, row, state);
  }
  if (!rows->complete) {
    turn.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = next_cursor});
    return;
  }
  turn.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kHolding)});
}

// Messages in the cold space that hold gates: all limits must be known before anything starts.
void Engine::Impl::restore_holding(Turn& turn, const Chore& chore) {
  const Rows* rows = turn.scan({chore.cursor, keys::after_prefix(keys::space(keys::kHolding)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  std::vector<Stored> found;
  for (const Row& row : rows->rows) {
    const auto id = keys::parse_holding(row.first);
    if (id && !by_id_.contains(*id)) found.push_back(read_message(turn, *id));
  }
  if (turn.lacks()) return;
  for (Stored& stored : found) {
    if (!stored.message || !stored.state) continue;
    hold_lasting(stored.resident, *stored.message, stored.state->state);
    const StateIndex state = stored.state->state.state;
    const ProfileSpec& profile = *residents_[stored.resident].bound->profile;
    // Others hold gates until their end and wait on disk for their turn, as before.
    const Phase phase = profile.states[state].phase;
    if (phase == Phase::kAwaiting || phase == Phase::kInFlight)
      settle_in(turn, stored.resident, std::move(*stored.message), stored.state, stored.hot);
  }
  if (!rows->complete) {
    turn.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
    return;
  }
  restoring_hot_ = false;
  resume_jobs(turn);
  bodies_wait_ = true;  // perhaps: the former owner may have left some
  turn.out.chores.push_back({.kind = Chore::Kind::kLoadDue});
  turn.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kOwed)});
  turn.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kNested)});
  turn.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = census_cursor_});
  if (receipts_.may_have_halves())
    turn.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kHalf)});
  for (Slot slot = 0; slot < residents_.capacity(); ++slot) {
    if (!residents_[slot].bound) continue;
    maybe_refill(turn, slot);
    // Until now nobody could tell whether it is empty.
    if (residents_[slot].bound->config.draining) touch(slot);
  }
}

void Engine::Impl::restore_hot_row(Turn& turn, const Row& row, const Row* state) {
  const auto key = keys::parse_hot(row.first);
  if (!key || key->part != keys::Part::kMessage) return;
  const auto peek = decode_message(row.second);
  if (!peek) {
    turn.damaged.push_back(row);
    return;
  }
  if (by_id_.contains(peek->id)) return;
  const Destined destined = find_destination(turn, peek->id.destination());
  if (destined.slot == kNoSlot) {  // its destination cannot be read; the message stays where it is
    unserved_ = true;
    return;
  }
  std::optional<StoredState> stored;
  auto message = decode_row(turn, destined.slot, row, state, stored);
  if (!message) return;
  if (!give_body(*message)) {
    turn.damaged.push_back(row);
    return;
  }
  if (stored) hold_lasting(destined.slot, *message, stored->state);
  const std::uint8_t number = message->id.lane();
  settle_in(turn, destined.slot, std::move(*message), stored, true);
  residents_[destined.slot].lane_or_new(number).passed = Lane::kAllPassed;
  touch(destined.slot);
}

// With `chore.all` whether there is room or not.
void Engine::Impl::restore_owed(Turn& turn, const Chore& chore) {
  const Rows* rows = turn.scan({chore.cursor, keys::after_prefix(keys::space(keys::kOwed)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  std::size_t taken = 0;
  for (const Row& row : rows->rows) {
    const std::size_t pinned = residents_.size() - lru_size_;
    const bool full = pinned >= std::max<std::uint32_t>(1, limits_.residents_max);
    if (full && !chore.all) break;
    if (const auto id = keys::parse_destination(row.first)) find_destination(turn, *id);
    if (turn.lacks()) return;
    ++taken;
  }
  if (taken < rows->rows.size()) {
    owed_waits_at_ = rows->rows[taken].first;
    owed_timer_ = timers_.arm(turn.now + kOwedPatience, Timer{.kind = TimerKind::kOwed});
  } else if (rows->complete) {
    owed_scanned_ = true;
  } else {
    turn.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
  }
}

// Submits that follow from others, and were written down with them: those of the former life, and
// behind them those that this one has written so far.
void Engine::Impl::restore_nested(Turn& turn, const Chore& chore) {
  const Rows* rows = turn.scan({chore.cursor, keys::after_prefix(keys::space(keys::kNested)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto nested = decode_nested(row.second.view());
    const DestinationId to =
        nested ? destination_id(nested->destination, nested->destination, 0) : DestinationId();
    turn.out.chores.push_back(
        {.kind = Chore::Kind::kNested, .destination = to, .cursor = row.first});
  }
  nested_restored_ = rows->complete;
  if (!rows->complete)
    turn.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
}

// News whose name may have been given just before the stop.
void Engine::Impl::restore_halves(Turn& turn, const Chore& chore) {
  const Rows* rows = turn.scan({chore.cursor, keys::after_prefix(keys::space(keys::kHalf)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    if (row.first.size() <= 5) continue;
    turn.out.chores.push_back(
        {.kind = Chore::Kind::kClaim, .cursor = tail_in(row.first), .all = true});
    ++old_claims_;
  }
  if (!rows->complete)
    turn.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
  all_old_claims_known_ = rows->complete;
  if (all_old_claims_known_ && old_claims_ == 0) receipts_.hold_news(false);
}

// Enough others have nothing to do any more, or it has waited long enough: the scan of owed
// destinations goes on.
void Engine::Impl::go_on_with_owed(Turn& turn, bool regardless) {
  const std::size_t pinned = residents_.size() - lru_size_;
  const bool full = pinned >= std::max<std::uint32_t>(1, limits_.residents_max);
  if (!owed_waits_at_ || (full && !regardless)) return;
  turn.out.chores.push_back(
      {.kind = Chore::Kind::kRestore, .cursor = *owed_waits_at_, .all = regardless});
  owed_waits_at_.reset();
  timers_.cancel(std::exchange(owed_timer_, 0));
}

}  // namespace postrider
