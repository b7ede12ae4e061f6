#include "postrider/core/desk/mailboxes.h"

#include <utility>
#include <vector>

#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

Answer refusal(AnswerCode code, std::string detail) {
  Answer answer;
  answer.code = code;
  answer.detail = std::move(detail);
  return answer;
}

Answer no_mailbox(const std::string& name) {
  return refusal(AnswerCode::kNotFound, "there is no mailbox '" + name + "'");
}

}  // namespace

void Mailboxes::on(Step& step, const Confirm& confirm) {
  const Ticket ticket = confirm.caller.ticket;
  if (confirm.ids.size() > limits_.confirm_ids_max) {
    return step.reply(ticket, refusal(AnswerCode::kTooLarge,
                                      "at most " + std::to_string(limits_.confirm_ids_max) +
                                          " messages are confirmed at a time"));
  }
  const Destinations::Destined box = destinations_.find_destination(step, confirm.destination);
  if (!box.known) return;
  if (box.slot == kNoSlot || !residents_[box.slot].bound->policy.pulled)
    return step.reply(ticket, no_mailbox(confirm.destination));
  const DestinationId id = residents_[box.slot].id;
  // All are looked up before the first changes: a step that lacks something has changed nothing.
  std::vector<Slot> found;
  Confirmed done;
  for (const MessageId message : confirm.ids) {
    const Lookup::Located located =
        message.destination() == id ? lookup_.locate(step, message) : Lookup::Located{true};
    if (!located.known) continue;
    if (located.slot == kNoSlot) ++done.gone;
    if (located.slot != kNoSlot) found.push_back(located.slot);
  }
  if (step.lacks()) return;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Entry& entry = window_[found[i]];
    // The same one may be named twice.
    if (entry.destination == kNoSlot || entry.message.id.destination() != id) continue;
    ++done.confirmed;
    if (planted(Bug::kConfirmLost) && i > 0 && i + 1 == found.size()) continue;
    delivery_.apply(step, found[i], On::kConfirmed, nullptr);
  }
  Answer answer;
  answer.view = done;
  step.reply(ticket, std::move(answer));
}

void Mailboxes::on(Step& step, const Await& await) {
  if (await.id.is_set()) return await_end(step, await);
  await_mailbox(step, await);
}

void Mailboxes::on(Step& /*step*/, const StopWaiting& stop) { waiters_.stop(stop.awaited); }

// Whether something has ended or was never there is for the question that follows to say, unless
// its profile keeps outcomes: then the answer says how it ended.
void Mailboxes::await_end(Step& step, const Await& await) {
  const Lookup::Located located = lookup_.locate(step, await.id);
  if (!located.known) return;
  if (located.slot != kNoSlot) return wait(step, await, await.id);
  Answer answer;
  answer.id = await.id;
  answer.replayed = true;
  const Destinations::Destined its = destinations_.find_destination(step, await.id.destination());
  if (!its.known) return;
  const bool keeps = its.slot != kNoSlot && residents_[its.slot].bound->profile->keeps_outcomes;
  if (keeps) {
    const Letters::Buried buried = letters_.find_end(step, await.id);
    Blob outcome = cards_.outcome_of(step, *residents_[its.slot].bound->profile, await.id);
    if (step.lacks()) return;
    if (!buried.end) answer.code = AnswerCode::kNotFound;
    if (buried.end)
      answer.view = EndView{buried.end->phase, buried.end->at, buried.end->attempts,
                            buried.end->reason, std::move(outcome)};
  }
  step.reply(await.ticket, std::move(answer));
}

void Mailboxes::await_mailbox(Step& step, const Await& await) {
  const Destinations::Destined box = destinations_.find_destination(step, await.destination);
  if (!box.known) return;
  if (box.slot == kNoSlot || !residents_[box.slot].bound->policy.pulled)
    return step.reply(await.ticket, no_mailbox(await.destination));
  const DestinationId id = residents_[box.slot].id;
  const std::string lane = keys::cold_lane(id, 0);
  const bool whole = !await.after.is_set() || await.after.destination() != id;
  const std::string first =
      whole ? lane : keys::after_prefix(keys::cold(await.after, keys::Part::kState));
  const Rows* rows = step.scan({first, keys::after_prefix(lane), 1});
  if (rows == nullptr) return;
  if (rows->rows.empty()) return wait(step, await, Waiters::mailbox(id));
  step.reply(await.ticket, {});
}

void Mailboxes::wait(Step& step, const Await& await, MessageId thing) {
  if (waiters_.wait(step, await.ticket, thing, await.at_most)) return;
  step.reply(await.ticket, refusal(AnswerCode::kBusy, "too many callers wait already"));
}

}  // namespace postrider::core
