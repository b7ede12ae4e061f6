#include "postrider/model/message.h"

#include <cstring>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"
#include "postrider/model/fanout.h"

namespace postrider {
namespace {

constexpr std::uint8_t kMessageVersion = 1;

// One flag for each optional field keeps the usual record small.
enum Flag : std::uint8_t {
  kHasNotBefore = 1,
  kHasExpires = 2,
  kHasOrigin = 4,
  kHasGates = 8,
  kHasLasting = 16,
  kPacked = 32,  // the number of a dictionary is in front of the body
  kShares = 64,  // the body is another record; its name and size follow the flags
  kHasKey = 128
};
enum StateFlag : std::uint8_t {
  kCancelWanted = 1,
  kHasIntent = 2,
  kIntentOpen = 4,
  kHasNotes = 8,
  kHasProbesFailed = 16,
  kHasAttemptHistory = 32,
  kHasDue = 64,
  kHasFirstAttempt = 128
};
constexpr std::uint8_t kOrdered = 128;       // beside the bits of lasting gates
constexpr unsigned kHeldBackBit = 16;        // above the failure class: a count follows
constexpr unsigned kLost = 32;               // above that
constexpr unsigned kCertaintyShift = 6;      // above that
constexpr std::size_t kPackedMax = 4096;     // longer bodies are not worth the time
constexpr std::size_t kHeadBytesUsual = 64;  // what most heads have at most

bool has_gates(const Message& message) {
  for (const GateName gate : message.gates) {
    if (gate != 0) return true;
  }
  return false;
}

std::uint8_t flags_of(const Message& fields, std::string_view key) {
  return static_cast<std::uint8_t>(
      (fields.not_before.is_set() ? kHasNotBefore : 0) |
      (fields.expires.is_set() ? kHasExpires : 0) | (fields.origin.is_set() ? kHasOrigin : 0) |
      (has_gates(fields) ? kHasGates : 0) | (fields.lasting != 0 ? kHasLasting : 0) |
      (fields.dictionary != 0 ? kPacked : 0) | (fields.shared.id != 0 ? kShares : 0) |
      (key.empty() ? 0 : kHasKey));
}

// Says in `fields` where the key is.
void encode_head(std::string& out, Message& fields, std::size_t attributes_size,
                 std::string_view key) {
  out.push_back(static_cast<char>(kMessageVersion));
  Writer writer(out);
  const std::uint8_t flags = flags_of(fields, key);
  writer.u8(flags);
  if ((flags & kShares) != 0) writer.u64(fields.shared.id).u32(fields.shared.bytes);
  writer.u64(fields.id.high)
      .u64(fields.id.low)
      .varint(static_cast<std::uint64_t>(fields.accepted.ms()))
      .u8(fields.method);
  if ((flags & kHasNotBefore) != 0) writer.near(fields.not_before.ms(), fields.accepted.ms());
  if ((flags & kHasExpires) != 0) writer.near(fields.expires.ms(), fields.accepted.ms());
  if ((flags & kHasOrigin) != 0) writer.u64(fields.origin.high).u64(fields.origin.low);
  if ((flags & kHasGates) != 0) {
    std::uint8_t which = 0;
    for (std::size_t i = 0; i < kGatesMax; ++i)
      which = static_cast<std::uint8_t>(which | (fields.gates[i] != 0 ? 1U << i : 0U));
    writer.u8(which);
    for (const GateName gate : fields.gates) {
      if (gate != 0) writer.u64(gate);
    }
  }
  if ((flags & kHasLasting) != 0) {
    writer.u8(static_cast<std::uint8_t>(fields.lasting | (fields.ordered ? kOrdered : 0)));
  }
  fields.key_at = fields.key_size = 0;
  if ((flags & kHasKey) != 0) {
    writer.text(key);
    fields.key_at = static_cast<std::uint8_t>(out.size() - key.size());
    fields.key_size = static_cast<std::uint8_t>(key.size());
  }
  writer.varint(attributes_size);
}

void read_gates(Reader& reader, Message& message) {
  const std::uint8_t which = reader.u8();
  if ((which >> kGatesMax) != 0) reader.fail();
  for (std::size_t i = 0; i < kGatesMax; ++i) {
    if ((which >> i & 1) != 0) message.gates[i] = reader.u64();
  }
}

void read_key(Reader& reader, Message& message, std::string_view record) {
  const std::string_view key = reader.text();
  if (key.empty() || key.size() > kLaneKeyMax) return reader.fail();
  message.key_at = static_cast<std::uint8_t>(key.data() - record.data());
  message.key_size = static_cast<std::uint8_t>(key.size());
}

// The fields of a message up to its attributes; these and the body follow. True: that is packed.
bool read_head(Reader& reader, Message& message, std::string_view record) {
  const std::uint8_t flags = reader.u8();
  if ((flags & kShares) != 0) {
    message.shared.id = reader.u64();
    message.shared.bytes = reader.u32();
    if (message.shared.id == 0) reader.fail();
  }
  message.id.high = reader.u64();
  message.id.low = reader.u64();
  const auto accepted = static_cast<std::int64_t>(reader.varint());
  const auto time = [&] { return Timestamp(reader.near(accepted)); };
  message.accepted = Timestamp(accepted);
  message.method = reader.u8();
  if ((flags & kHasNotBefore) != 0) message.not_before = time();
  if ((flags & kHasExpires) != 0) message.expires = time();
  if ((flags & kHasOrigin) != 0) {
    message.origin.high = reader.u64();
    message.origin.low = reader.u64();
  }
  if ((flags & kHasGates) != 0) read_gates(reader, message);
  if ((flags & kHasLasting) != 0) {
    const std::uint8_t lasting = reader.u8();
    message.lasting = lasting & (kOrdered - 1);
    message.ordered = (lasting & kOrdered) != 0;
  }
  if ((flags & kHasKey) != 0) read_key(reader, message, record);
  return (flags & kPacked) != 0;
}

}  // namespace

Message encode_message(const Message& fields, std::string_view attributes, std::string_view body,
                       const Dictionary* dictionary, std::string_view key) {
  POSTRIDER_CHECK(key.size() <= kLaneKeyMax);
  Message message = fields;
  message.text = Blob();
  const bool shares = fields.shared.id != 0;
  std::string packed;
  if (dictionary != nullptr && !shares && body.size() <= kPackedMax)
    packed = static_cast<char>(dictionary->number()) + pack(body, *dictionary);
  const bool smaller = !packed.empty() && packed.size() < body.size();
  message.dictionary = smaller ? dictionary->number() : std::uint8_t{0};
  const std::string_view own = shares ? std::string_view() : body;
  const std::string_view stored = smaller ? std::string_view(packed) : own;
  std::string head;
  head.reserve(kHeadBytesUsual);
  encode_head(head, message, attributes.size(), key);
  const std::size_t content = head.size() + attributes.size() + stored.size();

  message.record = Blob::make(content + 4, [&](char* to) {
    std::memcpy(to, head.data(), head.size());  // NOLINT(bugprone-not-null-terminated-result)
    if (!attributes.empty()) std::memcpy(to + head.size(), attributes.data(), attributes.size());
    if (!stored.empty())
      std::memcpy(to + head.size() + attributes.size(), stored.data(), stored.size());
    const std::uint32_t crc = crc32c({to, content});
    for (std::size_t i = 0; i < 4; ++i) to[content + i] = static_cast<char>(crc >> (24 - 8 * i));
  });
  message.attributes = message.record.view().substr(head.size(), attributes.size());
  if (smaller) message.text = Blob::copy_of(body);
  message.body = shares ? body
                 : smaller
                     ? message.text.view()
                     : message.record.view().substr(head.size() + attributes.size(), body.size());
  return message;
}

SharedBody shares_body(std::string_view record) {
  SharedBody out;
  if (record.size() < 2 || (static_cast<std::uint8_t>(record[1]) & kShares) == 0) return out;
  Reader reader(record.substr(2));
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
  return encode_message(fields, message.attributes, message.body, nullptr, message.key()).record;
}

Result<Message> decode_message(Blob record, Dictionaries dictionaries) {
  Reader reader = open_record(record.view(), kMessageVersion);
  Message message;
  const bool packed = reader.ok() && read_head(reader, message, record.view());
  message.attributes = reader.text();
  if (packed) message.dictionary = reader.u8();
  message.body = reader.rest();
  const bool shares = message.shared.id != 0;
  if (!reader.ok() || (shares && (packed || !message.body.empty())) ||
      packed != (message.dictionary != 0))
    return fail(ErrorCode::kCorrupt, "message record");
  if (packed) {
    const Dictionary* dictionary = find_dictionary(dictionaries, message.dictionary);
    const auto body =
        dictionary == nullptr ? std::nullopt : unpack(message.body, *dictionary, kPackedMax);
    if (dictionary != nullptr && !body) return fail(ErrorCode::kCorrupt, "message record");
    if (body) message.text = Blob::copy_of(*body);
    message.body = message.text.view();
  }
  message.record = std::move(record);
  return message;
}

std::string encode_state(const State& state, std::string_view reason, const Intent& intent,
                         std::string_view notes, std::string_view past) {
  std::string out(1, static_cast<char>(kMessageVersion));
  Writer writer(out);
  const bool recorded = intent != Intent();
  writer.u8(static_cast<std::uint8_t>(
      (state.cancel_wanted ? kCancelWanted : 0) | (recorded ? kHasIntent : 0) |
      (intent.open ? kIntentOpen : 0) | (notes.empty() ? 0 : kHasNotes) |
      (state.probes_failed != 0 ? kHasProbesFailed : 0) | (past.empty() ? 0 : kHasAttemptHistory) |
      (state.due.is_set() ? kHasDue : 0) | (state.first_attempt.is_set() ? kHasFirstAttempt : 0)));
  const std::int64_t since = state.since.ms();
  writer.u8(state.state).u8(state.method).varint(state.attempts);
  writer.varint(static_cast<std::uint64_t>(since));
  if (state.due.is_set()) writer.near(state.due.ms(), since);
  if (state.first_attempt.is_set()) writer.near(state.first_attempt.ms(), since);
  writer.svarint(state.held_before.count());
  static_assert(kFailureClasses <= kHeldBackBit);
  writer.u8(static_cast<std::uint8_t>(
      static_cast<unsigned>(state.failure) | (state.held_back != 0 ? kHeldBackBit : 0U) |
      (state.lost ? kLost : 0U) | static_cast<unsigned>(state.certainty) << kCertaintyShift));
  if (state.held_back != 0) writer.varint(state.held_back);
  if (recorded)
    writer.near(intent.at.ms(), since).near(intent.wall.ms(), intent.at.ms()).u64(intent.hash);
  if (!notes.empty()) writer.text(notes);
  if (state.probes_failed != 0) writer.varint(state.probes_failed);
  if (!past.empty()) writer.text(past);
  writer.text(reason);
  seal_record(out);
  return out;
}

namespace {

void read_failure(Reader& reader, State& state, unsigned failure, unsigned certainty) {
  if (failure >= kFailureClasses || certainty > 2) reader.fail();
  state.failure = static_cast<FailureClass>(failure < kFailureClasses ? failure : 0);
  state.certainty = static_cast<Certainty>(certainty <= 2 ? certainty : 0);
}

// Returns the flags.
std::uint8_t read_numbers(Reader& reader, State& state) {
  const std::uint8_t flags = reader.u8();
  state.state = reader.u8();
  state.method = reader.u8();
  state.attempts = reader.varint16();
  const auto since = static_cast<std::int64_t>(reader.varint());
  state.since = Timestamp(since);
  if ((flags & kHasDue) != 0) state.due = Timestamp(reader.near(since));
  if ((flags & kHasFirstAttempt) != 0) state.first_attempt = Timestamp(reader.near(since));
  state.held_before = Duration(reader.svarint());
  const std::uint8_t why = reader.u8();
  state.lost = (why & kLost) != 0;
  const unsigned failure = why & (kHeldBackBit - 1);
  read_failure(reader, state, failure, why >> kCertaintyShift);
  if ((why & kHeldBackBit) != 0) {
    state.held_back = reader.varint16();
    if (state.held_back == 0) reader.fail();
  }
  return flags;
}

Intent read_intent(Reader& reader, const State& state) {
  Intent intent;
  intent.at = Timestamp(reader.near(state.since.ms()));
  intent.wall = Timestamp(reader.near(intent.at.ms()));
  intent.hash = reader.u64();
  return intent;
}

}  // namespace

Result<StoredState> decode_state(std::string_view record) {
  Reader reader = open_record(record, kMessageVersion);
  StoredState stored;
  State& state = stored.state;
  const std::uint8_t flags = read_numbers(reader, state);
  state.cancel_wanted = (flags & kCancelWanted) != 0;
  if ((flags & kHasIntent) != 0) {
    stored.intent = read_intent(reader, state);
    stored.intent.open = (flags & kIntentOpen) != 0;
  } else if ((flags & kIntentOpen) != 0) {
    reader.fail();
  }
  if ((flags & kHasNotes) != 0) stored.notes = reader.text();
  if ((flags & kHasProbesFailed) != 0) state.probes_failed = reader.varint16();
  if ((flags & kHasAttemptHistory) != 0) stored.past = reader.text();
  stored.reason = reader.text();
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "state record");
  return stored;
}

}  // namespace postrider
