// Store: the seam to durable memory. Ordered keys, atomic batches, one owner. Reads and commits may
// finish later; they finish on the caller's thread, in an order of the store's choosing for reads
// and in order for commits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "postrider/base/bytes.h"
#include "postrider/base/result.h"
#include "postrider/model/ids.h"

namespace postrider {

struct Write {
  enum class Kind : std::uint8_t {
    kPutOnce,     // a key that was never put before, and never will be again
    kRemoveOnce,  // of a key that was put once; cheaper than kRemove, and wrong for anything else
    kPut,
    kRemove,
    kRemoveRange,  // [key, last)
  };
  Kind kind;
  std::string key;
  Blob value;        // of the puts
  std::string last;  // of kRemoveRange
};

// Appended in order; later writes win. Bytes are counted as the store will be given them.
class WriteBatch {
 public:
  void put_once(std::string key, Blob value) {
    add(Write::Kind::kPutOnce, std::move(key), std::move(value));
  }
  void remove_once(std::string key) { add(Write::Kind::kRemoveOnce, std::move(key), {}); }
  void put(std::string key, Blob value) {
    add(Write::Kind::kPut, std::move(key), std::move(value));
  }
  void put(std::string key, std::string_view value) {
    add(Write::Kind::kPut, std::move(key), Blob::copy_of(value));
  }
  void remove(std::string key) { add(Write::Kind::kRemove, std::move(key), {}); }
  void remove_range(std::string first, std::string last) {
    bytes_ += last.size();
    add(Write::Kind::kRemoveRange, std::move(first), {}).last = std::move(last);
  }

  const std::vector<Write>& writes() const { return writes_; }
  std::size_t bytes() const { return bytes_; }
  bool empty() const { return writes_.empty(); }
  void clear() {
    writes_.clear();
    bytes_ = 0;
  }

 private:
  Write& add(Write::Kind kind, std::string&& key, Blob&& value) {
    bytes_ += key.size() + value.size();
    Write& write = writes_.emplace_back();  // filled in where it stands
    write.kind = kind;
    write.key = std::move(key);
    write.value = std::move(value);
    return write;
  }
  std::vector<Write> writes_;
  std::size_t bytes_ = 0;
};

struct Scan {
  std::string first;  // [first, last), ascending …
  std::string last;
  std::uint32_t limit = 0;
  bool once = false;      // it is not read again soon: not worth a place in a cache
  bool backward = false;  // … or descending, from its end

  friend bool operator==(const Scan&, const Scan&) = default;
};

// What an event must know before it can be decided.
struct Reads {
  std::vector<std::string> keys;
  std::vector<Scan> scans;

  bool empty() const { return keys.empty() && scans.empty(); }
};

using Row = std::pair<std::string, Blob>;
struct Rows {
  std::vector<Row> rows;
  bool complete = true;  // false: the limit cut it short
  std::string next;  // filled in by the view when not complete: everything before it is known, go
                     // on from here; backward: everything from it on is, go on up to here
};

// Answers to Reads. A key that was never asked for is different from one that is not there.
class Found {
 public:
  // nullptr: not read yet. Otherwise the value, empty when the store has none.
  const std::optional<Blob>* get(std::string_view key) const {
    for (const auto& entry : values_) {
      if (entry.first == key) return &entry.second;
    }
    return nullptr;
  }
  const Rows* scan(const Scan& scan) const {
    for (const auto& entry : scans_) {
      if (entry.first == scan) return &entry.second;
    }
    return nullptr;
  }
  void absorb(Found other) {
    for (auto& entry : other.values_) values_.push_back(std::move(entry));
    for (auto& entry : other.scans_) scans_.push_back(std::move(entry));
  }
  void set(std::string key, std::optional<Blob> value) {
    values_.emplace_back(std::move(key), std::move(value));
  }
  void set(Scan scan, Rows rows) { scans_.emplace_back(std::move(scan), std::move(rows)); }

 private:
  std::vector<std::pair<std::string, std::optional<Blob>>> values_;
  std::vector<std::pair<Scan, Rows>> scans_;
};

enum class CommitOutcome : std::uint8_t {
  kDurable,
  kFailed,     // nothing was written
  kAmbiguous,  // all or nothing was written, and the store cannot tell which
  kNoSync,     // the disk failed: what it holds is unknown for good, so the process must stop
};

class Store {
 public:
  virtual ~Store() = default;

  // Takes the shard away from any earlier owner, whose commits fail from now on, and returns an
  // epoch never used before.
  virtual Result<Epoch> acquire(std::uint32_t shard) = 0;

  // Atomic and durable when `done(kDurable)` is called. Batches take effect in the order of the
  // calls. `batch` stays untouched until then.
  using CommitDone = std::function<void(CommitOutcome)>;
  virtual void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) = 0;

  // Sees at least everything that was durable when it was called. An Error means the store cannot
  // be read.
  using ReadDone = std::function<void(Result<Found>)>;
  virtual void read(const Reads& reads, ReadDone done) = 0;
};

// The same verbs for a store that makes its caller wait. runtime/committer gives it threads and so
// makes a Store of it. One thread writes; any may read.
class BlockingStore {
 public:
  virtual ~BlockingStore() = default;

  // Durable when it returns: so it is also the probe that tells whether a full disk has room again.
  // ErrorCode::kLimit: no space. ErrorCode::kUnavailable: the disk fails.
  virtual Result<Epoch> acquire(std::uint32_t shard) = 0;

  struct Written {
    CommitOutcome outcome = CommitOutcome::kDurable;
    std::string reason;  // for people, when not durable
  };
  virtual Written write(Epoch epoch, const WriteBatch& batch) = 0;

  virtual Result<Found> read(const Reads& reads) = 0;
};

}  // namespace postrider
