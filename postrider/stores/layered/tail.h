// Tail: the groups between the map's mark and the newest durable one, as they were written. It
// answers what they say of a key or a range, and gives what survives of them to the map.
//
// Invariants. Groups are numbered without gaps. An index exists only of spaces (first bytes of
// keys) that were read, and is a view into the groups: forgetting a group forgets every index.
//
// Not for several threads at once; LayeredStore guards it. What it returns stays right when the
// tail changes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/model/seams/map.h"
#include "postrider/stores/layered/ranges.h"

namespace postrider::layered {

using GroupBytes = std::shared_ptr<const std::string>;

// What the tail says of one Scan: its records in the order of the scan, and what is removed below
// them. A record without a value is removed.
struct Slice {
  std::vector<std::pair<std::string, std::optional<Blob>>> records;
  Ranges removed;
  // The records end here because there are enough; what comes behind was not looked at.
  bool cut = false;
};

struct Lookup {
  bool known = false;  // otherwise the map knows
  std::optional<Blob> value;
};

// Whether the map may have records of the tail already, because a load was interrupted.
enum class MapHas : std::uint8_t { kNothingOfTheTail, kPerhapsSome };

// A run, and the groups that it is a view of.
struct Chunk {
  Run run;
  std::vector<GroupBytes> groups;
  std::uint64_t writes = 0;  // in the groups
};
// What survives of groups that follow one another, the newest of which is `last`.
Chunk cut(std::vector<GroupBytes> groups, GroupNumber last, MapHas has);

class Tail {
 public:
  // The newest group when there is none in the tail.
  void begin_behind(GroupNumber loaded);
  void add(GroupNumber number, GroupBytes group);

  Lookup look(std::string_view key);
  // At least scan.limit + 1 records with a value, if there are so many.
  Slice look(const Scan& scan);

  std::vector<GroupBytes> upto(GroupNumber last) const;
  void forget(GroupNumber last);

  GroupNumber oldest() const { return oldest_; }  // next(newest()) when there is none
  GroupNumber newest() const { return GroupNumber(oldest_.value() + groups_.size() - 1); }
  std::uint64_t bytes() const { return bytes_; }
  std::size_t groups() const { return groups_.size(); }

 private:
  struct Space {
    std::map<std::string_view, std::optional<std::string_view>> records;
    Ranges removed;
    GroupNumber upto;  // the newest group that it knows
  };
  Space& space(unsigned char first);
  void apply(Space& space, unsigned char first, const std::string& group) const;

  std::deque<GroupBytes> groups_;  // bounded by what the journal takes
  GroupNumber oldest_{1};
  std::uint64_t bytes_ = 0;
  std::array<std::unique_ptr<Space>, 256> spaces_;
};

}  // namespace postrider::layered
