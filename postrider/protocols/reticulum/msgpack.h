// msgpack, as Reticulum writes it (shortest forms, float64) and as peers may write it (any legal
// form). A reader never reads past its end: it fails once and stays failed, and the caller asks at
// the end. Values; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "postrider/base/result.h"

namespace postrider::reticulum {

inline constexpr std::size_t kMsgpackDepthMax = 16;  // containers in containers

class MsgpackWriter {
 public:
  explicit MsgpackWriter(std::string& out) : out_(out) {}

  MsgpackWriter& nil();
  MsgpackWriter& boolean(bool value);
  MsgpackWriter& whole(std::uint64_t value);
  MsgpackWriter& negative(std::int64_t value);
  MsgpackWriter& real(double value);
  MsgpackWriter& text(std::string_view value);
  MsgpackWriter& binary(std::string_view value);
  MsgpackWriter& extension(std::uint8_t type, std::string_view value);
  MsgpackWriter& array(std::uint32_t count);  // its elements follow
  MsgpackWriter& map(std::uint32_t count);    // its pairs follow
  MsgpackWriter& raw(std::string_view value);

 private:
  MsgpackWriter& head(std::uint8_t code, std::uint64_t value, int width);
  std::string& out_;
};

enum class MsgpackKind : std::uint8_t {
  kNone,  // the end, or what is no msgpack
  kNil,
  kBoolean,
  kWhole,
  kNegative,
  kReal,
  kText,
  kBinary,
  kExtension,
  kArray,
  kMap,
};

class MsgpackReader {
 public:
  explicit MsgpackReader(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && in_.empty(); }
  void fail() { ok_ = false; }
  std::string_view rest() const { return in_; }
  MsgpackKind peek() const;  // of the next value

  // Each fails when the next value is of another kind.
  void nil();
  bool boolean();
  std::uint64_t whole();
  double real();             // a whole or negative number too
  std::string_view bytes();  // text or binary
  std::string_view binary();
  std::string_view text();
  std::uint32_t array();
  std::uint32_t map();
  // The bytes of the whole next value, whatever it is; fails when it is nested too deeply.
  std::string_view raw();

 private:
  struct Head {
    MsgpackKind kind = MsgpackKind::kNone;
    std::uint64_t number = 0;  // value, or how many elements or pairs follow
    double real = 0;
    std::uint8_t type = 0;   // of an extension
    std::string_view bytes;  // content of text, binary and extension
  };
  friend Result<std::string> canonical_msgpack(std::string_view value);
  Head head();  // kNone, and failed, when there is none
  Head expect(MsgpackKind kind);
  Head of_number(std::uint8_t code);
  Head of_length(MsgpackKind kind, std::uint64_t length, bool typed);
  std::uint64_t big_endian(int width);
  std::string_view take(std::uint64_t size);

  std::string_view in_;
  bool ok_ = true;
};

// The same value in shortest forms, with the order of map keys kept: what a peer that reads and
// writes it again makes of it. kCorrupt: this is not exactly one value.
Result<std::string> canonical_msgpack(std::string_view value);

}  // namespace postrider::reticulum
