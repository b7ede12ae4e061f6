// JsonDocument: reads one JSON text (RFC 8259) and is strict about it: UTF-8 only, no name twice in
// an object unless the limits allow it, no lone surrogates, nothing after the value. One pass, no
// recursion, bounded depth and count. Values are views into the text, so numbers and strings stay
// as they were written. Reused for many texts; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"

namespace postrider::json {

enum class JsonKind : std::uint8_t { kNull, kFalse, kTrue, kNumber, kString, kArray, kObject };
std::string_view name_of(JsonKind kind);  // "an object"

struct JsonLimits {
  std::uint32_t depth_max = 32;        // objects and arrays inside each other
  std::uint32_t values_max = 100'000;  // of one text, names included
  bool names_twice = false;            // an object may have one name twice; else that is refused
};

class JsonDocument;

// A value of a document; good as long as the document and its text are.
class JsonValue {
 public:
  JsonKind kind() const;
  std::string_view raw() const;  // as it stands in the text
  std::size_t offset() const;    // of its first byte
  bool is_string() const { return kind() == JsonKind::kString; }
  std::string text() const;  // of a string, unescaped
  void append_text(std::string& out) const;
  bool text_is(std::string_view word) const;  // without making one, when it has no escapes

  // Elements of an array; names and values in turn of an object.
  std::size_t size() const;  // elements, or pairs
  JsonValue first() const;
  JsonValue next() const;  // behind this one; only while there is one

  // Calls `each(name, value)`; stops when it returns false.
  template <class Each>
  void for_members(Each&& each) const {
    JsonValue name = first();
    for (std::size_t left = size(); left > 0; --left) {
      const JsonValue value = name.next();
      if (!each(name, value)) return;
      if (left > 1) name = value.next();
    }
  }

  // Without the white space between tokens; nothing else is changed.
  void append_compact(std::string& out) const;

 private:
  friend class JsonDocument;
  JsonValue(const JsonDocument* document, std::uint32_t index)
      : document_(document), index_(index) {}
  const JsonDocument* document_;
  std::uint32_t index_;
};

class JsonDocument {
 public:
  // kInvalid, kLimit, or kConflict for a name given twice; the detail says what is wrong and at
  // which byte. `text` must outlive the values.
  Result<void> parse(std::string_view text, const JsonLimits& limits);
  JsonValue root() const { return {this, 0}; }

 private:
  friend class JsonValue;
  struct Node {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t next = 0;   // the node behind this one and all in it
    std::uint32_t count = 0;  // elements, or pairs
    JsonKind kind = JsonKind::kNull;
    bool escaped = false;
  };
  enum class Want : std::uint8_t { kValue, kFirstElement, kFirstName, kName, kAfter };

  bool step(Want& want, const JsonLimits& limits);
  bool open(JsonKind kind, Want& want, const JsonLimits& limits);
  bool close(Want& want, const JsonLimits& limits);
  bool read_value(Want& want, const JsonLimits& limits);
  bool read_name(Want& want, const JsonLimits& limits);
  bool read_after(Want& want, const JsonLimits& limits);
  bool read_string(const JsonLimits& limits);
  bool read_escape();
  bool read_utf8();
  bool read_number(const JsonLimits& limits);
  bool read_word(std::string_view word, JsonKind kind, const JsonLimits& limits);
  bool add(const Node& node, const JsonLimits& limits);
  bool has_twice(std::uint32_t object);
  std::string_view name_at(std::uint32_t index, std::vector<std::string>& decoded) const;
  void skip_space();
  bool bad(std::string_view what);
  bool over(std::string_view what);

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> open_;
  std::vector<std::string_view> names_;
  std::string what_;
  ErrorCode code_ = ErrorCode::kInvalid;
};

bool is_utf8(std::string_view text);

}  // namespace postrider::json
