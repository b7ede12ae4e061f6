#include "postrider/core/books/letters.h"

namespace postrider::core {
namespace {

bool leads_to_letter(const EndRecord& end) {
  return leaves_letter(end.phase) && end.content_bucket != 0;
}

}  // namespace

Letters::Buried Letters::find_end(Step& step, MessageId id) {
  Buried out;
  for (const keys::Bucket bucket : receipts_.buckets(Kept::kEnds)) {
    const std::string key = keys::end(bucket, id.sequence());
    const auto* value = step.get(key);
    if (value == nullptr || !value->has_value() || out.end) continue;
    auto end = decode_end((*value)->view());
    if (!end) step.damaged.emplace_back(key, **value);
    if (end && end->id == id) out.end = std::move(*end);
  }
  out.known = !step.lacks();
  return out;
}

// The end says in which bucket its letter lies. Ends may be kept for less long than letters: then
// the letter says how it ended, and is looked for in each of the few buckets.
Letters::Buried Letters::find_letter(Step& step, MessageId id) {
  Buried out = find_end(step, id);
  if (!out.known || (out.end && !leads_to_letter(*out.end))) return out;
  std::vector<keys::Bucket> where;
  if (out.end) where.push_back(out.end->content_bucket);
  if (!out.end) where = receipts_.buckets(Kept::kDead);
  for (const keys::Bucket bucket : where) {
    const auto* value = step.get(keys::dead(bucket, id));
    if (value == nullptr || !value->has_value()) continue;
    out.letter = **value;
    if (!out.end) out.end = end_of_letter(step, {keys::dead(bucket, id), **value}, bucket);
    if (!out.end) out.letter.reset();
  }
  out.known = !step.lacks();
  return out;
}

// The letter, or what is kept as history.
Letters::Buried Letters::find_content(Step& step, MessageId id) {
  Buried out = find_letter(step, id);
  if (!out.known || out.letter) return out;
  if (out.end && (out.end->content_bucket == 0 || leaves_letter(out.end->phase))) return out;
  std::vector<keys::Bucket> where;
  if (out.end) where.push_back(out.end->content_bucket);
  if (!out.end) where = receipts_.buckets(Kept::kHistory);
  for (const keys::Bucket bucket : where) {
    const std::string key = keys::history(bucket, id);
    const auto* value = step.get(key);
    if (value == nullptr || !value->has_value()) continue;
    out.letter = **value;
    if (!out.end) out.end = end_of_letter(step, {key, **value}, bucket);
    if (!out.end) out.letter.reset();
  }
  out.known = !step.lacks();
  return out;
}

std::optional<EndRecord> Letters::end_of_letter(Step& step, const Row& row, keys::Bucket bucket) {
  const auto dead = decode_dead(row.second.view());
  const auto message = dead ? decode_message(Blob::copy_of(dead->message))
                            : Result<Message>(fail(ErrorCode::kCorrupt, {}));
  if (!message) {
    step.damaged.push_back(row);
    return std::nullopt;
  }
  EndRecord end;
  end.id = message->id;
  end.phase = dead->letter.phase;
  end.cause = dead->letter.cause;
  end.attempts = dead->letter.attempts;
  end.accepted = message->accepted;
  end.at = dead->letter.at;
  end.content_bucket = bucket;
  end.origin = message->origin;
  end.reason = dead->letter.reason;
  return end;
}

void Letters::take_letter(Step& step, const Buried& buried, bool moves) {
  const SharedBody shared = bodies_.shared_of_letter(buried.letter->view());
  if (shared.id != 0) {
    step.out.writes.remove(
        keys::body_letter(buried.end->content_bucket, shared.id, buried.end->id));
    if (!moves) bodies_.release_later(step, shared, buried.end->id);
  }
  receipts_.take_letter({.bucket = buried.end->content_bucket,
                         .id = buried.end->id,
                         .size = buried.letter->size() + shared.bytes,
                         .phase = buried.end->phase,
                         .cause = buried.end->cause},
                        step.now, step.out.writes);
}

}  // namespace postrider::core
