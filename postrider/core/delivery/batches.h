// Batches: which messages of a destination leave in one attempt. The message whose turn has come
// leads; its followers are claimed. The leader alone has state, attempt and gates.
//
// Invariants
//   - A destination has at most one open batch, `Route::batch`. It is written down in the commit
//     that lets the first attempt out, and taken back in the commit that ends or releases it.
//   - While it is open the destination starts nothing but its leader, and the members stay the
//     same: a follower neither starts nor expires, ends or is cancelled.
//   - While an attempt of the leader is open all followers are in memory.
//   - The number of a batch (`Route::claims`) is never used twice, so the leader's id and the
//     number name its members for ever.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "postrider/core/delivery/routes.h"
#include "postrider/core/step.h"
#include "postrider/core/window/destinations.h"
#include "postrider/core/window/residents.h"
#include "postrider/core/window/window.h"
#include "postrider/model/answer.h"

namespace postrider::core {

class Batches {
 public:
  Batches(Tallies& tallies, Residents& residents, Destinations& destinations, Window& window,
          Routes& routes)
      : tallies_(tallies),
        residents_(residents),
        destinations_(destinations),
        window_(window),
        routes_(routes) {}
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  // Whether an attempt of this message is a batch. The leader of an open batch goes on with it,
  // whatever the settings say by now.
  bool is_batched(const Entry& entry) const;
  // How many members a batch of this destination may have now; at least one.
  std::uint32_t members_max(const Resident& resident) const;
  // The messages that may follow this one, lane by lane, each lane in its order.
  std::vector<Slot> candidates(const Step& step, Slot leader) const;
  // Claims what was chosen among the candidates, as far as that may be: each place once, at most as
  // many as a batch may have, and of a FIFO lane nothing behind a gap.
  void open(Step& step, Slot leader, std::span<const Slot> candidates,
            std::span<const std::size_t> chosen);
  // The members go back to their lanes. `splits`: they were too many for one batch. Returns the
  // followers.
  std::vector<MessageId> release(Step& step, Slot resident, bool splits);
  // The members end: takes the batch back. What it was is returned.
  OpenBatch close(Slot resident);
  // A follower that cannot be read any more.
  void drop_follower(Slot resident, MessageId id);
  // A message of this destination ends.
  void forget_refused(Step& step, const Entry& entry);
  void take_one_more(Step& step, Slot leader);  // a planted bug
  // A batch was delivered and its members have ended.
  void note_success(Resident& resident);
  // The route has become deep.
  void begin_small(Slot resident);

 private:
  bool may_follow(const Step& step, const Entry& leader, const Entry& entry) const;

  Tallies& tallies_;
  Residents& residents_;
  Destinations& destinations_;
  Window& window_;
  Routes& routes_;
};

}  // namespace postrider::core
