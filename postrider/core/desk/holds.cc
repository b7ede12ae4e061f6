#include "postrider/core/desk/holds.h"

#include <algorithm>

#include "postrider/base/planted.h"

namespace postrider::core {
namespace {

constexpr std::string_view kMark = "hold '";  // how the reason of a route begins that a hold paused

std::string reason_of(const HoldRule& rule) {
  return std::string(kMark) + rule.name + "': " + rule.reason;
}

Answer hold_answer(AnswerCode code, std::string detail) {
  Answer answer;
  answer.code = code;
  answer.detail = std::move(detail);
  return answer;
}

}  // namespace

bool Holds::is_held(const Resident& resident) {
  return resident.route.health == Health::kPaused && resident.route.reason.starts_with(kMark);
}

const HoldRule* Holds::hold_on(const Resident& resident) const {
  const Bound& bound = *resident.bound;
  for (const auto& [name, hold] : rules_) {
    const HoldRule& rule = hold.rule;
    if (!resident.name.starts_with(rule.destination_prefix)) continue;
    if (!rule.profile.empty() && rule.profile != bound.profile->name) continue;
    const std::string* tenant = find_text(bound.settings, "tenant");
    if (!rule.tenant.empty() && planted(Bug::kTenantNotHeld)) continue;
    if (!rule.tenant.empty() && (tenant == nullptr || *tenant != rule.tenant)) continue;
    return &rule;
  }
  return nullptr;
}

void Holds::apply_holds(Step& step, Slot slot) {
  Resident& resident = residents_[slot];
  const HoldRule* rule = hold_on(resident);
  if (rule == nullptr) {
    if (is_held(resident)) routes_.tell_health(step, slot, HealthOn::kResume, "the hold is over");
    return;
  }
  const std::string reason = reason_of(*rule).substr(0, limits_.reason_bytes_max);
  const Health health = resident.route.health;
  if (is_held(resident)) {
    if (resident.route.reason == reason) return;
    resident.route.reason = reason;
    routes_.write_route(step, slot);
  } else if (health != Health::kPaused && health != Health::kDisabled) {
    routes_.tell_health(step, slot, HealthOn::kPause, reason);
  }
}

// Before anything is started: destinations that came into memory, or changed, in this step.
void Holds::look_at_holds(Step& step) {
  for (const DestinationId id : residents_.take_fresh()) {
    if (planted(Bug::kHoldForgotten)) continue;
    const Slot found = residents_.find(id.value());
    if (found != kNoSlot) apply_holds(step, found);
  }
}

// A hold is over: destinations that it paused and that are on disk go on, page by page. After a
// stop in the middle of it the restore of owed destinations meets them.
void Holds::look_at_held(Step& step, const Chore& chore) {
  const Rows* rows = step.scan({chore.cursor, keys::after_prefix(keys::space(keys::kRoute)),
                                std::max<std::uint32_t>(1, limits_.restore_rows_max)});
  if (rows == nullptr) return;
  std::vector<Slot> held;
  for (const Row& row : rows->rows) {
    const auto id = keys::parse_destination(row.first);
    const auto route = decode_route(row.second.view());
    if (!id || !route || !route->reason.starts_with(kMark)) continue;
    held.push_back(destinations_.find_destination(step, *id).slot);
  }
  if (step.lacks()) return;
  for (const Slot slot : held) {
    if (slot != kNoSlot) apply_holds(step, slot);
  }
  if (!rows->complete)
    step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = rows->next});
}

void Holds::apply_holds_to_all(Step& step) {
  for (Slot slot = 0; slot < residents_.capacity(); ++slot) {
    if (residents_[slot].bound) apply_holds(step, slot);
  }
}

void Holds::look_at_all_held(Step& step) {
  step.out.chores.push_back({.kind = Chore::Kind::kRestore, .cursor = keys::space(keys::kRoute)});
}

void Holds::on(Step& step, const PutHold& put) {
  const HoldRule& rule = put.rule;
  const Operations::AuditLine line{"hold", rule.name, rule.reason};
  const std::string bytes = canonical("hold", rule.name, encode_hold({rule, {}, {}}));
  operations_.once(step, put.caller, bytes, line, [&]() -> std::optional<Answer> {
    for (const std::string* text :
         {&rule.name, &rule.destination_prefix, &rule.profile, &rule.tenant}) {
      if (text->size() > limits_.name_bytes_max)
        return hold_answer(
            AnswerCode::kInvalid,
            "names have at most " + std::to_string(limits_.name_bytes_max) + " bytes");
    }
    if (rule.name.empty()) return hold_answer(AnswerCode::kInvalid, "a hold has a name");
    const auto known = rules_.find(rule.name);
    if (known != rules_.end() && known->second.rule == rule)
      return hold_answer(AnswerCode::kNothing, "unchanged");
    if (known == rules_.end() && rules_.size() >= limits_.holds_max)
      return hold_answer(AnswerCode::kInvalid,
                         "there are " + std::to_string(limits_.holds_max) + " holds already");
    const bool is_new = known == rules_.end();
    Hold hold{rule, put.caller.actor, step.now};
    step.out.writes.put(keys::hold(rule.name), encode_hold(hold));
    rules_.insert_or_assign(rule.name, std::move(hold));
    apply_holds_to_all(step);
    if (!is_new) look_at_all_held(step);  // it may fit fewer than before
    return hold_answer(AnswerCode::kDone, is_new ? "held" : "changed");
  });
}

void Holds::on(Step& step, const DropHold& drop) {
  const Operations::AuditLine line{"release", drop.name, {}};
  operations_.once(
      step, drop.caller, canonical("release", drop.name, {}), line, [&]() -> std::optional<Answer> {
        const auto hold = rules_.find(drop.name);
        if (hold == rules_.end())
          return hold_answer(AnswerCode::kNotFound, "there is no hold '" + drop.name + "'");
        rules_.erase(hold);
        step.out.writes.remove(keys::hold(drop.name));
        apply_holds_to_all(step);
        look_at_all_held(step);
        return hold_answer(AnswerCode::kDone, "released");
      });
}

Answer Holds::list_holds() const {
  HoldList list;
  for (const auto& [name, hold] : rules_) list.holds.push_back(hold);
  Answer answer;
  answer.view = std::move(list);
  return answer;
}

}  // namespace postrider::core
