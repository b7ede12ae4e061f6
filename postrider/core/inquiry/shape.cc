// How old the messages that live are, by destination, and what each destination is doing.
#include <algorithm>

#include "postrider/core/inquiry/inquiry.h"

namespace postrider::core {
namespace {

Answer refusal(AnswerCode code, std::string detail) {
  Answer answer;
  answer.code = code;
  answer.detail = std::move(detail);
  return answer;
}

Timestamp older(Timestamp one, Timestamp other) {
  if (!one.is_set()) return other;
  return other.is_set() ? std::min(one, other) : one;
}

bool is_message(std::string_view key) {
  const auto parsed = key[0] == keys::kHot ? keys::parse_hot(key) : keys::parse_cold(key);
  return parsed && parsed->part == keys::Part::kMessage;
}

}  // namespace

// First the cold space, by destination, then the hot one, by acceptance; `limit` counts records. Of
// one destination only its own part of the cold space is read, but all of the hot one, which holds
// what was accepted into windows.
std::optional<Answer> Inquiry::shape(Step& step, const Query& query) {
  std::optional<DestinationId> only;
  if (!query.destination.empty()) {
    const Destinations::Destined destined = destinations_.find_destination(step, query.destination);
    if (!destined.known) return std::nullopt;
    if (destined.slot == kNoSlot)
      return refusal(AnswerCode::kNotFound, "there is no destination '" + query.destination + "'");
    only = residents_[destined.slot].id;
  }
  const std::string hot = keys::space(keys::kHot);
  std::string first = only ? keys::cold_lane(*only, 0) : keys::space(keys::kCold);
  std::string last = keys::after_prefix(only ? keys::cold_lane(*only, kLanes - 1) : first);
  const bool is_hot = query.cursor.starts_with(hot);
  if (!is_hot && !query.cursor.empty() && (query.cursor < first || query.cursor > last))
    return refusal(AnswerCode::kInvalid, "this is not a cursor of this shape; begin without one");
  if (!query.cursor.empty()) first = query.cursor;
  if (is_hot) last = keys::after_prefix(hot);
  // A message and its state are two records, so that less than two would get nowhere.
  const std::uint32_t limit =
      std::clamp<std::uint32_t>(query.limit, 2, limits_.answer_rows_max + 1);
  const Rows* found = step.scan({first, last, limit});
  if (found == nullptr) return std::nullopt;
  ShapeCount census;
  std::string next = !found->complete ? found->next : is_hot ? std::string() : hot;
  for (std::size_t i = 0; i < found->rows.size(); ++i) {
    const Row& row = found->rows[i];
    if (!is_message(row.first)) continue;
    const Row* after = i + 1 < found->rows.size() ? &found->rows[i + 1] : nullptr;
    if (after == nullptr && !found->complete && i > 0) {
      next = row.first;  // its state may be in the next piece
      break;
    }
    const auto message = decode_message(row.second);
    if (!message || (only && message->id.destination() != *only)) continue;
    if (!know(step, message->id.destination(), census)) continue;
    const bool has_state = after != nullptr && lookup_.is_state_of(after->first, row.first);
    count_in(step, *message, has_state ? after : nullptr, census);
  }
  if (step.lacks()) return std::nullopt;
  ShapePage page;
  for (auto& [id, one] : census.by_destination) page.rows.push_back(std::move(one.row));
  page.messages = census.messages;
  page.next = std::move(next);
  Answer answer;
  answer.view = std::move(page);
  return answer;
}

// Destinations that are not in memory stay outside: a look must not fill the cache. False: it must
// be read first.
bool Inquiry::know(Step& step, DestinationId id, ShapeCount& census) const {
  const auto [place, is_new] = census.by_destination.try_emplace(id.value());
  if (!is_new) return true;
  ShapeCount::One& one = place->second;
  one.row.id = id;
  if (const Slot found = residents_.find(id.value()); found != kNoSlot) {
    const Bound& bound = *residents_[found].bound;
    one.row.name = residents_[found].name;
    one.profile = bound.profile;
    one.row.profile = bound.profile->name;
    return true;
  }
  const auto* record = step.get(keys::config(id));
  if (record == nullptr) return false;
  auto config = *record ? decode_config((*record)->view())
                        : Result<DestinationConfig>(fail(ErrorCode::kNotFound, {}));
  if (!config) return true;
  *config = destinations_.templates().in_full(std::move(*config));
  one.row.name = std::move(config->name);
  for (const ProfileSpec* profile : options_.profiles) {
    if (profile->name != config->profile) continue;
    one.profile = profile;
    one.row.profile = profile->name;
  }
  return true;
}

void Inquiry::count_in(Step& step, const Message& message, const Row* state,
                       ShapeCount& census) const {
  ShapeCount::One& one = census.by_destination.at(message.id.destination().value());
  ++census.messages;
  ++one.row.ages[age_column(step.now - message.accepted - window_.later(message))];
  one.row.oldest = older(one.row.oldest, message.accepted);
  State now;
  if (const Slot found = window_.find(message.id); found != kNoSlot) {
    now = window_[found].state;
  } else if (one.profile == nullptr || message.method >= one.profile->methods.size()) {
    return;
  } else if (const auto stored = state == nullptr
                                     ? Result<StoredState>(fail(ErrorCode::kNotFound, {}))
                                     : decode_state(state->second.view())) {
    now = stored->state;
  } else {
    now.state = one.profile->methods[message.method].initial;
  }
  if (one.profile == nullptr || now.state >= one.profile->states.size()) return;
  const StateRow& state_row = one.profile->states[now.state];
  ++one.row.states[state_row.name];
  if (one.profile->methods.size() > 1 && message.method < one.profile->methods.size())
    ++one.row.methods[one.profile->methods[message.method].name][state_row.name];
  const Phase phase = state_row.phase;
  ++one.row.phases[static_cast<std::size_t>(phase)];
  if (phase == Phase::kBackoff) one.row.next_at = older(one.row.next_at, now.due);
}

DestinationView::Activity Inquiry::activity_of(const Resident& resident, Timestamp now) {
  const Activity& it = resident.activity;
  const GateLimits& limits = resident.bound->policy.route;
  DestinationView::Activity view;
  view.since = it.since;
  view.in_flight_max = view.in_flight_now = limits.in_use_max;
  if (resident.bound->policy.adapts)
    view.in_flight_now = std::min(limits.in_use_max, resident.throttle.places());
  view.delivered = it.delivered;
  view.failed = it.failed;
  view.delivered_last_minute = it.deliveries.recent(now);
  view.failed_last_minute = it.failures.recent(now);
  view.delivered_lately = it.deliveries_lately.recent(now);
  view.failed_lately = it.failures_lately.recent(now);
  // A route that is not open says so itself, by its health and its reason.
  view.degraded = resident.route.health == Health::kNormal &&
                  Activity::is_degraded(view.delivered_lately, view.failed_lately);
  view.last_failure = it.last_failure;
  view.failed_at = it.failed_at;
  if (it.last_error) view.last_error = *it.last_error;
  const bool waits =
      std::any_of(resident.lanes.begin(), resident.lanes.end(),
                  [](const Lane& lane) { return lane.ready > 0 || lane.cold_ahead; });
  const bool held =
      resident.route.health == Health::kPaused || resident.route.health == Health::kDisabled;
  if (held || !waits) return view;
  const GateState::Permit permit = resident.gate.permit(limits, now);
  view.next_at = resident.route.closed_until;
  if (!permit.open && permit.again > view.next_at) view.next_at = permit.again;
  if (view.next_at < now) view.next_at = now;
  return view;
}

}  // namespace postrider::core
