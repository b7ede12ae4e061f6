#include "postrider/api/queue_gauges.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace postrider::api {
namespace {

void take_older(Timestamp& oldest, Timestamp other) {
  if (other.is_set() && (!oldest.is_set() || other < oldest)) oldest = other;
}

bool deeper(const QueueRow& one, const QueueRow& other) {
  return std::tie(one.messages, other.destination) > std::tie(other.messages, one.destination);
}

}  // namespace

void QueueGauges::add(QueueRow row) {
  if (last_.messages > 0 && last_.id == row.id) {
    take_older(row.oldest, last_.oldest);
  } else if (last_.messages > 0) {
    settle(std::move(last_));
  }
  last_ = std::move(row);
}

void QueueGauges::settle(QueueRow row) {
  // One without a name has no label, and is among the others.
  const bool named = told_max_ > 0 && !row.destination.empty();
  if (named) {
    told_.push_back(std::move(row));
    std::push_heap(told_.begin(), told_.end(), deeper);
    if (told_.size() <= told_max_) return;
    std::pop_heap(told_.begin(), told_.end(), deeper);
    row = std::move(told_.back());
    told_.pop_back();
  }
  ++others_count_;
  others_.messages += row.messages;
  others_.more = others_.more || row.more;
  others_.slots += row.slots;
  take_older(others_.oldest, row.oldest);
  if (row.pulled) take_older(oldest_unread_, row.oldest);
}

void QueueGauges::finish() {
  if (last_.messages > 0) settle(std::exchange(last_, {}));
  std::sort_heap(told_.begin(), told_.end(), deeper);
}

Timestamp QueueGauges::oldest() const {
  Timestamp oldest = others_.oldest;
  for (const QueueRow& row : told_) take_older(oldest, row.oldest);
  return oldest;
}

}  // namespace postrider::api
