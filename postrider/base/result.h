// Result<T>: how we tell that the environment failed us (bad input, corrupt record, store
// unavailable). What a delivery came to is never an Error: that is an Outcome.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace postrider {

enum class ErrorCode : std::uint8_t {
  kNotFound,
  kConflict,
  kCorrupt,
  kInvalid,
  kUnavailable,
  kLimit
};

struct Error {
  ErrorCode code;
  std::string detail;  // for humans, never parsed
};

template <class T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

inline tl::unexpected<Error> fail(ErrorCode code, std::string detail) {
  return tl::unexpected<Error>(Error{code, std::move(detail)});
}

}  // namespace postrider

// NOLINTBEGIN(bugprone-macro-parentheses): a name cannot stand in parentheses.
// POSTRIDER_TRY(name, expression): binds the value, or returns the error upwards.
#define POSTRIDER_TRY(name, expression)                                                   \
  auto name##_result = (expression);                                                      \
  if (!name##_result) return ::tl::unexpected<::postrider::Error>(name##_result.error()); \
  auto& name = *name##_result
// NOLINTEND(bugprone-macro-parentheses)
