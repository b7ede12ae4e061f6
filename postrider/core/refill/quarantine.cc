#include "postrider/core/refill/quarantine.h"

#include <algorithm>

namespace postrider::core {
namespace {

bool is_put(const WriteBatch& batch, const std::string& key) {
  return std::any_of(batch.writes().begin(), batch.writes().end(), [&](const Write& write) {
    return write.kind == Write::Kind::kPut && write.key == key;
  });
}

}  // namespace

void Quarantine::quarantine(Step& step, const Row& row) {
  step.out.writes.put(keys::quarantine(row.first), row.second);
  const auto hot = keys::parse_hot(row.first);
  const auto cold = keys::parse_cold(row.first);
  const bool message =
      (hot && hot->part == keys::Part::kMessage) || (cold && cold->part == keys::Part::kMessage);
  const auto body = keys::parse_body(row.first);
  const bool once = message || (body && body->part == keys::BodyPart::kBytes) ||
                    row.first[0] == keys::kCensusPage;
  const auto letter = row.first[0] == keys::kDead ? keys::parse_bucketed(row.first) : std::nullopt;
  if (once) {
    step.out.writes.remove_once(row.first);
  } else if (letter) {
    const auto dead =
        decode_dead(row.second.view());  // perhaps only the body that it shares is lost
    receipts_.take_letter(
        {.bucket = letter->bucket,
         .id = MessageId{letter->high, letter->low},
         .size = row.second.size() + bodies_.shared_of_letter(row.second.view()).bytes,
         .phase = dead ? std::optional(dead->letter.phase) : std::nullopt,
         .cause = dead ? dead->letter.cause : FailureClass::kNone},
        step.now, step.out.writes);
  } else if (!is_put(step.out.writes, row.first)) {  // what was written since is sound
    step.out.writes.remove(row.first);
    if (row.first[0] == keys::kCard) cards_.lose(row.first);
  }
  ++receipts_.counters().quarantined;
  LogEntry notice;
  notice.kind = LogEntry::Kind::kQuarantined;
  notice.at = step.now;
  notice.reason = std::string("a record of space ") + row.first[0] + " cannot be read";
  if (cold) notice.id = cold->id;
  receipts_.note(std::move(notice));
  if (message || letter || body) bodies_.lose_body(step, row);
  if (hot && once) gates_.release_unreadable(step, hot->sequence);
  if (!cold) return;
  census_.lose_cold(step, *cold, window_.contains(cold->id));
  if (message) gates_.release_lasting(step, cold->id);
  if (cold->part == keys::Part::kState)
    step.out.chores.push_back({.kind = Chore::Kind::kWakeMessage, .id = cold->id, .all = true});
  refill_.rouse_lane(step, cold->id);
  // It may have been the last of a destination that is being drained.
  const Slot resident = residents_.find(cold->id.destination().value());
  if (resident != kNoSlot) step.look_at(resident);
}

}  // namespace postrider::core
