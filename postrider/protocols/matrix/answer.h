// Answers of receivers to a transaction, and bodies of refusals. Receivers are of many makes, so
// what is odd is read by rules that never lose a delivery: a 200 with an object is a success,
// whatever else it says. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace postrider::matrix {

inline constexpr std::size_t kAnswerBytesMax = 256 * 1024;
inline constexpr std::size_t kErrorTextBytesMax = 500;
inline constexpr Duration kHoldMax{3'600'000};
inline constexpr Duration kHoldDefault{5'000};

// What a receiver says of one event that it did not take.
struct PduError {
  std::string event_id;
  std::string text;  // "M_FORBIDDEN: …", fit for a log line
  bool operator==(const PduError&) const = default;
};

// The body of a 200: the events that it names with an error. kInvalid and kLimit: no JSON object
// within the limit, which counts as a failure. Members of other kinds than expected are passed
// over.
Result<std::vector<PduError>> read_send_answer(std::string_view body);

// For each of `pdus` the error that is meant for it, or nothing; they are matched by the ids of all
// room versions. Errors for other ids belong to none.
std::vector<std::optional<std::string>> errors_of(std::span<const std::string_view> pdus,
                                                  std::span<const PduError> errors);

// {"errcode":"M_LIMIT_EXCEEDED","error":"…","retry_after_ms":2000}; what is absent or odd is empty.
struct Refusal {
  std::string errcode;
  std::string error;
  std::optional<Duration> retry_after;
  bool operator==(const Refusal&) const = default;
};
Refusal read_refusal(std::string_view body);
std::string to_text(const Refusal& refusal);  // "M_UNKNOWN: text", or what there is of it

// How long a 429 holds a transaction: the header when it can be read, else the body, else the
// default; never longer than kHoldMax.
Duration hold_of(std::string_view retry_after_header, std::string_view body, Timestamp wall);

}  // namespace postrider::matrix
