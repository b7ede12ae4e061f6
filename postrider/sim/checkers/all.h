// The checkers, one maker each. Numbers are those of the architecture.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "postrider/sim/world/checkers.h"

namespace postrider::sim {

using CheckerMaker = std::unique_ptr<Checker>(const CheckerContext& context, Notebook& notebook);

CheckerMaker make_ends_checker;      // 1, 11: one end each, told in the log, and the sums are right
CheckerMaker make_receipts_checker;  // 1: what has arrived by receipt is not sent again
CheckerMaker make_retention_checker;   // 11: what retention removes is old enough, and counted
CheckerMaker make_durability_checker;  // 2, 12: nothing left that was not durable; names are never
                                       // used twice
CheckerMaker make_log_checker;         // 2: the log is read in order, completely, and never changes
CheckerMaker make_once_checker;        // 3: what must not run twice does not
CheckerMaker make_keys_checker;        // 4: one key, one answer
CheckerMaker make_order_checker;       // 5: FIFO
CheckerMaker make_line_checker;        // 5: order by key
CheckerMaker make_expiry_checker;      // 6: nothing starts after its expiry
CheckerMaker make_limits_checker;      // 7: gates
CheckerMaker make_health_checker;      // 7: routes
CheckerMaker make_retry_checker;       // 8: a naive oracle of retry times
CheckerMaker make_budget_checker;      // 13: records and bytes
CheckerMaker make_explain_checker;     // 14: what was said to come next comes next
CheckerMaker make_listing_checker;     // 15: what is listed and shown is what there is
CheckerMaker make_drain_checker;       // 16: nothing enters what is drained, and it goes when empty
CheckerMaker make_news_checker;        // 17: news that was acknowledged is durable
CheckerMaker make_following_checker;   // 19: supersession, nested submits, gates held to the end
CheckerMaker make_revival_checker;     // 20: what is parked for want of reach comes back
CheckerMaker make_trail_checker;       // 28: every step is in the trail
CheckerMaker make_fairness_checker;    // 29: groups, and routes that learnt or start slowly

CheckerMaker make_groups_checker;      // 31: groups count the dead letters that there are
CheckerMaker make_jobs_checker;        // 32: jobs do what they say, and all of it
CheckerMaker make_audit_checker;       // 33: what operators did is told
CheckerMaker make_holds_checker;       // 34: nothing starts that is held
CheckerMaker make_priorities_checker;  // 35: lower priorities have their turns
CheckerMaker make_gaps_checker;        // 36: who is in the way of others makes way, and is marked
CheckerMaker make_fanout_checker;      // 37: fan-outs are whole, and their bodies are there
CheckerMaker make_history_checker;     // 38: content that is kept, and sent again
CheckerMaker make_census_checker;      // 40: what is counted by state is everything that lives
CheckerMaker make_attempts_checker;    // 41: what is told of attempts is what happened
CheckerMaker make_imports_checker;     // 43: what is carried in comes once, and whole
CheckerMaker make_turns_checker;       // 42: tenants and destinations have their turns
CheckerMaker make_lost_checker;        // 44: an end that is no delivery does not hide one
CheckerMaker make_clock_checker;       // 45: a leap of the clock at a start is doubted
CheckerMaker make_secrets_checker;     // 51: no byte of a key file is stored or told
CheckerMaker make_templates_checker;   // 50: what is made like a template is made once, and whole
CheckerMaker make_idle_checker;        // 50: and goes when it is idle, not before

CheckerMaker make_storm_checker;  // 42, of a world with a storm: attempts in a second

// Those of all worlds. Fields add their own.
CheckerList make_checkers(const CheckerContext& context, Notebook& notebook);

// Engine time at which an attempt was decided, when its request carries it.
std::optional<Timestamp> decided_at(const Left& left);
// Sends take gates and count as attempts; questions do not.
bool is_send(const Call& call);
// Others must wait for it, in a FIFO lane or an order by key.
bool is_in_order(const MessageNote& note);
// It is, and after so many attempts its destination's rule takes it out of their way.
bool is_in_the_way(const MessageNote& note, std::uint16_t attempts);

// Lanes with order by key that have become FIFO: what starts there goes by the lane, and for those
// that were under way the order of their keys is over.
class LeftLines {
 public:
  // Asked about each start.
  bool contain(const MessageNote& note) {
    const std::pair lane{note.id.destination().value(), note.id.lane()};
    if (note.line.empty() || note.destination == nullptr) return false;
    if (note.destination->policy.lane_kind(lane.second) == LaneKind::kFifo) lanes_.insert(lane);
    return lanes_.contains(lane);
  }

 private:
  std::set<std::pair<std::uint64_t, std::uint8_t>> lanes_;
};

}  // namespace postrider::sim
