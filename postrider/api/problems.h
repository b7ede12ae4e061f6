// Problems: everything that the API says no with (RFC 9457). The types are stable names that
// programs may act on; titles and details are for people. This is the one place that knows which
// answer of the engine, and which word at the door, is which problem.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

#include "postrider/model/answer.h"
#include "postrider/runtime/host.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::api {

enum class ProblemType : std::uint8_t {
  kBadRequest,
  kMalformedJson,
  kDuplicateField,
  kUnknownField,
  kMissingField,
  kInvalidField,
  kInvalidContent,
  kUnknownParameter,
  kInvalidParameter,
  kInvalidKey,
  kUnauthorized,
  kForbidden,
  kNotFound,
  kUnknownPath,
  kMethodNotAllowed,
  kNotAcceptable,
  kRequestTimeOut,
  kDestinationDisabled,
  kDestinationNotEmpty,
  kAlreadyEnded,
  kKeyExpired,
  kTooLarge,
  kUnsupportedMediaType,
  kKeyConflict,
  kTenantBusy,
  kHeadTooLarge,
  kBusy,
  kNoSpace,
  kRestarting,
  kStopping,
  kInterrupted,
  kTooManyReaders,
  kMayHaveRun,
  kChangedMeanwhile,
  kMailboxFull,
  kTooManyWaiters,
  kWrongHost,
  kIndeterminate,
  kCancelled,
  kUnknownMethod,
};
inline constexpr std::size_t kProblemTypes = 40;

struct ProblemRow {
  ProblemType type;
  std::string_view name;  // behind kProblemPrefix
  int status;
  std::string_view title;
};
inline constexpr std::string_view kProblemPrefix = "urn:postrider:problem:";
std::span<const ProblemRow> problem_rows();  // by type
const ProblemRow& row_of(ProblemType type);

struct Problem {
  ProblemType type = ProblemType::kBadRequest;
  std::string detail;      // what to do next
  std::string field;       // of the body, or the parameter; empty: none
  std::string suggestion;  // what was probably meant; empty: nobody knows
  std::uint32_t retry_after_s = 0;
  std::string allow;  // kMethodNotAllowed
};

template <class T>
using Checked = tl::expected<T, Problem>;
Problem complaint(ProblemType type, std::string detail, std::string field = {});
tl::unexpected<Problem> refuse(ProblemType type, std::string detail, std::string field = {});

// "unknown field 'bdoy'", with the nearest of those that there are.
Problem unknown_word(ProblemType type, std::string_view kind, std::string_view word,
                     std::span<const std::string_view> known);

void append_problem(std::string& out, const Problem& problem, int status = 0);
HttpResponse problem_response(const Problem& problem);

// Nothing when the answer is good news.
std::optional<Problem> problem_of(const Answer& answer);
Problem problem_of(Door door);
Problem no_room();  // the server holds as much for its clients as it may
// What the server could not make a request of.
HttpResponse refusal_response(int status, std::string_view detail);

}  // namespace postrider::api
