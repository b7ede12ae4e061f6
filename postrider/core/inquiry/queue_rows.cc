// How deep each queue is and how old its oldest message, in memory and on disk alike. Nothing is
// written for it. What is accepted later has a larger sequence, and messages of one lane and one
// priority lie by sequence; so the oldest on disk is the first record of one of these runs, and a
// look at each run is enough, however many messages there are.
#include <algorithm>

#include "postrider/core/inquiry/inquiry.h"

namespace postrider::core {
namespace {

constexpr std::uint32_t kQueuesAtOnce = 128;  // in one answer
constexpr std::size_t kRunsAtOnce = 64;       // of one queue that are looked at for one answer
constexpr std::size_t kLaneKeyBytes = 7;      // space, shard, destination, lane
constexpr std::size_t kRunKeyBytes = 9;       // … and priority

void take_older(Timestamp& oldest, Timestamp accepted) {
  if (!oldest.is_set() || accepted < oldest) oldest = accepted;
}

// The destination of a key of the cold space, or of the beginning of one.
std::optional<DestinationId> destination_of(std::string_view key) {
  if (key.size() < kLaneKeyBytes) return std::nullopt;
  std::uint64_t number = 0;
  for (const char byte : key.substr(1, kLaneKeyBytes - 1))
    number = (number << 8) | static_cast<unsigned char>(byte);
  return DestinationId(number >> 4);
}

// Looks at the first message of each run from `from` on. Returns where to go on; empty: those were
// all, or something must be read first.
template <class Step>
std::string oldest_on_disk(Step& step, DestinationId id, std::string from, Timestamp& oldest) {
  const std::string last = keys::after_prefix(keys::cold_lane(id, kLanes - 1));
  for (std::size_t looks = 0; from < last; ++looks) {
    if (looks == kRunsAtOnce) return from;
    const Rows* rows = step.scan({from, last, 1});
    if (rows == nullptr) return {};
    if (rows->rows.empty()) {
      if (rows->complete) return {};
      from = rows->next;  // what was there is leaving
      continue;
    }
    const std::string& key = rows->rows[0].first;
    const auto parsed = keys::parse_cold(key);
    const auto message = decode_message(rows->rows[0].second);
    const bool readable = parsed && parsed->part == keys::Part::kMessage && message;
    if (readable) take_older(oldest, message->accepted);
    from = readable ? keys::after_prefix(key.substr(0, kRunKeyBytes)) : key + '\0';
  }
  return {};
}

}  // namespace

Inquiry::QueuePlaces Inquiry::queues_from(Step& step, const std::string& first,
                                          std::uint32_t limit) const {
  QueuePlaces out;
  const Rows* rows = step.scan({first, keys::after_prefix(keys::space(keys::kCensus)), limit});
  if (rows == nullptr) return out;
  for (const Row& row : rows->rows) {
    if (const auto id = keys::parse_destination(row.first)) out.census[id->value()] = row.second;
  }
  if (!rows->complete) {
    const auto behind = keys::parse_destination(rows->next.substr(0, rows->next.size() - 1));
    if (behind) out.next = behind->value() + 1;
  }
  // Destinations whose messages are all in memory, asleep for a short time or counted of late have
  // no record.
  const auto from = keys::parse_destination(first).value_or(DestinationId(0)).value();
  const auto add = [&](std::uint64_t number) {
    if (number >= from && (!out.next || number < *out.next)) out.census.try_emplace(number);
  };
  for (Slot slot = 0; slot < residents_.capacity(); ++slot) {
    const Resident& resident = residents_[slot];
    if (resident.bound && resident.in_memory + resident.cold_messages > 0) add(resident.id.value());
  }
  for (const auto& [number, count] : sleepers_.destinations()) add(number);
  for (auto id = census_.pages().next(from); id; id = census_.pages().next(id->value() + 1))
    add(id->value());
  if (out.census.size() > limit) {
    const auto cut = std::next(out.census.begin(), limit);
    out.next = cut->first;
    out.census.erase(cut, out.census.end());
  }
  return out;
}

void Inquiry::look_for_oldest(const Resident& resident, QueueRow& row) const {
  for (Slot at = resident.newest; at != kNoSlot; at = window_[at].next_here)
    take_older(row.oldest, window_[at].message.accepted);
}

// Of a destination that is not in memory.
void Inquiry::tell_config(Step& step, DestinationId id, QueueRow& row) const {
  const auto* record = step.get(keys::config(id));
  if (record == nullptr || !record->has_value()) return;
  const auto config = decode_config((*record)->view());
  if (!config || config->removed) return;
  row.destination = config->name;
  const auto bound = destinations_.templates().bind(*config);
  row.pulled = bound != nullptr && bound->policy.pulled;
}

// Everything but the oldest on disk. Destinations that are not in memory stay outside: a look must
// not fill the cache.
QueueRow Inquiry::queue_row(Step& step, DestinationId id, const std::optional<Blob>* census) {
  QueueRow row{.id = id};
  if (sleepers_.any_of(id.value())) {
    row.messages = sleepers_.count_of(id.value());
    row.more = true;
    row.oldest = sleepers_.oldest_of(id);
  }
  Timestamp next;
  if (const Slot found = residents_.find(id.value()); found != kNoSlot) {
    const Resident& resident = residents_[found];
    const auto permit = resident.gate.permit(resident.bound->policy.route, step.now);
    std::uint64_t cold = resident.cold_messages;
    for (const Lane& lane : resident.lanes) cold -= std::min<std::uint64_t>(cold, lane.cold.size());
    row.destination = resident.name;
    row.messages += resident.in_memory + cold;
    row.more = row.more || cold > 0;
    row.slots = resident.gate.in_use();
    row.slots_max = activity_of(resident, step.now).in_flight_now;
    row.health = resident.route.health;
    row.pulled = resident.bound->policy.pulled;
    look_for_oldest(resident, row);
    next = std::max(resident.route.closed_until, permit.open ? Timestamp() : permit.again);
  } else {
    const auto* route = step.get(keys::route(id));
    tell_config(step, id, row);
    const CensusRecord* newest = census_.pages().find(id);
    const auto counted = newest != nullptr ? *newest
                         : census != nullptr && census->has_value()
                             ? decode_census((*census)->view())
                             : Result<CensusRecord>(fail(ErrorCode::kNotFound, {}));
    if (counted) {
      for (const auto& [state, count] : counted->states) row.messages += count;
    }
    row.more = row.messages > 0;
    if (route != nullptr) {
      const Route read = destinations_.peek_at_route(step, id, *route);
      next = read.closed_until;
      row.health = read.health;
    }
  }
  if (next > step.now) row.next_slot = next - step.now;
  return row;
}

std::optional<Answer> Inquiry::list_queues(Step& step, const Query& query) {
  const std::string space = keys::space(keys::kCensus);
  if (query.cursor.starts_with(keys::kCold)) return go_on_with_queue(step, query.cursor);
  if (!query.cursor.empty() && (!query.cursor.starts_with(space) || query.cursor.size() != 9)) {
    Answer invalid;
    invalid.code = AnswerCode::kInvalid;
    invalid.detail = "this is not a cursor of the queues; ask without one, from the beginning";
    return invalid;
  }
  QueuePlaces places = queues_from(step, query.cursor.empty() ? space : query.cursor,
                                   std::clamp<std::uint32_t>(query.limit, 1, kQueuesAtOnce));
  if (step.lacks()) return std::nullopt;
  QueuePage page;
  if (places.next) page.next = keys::census(DestinationId(*places.next));
  for (const auto& [number, census] : places.census) {
    const DestinationId id(number);
    QueueRow row = queue_row(step, id, &census);
    if (row.messages == 0) continue;
    std::string left;
    if (row.more) left = oldest_on_disk(step, id, keys::cold_lane(id, 0), row.oldest);
    page.rows.push_back(std::move(row));
    if (left.empty()) continue;
    page.next = std::move(left);
    break;
  }
  if (step.lacks()) return std::nullopt;
  Answer answer;
  answer.view = std::move(page);
  return answer;
}

// One destination of more runs than one answer looks at.
std::optional<Answer> Inquiry::go_on_with_queue(Step& step, const std::string& cursor) {
  const std::optional<DestinationId> id = destination_of(cursor);
  Answer answer;
  if (!id) {
    answer.code = AnswerCode::kInvalid;
    answer.detail = "this is not a cursor of the queues; ask without one, from the beginning";
    return answer;
  }
  const auto* census = step.get(keys::census(*id));
  QueuePage page;
  QueueRow row = queue_row(step, *id, census);
  page.next = oldest_on_disk(step, *id, cursor, row.oldest);
  if (step.lacks()) return std::nullopt;
  if (page.next.empty()) page.next = keys::census(DestinationId(id->value() + 1));
  if (row.messages > 0) page.rows.push_back(std::move(row));
  answer.view = std::move(page);
  return answer;
}

}  // namespace postrider::core
