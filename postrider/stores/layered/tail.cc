#include "postrider/stores/layered/tail.h"

#include "postrider/base/check.h"
#include "postrider/stores/layered/group.h"

namespace postrider::layered {
namespace {

unsigned char space_of(std::string_view key) {
  return key.empty() ? 0 : static_cast<unsigned char>(key.front());
}

using Records = std::map<std::string_view, std::optional<std::string_view>>;

void erase_range(Records& records, std::string_view first, std::string_view last) {
  if (first < last) records.erase(records.lower_bound(first), records.lower_bound(last));
}

}  // namespace

void Tail::begin_behind(GroupNumber loaded) {
  groups_.clear();
  bytes_ = 0;
  oldest_ = next(loaded);
  for (auto& space : spaces_) space.reset();
}

void Tail::add(GroupNumber number, GroupBytes group) {
  POSTRIDER_CHECK(number == next(newest()));
  bytes_ += group->size();
  groups_.push_back(std::move(group));
}

// Only writes of the space count; of a range, the part that lies in it.
void Tail::apply(Space& space, unsigned char first, const std::string& group) const {
  const bool whole = for_each_write(group, [&](const GroupWrite& write) {
    switch (write.kind) {
      case Write::Kind::kPutOnce:
      case Write::Kind::kPut:
        if (space_of(write.key) == first) space.records.insert_or_assign(write.key, write.value);
        return;
      case Write::Kind::kRemoveOnce:
      case Write::Kind::kRemove:
        if (space_of(write.key) == first) space.records.insert_or_assign(write.key, std::nullopt);
        return;
      case Write::Kind::kRemoveRange:
        if (space_of(write.key) > first || space_of(write.value) < first) return;
        erase_range(space.records, write.key, write.value);
        space.removed.add(write.key, write.value);
        return;
    }
  });
  POSTRIDER_CHECK(whole);  // it was checked when it was read, or made here
}

Tail::Space& Tail::space(unsigned char first) {
  std::unique_ptr<Space>& slot = spaces_[first];
  if (slot == nullptr) {
    slot = std::make_unique<Space>();
    slot->upto = GroupNumber(oldest_.value() - 1);
  }
  while (slot->upto < newest()) {
    slot->upto = next(slot->upto);
    apply(*slot, first, *groups_[slot->upto.value() - oldest_.value()]);
  }
  return *slot;
}

Lookup Tail::look(std::string_view key) {
  const Space& known = space(space_of(key));
  const auto found = known.records.find(key);
  if (found == known.records.end()) return {known.removed.holds(key), std::nullopt};
  if (!found->second) return {true, std::nullopt};
  return {true, Blob::copy_of(*found->second)};
}

Slice Tail::look(const Scan& scan) {
  Slice out;
  if (scan.last <= scan.first) return out;
  std::uint32_t values = 0;
  const auto take = [&](const auto& record) {
    if (values > scan.limit) {
      out.cut = true;
      return false;
    }
    if (record.second) ++values;
    out.records.emplace_back(
        std::string(record.first),
        record.second ? std::optional(Blob::copy_of(*record.second)) : std::nullopt);
    return true;
  };
  const int low = space_of(scan.first);
  const int high = space_of(scan.last);
  for (int i = 0; i <= high - low && !out.cut; ++i) {
    const Space& known = space(static_cast<unsigned char>(scan.backward ? high - i : low + i));
    const auto begin = known.records.lower_bound(scan.first);
    const auto end = known.records.lower_bound(scan.last);
    if (scan.backward) {
      for (auto at = end; at != begin;) {
        if (!take(*--at)) break;
      }
    } else {
      for (auto at = begin; at != end && take(*at); ++at) {
      }
    }
  }
  // A range that spans spaces is known to each of them.
  for (int i = low; i <= high; ++i) {
    const Ranges removed =
        space(static_cast<unsigned char>(i)).removed.within(scan.first, scan.last);
    for (const auto& [first, last] : removed.all()) out.removed.add(first, last);
  }
  return out;
}

std::vector<GroupBytes> Tail::upto(GroupNumber last) const {
  POSTRIDER_CHECK(last <= newest());
  std::vector<GroupBytes> out;
  for (GroupNumber number = oldest_; number <= last; number = next(number))
    out.push_back(groups_[number.value() - oldest_.value()]);
  return out;
}

void Tail::forget(GroupNumber last) {
  while (!groups_.empty() && oldest_ <= last) {
    bytes_ -= groups_.front()->size();
    groups_.pop_front();
    oldest_ = next(oldest_);
  }
  for (auto& space : spaces_) space.reset();
}

}  // namespace postrider::layered
