// Dead groups: how many dead letters there are of each destination, phase and cause, kept exactly
// beside the letters themselves, so that a look at the causes does not read a million of
// them. One record for each bucket of the letters in which the group has any.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/ids.h"
#include "postrider/model/lifecycle.h"
#include "postrider/model/outcome.h"
#include "postrider/model/records/keys.h"

namespace postrider {

// An unset destination stands for all groups of the bucket that found no place of their own. The
// phase indeterminate counts letters that could not be read: they are still counted in their group,
// because what is unreadable does not say which that was. Parked messages are no letters: they are
// counted in bucket 0, by destination only.
struct GroupName {
  keys::Bucket bucket = 0;
  DestinationId destination;
  Phase phase = Phase::kDead;
  FailureClass cause = FailureClass::kNone;
  friend auto operator<=>(const GroupName&, const GroupName&) = default;
};
std::string group_key(const GroupName& name);
std::optional<GroupName> parse_group_key(std::string_view key);

struct GroupRecord {
  std::uint64_t count = 0;
  Timestamp first;    // when the first of them died
  Timestamp last;     // … and the last
  MessageId example;  // the last to come; it may have left since
  std::string reason;
  friend bool operator==(const GroupRecord&, const GroupRecord&) = default;
};
std::string encode_group(const GroupRecord& group);
Result<GroupRecord> decode_group(std::string_view record);

// What an answer says of one group, all buckets together.
struct DeadGroup {
  std::string destination;  // empty: it is gone
  DestinationId id;
  Phase phase = Phase::kDead;
  FailureClass cause = FailureClass::kNone;
  std::uint64_t count = 0;
  Timestamp first;
  Timestamp last;
  MessageId example;
  std::string reason;
};

struct DeadGroupList {
  std::vector<DeadGroup> groups;  // the largest first
  std::uint64_t letters = 0;      // in all groups, also in groups that are not listed
  std::uint64_t unlisted = 0;     // groups beyond the limit of the answer
  std::uint64_t others = 0;       // letters of groups that have no place of their own
  std::uint64_t unreadable = 0;   // counted in the groups, but could not be read
};

}  // namespace postrider
