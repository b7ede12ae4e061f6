// The checker of batches, for fields whose messages leave in batches.
#pragma once

#include <string_view>
#include <vector>

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {

// What a profile with batches says about them.
struct BatchLaws {
  // The states in which a leader may be after its batch was given up, when it has not ended.
  std::vector<std::string_view> free_states;
  bool same_bytes = true;  // what leaves again is the same bytes; else the same members only
};

// 54: a batch is one thing, from its claim to its end.
std::unique_ptr<Checker> make_batch_checker(const CheckerContext& context, Notebook& notebook,
                                            BatchLaws laws);

}  // namespace postrider::sim
