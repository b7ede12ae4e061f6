#include "postrider/profiles/device/notes.h"

#include "postrider/base/codec.h"
#include "postrider/base/hash.h"

namespace postrider::device {
namespace {

enum Flag : std::uint8_t { kStranger = 1, kRefused = 2, kExecuted = 4, kMayHaveRun = 8 };
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHashBytes = 8;
constexpr std::size_t kFormerMax = 64;  // items of earlier attempts

std::string hash_of(std::string_view item) {
  std::string out;
  Writer(out).u64(hash64(item));
  return out;
}

}  // namespace

std::string_view name_of(Proof proof) {
  switch (proof) {
    case Proof::kNone: return "open";
    case Proof::kNotTaken: return "not-taken";
    case Proof::kNack: return "negative-ack";
    case Proof::kDiscarded: return "discarded";
    case Proof::kAbsent: return "absent";
    case Proof::kExpired: return "expired";
  }
  return "open";
}

void Notes::close(std::uint16_t number, Proof why) {
  if (number == 0 || number > 1000) return;
  if (proofs.size() < number) proofs.resize(number, static_cast<char>(Proof::kNone));
  proofs[number - 1U] = static_cast<char>(why);
}

bool Notes::earlier_ran_perhaps(std::uint16_t number) const {
  for (std::uint16_t i = 1; i < number; ++i) {
    if (ran_perhaps(proof(i))) return true;
  }
  return false;
}

void Notes::turn_to(std::uint16_t number) {
  if (attempt == number) return;
  attempt = number;
  if (!item.empty() && former.size() < kFormerMax * kHashBytes) former += hash_of(item);
  item.clear();
  absent_since = Timestamp();
  stranger = false;
}

bool Notes::was_of_earlier(std::string_view name) const {
  const std::string wanted = hash_of(name);
  for (std::size_t at = 0; at < former.size(); at += kHashBytes) {
    if (std::string_view(former).substr(at, kHashBytes) == wanted) return true;
  }
  return false;
}

std::string encode_notes(const Notes& notes) {
  std::string out;
  Writer writer(out);
  writer.u8(kVersion)
      .u8(static_cast<std::uint8_t>(
          (notes.stranger ? kStranger : 0) | (notes.refused ? kRefused : 0) |
          (notes.executed ? kExecuted : 0) | (notes.may_have_run ? kMayHaveRun : 0)))
      .varint(notes.attempt)
      .varint(static_cast<std::uint64_t>(notes.absent_since.ms()))
      .text(notes.item)
      .text(notes.proofs)
      .text(notes.former)
      .text(notes.response)
      .text(notes.outcome)
      .text(notes.summary);
  return out;
}

Notes decode_notes(std::string_view bytes) {
  if (bytes.empty()) return {};
  Reader reader(bytes);
  Notes notes;
  if (reader.u8() != kVersion) return {};
  const std::uint8_t flags = reader.u8();
  notes.stranger = (flags & kStranger) != 0;
  notes.refused = (flags & kRefused) != 0;
  notes.executed = (flags & kExecuted) != 0;
  notes.may_have_run = (flags & kMayHaveRun) != 0;
  notes.attempt = static_cast<std::uint16_t>(reader.varint());
  notes.absent_since = Timestamp(static_cast<std::int64_t>(reader.varint()));
  notes.item = reader.text();
  notes.proofs = reader.text();
  notes.former = reader.text();
  notes.response = reader.text();
  notes.outcome = reader.text();
  notes.summary = reader.text();
  return reader.at_end() ? notes : Notes();
}

}  // namespace postrider::device
