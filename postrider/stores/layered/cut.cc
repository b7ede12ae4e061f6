// What survives of a chunk of groups: all writes are sorted, then each key is looked at once. A map
// of keys took three times as long for the records of a few hundred megabytes.
#include <algorithm>
#include <cstring>
#include <queue>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/stores/layered/group.h"
#include "postrider/stores/layered/tail.h"

namespace postrider::layered {
namespace {

struct Placed {
  std::uint64_t first_bytes;  // of the key: most comparisons end here
  std::string_view key;
  std::string_view value;
  std::uint64_t order;
  Write::Kind kind;

  bool operator<(const Placed& other) const {
    if (first_bytes != other.first_bytes) return first_bytes < other.first_bytes;
    const int by_key = key.compare(other.key);
    return by_key != 0 ? by_key < 0 : order < other.order;
  }
};

struct RemovedRange {
  std::string_view first;
  std::string_view last;
  std::uint64_t order;
};

std::uint64_t first_bytes_of(std::string_view key) {
  unsigned char bytes[sizeof(std::uint64_t)] = {};
  std::memcpy(bytes, key.data(), std::min(key.size(), sizeof bytes));
  std::uint64_t out = 0;
  for (const unsigned char byte : bytes) out = out << 8U | byte;
  return out;
}

// Asked for ascending keys: the newest range that removes a key.
class RangeSweep {
 public:
  explicit RangeSweep(std::vector<RemovedRange> ranges) : ranges_(std::move(ranges)) {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const auto& one, const auto& other) { return one.first < other.first; });
  }
  // Whether a range that was removed after `order` holds the key.
  bool removed_after(std::string_view key, std::uint64_t order) {
    for (; next_ < ranges_.size() && ranges_[next_].first <= key; ++next_)
      active_.push(ranges_[next_]);
    while (!active_.empty() && active_.top().last <= key) active_.pop();
    return !active_.empty() && active_.top().order > order;
  }

 private:
  struct Older {
    bool operator()(const RemovedRange& one, const RemovedRange& other) const {
      return one.order < other.order;
    }
  };
  std::vector<RemovedRange> ranges_;
  std::size_t next_ = 0;
  std::priority_queue<RemovedRange, std::vector<RemovedRange>, Older> active_;
};

bool is_removal(Write::Kind kind) {
  return kind == Write::Kind::kRemove || kind == Write::Kind::kRemoveOnce;
}

}  // namespace

// A record that was put once and removed inside the chunk never reaches the map; any other removal
// must be told, because the map may have the record. After an interrupted load it may have that one
// too: the load that is repeated can reach further than the interrupted one did.
Chunk cut(std::vector<GroupBytes> groups, GroupNumber last, MapHas has) {
  Chunk out;
  out.groups = std::move(groups);
  out.run.last = last;
  std::vector<Placed> placed;
  std::vector<RemovedRange> ranges;
  Ranges removed;
  for (const GroupBytes& group : out.groups) {
    const bool whole = for_each_write(*group, [&](const GroupWrite& write) {
      const std::uint64_t order = out.writes++;
      if (write.kind == Write::Kind::kRemoveRange) {
        ranges.push_back({write.key, write.value, order});
        removed.add(write.key, write.value);
        return;
      }
      placed.push_back({first_bytes_of(write.key), write.key, write.value, order, write.kind});
    });
    POSTRIDER_CHECK(whole);  // it was checked when it was read, or made here
  }
  for (const auto& range : removed.all()) out.run.removed_ranges.emplace_back(range);
  std::sort(placed.begin(), placed.end());
  RangeSweep sweep(std::move(ranges));
  for (std::size_t i = 0; i < placed.size();) {
    std::size_t end = i;
    bool put_once = false;
    for (; end < placed.size() && placed[end].key == placed[i].key; ++end)
      put_once = put_once || placed[end].kind == Write::Kind::kPutOnce;
    const Placed& newest = placed[end - 1];
    i = end;
    if (sweep.removed_after(newest.key, newest.order)) continue;
    if (!is_removal(newest.kind)) {
      out.run.records.emplace_back(newest.key, newest.value);
    } else if (newest.kind != Write::Kind::kRemoveOnce || !put_once ||
               has != MapHas::kNothingOfTheTail) {
      out.run.records.emplace_back(newest.key, std::nullopt);
    }
  }
  return out;
}

}  // namespace postrider::layered
