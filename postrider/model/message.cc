#include "postrider/model/message.h"

#include <cstring>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"
#include "postrider/model/fanout.h"

namespace postrider {
namespace {

// Version 1 of a message had no lasting gates, version 1 of a state neither intent nor notes nor
// failed questions; else they are the same bytes.
constexpr std::uint8_t kVersion = 2;
// Version 3 is version 2 of a message whose body is shared, with the name and the size of that in
// front; an older program must not take it for a message without a body.
constexpr std::uint8_t kSharing = 3;

// One flag for each optional field keeps the usual record small.
enum Flag : std::uint8_t {
  kHasNotBefore = 1,
  kHasExpires = 2,
  kHasOrigin = 4,
  kHasGates = 8,
  kHasLasting = 16
};
enum StateFlag : std::uint8_t {
  kCancelWanted = 1,
  kHasIntent = 2,
  kIntentOpen = 4,
  kHasNotes = 8,
  kHasQuestions = 16,
  kHasTrail = 32
};
constexpr std::uint8_t kFlagsOfVersion1 = 15;
constexpr std::uint8_t kOrdered = 128;  // beside the bits of lasting gates

Reader open_either(std::string_view record) {
  const bool old = !record.empty() && record[0] == 1;
  return open_record(record, old ? std::uint8_t{1} : kVersion);
}

bool has_gates(const Message& message) {
  for (const GateName gate : message.gates) {
    if (gate != 0) return true;
  }
  return false;
}

void encode_head(std::string& out, const Message& fields, std::size_t attributes_size) {
  const bool shares = fields.shared.id != 0;
  out.push_back(static_cast<char>(shares ? kSharing : kVersion));
  Writer writer(out);
  if (shares) writer.u64(fields.shared.id).u32(fields.shared.bytes);
  const auto flags = static_cast<std::uint8_t>(
      (fields.not_before.is_set() ? kHasNotBefore : 0) |
      (fields.expires.is_set() ? kHasExpires : 0) | (fields.origin.is_set() ? kHasOrigin : 0) |
      (has_gates(fields) ? kHasGates : 0) | (fields.lasting != 0 ? kHasLasting : 0));
  writer.u8(flags)
      .u64(fields.id.high)
      .u64(fields.id.low)
      .i64(fields.accepted.ms())
      .u8(fields.method);
  if ((flags & kHasNotBefore) != 0) writer.i64(fields.not_before.ms());
  if ((flags & kHasExpires) != 0) writer.i64(fields.expires.ms());
  if ((flags & kHasOrigin) != 0) writer.u64(fields.origin.high).u64(fields.origin.low);
  if ((flags & kHasGates) != 0) {
    for (const GateName gate : fields.gates) writer.u64(gate);
  }
  if ((flags & kHasLasting) != 0) {
    writer.u8(static_cast<std::uint8_t>(fields.lasting | (fields.ordered ? kOrdered : 0)));
  }
  writer.varint(attributes_size);
}

}  // namespace

Message encode_message(const Message& fields, std::string_view attributes, std::string_view body) {
  thread_local std::string head;  // reused: encoding is on the hot path, and only the blob is kept
  head.clear();
  encode_head(head, fields, attributes.size());
  const std::string_view shared = fields.shared.id != 0 ? body : std::string_view();
  if (fields.shared.id != 0) body = {};
  const std::size_t content = head.size() + attributes.size() + body.size();

  Message message = fields;
  message.record = Blob::make(content + 4, [&](char* to) {
    std::memcpy(to, head.data(), head.size());  // NOLINT(bugprone-not-null-terminated-result)
    if (!attributes.empty()) std::memcpy(to + head.size(), attributes.data(), attributes.size());
    if (!body.empty()) std::memcpy(to + head.size() + attributes.size(), body.data(), body.size());
    const std::uint32_t crc = crc32c({to, content});
    for (std::size_t i = 0; i < 4; ++i) to[content + i] = static_cast<char>(crc >> (24 - 8 * i));
  });
  message.attributes = message.record.view().substr(head.size(), attributes.size());
  message.body = message.record.view().substr(head.size() + attributes.size(), body.size());
  if (fields.shared.id != 0) message.body = shared;
  return message;
}

SharedBody shares_body(std::string_view record) {
  SharedBody out;
  if (!record.starts_with(static_cast<char>(kSharing))) return out;
  Reader reader(record.substr(1));
  out.id = reader.u64();
  out.bytes = reader.u32();
  return out;
}

bool attach_body(Message& message, const Blob& body) {
  const std::string_view bytes = body_in(body);
  if (bytes.size() != message.shared.bytes) return false;
  message.shared.record = body;
  message.body = bytes;
  return true;
}

Blob encode_whole(const Message& message) {
  Message fields = message;
  fields.shared = {};
  return encode_message(fields, message.attributes, message.body).record;
}

Result<Message> decode_message(Blob record) {
  const bool shares = record.view().starts_with(static_cast<char>(kSharing));
  Reader reader = shares ? open_record(record.view(), kSharing) : open_either(record.view());
  Message message;
  if (shares) {
    message.shared.id = reader.u64();
    message.shared.bytes = reader.u32();
    if (message.shared.id == 0) reader.fail();
  }
  const std::uint8_t flags = reader.u8();
  if (record.view().starts_with('\1') && flags > kFlagsOfVersion1) reader.fail();
  message.id.high = reader.u64();
  message.id.low = reader.u64();
  message.accepted = Timestamp(reader.i64());
  message.method = reader.u8();
  if ((flags & kHasNotBefore) != 0) message.not_before = Timestamp(reader.i64());
  if ((flags & kHasExpires) != 0) message.expires = Timestamp(reader.i64());
  if ((flags & kHasOrigin) != 0) {
    message.origin.high = reader.u64();
    message.origin.low = reader.u64();
  }
  if ((flags & kHasGates) != 0) {
    for (GateName& gate : message.gates) gate = reader.u64();
  }
  if ((flags & kHasLasting) != 0) {
    const std::uint8_t lasting = reader.u8();
    message.lasting = lasting & (kOrdered - 1);
    message.ordered = (lasting & kOrdered) != 0;
  }
  message.attributes = reader.text();
  message.body = reader.rest();
  if (!reader.ok() || (shares && !message.body.empty()))
    return fail(ErrorCode::kCorrupt, "message record");
  message.record = std::move(record);
  return message;
}

std::string encode_state(const State& state, std::string_view reason, const Intent& intent,
                         std::string_view notes, std::string_view trail) {
  std::string out(1, static_cast<char>(kVersion));
  Writer writer(out);
  writer.u8(state.state)
      .u8(state.method)
      .u16(state.attempts)
      .i64(state.since.ms())
      .i64(state.due.ms());
  writer.i64(state.first_attempt.ms()).i64(state.held_before.count());
  writer.u8(static_cast<std::uint8_t>(state.failure))
      .u8(static_cast<std::uint8_t>(state.certainty));
  const bool recorded = intent != Intent();
  writer.u8(static_cast<std::uint8_t>(
      (state.cancel_wanted ? kCancelWanted : 0) | (recorded ? kHasIntent : 0) |
      (intent.open ? kIntentOpen : 0) | (notes.empty() ? 0 : kHasNotes) |
      (state.questions_failed != 0 ? kHasQuestions : 0) | (trail.empty() ? 0 : kHasTrail)));
  if (recorded) writer.i64(intent.at.ms()).i64(intent.wall.ms()).u64(intent.hash);
  if (!notes.empty()) writer.text(notes);
  if (state.questions_failed != 0) writer.u16(state.questions_failed);
  if (!trail.empty()) writer.text(trail);
  writer.text(reason);
  seal_record(out);
  return out;
}

Result<StoredState> decode_state(std::string_view record) {
  Reader reader = open_either(record);
  StoredState stored;
  State& state = stored.state;
  state.state = reader.u8();
  state.method = reader.u8();
  state.attempts = reader.u16();
  state.since = Timestamp(reader.i64());
  state.due = Timestamp(reader.i64());
  state.first_attempt = Timestamp(reader.i64());
  state.held_before = Duration(reader.i64());
  const std::uint8_t failure = reader.u8();
  const std::uint8_t certainty = reader.u8();
  if (failure >= kFailureClasses || certainty > 2) reader.fail();
  state.failure = static_cast<FailureClass>(failure);
  state.certainty = static_cast<Certainty>(certainty);
  const std::uint8_t flags = reader.u8();
  const bool old = record.starts_with('\1');
  if (flags > (old ? kCancelWanted : 2 * kHasTrail - 1)) reader.fail();
  state.cancel_wanted = (flags & kCancelWanted) != 0;
  if ((flags & kHasIntent) != 0) {
    stored.intent.at = Timestamp(reader.i64());
    stored.intent.wall = Timestamp(reader.i64());
    stored.intent.hash = reader.u64();
    stored.intent.open = (flags & kIntentOpen) != 0;
  } else if ((flags & kIntentOpen) != 0) {
    reader.fail();
  }
  if ((flags & kHasNotes) != 0) stored.notes = reader.text();
  if ((flags & kHasQuestions) != 0) state.questions_failed = reader.u16();
  if ((flags & kHasTrail) != 0) stored.trail = reader.text();
  stored.reason = reader.text();
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "state record");
  return stored;
}

}  // namespace postrider
