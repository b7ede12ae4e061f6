// Checker 11, second half: what retention removes is old enough or too much, and it is counted.
// Engine time, as every commit tells it, never goes back.
#include <array>
#include <map>

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
    for (const Write& write : batch.applied.batch.writes()) {
      if (write.kind == Write::Kind::kPut) note_put(write, now);
      if (write.kind == Write::Kind::kRemoveRange) check_range(write, now);
    }
    check_counts(batch);
  }

 private:
  static constexpr std::uint64_t kNeverReached = 64U << 20;  // no simulated store holds so much

  static constexpr Duration kTurnMost = 2min;

  struct Bucket {
    Timestamp newest;
  };

  const Retention* retention_of(char space) const {
    switch (space) {
      case keys::kLedger:
      case keys::kSession: return &options_.ledger;
      case keys::kLog: return &options_.log;
      case keys::kEnd: return &options_.ends;
      case keys::kDead: return &options_.dead;
      default: return nullptr;
    }
  }

  static std::uint32_t bucket_of(std::string_view key) {
    std::uint32_t number = 0;
    for (std::size_t i = 1; i < 5 && i < key.size(); ++i)
      number = (number << 8) | static_cast<unsigned char>(key[i]);
    return number;
  }

  void note_put(const Write& write, Timestamp now) {
    if (retention_of(write.key[0]) == nullptr) return;
    newest_[{write.key[0], bucket_of(write.key)}].newest = now;
  }

  void check_range(const Write& write, Timestamp now) {
    const Retention* retention = retention_of(write.key[0]);
    if (retention == nullptr)
      return verdicts_.violation(11, "a range was removed from a space without retention");
    const auto at = newest_.find({write.key[0], bucket_of(write.key)});
    if (at == newest_.end()) return;
    const bool by_size = retention->bytes != 0 && retention->bytes < kNeverReached;
    // A bucket may be closed in the middle of a turn, before the time that the commit tells.
    if (!by_size && now - at->second.newest + kTurnMost < retention->age) {
      verdicts_.violation(
          11, std::string("retention removed from space ") + write.key[0] + " what was too young");
    }
    newest_.erase(at);
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
  std::map<std::pair<char, std::uint32_t>, Bucket> newest_;
};

}  // namespace

std::unique_ptr<Checker> make_retention_checker(const CheckerContext& context, Notebook& notebook) {
  return std::make_unique<RetentionChecker>(context, notebook);
}

}  // namespace postrider::sim
