// HeldStore: a store that answers when the test says so. Reads and commits wait in the order of the
// calls; a read sees what was durable when it was asked and not a bit more, which is the least that
// the contract allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "postrider/stores/memory.h"

namespace postrider {

class HeldStore final : public Store {
 public:
  Result<Epoch> acquire(std::uint32_t shard) override { return memory_.acquire(shard); }

  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override {
    ++commits_;
    for (const Write& write : batch->writes())
      bytes_by_space_[write.key[0]] += write.key.size() + write.value.size() + write.last.size();
    commits_held_.push_back({epoch, std::move(batch), std::move(done)});
    if (!holds_commits && commits_ <= holds_after) release_commit();
  }
  void read(const Reads& reads, ReadDone done) override {
    ++reads_;
    scans_ += reads.scans.size();
    Found found;
    for (const std::string& key : reads.keys) found.set(key, memory_.get(key));
    for (const Scan& scan : reads.scans) {
      Rows rows = memory_.scan(scan);
      rows_ += rows.rows.size();
      once_ += scan.once ? 1U : 0U;
      found.set(scan, std::move(rows));
    }
    reads_held_.push_back({std::move(found), std::move(done)});
    if (!holds_reads) release_read();
  }

  // The oldest commit is over. `written` is for kAmbiguous: whether the disk holds it.
  void release_commit(CommitOutcome outcome = CommitOutcome::kDurable, bool written = true) {
    HeldCommit commit = std::move(commits_held_.front());
    commits_held_.pop_front();
    const bool applies =
        outcome == CommitOutcome::kDurable || (outcome != CommitOutcome::kFailed && written);
    if (applies) {
      memory_.commit(commit.epoch, commit.batch, [&](CommitOutcome told) {
        if (outcome == CommitOutcome::kDurable) outcome = told;
      });
    }
    commit.done(outcome);
  }
  void release_read() {
    HeldRead read = std::move(reads_held_.front());
    reads_held_.pop_front();
    read.done(std::move(read.found));
  }
  // Reads may overtake each other.
  void release_newest_read() {
    HeldRead read = std::move(reads_held_.back());
    reads_held_.pop_back();
    read.done(std::move(read.found));
  }
  void fail_read() {
    HeldRead read = std::move(reads_held_.front());
    reads_held_.pop_front();
    read.done(fail(ErrorCode::kUnavailable, "the disk is gone"));
  }

  std::size_t commits_held() const { return commits_held_.size(); }
  std::size_t reads_held() const { return reads_held_.size(); }
  const WriteBatch& held_batch() const { return *commits_held_.front().batch; }
  MemoryStore& memory() { return memory_; }

  // How often each was asked for, so far.
  std::uint64_t commits() const { return commits_; }
  std::uint64_t reads() const { return reads_; }
  std::uint64_t scans() const { return scans_; }
  std::uint64_t rows() const { return rows_; }  // that scans returned
  std::uint64_t once() const { return once_; }  // scans that leave a cache alone
  // Bytes that commits brought, keys and values, by the first byte of the key.
  const std::map<char, std::size_t>& bytes_by_space() const { return bytes_by_space_; }

  static constexpr std::uint64_t kNever = UINT64_MAX;
  std::uint64_t holds_after = kNever;  // as if holds_commits were set when so many were asked for
  bool holds_commits = false;
  bool holds_reads = false;

 private:
  struct HeldCommit {
    Epoch epoch;
    std::shared_ptr<const WriteBatch> batch;
    CommitDone done;
  };
  struct HeldRead {
    Found found;
    ReadDone done;
  };

  MemoryStore memory_{{.remember_once = true}};
  std::deque<HeldCommit> commits_held_;
  std::deque<HeldRead> reads_held_;
  std::uint64_t commits_ = 0;
  std::uint64_t reads_ = 0;
  std::uint64_t scans_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t once_ = 0;
  std::map<char, std::size_t> bytes_by_space_;
};

}  // namespace postrider
