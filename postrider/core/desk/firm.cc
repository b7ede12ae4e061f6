// Submits that are accepted in the step of what they follow from, all of them or none: what brought
// it will tell its far side that we have it.
#include "postrider/core/desk/acceptance.h"

namespace postrider::core {
namespace {

Answer refused(AnswerCode code, std::string detail) {
  Answer answer;
  answer.code = code;
  answer.detail = std::move(detail);
  return answer;
}

}  // namespace

std::optional<Answer> Acceptance::judge_firm(Step& step, std::span<const NestedSubmit> submits,
                                             std::vector<Firm>& out) {
  if (submits.size() > kNestedMax)
    return refused(AnswerCode::kTooLarge,
                   "more than " + std::to_string(kNestedMax) + " messages follow from it");
  for (const NestedSubmit& submit : submits) {
    if (auto refusal = judge_one(step, submit, submits, out)) return refusal;
    if (step.lacks()) return std::nullopt;
  }
  return std::nullopt;
}

// Those before it in `out` take their part of a mailbox first.
std::optional<Answer> Acceptance::judge_one(Step& step, const NestedSubmit& submit,
                                            std::span<const NestedSubmit> all,
                                            std::vector<Firm>& out) {
  if (auto refusal = invalid({}, submit.lane, submit.attributes, submit.body)) return refusal;
  const Destinations::Destined destined = destinations_.find_or_make(step, submit.destination);
  if (!destined.known) return std::nullopt;
  if (destined.slot == kNoSlot) return no_destination(submit.destination);
  const Resident& resident = residents_[destined.slot];
  if (auto why = closed_to_new(resident)) return refused(AnswerCode::kDisabled, std::move(*why));
  std::size_t bytes = submit.attributes.size() + submit.body.size();
  std::uint64_t ahead = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].resident != destined.slot) continue;
    ++ahead;
    bytes += all[i].attributes.size() + all[i].body.size();
  }
  if (is_full(resident, bytes, ahead)) return no_room(resident);
  const ProfileSpec& profile = *resident.bound->profile;
  if (profile.bounded && receipts_.counters().live() + out.size() >= limits_.live_max)
    return refused(AnswerCode::kFull, "too many messages are alive already");
  auto parsed = parse_message(profile, submit.attributes, submit.body);
  if (!parsed) return refused(AnswerCode::kInvalid, parsed.error().detail);
  Draft draft{.resident = destined.slot,
              .lane = submit.lane,
              .priority = submit.priority,
              .not_before = {},
              .expires = {},
              .origin = {},
              .attributes = submit.attributes,
              .body = submit.body,
              .parsed = std::move(*parsed)};
  auto admission = ask(step, draft);
  if (!admission) return refused(AnswerCode::kInvalid, admission.error().detail);
  if (admission->supersedes.size() > limits_.key_bytes_max)
    return refused(AnswerCode::kInvalid,
                   "the key by which messages supersede each other is too long");
  Firm firm{.resident = destined.slot};
  if (!admission->supersedes.empty())
    firm.older = find_older(step, names_.supersede_scope(resident.id), admission->supersedes);
  if (!admission->key.empty())
    locate_values(step, destined.slot, submit.lane, admission->key);
  firm.admission = std::move(*admission);
  firm.parsed = std::move(draft.parsed);
  out.push_back(std::move(firm));
  return std::nullopt;
}

MessageId Acceptance::take_firm(Step& step, std::span<const NestedSubmit> submits,
                                std::vector<Firm>& firm) {
  MessageId first;
  for (std::size_t i = 0; i < submits.size(); ++i) {
    const NestedSubmit& submit = submits[i];
    Draft draft{.resident = firm[i].resident,
                .lane = submit.lane,
                .priority = submit.priority,
                .not_before = {},
                .expires = {},
                .origin = {},
                .attributes = submit.attributes,
                .body = submit.body,
                .parsed = std::move(firm[i].parsed)};
    const Admission& admission = firm[i].admission;
    const MessageId id = admission.supersedes.empty()
                             ? admit(step, std::move(draft), admission)
                             : admit_instead(step, std::move(draft), admission, firm[i].older);
    if (i == 0) first = id;
  }
  return first;
}

}  // namespace postrider::core
