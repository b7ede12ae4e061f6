// Refill: from disk into the window, and back when a route closes. Catch-up, recovery and
// backpressure are this file.
#include <algorithm>

#include "postrider/base/planted.h"
#include "postrider/core/engine_impl.h"

namespace postrider {
namespace {

// Whoever had a success so lately is at work: what it reads next is read by nobody else.
constexpr Duration kReadsOn(10'000);

}  // namespace

Slot Engine::Impl::add_entry(Step& step, Slot slot, Message message, bool hot) {
  Resident& resident = residents_[slot];
  Entry entry;
  entry.destination = slot;
  entry.hot = hot;
  entry.state.method = message.method;
  entry.state.state = resident.bound->profile->methods[message.method].initial;
  entry.state.since = step.now;
  entry.recorded = entry.state.state;
  entry.message = std::move(message);
  const MessageId id = entry.message.id;
  window_bytes_ += entry.message.bytes();
  if (entry.message.shared.id != 0) bodies_.use(entry.message.shared.id);
  Lane& lane = resident.lane_or_new(id.lane());
  leave_lru(slot);
  ++lane.in_memory;
  ++resident.in_memory;
  if (!hot) lane.cold.push_back(id);
  entry.next_here = resident.newest;
  const Slot added = entries_.add(std::move(entry));
  if (resident.newest != kNoSlot) entries_[resident.newest].prev_here = added;
  resident.newest = added;
  by_id_.emplace(id, added);
  ++in_state(entries_[added]);
  if (!hot) ++recorded_[profile_number(slot)][entries_[added].recorded];
  return added;
}

void Engine::Impl::unlink(Resident& resident, const Entry& entry) {
  const Slot next = entry.next_here;
  const Slot prev = entry.prev_here;
  (prev == kNoSlot ? resident.newest : entries_[prev].next_here) = next;
  if (next != kNoSlot) entries_[next].prev_here = prev;
}

// Out of memory, whatever became of it on disk.
void Engine::Impl::forget_entry(Step& step, Slot slot) {
  unready(slot);
  Entry& entry = entries_[slot];
  timers_.cancel(entry.timer);
  give_back_gates(step, slot);
  const Slot destination = entry.destination;
  Resident& resident = residents_[destination];
  Lane& lane = resident.the_lane(entry.message.id.lane());
  if (!entry.hot) std::erase(lane.cold, entry.message.id);
  --lane.in_memory;
  --resident.in_memory;
  window_bytes_ -= entry.message.bytes();
  if (entry.message.shared.id != 0) bodies_.leave(entry.message.shared.id);
  by_id_.erase(entry.message.id);
  --in_state(entry);
  if (!entry.hot) --recorded_[profile_number(destination)][entry.recorded];
  unlink(resident, entry);
  entries_.remove(slot);
  settle_owed(step, destination, lane);
  maybe_refill(step, destination);
  ring(destination);  // a FIFO lane may go on, and the ring looks after the cache
  // With all places taken the ring stands still, and one that goes with its last message need not
  // wait for a place.
  if (resident.bound->config.draining) touch(destination);
}

Engine::Impl::Stored Engine::Impl::read_message(Step& step, MessageId id) {
  Stored out;
  const std::string hot = keys::hot(id.sequence(), keys::Part::kMessage);
  const std::string cold = keys::cold(id, keys::Part::kMessage);
  const auto* hot_value = step.get(hot);
  const auto* cold_value = step.get(cold);
  const auto* hot_state = step.get(keys::hot(id.sequence(), keys::Part::kState));
  const auto* cold_state = step.get(keys::cold(id, keys::Part::kState));
  if (hot_value == nullptr || cold_value == nullptr || hot_state == nullptr ||
      cold_state == nullptr)
    return out;
  const Destined destined = find_destination(step, id.destination());
  if (!destined.known) return out;
  out.known = true;
  out.resident = destined.slot;
  // A hot key is the sequence alone: an id that somebody made up may name another message's.
  const auto peek = hot_value->has_value() ? decode_message(**hot_value)
                                           : Result<Message>(fail(ErrorCode::kNotFound, {}));
  out.hot = hot_value->has_value() && (!peek || peek->id == id);
  if (destined.slot == kNoSlot || (!out.hot && !cold_value->has_value())) return out;
  const Row row{out.hot ? hot : cold, out.hot ? **hot_value : **cold_value};
  const std::optional<Blob>& state = out.hot ? *hot_state : *cold_state;
  const Row state_row{
      out.hot ? keys::hot(id.sequence(), keys::Part::kState) : keys::cold(id, keys::Part::kState),
      state ? *state : Blob()};
  out.message = decode_row(step, destined.slot, row, state ? &state_row : nullptr, out.state);
  if (!out.message || out.message->shared.id == 0) return out;
  if (!load_body(step, out.message->shared.id, true)) return {};
  if (!give_body(*out.message)) {
    step.damaged.push_back(row);
    out.message.reset();
  }
  return out;
}

// A message and its state from disk; nothing when it cannot be read, and then it goes to
// quarantine.
std::optional<Message> Engine::Impl::decode_row(Step& step, Slot slot, const Row& row,
                                                const Row* state,
                                                std::optional<StoredState>& stored) {
  const ProfileSpec& profile = *residents_[slot].bound->profile;
  auto message = decode_message(row.second, dictionaries_);
  if (!message || message->is_closed() || message->method >= profile.methods.size()) {
    step.damaged.push_back(row);
    return std::nullopt;
  }
  if (state == nullptr) return std::move(*message);
  auto decoded = decode_state(state->second.view());
  if (decoded && decoded->state.method < profile.methods.size() &&
      decoded->state.state < profile.states.size()) {
    stored = std::move(*decoded);
    return std::move(*message);
  }
  step.damaged.push_back(*state);
  if (!profile.methods[message->method].durable_intent) {
    // Its attempts are forgotten, but not that it was not to be sent earlier.
    State anew;
    anew.method = message->method;
    anew.state = profile.methods[message->method].initial;
    anew.since = message->accepted;
    anew.due = message->not_before;
    if (message->not_before > step.now) stored = StoredState{anew, {}};
    return std::move(*message);
  }
  // It may have been sent, and must not be sent twice: nobody can tell any more.
  step.damaged.push_back(row);
  return std::nullopt;
}

void Engine::Impl::adopt_state(Entry& entry, const std::optional<StoredState>& stored) {
  if (!stored) return;
  entry.state = stored->state;
  entry.stored = true;
  const bool in_memory = by_id_.contains(entry.message.id);  // not only looked at
  if (!entry.hot && in_memory) {
    auto& recorded = recorded_[profile_number(entry.destination)];
    --recorded[entry.recorded];
    ++recorded[entry.state.state];
  }
  entry.recorded = entry.state.state;
  set_reason(entry, stored->reason);
  if (stored->intent != Intent() || !stored->notes.empty() || !stored->past.empty()) {
    entry.more().intent = stored->intent;
    entry.more().notes = stored->notes;
    // What cannot be read of the past is left out; the message itself is whole.
    entry.more().past = decode_attempt_history(stored->past, {stored->state.since, stored->reason})
                            .value_or(AttemptHistory());
    AttemptList& attempts = entry.details->past.attempts;
    if (planted(Bug::kAttemptForgotten) && !attempts.empty()) attempts.notes.pop_back();
  }
  const Phase phase = phase_of(entry);
  // Its attempt is made again.
  if (phase == Phase::kInFlight && !method_of(entry).durable_intent) lose_attempt(entry);
  if (!entry.hot && (phase == Phase::kBackoff || phase == Phase::kQueued))
    entry.due_entry = entry.state.due;
  entry.marked = !entry.hot && (keeps_gates(entry) || entry.lasts());
}

Engine::Impl::Located Engine::Impl::locate(Step& step, MessageId id) {
  if (const auto found = by_id_.find(id); found != by_id_.end()) return {true, found->second};
  Stored stored = read_message(step, id);
  if (!stored.known) return {};
  if (!stored.message) return {true, kNoSlot};
  const Slot slot = add_entry(step, stored.resident, std::move(*stored.message), stored.hot);
  Entry& entry = entries_[slot];
  count_adopted(entry, stored.state);
  entry.visitor = true;
  visitors_.push_back(slot);
  return {true, slot};
}

void Engine::Impl::dismiss_visitor(Step& step, Slot slot) {
  if (entries_[slot].destination == kNoSlot || !entries_[slot].visitor) return;
  forget_entry(step, slot);
}

void Engine::Impl::maybe_refill(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  const bool open =
      resident.route.health == Health::kNormal || resident.route.health == Health::kProbe;
  if (restoring_hot_ || !open || resident.route.closed_until > step.now) return;
  for (Lane& lane : resident.lanes) {
    if (!lane.cold_ahead || lane.asleep || lane.refilling) continue;
    // An empty lane always goes on, and so does one whose window waits for what goes before it.
    const bool passes =
        lane.stuck() || (lane.first != kNoSlot && owes_before(lane, entries_[lane.first]));
    const bool urgent = lane.in_memory == 0 || passes;
    const std::uint32_t used = lane.in_window(limits_.lane_waiters_max);
    const std::uint32_t window_max = resident.bound->policy.window_max;
    if (!urgent && used * 2 > window_max) continue;
    if (!urgent && window_used() >= limits_.window_bytes_max) continue;
    leave_lru(slot);  // it has something to do
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

Scan Engine::Impl::refill_scan(const Resident& resident, const Lane& lane) const {
  const std::uint32_t limit =
      std::max<std::uint32_t>(3, std::min(limits_.refill_rows_max, lane.refill_rows));
  // Whoever wakes may share a block with neighbours that wake with it; who reads on reads alone,
  // and each message once.
  return {keys::cold(lane.refill_from, keys::Part::kMessage),
          keys::after_prefix(keys::cold_lane(resident.id, lane.number)), limit, lane.deep};
}

void Engine::Impl::refill(Step& step, const Chore& chore) {
  const auto found = by_destination_.find(chore.destination.value());
  POSTRIDER_CHECK(found != by_destination_.end());  // pinned by its chore
  const Slot slot = found->second;
  const Rows* rows =
      step.scan(refill_scan(residents_[slot], residents_[slot].the_lane(chore.lane)));
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) need_body(step, row);
  if (step.lacks()) return;
  Resident& resident = residents_[slot];
  --resident.chores;
  resident.the_lane(chore.lane).refilling = false;
  // Something better came while we read, or the route closed: look again later.
  const Lane& before = resident.the_lane(chore.lane);
  if (before.cursor == before.refill_from && awake(resident, step.now))
    take_rows(step, slot, chore.lane, *rows);
  Lane& lane = residents_[slot].the_lane(chore.lane);
  settle_owed(step, slot, lane);
  maybe_refill(step, slot);
  ring(slot);
  touch(slot);
}

void Engine::Impl::take_rows(Step& step, Slot slot, std::uint8_t number, const Rows& rows) {
  const std::uint32_t window_max =
      std::max<std::uint32_t>(1, residents_[slot].bound->policy.window_max);
  std::size_t next = 0;
  bool cut = false;
  while (next < rows.rows.size() && !cut) {
    Lane& lane = residents_[slot].the_lane(number);
    const Row& row = rows.rows[next];
    const auto key = keys::parse_cold(row.first);
    const bool has_state =
        next + 1 < rows.rows.size() && is_state_of(rows.rows[next + 1].first, row.first);
    const bool in_front = lane.first != kNoSlot && owes_before(lane, entries_[lane.first]);
    const std::uint32_t used = lane.in_window(limits_.lane_waiters_max);
    const bool no_room = used >= window_max && !in_front && !lane.stuck();
    cut = lane.asleep || no_room || (!has_state && !is_whole(rows, row.first));
    if (cut && !no_room && planted(Bug::kRefillSkipsBoundary)) {
      cut = false;
      break;
    }
    if (cut) break;
    next += has_state ? 2 : 1;
    if (!key) continue;
    lane.cursor = MessageId{key->id.high, key->id.low + 1};
    const std::uint32_t spills = lane.spills;
    if (key->part == keys::Part::kMessage && !by_id_.contains(key->id)) {
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
    write_owed(step, slot);
  }
}

bool Engine::Impl::is_whole(const Rows& rows, std::string_view message_key) {
  return rows.complete ||
         std::string(message_key.substr(0, message_key.size() - 1)) + '\1' < rows.next;
}

bool Engine::Impl::is_state_of(std::string_view state_key, std::string_view message_key) {
  return state_key.size() == message_key.size() && !state_key.empty() && state_key.back() == 1 &&
         message_key.back() == 0 &&
         state_key.substr(0, state_key.size() - 1) == message_key.substr(0, message_key.size() - 1);
}

void Engine::Impl::take_row(Step& step, Slot slot, std::uint8_t number, const Row& row,
                            const Row* state) {
  std::optional<StoredState> stored;
  auto message = decode_row(step, slot, row, state, stored);
  if (!message) return;
  if (!give_body(*message)) {
    step.damaged.push_back(row);
    return;
  }
  const MessageId id = message->id;
  if (!settle_in(step, slot, std::move(*message), stored, false)) {
    Lane& lane = residents_[slot].the_lane(number);
    if (lane.asleep) lane.cursor = id;
  }
}

bool Engine::Impl::settle_in(Step& step, Slot slot, Message message,
                             const std::optional<StoredState>& stored, bool hot) {
  Resident& resident = residents_[slot];
  const MessageId id = message.id;
  if (stored) {
    const Phase phase = resident.bound->profile->states[stored->state.state].phase;
    const Timestamp due = due_of(message, stored->state);
    if (phase == Phase::kParked) return false;
    const bool fifo = resident.bound->policy.lane_kind(id.lane()) == LaneKind::kFifo;
    const bool sleeps = (phase == Phase::kBackoff || phase == Phase::kQueued) && due > step.now;
    if (sleeps && hot && !fifo) {
      if (!hot_sleepers_.contains(id))
        timers_.arm(due, Timer{.kind = TimerKind::kWakeHot, .id = id});
      put_to_sleep(slot, id, stored->state.state, message.accepted);
      return false;
    }
    if (sleeps && !hot && !fifo) return false;  // its due entry wakes it
    if (sleeps && !hot && (phase == Phase::kQueued || due - step.now > limits_.hot_sleep_max)) {
      Lane& lane = resident.lane_or_new(id.lane());
      lane.asleep = true;
      lane.cold_ahead = true;
      if (due == stored->state.due) {
        put_due(step, due, keys::DueKind::kAttempt, id);
      } else {
        timers_.arm(due, Timer{.kind = TimerKind::kDueAttempt, .id = id});  // its entry is earlier
      }
      return false;
    }
  }
  const Slot added = add_entry(step, slot, std::move(message), hot);
  count_adopted(entries_[added], stored);
  if (!hot) ++resident.the_lane(id.lane()).taken;
  resume_state(step, added);
  return true;
}

// Goes on where the state record says the message was.
void Engine::Impl::resume_state(Step& step, Slot slot) {
  Entry& entry = entries_[slot];
  const StateRow& state = state_of(entry);
  switch (state.phase) {
    case Phase::kQueued:
      make_ready(slot);
      raise_remembered(step, slot);
      return;
    case Phase::kBackoff:
      if (entry.state.due <= step.now) return apply(step, slot, On::kDue, nullptr);
      entry.timer =
          timers_.arm(entry.state.due, Timer{.kind = TimerKind::kState, .id = entry.message.id});
      return;
    case Phase::kAwaiting:
      if (state.keeps_gates) occupy_gates(entry);
      entry.timer =
          timers_.arm(entry.state.due, Timer{.kind = TimerKind::kState, .id = entry.message.id});
      return;
    case Phase::kInFlight:
      if (method_of(entry).durable_intent && !planted(Bug::kIntentForgotten)) {
        occupy_gates(entry);
        return apply(step, slot, On::kTimedOut, nullptr);
      }
      set_state(entry, method_of(entry).initial);
      entry.state.due = Timestamp();
      make_ready(slot);
      raise_remembered(step, slot);
      return;
    case Phase::kParked:
    case Phase::kDelivered:
    case Phase::kDead:
    case Phase::kExpired:
    case Phase::kCancelled:
    case Phase::kIndeterminate: break;
  }
  POSTRIDER_CHECK(false);
}

// Whether gates are kept in its state over a restart. An attempt without a record is forgotten.
bool Engine::Impl::keeps_gates(const Entry& entry) const {
  const StateRow& state = state_of(entry);
  return (state.phase == Phase::kAwaiting && state.keeps_gates) ||
         (state.phase == Phase::kInFlight && method_of(entry).durable_intent);
}

void Engine::Impl::occupy_gates(Entry& entry) {
  entry.holds_gates = true;
  residents_[entry.destination].gate.occupy();
  occupy_group(entry);
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    const GateName name = entry.message.gates[i];
    if (name == 0 || (entry.message.lasting >> i & 1) != 0) continue;
    SharedGate& gate = shared_gate(entry.destination, name);
    gate.state.occupy();
    gate.holder = entry.message.id;
  }
}

// A restart finds out who holds gates until its end: whoever has made an attempt.
void Engine::Impl::hold_lasting(Slot destination, const Message& message, const State& state) {
  if (message.lasting == 0 || !state.first_attempt.is_set()) return;
  if (planted(Bug::kLastingGateForgotten)) return;
  const auto [held, is_new] = lasting_.try_emplace(message.id);
  if (!is_new) return;
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    if ((message.lasting >> i & 1) == 0) continue;
    held->second.gates[i] = message.gates[i];
    SharedGate& gate = shared_gate(destination, message.gates[i]);
    gate.state.occupy();
    if (!planted(Bug::kHolderForgotten)) gate.holder = message.id;
  }
}

// With `chore.all` its state went into quarantine, and nothing else knows of it: a parked message
// without its state would wait for ever, and so would those behind it in its order.
void Engine::Impl::wake_message(Step& step, const Chore& chore) {
  const std::optional<Blob>* parked = chore.all ? step.get(keys::parked(chore.id)) : nullptr;
  if (chore.all && parked == nullptr) return;
  if (by_id_.contains(chore.id)) {
    ++tallies_.stray_timers;
    return;
  }
  Stored stored = read_message(step, chore.id);
  if (!stored.known) return;
  if (parked != nullptr && parked->has_value() && stored.message && !stored.state)
    unpark(step, chore.id);
  wake_sleeper(chore.id);
  Timestamp due;
  if (stored.message)
    due = stored.state ? due_of(*stored.message, stored.state->state) : stored.message->not_before;
  if (!stored.message || due > step.now) {
    ++tallies_.stray_timers;
    // Its entry is earlier than it means, and has fired; after a restart it does so again.
    if (stored.message && !stored.hot && (!stored.state || due != stored.state->state.due))
      timers_.arm(due, Timer{.kind = TimerKind::kDueAttempt, .id = chore.id});
    if (stored.message && stored.hot)
      settle_in(step, stored.resident, std::move(*stored.message), stored.state, true);
    if (!stored.message) rouse_lane(step, chore.id);
    return;
  }
  Resident& resident = residents_[stored.resident];
  Lane& lane = resident.lane_or_new(chore.id.lane());
  const bool fifo = resident.bound->policy.lane_kind(lane.number) == LaneKind::kFifo;
  if (stored.state &&
      resident.bound->profile->states[stored.state->state.state].phase == Phase::kParked)
    return;
  if (!stored.hot &&
      (fifo || lane.in_window(limits_.lane_waiters_max) >= resident.bound->policy.window_max ||
       !awake(resident, step.now))) {
    // No room, or the order is not ours to choose: the refill comes to it in its place.
    lane.asleep = false;
    lane.gains(chore.id);
    cover(step, stored.resident, lane, chore.id);
    maybe_refill(step, stored.resident);
    return touch(stored.resident);
  }
  settle_in(step, stored.resident, std::move(*stored.message), stored.state, stored.hot);
  touch(stored.resident);
}

void Engine::Impl::rouse_lane(Step& step, MessageId id) {
  const auto resident = by_destination_.find(id.destination().value());
  if (resident == by_destination_.end()) return;
  Lane* lane = residents_[resident->second].lane(id.lane());
  if (lane == nullptr || !lane->asleep) return;
  lane->asleep = false;
  maybe_refill(step, resident->second);
}

void Engine::Impl::expire_message(Step& step, const Chore& chore) {
  const Located located = locate(step, chore.id);
  if (!located.known) return;
  if (located.slot == kNoSlot || !is_expired(entries_[located.slot].message, step.now)) {
    ++tallies_.stray_timers;
    if (located.slot == kNoSlot) return;
    // Its entry is earlier than it means, and has fired; after a restart it does so again.
    Entry& entry = entries_[located.slot];
    if (const Duration more = later(entry.message); more > Duration(0))
      entry.expiry_timer = timers_.arm(entry.message.expires + more,
                                       Timer{.kind = TimerKind::kDueExpiry, .id = chore.id});
    return;
  }
  if (planted(Bug::kExpiredMessageSent)) return;
  entries_[located.slot].expiry_timer = 0;
  apply(step, located.slot, On::kExpired, nullptr);
}

void Engine::Impl::wake_route(Step& step, const Chore& chore) {
  const Destined destined = find_destination(step, chore.destination);
  if (!destined.known) return;
  if (destined.slot == kNoSlot) {
    ++tallies_.stray_timers;
    return;
  }
  look_at_parked(step, destined.slot);
  open_route(step, destined.slot);
}

void Engine::Impl::open_route(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (resident.route.closed_until > step.now) return;
  move_look(step, resident, resident.opening_entry, {});
  if (resident.route.health == Health::kWait)
    tell_health(step, slot, HealthOn::kOpen, resident.route.reason);
  ring(slot);
  maybe_refill(step, slot);
  touch(slot);
}

// Due entries come into the wheel page by page; those beyond the horizon stay on disk.
void Engine::Impl::load_due(Step& step) {
  if (!due_scan_) {
    due_scan_until_ = step.now + limits_.due_horizon;
    const std::string last = keys::due(due_scan_until_, keys::DueKind::kAttempt, MessageId());
    due_scan_ =
        Scan{std::min(due_cursor_, last), last, std::max<std::uint32_t>(1, limits_.due_rows_max)};
  }
  const Rows* rows = step.scan(*due_scan_);
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_due(row.first);
    if (!key) {
      step.damaged.push_back(row);
      continue;
    }
    const TimerKind kind = key->kind == keys::DueKind::kAttempt  ? TimerKind::kDueAttempt
                           : key->kind == keys::DueKind::kExpiry ? TimerKind::kDueExpiry
                                                                 : TimerKind::kDueOpening;
    const TimerHandle handle = timers_.arm(key->at, Timer{.kind = kind, .id = key->id});
    const auto entry = by_id_.find(key->id);
    if (kind == TimerKind::kDueExpiry && entry != by_id_.end())
      entries_[entry->second].expiry_timer = handle;
  }
  Timestamp again = step.now + limits_.due_horizon / 2;
  if (rows->complete) {
    due_cursor_ = due_scan_->last;
    due_loaded_until_ = std::max(due_loaded_until_, due_scan_until_);
  } else {
    // Entries of one instant may be cut apart: those that come later are armed when they are put,
    // those on disk when the next page is read.
    due_cursor_ = rows->next;
    const auto behind =
        keys::parse_due(std::string_view(rows->next).substr(0, rows->next.size() - 1));
    if (behind) due_loaded_until_ = std::max(due_loaded_until_, behind->at + Duration(1));
    again = due_loaded_until_;
  }
  due_scan_.reset();
  timers_.arm(again, Timer{.kind = TimerKind::kLoadDue});
}

// The waiting part of a window goes to disk: the route is closed for longer than it is worth the
// memory.
void Engine::Impl::spill(Step& step, Slot slot, Lane& lane) {
  ++lane.spills;
  while (lane.first != kNoSlot) {
    const Slot first = lane.first;
    const MessageId id = entries_[first].message.id;
    if (move_to_cold(step, first)) store_state(step, entries_[first]);
    lane.gains(id);
    cover(step, slot, lane, id);
    forget_entry(step, first);
  }
}

void Engine::Impl::spill_all(Step& step, Slot slot) {
  for (std::size_t i = 0; i < residents_[slot].lanes.size(); ++i)
    spill(step, slot, residents_[slot].lanes[i]);
}

}  // namespace postrider
