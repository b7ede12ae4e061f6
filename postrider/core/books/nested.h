// Nested: submits that follow from a message. They are records until they are messages: their
// destinations may have to be read first, and the commit that they belong to does not wait for
// that.
//
// Invariants
//   - A nested submit is written in the commit of what it follows from, and removed in the
//     commit that accepts or refuses it, so it becomes a message exactly once.
//   - Submits for one destination keep their order: until the scan of the former ones is over,
//     new ones wait behind them on disk.
#pragma once

#include <vector>

#include "postrider/core/books/sequences.h"
#include "postrider/core/engine.h"
#include "postrider/core/step.h"
#include "postrider/model/answer.h"
#include "postrider/model/profile.h"

namespace postrider::core {

class Nested {
 public:
  Nested(const EngineLimits& limits, Tallies& tallies, Sequences& sequences)
      : limits_(limits), tallies_(tallies), sequences_(sequences) {}
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

  void write_nested(Step& step, const ProfileSpec& profile, MessageId from,
                    const std::vector<NestedSubmit>& submits);
  void restore_nested(Step& step, const Chore& chore);

 private:
  const EngineLimits& limits_;
  Tallies& tallies_;
  Sequences& sequences_;
  bool restored_ = false;  // until then new ones wait for the scan
};

}  // namespace postrider::core
