// The wire format of protocol buffers, as far as small messages need it: a writer, and a reader
// that is bounded in bytes, fields and depth. Values are views into the bytes that were given.
// Deprecated groups are refused; nobody of our peers sends them. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace postrider::protobuf {

inline constexpr std::size_t kBytesMax = std::size_t{1} << 20;  // of one message
inline constexpr std::uint32_t kFieldsMax = 10'000;  // of one message, without nested ones
inline constexpr std::uint32_t kDepthMax = 8;        // messages inside messages
inline constexpr std::uint32_t kFieldNumberMax = (1U << 29) - 1;

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;  // of the three kinds of number
  std::string_view bytes;

  // A field that we know but that comes as another kind is to be skipped, as all readers do.
  bool is(std::uint32_t wanted, WireType kind) const { return number == wanted && type == kind; }
  std::uint32_t u32() const {
    return static_cast<std::uint32_t>(value);
  }  // cut, as the format says
  std::int32_t i32() const { return static_cast<std::int32_t>(u32()); }
  bool boolean() const { return value != 0; }
  float f32() const;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : Reader(bytes, 1) {}

  // The next field, nothing at the end. kCorrupt for bytes that are no message, kLimit beyond a
  // limit.
  Result<std::optional<Field>> next();
  // The message inside a field. Its errors come with its first field.
  Reader nested(const Field& field) const { return {field.bytes, depth_ + 1}; }

 private:
  Reader(std::string_view bytes, std::uint32_t depth) : rest_(bytes), depth_(depth) {}
  Result<std::uint64_t> varint();
  Result<std::uint64_t> fixed(std::size_t width);

  std::string_view rest_;
  std::uint32_t depth_;
  std::uint32_t fields_ = 0;
  bool begun_ = false;
};

// Writes what is not the default, as proto3 does.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& varint(std::uint32_t number, std::uint64_t value);
  Writer& i32(std::uint32_t number, std::int32_t value);
  Writer& boolean(std::uint32_t number, bool value) { return varint(number, value ? 1 : 0); }
  Writer& f32(std::uint32_t number, float value);
  Writer& bytes(std::uint32_t number, std::string_view value);
  // A message is written also when it is empty, because being there says something.
  Writer& message(std::uint32_t number, std::string_view encoded);

 private:
  void tag(std::uint32_t number, WireType type);
  void raw_varint(std::uint64_t value);
  std::string& out_;
};

// google.protobuf.Timestamp; cut to milliseconds. Times that a Timestamp cannot hold are kCorrupt.
std::string encode_timestamp(Timestamp time);
Result<Timestamp> read_timestamp(Reader reader);

}  // namespace postrider::protobuf
