// MemoryJournal: the reference behind the Journal seam. It forgets everything at the end of the
// process, and every append is durable at once. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "postrider/base/check.h"
#include "postrider/model/seams/journal.h"

namespace postrider {

class MemoryJournal final : public Journal {
 public:
  explicit MemoryJournal(std::uint64_t bytes_max = 1ULL << 40) : bytes_max_(bytes_max) {}

  Result<Ownership> acquire(std::uint32_t shard) override {
    if (shard != 0) return fail(ErrorCode::kInvalid, "this journal has shard 0 only");
    epoch_ = Epoch(epoch_.value() + 1);
    return Ownership{epoch_, first_, last()};
  }
  Appended append(Epoch epoch, GroupNumber number, Group group) override {
    if (epoch != epoch_) return {AppendEnd::kFenced, "another owner has the shard"};
    POSTRIDER_CHECK(number == next(last()) && group.batches > 0);
    if (group.bytes.size() > room()) return {AppendEnd::kFull, "the journal is full"};
    groups_.push_back({std::string(group.bytes), group.batches});
    bytes_ += group.bytes.size();
    return {};
  }
  Result<GroupStanding> standing(Epoch epoch, GroupNumber number) override {
    if (epoch != epoch_) return GroupStanding::kFenced;
    return number <= last() ? GroupStanding::kThere : GroupStanding::kNotThere;
  }
  Result<void> read(GroupNumber first, GroupNumber last_wanted, const Visit& visit) override {
    for (GroupNumber number = first; number <= last_wanted; number = next(number)) {
      if (number < first_ || number > last())
        return fail(ErrorCode::kNotFound, "group " + std::to_string(number.value()));
      const Kept& kept = groups_[number.value() - first_.value()];
      if (!visit(number, {kept.bytes, kept.batches})) return {};
    }
    return {};
  }
  Result<void> trim(Epoch epoch, GroupNumber last_trimmed) override {
    if (epoch != epoch_) return fail(ErrorCode::kConflict, "another owner has the shard");
    while (first_ <= last_trimmed && !groups_.empty()) {
      bytes_ -= groups_.front().bytes.size();
      groups_.pop_front();
      first_ = next(first_);
    }
    return {};
  }
  std::uint64_t room() const override { return bytes_max_ - bytes_; }
  std::uint64_t group_bytes_max() const override { return bytes_max_; }

 private:
  struct Kept {
    std::string bytes;
    std::uint32_t batches = 0;
  };
  GroupNumber last() const { return GroupNumber(first_.value() + groups_.size() - 1); }

  std::uint64_t bytes_max_;
  std::uint64_t bytes_ = 0;
  std::deque<Kept> groups_;  // at most bytes_max_
  GroupNumber first_{1};
  Epoch epoch_;
};

}  // namespace postrider
