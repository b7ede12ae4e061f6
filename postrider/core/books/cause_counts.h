// CauseCounts: counts dead letters and parked messages by destination, phase and cause. Exact at
// every commit: what changed is written once, when the turn is closed. Owned by the receipts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "postrider/model/answer.h"
#include "postrider/model/dead_groups.h"
#include "postrider/model/seams/store.h"

namespace postrider {

class CauseCounts {
 public:
  using Groups = std::map<GroupName, GroupRecord>;

  CauseCounts(Groups groups, std::size_t groups_max);

  struct Arrival {  // one more
    GroupName name;
    Timestamp at;
    MessageId id;
    std::string_view reason;
  };
  void add(const Arrival& arrival);
  void take(const GroupName& name);
  // A letter that cannot be read has left: its group is unknown.
  void lose(const Arrival& letter);
  // Letters whose groups were not written down: of an older store, or damaged.
  void add_unknown(keys::Bucket bucket, std::uint64_t letters);
  std::uint64_t letters_in(keys::Bucket bucket) const;
  void drop_bucket(keys::Bucket bucket, WriteBatch& out);

  bool changed() const { return !touched_.empty(); }
  void write(WriteBatch& out);
  const Groups& groups() const { return counts_; }
  // Whether some are counted for this destination, as far as groups are told apart.
  bool any_of(DestinationId destination) const;
  // All buckets together, the largest group first; names of destinations are left to the caller.
  void tell(Stats& stats) const;
  DeadGroupList list(std::optional<DestinationId> only) const;

 private:
  static GroupName others_of(keys::Bucket bucket) { return {.bucket = bucket}; }

  Groups counts_;
  std::size_t counts_max_;
  std::set<GroupName> touched_;
};

}  // namespace postrider
