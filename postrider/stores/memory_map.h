// MemoryMap: the reference behind the Map seam. It forgets everything at the end of the process.
// One thread.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "postrider/model/seams/map.h"

namespace postrider {

class MemoryMap final : public Map {
 public:
  Result<void> load(const Run& run) override {
    for (const auto& [first, last] : run.removed_ranges) {
      if (first < last) records_.erase(records_.lower_bound(first), records_.lower_bound(last));
    }
    for (const auto& [key, value] : run.records) {
      if (value) {
        records_.insert_or_assign(std::string(key), Blob::copy_of(*value));
      } else if (const auto found = records_.find(key); found != records_.end()) {
        records_.erase(found);
      }
    }
    loaded_ = run.last;
    return {};
  }
  Result<GroupNumber> loaded() override { return loaded_; }

  Result<Found> read(const Reads& reads) override {
    Found found;
    for (const std::string& key : reads.keys) {
      const auto record = records_.find(key);
      found.set(key, record == records_.end() ? std::nullopt : std::optional<Blob>(record->second));
    }
    for (const Scan& scan : reads.scans) found.set(scan, rows_of(scan));
    return found;
  }
  std::size_t size() const { return records_.size(); }

 private:
  Rows rows_of(const Scan& scan) const {
    Rows out;
    if (scan.last <= scan.first) return out;
    const auto begin = records_.lower_bound(scan.first);
    const auto end = records_.lower_bound(scan.last);
    const auto take = [&](const auto& record) {
      if (out.rows.size() < scan.limit) return out.rows.emplace_back(record), true;
      return out.complete = false;
    };
    if (scan.backward) {
      for (auto at = end; at != begin;) {
        if (!take(*--at)) break;
      }
    } else {
      for (auto at = begin; at != end && take(*at); ++at) {
      }
    }
    return out;
  }

  std::map<std::string, Blob, std::less<>> records_;  // what its caller loads
  GroupNumber loaded_;
};

}  // namespace postrider
