#include "postrider/stores/rocks/reads.h"

#include <optional>
#include <string>
#include <utility>

#include <rocksdb/perf_level.h>
#include <rocksdb/snapshot.h>

#include "postrider/stores/rocks/database.h"

namespace postrider::rocks {
namespace {

class Snapshot {
 public:
  explicit Snapshot(rocksdb::DB& db) : db_(db), snapshot_(db.GetSnapshot()) {}
  ~Snapshot() { db_.ReleaseSnapshot(snapshot_); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  const rocksdb::Snapshot* get() const { return snapshot_; }

 private:
  rocksdb::DB& db_;
  const rocksdb::Snapshot* snapshot_;
};

Error unreadable(Database& database, const rocksdb::Status& status) {
  return error_of(status, "cannot read " + database.db().GetName());
}

Result<std::optional<Blob>> get(Database& database, const rocksdb::ReadOptions& options,
                                const std::string& key) {
  rocksdb::PinnableSlice value;
  const rocksdb::Status status =
      database.db().Get(options, database.handle(key), slice_of(key), &value);
  if (status.IsNotFound()) return std::optional<Blob>();
  if (!status.ok()) return tl::unexpected<Error>(unreadable(database, status));
  return std::optional<Blob>(Blob::copy_of(value.ToStringView()));
}

Result<Rows> rows_of(Database& database, const rocksdb::ReadOptions& options, const Scan& scan) {
  Rows out;
  rocksdb::ReadOptions wanted = options;
  wanted.fill_cache = !scan.once;
  const Database::Visit visit = [&](std::string_view key, std::string_view value) {
    out.complete = out.rows.size() < scan.limit;
    if (out.complete) out.rows.emplace_back(std::string(key), Blob::copy_of(value));
    return out.complete;
  };
  const rocksdb::Status status =
      scan.backward ? database.for_each_backward(wanted, scan.first, scan.last, visit)
                    : database.for_each(wanted, scan.first, scan.last, visit);
  if (!status.ok()) return tl::unexpected<Error>(unreadable(database, status));
  return out;
}

}  // namespace

void count_nothing() { rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable); }

Result<Found> read_from(Database& database, const Reads& reads) {
  count_nothing();
  rocksdb::ReadOptions options;
  std::optional<Snapshot> snapshot;
  if (reads.keys.size() + reads.scans.size() > 1) {
    snapshot.emplace(database.db());
    options.snapshot = snapshot->get();
  }
  Found found;
  for (const std::string& key : reads.keys) {
    POSTRIDER_TRY(value, get(database, options, key));
    found.set(key, std::move(value));
  }
  for (const Scan& asked : reads.scans) {
    POSTRIDER_TRY(rows, rows_of(database, options, asked));
    found.set(asked, std::move(rows));
  }
  return found;
}

}  // namespace postrider::rocks
