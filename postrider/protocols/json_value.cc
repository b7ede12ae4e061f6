#include "postrider/protocols/json_value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace postrider::json {
namespace {

auto wrong(std::string_view name, const char* why) {
  return fail(ErrorCode::kInvalid, std::string(name).append(": ").append(why));
}

// Exact up to here; beyond it a number written with a point may be another one.
constexpr double kExactMax = 9'007'199'254'740'992.0;

std::optional<std::int64_t> whole(double number) {
  if (!(std::fabs(number) <= kExactMax) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

// The whole text as a number.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

bool has_digits_only(std::string_view number) {
  return number.find_first_of(".eE") == std::string_view::npos;
}

template <class Number>
Result<Number> bounded(const Tree& object, std::string_view name) {
  POSTRIDER_TRY(value, integer_of(object, name));
  if (value < std::int64_t{std::numeric_limits<Number>::min()} ||
      value > std::int64_t{std::numeric_limits<Number>::max()})
    return wrong(name, "out of range");
  return static_cast<Number>(value);
}

}  // namespace

Result<Tree> parse(std::string_view text) {
  if (text.size() > kBytesMax) return fail(ErrorCode::kLimit, "the JSON text is too large");
  auto tree =
      parse_tree(text, {.depth_max = kDepthMax, .values_max = UINT32_MAX, .names_twice = true});
  if (!tree) return fail(ErrorCode::kInvalid, "this is no JSON: " + tree.error().detail);
  return tree;
}

Result<Tree> parse_object(std::string_view text) {
  POSTRIDER_TRY(tree, parse(text));
  if (!tree.is_object()) return fail(ErrorCode::kInvalid, "this is no JSON object");
  return std::move(tree);
}

const Tree* find(const Tree& object, std::string_view name) {
  const Tree* const value = object.find(name);
  return value == nullptr || value->kind == Tree::Kind::kNull ? nullptr : value;
}

Result<std::string> text_of(const Tree& object, std::string_view name) {
  const Tree* const value = find(object, name);
  if (value == nullptr) return std::string();
  if (!value->is_text()) return wrong(name, "must be a text");
  return value->text;
}

Result<bool> boolean_of(const Tree& object, std::string_view name) {
  const Tree* const value = find(object, name);
  if (value == nullptr) return false;
  if (value->kind != Tree::Kind::kFlag) return wrong(name, "must be true or false");
  return value->text == "true";
}

bool is_integer(const Tree& value) {
  return value.is_number() && has_digits_only(value.text) &&
         (parse_number<std::int64_t>(value.text) || parse_number<std::uint64_t>(value.text));
}

std::optional<std::int64_t> integer_of(const Tree& value) {
  if (value.is_text() || (value.is_number() && has_digits_only(value.text)))
    return parse_number<std::int64_t>(value.text);
  if (!value.is_number()) return std::nullopt;
  const auto number = parse_number<double>(value.text);
  return number ? whole(*number) : std::nullopt;
}

Result<std::int64_t> integer_of(const Tree& object, std::string_view name) {
  const Tree* const value = find(object, name);
  if (value == nullptr) return std::int64_t{0};
  const std::optional<std::int64_t> number = integer_of(*value);
  if (!number) return wrong(name, "must be a whole number");
  return *number;
}

Result<std::uint32_t> u32_of(const Tree& object, std::string_view name) {
  return bounded<std::uint32_t>(object, name);
}
Result<std::int32_t> i32_of(const Tree& object, std::string_view name) {
  return bounded<std::int32_t>(object, name);
}

Result<double> number_of(const Tree& object, std::string_view name) {
  const Tree* const value = find(object, name);
  if (value == nullptr) return 0.0;
  if (value->is_number() || value->is_text()) {
    const auto number = parse_number<double>(value->text);
    if (number && std::isfinite(*number)) return *number;
  }
  return wrong(name, "must be a number");
}

Result<const Tree*> object_of(const Tree& object, std::string_view name) {
  const Tree* const value = find(object, name);
  if (value == nullptr) return static_cast<const Tree*>(nullptr);
  if (!value->is_object()) return wrong(name, "must be an object");
  return value;
}

std::optional<std::string> word_of(const Tree& value) {
  if (value.is_text() || is_integer(value)) return value.text;
  const auto number = value.is_number() ? parse_number<double>(value.text) : std::nullopt;
  if (!number) return std::nullopt;
  // One way of writing each number, whatever its writer chose.
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), *number);
  return std::string(text.data(), end);
}

}  // namespace postrider::json
