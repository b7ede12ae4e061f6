// Journal: the seam to an ordered, fenced log of groups of one shard. A group is whole or not
// there, and groups become durable in the order of their numbers. A journal decides nothing: which
// records a group holds, and when it is in the map (model/seams/map.h), its caller knows.
//
// Blocking. One thread appends; read may be called by any thread, beside an append.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/model/ids.h"

namespace postrider {

// 1, 2, 3, … of one shard, over all its owners, without gaps. 0: none.
using GroupNumber = Id<struct GroupNumberTag>;
constexpr GroupNumber next(GroupNumber number) { return GroupNumber(number.value() + 1); }

// What an owner finds: groups `first` to `last` are not trimmed. None of them: first is next(last).
struct Ownership {
  Epoch epoch;
  GroupNumber first;
  GroupNumber last;

  friend bool operator==(const Ownership&, const Ownership&) = default;
};

enum class AppendEnd : std::uint8_t {
  kDurable,
  kFenced,   // another owner has the shard; nothing was written
  kFull,     // no room; nothing was written, and the same append may succeed later
  kInDoubt,  // whether it was written is unknown until standing() has answered
  kLost,     // a sync failed: what the disk holds is unknown for good, so the process must stop
};
struct Appended {
  AppendEnd end = AppendEnd::kDurable;
  std::string reason;  // for people, when not durable
};

enum class GroupStanding : std::uint8_t { kThere, kNotThere, kFenced };

// One group as its caller hands it over: encoded batches, and how many of them.
struct Group {
  std::string_view bytes;
  std::uint32_t batches = 0;
};

class Journal {
 public:
  virtual ~Journal() = default;

  // Durable when it returns. Everything that an earlier owner was told durable lies in [first,
  // last], and no earlier owner appends afterwards. kLimit: no room for what acquiring writes.
  // kCorrupt: something durable is missing or damaged; nothing was changed.
  virtual Result<Ownership> acquire(std::uint32_t shard) = 0;

  // `number` follows the newest one without a gap. Waits until the group is durable.
  virtual Appended append(Epoch epoch, GroupNumber number, Group group) = 0;

  // After kInDoubt. A durable write under the same epoch, so the answer holds for good.
  virtual Result<GroupStanding> standing(Epoch epoch, GroupNumber number) = 0;

  // Hands over the groups [first, last] in order; `visit` returns false to stop. All of them must
  // be durable and not trimmed.
  using Visit = std::function<bool(GroupNumber, Group)>;
  virtual Result<void> read(GroupNumber first, GroupNumber last, const Visit& visit) = 0;

  // The groups up to `last` are not needed any more; what they took is room again.
  virtual Result<void> trim(Epoch epoch, GroupNumber last) = 0;

  // Bytes of groups that can be appended before kFull, as far as the journal itself knows.
  virtual std::uint64_t room() const = 0;
  // A longer group is never taken.
  virtual std::uint64_t group_bytes_max() const = 0;
};

}  // namespace postrider
