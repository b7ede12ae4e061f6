// Map: the seam to ordered keys of one shard that are changed by sorted runs only. What a journal
// holds (model/seams/journal.h) goes there later, without what has died meanwhile. A map decides
// nothing.
//
// Blocking. One thread loads; read may be called by any thread, beside a load.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/model/seams/journal.h"
#include "postrider/model/seams/store.h"

namespace postrider {

// Views are into memory that outlives the load.
struct Run {
  // Removed before the records are put; [first, last) each, in any order.
  std::vector<std::pair<std::string, std::string>> removed_ranges;
  // Sorted, each key once; no value: removed.
  std::vector<std::pair<std::string_view, std::optional<std::string_view>>> records;
  GroupNumber last;  // everything up to this group is in the map afterwards
};

class Map {
 public:
  virtual ~Map() = default;

  // Durable with its mark when it returns. A load that was interrupted is repeated and then changes
  // nothing that it had changed already. kLimit: no room; the same load may succeed later.
  virtual Result<void> load(const Run& run) = 0;
  // The mark of the newest load; 0: none.
  virtual Result<GroupNumber> loaded() = 0;

  // As of one instant for each Scan and each key.
  virtual Result<Found> read(const Reads& reads) = 0;
};

}  // namespace postrider
