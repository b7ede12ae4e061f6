// Reading JSON of others: bounded, without exceptions, and as forgiving about numbers as proto3
// JSON is, where a number may come as text. Only codecs include this; it brings Boost.JSON along.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "postrider/base/result.h"

namespace postrider::json {

inline constexpr std::size_t kBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kDepthMax = 32;

using Value = boost::json::value;
using Object = boost::json::object;

// kInvalid when it is no JSON, kLimit when it is too large.
Result<Value> parse(std::string_view text);
// kInvalid when it is another kind of value.
Result<Object> parse_object(std::string_view text);

// A text that is read and dropped: its values lie in one piece of memory, which goes with it.
class Document {
 public:
  Document() : memory_(first_.data(), first_.size()) {}
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  // As parse_object; once. What it points to lives as long as the document.
  Result<const Object*> parse_object(std::string_view text);

 private:
  std::array<unsigned char, 4096> first_;  // of a small text; a larger one has more
  boost::json::monotonic_resource memory_;
  std::optional<Value> value_;
};

// Absent and null are the same: the default. Another kind of value is kInvalid and names the field.
const Value* find(const Object& object, std::string_view name);
Result<std::string> text_of(const Object& object, std::string_view name);
Result<bool> boolean_of(const Object& object, std::string_view name);
Result<std::int64_t> integer_of(const Object& object, std::string_view name);
Result<std::uint32_t> u32_of(const Object& object, std::string_view name);
Result<std::int32_t> i32_of(const Object& object, std::string_view name);
Result<double> number_of(const Object& object, std::string_view name);
Result<const Object*> object_of(const Object& object, std::string_view name);  // null when absent

// A text, or a number written as text; nothing for other kinds.
std::optional<std::string> word_of(const Value& value);
std::optional<std::int64_t> integer_of(const Value& value);

}  // namespace postrider::json
