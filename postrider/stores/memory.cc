#include "postrider/stores/memory.h"

#include <utility>

#include "postrider/base/check.h"

namespace postrider {
namespace {

// A sequence has room for epochs of 24 bits.
constexpr std::uint64_t kEpochMax = (std::uint64_t{1} << (64 - kCounterBits)) - 1;

}  // namespace

MemoryStore::MemoryStore(MemoryStoreOptions options) : options_(options) {}
MemoryStore::~MemoryStore() = default;

Result<Epoch> MemoryStore::acquire(std::uint32_t shard) {
  if (shard >= kShards) return fail(ErrorCode::kInvalid, "there is no such shard");
  if (epochs_given_ == kEpochMax) return fail(ErrorCode::kLimit, "all epochs are used up");
  const Epoch epoch(++epochs_given_);
  owners_[shard] = epoch;
  return epoch;
}

void MemoryStore::commit(Epoch epoch, std::shared_ptr<const WriteBatch> batch, CommitDone done) {
  bool owns = false;
  for (const auto& [shard, owner] : owners_) owns = owns || owner == epoch;
  if (!owns) return done(CommitOutcome::kFailed);
  for (const Write& write : batch->writes()) apply(write);
  done(CommitOutcome::kDurable);
}

void MemoryStore::apply(const Write& write) {
  switch (write.kind) {
    case Write::Kind::kPutOnce: return put_once(write);
    case Write::Kind::kRemoveOnce: return remove_once(write);
    case Write::Kind::kPut: return put(write);
    case Write::Kind::kRemove: {
      const auto record = records_.find(write.key);
      if (record != records_.end()) take_out(record);
      return;
    }
    case Write::Kind::kRemoveRange: return remove_range(write);
  }
  POSTRIDER_CHECK(false);
}

void MemoryStore::put_once(const Write& write) {
  const auto at = records_.lower_bound(write.key);
  const bool is_there = at != records_.end() && at->first == write.key;
  POSTRIDER_CHECK(!is_there);
  if (options_.remember_once) {
    const bool is_new = ever_put_once_.insert(write.key).second;
    POSTRIDER_CHECK(is_new);
  }
  insert(at, write, true);
}

void MemoryStore::put(const Write& write) {
  const auto at = records_.lower_bound(write.key);
  const bool is_there = at != records_.end() && at->first == write.key;
  if (!is_there) return insert(at, write, false);
  POSTRIDER_CHECK(!at->second.once);
  at->second.value = write.value;
}

void MemoryStore::remove_once(const Write& write) {
  const auto record = records_.find(write.key);
  const bool was_put_once = record != records_.end() && record->second.once;
  POSTRIDER_CHECK(was_put_once);
  take_out(record);
}

void MemoryStore::remove_range(const Write& write) {
  auto record = records_.lower_bound(write.key);
  while (record != records_.end() && record->first < write.last) take_out(record++);
}

void MemoryStore::insert(Records::iterator before, const Write& write, bool once) {
  if (spare_nodes_.empty()) {
    records_.emplace_hint(before, write.key, Record{write.value, once});
    return;
  }
  Records::node_type node = std::move(spare_nodes_.back());
  spare_nodes_.pop_back();
  node.key().assign(write.key);
  node.mapped() = Record{write.value, once};
  records_.insert(before, std::move(node));
}

void MemoryStore::take_out(Records::iterator record) {
  if (spare_nodes_.size() == kSpareNodesMax) {
    records_.erase(record);
    return;
  }
  Records::node_type node = records_.extract(record);
  node.mapped().value = Blob();
  spare_nodes_.push_back(std::move(node));
}

void MemoryStore::read(const Reads& reads, ReadDone done) {
  Found found;
  for (const std::string& key : reads.keys) found.set(key, get(key));
  for (const Scan& asked : reads.scans) found.set(asked, scan(asked));
  done(std::move(found));
}

std::optional<Blob> MemoryStore::get(std::string_view key) const {
  const auto record = records_.find(key);
  if (record == records_.end()) return std::nullopt;
  return record->second.value;
}

Rows MemoryStore::scan(const Scan& scan) const {
  Rows out;
  if (scan.backward) {
    for (auto record = records_.lower_bound(scan.last);
         record != records_.begin() && (--record)->first >= scan.first;) {
      out.complete = out.rows.size() < scan.limit;
      if (!out.complete) break;
      out.rows.emplace_back(record->first, record->second.value);
    }
    return out;
  }
  for (auto record = records_.lower_bound(scan.first);
       record != records_.end() && record->first < scan.last; ++record) {
    if (out.rows.size() == scan.limit) {
      out.complete = false;
      break;
    }
    out.rows.emplace_back(record->first, record->second.value);
  }
  return out;
}

std::map<std::string, std::string> MemoryStore::contents() const {
  std::map<std::string, std::string> out;
  for (const auto& [key, record] : records_) out.emplace_hint(out.end(), key, record.value.view());
  return out;
}

bool MemoryStore::damage(std::string_view key) {
  const auto record = records_.find(key);
  if (record == records_.end() || record->second.value.size() == 0) return false;
  std::string bytes(record->second.value.view());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 0x10);
  record->second.value = Blob::copy_of(bytes);
  return true;
}

}  // namespace postrider
