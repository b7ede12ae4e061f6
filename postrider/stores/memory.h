// MemoryStore: the reference behind the Store seam. It forgets everything at the end of the
// process; commits and reads finish before the call returns. It is strict where a real store would
// only misbehave later: it aborts on a second put_once, on a remove_once without its put_once, and
// on a put over a once-record. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/model/seams/store.h"

namespace postrider {

struct MemoryStoreOptions {
  // Remembers every key that was ever put once, so that a second put_once is noticed after a
  // remove_once too. Grows with the number of messages: for tests only.
  bool remember_once = false;
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(MemoryStoreOptions options = {});
  ~MemoryStore() override;
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  Result<Epoch> acquire(std::uint32_t shard) override;
  void commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) override;
  void read(const Reads& reads, ReadDone done) override;

  // The same without a callback, for tests.
  std::optional<Blob> get(std::string_view key) const;
  Rows scan(const Scan& scan) const;
  std::size_t size() const { return records_.size(); }
  std::map<std::string, std::string> contents() const;
  // Flips a bit in the middle of a record, as a bad disk does. False: there is no such record.
  bool damage(std::string_view key);

 private:
  struct Record {
    Blob value;
    bool once = false;
  };
  using Records = std::map<std::string, Record, std::less<>>;
  // Nodes of removed records are kept for the next ones: in a steady state a commit allocates
  // nothing.
  static constexpr std::size_t kSpareNodesMax = 4096;

  void apply(const Write& write);
  void put_once(const Write& write);
  void put(const Write& write);
  void remove_once(const Write& write);
  void remove_range(const Write& write);
  void insert(Records::iterator before, const Write& write, bool once);
  void take_out(Records::iterator record);

  MemoryStoreOptions options_;
  Records records_;
  std::vector<Records::node_type> spare_nodes_;
  std::set<std::string, std::less<>> ever_put_once_;
  std::map<std::uint32_t, Epoch> owners_;  // by shard; at most kShards
  std::uint64_t epochs_given_ = 0;
};

}  // namespace postrider
