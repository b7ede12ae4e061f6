#include "postrider/protocols/reticulum/msgpack.h"

#include <array>
#include <bit>

namespace postrider::reticulum {

MsgpackWriter& MsgpackWriter::head(std::uint8_t code, std::uint64_t value, int width) {
  out_.push_back(static_cast<char>(code));
  for (int i = width - 1; i >= 0; --i) out_.push_back(static_cast<char>(value >> (8 * i)));
  return *this;
}

MsgpackWriter& MsgpackWriter::nil() { return head(0xC0, 0, 0); }
MsgpackWriter& MsgpackWriter::boolean(bool value) { return head(value ? 0xC3 : 0xC2, 0, 0); }

MsgpackWriter& MsgpackWriter::whole(std::uint64_t value) {
  if (value < 0x80) return head(static_cast<std::uint8_t>(value), 0, 0);
  if (value <= 0xFF) return head(0xCC, value, 1);
  if (value <= 0xFFFF) return head(0xCD, value, 2);
  if (value <= 0xFFFFFFFF) return head(0xCE, value, 4);
  return head(0xCF, value, 8);
}

MsgpackWriter& MsgpackWriter::negative(std::int64_t value) {
  if (value >= 0) return whole(static_cast<std::uint64_t>(value));
  const auto bits = static_cast<std::uint64_t>(value);
  if (value >= -32) return head(static_cast<std::uint8_t>(bits), 0, 0);
  if (value >= INT8_MIN) return head(0xD0, bits, 1);
  if (value >= INT16_MIN) return head(0xD1, bits, 2);
  if (value >= INT32_MIN) return head(0xD2, bits, 4);
  return head(0xD3, bits, 8);
}

MsgpackWriter& MsgpackWriter::real(double value) {
  return head(0xCB, std::bit_cast<std::uint64_t>(value), 8);
}

MsgpackWriter& MsgpackWriter::text(std::string_view value) {
  if (value.size() < 32)
    head(static_cast<std::uint8_t>(0xA0 | value.size()), 0, 0);
  else if (value.size() <= 0xFF)
    head(0xD9, value.size(), 1);
  else if (value.size() <= 0xFFFF)
    head(0xDA, value.size(), 2);
  else
    head(0xDB, value.size(), 4);
  return raw(value);
}

MsgpackWriter& MsgpackWriter::binary(std::string_view value) {
  if (value.size() <= 0xFF)
    head(0xC4, value.size(), 1);
  else if (value.size() <= 0xFFFF)
    head(0xC5, value.size(), 2);
  else
    head(0xC6, value.size(), 4);
  return raw(value);
}

MsgpackWriter& MsgpackWriter::extension(std::uint8_t type, std::string_view value) {
  if (std::has_single_bit(value.size()) && value.size() <= 16)
    head(static_cast<std::uint8_t>(0xD4 + std::countr_zero(value.size())), 0, 0);
  else if (value.size() <= 0xFF)
    head(0xC7, value.size(), 1);
  else if (value.size() <= 0xFFFF)
    head(0xC8, value.size(), 2);
  else
    head(0xC9, value.size(), 4);
  out_.push_back(static_cast<char>(type));
  return raw(value);
}

MsgpackWriter& MsgpackWriter::array(std::uint32_t count) {
  if (count < 16) return head(static_cast<std::uint8_t>(0x90 | count), 0, 0);
  return count <= 0xFFFF ? head(0xDC, count, 2) : head(0xDD, count, 4);
}

MsgpackWriter& MsgpackWriter::map(std::uint32_t count) {
  if (count < 16) return head(static_cast<std::uint8_t>(0x80 | count), 0, 0);
  return count <= 0xFFFF ? head(0xDE, count, 2) : head(0xDF, count, 4);
}

MsgpackWriter& MsgpackWriter::raw(std::string_view value) {
  out_.append(value);
  return *this;
}

std::string_view MsgpackReader::take(std::uint64_t size) {
  if (!ok_ || in_.size() < size) {
    ok_ = false;
    return {};
  }
  const std::string_view out = in_.substr(0, static_cast<std::size_t>(size));
  in_.remove_prefix(out.size());
  return out;
}

std::uint64_t MsgpackReader::big_endian(int width) {
  std::uint64_t value = 0;
  for (const char byte : take(static_cast<std::uint64_t>(width)))
    value = (value << 8) | static_cast<unsigned char>(byte);
  return value;
}

MsgpackReader::Head MsgpackReader::of_length(MsgpackKind kind, std::uint64_t length, bool typed) {
  Head out{.kind = kind};
  if (kind == MsgpackKind::kArray || kind == MsgpackKind::kMap) {
    // Each element takes a byte at least: a count beyond the input is a lie, found at once.
    if (length * (kind == MsgpackKind::kMap ? 2 : 1) > in_.size()) ok_ = false;
    out.number = length;
    return out;
  }
  if (typed) out.type = static_cast<std::uint8_t>(big_endian(1));
  out.bytes = take(length);
  return out;
}

MsgpackReader::Head MsgpackReader::of_number(std::uint8_t code) {
  if (code == 0xCA) {
    const auto bits = static_cast<std::uint32_t>(big_endian(4));
    return {.kind = MsgpackKind::kReal, .real = static_cast<double>(std::bit_cast<float>(bits))};
  }
  if (code == 0xCB)
    return {.kind = MsgpackKind::kReal, .real = std::bit_cast<double>(big_endian(8))};
  const int width = 1 << (code & 3);
  if (code < 0xD0) return {.kind = MsgpackKind::kWhole, .number = big_endian(width)};
  const int shift = 64 - 8 * width;
  const auto value = static_cast<std::int64_t>(big_endian(width) << shift) >> shift;
  return {.kind = value < 0 ? MsgpackKind::kNegative : MsgpackKind::kWhole,
          .number = static_cast<std::uint64_t>(value)};
}

MsgpackReader::Head MsgpackReader::head() {
  using Kind = MsgpackKind;
  const auto code = static_cast<std::uint8_t>(big_endian(1));
  Head out;
  if (!ok_) return out;
  if (code < 0x80)
    out = {.kind = Kind::kWhole, .number = code};
  else if (code < 0x90)
    out = of_length(Kind::kMap, code & 0x0F, false);
  else if (code < 0xA0)
    out = of_length(Kind::kArray, code & 0x0F, false);
  else if (code < 0xC0)
    out = of_length(Kind::kText, code & 0x1F, false);
  else if (code == 0xC0)
    out = {.kind = Kind::kNil};
  else if (code == 0xC1)
    ok_ = false;  // never used
  else if (code <= 0xC3)
    out = {.kind = Kind::kBoolean, .number = code & 1u};
  else if (code <= 0xC6)
    out = of_length(Kind::kBinary, big_endian(1 << (code - 0xC4)), false);
  else if (code <= 0xC9)
    out = of_length(Kind::kExtension, big_endian(1 << (code - 0xC7)), true);
  else if (code <= 0xD3)
    out = of_number(code);
  else if (code <= 0xD8)
    out = of_length(Kind::kExtension, std::uint64_t{1} << (code - 0xD4), true);
  else if (code <= 0xDB)
    out = of_length(Kind::kText, big_endian(1 << (code - 0xD9)), false);
  else if (code <= 0xDD)
    out = of_length(Kind::kArray, big_endian(2 << (code - 0xDC)), false);
  else if (code <= 0xDF)
    out = of_length(Kind::kMap, big_endian(2 << (code - 0xDE)), false);
  else
    out = {.kind = Kind::kNegative,
           .number = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(code)})};
  return ok_ ? out : Head{};
}

MsgpackKind MsgpackReader::peek() const {
  MsgpackReader ahead(*this);
  return ahead.head().kind;
}

MsgpackReader::Head MsgpackReader::expect(MsgpackKind kind) {
  Head out = head();
  if (out.kind == kind) return out;
  ok_ = false;
  return {};
}

void MsgpackReader::nil() { expect(MsgpackKind::kNil); }
bool MsgpackReader::boolean() { return expect(MsgpackKind::kBoolean).number != 0; }
std::uint64_t MsgpackReader::whole() { return expect(MsgpackKind::kWhole).number; }

double MsgpackReader::real() {
  const Head out = head();
  if (out.kind == MsgpackKind::kReal) return out.real;
  if (out.kind == MsgpackKind::kWhole) return static_cast<double>(out.number);
  if (out.kind == MsgpackKind::kNegative)
    return static_cast<double>(static_cast<std::int64_t>(out.number));
  ok_ = false;
  return 0;
}

std::string_view MsgpackReader::bytes() {
  const Head out = head();
  if (out.kind != MsgpackKind::kText && out.kind != MsgpackKind::kBinary) ok_ = false;
  return out.bytes;
}

std::string_view MsgpackReader::binary() { return expect(MsgpackKind::kBinary).bytes; }
std::string_view MsgpackReader::text() { return expect(MsgpackKind::kText).bytes; }
std::uint32_t MsgpackReader::array() {
  return static_cast<std::uint32_t>(expect(MsgpackKind::kArray).number);
}
std::uint32_t MsgpackReader::map() {
  return static_cast<std::uint32_t>(expect(MsgpackKind::kMap).number);
}

std::string_view MsgpackReader::raw() {
  const std::string_view before = in_;
  std::array<std::uint64_t, kMsgpackDepthMax> open{};  // elements that each open container lacks
  std::size_t depth = 0;
  do {
    const Head value = head();
    if (!ok_) return {};
    if (depth > 0) --open[depth - 1];
    const bool holds = value.kind == MsgpackKind::kArray || value.kind == MsgpackKind::kMap;
    if (holds) {
      if (depth == open.size()) {
        ok_ = false;
        return {};
      }
      open[depth++] = value.number * (value.kind == MsgpackKind::kMap ? 2 : 1);
    }
    while (depth > 0 && open[depth - 1] == 0) --depth;
  } while (depth > 0);
  return before.substr(0, before.size() - in_.size());
}

Result<std::string> canonical_msgpack(std::string_view value) {
  MsgpackReader whole(value);
  whole.raw();
  if (!whole.at_end()) return fail(ErrorCode::kCorrupt, "not one msgpack value");
  std::string out;
  MsgpackWriter to(out);
  MsgpackReader in(value);
  while (!in.rest().empty()) {  // heads stand before what they hold, so one walk is enough
    const MsgpackReader::Head next = in.head();
    switch (next.kind) {
      case MsgpackKind::kNone: return fail(ErrorCode::kCorrupt, "not one msgpack value");
      case MsgpackKind::kNil: to.nil(); break;
      case MsgpackKind::kBoolean: to.boolean(next.number != 0); break;
      case MsgpackKind::kWhole: to.whole(next.number); break;
      case MsgpackKind::kNegative: to.negative(static_cast<std::int64_t>(next.number)); break;
      case MsgpackKind::kReal: to.real(next.real); break;
      case MsgpackKind::kText: to.text(next.bytes); break;
      case MsgpackKind::kBinary: to.binary(next.bytes); break;
      case MsgpackKind::kExtension: to.extension(next.type, next.bytes); break;
      case MsgpackKind::kArray: to.array(static_cast<std::uint32_t>(next.number)); break;
      case MsgpackKind::kMap: to.map(static_cast<std::uint32_t>(next.number)); break;
    }
  }
  return out;
}

}  // namespace postrider::reticulum
