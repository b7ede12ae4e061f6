// How the members of a batch are chosen, shown to the profile, and ended.
#include <algorithm>

#include "postrider/base/check.h"
#include "postrider/base/planted.h"
#include "postrider/core/delivery/delivery.h"

namespace postrider::core {
namespace {

std::string_view remark_about(const Reading* reading, std::size_t member) {
  if (reading == nullptr) return {};
  for (const Remark& remark : reading->remarks) {
    if (remark.member == member) return remark.text;
  }
  return {};
}

}  // namespace

// The leader of an open batch goes on with the members that it has.
void Delivery::claim_followers(Step& step, Slot slot) {
  const Entry& entry = window_[slot];
  const Resident& resident = residents_[entry.destination];
  if (window_.leads(entry)) {
    if (planted(Bug::kBatchRegrown)) batches_.take_one_more(step, slot);
    return;
  }
  if (resident.route.batch.is_open()) give_batch_back(step, entry.destination);
  const ProfileSpec& profile = *resident.bound->profile;
  const Policy& policy = resident.bound->policy;
  const std::uint32_t most = batches_.members_max(resident);
  std::vector<Slot> candidates;
  std::vector<Facts> facts;
  std::uint16_t gaps = 0;  // FIFO lanes in which something is not due yet
  if (most > 1) {
    for (const Slot candidate : batches_.candidates(step, slot)) {
      const std::uint8_t lane = window_[candidate].message.id.lane();
      if ((gaps >> lane & 1U) != 0) continue;
      const Facts its = facts_of(step, window_[candidate]);
      if (profile.wire.judge(its).signal == On::kDue) {
        candidates.push_back(candidate);
        facts.push_back(its);
      } else if (policy.lane_kind(lane) == LaneKind::kFifo) {
        gaps = static_cast<std::uint16_t>(gaps | 1U << lane);
      }
    }
  }
  std::vector<std::size_t> chosen;
  if (!candidates.empty()) chosen = profile.wire.compose(facts_of(step, entry), facts, most);
  batches_.open(step, slot, candidates, chosen);
}

// As of the time that stands for the attempt: its bytes must not follow from anything later.
std::vector<Facts> Delivery::follower_facts(const Entry& leader, Timestamp at,
                                            Timestamp wall) const {
  const Resident& resident = residents_[leader.destination];
  const Bound& bound = *resident.bound;
  std::vector<Facts> out;
  out.reserve(resident.route.batch.followers.size());
  for (const MessageId id : resident.route.batch.followers) {
    const Slot slot = window_.find(id);
    POSTRIDER_CHECK(slot != kNoSlot);
    const Entry& entry = window_[slot];
    out.push_back({entry.message,
                   entry.state,
                   resident.facts(),
                   bound.policy,
                   at,
                   wall,
                   entry.notes(),
                   nullptr,
                   nullptr,
                   {bound.prepared.get(), parsed_of(entry)},
                   &ids_,
                   options_.secrets.get()});
  }
  return out;
}

void Delivery::give_batch_back(Step& step, Slot resident, bool splits) {
  const std::vector<MessageId> followers = batches_.release(step, resident, splits);
  for (const MessageId id : followers) {
    const Slot slot = window_.find(id);
    if (slot != kNoSlot && !window_[slot].visitor()) raise_remembered(step, slot);
  }
}

// What the leader ends as, its followers end as, in one commit. Of the attempts of the batch a
// follower counts the last one, which decided; the others are told by the leader.
void Delivery::end_members(Step& step, Slot slot, StateIndex to, On signal,
                           const Reading* reading) {
  const Entry& leader = window_[slot];
  const Slot destination = leader.destination;
  if (!window_.leads(leader)) {
    const ProfileSpec& profile = *residents_[destination].bound->profile;
    const bool kept = profile.keeps_outcomes && reading != nullptr && reading->outcome_bytes &&
                      profile.states[to].phase == Phase::kDelivered;
    return end(step, slot, to, remark_about(reading, 0), kept ? &*reading->outcome_bytes : nullptr);
  }
  const OpenBatch batch = batches_.close(destination);
  const State state = leader.state;
  const std::string reason(leader.reason_text());
  const bool in_flight = window_.phase_of(leader) == Phase::kInFlight;
  const Timestamp began = in_flight ? state.since : leader.details->intent.at;
  const Phase phase = residents_[destination].bound->profile->states[to].phase;
  end(step, slot, to, remark_about(reading, 0));
  for (std::size_t i = 0; i < batch.followers.size(); ++i) {
    const Slot follower = window_.find(batch.followers[i]);
    POSTRIDER_CHECK(follower != kNoSlot);
    Entry& entry = window_[follower];
    if (planted(Bug::kBatchTorn) && i > 0) {
      window_.make_ready(step, follower);
      continue;
    }
    if (entry.state.attempts < UINT16_MAX) ++entry.state.attempts;
    if (!entry.state.first_attempt.is_set()) entry.state.first_attempt = began;
    if (entry.details && !entry.details->past.attempts.empty())
      entry.details->past.attempts.begin(began, limits_.attempts_kept_max);
    entry.state.failure = state.failure;
    entry.state.certainty = state.certainty;
    window_.set_reason(entry, reason);
    note_attempt(step, entry, phase, signal, reading);
    end(step, follower, to, remark_about(reading, i + 1));
  }
  if (phase == Phase::kDelivered) batches_.note_success(residents_[destination]);
  routes_.write_route(step, destination);
}

}  // namespace postrider::core
