#include "postrider/core/places/attempts.h"

#include <algorithm>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

constexpr std::size_t kBytesPerCost = 64U << 10;  // so many bytes cost one start more …
constexpr std::uint32_t kCostMax = 16;            // … up to this

}  // namespace

bool is_proven(const Resident& resident) {
  return resident.ok_at.is_set() && !resident.route.failing_since.is_set();
}

Attempts::Attempts(const EngineLimits& limits, Tallies& tallies, std::uint64_t last_id)
    : limits_(limits), tallies_(tallies), last_id_(last_id) {}

Attempt& Attempts::open(Attempt draft, Slot slot, Entry& entry, Resident& resident) {
  POSTRIDER_CHECK(!is_open(entry));
  draft.id = AttemptId(++last_id_);
  draft.entry = slot;
  draft.unproven = !is_proven(resident);
  unproven_open_ += draft.unproven ? 1U : 0U;
  ++resident.open_attempts;
  const std::uint64_t id = draft.id.value();
  entry.attempt = attempts_.add(std::move(draft));
  by_id_.emplace(id, entry.attempt);
  ++tallies_.attempts;
  count_start(resident);
  const std::size_t large = (entry.message.bytes() + entry.message.shared.bytes) / kBytesPerCost;
  cost_ += 1 + static_cast<std::uint32_t>(std::min<std::size_t>(large, kCostMax - 1));
  return attempts_[entry.attempt];
}

bool Attempts::close(Entry& entry, Resident& resident) {
  POSTRIDER_CHECK(is_open(entry));
  const Attempt& attempt = attempts_[entry.attempt];
  unproven_open_ -= attempt.unproven ? 1U : 0U;
  --resident.open_attempts;
  by_id_.erase(attempt.id.value());
  attempts_.remove(std::exchange(entry.attempt, kNoSlot));
  return std::exchange(resident.held_back, false);
}

Slot Attempts::find(AttemptId id) const {
  const auto found = by_id_.find(id.value());
  return found == by_id_.end() ? kNoSlot : attempts_[found->second].entry;
}

// One place in eight is for destinations that are known to answer, however many hang.
std::uint32_t Attempts::unproven_free() const {
  const std::uint32_t all = limits_.open_attempts_max;
  const std::uint32_t most = planted(Bug::kPlacesNotKept) ? all : all - all / 8;
  return most > unproven_open_ ? most - unproven_open_ : 0;
}

std::uint32_t Attempts::take_cost() { return std::exchange(cost_, 0); }

// Few tenants are told of by name, because each is a line of the figures for ever.
void Attempts::count_start(const Resident& resident) {
  const std::uint64_t number = resident.bound->policy.tenant;
  if (number == 0) return;
  std::vector<Tallies::Tenant>& list = tallies_.tenants;
  for (Tallies::Tenant& tenant : list) {
    if (tenant.number != number) continue;
    ++tenant.starts;
    return;
  }
  const std::string* name = find_text(resident.bound->settings, "tenant");
  if (list.size() >= kTenantsTold || name == nullptr) {
    ++tallies_.other_tenants;
  } else {
    list.push_back({number, *name, 1});
  }
}

std::size_t Attempts::memory_bytes() const {
  constexpr std::size_t kNode = 3 * sizeof(void*);  // what a hash table adds to each element, about
  return by_id_.size() * (16 + kNode) + attempts_.capacity() * sizeof(Attempt);
}

}  // namespace postrider::core
