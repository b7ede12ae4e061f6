#include "postrider/stores/segments/segment_journal.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "postrider/base/check.h"

namespace postrider::segments {
namespace {

constexpr std::size_t kZerosAtOnce = 1U << 20;

Error as_error(const IoEnd& end) {
  return {end.io == Io::kNoSpace ? ErrorCode::kLimit : ErrorCode::kUnavailable, end.reason};
}
tl::unexpected<Error> failed(const IoEnd& end) { return tl::unexpected<Error>(as_error(end)); }

// A file whose blocks all exist and whose name is durable.
Result<std::unique_ptr<File>> make_file(Folder& folder, const std::string& name,
                                        std::uint64_t bytes) {
  POSTRIDER_TRY(file, folder.create(name));
  const std::string zeros(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, kZerosAtOnce)),
                          '\0');
  for (std::uint64_t offset = 0; offset < bytes; offset += zeros.size()) {
    const auto piece = std::string_view(zeros).substr(
        0, static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), bytes - offset)));
    if (const IoEnd end = file->write(offset, piece); !end.done()) return failed(end);
  }
  if (const IoEnd end = file->sync(); !end.done()) return failed(end);
  if (const IoEnd end = folder.sync(); !end.done()) return failed(end);
  return std::move(file);
}

IoEnd write_synced(File& file, std::string_view bytes) {
  IoEnd end = file.write(0, bytes);
  if (end.done()) end = file.sync();
  return end;
}

}  // namespace

SegmentJournal::SegmentJournal(std::unique_ptr<Folder> folder, const SegmentOptions& options)
    : folder_(std::move(folder)), options_(options) {}

Result<std::unique_ptr<SegmentJournal>> SegmentJournal::open(std::unique_ptr<Folder> folder,
                                                             const JournalId& id,
                                                             const SegmentOptions& options,
                                                             Opening opening) {
  POSTRIDER_CHECK(options.segment_bytes >= 2 * kBlock && options.segment_bytes % kBlock == 0);
  POSTRIDER_CHECK(options.segments_max >= 2);
  POSTRIDER_TRY(found, recover(*folder));
  if (!found && opening != Opening::kOrMake)
    return fail(ErrorCode::kCorrupt, "the journal is missing: " + std::string(kControlNames[0]) +
                                         " and " + kControlNames[1] + " are not there");
  if (!found) {
    POSTRIDER_TRY(made, make(*folder, id, options));
    found = std::move(made);
  }
  std::unique_ptr<SegmentJournal> journal(new SegmentJournal(std::move(folder), options));
  if (auto adopted = journal->adopt(std::move(*found), opening); !adopted)
    return tl::unexpected<Error>(adopted.error());
  return journal;
}

// The control record comes last: until it is durable there is no journal, and what an interrupted
// making left is made again.
Result<Recovered> SegmentJournal::make(Folder& folder, const JournalId& id,
                                       const SegmentOptions& options) {
  Recovered made;
  made.control.turn = 1;
  made.control.id = id;
  made.control.segment_bytes = options.segment_bytes;
  made.control.generation = 1;
  made.control.epoch = options.newest_epoch;
  made.newest_epoch = options.newest_epoch;
  made.control.order = {{.file = 1, .generation = 1, .first = GroupNumber(1)}};
  made.generation = 1;
  made.mark = {.turn = 1, .id = id, .durable = GroupNumber()};
  made.end = kBlock;
  POSTRIDER_TRY(segment, make_file(folder, segment_name(1), options.segment_bytes));
  if (const IoEnd end = write_synced(*segment, encode_use(id, made.control.order[0])); !end.done())
    return failed(end);
  POSTRIDER_TRY(mark, make_file(folder, kMarkName, 2 * kBlock));
  // Both slots, so that one is readable whatever happens to the writing of the other.
  std::string slots = encode_mark(made.mark);
  slots.resize(kBlock, '\0');
  slots += encode_mark(made.mark);
  if (const IoEnd end = write_synced(*mark, slots); !end.done()) return failed(end);
  POSTRIDER_TRY(control, folder.create(kControlNames[0]));
  if (const IoEnd end = write_synced(*control, encode_control(made.control)); !end.done())
    return failed(end);
  if (const IoEnd end = folder.sync(); !end.done()) return failed(end);
  return made;
}

Result<void> SegmentJournal::adopt(Recovered found, Opening opening) {
  for (std::size_t i = 0; i < 2; ++i) {
    auto file = folder_->open(kControlNames[i]);
    const bool missing = !file && file.error().code == ErrorCode::kNotFound;
    if (missing && opening == Opening::kLook) continue;
    if (missing)
      file = folder_->create(kControlNames[i]);
    if (!file) return tl::unexpected<Error>(file.error());
    controls_[i] = std::move(*file);
  }
  POSTRIDER_TRY(mark, folder_->open(kMarkName));
  marks_ = std::move(mark);
  std::vector<std::uint32_t> named = found.control.spare;
  for (const Use& use : found.control.order) named.push_back(use.file);
  for (const std::uint32_t file : named) {
    POSTRIDER_TRY(opened, folder_->open(segment_name(file)));
    files_[file] = std::move(opened);
  }
  // A file that no control record names holds nothing, and is made again.
  newest_file_ = *std::max_element(named.begin(), named.end());
  control_ = std::move(found.control);
  control_copy_ = found.control_copy;
  mark_slot_ = found.mark_slot;
  mark_turn_ = found.mark.turn;
  generation_ = found.generation;
  end_ = found.end;
  newest_epoch_ = found.newest_epoch;
  groups_.assign(found.groups.begin(), found.groups.end());
  return {};
}

Result<Ownership> SegmentJournal::acquire(std::uint32_t shard) {
  if (shard != 0) return fail(ErrorCode::kInvalid, "a journal of segments has shard 0 only");
  if (!lost_.empty()) return fail(ErrorCode::kUnavailable, lost_);
  // What a killed owner wrote may be in the page cache alone, and is durable from here on.
  if (const IoEnd end = current().sync(); !end.done()) return failed(end);
  if (const IoEnd end = folder_->sync(); !end.done()) return failed(end);
  // A slot of the mark that was torn is whole again before the other one is written: two power cuts
  // could leave none otherwise.
  if (const IoEnd end = write_mark(); !end.done()) return failed(end);
  if (const IoEnd end = marks_->sync(); !end.done()) return failed(end);
  Control control = control_;
  control.epoch = Epoch(newest_epoch_.value() + 1);
  if (const IoEnd end = write_control(std::move(control)); !end.done()) return failed(end);
  newest_epoch_ = control_.epoch;
  owned_ = true;
  return Ownership{control_.epoch, control_.order.front().first, last()};
}

std::uint64_t SegmentJournal::group_bytes_max() const {
  return control_.segment_bytes - kBlock - kGroupHeadBytes;
}

Appended SegmentJournal::append(Epoch epoch, GroupNumber number, Group group) {
  if (!owned_ || epoch != control_.epoch)
    return {AppendEnd::kFenced, "another owner has the shard"};
  if (!lost_.empty()) return {AppendEnd::kLost, lost_};
  POSTRIDER_CHECK(number == next(last()));
  POSTRIDER_CHECK(group.batches > 0 && group.bytes.size() <= group_bytes_max());
  if (end_ + padded(group.bytes.size()) > control_.segment_bytes) {
    if (Appended begun = begin_segment(number); begun.end != AppendEnd::kDurable) return begun;
  }
  const GroupHead head{.generation = control_.order.back().generation,
                       .number = number,
                       .durable = last(),
                       .epoch = epoch,
                       .length = 0,
                       .batches = group.batches};
  if (const IoEnd end = current().write(end_, encode_group(control_.id, head, group.bytes));
      !end.done())
    return take_back(end);
  const auto begun = std::chrono::steady_clock::now();
  if (const IoEnd end = current().sync(); !end.done()) return take_back(end);
  const auto sync_time = std::chrono::steady_clock::now() - begun;
  const Position position{.file = control_.order.back().file,
                          .length = static_cast<std::uint32_t>(group.bytes.size()),
                          .offset = end_};
  end_ += padded(group.bytes.size());
  {
    const std::lock_guard lock(mutex_);
    groups_.push_back(position);
    ++appended_groups_;
    appended_bytes_ += padded(group.bytes.size());
    sync_time_ += sync_time;
  }
  // Without room for it the mark claims less, which is no harm.
  if (const IoEnd end = write_mark(); end.io == Io::kFailed) return give_up(end);
  return {};
}

// The group may be there in part, or whole: it must not come back, because the caller is told that
// nothing was written.
Appended SegmentJournal::take_back(const IoEnd& end) {
  if (end.io != Io::kNoSpace) return give_up(end);
  IoEnd erased = current().write(end_, std::string(kBlock, '\0'));
  if (erased.done()) erased = current().sync();
  if (!erased.done()) return give_up(erased);
  return {AppendEnd::kFull, end.reason};
}

Appended SegmentJournal::give_up(const IoEnd& end) {
  lost_ = end.reason;
  return {AppendEnd::kLost, lost_};
}

Result<void> SegmentJournal::prepare() {
  const std::lock_guard making(making_mutex_);
  std::uint32_t file = 0;
  {
    const std::lock_guard lock(mutex_);
    if (unnamed_ || !control_.spare.empty() || control_.order.size() >= options_.segments_max)
      return {};
    file = newest_file_ + 1;
  }
  POSTRIDER_TRY(made, make_file(*folder_, segment_name(file), control_.segment_bytes));
  const std::lock_guard lock(mutex_);
  newest_file_ = file;
  files_[file] = std::move(made);
  unnamed_ = file;
  return {};
}

Appended SegmentJournal::begin_segment(GroupNumber first) {
  if (const Result<void> prepared = prepare(); !prepared) {
    const Error& error = prepared.error();
    if (error.code == ErrorCode::kLimit) return {AppendEnd::kFull, error.detail};
    return give_up({Io::kFailed, error.detail});
  }
  Control named = control_;
  {
    const std::lock_guard lock(mutex_);
    if (named.spare.empty() && unnamed_) named.spare.push_back(*unnamed_);
  }
  if (named.spare.empty() || named.order.size() >= options_.segments_max) {
    return {AppendEnd::kFull,
            "all " + std::to_string(options_.segments_max) + " segments of the journal are in use"};
  }
  return take_spare(std::move(named), first);
}

Appended SegmentJournal::take_spare(Control control, GroupNumber first) {
  const Use use{.file = control.spare.front(), .generation = ++generation_, .first = first};
  control.spare.erase(control.spare.begin());
  control.order.push_back(use);
  control.generation = use.generation;
  IoEnd end = write_synced(*files_.at(use.file), encode_use(control.id, use));
  if (end.done()) end = marks_->sync();
  if (end.done()) end = write_control(std::move(control));
  if (end.io == Io::kNoSpace) return {AppendEnd::kFull, end.reason};
  if (!end.done()) return give_up(end);
  end_ = kBlock;
  const std::lock_guard lock(mutex_);
  if (unnamed_ == use.file) unnamed_.reset();
  return {};
}

IoEnd SegmentJournal::write_control(Control control) {
  const std::uint64_t gone =
      control.order.front().first.value() - control_.order.front().first.value();
  control.turn = control_.turn + 1;
  const std::size_t copy = 1 - control_copy_;
  if (IoEnd end = write_synced(*controls_[copy], encode_control(control)); !end.done()) return end;
  control_copy_ = copy;
  const std::lock_guard lock(mutex_);
  control_ = std::move(control);
  groups_.erase(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(gone));
  return {};
}

IoEnd SegmentJournal::write_mark() {
  const std::size_t slot = 1 - mark_slot_;
  const Mark mark{.turn = mark_turn_ + 1, .id = control_.id, .durable = last()};
  if (IoEnd end = marks_->write(slot * kBlock, encode_mark(mark)); !end.done()) return end;
  mark_slot_ = slot;
  ++mark_turn_;
  return {};
}

Result<GroupStanding> SegmentJournal::standing(Epoch epoch, GroupNumber number) {
  if (!owned_ || epoch != control_.epoch) return GroupStanding::kFenced;
  return number <= last() ? GroupStanding::kThere : GroupStanding::kNotThere;
}

Result<void> SegmentJournal::read(GroupNumber first, GroupNumber last_wanted, const Visit& visit) {
  for (GroupNumber number = first; number <= last_wanted; number = next(number)) {
    Position position;
    File* file = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (number < control_.order.front().first || number > last())
        return fail(ErrorCode::kNotFound, "group " + std::to_string(number.value()));
      position = groups_[number.value() - control_.order.front().first.value()];
      file = files_.at(position.file).get();
    }
    POSTRIDER_TRY(bytes, file->read(position.offset, kGroupHeadBytes + position.length));
    const auto group = decode_group(control_.id, bytes);
    if (!group || group->head.number != number) {
      return fail(ErrorCode::kCorrupt, "journal " + segment_name(position.file) + ": group " +
                                           std::to_string(number.value()) + " at offset " +
                                           std::to_string(position.offset) + " cannot be read");
    }
    if (!visit(number, {group->content, group->head.batches})) return {};
  }
  return {};
}

Result<void> SegmentJournal::trim(Epoch epoch, GroupNumber last_trimmed) {
  if (!owned_ || epoch != control_.epoch)
    return fail(ErrorCode::kConflict, "another owner has the shard");
  if (!lost_.empty()) return fail(ErrorCode::kUnavailable, lost_);
  Control control = control_;
  while (control.order.size() > 1 && control.order[1].first <= next(last_trimmed)) {
    control.spare.push_back(control.order.front().file);
    control.order.erase(control.order.begin());
  }
  if (control.order.size() == control_.order.size()) return {};
  if (const IoEnd end = write_control(std::move(control)); !end.done()) return failed(end);
  return {};
}

std::uint64_t SegmentJournal::room() const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t left =
      options_.segments_max - std::min<std::uint64_t>(options_.segments_max, control_.order.size());
  const Position* newest = groups_.empty() ? nullptr : &groups_.back();
  std::uint64_t end = kBlock;
  if (newest != nullptr && newest->file == control_.order.back().file)
    end = newest->offset + padded(newest->length);
  return left * (control_.segment_bytes - kBlock) + control_.segment_bytes - end;
}

JournalFigures SegmentJournal::figures() const {
  const std::lock_guard lock(mutex_);
  return {.groups = appended_groups_,
          .bytes = appended_bytes_,
          .sync_time = sync_time_,
          .segments_in_use = static_cast<std::uint32_t>(control_.order.size())};
}

Result<void> SegmentJournal::close() {
  owned_ = false;
  if (!lost_.empty()) return fail(ErrorCode::kUnavailable, lost_);
  if (const IoEnd end = marks_->sync(); !end.done()) return failed(end);
  return {};
}

}  // namespace postrider::segments
