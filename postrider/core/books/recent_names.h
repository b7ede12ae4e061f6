// RecentNames: the names that were given last, so that news about them, which mostly comes soon,
// need not be looked up in the store. What it has is what the store has, or will have with the
// commit under way; what it lacks says nothing, but for names given since `complete_since`.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "postrider/base/time.h"
#include "postrider/model/records/records.h"

namespace postrider {

class RecentNames {
 public:
  RecentNames(std::size_t most, Timestamp since) : most_(most), complete_since_(since) {}

  void put(std::string_view tail, const NameEntry& entry) {
    const auto [place, is_new] = entries_.insert_or_assign(std::string(tail), entry);
    static_cast<void>(is_new);
    order_.emplace_back(entry.at, place->first);
    // Those of one instant stay together: what comes later in a step must see what was given
    // earlier in it, which the store does not have yet.
    while (order_.size() > most_ && order_.front().first < entry.at) {
      const auto& [at, oldest] = order_.front();
      // One that was given again since then stands further behind as well.
      const auto found = entries_.find(oldest);
      if (found != entries_.end() && found->second.at == at) entries_.erase(found);
      complete_since_ = std::max(complete_since_, at + Duration(1));
      order_.pop_front();
    }
  }

  const NameEntry* find(std::string_view tail) const {
    const auto found = entries_.find(std::string(tail));
    return found == entries_.end() ? nullptr : &found->second;
  }

  // Every name given at this time or later is here.
  Timestamp complete_since() const { return complete_since_; }

 private:
  std::size_t most_;
  Timestamp complete_since_;
  std::unordered_map<std::string, NameEntry> entries_;
  std::deque<std::pair<Timestamp, std::string>> order_;
};

}  // namespace postrider
