#include "postrider/stores/journaled/journaled_store.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "postrider/stores/journaled/open_parts.h"
#include "postrider/stores/journaled/spill_rule.h"
#include "postrider/stores/layered/layered_store.h"

namespace postrider {
namespace {

using journaled::JournalState;
using journaled::SpillRule;
using journaled::SteadyTime;

// Between two tries to move something into a map that has no room.
constexpr std::chrono::seconds kPause(1);

}  // namespace

class JournaledStore::Impl {
 public:
  Impl(journaled::Parts parts, const StoreOptions& options)
      : parts_(std::move(parts)),
        layered_(*parts_.journal, *parts_.map),
        rule_{.after = options.spill_after} {}
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<Epoch> acquire(std::uint32_t shard);
  Written write(Epoch epoch, const WriteBatch& batch);
  Result<void> spill();
  Result<void> close();
  void stop();
  bool takes_new() const {
    return journaled::takes_new(parts_.journal->figures().segments_in_use,
                                parts_.journal->segments_max());
  }
  JournalCounts counts() const;

  journaled::Parts parts_;
  layered::LayeredStore layered_;

 private:
  void run();
  Result<void> spill_once();
  void note_write();
  bool wait_for_spill();
  std::uint32_t sealed() const { return parts_.journal->figures().segments_in_use - 1; }

  SpillRule rule_;
  std::mutex spill_mutex_;  // one spill at a time

  std::mutex mutex_;  // guards what follows
  std::condition_variable wakes_;
  std::condition_variable spilled_;
  std::optional<SteadyTime> oldest_;
  SteadyTime newest_;
  bool wanted_ = false;         // a commit waits for room
  std::uint64_t spills_ended_ = 0;
  Result<void> last_spill_;
  bool stopping_ = false;
  std::string lost_;  // why the map takes nothing more: the disk fails
  std::thread thread_;
};

Result<Epoch> JournaledStore::Impl::acquire(std::uint32_t shard) {
  if (layered_.is_full()) {
    // A probe as well: what cannot be moved now makes no room for commits.
    if (auto spilled = spill(); !spilled) return tl::unexpected<Error>(spilled.error());
  }
  POSTRIDER_TRY(epoch, layered_.acquire(shard));
  const std::lock_guard lock(mutex_);
  // What was found in the journal is as old as this process, at least.
  if (layered_.tail_groups() != 0 && !oldest_)
    oldest_ = newest_ = std::chrono::steady_clock::now();
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wakes_.notify_one();
  return epoch;
}

BlockingStore::Written JournaledStore::Impl::write(Epoch epoch, const WriteBatch& batch) {
  {
    const std::lock_guard lock(mutex_);
    if (!lost_.empty()) return {CommitOutcome::kNoSync, lost_};
  }
  Written written = layered_.write(epoch, batch);
  while (written.outcome == CommitOutcome::kFailed && layered_.is_full() && wait_for_spill())
    written = layered_.write(epoch, batch);
  if (written.outcome == CommitOutcome::kDurable) note_write();
  return written;
}

void JournaledStore::Impl::note_write() {
  const auto now = std::chrono::steady_clock::now();
  const bool many = sealed() >= SpillRule::kSealedMax;
  const std::lock_guard lock(mutex_);
  newest_ = now;
  const bool first = !oldest_.has_value();
  if (first) oldest_ = now;
  if (first || many) wakes_.notify_one();
}

// The journal is full: the thread is woken. False: what it holds cannot be moved either.
bool JournaledStore::Impl::wait_for_spill() {
  std::unique_lock lock(mutex_);
  if (!thread_.joinable() || stopping_) return false;
  // One that is under way may have begun before the newest groups; the one after it has not.
  wanted_ = true;
  const std::uint64_t now = spills_ended_;
  wakes_.notify_one();
  spilled_.wait(lock, [&] { return stopping_ || spills_ended_ > now; });
  return !stopping_ && last_spill_.has_value();
}

void JournaledStore::Impl::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto now = std::chrono::steady_clock::now();
    const auto due = journaled::spill_at({sealed(), oldest_, newest_}, rule_, now);
    if (!wanted_ && !due) {
      wakes_.wait(lock);
      continue;
    }
    if (!wanted_ && *due > now) {
      wakes_.wait_until(lock, *due);
      continue;
    }
    wanted_ = false;
    lock.unlock();
    const Result<void> done = spill_once();
    // A commit that begins the next segment does not have to make it.
    if (done) (void)parts_.journal->prepare();
    lock.lock();
    ++spills_ended_;
    last_spill_ = done;
    if (!done && done.error().code != ErrorCode::kLimit && lost_.empty())
      lost_ = done.error().detail;
    spilled_.notify_all();
    if (!done && !stopping_) wakes_.wait_for(lock, kPause, [this] { return stopping_; });
  }
}

Result<void> JournaledStore::Impl::spill_once() {
  const std::lock_guard one(spill_mutex_);
  std::optional<SteadyTime> then;
  {
    // What is written from here on may come too late for this spill.
    const std::lock_guard lock(mutex_);
    then = std::exchange(oldest_, std::nullopt);
  }
  Result<void> done = layered_.spill();
  if (!done) {
    const std::lock_guard lock(mutex_);
    oldest_ = then;
  }
  return done;
}

Result<void> JournaledStore::Impl::spill() { return spill_once(); }

void JournaledStore::Impl::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wakes_.notify_all();
  spilled_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<void> JournaledStore::Impl::close() {
  const bool was_owned = thread_.joinable();
  stop();
  if (!lost_.empty())
    return fail(ErrorCode::kUnavailable, "the store was not closed cleanly: " + lost_);
  // Without room the next start reads the journal.
  Result<void> spilled;
  if (was_owned) spilled = spill_once();
  if (!spilled && spilled.error().code != ErrorCode::kLimit) return spilled;
  if (auto closed = parts_.journal->close(); !closed) return closed;
  return parts_.map->close();
}

JournalCounts JournaledStore::Impl::counts() const {
  const segments::JournalFigures journal = parts_.journal->figures();
  const layered::LayeredStore::Spilled spilled = layered_.spilled();
  return {.groups = journal.groups,
          .bytes = journal.bytes,
          .sync_time = journal.sync_time,
          .tail_bytes = layered_.tail_bytes(),
          .segments = journal.segments_in_use,
          .spill_records = spilled.writes,
          .spill_survivors = spilled.survivors,
          .spill_time = spilled.time};
}

JournaledStore::JournaledStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
JournaledStore::~JournaledStore() = default;

Result<std::unique_ptr<JournaledStore>> JournaledStore::open(const StoreOptions& options) {
  POSTRIDER_TRY(parts, journaled::open_parts(options));
  auto impl = std::make_unique<Impl>(std::move(parts), options);
  if (auto begun = impl->layered_.begin(impl->parts_.journal->found()); !begun)
    return fail(begun.error().code, options.directory + ": " + begun.error().detail);
  return std::unique_ptr<JournaledStore>(new JournaledStore(std::move(impl)));
}

Result<Epoch> JournaledStore::acquire(std::uint32_t shard) { return impl_->acquire(shard); }
BlockingStore::Written JournaledStore::write(Epoch epoch, const WriteBatch& batch) {
  return impl_->write(epoch, batch);
}
Result<Found> JournaledStore::read(const Reads& reads) { return impl_->layered_.read(reads); }
Result<void> JournaledStore::close() { return impl_->close(); }
Result<std::uint64_t> JournaledStore::free_bytes() const {
  return impl_->parts_.directory->free_bytes();
}
std::uint64_t JournaledStore::reclaim() {
  return impl_->parts_.map->reclaim(*impl_->parts_.directory);
}
void JournaledStore::end_reclaim() { impl_->parts_.map->end_reclaim(); }
StoreMemory JournaledStore::memory() const {
  StoreMemory out = impl_->parts_.map->memory();
  out.memtables = impl_->layered_.tail_bytes();
  return out;
}
bool JournaledStore::takes_new() const { return impl_->takes_new(); }
std::optional<JournalCounts> JournaledStore::journal() const { return impl_->counts(); }
Result<void> JournaledStore::spill() { return impl_->spill(); }

}  // namespace postrider
