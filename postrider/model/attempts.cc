#include "postrider/model/attempts.h"

#include <algorithm>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"

namespace postrider {
namespace {

// What a past with attempts begins with; without any it is a trail, which begins otherwise.
constexpr std::uint8_t kWithAttempts = 2;
constexpr unsigned kEndShift = 6;  // above the failure class
constexpr std::int64_t kTimeMax = std::int64_t{1} << 60;
static_assert(kFailureClasses <= 1U << kEndShift && kAttemptEnds <= 4);

std::string_view cut(std::string_view reason) { return reason.substr(0, kAttemptReasonBytesMax); }

// When it was over, as far as that is known.
Timestamp last_of(const AttemptNote& note) { return note.at + note.took.value_or(Duration(0)); }

// Reasons are told by how far back the same was said: 1 is the record's own, or the next newer
// attempt's; 0: it follows.
void put_reason(Writer& writer, const std::vector<std::string_view>& said,
                std::string_view reason) {
  for (std::size_t back = 1; back <= said.size(); ++back) {
    if (said[said.size() - back] != reason) continue;
    writer.varint(back);
    return;
  }
  writer.varint(0).text(reason);
}

std::string_view get_reason(Reader& reader, const std::vector<std::string_view>& said) {
  const std::uint64_t back = reader.varint();
  if (back > said.size()) reader.fail();
  if (!reader.ok()) return {};
  if (back > 0) return said[said.size() - static_cast<std::size_t>(back)];
  const std::string_view reason = reader.text();
  if (reason.size() > kAttemptReasonBytesMax) reader.fail();
  return reason;
}

Timestamp get_time(Reader& reader, Timestamp near) {
  const std::int64_t ms = reader.near(near.ms());
  if (ms < 0 || ms > kTimeMax) reader.fail();
  return Timestamp(reader.ok() ? ms : 0);
}

// Newest first, because that is what is known from beside.
void put_attempts(Writer& writer, const AttemptList& list, const PastBeside& beside) {
  writer.varint(list.notes.size()).varint(list.earlier);
  Timestamp after = beside.at;
  std::vector<std::string_view> said = {cut(beside.reason)};
  for (std::size_t i = list.notes.size(); i > 0; --i) {
    const AttemptNote& note = list.notes[i - 1];
    writer.near(last_of(note).ms(), after.ms());
    writer.varint(note.took ? static_cast<std::uint64_t>(note.took->count()) + 1 : 0);
    writer.u8(static_cast<std::uint8_t>(static_cast<unsigned>(note.failure) |
                                        static_cast<unsigned>(note.end) << kEndShift));
    if (note.end == AttemptEnd::kFailed) {
      put_reason(writer, said, note.reason);
      said.push_back(note.reason);
    }
    after = note.at;
  }
}

AttemptList get_attempts(Reader& reader, const PastBeside& beside) {
  AttemptList list;
  const std::uint64_t count = reader.varint();
  list.earlier = reader.varint32();
  if (count == 0 || count > kAttemptNotesMax) reader.fail();
  Timestamp after = beside.at;
  std::vector<std::string_view> said = {cut(beside.reason)};
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    AttemptNote note;
    const Timestamp last = get_time(reader, after);
    const std::uint64_t took = reader.varint();
    if (took > static_cast<std::uint64_t>(last.ms()) + 1) reader.fail();
    if (took > 0 && reader.ok()) note.took = Duration(static_cast<std::int64_t>(took - 1));
    note.at = last - note.took.value_or(Duration(0));
    const std::uint8_t how = reader.u8();
    const unsigned failure = how & ((1U << kEndShift) - 1);
    if (failure >= kFailureClasses) reader.fail();
    note.failure = static_cast<FailureClass>(failure < kFailureClasses ? failure : 0);
    note.end = static_cast<AttemptEnd>(how >> kEndShift);
    // Only the newest may be open, and what is open took no time yet.
    if (note.end == AttemptEnd::kOpen && (i > 0 || note.took)) reader.fail();
    if (note.end == AttemptEnd::kFailed) {
      said.push_back(get_reason(reader, said));
      note.reason = said.back();
    }
    after = note.at;
    list.notes.push_back(std::move(note));
  }
  std::reverse(list.notes.begin(), list.notes.end());
  return list;
}

}  // namespace

std::string_view name_of(AttemptEnd end) {
  switch (end) {
    case AttemptEnd::kOpen: return "open";
    case AttemptEnd::kFailed: return "failed";
    case AttemptEnd::kDelivered: return "delivered";
    case AttemptEnd::kGivenUp: return "given-up";
  }
  POSTRIDER_CHECK(false);
  return {};
}

void AttemptList::begin(Timestamp at, std::size_t kept) {
  lose_open();
  notes.push_back({.at = at, .took = std::nullopt});
  const std::size_t most = std::clamp<std::size_t>(kept, 1, kAttemptNotesMax);
  if (notes.size() <= most) return;
  const std::size_t surplus = notes.size() - most;
  notes.erase(notes.begin(), notes.begin() + static_cast<std::ptrdiff_t>(surplus));
  earlier += static_cast<std::uint32_t>(surplus);
}

void AttemptList::close(const AttemptNote& how) {
  POSTRIDER_CHECK(is_open());
  AttemptNote& note = notes.back();
  note.end = how.end;
  note.took = std::max(how.took.value_or(Duration(0)), Duration(0));
  note.failure = how.failure;
  if (how.end == AttemptEnd::kFailed) note.reason = cut(how.reason);
}

void AttemptList::lose_open() {
  if (is_open()) notes.back().end = AttemptEnd::kGivenUp;
}

std::string encode_attempt_history(const AttemptHistory& past, const PastBeside& beside) {
  std::string out;
  if (!past.attempts.empty()) {
    Writer writer(out);
    writer.u8(kWithAttempts);
    put_attempts(writer, past.attempts, beside);
  }
  if (!past.trail.empty()) out += encode_trail(past.trail);
  return out;
}

Result<AttemptHistory> decode_attempt_history(std::string_view bytes, const PastBeside& beside) {
  AttemptHistory past;
  if (bytes.starts_with(static_cast<char>(kWithAttempts))) {
    Reader reader(bytes.substr(1));
    past.attempts = get_attempts(reader, beside);
    if (!reader.ok()) return fail(ErrorCode::kCorrupt, "attempts");
    bytes = reader.rest();
  }
  if (bytes.empty()) return past;
  POSTRIDER_TRY(trail, decode_trail(bytes));
  past.trail = std::move(trail);
  return past;
}

}  // namespace postrider
