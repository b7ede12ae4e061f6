#include "postrider/sim/world/store.h"

#include <algorithm>
#include <iterator>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"

namespace postrider::sim {

std::optional<Blob> SimDisk::get(std::string_view key) const {
  const auto at = records_.find(key);
  if (at == records_.end()) return std::nullopt;
  return at->second.value;
}

Rows SimDisk::scan(const Scan& scan) const {
  Rows rows;
  if (scan.backward) {
    for (auto at = records_.lower_bound(scan.last);
         at != records_.begin() && (--at)->first >= scan.first;) {
      rows.complete = rows.rows.size() < scan.limit;
      if (!rows.complete) break;
      rows.rows.emplace_back(at->first, at->second.value);
    }
    return rows;
  }
  for (auto at = records_.lower_bound(scan.first); at != records_.end() && at->first < scan.last;
       ++at) {
    if (rows.rows.size() == scan.limit) {
      rows.complete = false;
      break;
    }
    rows.rows.emplace_back(at->first, at->second.value);
  }
  return rows;
}

std::map<std::string, std::string> SimDisk::contents() const {
  std::map<std::string, std::string> out;
  for (const auto& [key, record] : records_) out.emplace(key, record.value.view());
  return out;
}

void SimDisk::copy_to(SimDisk& other) const {
  other.records_ = records_;
  other.ever_put_once_ = ever_put_once_;
  other.owner_ = owner_;
  other.epochs_given_ = epochs_given_;
}

Result<Epoch> SimDisk::acquire(std::uint32_t /*shard*/) {
  owner_ = Epoch(++epochs_given_);
  return owner_;
}

void SimDisk::apply(Epoch epoch, const WriteBatch& batch) {
  ++commits_;
  Applied applied{epoch, batch, {}};
  for (const Write& write : batch.writes()) {
    switch (write.kind) {
      case Write::Kind::kPutOnce: put_once(write); break;
      case Write::Kind::kRemoveOnce: remove_once(write); break;
      case Write::Kind::kPut: put(write); break;
      case Write::Kind::kRemove: {
        const auto at = records_.find(write.key);
        POSTRIDER_CHECK(at == records_.end() || !at->second.once);
        if (at != records_.end()) records_.erase(at);
        break;
      }
      case Write::Kind::kRemoveRange:
        applied.ranges.push_back({write.key[0], remove_range(write)});
        break;
    }
  }
  if (observer_) observer_(applied);
}

void SimDisk::put_once(const Write& write) {
  const bool never_before = ever_put_once_.insert(hash64(write.key, 12)).second;
  POSTRIDER_CHECK(never_before);
  const bool is_new = records_.try_emplace(write.key, Record{write.value, true}).second;
  POSTRIDER_CHECK(is_new);
}

void SimDisk::remove_once(const Write& write) {
  const auto at = records_.find(write.key);
  const bool was_put_once = at != records_.end() && at->second.once;
  POSTRIDER_CHECK(was_put_once);
  records_.erase(at);
}

void SimDisk::put(const Write& write) {
  const auto [at, is_new] = records_.try_emplace(write.key, Record{write.value, false});
  if (is_new) return;
  POSTRIDER_CHECK(!at->second.once);
  at->second.value = write.value;
}

std::uint64_t SimDisk::remove_range(const Write& write) {
  if (write.last <= write.key) return 0;
  const auto first = records_.lower_bound(write.key);
  const auto last = records_.lower_bound(write.last);
  const auto count = static_cast<std::uint64_t>(std::distance(first, last));
  records_.erase(first, last);
  return count;
}

std::optional<std::string> SimDisk::damage(char space, bool torn, Rng& rng) {
  const auto first = records_.lower_bound(std::string(1, space));
  const auto last = records_.lower_bound(std::string(1, static_cast<char>(space + 1)));
  const auto count = static_cast<std::uint64_t>(std::distance(first, last));
  if (count == 0) return std::nullopt;
  const auto at = std::next(first, static_cast<std::ptrdiff_t>(rng.below(count)));
  std::string value(at->second.value.view());
  if (value.empty()) return std::nullopt;
  if (torn) {
    value.resize(rng.below(value.size()));
  } else {
    char& byte = value[rng.below(value.size())];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << rng.below(8)));
  }
  at->second.value = Blob::copy_of(value);
  return at->first;
}

SimStore::SimStore(StoreSurroundings& around) : around_(around) {}
SimStore::~SimStore() { *alive_ = false; }

Result<Epoch> SimStore::acquire(std::uint32_t shard) { return around_.disk.acquire(shard); }

void SimStore::counted() const {
  if (around_.after_operation) around_.after_operation();
}

void SimStore::draw_fate(Commit& commit) {
  Faults* faults = around_.faults;
  if (faults == nullptr) return;
  const Timestamp now = around_.agenda.now();
  if (around_.disk_full || faults->strikes(Fault::kFailedCommit, now)) {
    commit.outcome = CommitOutcome::kFailed;
    commit.written = false;
  } else if (faults->strikes(Fault::kAmbiguousCommit, now)) {
    commit.outcome = CommitOutcome::kAmbiguous;
    commit.written = around_.rng.chance(1, 2);
  } else if (faults->strikes(Fault::kSyncFailed, now)) {
    commit.outcome = CommitOutcome::kNoSync;
    commit.written = around_.rng.chance(1, 2);
  }
}

Duration SimStore::commit_time() {
  if (around_.faults == nullptr) return Duration(0);
  if (around_.faults->strikes(Fault::kSlowCommit, around_.agenda.now())) {
    return Duration(around_.rng.between(500, 20'000));
  }
  return Duration(around_.rng.between(0, 10));
}

Duration SimStore::read_time() {
  if (around_.faults == nullptr) return Duration(0);
  const Timestamp now = around_.agenda.now();
  if (around_.faults->strikes(Fault::kSlowRead, now))
    return Duration(around_.rng.between(500, 20'000));
  if (around_.faults->strikes(Fault::kReorderedRead, now))
    return Duration(around_.rng.between(5, 200));
  return Duration(around_.rng.between(0, 3));
}

void SimStore::commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) {
  const std::uint64_t serial = ++serial_;
  ++commits_called_;
  Commit& commit = commits_[serial];
  commit.epoch = epoch;
  commit.batch = std::move(batch);
  commit.done = std::move(done);
  draw_fate(commit);
  // Others may see a batch before its owner is told; the owner is told in the order of its calls.
  const Timestamp applied = std::max(around_.agenda.now() + commit_time(), last_told_);
  last_told_ = applied + Duration(around_.faults == nullptr ? 0 : around_.rng.between(0, 2));
  const auto guarded = [this, alive = alive_](void (SimStore::*what)(std::uint64_t),
                                              std::uint64_t number) {
    if (*alive) (this->*what)(number);
  };
  around_.agenda.at(applied, [guarded, serial] { guarded(&SimStore::apply, serial); });
  around_.agenda.at(last_told_, [guarded, serial] { guarded(&SimStore::tell, serial); });
  counted();
}

void SimStore::apply(std::uint64_t serial) {
  const auto at = commits_.find(serial);
  if (at == commits_.end()) return;
  Commit& commit = at->second;
  // Ownership is checked inside the commit itself, as a lease in the database would be.
  if (commit.epoch != around_.disk.owner()) {
    commit.outcome = CommitOutcome::kFailed;
    commit.written = false;
  }
  commit.applied = true;
  if (commit.written) around_.disk.apply(commit.epoch, *commit.batch);
  counted();
}

void SimStore::tell(std::uint64_t serial) {
  const auto at = commits_.find(serial);
  if (at == commits_.end()) return;
  const CommitDone done = std::move(at->second.done);
  const CommitOutcome outcome = at->second.outcome;
  commits_.erase(at);
  done(outcome);
  counted();
}

void SimStore::read(const Reads& reads, ReadDone done) {
  const std::uint64_t serial = ++serial_;
  Read& read = reads_[serial];
  read.reads = reads;
  read.done = std::move(done);
  // Each part is looked up at some moment between the question and the answer, and not all at the
  // same one.
  for (std::size_t i = 0; i < reads.keys.size() + reads.scans.size(); ++i) {
    read.early.push_back(around_.rng.chance(1, 2));
  }
  if (around_.faults != nullptr)
    read.failed = around_.faults->strikes(Fault::kReadFailed, around_.agenda.now());
  look(read, true);
  around_.agenda.after(read_time(), [this, alive = alive_, serial] {
    if (*alive) answer(serial);
  });
}

void SimStore::look(Read& read, bool early) {
  std::size_t part = 0;
  for (const std::string& key : read.reads.keys) {
    if (read.early[part++] == early) read.found.set(key, around_.disk.get(key));
  }
  for (const Scan& scan : read.reads.scans) {
    if (read.early[part++] == early) read.found.set(scan, around_.disk.scan(scan));
  }
}

void SimStore::answer(std::uint64_t serial) {
  const auto at = reads_.find(serial);
  if (at == reads_.end()) return;
  Read read = std::move(at->second);
  reads_.erase(at);
  if (read.failed) {
    read.done(fail(ErrorCode::kUnavailable, "the disk cannot be read"));
  } else {
    look(read, false);
    read.done(std::move(read.found));
  }
  counted();
}

std::size_t SimStore::undurable() const {
  std::size_t count = 0;
  for (const auto& [serial, commit] : commits_) count += commit.applied ? 0 : 1;
  return count;
}

void SimStore::crash(std::size_t kept) {
  *alive_ = false;
  for (auto& [serial, commit] : commits_) {
    if (commit.applied) continue;
    if (kept == 0) break;
    --kept;
    if (!commit.written || commit.epoch != around_.disk.owner()) continue;
    around_.disk.apply(commit.epoch, *commit.batch);
  }
  commits_.clear();
  reads_.clear();
}

}  // namespace postrider::sim
