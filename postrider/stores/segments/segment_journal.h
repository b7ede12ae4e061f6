// SegmentJournal: the journal in files of this machine. Groups go into segments of a fixed size
// that were written once with zeros and are used again and again, so that a commit changes bytes
// and no metadata of the file system: one write and one sync for a group.
//
// Invariants. A group is written when the one before it is durable. A segment is named by a durable
// control record before it gets a group. Generations grow with each use of any segment and are
// never used twice, so what an earlier use left behind is never read as a group. The mark never
// claims more than is durable.
//
// One thread appends, trims and acquires; read and room may be called by any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "postrider/base/result.h"
#include "postrider/model/seams/journal.h"
#include "postrider/stores/segments/files.h"
#include "postrider/stores/segments/format.h"
#include "postrider/stores/segments/recover.h"

namespace postrider::segments {

struct SegmentOptions {
  std::uint64_t segment_bytes = 64U << 20;  // of a new journal; an older one keeps its size
  std::uint32_t segments_max = 16;
};

class SegmentJournal final : public Journal {
 public:
  // Reads and judges what is there (stores/segments/recover.h), or makes a journal, with `id`, in a
  // folder that has none. kLimit: no room to make it.
  static Result<std::unique_ptr<SegmentJournal>> open(std::unique_ptr<Folder> folder,
                                                      const JournalId& id,
                                                      const SegmentOptions& options);
  SegmentJournal(const SegmentJournal&) = delete;
  SegmentJournal& operator=(const SegmentJournal&) = delete;

  Result<Ownership> acquire(std::uint32_t shard) override;
  Appended append(Epoch epoch, GroupNumber number, Group group) override;
  Result<GroupStanding> standing(Epoch epoch, GroupNumber number) override;
  Result<void> read(GroupNumber first, GroupNumber last, const Visit& visit) override;
  Result<void> trim(Epoch epoch, GroupNumber last) override;
  std::uint64_t room() const override;
  std::uint64_t group_bytes_max() const override;

  // Makes a spare segment if there is none and one more is allowed, so that an append does not have
  // to. kLimit: no room for it.
  Result<void> prepare();
  // What is durable is claimed durably. Without it the journal ends as a crash ends it.
  Result<void> close();

 private:
  SegmentJournal(std::unique_ptr<Folder> folder, const SegmentOptions& options);

  static Result<Recovered> make(Folder& folder, const JournalId& id, const SegmentOptions& options);
  Result<void> adopt(Recovered found);
  Appended begin_segment(GroupNumber first);
  Appended give_up(const IoEnd& end);
  Appended take_back(const IoEnd& end);
  IoEnd write_control(Control control);
  IoEnd write_mark();
  File& current() { return *files_.at(control_.order.back().file); }
  GroupNumber last() const {
    return GroupNumber(control_.order.front().first.value() + groups_.size() - 1);
  }

  std::unique_ptr<Folder> folder_;
  SegmentOptions options_;
  std::unique_ptr<File> controls_[2];
  std::unique_ptr<File> marks_;
  std::size_t control_copy_ = 0;
  std::size_t mark_slot_ = 0;
  std::uint64_t mark_turn_ = 0;
  std::uint64_t generation_ = 0;
  std::uint32_t newest_file_ = 0;
  std::uint64_t end_ = 0;
  Epoch newest_epoch_;
  bool owned_ = false;
  std::string lost_;  // why nothing is written any more

  // Guards what read and room look at.
  mutable std::mutex mutex_;
  Control control_;
  std::map<std::uint32_t, std::unique_ptr<File>> files_;  // by number; at most segments_max
  std::deque<Position> groups_;  // from control_.order.front().first on; bounded by the segments
};

}  // namespace postrider::segments
