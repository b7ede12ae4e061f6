// Census: how many messages there are in each state, wherever they are. Those in memory are counted
// as they are. Those of the cold space are counted by their records, for each destination; what
// changed is written with the same commit (census_pages.h), so a restart finds exact numbers
// without reading them. Hot messages are all looked at by a restart.
#include <algorithm>

#include "postrider/core/engine_impl.h"

namespace postrider {

std::size_t Engine::Impl::profile_number(Slot resident) const {
  const ProfileSpec* profile = residents_[resident].bound->profile;
  std::size_t number = 0;
  while (options_.profiles[number] != profile) ++number;
  return number;
}

std::uint64_t& Engine::Impl::in_state(const Entry& entry) {
  return in_states_[profile_number(entry.destination)][entry.state.state];
}

// What a message without a state record is in.
StateIndex Engine::Impl::initial_state(const Entry& entry) const {
  return residents_[entry.destination].bound->profile->methods[entry.message.method].initial;
}

// One more or one less of a destination lies in the cold space in this state.
void Engine::Impl::count_cold(Slot slot, StateIndex state, bool comes) {
  Resident& resident = residents_[slot];
  auto& states = resident.cold_states;
  auto one = std::find_if(states.begin(), states.end(),
                          [&](const auto& known) { return known.first == state; });
  if (one == states.end()) one = states.insert(states.end(), {state, 0});
  // A census that nobody could read, or one from before there was any, knows too little.
  if (!comes && one->second == 0) return;
  const std::uint64_t by = comes ? 1 : ~std::uint64_t{0};
  one->second += by;
  resident.cold_messages += by;
  if (one->second == 0) states.erase(one);
  if (census_cursor_.empty() || keys::census(resident.id) < census_cursor_)
    cold_[profile_number(slot)][state] += by;
  if (!std::exchange(resident.recounted, true)) recounted_.push_back(resident.id);
}

// The state record of a message in memory says something else from now on.
void Engine::Impl::record_state(Entry& entry, StateIndex state) {
  const StateIndex was = std::exchange(entry.recorded, state);
  if (entry.hot || was == state) return;
  auto& recorded = recorded_[profile_number(entry.destination)];
  --recorded[was];
  ++recorded[state];
  count_cold(entry.destination, was, false);
  count_cold(entry.destination, state, true);
}

void Engine::Impl::read_census(Step& step, Resident& resident, const std::optional<Blob>& record) {
  const CensusRecord* newest = census_pages_.find(resident.id);
  if (newest == nullptr && !record) return;
  auto census = newest != nullptr ? *newest : decode_census(record->view());
  if (!census) {
    step.damaged.emplace_back(keys::census(resident.id), *record);
    receipts_.lose_count();
    return;
  }
  for (const auto& [state, count] : census->states) resident.cold_messages += count;
  resident.cold_states = std::move(census->states);
}

void Engine::Impl::write_census(WriteBatch& out) {
  if (recounted_.empty()) return;
  // A destination that went and came again within the commit was counted twice.
  std::sort(recounted_.begin(), recounted_.end());
  recounted_.erase(std::unique(recounted_.begin(), recounted_.end()), recounted_.end());
  CensusPage page{next_sequence(), {}};
  page.counts.reserve(recounted_.size());
  for (const DestinationId id : recounted_) {
    CensusRecord census;
    if (const auto found = by_destination_.find(id.value()); found != by_destination_.end()) {
      Resident& resident = residents_[found->second];
      resident.recounted = false;
      census = {std::string(resident.bound->profile->name), resident.cold_states};
    }
    page.counts.push_back({id, std::move(census)});
  }
  recounted_.clear();
  census_pages_.write(std::move(page), out);
}

// A destination is taken away: it has none, but a count that was wrong must not outlive it.
void Engine::Impl::forget_census(Slot slot) {
  const auto states = residents_[slot].cold_states;
  for (const auto& [state, count] : states) {
    for (std::uint64_t left = count; left > 0; --left) count_cold(slot, state, false);
  }
}

void Engine::Impl::add_to_census(const CensusRecord& census) {
  std::size_t number = 0;
  while (number < options_.profiles.size() && options_.profiles[number]->name != census.profile)
    ++number;
  const bool served = number < options_.profiles.size();
  unserved_ = unserved_ || (!served && !census.states.empty());
  if (!served) return;
  for (const auto& [state, count] : census.states) cold_[number][state] += count;
}

// Destinations whose census stands between these keys: their records, or null.
std::map<std::uint64_t, const Row*> Engine::Impl::census_between(const Rows& rows,
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
  for (auto id = census_pages_.next(from); id && add(*id);)
    id = census_pages_.next(id->value() + 1);
  for (const DestinationId id : recounted_) add(id);
  return out;
}

// After a restart: adds up what is known of the destinations, in pages. What changes meanwhile
// behind the cursor is added when it comes there.
void Engine::Impl::restore_census(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kCensus)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const auto& [number, row] : census_between(*rows, chore.cursor)) {
    const DestinationId id(number);
    if (const auto found = by_destination_.find(number); found != by_destination_.end()) {
      const Resident& resident = residents_[found->second];
      add_to_census({std::string(resident.bound->profile->name), resident.cold_states});
    } else if (std::find(recounted_.begin(), recounted_.end(), id) != recounted_.end()) {
      continue;  // taken away by this commit
    } else if (const CensusRecord* newest = census_pages_.find(id)) {
      add_to_census(*newest);
    } else if (const auto census = decode_census(row->second.view())) {
      add_to_census(*census);
    } else {
      step.damaged.push_back(*row);
      receipts_.lose_count();
    }
  }
  census_cursor_ = rows->complete ? std::string() : rows->next;
  if (!rows->complete)
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
}

// A record of the cold space goes to quarantine. Which state it was in nobody knows any more: a
// message is taken for one without a state record, whatever that had said.
void Engine::Impl::lose_cold(const Step& step, const keys::PartKey& key) {
  const auto found = by_destination_.find(key.id.destination().value());
  if (found == by_destination_.end()) return receipts_.lose_count();
  const Resident& resident = residents_[found->second];
  const bool is_message = key.part == keys::Part::kMessage;
  const auto* state = step.found.get(keys::cold(key.id, keys::Part::kState));
  const auto stored = is_message && state != nullptr && state->has_value()
                          ? decode_state((*state)->view())
                          : Result<StoredState>(fail(ErrorCode::kNotFound, {}));
  if (!is_message || by_id_.contains(key.id)) return receipts_.lose_count();
  count_cold(found->second,
             stored ? stored->state.state : resident.bound->profile->methods[0].initial, false);
}

void Engine::Impl::put_to_sleep(Slot resident, MessageId id, StateIndex state, Timestamp accepted) {
  const auto number = static_cast<std::uint8_t>(profile_number(resident));
  if (!hot_sleepers_.emplace(id, Sleeper{accepted, number, state}).second) return;
  ++asleep_[number][state];
  ++asleep_of_[id.destination().value()];
}

void Engine::Impl::wake_sleeper(MessageId id) {
  const auto found = hot_sleepers_.find(id);
  if (found == hot_sleepers_.end()) return;
  --asleep_[found->second.profile][found->second.state];
  const auto of = asleep_of_.find(id.destination().value());
  if (of != asleep_of_.end() && --of->second == 0) asleep_of_.erase(of);
  hot_sleepers_.erase(found);
}

void Engine::Impl::tell_states(Stats& stats) const {
  stats.all_counted =
      census_cursor_.empty() && receipts_.counted() && !restoring_hot_ && !unserved_;
  for (std::size_t number = 0; number < options_.profiles.size(); ++number) {
    const ProfileSpec& profile = *options_.profiles[number];
    for (std::size_t i = 0; i < profile.states.size(); ++i) {
      const std::uint64_t in_memory = in_states_[number][i];
      const std::uint64_t cold =
          cold_[number][i] - std::min(cold_[number][i], recorded_[number][i]);
      const std::uint64_t all = in_memory + asleep_[number][i] + cold;
      if (all > 0 || !is_end(profile.states[i].phase))
        stats.in_states.push_back({profile.name, profile.states[i].name, all, in_memory});
    }
  }
}

}  // namespace postrider
