#include "postrider/runtime/committer.h"

#include <utility>

#include "postrider/base/check.h"

namespace postrider {
namespace {

std::uint64_t puts_in(const WriteBatch& batch) {
  std::uint64_t count = 0;
  for (const Write& write : batch.writes()) {
    count += write.kind == Write::Kind::kPutOnce || write.kind == Write::Kind::kPut ? 1U : 0U;
  }
  return count;
}

}  // namespace

Committer::Committer(BlockingStore& store, std::function<void()> wake, CommitterOptions options)
    : store_(store), wake_(std::move(wake)), options_(options) {
  writer_ = std::thread([this] { write_loop(); });
  if (options_.reader_thread) reader_ = std::thread([this] { read_loop(); });
}

Committer::~Committer() { stop(); }

void Committer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  writer_wakes_.notify_one();
  reader_wakes_.notify_one();
  if (writer_.joinable()) writer_.join();
  if (reader_.joinable()) reader_.join();
}

Result<Epoch> Committer::acquire(std::uint32_t shard) {
  const std::lock_guard lock(store_mutex_);
  return store_.acquire(shard);
}

void Committer::commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) {
  {
    const std::lock_guard lock(mutex_);
    POSTRIDER_CHECK(!stopping_);
    commits_.push_back({epoch, std::move(batch), std::move(done)});
  }
  writer_wakes_.notify_one();
}

void Committer::read(const Reads& reads, ReadDone done) {
  {
    const std::lock_guard lock(mutex_);
    POSTRIDER_CHECK(!stopping_);
    reads_.push_back({reads, std::move(done)});
  }
  (options_.reader_thread ? reader_wakes_ : writer_wakes_).notify_one();
}

void Committer::write_loop() {
  std::vector<CommitRequest> commits;
  std::vector<ReadRequest> reads;
  const bool reads_too = !options_.reader_thread;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      writer_wakes_.wait(
          lock, [&] { return stopping_ || !commits_.empty() || (reads_too && !reads_.empty()); });
      commits.swap(commits_);
      if (reads_too) reads.swap(reads_);
      if (commits.empty() && reads.empty()) return;  // stopping, and nothing is left
    }
    write(commits);
    serve(reads);
  }
}

void Committer::read_loop() {
  std::vector<ReadRequest> reads;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      reader_wakes_.wait(lock, [&] { return stopping_ || !reads_.empty(); });
      reads.swap(reads_);
      if (reads.empty()) return;
    }
    serve(reads);
  }
}

void Committer::wake_once() {
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    wake = !std::exchange(woken_, true);
  }
  if (wake) wake_();
}

void Committer::write(std::vector<CommitRequest>& requests) {
  for (CommitRequest& request : requests) {
    BlockingStore::Written written;
    const auto begun = std::chrono::steady_clock::now();
    {
      const std::lock_guard lock(store_mutex_);
      written = store_.write(request.epoch, *request.batch);
    }
    const auto time = std::chrono::steady_clock::now() - begun;
    {
      const std::lock_guard lock(mutex_);
      if (written.outcome == CommitOutcome::kDurable) {
        ++counters_.commits;
        counters_.records += request.batch->writes().size();
        counters_.puts += puts_in(*request.batch);
        counters_.bytes += request.batch->bytes();
        counters_.time += time;
      } else {
        ++counters_.failed;
      }
      committed_.push_back({std::move(request), std::move(written)});
    }
    wake_once();
  }
  requests.clear();
}

void Committer::serve(std::vector<ReadRequest>& requests) {
  if (requests.empty()) return;
  std::vector<HasRead> answers;
  answers.reserve(requests.size());
  for (ReadRequest& request : requests)
    answers.push_back({std::move(request.done), store_.read(request.reads)});
  requests.clear();
  {
    const std::lock_guard lock(mutex_);
    counters_.reads += answers.size();
    for (HasRead& answer : answers) has_read_.push_back(std::move(answer));
  }
  wake_once();
}

std::size_t Committer::poll() {
  std::vector<Committed> committed;
  std::vector<HasRead> has_read;
  {
    const std::lock_guard lock(mutex_);
    committed.swap(committed_);
    has_read.swap(has_read_);
    woken_ = false;
  }
  for (Committed& one : committed) {
    if (one.written.outcome != CommitOutcome::kDurable)
      last_reason_ = std::move(one.written.reason);
    // The caller may use the memory of its batch again as soon as it hears of the outcome.
    one.request.batch.reset();
    one.request.done(one.written.outcome);
  }
  for (HasRead& one : has_read) one.done(std::move(one.found));
  return committed.size() + has_read.size();
}

CommitCounters Committer::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace postrider
