// View: what an event sees. The open turn's writes, then the batches in commit, then what the store
// found, for keys and ranges alike; so an event sees everything decided before it, durable or not.
// A batch stays in the view until every read that was asked before it became durable has been used:
// such a read may have missed it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/model/seams/store.h"

namespace postrider {

class View {
 public:
  // Reads are numbered in the order in which they are asked.
  std::uint64_t begin_read() { return ++last_read_; }

  void commit(std::shared_ptr<const WriteBatch> batch);  // the open turn's batch goes into commit
  void durable();                                        // the oldest batch in commit is durable
  void forget_before(
      std::uint64_t oldest_read);  // reads before this one have been used; 0: none is left

  // What the store found, as it looks through the batches and the `open` turn's writes.
  Found look(const Found& from_store, const Reads& reads, const WriteBatch& open);
  // The value of a key that some batch or the open turn decides; nullopt when only the store can
  // tell.
  std::optional<std::optional<Blob>> peek(std::string_view key, const WriteBatch& open);

  std::size_t layers() const { return layers_.size(); }

 private:
  // A batch with an index that is made at the first look, and extended as the batch grows.
  struct Index {
    std::map<std::string, std::optional<Blob>, std::less<>> last;  // key: value, or removed
    std::vector<std::pair<std::string, std::string>> ranges;       // removed, in order
    std::size_t seen = 0;
  };
  struct Layer {
    std::shared_ptr<const WriteBatch> batch;
    Index index;
    std::uint64_t durable_at = 0;  // reads up to this one may have missed it; 0: still in commit
  };
  static void extend(Index& index, const WriteBatch& batch);
  static std::optional<std::optional<Blob>> find(const Index& index, std::string_view key);
  using RowMap = std::map<std::string, Blob, std::less<>>;
  struct Known {  // [first, last)
    std::string first;
    std::string last;
  };
  static void overlay(const Index& index, const Known& known, RowMap& rows);
  Rows merge(const Scan& scan, const Rows& from_store);

  std::deque<Layer> layers_;  // oldest first
  Index open_;
  std::uint64_t last_read_ = 0;
};

}  // namespace postrider
