#include "postrider/core/window/census.h"

#include <algorithm>

namespace postrider::core {

std::uint64_t& Census::in_state(const Entry& entry) {
  return in_states_[residents_.profile_number(entry.destination)][entry.state.state];
}

void Census::add(const Entry& entry) {
  ++in_state(entry);
  if (!entry.hot()) ++recorded_[residents_.profile_number(entry.destination)][entry.recorded];
}

void Census::remove(const Entry& entry) {
  --in_state(entry);
  if (!entry.hot()) --recorded_[residents_.profile_number(entry.destination)][entry.recorded];
}

void Census::move_to_cold(const Entry& entry) {
  ++recorded_[residents_.profile_number(entry.destination)][entry.recorded];
  count_cold(entry.destination, entry.recorded, true);
}

void Census::adopt(const Entry& entry, StateIndex was) {
  if (entry.hot()) return;
  auto& recorded = recorded_[residents_.profile_number(entry.destination)];
  --recorded[was];
  ++recorded[entry.recorded];
}

// What a message without a state record is in.
StateIndex Census::initial_state(const Entry& entry) const {
  return residents_[entry.destination].bound->profile->methods[entry.message.method].initial;
}

// One more or one less of a destination lies in the cold space in this state.
void Census::count_cold(Slot slot, StateIndex state, bool comes) {
  Resident& resident = residents_[slot];
  auto& states = resident.cold_states;
  auto one = std::find_if(states.begin(), states.end(),
                          [&](const auto& known) { return known.first == state; });
  if (one == states.end()) one = states.insert(states.end(), {state, 0});
  // A census that could not be read, or one from before there was any, knows too little.
  if (!comes && one->second == 0) return;
  const std::uint64_t by = comes ? 1 : ~std::uint64_t{0};
  one->second += by;
  resident.cold_messages += by;
  if (one->second == 0) states.erase(one);
  if (cursor_.empty() || keys::census(resident.id) < cursor_)
    cold_[residents_.profile_number(slot)][state] += by;
  if (!std::exchange(resident.recounted, true)) recounted_.push_back(resident.id);
}

// The bytes of a mailbox, which its quota bounds. Those of a record that went to quarantine are
// counted until the mailbox is empty: they are still on disk.
void Census::count_kept(Slot slot, const Message& message, bool comes) {
  Resident& resident = residents_[slot];
  if (!resident.bound->policy.pulled) return;
  const std::size_t body = message.shared.id != 0 ? message.shared.bytes : message.body.size();
  const std::uint64_t bytes = message.attributes.size() + body;
  resident.kept_bytes = comes ? resident.kept_bytes + bytes
                              : resident.kept_bytes - std::min(resident.kept_bytes, bytes);
  if (resident.cold_messages == 0) resident.kept_bytes = 0;
}

// The state record of a message in memory says something else from now on.
void Census::record_state(Entry& entry, StateIndex state) {
  const StateIndex was = std::exchange(entry.recorded, state);
  if (entry.hot() || was == state) return;
  auto& recorded = recorded_[residents_.profile_number(entry.destination)];
  --recorded[was];
  ++recorded[state];
  count_cold(entry.destination, was, false);
  count_cold(entry.destination, state, true);
}

void Census::read_census(Step& step, Resident& resident, const std::optional<Blob>& record) {
  const CensusRecord* newest = pages_.find(resident.id);
  if (newest == nullptr && !record) return;
  auto census = newest != nullptr ? *newest : decode_census(record->view());
  if (!census) {
    step.damaged.emplace_back(keys::census(resident.id), *record);
    receipts_.lose_count();
    return;
  }
  for (const auto& [state, count] : census->states) resident.cold_messages += count;
  resident.cold_states = std::move(census->states);
  resident.kept_bytes = census->kept_bytes;
}

void Census::write_census(WriteBatch& out) {
  if (recounted_.empty()) return;
  // A destination that went and came again within the commit was counted twice.
  std::sort(recounted_.begin(), recounted_.end());
  recounted_.erase(std::unique(recounted_.begin(), recounted_.end()), recounted_.end());
  CensusPage page{sequences_.next(), {}};
  page.counts.reserve(recounted_.size());
  for (const DestinationId id : recounted_) {
    CensusRecord census;
    if (const Slot found = residents_.find(id.value()); found != kNoSlot) {
      Resident& resident = residents_[found];
      resident.recounted = false;
      census = {std::string(resident.bound->profile->name), resident.cold_states,
                resident.kept_bytes};
    }
    page.counts.push_back({id, std::move(census)});
  }
  recounted_.clear();
  pages_.write(std::move(page), out);
}

// A destination is taken away: it has none, but a count that was wrong must not outlive it.
void Census::forget_census(Slot slot) {
  const auto states = residents_[slot].cold_states;
  for (const auto& [state, count] : states) {
    for (std::uint64_t left = count; left > 0; --left) count_cold(slot, state, false);
  }
}

void Census::add_to_census(const CensusRecord& census) {
  std::size_t number = 0;
  while (number < options_.profiles.size() && options_.profiles[number]->name != census.profile)
    ++number;
  const bool served = number < options_.profiles.size();
  unserved_ = unserved_ || (!served && !census.states.empty());
  if (!served) return;
  for (const auto& [state, count] : census.states) cold_[number][state] += count;
}

// Destinations whose census stands between these keys: their records, or null.
std::map<std::uint64_t, const Row*> Census::census_between(const Rows& rows,
                                                           const std::string& first) const {
  std::map<std::uint64_t, const Row*> out;
  for (const Row& row : rows.rows) {
    if (const auto id = keys::parse_destination(row.first)) out.emplace(id->value(), &row);
  }
  // A key to go on from is that of a destination, perhaps with a byte behind it.
  const std::uint64_t from =
      keys::parse_destination(first.substr(0, 9)).value_or(DestinationId()).value();
  const auto add = [&](DestinationId id) {
    const std::string key = keys::census(id);
    if (key >= first && (rows.complete || key < rows.next)) out.try_emplace(id.value());
    return rows.complete || key < rows.next;
  };
  for (auto id = pages_.next(from); id && add(*id);) id = pages_.next(id->value() + 1);
  for (const DestinationId id : recounted_) add(id);
  return out;
}

// After a restart: adds up what is known of the destinations, in pages. What changes meanwhile
// behind the cursor is added when it comes there.
void Census::restore_census(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kCensus)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const auto& [number, row] : census_between(*rows, chore.cursor)) {
    const DestinationId id(number);
    if (const Slot found = residents_.find(number); found != kNoSlot) {
      const Resident& resident = residents_[found];
      add_to_census({std::string(resident.bound->profile->name), resident.cold_states, 0});
    } else if (std::find(recounted_.begin(), recounted_.end(), id) != recounted_.end()) {
      continue;  // taken away by this commit
    } else if (const CensusRecord* newest = pages_.find(id)) {
      add_to_census(*newest);
    } else if (const auto census = decode_census(row->second.view())) {
      add_to_census(*census);
    } else {
      step.damaged.push_back(*row);
      receipts_.lose_count();
    }
  }
  cursor_ = rows->complete ? std::string() : rows->next;
  if (!rows->complete)
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
}

// A record of the cold space goes to quarantine. Which state it was in is lost: a
// message is taken for one without a state record, whatever that had said.
void Census::lose_cold(const Step& step, const keys::PartKey& key, bool in_memory) {
  const Slot found = residents_.find(key.id.destination().value());
  if (found == kNoSlot) return receipts_.lose_count();
  const Resident& resident = residents_[found];
  const bool is_message = key.part == keys::Part::kMessage;
  const auto* state = step.found.get(keys::cold(key.id, keys::Part::kState));
  const auto stored = is_message && state != nullptr && state->has_value()
                          ? decode_state((*state)->view())
                          : Result<StoredState>(fail(ErrorCode::kNotFound, {}));
  if (!is_message || in_memory) return receipts_.lose_count();
  count_cold(found, stored ? stored->state.state : resident.bound->profile->methods[0].initial,
             false);
}

void Census::tell_states(Stats& stats, const Sleepers& sleepers, bool restoring) const {
  stats.all_counted = cursor_.empty() && receipts_.counted() && !restoring && !unserved_;
  for (std::size_t number = 0; number < options_.profiles.size(); ++number) {
    const ProfileSpec& profile = *options_.profiles[number];
    for (std::size_t i = 0; i < profile.states.size(); ++i) {
      const std::uint64_t in_memory = in_states_[number][i];
      const std::uint64_t cold =
          cold_[number][i] - std::min(cold_[number][i], recorded_[number][i]);
      const std::uint64_t all = in_memory + sleepers.in_state(number, i) + cold;
      if (all > 0 || !is_end(profile.states[i].phase))
        stats.in_states.push_back({profile.name, profile.states[i].name, all, in_memory});
    }
  }
}

}  // namespace postrider::core
