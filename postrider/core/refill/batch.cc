// Members of an open batch that are on disk when its leader's turn has come.
#include "postrider/base/check.h"
#include "postrider/base/planted.h"
#include "postrider/core/refill/refill.h"

namespace postrider::core {

void Refill::bring_batch_later(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  if (resident.bringing) return;
  resident.bringing = true;
  residents_.leave_lru(slot);
  ++resident.chores;
  step.out.chores.push_back({.kind = Chore::Kind::kBatch, .destination = resident.id});
}

void Refill::bring_batch(Step& step, const Chore& chore) {
  const Slot slot = residents_.find(chore.destination.value());
  POSTRIDER_CHECK(slot != kNoSlot);  // pinned by its chore
  const OpenBatch batch = residents_[slot].route.batch;
  std::vector<MessageId> members = batch.followers;
  if (batch.is_open()) members.push_back(batch.leader);
  std::vector<std::pair<MessageId, Lookup::Stored>> found;
  for (const MessageId id : members) {
    if (!window_.contains(id) && !sleepers_.contains(id))
      found.emplace_back(id, lookup_.read_message(step, id));
  }
  if (step.lacks()) return;
  Resident& resident = residents_[slot];
  resident.bringing = false;
  --resident.chores;
  step.look_at(slot);
  // The route may have closed meanwhile; then they are read when it opens.
  if (!residents_.awake(resident, step.now)) return;
  bool damaged = false;
  for (auto& [id, stored] : found) {
    if (!stored.message) {
      // It is in quarantine. Its batch goes on without it, and without its leader there is none.
      damaged = true;
      batches_.drop_follower(slot, id);
    } else if (!settle_in(step, slot, std::move(*stored.message), stored.state, stored.hot)) {
      residents_[slot].leader_sleeps = residents_[slot].leader_sleeps || id == batch.leader;
    }
  }
  if (!damaged) return;
  const bool headless = !window_.contains(batch.leader) && !sleepers_.contains(batch.leader) &&
                        !residents_[slot].leader_sleeps;
  if (headless) {
    delivery_.give_batch_back(step, slot);
  } else {
    routes_.write_route(step, slot);
  }
}

}  // namespace postrider::core
