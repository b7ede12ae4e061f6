// The bytes of a journal: heads of segments and groups, the control record and the mark. Pure.
// docs/store-format.md has the tables.
//
// A segment is a file of a fixed size. Its first block is the head of its present use; groups
// follow, each beginning at a block. What an earlier use left behind them stays: the generation in
// every head tells it apart. The checksum of a group begins with the id of the journal, which is
// drawn when the journal is made and shown to no caller: so content that a message carries is never
// taken for a group, whatever a caller puts into it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/model/ids.h"
#include "postrider/model/seams/journal.h"

namespace postrider::segments {

inline constexpr std::size_t kBlock = 4096;
inline constexpr std::size_t kGroupHeadBytes = 48;

using JournalId = std::array<std::uint8_t, 16>;

// One use of a segment. Generations of a journal grow by each use of any segment.
struct Use {
  std::uint32_t file = 0;
  std::uint64_t generation = 0;
  GroupNumber first;  // of its groups, whether it has one already or not

  friend bool operator==(const Use&, const Use&) = default;
};
std::string encode_use(const JournalId& id, const Use& use);  // one block
struct FoundUse {
  JournalId id;
  Use use;
};
std::optional<FoundUse> decode_use(std::string_view block);

struct GroupHead {
  std::uint64_t generation = 0;
  GroupNumber number;
  GroupNumber durable;  // the newest durable group when this one was written
  Epoch epoch;
  std::uint32_t length = 0;
  std::uint32_t batches = 0;

  friend bool operator==(const GroupHead&, const GroupHead&) = default;
};
// Bytes in the file, padding included.
constexpr std::uint64_t padded(std::size_t group_bytes) {
  return (kGroupHeadBytes + group_bytes + kBlock - 1) / kBlock * kBlock;
}
// Head, content and padding, as they are written. `head.length` is set here.
std::string encode_group(const JournalId& id, GroupHead head, std::string_view content);
struct FoundGroup {
  GroupHead head;
  std::string_view content;  // within `bytes`
};
// The group at the beginning of `bytes`; none: it is not there, cut, damaged or another journal's.
std::optional<FoundGroup> decode_group(const JournalId& id, std::string_view bytes);
// The length that the head at the beginning of `bytes` claims, unchecked: how much is to be read
// before decode_group can judge it. None: this is no head.
std::optional<std::uint32_t> claimed_length(std::string_view bytes);

// What the journal consists of. It exists in two copies that are written in turn.
struct Control {
  std::uint64_t turn = 0;  // grows with each writing; the higher one counts
  JournalId id{};
  Epoch epoch;  // the newest that was given out
  std::uint64_t segment_bytes = 0;
  std::uint64_t generation = 0;      // the newest that was used
  std::vector<Use> order;            // oldest first; the last one is written to
  std::vector<std::uint32_t> spare;  // files that wait for their next use

  friend bool operator==(const Control&, const Control&) = default;
};
std::string encode_control(const Control& control);
std::optional<Control> decode_control(std::string_view bytes);

// That a group was durable, said outside of the segments: so a newest segment that was exchanged
// for an older copy of itself is noticed.
struct Mark {
  std::uint64_t turn = 0;
  JournalId id{};
  GroupNumber durable;

  friend bool operator==(const Mark&, const Mark&) = default;
};
std::string encode_mark(const Mark& mark);
std::optional<Mark> decode_mark(std::string_view bytes);
inline constexpr std::size_t kMarkBytes = 64;

std::string segment_name(std::uint32_t file);  // "0000000007.segment"
std::optional<std::uint32_t> parse_segment_name(std::string_view name);

}  // namespace postrider::segments
