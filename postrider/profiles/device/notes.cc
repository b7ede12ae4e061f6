#include "postrider/profiles/device/notes.h"

#include <algorithm>

#include "postrider/base/codec.h"
#include "postrider/base/hash.h"
#include "postrider/profiles/device/dictionary.h"
#include "postrider/protocols/device/message.h"

namespace postrider::device {
namespace {

enum Flag : std::uint8_t {
  kStranger = 1,
  kRefused = 2,
  kExecuted = 4,
  kMayHaveRun = 8,
  kUuid = 16,  // the item is one, and stands as its 16 bytes
  kSeen = 32,
  kAlone = 64,
};
constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kHashBytes = 8;
constexpr std::size_t kFormerMax = 64;  // items of earlier attempts

void write_happened(Writer& writer, const std::vector<Happened>& all) {
  writer.varint(all.size());
  std::int64_t before = 0;
  for (const Happened& one : all) {  // the wall clock may have been set back in between
    const std::int64_t wall = std::max(one.wall.ms(), before);
    writer.varint(static_cast<std::uint64_t>(wall - before))
        .u8(static_cast<std::uint8_t>(one.what));
    before = wall;
  }
}

// So far behind `from`. What no clock ever said is not ours, and would not be fit to reckon with.
Timestamp read_time(Reader& reader, Timestamp from) {
  constexpr std::uint64_t kEver = INT64_MAX / 4;
  const std::uint64_t behind = reader.varint();
  if (behind > kEver - static_cast<std::uint64_t>(from.ms())) {
    reader.fail();
    return {};
  }
  return from + Duration(static_cast<std::int64_t>(behind));
}

std::vector<Happened> read_happened(Reader& reader) {
  std::vector<Happened> out;
  Timestamp wall;
  for (std::uint64_t left = reader.varint(); left > 0 && reader.ok(); --left) {
    wall = read_time(reader, wall);
    const std::uint8_t what = reader.u8();
    if (what >= kHappenings || out.size() >= kHappenedMax) {
      reader.fail();
      break;
    }
    out.push_back({wall, static_cast<Happening>(what)});
  }
  return out;
}

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

std::string_view name_of(Happening what) {
  switch (what) {
    case Happening::kTransmitted: return "txack";
    case Happening::kAcked: return "ack";
    case Happening::kNacked: return "nack";
    case Happening::kDiscarded: return "log";
    case Happening::kJoined: return "join";
    case Happening::kUplink: return "up";
    case Happening::kMismatched: return "mismatched";
    case Happening::kToldSent:
    case Happening::kToldEnd: return "webhook";
  }
  return "";
}

void Notes::add(Happening what, Timestamp wall) {
  if (happened.size() >= kHappenedMax) happened.erase(happened.begin());
  happened.push_back({wall, what});
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
  seen = false;
  alone = false;
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
  const std::string uuid = bytes_of_uuid(notes.item);
  writer.u8(kVersion)
      .u8(static_cast<std::uint8_t>(
          (notes.stranger ? kStranger : 0) | (notes.refused ? kRefused : 0) |
          (notes.executed ? kExecuted : 0) | (notes.may_have_run ? kMayHaveRun : 0) |
          (uuid.empty() ? 0 : kUuid) | (notes.seen ? kSeen : 0) | (notes.alone ? kAlone : 0)))
      .varint(notes.attempt)
      .varint(static_cast<std::uint64_t>(notes.absent_since.ms()))
      .varint(static_cast<std::uint64_t>(notes.expires.ms()))
      .text(uuid.empty() ? notes.item : uuid)
      .text(notes.proofs)
      .text(notes.former)
      .text(pack(notes.response, kDictionary))
      .text(pack(notes.outcome, kDictionary))
      .text(pack(notes.summary, kDictionary));
  write_happened(writer, notes.happened);
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
  notes.seen = (flags & kSeen) != 0;
  notes.alone = (flags & kAlone) != 0;
  notes.attempt = static_cast<std::uint16_t>(reader.varint());
  notes.absent_since = read_time(reader, Timestamp());
  notes.expires = read_time(reader, Timestamp());
  notes.item = reader.text();
  if ((flags & kUuid) != 0) notes.item = text_of_uuid(notes.item);
  notes.proofs = reader.text();
  notes.former = reader.text();
  const auto text = [&] {
    auto unpacked = unpack(reader.text(), kDictionary, kMessageBytesMax);
    if (!unpacked) reader.fail();
    return unpacked ? std::move(*unpacked) : std::string();
  };
  notes.response = text();
  notes.outcome = text();
  notes.summary = text();
  notes.happened = read_happened(reader);
  return reader.at_end() ? notes : Notes();
}

}  // namespace postrider::device
