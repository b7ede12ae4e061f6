// Reading JSON of others: bounded, without exceptions, and as forgiving about numbers as proto3
// JSON is, where a number may come as text, and about a name given twice, where the last counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/json/json_tree.h"

namespace postrider::json {

inline constexpr std::size_t kBytesMax = std::size_t{256} << 10;
inline constexpr std::size_t kDepthMax = 32;

// kInvalid when it is no JSON, kLimit when it is too large.
Result<Tree> parse(std::string_view text);
// kInvalid when it is another kind of value.
Result<Tree> parse_object(std::string_view text);

// Absent and null are the same: the default. Another kind of value is kInvalid and names the field.
const Tree* find(const Tree& object, std::string_view name);
Result<std::string> text_of(const Tree& object, std::string_view name);
Result<bool> boolean_of(const Tree& object, std::string_view name);
Result<std::int64_t> integer_of(const Tree& object, std::string_view name);
Result<std::uint32_t> u32_of(const Tree& object, std::string_view name);
Result<std::int32_t> i32_of(const Tree& object, std::string_view name);
Result<double> number_of(const Tree& object, std::string_view name);
Result<const Tree*> object_of(const Tree& object, std::string_view name);  // null when absent

// A number of digits alone that has 64 bits at most.
bool is_integer(const Tree& value);
// A text, or a number written as text; nothing for other kinds.
std::optional<std::string> word_of(const Tree& value);
std::optional<std::int64_t> integer_of(const Tree& value);

}  // namespace postrider::json
