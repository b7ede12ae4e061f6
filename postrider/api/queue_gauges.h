// What /metrics tells of queues: a row for each of the deepest, and one for all the others
// together, so that there is a bounded number of series and their sum is the whole. Filled by one
// walk through all queues, which keeps no more rows than are told.
#pragma once

#include <cstdint>
#include <vector>

#include "postrider/model/answer.h"

namespace postrider::api {

class QueueGauges {
 public:
  explicit QueueGauges(std::size_t told_max) : told_max_(told_max) {}

  // In the order of the walk: a row of the same destination as the last one goes on with it.
  void add(QueueRow row);
  void finish();

  const std::vector<QueueRow>& told() const { return told_; }  // the deepest first
  const QueueRow& others() const { return others_; }           // sums, and the oldest of them all
  std::uint64_t others_count() const { return others_count_; }
  // Of the mailboxes among the others; unset: there are none.
  Timestamp oldest_unread_of_others() const { return oldest_unread_; }
  std::uint64_t count() const { return told_.size() + others_count_; }
  Timestamp oldest() const;  // of everything that lives; unset: nothing does

 private:
  void settle(QueueRow row);

  std::size_t told_max_;
  QueueRow last_;               // its next row may go on with it
  std::vector<QueueRow> told_;  // until finish(): a heap, the shallowest in front
  QueueRow others_;
  std::uint64_t others_count_ = 0;
  Timestamp oldest_unread_;
};

}  // namespace postrider::api
