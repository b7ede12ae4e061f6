// Merge: one Scan over the tail and the map. The map is asked in pages, because the tail may hide
// any number of its records. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>

#include "postrider/model/seams/store.h"
#include "postrider/stores/layered/tail.h"

namespace postrider::layered {

class Merge {
 public:
  Merge(const Scan& scan, Slice slice);

  // The next page of the map that must be known; none: rows() is the answer.
  std::optional<Scan> wants() const;
  void take(const Rows& page);
  Rows rows();

 private:
  bool before(std::string_view one, std::string_view other) const;
  bool enough() const { return out_.rows.size() > scan_.limit; }
  void put_tail(std::string_view before_key);
  void put(std::string key, Blob value);

  Scan scan_;
  Slice slice_;
  std::size_t at_ = 0;  // in slice_.records
  std::string next_;    // where the map goes on; backward: up to where
  bool map_done_ = false;
  Rows out_;  // one more than the limit, at most
};

}  // namespace postrider::layered
