// Checker 11, second half: what retention removes is old enough or too much, it is counted and
// told, and nothing grows beyond its bytes.
// Engine time, as every commit tells it, never goes back.
#include <array>
#include <map>
#include <set>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {
namespace {

class RetentionChecker final : public Checker {
 public:
  RetentionChecker(const CheckerContext& context, Notebook& /*notebook*/)
      : verdicts_(context.verdicts), options_(context.shard.engine) {}

  void batch(const Batch& batch) override {
    if (!batch.meta) return;
    if (batch.meta->clock_floor < batch.meta_before.clock_floor)
      verdicts_.violation(11, "engine time went back");
    const Timestamp now = batch.meta->clock_floor;
    put_now_.clear();
    std::uint64_t told = 0;
    for (const LogEntry& entry : batch.log) told += entry.kind == LogEntry::Kind::kRemoved ? 1 : 0;
    for (const Write& write : batch.applied.batch.writes()) {
      if (write.key[0] == keys::kGroup) continue;  // they go with their letters; checker 31
      if (retention_of(write.key[0]) == nullptr) {
        if (write.kind == Write::Kind::kRemoveRange)
          verdicts_.violation(11, "a range was removed from a space without retention");
        continue;
      }
      if (write.kind == Write::Kind::kPut) note_put(write, now);
      if (write.kind == Write::Kind::kRemove) note_remove(write, batch.letters_lost > 0);
      if (write.kind != Write::Kind::kRemoveRange) continue;
      check_range(write, now);
      const bool silent = write.key[0] == keys::kLog || write.key[0] == keys::kSession;
      if (!silent && told-- == 0)
        return verdicts_.violation(11, "retention removed something and did not tell");
    }
    check_sizes();
    check_counts(batch);
  }

 private:
  static constexpr Duration kTurnMost = 2min;

  struct Bucket {
    Timestamp newest;
    std::uint64_t bytes = 0;
    std::uint64_t puts = 0;
  };

  const Retention* retention_of(char space) const {
    switch (space) {
      case keys::kLedger:
      case keys::kSession: return &options_.ledger;
      case keys::kLog: return &options_.log;
      case keys::kEnd: return &options_.ends;
      case keys::kDead: return &options_.dead;
      case keys::kName: return &options_.names;
      case keys::kPendingNews: return &options_.pending_news;
      case keys::kArrival: return &options_.arrivals;
      case keys::kAudit: return &options_.audit;
      case keys::kHistory: return &options_.history;
      default: return nullptr;
    }
  }

  // Sessions live in the ledger's buckets, and its bytes are theirs too.
  static char space_of(char space) { return space == keys::kSession ? keys::kLedger : space; }

  void note_put(const Write& write, Timestamp now) {
    std::uint64_t bytes = write.key.size() + write.value.size();
    if (write.key[0] == keys::kDead) {  // a body that it shares is kept for it, too
      const auto dead = decode_dead(write.value.view());
      if (dead) bytes += shares_body(dead->message).bytes;
    }
    const char space = space_of(write.key[0]);
    Bucket& bucket = buckets_[{space, bucket_in(write.key)}];
    // What is left of news that waits was there before.
    const bool rest = write.key[0] == keys::kPendingNews && halves_.contains(write.key);
    if (!rest) bucket.newest = now;
    bucket.bytes += bytes;
    total_[space] += bytes;
    put_now_[space] += bytes;
    if (write.key[0] == keys::kDead) letters_[write.key] = bytes;
    ++puts_[space];
    ++bucket.puts;
    if (write.key[0] == keys::kPendingNews) halves_.insert(write.key);
  }

  // Of a letter that was cut off nobody knows how large it was.
  void note_remove(const Write& write, bool perhaps_cut) {
    if (write.key[0] == keys::kPendingNews) halves_.erase(write.key);
    const auto letter = letters_.find(write.key);
    if (letter == letters_.end()) return;
    const char space = write.key[0];
    const auto bucket = buckets_.find({space, bucket_in(write.key)});
    if (bucket != buckets_.end()) bucket->second.bytes -= letter->second;
    total_[space] -= letter->second;
    if (perhaps_cut) unknown_ += letter->second;
    letters_.erase(letter);
  }

  void check_range(const Write& write, Timestamp now) {
    const Retention* retention = retention_of(write.key[0]);
    const char space = space_of(write.key[0]);
    const auto at = buckets_.find({space, bucket_in(write.key)});
    if (at == buckets_.end()) return;
    // A bucket may be closed in the middle of a turn, before the time that the commit tells.
    const bool too_old = now - at->second.newest + kTurnMost >= retention->age;
    const std::uint64_t unknown = space == keys::kDead ? unknown_ : 0;
    const bool too_many = retention->count != 0 && puts_[space] > retention->count;
    const bool too_big =
        too_many || (retention->bytes != 0 && total_[space] + unknown > retention->bytes);
    if (!too_old && !too_big) {
      verdicts_.violation(11, std::string("retention removed from space ") + write.key[0] +
                                  " what was neither too old nor too much");
    }
    total_[space] -= at->second.bytes;
    puts_[space] -= at->second.puts;
    halves_.erase(halves_.lower_bound(write.key), halves_.lower_bound(write.last));
    buckets_.erase(at);
    letters_.erase(letters_.lower_bound(write.key), letters_.lower_bound(write.last));
  }

  // What was put by this very commit may be too much; the next one settles it.
  void check_sizes() {
    if (options_.pending_news.count != 0 &&
        halves_.size() > options_.pending_news.count + put_now_[keys::kPendingNews])
      verdicts_.violation(11, "more halves than allowed");
    for (const auto& [space, bytes] : total_) {
      const Retention* retention = retention_of(space);
      if (retention == nullptr || retention->bytes == 0) continue;
      if (bytes > retention->bytes + put_now_[space])
        verdicts_.violation(11, std::string("more bytes than allowed in space ") + space);
    }
  }

  void check_counts(const Batch& batch) {
    std::array<std::uint64_t, 256> removed{};
    for (const Applied::Range& range : batch.applied.ranges)
      removed[static_cast<unsigned char>(range.space)] += range.records;
    const Counters& before = batch.meta_before.counters;
    const Counters& after = batch.meta->counters;
    if (after.removed_ends - before.removed_ends != removed[keys::kEnd])
      verdicts_.violation(11, "removed ends are not counted rightly");
    if (after.removed_dead - before.removed_dead != removed[keys::kDead]) {
      verdicts_.violation(11, "removed dead letters are not counted rightly: " +
                                  std::to_string(removed[keys::kDead]) + " went, " +
                                  std::to_string(after.removed_dead - before.removed_dead) +
                                  " were counted");
    }
    const std::uint64_t ledger = removed[keys::kLedger] + removed[keys::kSession];
    // A session's entry is written again with each of its keys, and each writing is counted.
    if (after.removed_ledger - before.removed_ledger < ledger)
      verdicts_.violation(11, "removed ledger entries are not counted rightly");
  }

  Verdicts& verdicts_;
  const EngineOptions& options_;
  std::map<std::pair<char, keys::Bucket>, Bucket> buckets_;
  std::map<char, std::uint64_t> total_;    // bytes of each space
  std::map<char, std::uint64_t> put_now_;  // … that this commit brought
  std::map<char, std::uint64_t> puts_;     // records of each space, rewritten ones too
  std::set<std::string, std::less<>> halves_;
  std::uint64_t unknown_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> letters_;  // bytes of each, by key
};

}  // namespace

std::unique_ptr<Checker> make_retention_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<RetentionChecker>(context, notebook);
}

}  // namespace postrider::sim
