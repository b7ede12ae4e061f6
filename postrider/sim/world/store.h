// SimDisk and SimStore: durable memory that fails in every way a real one can. The disk outlives
// processes; a SimStore is one process's handle to it, and what the handle waits for is forgotten
// when the process dies. Like the memory store it aborts on a second put_once of a key, over all
// incarnations, and on a remove_once without its put_once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "postrider/base/rng.h"
#include "postrider/model/seams/store.h"
#include "postrider/sim/world/agenda.h"
#include "postrider/sim/world/faults.h"

namespace postrider::sim {

// A batch that has become durable, as the checkers see it.
struct Applied {
  struct Range {
    char space;
    std::uint64_t records;  // removed
  };
  Epoch epoch;
  const WriteBatch& batch;
  std::vector<Range> ranges;
};

class SimDisk {
 public:
  struct Record {
    Blob value;
    bool once = false;
  };
  using Records = std::map<std::string, Record, std::less<>>;
  using Observer = std::function<void(const Applied&)>;

  SimDisk() = default;
  SimDisk(const SimDisk&) = delete;
  SimDisk& operator=(const SimDisk&) = delete;

  void observe(Observer observer) { observer_ = std::move(observer); }

  const Records& records() const { return records_; }
  std::optional<Blob> get(std::string_view key) const;
  Rows scan(const Scan& scan) const;
  std::map<std::string, std::string> contents() const;
  // A second disk with the same records and owner, for a look at what a restart would find.
  void copy_to(SimDisk& other) const;

  Epoch owner() const { return owner_; }
  Result<Epoch> acquire(std::uint32_t shard);
  void apply(Epoch epoch, const WriteBatch& batch);

  // Damages one record of `space`: a flipped bit, or a cut tail. Returns its key; nullopt when the
  // space is empty.
  std::optional<std::string> damage(char space, bool torn, Rng& rng);

  std::uint64_t commits() const { return commits_; }

 private:
  void put_once(const Write& write);
  void remove_once(const Write& write);
  void put(const Write& write);
  std::uint64_t remove_range(const Write& write);

  Records records_;
  std::unordered_set<std::uint64_t> ever_put_once_;  // hashes of keys; asked for membership only
  Observer observer_;
  Epoch owner_;
  std::uint64_t epochs_given_ = 0;
  std::uint64_t commits_ = 0;
};

// Times and faults of one world, shared by all handles.
struct StoreSurroundings {
  Agenda& agenda;
  SimDisk& disk;
  Faults* faults = nullptr;  // null: everything works, and at once
  Rng rng{0};
  bool disk_full = false;
  // Called after each operation that crash points count: a batch applied, a completion told, a read
  // answered.
  std::function<void()> after_operation;
};

class SimStore final : public Store {
 public:
  explicit SimStore(StoreSurroundings& around);
  ~SimStore() override;
  SimStore(const SimStore&) = delete;
  SimStore& operator=(const SimStore&) = delete;

  Result<Epoch> acquire(std::uint32_t shard) override;
  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override;
  void read(const Reads& reads, ReadDone done) override;

  // The process dies: nothing more is told. Of the batches that are not durable yet the first
  // `kept` become so.
  void crash(std::size_t kept);
  std::size_t undurable() const;
  bool committing() const { return !commits_.empty(); }
  bool busy() const { return !commits_.empty() || !reads_.empty(); }
  std::uint64_t commits_called() const { return commits_called_; }

 private:
  struct Commit {
    Epoch epoch;
    std::shared_ptr<const WriteBatch> batch;
    CommitDone done;
    CommitOutcome outcome = CommitOutcome::kDurable;
    bool written = true;
    bool applied = false;
  };
  struct Read {
    Reads reads;
    ReadDone done;
    Found found;
    std::vector<bool> early;  // asked at once; the others when the answer is due
    bool failed = false;
  };

  void draw_fate(Commit& commit);
  Duration commit_time();
  Duration read_time();
  void apply(std::uint64_t serial);
  void tell(std::uint64_t serial);
  void answer(std::uint64_t serial);
  void look(Read& read, bool early);
  void counted() const;

  StoreSurroundings& around_;
  // Completions on the agenda find out here whether somebody still waits; the shared flag outlives
  // the handle.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::map<std::uint64_t, Commit> commits_;
  std::map<std::uint64_t, Read> reads_;
  std::uint64_t serial_ = 0;
  std::uint64_t commits_called_ = 0;
  Timestamp last_told_;
};

}  // namespace postrider::sim
