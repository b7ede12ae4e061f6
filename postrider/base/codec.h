// Writer and Reader: the bytes of records and keys. Fixed-width integers are big-endian, so that
// keys sort as numbers. A Reader never reads past its end: it fails once and stays failed, and the
// caller asks at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "postrider/base/crc.h"

namespace postrider {

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& u8(std::uint8_t value) { return fixed<1>(value); }
  Writer& u16(std::uint16_t value) { return fixed<2>(value); }
  Writer& u32(std::uint32_t value) { return fixed<4>(value); }
  Writer& u64(std::uint64_t value) { return fixed<8>(value); }
  Writer& i64(std::int64_t value) { return u64(static_cast<std::uint64_t>(value)); }
  Writer& raw(std::string_view bytes) {
    out_.append(bytes);
    return *this;
  }
  Writer& varint(std::uint64_t value) {
    while (value >= 0x80) {
      out_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    out_.push_back(static_cast<char>(value));
    return *this;
  }
  // Small numbers of either sign are short: 0, -1, 1, -2, …
  Writer& svarint(std::int64_t value) {
    return varint((static_cast<std::uint64_t>(value) << 1) ^
                  static_cast<std::uint64_t>(value >> 63));
  }
  // Near another number; any two are told apart, because the difference wraps around.
  Writer& near(std::int64_t value, std::int64_t base) {
    return svarint(static_cast<std::int64_t>(static_cast<std::uint64_t>(value) -
                                             static_cast<std::uint64_t>(base)));
  }
  Writer& text(std::string_view bytes) { return varint(bytes.size()).raw(bytes); }

 private:
  template <int kWidth>
  Writer& fixed(std::uint64_t value) {
    // Big-endian: the wanted bytes of the swapped number are its last ones.
    const std::uint64_t swapped = __builtin_bswap64(value << (64 - 8 * kWidth));
    char bytes[8];
    std::memcpy(bytes, &swapped, sizeof(bytes));
    out_.append(bytes, static_cast<std::size_t>(kWidth));
    return *this;
  }
  std::string& out_;
};

class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && in_.empty(); }
  std::string_view rest() const { return in_; }

  std::uint8_t u8() { return static_cast<std::uint8_t>(fixed<1>()); }
  std::uint16_t u16() { return static_cast<std::uint16_t>(fixed<2>()); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(fixed<4>()); }
  std::uint64_t u64() { return fixed<8>(); }
  std::int64_t i64() { return static_cast<std::int64_t>(fixed<8>()); }
  std::string_view raw(std::size_t size) {
    if (!ok_ || in_.size() < size) {
      ok_ = false;
      return {};
    }
    const std::string_view out = in_.substr(0, size);
    in_.remove_prefix(size);
    return out;
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      if (!ok_) return 0;
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t svarint() {
    const std::uint64_t value = varint();
    return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
  }
  std::int64_t near(std::int64_t base) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(svarint()) +
                                     static_cast<std::uint64_t>(base));
  }
  // A number that its field has room for.
  std::uint16_t varint16() {
    const std::uint64_t value = varint();
    if (value > UINT16_MAX) ok_ = false;
    return static_cast<std::uint16_t>(value);
  }
  std::uint32_t varint32() {
    const std::uint64_t value = varint();
    if (value > UINT32_MAX) ok_ = false;
    return static_cast<std::uint32_t>(value);
  }
  std::string_view text() {
    const std::uint64_t size = varint();
    return raw(size > in_.size() ? in_.size() + 1 : static_cast<std::size_t>(size));
  }
  void fail() { ok_ = false; }

 private:
  template <int kWidth>
  std::uint64_t fixed() {
    const std::string_view bytes = raw(kWidth);
    if (!ok_) return 0;
    std::uint64_t value = 0;
    for (const char byte : bytes) value = (value << 8) | static_cast<unsigned char>(byte);
    return value;
  }
  std::string_view in_;
  bool ok_ = true;
};

// A stored value is: format version (1 byte), fields, CRC-32C of all before it.
inline void seal_record(std::string& record) {
  const std::uint32_t crc = crc32c(record);
  Writer(record).u32(crc);
}

// The bytes between version and checksum; a failed Reader when the record is not what we wrote.
inline Reader open_record(std::string_view record, std::uint8_t version) {
  if (record.size() < 5 || static_cast<std::uint8_t>(record[0]) != version) {
    Reader bad{std::string_view()};
    bad.fail();
    return bad;
  }
  const std::string_view content = record.substr(0, record.size() - 4);
  Reader tail(record.substr(record.size() - 4));
  Reader fields(content.substr(1));
  if (tail.u32() != crc32c(content)) fields.fail();
  return fields;
}

}  // namespace postrider
