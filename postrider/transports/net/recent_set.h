// RecentSet: the texts that were added last, up to a limit. On the loop's thread.
#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace postrider {

class RecentSet {
 public:
  explicit RecentSet(std::size_t most) : most_(most) {}

  bool contains(std::string_view text) const { return places_.contains(text); }
  void add(std::string_view text) {
    remove(text);
    if (most_ == 0) return;
    if (texts_.size() >= most_) {
      places_.erase(texts_.front());
      texts_.pop_front();
    }
    texts_.emplace_back(text);
    places_.emplace(texts_.back(), std::prev(texts_.end()));
  }
  void remove(std::string_view text) {
    const auto found = places_.find(text);
    if (found == places_.end()) return;
    const auto place = found->second;
    places_.erase(found);  // first: its key looks into the other
    texts_.erase(place);
  }
  std::size_t size() const { return texts_.size(); }

 private:
  std::size_t most_;
  std::list<std::string> texts_;  // oldest first
  std::unordered_map<std::string_view, std::list<std::string>::iterator> places_;
};

}  // namespace postrider
