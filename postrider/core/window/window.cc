#include "postrider/core/window/window.h"

#include <map>

#include "postrider/core/window/check.h"

namespace postrider::core {

const Intent* Window::intent_of(const Entry& entry) {
  return entry.details && entry.details->intent.hash != 0 ? &entry.details->intent : nullptr;
}

void Window::set_reason(Entry& entry, std::string_view reason) {
  if (reason.empty()) {
    entry.reason.reset();
  } else {
    entry.reason = std::make_unique<std::string>(reason.substr(0, limits_.reason_bytes_max));
  }
}

Slot Window::add_entry(Step& step, Slot slot, Message&& message, bool hot) {
  Resident& resident = residents_[slot];
  const Slot added = entries_.add();
  Entry& entry = entries_[added];
  entry.destination = slot;
  entry.space = hot ? Space::kHot : Space::kCold;
  entry.state.method = message.method;
  entry.state.state = resident.bound->profile->methods[message.method].initial;
  entry.state.since = step.now;
  entry.recorded = entry.state.state;
  entry.message = std::move(message);
  const MessageId id = entry.message.id;
  bytes_ += entry.message.bytes();
  if (entry.message.shared.id != 0) bodies_.use(entry.message.shared.id);
  Lane& lane = resident.lane_or_new(id.lane());
  residents_.leave_lru(slot);
  ++lane.in_memory;
  ++resident.in_memory;
  if (!hot) lane.cold.push_back(id);
  entry.next_here = resident.newest;
  if (resident.newest != kNoSlot) entries_[resident.newest].prev_here = added;
  resident.newest = added;
  by_id_.emplace(id, added);
  if (entry.message.key_size != 0) keys_.add(entry.message, added);
  census_.add(entry);
  return added;
}

void Window::unlink(Resident& resident, const Entry& entry) {
  const Slot next = entry.next_here;
  const Slot prev = entry.prev_here;
  (prev == kNoSlot ? resident.newest : entries_[prev].next_here) = next;
  if (next != kNoSlot) entries_[next].prev_here = prev;
}

// Out of memory, whatever became of it on disk.
void Window::forget_entry(Step& step, Slot slot) {
  unready(slot);
  Entry& entry = entries_[slot];
  POSTRIDER_CHECK(!entry.holds_gates);
  POSTRIDER_CHECK(entry.attempt == kNoSlot);
  timers_.cancel(entry.timer);
  const Slot destination = entry.destination;
  Resident& resident = residents_[destination];
  Lane& lane = resident.the_lane(entry.message.id.lane());
  if (!entry.hot()) std::erase(lane.cold, entry.message.id);
  --lane.in_memory;
  --resident.in_memory;
  bytes_ -= entry.message.bytes();
  if (entry.message.shared.id != 0) bodies_.leave(entry.message.shared.id);
  by_id_.erase(entry.message.id);
  if (entry.message.key_size != 0) keys_.leave(entry.message);
  census_.remove(entry);
  unlink(resident, entry);
  entries_.remove(slot);
  destinations_.settle_owed(step, destination, lane);
  step.look_at(destination);  // a FIFO lane may go on, the window has room, the cache may forget it
}

bool Window::in_order(const Entry& entry) const {
  const Policy& policy = residents_[entry.destination].bound->policy;
  return entry.message.ordered || policy.lane_kind(entry.message.id.lane()) == LaneKind::kFifo;
}

// In a lane that has become FIFO since then no message waits for another of its key: one that was
// not to be sent earlier may stand before a younger one that is under way, and they would wait for
// each other for ever.
bool Window::goes_by_lane(const Entry& entry) const {
  return entry.message.ordered && residents_[entry.destination].bound->policy.lane_kind(
                                      entry.message.id.lane()) == LaneKind::kFifo;
}

// Whether something on disk must be looked at before this one may start.
bool Window::owes_before(const Lane& lane, const Entry& entry) const {
  const Policy& policy = residents_[entry.destination].bound->policy;
  // Gates that are held to the end are had in the order of acceptance, and after a restart the
  // older may be on disk while the younger is in the window.
  const bool in_order =
      policy.lane_kind(lane.number) == LaneKind::kFifo || entry.message.lasting != 0;
  return lane.owes_before(entry.message.id, in_order);
}

// Whether gates are kept in its state over a restart. An attempt without a record is forgotten.
bool Window::keeps_gates(const Entry& entry) const {
  const StateRow& state = state_of(entry);
  return (state.phase == Phase::kAwaiting && state.keeps_gates) ||
         (state.phase == Phase::kInFlight && method_of(entry).durable_intent);
}

std::string Window::check() const {
  std::map<std::pair<Slot, std::uint8_t>, LaneCounts> lanes;
  std::uint64_t bytes = 0;
  for (Slot slot = 0; slot < entries_.capacity(); ++slot) {
    const Entry& entry = entries_[slot];
    if (entry.destination == kNoSlot) continue;  // free
    const std::string_view wrong = core::check(entry, state_of(entry));
    if (!wrong.empty())
      return std::string(wrong) + ", in state " + std::string(state_of(entry).name);
    if (find(entry.message.id) != slot) return "an entry is not found by its id";
    lanes[{entry.destination, entry.message.id.lane()}].add(entry);
    bytes += entry.message.bytes();
  }
  if (bytes != bytes_) return "the window miscounts its bytes";
  for (const auto& [place, counted] : lanes) {
    const Lane* lane = residents_[place.first].lane(place.second);
    if (lane == nullptr) return "an entry has no lane";
    const std::string_view wrong = core::check(*lane, counted);
    if (!wrong.empty()) return std::string(wrong);
  }
  return {};
}

std::size_t Window::memory_bytes() const {
  constexpr std::size_t kNode = 3 * sizeof(void*);  // what a hash table adds to each element, about
  return entries_.capacity() * sizeof(Entry) +
         by_id_.size() * (sizeof(MessageId) + sizeof(Slot) + kNode);
}

}  // namespace postrider::core
