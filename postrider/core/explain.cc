// Explain: where a message is, since when, why, and what comes next; told from the state by which
// the engine decides.
#include <algorithm>

#include "postrider/core/engine_impl.h"

namespace postrider {

void Engine::Impl::on(Turn& turn, const Ask& ask) {
  std::optional<Answer> answer;
  switch (ask.what) {
    case Ask::What::kExplain: answer = explain(turn, ask.id); break;
    case Ask::What::kStats:
      answer.emplace();
      answer->view = stats();
      break;
    case Ask::What::kLog: answer = read_log(turn, ask); break;
    case Ask::What::kDeadLetters: answer = list_dead(turn, ask); break;
    case Ask::What::kDestination: answer = describe(turn, ask); break;
  }
  if (turn.lacks()) return;
  POSTRIDER_CHECK(answer.has_value());
  reply(turn, ask.ticket, std::move(*answer));
}

std::optional<Answer> Engine::Impl::explain(Turn& turn, MessageId id) {
  const Located located = locate(turn, id);
  if (!located.known) return std::nullopt;
  Answer answer;
  answer.id = id;
  if (located.slot != kNoSlot) {
    answer.view = explain_entry(turn, entries_[located.slot]);
    return answer;
  }
  const Buried buried = find_letter(turn, id);
  const Destined destined = find_destination(turn, id.destination());
  if (!buried.known || !destined.known) return std::nullopt;
  if (!buried.end) {
    answer.code = AnswerCode::kNotFound;
    answer.detail = "there is no such message, or no longer";
    return answer;
  }
  Explanation out;
  out.id = id;
  out.phase = buried.end->phase;
  out.state = name_of(out.phase);
  out.place = Explanation::Place::kEnded;
  out.accepted = buried.end->accepted;
  out.since = buried.end->at;
  out.attempts = buried.end->attempts;
  out.failure = buried.end->cause;
  out.reason = buried.end->reason;
  out.origin = buried.end->origin;
  out.why = buried.letter ? "it has ended and left a dead letter" : "it has ended";
  if (destined.slot != kNoSlot) {
    out.destination = residents_[destined.slot].bound->config.name;
    out.health = residents_[destined.slot].route.health;
  }
  answer.view = std::move(out);
  return answer;
}

Explanation Engine::Impl::explain_entry(const Turn& turn, const Entry& entry) const {
  const Resident& resident = residents_[entry.destination];
  const StateRow& state = state_of(entry);
  Explanation out;
  out.id = entry.message.id;
  out.destination = resident.bound->config.name;
  out.state = state.name;
  out.phase = state.phase;
  out.accepted = entry.message.accepted;
  out.since = entry.state.since.is_set() && !(entry.visitor && !entry.stored)
                  ? entry.state.since
                  : entry.message.accepted;
  out.expires = entry.message.expires;
  out.attempts = entry.state.attempts;
  out.failure = entry.state.failure;
  out.reason = entry.reason_text();
  out.health = resident.route.health;
  out.cancel_wanted = entry.state.cancel_wanted;
  out.origin = entry.message.origin;
  explain_next(turn, entry, resident, out);
  return out;
}

bool Engine::Impl::waits_behind(const Lane& lane, const Entry& entry) const {
  const MessageId id = entry.message.id;
  if (lane.owes_before(id, LaneKind::kFifo)) return true;
  const bool others_busy = lane.in_memory - (entry.ready ? 0U : 1U) != lane.ready;
  return others_busy || (lane.first != kNoSlot && entries_[lane.first].message.id < id);
}

void Engine::Impl::explain_next(const Turn& turn, const Entry& entry, const Resident& resident,
                                Explanation& out) const {
  using Place = Explanation::Place;
  using Next = Explanation::Next;
  switch (out.phase) {
    case Phase::kInFlight:
      out.place = Place::kOnTheWire;
      out.why = "an attempt is open";
      out.next = Next::kOutcome;
      out.next_at = entry.state.due;
      return;
    case Phase::kAwaiting:
      out.place = Place::kAtPeer;
      out.why = "the far side has it; news will come";
      out.next = Next::kNews;
      out.next_at = entry.state.due;
      return;
    case Phase::kParked:
      out.place = Place::kParked;
      out.why = "an operator must look at it";
      out.next = Next::kOperator;
      return;
    case Phase::kQueued:
    case Phase::kBackoff: break;
    case Phase::kDelivered:
    case Phase::kDead:
    case Phase::kExpired:
    case Phase::kCancelled:
    case Phase::kIndeterminate: POSTRIDER_CHECK(false);
  }
  const Lane* lane = nullptr;
  for (const Lane& candidate : resident.lanes) {
    if (candidate.number == entry.message.id.lane()) lane = &candidate;
  }
  out.place = entry.visitor ? Place::kDisk : Place::kWindow;
  out.next = Next::kAttempt;
  if (entry.state.due > turn.now) {
    out.place = Place::kSleeping;
    out.next_at = entry.state.due;
    out.why = out.phase == Phase::kBackoff ? "it waits for its next attempt"
                                           : "it is not to be sent earlier";
  } else if (lane != nullptr && resident.bound->policy.lane_kind(lane->number) == LaneKind::kFifo &&
             waits_behind(*lane, entry)) {
    out.why = "messages before it in its lane come first";
  } else if (!entry.ready && !entry.visitor) {
    out.why = "it waits at a gate that it shares with others";
  } else {
    out.why =
        entry.visitor ? "it waits on disk for a place in the window" : "it waits for its turn";
  }
  const Route& route = resident.route;
  if (route.health == Health::kPaused || route.health == Health::kDisabled) {
    out.next = Next::kOperator;
    out.next_at = Timestamp();
    out.why = "the destination is " + std::string(name_of(route.health)) + ": " + route.reason;
  } else if (route.closed_until > turn.now && route.closed_until > out.next_at) {
    out.next_at = route.closed_until;
    out.why = "the destination is closed: " + route.reason;
  }
}

std::optional<Answer> Engine::Impl::read_log(Turn& turn, const Ask& ask) {
  const std::uint32_t limit = std::clamp<std::uint32_t>(ask.limit, 1, limits_.answer_rows_max);
  LogPage page;
  LogPosition from = ask.from;
  const keys::Bucket oldest = receipts_.oldest(Kept::kLog);
  if (from.bucket != 0 && from.bucket < oldest) {
    page.fell_behind = receipts_.fell_behind(from);
    from = {oldest, from.page, from.index};
  }
  const Rows* rows = turn.scan({keys::log(from.bucket, Sequence(from.page)),
                                keys::after_prefix(keys::space(keys::kLog)), limit});
  if (rows == nullptr) return std::nullopt;
  page.next = from;
  page.at_end = rows->complete;
  if (!rows->complete) {
    // Nothing but removed pages so far: go on behind them.
    const auto behind =
        keys::parse_bucketed(std::string_view(rows->next).substr(0, rows->next.size() - 1));
    if (behind) page.next = {behind->bucket, behind->high + 1, 0};
  }
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_bucketed(row.first);
    auto entries = key ? decode_log(row.second.view(), key->bucket, Sequence(key->high))
                       : Result<std::vector<LogEntry>>(fail(ErrorCode::kCorrupt, {}));
    if (!entries) {
      turn.damaged.push_back(row);
      continue;
    }
    for (LogEntry& entry : *entries) {
      if (entry.position < from) continue;
      if (page.entries.size() == limit) {
        page.at_end = false;
        break;
      }
      page.next = {entry.position.bucket, entry.position.page, entry.position.index + 1};
      page.entries.push_back(std::move(entry));
    }
    if (page.entries.size() == limit) break;
  }
  // A reader that has seen everything waits behind everything, so that retention never takes what
  // it has not read.
  if (page.at_end) page.next = {receipts_.running(Kept::kLog), last_sequence_ + 1, 0};
  Answer answer;
  answer.view = std::move(page);
  return answer;
}

// Parked messages first, then the dead and expired; the cursor's first byte says which.
std::optional<Answer> Engine::Impl::list_dead(Turn& turn, const Ask& ask) {
  const std::uint32_t limit = std::clamp<std::uint32_t>(ask.limit, 1, limits_.answer_rows_max);
  DeadLetters out;
  std::string from = ask.cursor;
  if (!from.empty() && from[0] != keys::kParked && from[0] != keys::kDead) {
    // A cursor is outside data; one that is not ours must not lead anywhere else in the store.
    Answer invalid;
    invalid.code = AnswerCode::kInvalid;
    invalid.detail = "this is not a cursor of the dead letters; ask from the beginning";
    return invalid;
  }
  if (from.empty() || from[0] == keys::kParked) {
    if (!list_parked(turn, ask, limit, out)) return std::nullopt;
    from = keys::space(keys::kDead);
  }
  if (out.next.empty() && out.letters.size() < limit) {
    const auto left = static_cast<std::uint32_t>(limit - out.letters.size());
    const Rows* rows = turn.scan({from, keys::after_prefix(keys::space(keys::kDead)), left});
    if (rows == nullptr) return std::nullopt;
    for (const Row& row : rows->rows) {
      auto dead = decode_dead(row.second.view());
      if (dead) out.letters.push_back(dead->letter);
      if (!dead) turn.damaged.push_back(row);
    }
    if (!rows->complete) out.next = rows->next;
  } else if (out.next.empty()) {
    out.next = from;
  }
  Answer answer;
  answer.view = std::move(out);
  return answer;
}

bool Engine::Impl::list_parked(Turn& turn, const Ask& ask, std::uint32_t limit, DeadLetters& out) {
  const std::string first = ask.cursor.empty() ? keys::space(keys::kParked) : ask.cursor;
  const Rows* rows = turn.scan({first, keys::after_prefix(keys::space(keys::kParked)), limit});
  if (rows == nullptr) return false;
  for (const Row& row : rows->rows) {
    const auto id = keys::parse_parked(row.first);
    if (!id) continue;
    const auto* state = turn.get(keys::cold(*id, keys::Part::kState));
    if (state == nullptr || !state->has_value()) continue;
    const auto decoded = decode_state((*state)->view());
    if (!decoded) continue;
    out.letters.push_back({*id, Phase::kParked, decoded->state.since, decoded->state.failure,
                           decoded->state.attempts, decoded->reason});
  }
  if (!rows->complete) out.next = rows->next;
  return !turn.lacks();
}

std::optional<Answer> Engine::Impl::describe(Turn& turn, const Ask& ask) {
  const Destined destined = find_destination(turn, ask.destination);
  if (!destined.known) return std::nullopt;
  Answer answer;
  if (destined.slot == kNoSlot) {
    answer.code = AnswerCode::kNotFound;
    answer.detail = "there is no destination '" + ask.destination + "'";
    return answer;
  }
  const Resident& resident = residents_[destined.slot];
  DestinationView view;
  view.id = resident.id;
  view.config = resident.bound->config;
  view.route = resident.route;
  view.in_window = resident.in_memory;
  view.open_attempts = resident.open_attempts;
  view.owed = resident.owed_stored;
  answer.view = std::move(view);
  return answer;
}

}  // namespace postrider
