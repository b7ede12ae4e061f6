// Step: one event on its way through the engine: what it may look at, what it lacks, what it
// decided. Handlers first look everything up; when something is lacking they return at once, having
// changed nothing that is seen (a destination in the cache is not seen).
//
// Invariants
//   - A step that lacks something writes nothing and starts nothing; it comes again with more
//     found.
//   - Whatever is done to a destination ends with `look_at`; what follows from that is decided
//     once, by Starts::settle, and not where it was done.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "postrider/base/entropy.h"
#include "postrider/base/time.h"
#include "postrider/core/rules/slab.h"
#include "postrider/model/answer.h"
#include "postrider/model/effects.h"
#include "postrider/model/ids.h"
#include "postrider/model/message.h"
#include "postrider/model/seams/store.h"

namespace postrider::core {

struct Step {
  Timestamp now;
  Timestamp wall;
  Duration doubt;  // how far the wall is ahead and not believed
  const Found& found;
  Effects& out;
  // Of the turn. What is drawn by a step that lacks something is thrown away with it; its next run
  // draws other bytes.
  Entropy* entropy = nullptr;
  Reads need = {};
  std::vector<Slot> looks = {};            // residents to look at again, in the order of the looks
  std::vector<GateName> freed_gates = {};  // served by Starts::settle
  std::vector<GateName> freed_groups = {};
  std::vector<Row> damaged =
      {};  // records that could not be read; quarantined when the step is done
  // A drained destination that this step has looked at: having been read for that is no reason to
  // look again.
  DestinationId drained = {};

  const std::optional<Blob>* get(const std::string& key) {
    const auto* value = found.get(key);
    if (value == nullptr) need.keys.push_back(key);
    return value;
  }
  const Rows* scan(const Scan& scan) {
    const Rows* rows = found.scan(scan);
    if (rows == nullptr) need.scans.push_back(scan);
    return rows;
  }
  bool lacks() const { return !need.empty(); }

  // This destination may have room for a page from disk, something to start, or nothing to do.
  // Looking twice costs little and changes nothing, so only looks in a row are told apart.
  void look_at(Slot resident) {
    constexpr std::size_t kRecent = 4;
    const std::size_t from = looks.size() < kRecent ? 0 : looks.size() - kRecent;
    const auto first = looks.begin() + static_cast<std::ptrdiff_t>(from);
    if (std::find(first, looks.end(), resident) == looks.end()) looks.push_back(resident);
  }

  void reply(Ticket ticket, Answer&& answer) {
    if (ticket.is_set()) out.actions.emplace_back(Reply{ticket, std::move(answer)});
  }
};

}  // namespace postrider::core
