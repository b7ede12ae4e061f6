#include "postrider/model/dead_groups.h"

#include "postrider/base/codec.h"

namespace postrider {
namespace {

constexpr std::uint8_t kDeadGroupsVersion = 1;
constexpr std::size_t kKeyBytes = 15;

}  // namespace

std::string group_key(const GroupName& name) {
  std::string key = keys::bucket(keys::kGroup, name.bucket);
  Writer(key)
      .u64(name.destination.value())
      .u8(static_cast<std::uint8_t>(name.phase))
      .u8(static_cast<std::uint8_t>(name.cause));
  return key;
}

std::optional<GroupName> parse_group_key(std::string_view key) {
  if (key.size() != kKeyBytes || key[0] != keys::kGroup) return std::nullopt;
  Reader reader(key.substr(1));
  GroupName name;
  name.bucket = reader.u32();
  name.destination = DestinationId(reader.u64());
  const std::uint8_t phase = reader.u8();
  const std::uint8_t cause = reader.u8();
  if (phase >= kPhases || cause >= kFailureClasses) return std::nullopt;
  name.phase = static_cast<Phase>(phase);
  name.cause = static_cast<FailureClass>(cause);
  return name;
}

std::string encode_group(const GroupRecord& group) {
  std::string out(1, static_cast<char>(kDeadGroupsVersion));
  Writer(out)
      .varint(group.count)
      .i64(group.first.ms())
      .i64(group.last.ms())
      .u64(group.example.high)
      .u64(group.example.low)
      .text(group.reason);
  seal_record(out);
  return out;
}

Result<GroupRecord> decode_group(std::string_view record) {
  Reader reader = open_record(record, kDeadGroupsVersion);
  GroupRecord group;
  group.count = reader.varint();
  group.first = Timestamp(reader.i64());
  group.last = Timestamp(reader.i64());
  group.example.high = reader.u64();
  group.example.low = reader.u64();
  group.reason = reader.text();
  if (!reader.at_end()) return fail(ErrorCode::kCorrupt, "group of dead letters");
  return group;
}

}  // namespace postrider
