#include "postrider/stores/layered/merge.h"

#include <utility>

namespace postrider::layered {

Merge::Merge(const Scan& scan, Slice slice)
    : scan_(scan),
      slice_(std::move(slice)),
      next_(scan.backward ? scan.last : scan.first),
      map_done_(scan.last <= scan.first) {}

bool Merge::before(std::string_view one, std::string_view other) const {
  return scan_.backward ? other < one : one < other;
}

std::optional<Scan> Merge::wants() const {
  if (map_done_ || enough()) return std::nullopt;
  Scan page = scan_;
  (scan_.backward ? page.last : page.first) = next_;
  page.limit = scan_.limit + 1;
  return page;
}

void Merge::put(std::string key, Blob value) {
  if (!enough()) out_.rows.emplace_back(std::move(key), std::move(value));
}

// Records of the tail that stand in front of `key`.
void Merge::put_tail(std::string_view key) {
  for (; at_ < slice_.records.size() && before(slice_.records[at_].first, key); ++at_) {
    auto& [own, value] = slice_.records[at_];
    if (value) put(std::move(own), std::move(*value));
  }
}

void Merge::take(const Rows& page) {
  for (const auto& [key, value] : page.rows) {
    if (enough()) return;
    put_tail(key);
    if (at_ < slice_.records.size() && slice_.records[at_].first == key) {
      if (slice_.records[at_].second) put(key, *slice_.records[at_].second);
      ++at_;
    } else if (!slice_.removed.holds(key)) {
      put(key, value);
    }
  }
  map_done_ = page.complete;
  if (map_done_ || page.rows.empty()) return;
  const std::string& last = page.rows.back().first;
  next_ = scan_.backward ? last : last + '\0';
}

Rows Merge::rows() {
  // The slice was cut where it had more values than the limit, so nothing behind it is needed.
  for (; at_ < slice_.records.size(); ++at_) {
    auto& [key, value] = slice_.records[at_];
    if (value) put(std::move(key), std::move(*value));
  }
  out_.complete = !enough();
  if (enough()) out_.rows.pop_back();
  return std::move(out_);
}

}  // namespace postrider::layered
