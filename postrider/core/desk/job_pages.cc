// What a job reads, whether it fits, and what is done to it. Dead letters and history lie in
// buckets by the time of their end; a page merges all buckets by id, so that they are treated in
// the order in which their messages were accepted, destination by destination and lane by lane.
#include <algorithm>

#include "postrider/base/codec.h"
#include "postrider/base/planted.h"
#include "postrider/core/desk/jobs.h"

namespace postrider::core {
namespace {

constexpr MessageId kLastId{UINT64_MAX, UINT64_MAX};

std::string place_of(MessageId id) {
  std::string out;
  Writer(out).u64(id.high).u64(id.low);
  return out;
}

MessageId id_at(std::string_view cursor, MessageId first) {
  if (cursor.empty()) return first;
  Reader reader(cursor);
  MessageId id;
  id.high = reader.u64();
  id.low = reader.u64();
  return reader.at_end() ? std::max(id, first) : first;
}

MessageId after(MessageId id) {
  return id.low == UINT64_MAX ? MessageId{id.high + 1, 0} : MessageId{id.high, id.low + 1};
}

struct IdRange {
  MessageId first;
  MessageId last = kLastId;  // behind the last
};

IdRange range_of(std::optional<DestinationId> only) {
  if (!only) return {};
  return {{only->value() << 20, 0}, {(only->value() + 1) << 20, 0}};
}

}  // namespace

// Everything that the items of the page will be asked about is looked up here.
Jobs::JobPage Jobs::read_page(Step& step, const Job& job) {
  JobPage page;
  std::optional<DestinationId> only;
  if (!job.order.filter.destination.empty()) {
    const Destinations::Destined destined =
        destinations_.find_destination(step, job.order.filter.destination);
    if (!destined.known) return page;
    page.complete = true;
    if (destined.slot == kNoSlot) return page;  // it went meanwhile
    page.complete = false;
    only = residents_[destined.slot].id;
  }
  switch (job.order.action) {
    case JobAction::kRedrive:
    case JobAction::kDrop:
    case JobAction::kResend: read_letters(step, job, only, page); break;
    case JobAction::kRetry: read_parked(step, job, only, page); break;
    case JobAction::kCancel: read_live(step, job, only, page); break;
  }
  if (step.lacks()) return page;
  const bool sends =
      job.order.action == JobAction::kRedrive || job.order.action == JobAction::kResend;
  for (const JobItem& item : page.items) {
    const Destinations::Destined destined =
        destinations_.find_destination(step, item.id.destination());
    if (sends && destined.slot != kNoSlot)
      reruns_.look_at_runs(step, *residents_[destined.slot].bound->profile, item.id);
  }
  return page;
}

void Jobs::read_letters(Step& step, const Job& job, std::optional<DestinationId> only,
                        JobPage& page) {
  const IdRange range = range_of(only);
  const MessageId from = id_at(job.cursor, range.first);
  MessageId known = range.last;  // everything before it was read
  const bool resends = job.order.action == JobAction::kResend;
  const Kept kept = resends ? Kept::kHistory : Kept::kDead;
  for (const keys::Bucket bucket : receipts_.buckets(kept)) {
    const auto key_of = [&](MessageId id) {
      return resends ? keys::history(bucket, id) : keys::dead(bucket, id);
    };
    const std::string first = key_of(from);
    const std::string last =
        only ? key_of(range.last) : keys::after_prefix(keys::bucket(space_of(kept), bucket));
    const Rows* rows =
        step.scan({first, last, std::max<std::uint32_t>(1, limits_.job_rows_max), true});
    if (rows == nullptr) continue;
    if (!rows->complete) {
      const auto end = keys::parse_bucketed(std::string_view(rows->next).substr(0, first.size()));
      if (end) known = std::min(known, after({end->high, end->low}));
    }
    for (const Row& row : rows->rows) {
      const auto dead = decode_dead(row.second.view());
      if (!dead) {
        step.damaged.push_back(row);
        continue;
      }
      if (job.order.action == JobAction::kRedrive) {
        if (const SharedBody shared = shares_body(dead->message); shared.id != 0)
          bodies_.load_body(step, shared.id, true);
      }
      page.items.push_back(
          {dead->letter.id, place_of(dead->letter.id), bucket, &row, dead->letter});
    }
  }
  if (step.lacks()) return;
  std::erase_if(page.items, [&](const JobItem& item) { return item.id >= known; });
  if (!planted(Bug::kJobOrderByBucket)) {
    std::sort(page.items.begin(), page.items.end(),
              [](const JobItem& a, const JobItem& b) { return a.id < b.id; });
  }
  page.complete = known == range.last;
  page.next = place_of(known);
}

void Jobs::read_parked(Step& step, const Job& job, std::optional<DestinationId> only,
                       JobPage& page) {
  const IdRange range = range_of(only);
  const std::string last =
      only ? keys::parked(range.last) : keys::after_prefix(keys::space(keys::kParked));
  const Rows* rows = step.scan({keys::parked(id_at(job.cursor, range.first)), last,
                                std::max<std::uint32_t>(1, limits_.job_rows_max), true});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto id = keys::parse_parked(row.first);
    if (!id) continue;
    lookup_.locate(step, *id);
    page.items.push_back({*id, place_of(*id), 0, nullptr, {}});
  }
  page.complete = rows->complete;
  if (rows->complete) return;
  const auto end =
      keys::parse_parked(std::string_view(rows->next).substr(0, keys::parked(range.first).size()));
  page.next = place_of(end ? after(*end) : range.last);
}

// First the hot space: a message that moves to the cold one meanwhile is met there.
void Jobs::read_live(Step& step, const Job& job, std::optional<DestinationId> only, JobPage& page) {
  const std::string hot = keys::space(keys::kHot);
  const std::string cold = only ? keys::cold_lane(*only, 0) : keys::space(keys::kCold);
  const std::string from = job.cursor.empty() ? hot : job.cursor;
  const bool in_hot = from[0] == keys::kHot;
  const std::string last_cold = only ? keys::after_prefix(keys::cold_lane(*only, kLanes - 1))
                                     : keys::after_prefix(keys::space(keys::kCold));
  const Rows* rows = step.scan({from, in_hot ? keys::after_prefix(hot) : last_cold,
                                std::max<std::uint32_t>(1, limits_.job_rows_max), true});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    const auto key = in_hot ? keys::parse_hot(row.first) : keys::parse_cold(row.first);
    if (!key || key->part != keys::Part::kMessage) continue;
    const auto message = decode_message(row.second);
    if (!message || (only && message->id.destination() != *only)) continue;
    lookup_.locate(step, message->id);
    page.items.push_back({message->id, row.first, 0, nullptr, {}});
  }
  page.complete = rows->complete && !in_hot;
  page.next = rows->complete ? cold : rows->next;
}

bool Jobs::job_fits(Step& step, const Job& job, const JobItem& item) {
  const JobFilter& filter = job.order.filter;
  if (item.id.sequence().value() >= job.horizon) return false;  // it came later
  if (!filter.destination_prefix.empty()) {
    const Destinations::Destined destined =
        destinations_.find_destination(step, item.id.destination());
    if (destined.slot == kNoSlot) return false;
    if (!residents_[destined.slot].name.starts_with(filter.destination_prefix)) return false;
  }
  if (item.letter) return letter_fits(job, *item.letter);
  const Slot found = window_.find(item.id);
  if (found == kNoSlot) return false;
  const Entry& entry = window_[found];
  DeadLetter as;  // the same questions, about a live message
  as.phase = window_.phase_of(entry);
  const bool cancels = job.order.action == JobAction::kCancel;
  if (cancels ? entry.state.cancel_wanted : as.phase != Phase::kParked) return false;
  as.at = cancels ? entry.message.accepted : entry.state.since;
  as.cause = entry.state.failure;
  as.reason = entry.reason_text();
  return letter_fits(job, as);
}

bool Jobs::letter_fits(const Job& job, const DeadLetter& letter) {
  const JobFilter& filter = job.order.filter;
  std::optional<Phase> phase = filter.phase;
  // A message that was called off is not sent again unless the filter asks for just those.
  if (!phase && job.order.action == JobAction::kResend && !planted(Bug::kResendsWhatWasCalledOff))
    phase = Phase::kDelivered;
  return letter.at <= job.round_at && (!phase || letter.phase == *phase) &&
         (!filter.cause || letter.cause == *filter.cause) && letter.at >= filter.since &&
         (!filter.until.is_set() || letter.at < filter.until) &&
         letter.reason.starts_with(filter.reason_prefix);
}

Jobs::Acted Jobs::act_on(Step& step, const Job& job, const JobItem& item) {
  switch (job.order.action) {
    case JobAction::kRedrive:
    case JobAction::kDrop:
    case JobAction::kResend: return act_on_letter(step, job, item);
    case JobAction::kRetry: return retry_parked(step, item);
    case JobAction::kCancel: break;
  }
  const Slot found = window_.find(item.id);
  if (found == kNoSlot) return {};
  delivery_.apply(step, found, On::kCancelled, nullptr);
  const Slot still = window_.find(item.id);
  const bool refused = still != kNoSlot && !window_.method_of(window_[still]).cancels_later;
  if (refused) return {Acted::Kind::kRefused, "it is under way, and cannot be cancelled"};
  return {Acted::Kind::kDone, {}};
}

Jobs::Acted Jobs::act_on_letter(Step& step, const Job& job, const JobItem& item) {
  Letters::Buried buried;
  buried.known = true;
  buried.letter = item.row->second;
  buried.end = letters_.end_of_letter(step, *item.row, item.bucket);
  if (!buried.end) return {};  // it goes into quarantine
  if (job.order.action == JobAction::kDrop) {
    letters_.take_letter(step, buried);
    ++receipts_.counters().dropped;
    return {Acted::Kind::kDone, {}};
  }
  const Destinations::Destined destined =
      destinations_.find_destination(step, item.id.destination());
  if (!destined.known) return {};
  if (destined.slot == kNoSlot) return {Acted::Kind::kRefused, "its destination is gone"};
  const bool resends = job.order.action == JobAction::kResend;
  const bool regardless = job.order.even_if_it_ran;
  const Answer answer =
      resends ? operators_.send_content(step, destined.slot, buried, regardless).value_or(Answer())
              : operators_.redrive_letter(step, destined.slot, buried, regardless);
  if (answer.code == AnswerCode::kAccepted) return {Acted::Kind::kDone, {}};
  return {Acted::Kind::kRefused, answer.detail};
}

// Back in line on disk: a job must not fill the windows.
Jobs::Acted Jobs::retry_parked(Step& step, const JobItem& item) {
  const Slot found = window_.find(item.id);
  if (found == kNoSlot) return {};
  const Slot slot = found;
  const Entry& entry = window_[slot];
  const Slot resident = entry.destination;
  const Transition* row = find_row(window_.method_of(entry).rows, entry.state.state, On::kDue);
  // What is parked has such a row, and that leads on: a table without it is not sound.
  POSTRIDER_CHECK(row != nullptr);
  const bool waits = residents_[resident].bound->profile->states[row->to].phase == Phase::kQueued;
  if (!entry.visitor() || !waits) {
    operators_.retry_now(step, slot);
    return {Acted::Kind::kDone, {}};
  }
  delivery_.unpark(step, item.id);
  revival_.put_back(step, slot);
  step.look_at(resident);
  return {Acted::Kind::kDone, {}};
}

}  // namespace postrider::core
