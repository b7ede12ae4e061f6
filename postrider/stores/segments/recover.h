// recover: reads a journal's files and judges them, for the daemon and for `postrider check` alike.
// It changes nothing.
//
// What is durable is there or the journal is refused. The first group that cannot be read is the
// end of the journal, an ordinary torn write, unless something says that it was durable: a later
// group of the same use, the first number of the next segment, or the mark.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/model/seams/journal.h"
#include "postrider/stores/segments/files.h"
#include "postrider/stores/segments/format.h"

namespace postrider::segments {

inline constexpr const char* kControlNames[] = {"CONTROL.0", "CONTROL.1"};
inline constexpr const char* kMarkName = "MARK";

struct Position {
  std::uint32_t file = 0;
  std::uint32_t length = 0;  // of the content
  std::uint64_t offset = 0;
};

struct Recovered {
  Control control;
  std::size_t control_copy = 0;  // the copy that holds it; the other one is written next
  Mark mark;
  std::size_t mark_slot = 0;
  std::vector<Position> groups;  // from control.order.front().first on, without gaps
  Epoch newest_epoch;            // of all heads and the control record
  std::uint64_t generation = 0;  // the newest that any head names
  std::uint64_t end = 0;         // where the next group begins in the last segment

  GroupNumber first() const { return control.order.front().first; }
  GroupNumber last() const { return GroupNumber(first().value() + groups.size() - 1); }
};

// None: there is no journal yet. kCorrupt: something durable is missing or damaged; the text names
// the file, and the offset where there is one.
Result<std::optional<Recovered>> recover(Folder& folder);

}  // namespace postrider::segments
