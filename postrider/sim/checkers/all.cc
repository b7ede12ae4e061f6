#include "postrider/sim/checkers/all.h"

namespace postrider::sim {

CheckerList make_checkers(const CheckerContext& context, Notebook& notebook) {
  CheckerList list;
  for (CheckerMaker* maker :
       {make_ends_checker,       make_receipts_checker, make_retention_checker,
        make_durability_checker, make_log_checker,      make_once_checker,
        make_keys_checker,       make_order_checker,    make_line_checker,
        make_expiry_checker,     make_limits_checker,   make_health_checker,
        make_retry_checker,      make_budget_checker,   make_explain_checker,
        make_listing_checker,    make_drain_checker,    make_news_checker,
        make_following_checker,  make_revival_checker,  make_trail_checker,
        make_fairness_checker,   make_groups_checker,   make_jobs_checker,
        make_audit_checker,      make_holds_checker,    make_priorities_checker,
        make_gaps_checker,       make_fanout_checker,   make_history_checker,
        make_census_checker,     make_attempts_checker, make_turns_checker,
        make_imports_checker,    make_lost_checker,     make_clock_checker,
        make_templates_checker,  make_secrets_checker,  make_idle_checker}) {
    list.push_back(maker(context, notebook));
  }
  if (context.world == WorldKind::kStorm) list.push_back(make_storm_checker(context, notebook));
  return list;
}

std::optional<Timestamp> decided_at(const Left& left) { return left.call.decided_at; }

bool is_send(const Call& call) { return call.sends; }

bool is_in_order(const MessageNote& note) {
  if (note.destination == nullptr) return false;
  return !note.line.empty() ||
         note.destination->policy.lane_kind(note.id.lane()) == LaneKind::kFifo;
}

bool is_in_the_way(const MessageNote& note, std::uint16_t attempts) {
  if (!is_in_order(note)) return false;
  const Policy& policy = note.destination->policy;
  return policy.on_poison != OnPoison::kBlock && attempts >= policy.poison_after;
}

}  // namespace postrider::sim
