#include "postrider/api/json_fields.h"

#include <charconv>

#include "postrider/api/texts.h"
#include "postrider/base/durations.h"

namespace postrider::api {
namespace {

constexpr std::size_t kDurationBytesMax = 40;

tl::unexpected<Problem> not_a(std::string_view wanted, const JsonValue& value,
                              std::string_view field) {
  return refuse(ProblemType::kInvalidField,
                std::string(field) + " is " + std::string(wanted) + ", not " +
                    std::string(name_of(value.kind())),
                std::string(field));
}

}  // namespace

std::optional<Problem> read_members(const JsonValue& object,
                                    std::span<const std::string_view> names,
                                    std::span<MaybeValue> found) {
  std::optional<Problem> problem;
  object.for_members([&](const JsonValue& name, const JsonValue& value) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!name.text_is(names[i])) continue;
      found[i] = value;
      return true;
    }
    problem = unknown_word(ProblemType::kUnknownField, "field", name.text(), names);
    return false;
  });
  return problem;
}

Checked<JsonValue> read_root(JsonDocument& document, std::string_view text,
                             const JsonLimits& limits) {
  if (const Result<void> good = document.parse(text, limits); !good) {
    const ErrorCode code = good.error().code;
    ProblemType type = ProblemType::kMalformedJson;
    if (code == ErrorCode::kConflict) type = ProblemType::kDuplicateField;
    if (code == ErrorCode::kLimit) type = ProblemType::kTooLarge;
    return refuse(type, good.error().detail);
  }
  if (document.root().kind() != JsonKind::kObject) {
    return refuse(
        ProblemType::kInvalidContent,
        "the body is " + std::string(name_of(document.root().kind())) + "; it must be an object");
  }
  return document.root();
}

Checked<std::string> read_text(const JsonValue& value, std::string_view field) {
  if (!value.is_string()) return not_a("a text", value, field);
  return value.text();
}

Checked<std::uint32_t> read_number(const JsonValue& value, std::string_view field,
                                   std::uint32_t high) {
  if (value.kind() != JsonKind::kNumber) return not_a("a whole number", value, field);
  const std::string_view text = value.raw();
  std::uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size() || number > high) {
    return refuse(ProblemType::kInvalidField,
                  std::string(field) + " is a whole number from 0 to " + std::to_string(high),
                  std::string(field));
  }
  return number;
}

Checked<Duration> read_duration(const JsonValue& value, std::string_view field, Duration low) {
  if (!value.is_string()) return not_a("a duration like \"5s\" or \"10m\"", value, field);
  // The error repeats it, and somebody else's novel is not repeated.
  const Result<Duration> duration =
      parse_duration(value.raw().size() > kDurationBytesMax ? "(a long text)" : value.text());
  if (!duration)
    return refuse(ProblemType::kInvalidField, duration.error().detail, std::string(field));
  if (*duration < low) {
    return refuse(ProblemType::kInvalidField, std::string(field) + " is at least " + to_string(low),
                  std::string(field));
  }
  return *duration;
}

Checked<Timestamp> read_time(const JsonValue& value, std::string_view field) {
  if (!value.is_string()) return not_a("a time like \"2026-01-02T03:04:05Z\"", value, field);
  const Result<Timestamp> time = parse_time(value.text());
  if (!time) return refuse(ProblemType::kInvalidField, time.error().detail, std::string(field));
  return *time;
}

}  // namespace postrider::api
