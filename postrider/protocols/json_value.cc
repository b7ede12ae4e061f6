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

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

template <class Number>
Result<Number> bounded(const Object& object, std::string_view name) {
  POSTRIDER_TRY(value, integer_of(object, name));
  if (value < std::int64_t{std::numeric_limits<Number>::min()} ||
      value > std::int64_t{std::numeric_limits<Number>::max()})
    return wrong(name, "out of range");
  return static_cast<Number>(value);
}

}  // namespace

namespace {

Result<Value> parse_into(boost::json::storage_ptr memory, std::string_view text) {
  if (text.size() > kBytesMax) return fail(ErrorCode::kLimit, "the JSON text is too large");
  boost::json::parse_options options;
  options.max_depth = kDepthMax;
  boost::system::error_code bad;
  Value value = boost::json::parse({text.data(), text.size()}, bad, std::move(memory), options);
  if (bad.failed()) return fail(ErrorCode::kInvalid, "this is no JSON: " + bad.message());
  return value;
}

auto no_object() { return fail(ErrorCode::kInvalid, "this is no JSON object"); }

}  // namespace

Result<Value> parse(std::string_view text) { return parse_into({}, text); }

Result<Object> parse_object(std::string_view text) {
  POSTRIDER_TRY(value, parse(text));
  if (!value.is_object()) return no_object();
  return std::move(value.get_object());
}

Result<const Object*> Document::parse_object(std::string_view text) {
  POSTRIDER_TRY(value, parse_into(&memory_, text));
  value_.emplace(std::move(value));
  if (!value_->is_object()) return no_object();
  return &value_->get_object();
}

const Value* find(const Object& object, std::string_view name) {
  const Value* const value = object.if_contains({name.data(), name.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<std::string> text_of(const Object& object, std::string_view name) {
  const Value* const value = find(object, name);
  if (value == nullptr) return std::string();
  if (!value->is_string()) return wrong(name, "must be a text");
  return std::string(value->get_string().data(), value->get_string().size());
}

Result<bool> boolean_of(const Object& object, std::string_view name) {
  const Value* const value = find(object, name);
  if (value == nullptr) return false;
  if (!value->is_bool()) return wrong(name, "must be true or false");
  return value->get_bool();
}

std::optional<std::int64_t> integer_of(const Value& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_double()) return whole(value.get_double());
  if (!value.is_string()) return std::nullopt;
  return parse_integer({value.get_string().data(), value.get_string().size()});
}

Result<std::int64_t> integer_of(const Object& object, std::string_view name) {
  const Value* const value = find(object, name);
  if (value == nullptr) return std::int64_t{0};
  const std::optional<std::int64_t> number = integer_of(*value);
  if (!number) return wrong(name, "must be a whole number");
  return *number;
}

Result<std::uint32_t> u32_of(const Object& object, std::string_view name) {
  return bounded<std::uint32_t>(object, name);
}
Result<std::int32_t> i32_of(const Object& object, std::string_view name) {
  return bounded<std::int32_t>(object, name);
}

Result<double> number_of(const Object& object, std::string_view name) {
  const Value* const value = find(object, name);
  if (value == nullptr) return 0.0;
  if (value->is_double()) return value->get_double();
  if (value->is_int64()) return static_cast<double>(value->get_int64());
  if (value->is_uint64()) return static_cast<double>(value->get_uint64());
  double number = 0;
  if (value->is_string()) {
    const boost::json::string& text = value->get_string();
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && rest == end && std::isfinite(number)) return number;
  }
  return wrong(name, "must be a number");
}

Result<const Object*> object_of(const Object& object, std::string_view name) {
  const Value* const value = find(object, name);
  if (value == nullptr) return static_cast<const Object*>(nullptr);
  if (!value->is_object()) return wrong(name, "must be an object");
  return &value->get_object();
}

std::optional<std::string> word_of(const Value& value) {
  if (value.is_string()) return std::string(value.get_string().data(), value.get_string().size());
  if (value.is_int64()) return std::to_string(value.get_int64());
  if (value.is_uint64()) return std::to_string(value.get_uint64());
  if (!value.is_double()) return std::nullopt;
  std::array<char, 32> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value.get_double());
  return std::string(text.data(), end);
}

}  // namespace postrider::json
