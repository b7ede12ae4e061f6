#include "postrider/core/books/due.h"

#include <algorithm>

#include "postrider/base/check.h"

namespace postrider::core {
namespace {

TimerKind timer_of(keys::DueKind kind) {
  switch (kind) {
    case keys::DueKind::kAttempt: return TimerKind::kDueAttempt;
    case keys::DueKind::kExpiry: return TimerKind::kDueExpiry;
    case keys::DueKind::kOpening: return TimerKind::kDueOpening;
    case keys::DueKind::kCardExpiry: return TimerKind::kDueCard;
  }
  POSTRIDER_CHECK(false);
}

}  // namespace

TimerHandle Due::put_due(Step& step, Timestamp at, keys::DueKind kind, MessageId id,
                         std::string_view value) {
  step.out.writes.put(keys::due(at, kind, id), value);
  if (at >= loaded_until_) return 0;  // its page comes later
  return timers_.arm(at, Timer{.kind = timer_of(kind), .id = id});
}

// Due entries come into the wheel page by page; those beyond the horizon stay on disk.
std::vector<std::pair<MessageId, TimerHandle>> Due::load_due(Step& step) {
  std::vector<std::pair<MessageId, TimerHandle>> expiries;
  if (!scan_) {
    scan_until_ = step.now + limits_.due_horizon;
    const std::string last = keys::due(scan_until_, keys::DueKind::kAttempt, MessageId());
    scan_ = Scan{std::min(cursor_, last), last, std::max<std::uint32_t>(1, limits_.due_rows_max)};
  }
  const Rows* rows = step.scan(*scan_);
  if (rows == nullptr) return expiries;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_due(row.first);
    if (!key) {
      step.damaged.push_back(row);
      continue;
    }
    const TimerKind kind = timer_of(key->kind);
    const TimerHandle handle = timers_.arm(key->at, Timer{.kind = kind, .id = key->id});
    if (kind == TimerKind::kDueExpiry) expiries.emplace_back(key->id, handle);
  }
  Timestamp again = step.now + limits_.due_horizon / 2;
  if (rows->complete) {
    cursor_ = scan_->last;
    loaded_until_ = std::max(loaded_until_, scan_until_);
  } else {
    // Entries of one instant may be cut apart: those that come later are armed when they are put,
    // those on disk when the next page is read.
    cursor_ = rows->next;
    const auto behind =
        keys::parse_due(std::string_view(rows->next).substr(0, rows->next.size() - 1));
    if (behind) loaded_until_ = std::max(loaded_until_, behind->at + Duration(1));
    again = loaded_until_;
  }
  scan_.reset();
  timers_.arm(again, Timer{.kind = TimerKind::kLoadDue});
  return expiries;
}

}  // namespace postrider::core
