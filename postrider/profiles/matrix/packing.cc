#include "postrider/profiles/matrix/packing.h"

#include <algorithm>
#include <array>
#include <map>

#include "postrider/profiles/matrix/notes.h"
#include "postrider/protocols/matrix/edu.h"

namespace postrider::matrix {
namespace {

constexpr std::size_t kFrameBytes = 512;  // of a body beside its items

// A transaction that is being filled.
class Filling {
 public:
  explicit Filling(const PolicyNumbers& numbers) : numbers_(numbers) {}

  // False: it does not fit. The first one always does.
  bool take(const Facts& facts) {
    const Lane lane = facts.parsed->lane;
    const std::size_t bytes = facts.message.body.size() + 1;
    if (!empty_ && bytes_ + bytes > numbers_.bytes_max) return false;
    if (!count(lane, facts.parsed->key)) return false;
    empty_ = false;
    bytes_ += bytes;
    return true;
  }

 private:
  bool count(Lane lane, const std::string& key) {
    switch (lane) {
      case kEventLane: return pdus_ < numbers_.pdus_max && ++pdus_ > 0;
      case kPresenceLane: return count_presence();
      case kReceiptLane: return count_receipt(key);
      case kToDeviceLane: return add_unit(kUnitsKeptFree);
      case kDeviceLane:
      case kTypingLane:
      case kOtherLane: return add_unit(0);
    }
    POSTRIDER_CHECK(false);
  }

  bool add_unit(std::uint32_t kept_free) {
    if (edus_ + kept_free >= numbers_.edus_max && !empty_) return false;
    ++edus_;
    return true;
  }

  bool count_presence() {
    if (users_ == kPresenceUsersMax || (users_ == 0 && !add_unit(0))) return false;
    ++users_;
    return true;
  }

  // A unit holds one receipt of each room, type and user, so threads need units of their own.
  bool count_receipt(const std::string& key) {
    std::uint32_t& threads = threads_[std::string(receipt_group(key))];
    if (threads == receipt_units_) {
      if (receipt_units_ == kReceiptUnitsMax || !add_unit(0)) return false;
      ++receipt_units_;
    }
    ++threads;
    return true;
  }

  const PolicyNumbers& numbers_;
  bool empty_ = true;
  std::size_t bytes_ = kFrameBytes;
  std::uint32_t pdus_ = 0;
  std::uint32_t edus_ = 0;
  std::uint32_t users_ = 0;
  std::uint32_t receipt_units_ = 0;
  std::map<std::string, std::uint32_t> threads_;
};

bool may_follow(const Facts& leader, const Facts& candidate) {
  const Item* item = candidate.parsed;
  if (item == nullptr || !item->fault.empty()) return false;
  if (read_notes(candidate.notes).is_suspect()) return false;
  return !candidate.message.expires.is_set() || candidate.message.expires > leader.now;
}

}  // namespace

std::vector<std::size_t> compose(const Facts& leader, std::span<const postrider::Facts> candidates,
                                 std::uint32_t members_max) {
  std::vector<std::size_t> chosen;
  if (leader.parsed == nullptr || leader.prepared == nullptr ||
      read_notes(leader.notes).is_suspect())
    return chosen;
  const bool behind = leader.route != nullptr && leader.route->health == Health::kCatchUp;
  const bool one_room = behind && leader.prepared->numbers.room_by_room;
  Filling filling(leader.prepared->numbers);
  filling.take(leader);
  std::array<std::vector<std::size_t>, kMatrixLanes> lanes;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::uint8_t lane = candidates[i].message.id.lane();
    if (lane < kMatrixLanes && candidates[i].message.id != leader.message.id)
      lanes[lane].push_back(i);
  }
  for (std::uint8_t lane = 0; lane < kMatrixLanes; ++lane) {
    if (behind && !leader.policy.starts_in_catch_up(lane)) continue;
    for (const std::size_t index : lanes[lane]) {
      if (chosen.size() + 1 >= members_max) return chosen;
      const Facts candidate(candidates[index]);
      const bool fits = may_follow(leader, candidate) &&
                        (!one_room || candidate.parsed->key == leader.parsed->key) &&
                        filling.take(candidate);
      if (fits) chosen.push_back(index);
      // What must go in order waits behind one that does not go.
      if (!fits && kLaneFacts[lane].fifo) break;
    }
  }
  return chosen;
}

std::vector<Member> members_of(const Facts& leader) {
  std::vector<Member> members;
  members.push_back({.facts = &leader, .place = 0});
  if (leader.batch != nullptr) {
    for (std::size_t i = 0; i < leader.batch->followers.size(); ++i)
      members.push_back({.facts = &leader.batch->followers[i], .place = i + 1});
  }
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return a.facts->message.id < b.facts->message.id;
  });
  return members;
}

}  // namespace postrider::matrix
