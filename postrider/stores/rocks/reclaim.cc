#include "postrider/stores/rocks/reclaim.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table_properties.h>

namespace postrider::rocks {
namespace {

constexpr std::uint64_t kWorthBytes = 1U << 20;
constexpr Family kAll[kFamilies] = {Family::kLive, Family::kHot, Family::kKept};

bool has_memtables(Database& database) {
  std::uint64_t active = 0;
  std::uint64_t waiting = 0;
  (void)database.db().GetAggregatedIntProperty("rocksdb.num-entries-active-mem-table", &active);
  (void)database.db().GetAggregatedIntProperty("rocksdb.num-entries-imm-mem-tables", &waiting);
  return active + waiting != 0;
}

// Exactly, because memtables do not count what is removed once; no further than `most`.
std::uint64_t living_in_memtables(Database& database, std::uint64_t most) {
  rocksdb::ReadOptions options;
  options.read_tier = rocksdb::kMemtableTier;
  std::uint64_t sum = 0;
  for (const Family family : kAll) {
    const std::unique_ptr<rocksdb::Iterator> at(
        database.db().NewIterator(options, database.handle(family)));
    for (at->SeekToFirst(); at->Valid() && sum <= most; at->Next())
      sum += at->key().size() + at->value().size();
  }
  return sum;
}

Held in_tables(Database& database, Family family) {
  Held held;
  rocksdb::TablePropertiesCollection tables;
  const rocksdb::Status status =
      database.db().GetPropertiesOfAllTables(database.handle(family), &tables);
  if (!status.ok()) return {};  // a table that cannot be read is told of by those that need it
  for (const auto& [name, table] : tables) {
    held.bytes += table->data_size + table->index_size + table->filter_size;
    held.entries += table->num_entries;
    held.deletions += table->num_deletions;
    held.range_deletions += table->num_range_deletions;
  }
  return held;
}

// A log goes when all families have written what it holds.
void write_memtables(Database& database) {
  rocksdb::FlushOptions options;
  options.wait = true;
  options.allow_write_stall = true;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (const Family family : kAll) handles.push_back(database.handle(family));
  (void)database.db().Flush(options, handles);
}

void compact(Database& database, Family family) {
  rocksdb::CompactRangeOptions options;
  options.exclusive_manual_compaction = false;
  options.allow_write_stall = true;
  // A table may have been moved to the last level as it was, deletions and all.
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForceOptimized;
  const Database::AssumedRoom assumed(database);
  (void)database.db().CompactRange(options, database.handle(family), nullptr, nullptr);
}

}  // namespace

std::uint64_t living_bytes(const Held& held) {
  if (held.range_deletions != 0) return held.bytes;
  const std::uint64_t puts = held.entries - std::min(held.entries, held.deletions);
  if (puts <= held.deletions) return 0;
  const double part = static_cast<double>(puts - held.deletions) / static_cast<double>(puts);
  return static_cast<std::uint64_t>(part * static_cast<double>(held.bytes));
}

bool is_worth_writing(const Held& held, std::uint64_t free_bytes) {
  const std::uint64_t living = living_bytes(held);
  const bool gives = held.bytes - living >= kWorthBytes ||
                     (held.range_deletions != 0 && held.bytes >= kWorthBytes);
  return gives && living <= free_bytes / 2;
}

void reclaim(Database& database, const Directory& directory, const std::atomic<bool>& ended) {
  const auto free_bytes = [&] { return directory.free_bytes().value_or(0); };
  const std::uint64_t most = free_bytes() / 2;
  // Few bytes of removals can be the end of many.
  if (has_memtables(database) && living_in_memtables(database, most) <= most)
    write_memtables(database);
  for (const Family family : kAll) {
    if (ended) return;
    if (is_worth_writing(in_tables(database, family), free_bytes())) compact(database, family);
  }
}

}  // namespace postrider::rocks
