// SegmentJournal: the journal in files of this machine. Groups go into segments of a fixed size
// that were written once with zeros and are used again and again, so that a commit changes bytes
// and no metadata of the file system: one write and one sync for a group.
//
// Invariants. A group is written when the one before it is durable. A segment is named by a durable
// control record before it gets a group. Generations grow with each use of any segment and are
// never used twice, so what an earlier use left behind is never read as a group. The mark never
// claims more than is durable.
//
// One thread appends, trims and acquires; one may prepare beside it; read, room and figures may be
// called by any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
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
  Epoch newest_epoch = {};  // of a new journal: what was given out before there was one
};

// What a folder without a journal means.
enum class Opening : std::uint8_t {
  kOrMake,
  kExisting,  // it was lost: refused
  kLook,      // the same, and nothing is changed; only read may be called
};

struct JournalFigures {
  std::uint64_t groups = 0;  // since it was opened, as the next two
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds sync_time{0};
  std::uint32_t segments_in_use = 0;
};

class SegmentJournal final : public Journal {
 public:
  // Reads and judges what is there (stores/segments/recover.h), or makes a journal, with `id`, in a
  // folder that has none. kLimit: no room to make it. kCorrupt: it should be there and is not.
  static Result<std::unique_ptr<SegmentJournal>> open(std::unique_ptr<Folder> folder,
                                                      const JournalId& id,
                                                      const SegmentOptions& options,
                                                      Opening opening = Opening::kOrMake);
  SegmentJournal(const SegmentJournal&) = delete;
  SegmentJournal& operator=(const SegmentJournal&) = delete;

  Result<Ownership> acquire(std::uint32_t shard) override;
  Appended append(Epoch epoch, GroupNumber number, Group group) override;
  Result<GroupStanding> standing(Epoch epoch, GroupNumber number) override;
  Result<void> read(GroupNumber first, GroupNumber last, const Visit& visit) override;
  Result<void> trim(Epoch epoch, GroupNumber last) override;
  std::uint64_t room() const override;
  std::uint64_t group_bytes_max() const override;

  // What was found when it was opened; the next owner gets a newer epoch.
  Ownership found() const { return {newest_epoch_, control_.order.front().first, last()}; }
  JournalFigures figures() const;
  std::uint32_t segments_max() const { return options_.segments_max; }
  const Control& control() const { return control_; }  // not beside an append

  // Makes a spare segment if there is none and one more is allowed, so that an append does not have
  // to. kLimit: no room for it.
  Result<void> prepare();
  // What is durable is claimed durably. Without it the journal ends as a crash ends it.
  Result<void> close();

 private:
  SegmentJournal(std::unique_ptr<Folder> folder, const SegmentOptions& options);

  static Result<Recovered> make(Folder& folder, const JournalId& id, const SegmentOptions& options);
  Result<void> adopt(Recovered found, Opening opening);
  Appended begin_segment(GroupNumber first);
  Appended take_spare(Control control, GroupNumber first);
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
  std::uint64_t end_ = 0;
  Epoch newest_epoch_;
  bool owned_ = false;
  std::string lost_;  // why nothing is written any more

  std::mutex making_mutex_;  // of spare segments: one at a time

  // Guards what read, room, figures and prepare look at.
  mutable std::mutex mutex_;
  std::uint32_t newest_file_ = 0;         // of those that exist
  std::optional<std::uint32_t> unnamed_;  // a spare one that no control record names yet
  std::uint64_t appended_groups_ = 0;
  std::uint64_t appended_bytes_ = 0;
  std::chrono::nanoseconds sync_time_{0};
  Control control_;
  std::map<std::uint32_t, std::unique_ptr<File>> files_;  // by number; at most segments_max
  std::deque<Position> groups_;  // from control_.order.front().first on; bounded by the segments
};

}  // namespace postrider::segments
