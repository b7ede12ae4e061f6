#include "postrider/core/books/nested.h"

#include <algorithm>

#include "postrider/base/planted.h"

namespace postrider::core {

// Submits that follow from a message are records until they are messages: their destinations may
// have to be read first, and the commit that they belong to does not wait for that.
void Nested::write_nested(Step& step, const ProfileSpec& profile, MessageId from,
                          const std::vector<NestedSubmit>& submits) {
  std::size_t written = 0;
  for (const NestedSubmit& submit : submits) {
    const bool fits = submit.body.size() <= limits_.body_bytes_max && submit.lane < kLanes &&
                      submit.attributes.size() <= limits_.attributes_bytes_max;
    if (++written > kNestedMax || !fits) {
      ++tallies_.refused_readings;
      continue;
    }
    std::string key = keys::nested(sequences_.next());
    if (!planted(Bug::kNestedAfterCommit)) {
      step.out.writes.put(key, encode_nested({from, submit.destination, submit.lane,
                                              submit.priority, submit.attributes, submit.body},
                                             profile.dictionary));
    }
    // Submits of the former life come first: the scan of restore finds this one behind them.
    if (!restored_) continue;
    // Submits for one destination must not overtake each other while something is read.
    const DestinationId to = destination_id(submit.destination, submit.destination, 0);
    step.out.chores.push_back(
        {.kind = Chore::Kind::kNested, .destination = to, .cursor = std::move(key)});
  }
}

// Submits that follow from an arrival or an end, and were written down with it: first submits of
// the former life, then submits that this life has written so far.
void Nested::restore_nested(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kNested)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto nested = decode_nested(row.second.view());
    const DestinationId to =
        nested ? destination_id(nested->destination, nested->destination, 0) : DestinationId();
    step.out.chores.push_back(
        {.kind = Chore::Kind::kNested, .destination = to, .cursor = row.first});
  }
  restored_ = rows->complete;
  if (!rows->complete)
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
}

}  // namespace postrider::core
