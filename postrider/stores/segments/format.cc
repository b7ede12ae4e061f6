#include "postrider/stores/segments/format.h"

#include <algorithm>
#include <charconv>

#include "postrider/base/codec.h"
#include "postrider/base/running_crc.h"

namespace postrider::segments {
namespace {

constexpr std::uint32_t kUseMagic = 0x50525331;    // "PRS1"
constexpr std::uint32_t kGroupMagic = 0x50524731;  // "PRG1"
constexpr std::uint8_t kControlVersion = 1;
constexpr std::uint8_t kMarkVersion = 1;
constexpr std::uint32_t kSegmentsMax = 4096;  // in a control record; more is damage
constexpr std::string_view kSuffix = ".segment";
constexpr std::size_t kNumberDigits = 10;

std::string_view view(const JournalId& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

JournalId read_id(Reader& reader) {
  JournalId id{};
  const std::string_view bytes = reader.raw(id.size());
  if (reader.ok()) std::copy(bytes.begin(), bytes.end(), id.begin());
  return id;
}

void write_use(Writer& out, const Use& use) {
  out.u32(use.file).u64(use.generation).u64(use.first.value());
}
Use read_use(Reader& reader) {
  Use use;
  use.file = reader.u32();
  use.generation = reader.u64();
  use.first = GroupNumber(reader.u64());
  return use;
}

// Magic and checksum come first, so the checksum is of what follows them.
constexpr std::size_t kChecked = 8;
std::uint32_t group_checksum(const JournalId& id, std::string_view rest_of_head,
                             std::string_view content) {
  RunningCrc crc;
  crc.add(view(id));
  crc.add(rest_of_head);
  crc.add(content);
  return crc.value();
}

std::string encode_head(const GroupHead& head) {
  std::string out;
  Writer(out)
      .u64(head.generation)
      .u64(head.number.value())
      .u64(head.durable.value())
      .u64(head.epoch.value())
      .u32(head.length)
      .u32(head.batches);
  return out;
}

}  // namespace

std::string encode_use(const JournalId& id, const Use& use) {
  std::string out;
  Writer writer(out);
  writer.u32(kUseMagic).raw(view(id));
  write_use(writer, use);
  seal_record(out);
  out.resize(kBlock, '\0');
  return out;
}

std::optional<FoundUse> decode_use(std::string_view block) {
  constexpr std::size_t kFields = 4 + 16 + 4 + 8 + 8;
  if (block.size() < kFields + 4) return std::nullopt;
  Reader checksum(block.substr(kFields, 4));
  if (checksum.u32() != crc32c(block.substr(0, kFields))) return std::nullopt;
  Reader reader(block.substr(0, kFields));
  if (reader.u32() != kUseMagic) return std::nullopt;
  FoundUse found{read_id(reader), {}};
  found.use = read_use(reader);
  if (!reader.at_end() || !found.use.first.is_set()) return std::nullopt;
  return found;
}

std::string encode_group(const JournalId& id, GroupHead head, std::string_view content) {
  head.length = static_cast<std::uint32_t>(content.size());
  const std::string fields = encode_head(head);
  std::string out;
  out.reserve(padded(content.size()));
  Writer(out).u32(kGroupMagic).u32(group_checksum(id, fields, content)).raw(fields).raw(content);
  out.resize(padded(content.size()), '\0');
  return out;
}

std::optional<std::uint32_t> claimed_length(std::string_view bytes) {
  if (bytes.size() < kGroupHeadBytes) return std::nullopt;
  Reader reader(bytes);
  if (reader.u32() != kGroupMagic) return std::nullopt;
  Reader length(bytes.substr(kGroupHeadBytes - 8, 4));
  return length.u32();
}

std::optional<FoundGroup> decode_group(const JournalId& id, std::string_view bytes) {
  const std::optional<std::uint32_t> length = claimed_length(bytes);
  if (!length || bytes.size() - kGroupHeadBytes < *length) return std::nullopt;
  Reader reader(bytes.substr(4, kGroupHeadBytes - 4));
  const std::uint32_t checksum = reader.u32();
  const std::string_view fields = bytes.substr(kChecked, kGroupHeadBytes - kChecked);
  FoundGroup found;
  found.content = bytes.substr(kGroupHeadBytes, *length);
  if (checksum != group_checksum(id, fields, found.content)) return std::nullopt;
  found.head.generation = reader.u64();
  found.head.number = GroupNumber(reader.u64());
  found.head.durable = GroupNumber(reader.u64());
  found.head.epoch = Epoch(reader.u64());
  found.head.length = reader.u32();
  found.head.batches = reader.u32();
  if (found.head.batches == 0 || found.head.durable >= found.head.number) return std::nullopt;
  return found;
}

std::string encode_control(const Control& control) {
  std::string out;
  Writer writer(out);
  writer.u8(kControlVersion).u64(control.turn).raw(view(control.id)).u64(control.epoch.value());
  writer.u64(control.segment_bytes).u64(control.generation);
  writer.u32(static_cast<std::uint32_t>(control.order.size()));
  for (const Use& use : control.order) write_use(writer, use);
  writer.u32(static_cast<std::uint32_t>(control.spare.size()));
  for (const std::uint32_t file : control.spare) writer.u32(file);
  seal_record(out);
  // How long it is stands in front, because a copy is written over a longer one.
  std::string framed;
  Writer(framed).u32(static_cast<std::uint32_t>(out.size())).raw(out);
  return framed;
}

std::optional<Control> decode_control(std::string_view bytes) {
  Reader frame(bytes);
  const std::string_view record = frame.raw(frame.u32());
  if (!frame.ok()) return std::nullopt;
  Reader reader = open_record(record, kControlVersion);
  Control control;
  control.turn = reader.u64();
  control.id = read_id(reader);
  control.epoch = Epoch(reader.u64());
  control.segment_bytes = reader.u64();
  control.generation = reader.u64();
  const std::uint32_t uses = reader.u32();
  if (uses > kSegmentsMax) return std::nullopt;
  for (std::uint32_t i = 0; i < uses && reader.ok(); ++i) control.order.push_back(read_use(reader));
  const std::uint32_t spares = reader.u32();
  if (spares > kSegmentsMax) return std::nullopt;
  for (std::uint32_t i = 0; i < spares && reader.ok(); ++i) control.spare.push_back(reader.u32());
  if (!reader.at_end() || control.order.empty()) return std::nullopt;
  if (control.segment_bytes < 2 * kBlock || control.segment_bytes % kBlock != 0)
    return std::nullopt;
  return control;
}

std::string encode_mark(const Mark& mark) {
  std::string out;
  Writer(out).u8(kMarkVersion).u64(mark.turn).raw(view(mark.id)).u64(mark.durable.value());
  seal_record(out);
  return out;
}

std::optional<Mark> decode_mark(std::string_view bytes) {
  constexpr std::size_t kRecord = 1 + 8 + 16 + 8 + 4;
  if (bytes.size() < kRecord) return std::nullopt;
  Reader reader = open_record(bytes.substr(0, kRecord), kMarkVersion);
  Mark mark;
  mark.turn = reader.u64();
  mark.id = read_id(reader);
  mark.durable = GroupNumber(reader.u64());
  if (!reader.at_end()) return std::nullopt;
  return mark;
}

std::string segment_name(std::uint32_t file) {
  std::string digits = std::to_string(file);
  digits.insert(0, kNumberDigits - digits.size(), '0');
  return digits.append(kSuffix);
}

std::optional<std::uint32_t> parse_segment_name(std::string_view name) {
  if (name.size() != kNumberDigits + kSuffix.size() || !name.ends_with(kSuffix))
    return std::nullopt;
  std::uint32_t file = 0;
  const char* end = name.data() + kNumberDigits;
  const auto [at, error] = std::from_chars(name.data(), end, file);
  if (error != std::errc() || at != end || file == 0) return std::nullopt;
  return file;
}

}  // namespace postrider::segments
