// Committer: gives a BlockingStore its threads and so makes a Store of it. One thread writes, one
// reads; the loop hands over whole vectors and takes whole vectors back, with one wake-up for as
// much as there is. Created, called and destroyed on the loop's thread; callbacks run inside poll()
// on that thread only.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "postrider/model/seams/store.h"

namespace postrider {

struct CommitterOptions {
  bool reader_thread = true;  // false: the writing thread reads too, between its commits
};

// Since the start, for metrics.
struct CommitCounters {
  std::uint64_t commits = 0;  // durable ones
  std::uint64_t failed = 0;   // the others
  std::uint64_t records = 0;  // of the durable ones, as the next three
  std::uint64_t puts = 0;     // of the records; the others remove
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds time{0};
  std::uint64_t reads = 0;
};

class Committer final : public Store {
 public:
  // `wake` asks the loop to call poll() soon. It is called from our threads, at most once for what
  // one poll() will take.
  Committer(BlockingStore& store, std::function<void()> wake, CommitterOptions options = {});
  ~Committer() override;
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // Waits for the commit that is being written, then for the store. Commits of an earlier owner
  // that were asked for and not begun fail afterwards.
  Result<Epoch> acquire(std::uint32_t shard) override;
  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override;
  // Reads that were asked for together come back together.
  void read(const Reads& reads, ReadDone done) override;

  // Runs the callbacks of all that has finished; returns how many.
  std::size_t poll();

  // Finishes everything that was asked for and ends the threads; poll() still works afterwards,
  // commit() and read() no longer. The destructor does the same, and drops the callbacks.
  void stop();

  // Why the latest commit that was not durable was not, as of the last poll().
  const std::string& last_reason() const { return last_reason_; }
  CommitCounters counters() const;

 private:
  struct CommitRequest {
    Epoch epoch;
    std::shared_ptr<const WriteBatch> batch;
    CommitDone done;
  };
  struct ReadRequest {
    Reads reads;
    ReadDone done;
  };
  struct Committed {
    CommitRequest request;
    BlockingStore::Written written;
  };
  struct HasRead {
    ReadDone done;
    Result<Found> found;
  };

  void write_loop();
  void read_loop();
  void write(std::vector<CommitRequest>& requests);
  void serve(std::vector<ReadRequest>& requests);
  void wake_once();  // unless a poll() is on its way already

  BlockingStore& store_;
  std::function<void()> wake_;
  CommitterOptions options_;
  std::string last_reason_;  // of the loop's thread

  std::mutex
      store_mutex_;  // held while the store is written to: by the writing thread or acquire()

  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable writer_wakes_;
  std::condition_variable reader_wakes_;
  std::vector<CommitRequest> commits_;
  std::vector<ReadRequest> reads_;
  std::vector<Committed> committed_;
  std::vector<HasRead> has_read_;
  CommitCounters counters_;
  bool woken_ = false;  // a poll() is on its way
  bool stopping_ = false;

  std::thread writer_;
  std::thread reader_;
};

}  // namespace postrider
