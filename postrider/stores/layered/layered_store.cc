#include "postrider/stores/layered/layered_store.h"

#include <algorithm>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/stores/layered/group.h"
#include "postrider/stores/layered/merge.h"

namespace postrider::layered {

Result<Epoch> LayeredStore::acquire(std::uint32_t shard) {
  const std::lock_guard journal_lock(journal_mutex_);
  POSTRIDER_TRY(owned, journal_.acquire(shard));
  bool known = false;
  {
    const std::lock_guard lock(tail_mutex_);
    known = has_begun_ && tail_.newest() == owned.last;
  }
  if (!known) {
    if (auto begun = begin(owned); !begun) return tl::unexpected<Error>(begun.error());
  }
  epoch_ = owned.epoch;
  // A former owner may have ended between its load and its trim.
  if (auto trimmed = journal_.trim(epoch_, GroupNumber(oldest_in_tail().value() - 1)); !trimmed)
    return tl::unexpected<Error>(trimmed.error());
  return epoch_;
}

Result<void> LayeredStore::begin(const Ownership& owned) {
  POSTRIDER_TRY(loaded, map_.loaded());
  if (owned.last < loaded || owned.first > next(loaded)) {
    return fail(ErrorCode::kCorrupt, "the map has groups up to " + std::to_string(loaded.value()) +
                                         ", and the journal has " +
                                         std::to_string(owned.first.value()) + " to " +
                                         std::to_string(owned.last.value()));
  }
  Tail tail;
  tail.begin_behind(loaded);
  std::string broken;
  const auto read = journal_.read(next(loaded), owned.last, [&](GroupNumber number, Group group) {
    if (!for_each_write(group.bytes, [](const GroupWrite&) {})) {
      broken = "group " + std::to_string(number.value()) + " of the journal is not a group";
      return false;
    }
    tail.add(number, std::make_shared<const std::string>(group.bytes));
    return true;
  });
  if (!read) return tl::unexpected<Error>(read.error());
  if (!broken.empty()) return fail(ErrorCode::kCorrupt, broken);
  const std::lock_guard lock(tail_mutex_);
  tail_ = std::move(tail);
  has_begun_ = true;
  return {};
}

BlockingStore::Written LayeredStore::write(Epoch epoch, const WriteBatch& batch) {
  if (batch.empty() && epoch == epoch_) return {};
  auto group = std::make_shared<std::string>();
  append_batch(*group, batch);
  if (group->size() > journal_.group_bytes_max()) {
    is_full_ = false;  // no spill makes room for it
    return {CommitOutcome::kFailed, "the batch is larger than a group of the journal can be"};
  }
  const std::lock_guard journal_lock(journal_mutex_);
  GroupNumber number;
  {
    const std::lock_guard lock(tail_mutex_);
    number = next(tail_.newest());
  }
  const Appended appended = journal_.append(epoch, number, {*group, 1});
  return finish(epoch, number, appended, std::move(group));
}

BlockingStore::Written LayeredStore::finish(Epoch epoch, GroupNumber number, Appended appended,
                                            GroupBytes group) {
  if (appended.end == AppendEnd::kInDoubt) {
    const Result<GroupStanding> standing = journal_.standing(epoch, number);
    if (!standing) return {CommitOutcome::kAmbiguous, standing.error().detail};
    appended.end = *standing == GroupStanding::kThere ? AppendEnd::kDurable : AppendEnd::kFenced;
  }
  is_full_ = appended.end == AppendEnd::kFull;
  switch (appended.end) {
    case AppendEnd::kDurable: {
      const std::lock_guard lock(tail_mutex_);
      tail_.add(number, std::move(group));
      return {};
    }
    case AppendEnd::kFenced:
    case AppendEnd::kFull: return {CommitOutcome::kFailed, appended.reason};
    case AppendEnd::kLost: return {CommitOutcome::kNoSync, appended.reason};
    case AppendEnd::kInDoubt: break;
  }
  POSTRIDER_CHECK(false);
}

Result<Found> LayeredStore::read(const Reads& reads) {
  Found found;
  Reads below;
  std::vector<std::pair<const Scan*, Slice>> slices;
  {
    const std::lock_guard lock(tail_mutex_);
    for (const std::string& key : reads.keys) {
      Lookup known = tail_.look(key);
      if (known.known) {
        found.set(key, std::move(known.value));
      } else {
        below.keys.push_back(key);
      }
    }
    for (const Scan& scan : reads.scans) slices.emplace_back(&scan, tail_.look(scan));
  }
  if (!below.keys.empty()) {
    POSTRIDER_TRY(deeper, map_.read(below));
    found.absorb(std::move(deeper));
  }
  for (auto& [scan, slice] : slices) {
    POSTRIDER_TRY(rows, merge(*scan, std::move(slice)));
    found.set(*scan, std::move(rows));
  }
  return found;
}

Result<Rows> LayeredStore::merge(const Scan& scan, Slice slice) {
  Merge merge(scan, std::move(slice));
  while (const std::optional<Scan> page = merge.wants()) {
    POSTRIDER_TRY(found, map_.read({.keys = {}, .scans = {*page}}));
    const Rows* rows = found.scan(*page);
    POSTRIDER_CHECK(rows != nullptr);
    merge.take(*rows);
  }
  return merge.rows();
}

// The lock of the tail is held for moments only: the next commit waits for it.
Result<void> LayeredStore::spill() {
  const auto begun = std::chrono::steady_clock::now();
  std::vector<GroupBytes> groups;
  GroupNumber last;
  {
    const std::lock_guard lock(tail_mutex_);
    if (tail_.groups() == 0) return {};
    last = tail_.newest();
    groups = tail_.upto(last);
  }
  const Chunk chunk = cut(std::move(groups), last, map_has_);
  map_has_ = MapHas::kPerhapsSome;
  if (auto loaded = map_.load(chunk.run); !loaded) return loaded;
  map_has_ = MapHas::kNothingOfTheTail;
  {
    const std::lock_guard lock(tail_mutex_);
    tail_.forget(last);
    ++spilled_.spills;
    spilled_.writes += chunk.writes;
    spilled_.survivors += chunk.run.records.size();
    spilled_.time += std::chrono::steady_clock::now() - begun;
  }
  const std::lock_guard journal_lock(journal_mutex_);
  return journal_.trim(epoch_, last);
}

GroupNumber LayeredStore::oldest_in_tail() const {
  const std::lock_guard lock(tail_mutex_);
  return tail_.oldest();
}

std::size_t LayeredStore::tail_groups() const {
  const std::lock_guard lock(tail_mutex_);
  return tail_.groups();
}

LayeredStore::Spilled LayeredStore::spilled() const {
  const std::lock_guard lock(tail_mutex_);
  return spilled_;
}

std::uint64_t LayeredStore::tail_bytes() const {
  const std::lock_guard lock(tail_mutex_);
  return tail_.bytes();
}

}  // namespace postrider::layered
