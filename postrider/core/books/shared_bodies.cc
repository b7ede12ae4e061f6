#include "postrider/core/books/shared_bodies.h"

#include <algorithm>

#include "postrider/base/planted.h"

namespace postrider::core {

// True when everything was read that there is to read of it: then it is in memory, or lost. What
// cannot be read goes into quarantine, a body together with its count.
bool SharedBodies::load_body(Step& step, std::uint64_t id, bool with_bytes) {
  const Bodies::Body* known = bodies_.find(id);
  if (known != nullptr && (known->record || !with_bytes)) return true;
  const std::string bytes_key = keys::body(id, keys::BodyPart::kBytes);
  const std::string count_key = keys::body(id, keys::BodyPart::kCount);
  const auto* bytes = with_bytes ? step.get(bytes_key) : nullptr;
  const auto* count = step.get(count_key);
  if (count == nullptr || (with_bytes && bytes == nullptr)) return false;
  Bodies::Body body;
  if (with_bytes) {
    const auto decoded = bytes->has_value()
                             ? decode_body((*bytes)->view())
                             : Result<std::string_view>(fail(ErrorCode::kNotFound, {}));
    if (!decoded) {
      if (bytes->has_value()) step.damaged.emplace_back(bytes_key, **bytes);
      if (count->has_value() && bytes->has_value()) step.damaged.emplace_back(count_key, **count);
      return true;
    }
    body.record = **bytes;
    body.bytes = static_cast<std::uint32_t>(decoded->size());
  }
  if (known != nullptr) {
    bodies_.fill(id, body.record);
    return true;
  }
  const auto counted = count->has_value() ? decode_body_count((*count)->view())
                                          : Result<BodyCount>(fail(ErrorCode::kNotFound, {}));
  if (!counted && count->has_value()) step.damaged.emplace_back(count_key, **count);
  body.counted = counted.has_value();
  if (counted) body.references = counted->references;
  if (counted && !with_bytes) body.bytes = counted->bytes;
  bodies_.add(id, std::move(body));
  return true;
}

void SharedBodies::need_body(Step& step, const Row& row) {
  const SharedBody shared = shares_body(row.second.view());
  if (shared.id != 0) load_body(step, shared.id, true);
}

bool SharedBodies::give_body(Message& message) const {
  if (message.shared.id == 0) return true;
  const Bodies::Body* body = bodies_.find(message.shared.id);
  return body != nullptr && body->record && attach_body(message, body->record);
}

// A reference whose count is perhaps not in memory: a record until it is counted down.
void SharedBodies::release_later(Step& step, const SharedBody& shared, MessageId id) {
  step.out.writes.put(keys::body_letter(0, shared.id, id), std::string_view());
  waits_ = true;
}

// References of letters whose buckets are gone, and others that went without their counts.
void SharedBodies::count_down(Step& step) {
  const Rows* rows = step.scan({keys::space(keys::kBodyLetter),
                                keys::bucket(keys::kBodyLetter, receipts_.oldest(Kept::kDead)),
                                std::max<std::uint32_t>(1, limits_.body_rows_max)});
  if (rows == nullptr) return;
  for (const Row& row : rows->rows) {
    if (const auto key = keys::parse_body_letter(row.first)) load_body(step, key->body, false);
  }
  if (step.lacks()) return;
  counting_ = false;
  waits_ = waits_ || !rows->complete;
  for (const Row& row : rows->rows) {
    const auto key = keys::parse_body_letter(row.first);
    step.out.writes.remove(row.first);
    if (key && bodies_.find(key->body) != nullptr && !planted(Bug::kBodyLeaked))
      bodies_.release(key->body);
  }
}

// Something went into quarantine: a body is no longer one of those that there are, and a message or
// a letter that could be read, but for something else, refers to nothing any more. What could not
// be read keeps its reference: a letter until its bucket goes, a message for good.
void SharedBodies::lose_body(Step& step, const Row& row) {
  if (const auto body = keys::parse_body(row.first)) {
    Counters& counters = receipts_.counters();
    if (body->part == keys::BodyPart::kBytes) {
      counters.shared_bodies -= std::min<std::uint64_t>(counters.shared_bodies, 1);
    } else if (const auto count = decode_body_count(row.second.view())) {
      // It goes together with its body, and only it says how large that was.
      counters.shared_bytes -= std::min<std::uint64_t>(counters.shared_bytes, count->bytes);
    }
    return;
  }
  const bool is_letter = row.first[0] == keys::kDead;
  const auto dead = is_letter ? decode_dead(row.second.view())
                              : Result<DeadRecord>(fail(ErrorCode::kNotFound, {}));
  if (is_letter && !dead) return;
  const auto message = decode_message(is_letter ? Blob::copy_of(dead->message) : row.second);
  if (!message || message->shared.id == 0) return;
  const auto letter = is_letter ? keys::parse_bucketed(row.first) : std::nullopt;
  if (letter)
    step.out.writes.remove(keys::body_letter(letter->bucket, message->shared.id, message->id));
  release_later(step, message->shared, message->id);
}

SharedBody SharedBodies::shared_of_letter(std::string_view letter) {
  const auto dead = decode_dead(letter);
  return dead ? shares_body(dead->message) : SharedBody();
}

// The message of a dead letter, with its body. Nothing: it cannot be read, or (then something
// lacks) must be.
std::optional<Message> SharedBodies::message_of_letter(Step& step, std::string_view letter) {
  const auto dead = decode_dead(letter);
  if (!dead) return std::nullopt;
  auto message = decode_message(Blob::copy_of(dead->message), dictionaries_);
  if (!message || message->is_closed()) return std::nullopt;
  if (message->shared.id != 0 && !load_body(step, message->shared.id, true)) return std::nullopt;
  if (!give_body(*message)) return std::nullopt;
  return std::move(*message);
}

}  // namespace postrider::core
