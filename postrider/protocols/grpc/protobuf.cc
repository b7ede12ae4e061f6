#include "postrider/protocols/grpc/protobuf.h"

#include <bit>

namespace postrider::protobuf {
namespace {

auto corrupt(const char* why) { return fail(ErrorCode::kCorrupt, why); }

// The years 1 to 9999, the range of google.protobuf.Timestamp.
constexpr std::int64_t kSecondsMin = -62'135'596'800;
constexpr std::int64_t kSecondsMax = 253'402'300'799;

}  // namespace

float Field::f32() const { return std::bit_cast<float>(u32()); }

Result<std::uint64_t> Reader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest_.empty()) return corrupt("a number is cut off");
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    if (shift == 63 && byte > 1) break;
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return corrupt("a number is longer than 64 bits");
}

Result<std::uint64_t> Reader::fixed(std::size_t width) {
  if (rest_.size() < width) return corrupt("a number is cut off");
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;) value = (value << 8) | static_cast<std::uint8_t>(rest_[i]);
  rest_.remove_prefix(width);
  return value;
}

Result<std::optional<Field>> Reader::next() {
  if (!begun_) {
    begun_ = true;
    if (depth_ > kDepthMax) return fail(ErrorCode::kLimit, "messages are nested too deep");
    if (rest_.size() > kBytesMax) return fail(ErrorCode::kLimit, "the message is too large");
  }
  if (rest_.empty()) return std::optional<Field>();
  if (++fields_ > kFieldsMax) return fail(ErrorCode::kLimit, "the message has too many fields");
  POSTRIDER_TRY(tag, varint());
  Field field;
  if (tag >> 3 == 0 || tag >> 3 > kFieldNumberMax) return corrupt("a field has no valid number");
  field.number = static_cast<std::uint32_t>(tag >> 3);
  switch (tag & 7) {
    case 0: {
      POSTRIDER_TRY(value, varint());
      field.value = value;
      break;
    }
    case 1: {
      POSTRIDER_TRY(value, fixed(8));
      field.type = WireType::kFixed64;
      field.value = value;
      break;
    }
    case 2: {
      POSTRIDER_TRY(size, varint());
      if (size > rest_.size()) return corrupt("a field is cut off");
      field.type = WireType::kBytes;
      field.bytes = rest_.substr(0, static_cast<std::size_t>(size));
      rest_.remove_prefix(static_cast<std::size_t>(size));
      break;
    }
    case 5: {
      POSTRIDER_TRY(value, fixed(4));
      field.type = WireType::kFixed32;
      field.value = value;
      break;
    }
    default: return corrupt("a field is of a kind that we do not read");
  }
  return std::optional<Field>(field);
}

void Writer::raw_varint(std::uint64_t value) {
  while (value >= 0x80) {
    out_.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out_.push_back(static_cast<char>(value));
}

void Writer::tag(std::uint32_t number, WireType type) {
  raw_varint((static_cast<std::uint64_t>(number) << 3) | static_cast<std::uint64_t>(type));
}

Writer& Writer::varint(std::uint32_t number, std::uint64_t value) {
  if (value == 0) return *this;
  tag(number, WireType::kVarint);
  raw_varint(value);
  return *this;
}

Writer& Writer::i32(std::uint32_t number, std::int32_t value) {
  // A negative number takes ten bytes: the format extends its sign to 64 bits.
  return varint(number, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
}

Writer& Writer::f32(std::uint32_t number, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (bits == 0) return *this;
  tag(number, WireType::kFixed32);
  for (unsigned shift = 0; shift < 32; shift += 8)
    out_.push_back(static_cast<char>((bits >> shift) & 0xFF));
  return *this;
}

Writer& Writer::bytes(std::uint32_t number, std::string_view value) {
  return value.empty() ? *this : message(number, value);
}

Writer& Writer::message(std::uint32_t number, std::string_view encoded) {
  tag(number, WireType::kBytes);
  raw_varint(encoded.size());
  out_.append(encoded);
  return *this;
}

std::string encode_timestamp(Timestamp time) {
  std::int64_t seconds = time.ms() / 1000;
  std::int64_t ms = time.ms() % 1000;
  if (ms < 0) {  // nanos count forward also before 1970
    --seconds;
    ms += 1000;
  }
  std::string out;
  Writer(out)
      .varint(1, static_cast<std::uint64_t>(seconds))
      .varint(2, static_cast<std::uint64_t>(ms) * 1'000'000);
  return out;
}

Result<Timestamp> read_timestamp(Reader reader) {
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
  while (true) {
    POSTRIDER_TRY(field, reader.next());
    if (!field) break;
    if (field->is(1, WireType::kVarint)) seconds = static_cast<std::int64_t>(field->value);
    if (field->is(2, WireType::kVarint)) nanos = field->i32();
  }
  if (seconds < kSecondsMin || seconds > kSecondsMax || nanos < 0 || nanos > 999'999'999)
    return corrupt("a time is out of range");
  return Timestamp(seconds * 1000 + nanos / 1'000'000);
}

}  // namespace postrider::protobuf
