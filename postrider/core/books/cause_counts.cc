#include "postrider/core/books/cause_counts.h"

#include <algorithm>
#include <utility>

#include "postrider/base/planted.h"

namespace postrider {

CauseCounts::CauseCounts(Groups groups, std::size_t groups_max)
    : counts_(std::move(groups)), counts_max_(std::max<std::size_t>(1, groups_max)) {}

// Where a bucket has letters without a group of their own, no new group begins in it: so each
// letter is counted in its own group if there is one, and else with the others, and it is known
// which when it leaves.
void CauseCounts::add(const Arrival& arrival) {
  GroupName name = arrival.name;
  const bool room = counts_.size() < counts_max_ && !counts_.contains(others_of(name.bucket));
  if (!counts_.contains(name) && !room) name = others_of(name.bucket);
  GroupRecord& group = counts_[name];
  if (group.count == 0 || arrival.at < group.first) group.first = arrival.at;
  group.last = std::max(group.last, arrival.at);
  group.example = arrival.id;
  group.reason = arrival.reason;
  ++group.count;
  touched_.insert(name);
}

void CauseCounts::take(const GroupName& name) {
  auto group = counts_.find(name);
  if (group == counts_.end()) group = counts_.find(others_of(name.bucket));
  // A record of ours was damaged: what it counted is unknown.
  if (group == counts_.end()) return;
  touched_.insert(group->first);
  if (--group->second.count == 0) counts_.erase(group);
}

// One group for all of a bucket, which is always allowed: else counts would stay too high.
void CauseCounts::lose(const Arrival& letter) {
  const GroupName name{letter.name.bucket, {}, Phase::kIndeterminate};
  GroupRecord& group = counts_[name];
  if (group.count == 0) group.first = letter.at;
  group.last = letter.at;
  group.example = letter.id;
  group.reason = letter.reason;
  ++group.count;
  touched_.insert(name);
}

void CauseCounts::add_unknown(keys::Bucket bucket, std::uint64_t letters) {
  counts_[others_of(bucket)].count += letters;
  touched_.insert(others_of(bucket));
}

std::uint64_t CauseCounts::letters_in(keys::Bucket bucket) const {
  std::uint64_t letters = 0;
  std::uint64_t lost = 0;
  for (auto group = counts_.lower_bound({.bucket = bucket, .destination = {}, .phase = Phase{}});
       group != counts_.end() && group->first.bucket == bucket; ++group)
    (group->first.phase == Phase::kIndeterminate ? lost : letters) += group->second.count;
  return letters - std::min(letters, lost);
}

void CauseCounts::drop_bucket(keys::Bucket bucket, WriteBatch& out) {
  const auto first = counts_.lower_bound({.bucket = bucket, .destination = {}, .phase = Phase{}});
  const auto last =
      counts_.lower_bound({.bucket = bucket + 1, .destination = {}, .phase = Phase{}});
  if (first == last && touched_.empty()) return;
  counts_.erase(first, last);
  std::erase_if(touched_, [bucket](const GroupName& name) { return name.bucket == bucket; });
  out.remove_range(keys::bucket(keys::kGroup, bucket), keys::bucket(keys::kGroup, bucket + 1));
}

void CauseCounts::tell(Stats& stats) const {
  stats.dead_groups = counts_.size();
  for (const auto& [name, group] : counts_) {
    if (name.phase == Phase::kIndeterminate) continue;
    if (name.bucket == 0) {
      stats.parked += group.count;
    } else if (!name.destination.is_set()) {
      stats.dead_letters_ungrouped += group.count;
    } else {
      stats.dead_letters[static_cast<std::size_t>(name.cause)] += group.count;
    }
  }
}

DeadGroupList CauseCounts::list(std::optional<DestinationId> only) const {
  DeadGroupList out;
  std::map<GroupName, DeadGroup> merged;
  for (const auto& [name, group] : counts_) {
    if (only && name.destination != *only) continue;
    if (name.phase == Phase::kIndeterminate) {
      out.unreadable += group.count;
      continue;
    }
    out.letters += group.count;
    if (!name.destination.is_set()) {
      out.others += group.count;
      continue;
    }
    DeadGroup& all = merged[{0, name.destination, name.phase, name.cause}];
    all.id = name.destination;
    all.phase = name.phase;
    all.cause = name.cause;
    all.count += group.count;
    if (!all.first.is_set() || group.first < all.first) all.first = group.first;
    if (group.last >= all.last) {
      all.last = group.last;
      all.example = group.example;
      all.reason = group.reason;
    }
  }
  for (auto& [name, group] : merged) out.groups.push_back(std::move(group));
  std::stable_sort(out.groups.begin(), out.groups.end(),
                   [](const DeadGroup& a, const DeadGroup& b) { return a.count > b.count; });
  return out;
}

void CauseCounts::write(WriteBatch& out) {
  for (const GroupName& name : std::exchange(touched_, {})) {
    const auto group = counts_.find(name);
    if (group == counts_.end()) {
      out.remove(group_key(name));
    } else {
      out.put(group_key(name), encode_group(group->second));
    }
  }
}

bool CauseCounts::any_of(DestinationId destination) const {
  const auto at = [this](keys::Bucket bucket, DestinationId id) {
    return counts_.lower_bound({bucket, id, static_cast<Phase>(0), static_cast<FailureClass>(0)});
  };
  for (auto next = counts_.begin(); next != counts_.end();) {
    const keys::Bucket bucket = next->first.bucket;
    const auto found = at(bucket, destination);
    if (found != counts_.end() && found->first.bucket == bucket &&
        found->first.destination == destination)
      return true;
    next = at(bucket + 1, DestinationId());
  }
  return false;
}

}  // namespace postrider
