// Ranges: which keys are removed below something, as ranges that do not touch one another.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace postrider::layered {

class Ranges {
 public:
  // [first, last); nothing when it is empty or reversed.
  void add(std::string_view first, std::string_view last) {
    if (last <= first) return;
    std::string begin(first);
    std::string end(last);
    auto at = by_first_.upper_bound(begin);
    if (at != by_first_.begin()) {
      const auto before = std::prev(at);
      if (before->second >= begin) at = before;
    }
    while (at != by_first_.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = by_first_.erase(at);
    }
    by_first_.emplace(std::move(begin), std::move(end));
  }
  bool holds(std::string_view key) const {
    auto at = by_first_.upper_bound(key);
    return at != by_first_.begin() && std::prev(at)->second > key;
  }
  bool empty() const { return by_first_.empty(); }
  // Those that have a key in [first, last), whole.
  Ranges within(std::string_view first, std::string_view last) const {
    Ranges out;
    auto at = by_first_.upper_bound(first);
    if (at != by_first_.begin() && std::prev(at)->second > first) --at;
    for (; at != by_first_.end() && at->first < last; ++at) out.by_first_.insert(*at);
    return out;
  }
  const std::map<std::string, std::string, std::less<>>& all() const { return by_first_; }

 private:
  std::map<std::string, std::string, std::less<>> by_first_;  // at most one for each add
};

}  // namespace postrider::layered
