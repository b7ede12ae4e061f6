#include "postrider/core/desk/operators.h"

namespace postrider::core {
namespace {

Answer answer_with(AnswerCode code, std::string detail = {}, MessageId id = {}) {
  Answer answer;
  answer.code = code;
  answer.id = id;
  answer.detail = std::move(detail);
  return answer;
}

bool has_letter(const EndRecord& end) {
  return leaves_letter(end.phase) && end.content_bucket != 0;
}

Answer no_letter(MessageId id) {
  return answer_with(AnswerCode::kNotFound, "there is no dead letter of this message, or no longer",
                     id);
}

}  // namespace

Answer Operators::missing(Step& step, MessageId id) {
  const Letters::Buried buried = letters_.find_end(step, id);
  if (!buried.known || !buried.end)
    return answer_with(AnswerCode::kNotFound, "there is no such message, or no longer", id);
  return answer_with(AnswerCode::kEnded,
                     "the message has ended: " + std::string(name_of(buried.end->phase)), id);
}

void Operators::on(Step& step, const Cancel& cancel) {
  const Operations::AuditLine line{"cancel", ids_.text(cancel.id), {}};
  operations_.once(
      step, cancel.caller, canonical("cancel", cancel.id), line, [&]() -> std::optional<Answer> {
        const Lookup::Located located = lookup_.locate(step, cancel.id);
        if (!located.known) return std::nullopt;
        if (located.slot == kNoSlot) return missing(step, cancel.id);
        delivery_.apply(step, located.slot, On::kCancelled, nullptr);
        const Slot still = window_.find(cancel.id);
        if (still == kNoSlot)
          return answer_with(AnswerCode::kDone, std::string(name_of(delivery_.last_end())),
                             cancel.id);
        if (!window_.method_of(window_[still]).cancels_later)
          return answer_with(AnswerCode::kNothing, "it is under way, and cannot be cancelled",
                             cancel.id);
        const bool sending = window_.phase_of(window_[still]) == Phase::kInFlight;
        return answer_with(
            AnswerCode::kPending,
            sending ? "an attempt is open; the message is cancelled unless that succeeds"
                    : "the far side has it; the message is cancelled as soon as that is over",
            cancel.id);
      });
}

void Operators::on(Step& step, const RetryNow& retry) {
  const Operations::AuditLine line{"retry", ids_.text(retry.id), {}};
  operations_.once(step, retry.caller, canonical("retry-now", retry.id), line,
                   [&]() -> std::optional<Answer> {
                     const Lookup::Located located = lookup_.locate(step, retry.id);
                     if (!located.known) return std::nullopt;
                     if (located.slot == kNoSlot) return missing(step, retry.id);
                     return retry_now(step, located.slot);
                   });
}

Answer Operators::retry_now(Step& step, Slot slot) {
  Entry& entry = window_[slot];
  const MessageId id = entry.message.id;
  const Phase phase = window_.phase_of(entry);
  const bool scheduled =
      phase == Phase::kQueued && window_.due_of(entry.message, entry.state) > step.now;
  if (phase != Phase::kBackoff && phase != Phase::kParked && !scheduled) {
    return answer_with(
        AnswerCode::kNothing,
        "nothing to wait for: the message is " + std::string(window_.state_of(entry).name), id);
  }
  Resident& resident = residents_[entry.destination];
  const bool fifo = resident.bound->policy.lane_kind(id.lane()) == LaneKind::kFifo;
  if (phase != Phase::kParked && (scheduled || (entry.visitor() && fifo))) {
    // It becomes due on disk; in a FIFO lane it must not overtake, so the refill brings it in its
    // place.
    entry.state.due = step.now;
    records_.store_state(step, entry);
    if (entry.due_entry.is_set()) {
      step.out.writes.remove(
          keys::due(std::exchange(entry.due_entry, {}), keys::DueKind::kAttempt, id));
    }
    due_.put_due(step, step.now, keys::DueKind::kAttempt, id);
    if (due_.loaded_until() <= step.now)
      step.out.chores.push_back(
          {.kind = Chore::Kind::kWakeMessage, .destination = id.destination(), .id = id});
    return answer_with(AnswerCode::kDone, "due now", id);
  }
  delivery_.apply(step, slot, On::kDue, nullptr);
  return answer_with(AnswerCode::kDone, phase == Phase::kParked ? "revived" : "due now", id);
}

void Operators::on(Step& step, const Redrive& redrive) {
  const Operations::AuditLine line{
      "redrive", ids_.text(redrive.id),
      redrive.even_if_it_ran ? std::string_view("even if it ran") : std::string_view()};
  operations_.once(
      step, redrive.caller, canonical("redrive", redrive.id), line, [&]() -> std::optional<Answer> {
        const Lookup::Located located = lookup_.locate(step, redrive.id);
        if (!located.known) return std::nullopt;
        if (located.slot != kNoSlot) {
          if (window_.phase_of(window_[located.slot]) == Phase::kParked)
            return retry_now(step, located.slot);
          return answer_with(AnswerCode::kNothing, "the message is still live", redrive.id);
        }
        const Letters::Buried buried = letters_.find_letter(step, redrive.id);
        if (!buried.known) return std::nullopt;
        if (!buried.letter && buried.end && !has_letter(*buried.end)) {
          return answer_with(AnswerCode::kEnded,
                             "the message has ended: " + std::string(name_of(buried.end->phase)) +
                                 "; only dead letters are sent again",
                             redrive.id);
        }
        if (!buried.letter) return no_letter(redrive.id);
        const Destinations::Destined destined =
            destinations_.find_destination(step, redrive.id.destination());
        if (!destined.known) return std::nullopt;
        if (destined.slot == kNoSlot)
          return answer_with(AnswerCode::kNotFound, "its destination is gone", redrive.id);
        return redrive_letter(step, destined.slot, buried, redrive.even_if_it_ran);
      });
}

Answer Operators::redrive_letter(Step& step, Slot slot, const Letters::Buried& buried,
                                 bool regardless) {
  const MessageId old = buried.end->id;
  const std::optional<Answer> answer = send_content(step, slot, buried, regardless);
  if (!answer) return {};  // something must be read first
  if (answer->code != AnswerCode::kAccepted) return *answer;
  letters_.take_letter(step, buried, true);
  ++receipts_.counters().redriven;
  return answer_with(AnswerCode::kAccepted, "redrives " + ids_.text(old), answer->id);
}

// A new message linked to the old one: an end is an end.
std::optional<Answer> Operators::send_content(Step& step, Slot slot, const Letters::Buried& buried,
                                              bool regardless) {
  const MessageId old = buried.end->id;
  if (const auto why = acceptance_.closed_to_new(residents_[slot]))
    return answer_with(AnswerCode::kDisabled, *why, old);
  const auto message = bodies_.message_of_letter(step, buried.letter->view());
  if (step.lacks()) return std::nullopt;
  if (!message) {
    step.damaged.emplace_back(content_key(buried.end->content_bucket, old, buried.end->phase),
                              *buried.letter);
    return answer_with(AnswerCode::kNotFound, "its content cannot be read; it is in quarantine",
                       old);
  }
  if (acceptance_.is_full(residents_[slot], message->attributes.size() + message->body.size()))
    return acceptance_.no_room(residents_[slot]);
  const ProfileSpec& profile = *residents_[slot].bound->profile;
  auto parsed = parse_message(profile, message->attributes, message->body).value_or(nullptr);
  auto refusal = reruns_.refuse_rerun(
      step, profile, {.former = old, .parsed = parsed.get(), .regardless = regardless});
  if (step.lacks() || refusal) return refusal;
  const auto accepted = acceptance_.take_message(step, {.resident = slot,
                                                        .lane = old.lane(),
                                                        .priority = old.priority(),
                                                        .not_before = {},
                                                        .expires = {},
                                                        .origin = old,
                                                        .attributes = message->attributes,
                                                        .body = message->body,
                                                        .shared = &message->shared,
                                                        .parsed = std::move(parsed)});
  if (!accepted) return std::nullopt;
  const Result<Acceptance::Taken>& taken = *accepted;
  if (!taken) return answer_with(AnswerCode::kInvalid, taken.error().detail, old);
  reruns_.note_run(step, profile, old, taken->id);
  return answer_with(AnswerCode::kAccepted, {}, taken->id);
}

void Operators::on(Step& step, const Drop& drop) {
  const Operations::AuditLine line{"drop", ids_.text(drop.id), {}};
  operations_.once(step, drop.caller, canonical("drop", drop.id), line,
                   [&]() -> std::optional<Answer> {
                     const Lookup::Located located = lookup_.locate(step, drop.id);
                     if (!located.known) return std::nullopt;
                     if (located.slot != kNoSlot) {
                       if (window_.phase_of(window_[located.slot]) != Phase::kParked) {
                         return answer_with(AnswerCode::kNothing,
                                            "the message is live; cancel it instead", drop.id);
                       }
                       delivery_.apply(step, located.slot, On::kCancelled, nullptr);
                       return answer_with(AnswerCode::kDone, "dropped", drop.id);
                     }
                     const Letters::Buried buried = letters_.find_letter(step, drop.id);
                     if (!buried.known) return std::nullopt;
                     if (!buried.letter) return no_letter(drop.id);
                     letters_.take_letter(step, buried);
                     ++receipts_.counters().dropped;
                     return answer_with(AnswerCode::kDone, "dropped", drop.id);
                   });
}

}  // namespace postrider::core
