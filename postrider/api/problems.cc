#include "postrider/api/problems.h"

#include <array>

#include "postrider/api/json_names.h"
#include "postrider/base/check.h"
#include "postrider/base/nearest.h"

namespace postrider::api {
namespace {

constexpr std::size_t kWordShownMax = 64;
constexpr std::uint32_t kFullRetryS = 10;  // until somebody may have ended

using T = ProblemType;
// clang-format off
constexpr std::array<ProblemRow, kProblemTypes> kRows = {{
    {T::kBadRequest,           "bad-request",            400, "This is no request that we understand"},
    {T::kMalformedJson,        "malformed-json",         400, "The body is not JSON as we read it"},
    {T::kDuplicateField,       "duplicate-field",        400, "A field is given twice"},
    {T::kUnknownField,         "unknown-field",          400, "There is no such field"},
    {T::kMissingField,         "missing-field",          400, "A field is missing"},
    {T::kInvalidField,         "invalid-field",          400, "A field has a value that it cannot have"},
    {T::kInvalidContent,       "invalid-content",        400, "What is asked for makes no sense"},
    {T::kUnknownParameter,     "unknown-parameter",      400, "There is no such parameter"},
    {T::kInvalidParameter,     "invalid-parameter",      400, "A parameter has a value that it cannot have"},
    {T::kInvalidKey,           "invalid-key",            400, "This is no idempotency key"},
    {T::kUnauthorized,         "unauthorized",           401, "A token is needed"},
    {T::kForbidden,            "forbidden",              403, "The token does not allow this"},
    {T::kNotFound,             "not-found",              404, "There is nothing of this name"},
    {T::kUnknownPath,          "unknown-path",           404, "There is no such path"},
    {T::kMethodNotAllowed,     "method-not-allowed",     405, "The path has no such method"},
    {T::kNotAcceptable,        "not-acceptable",         406, "We cannot answer in this form"},
    {T::kRequestTimeOut,       "request-time-out",       408, "The request did not come in time"},
    {T::kDestinationDisabled,  "destination-disabled",   409, "The destination takes no messages"},
    {T::kDestinationNotEmpty,  "destination-not-empty",  409, "The destination still has messages"},
    {T::kAlreadyEnded,         "already-ended",          409, "The message has ended already"},
    {T::kKeyExpired,           "key-expired",            410, "The idempotency key is too old"},
    {T::kTooLarge,             "too-large",              413, "More than we take at once"},
    {T::kUnsupportedMediaType, "unsupported-media-type", 415, "We do not read this form"},
    {T::kKeyConflict,          "key-conflict",           422, "The idempotency key was used for something else"},
    {T::kTenantBusy,           "tenant-busy",            429, "Too many of your requests wait already"},
    {T::kHeadTooLarge,         "head-too-large",         431, "The head of the request is too large"},
    {T::kBusy,                 "busy",                   503, "Too many requests wait already"},
    {T::kNoSpace,              "no-space",               503, "The disk has no room for new messages"},
    {T::kRestarting,           "restarting",             503, "The store is being opened again"},
    {T::kStopping,             "stopping",               503, "The daemon is stopping"},
    {T::kInterrupted,          "interrupted",            503, "Nobody can tell yet whether it happened"},
    {T::kTooManyReaders,       "too-many-readers",       503, "Too many readers follow the events"},
    {T::kMayHaveRun,           "may-have-run",           409, "To send it again might do it twice"},
    {T::kChangedMeanwhile,     "changed-meanwhile",      409, "What the change was made from is no longer so"},
    {T::kMailboxFull,          "mailbox-full",           429, "The mailbox has no room"},
    {T::kTooManyWaiters,       "too-many-waiters",       429, "Too many callers wait already"},
    {T::kWrongHost,            "wrong-host",             421, "This is not a name of this daemon"},
    {T::kIndeterminate,        "indeterminate",          409, "Whether it was done cannot be known"},
    {T::kCancelled,            "cancelled",              409, "It was given up without an outcome"},
    {T::kUnknownMethod,        "unknown-method",         404, "The service has no such method"},
}};
// clang-format on

constexpr bool in_order() {
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    if (static_cast<std::size_t>(kRows[i].type) != i) return false;
  }
  return true;
}
static_assert(in_order());

ProblemType type_of_status(int status) {
  switch (status) {
    case 408: return T::kRequestTimeOut;
    case 413: return T::kTooLarge;
    case 431: return T::kHeadTooLarge;
    case 503: return T::kBusy;
    default: return T::kBadRequest;
  }
}

std::string or_else(const std::string& detail, std::string_view fallback) {
  return detail.empty() ? std::string(fallback) : detail;
}

}  // namespace

std::span<const ProblemRow> problem_rows() { return kRows; }

const ProblemRow& row_of(ProblemType type) { return kRows[static_cast<std::size_t>(type)]; }

Problem complaint(ProblemType type, std::string detail, std::string field) {
  Problem problem;
  problem.type = type;
  problem.detail = std::move(detail);
  problem.field = std::move(field);
  return problem;
}

tl::unexpected<Problem> refuse(ProblemType type, std::string detail, std::string field) {
  return tl::unexpected<Problem>(complaint(type, std::move(detail), std::move(field)));
}

Problem unknown_word(ProblemType type, std::string_view kind, std::string_view word,
                     std::span<const std::string_view> known) {
  Problem problem;
  problem.type = type;
  problem.field = word.substr(0, kWordShownMax);
  problem.detail = "unknown " + std::string(kind) + " '" + problem.field + "'";
  if (const auto guess = nearest(word, known)) {
    problem.suggestion = *guess;
    problem.detail.append(", did you mean '").append(*guess).append("'?");
    return problem;
  }
  problem.detail.append(known.empty() ? "; there are none here" : "; there are");
  std::string_view between = ": ";
  for (const std::string_view name : known) {
    problem.detail.append(between).append(name);
    between = ", ";
  }
  return problem;
}

void append_problem(std::string& out, const Problem& problem, int status) {
  const ProblemRow& row = row_of(problem.type);
  JsonWriter json(out);
  std::string type(kProblemPrefix);
  json.open_object().field("type", type.append(row.name)).field("title", row.title);
  json.count("status", static_cast<std::uint64_t>(status == 0 ? row.status : status));
  json.field("detail", problem.detail);
  if (!problem.field.empty()) json.field("field", problem.field);
  if (!problem.suggestion.empty()) json.field("suggestion", problem.suggestion);
  json.close_object();
}

HttpResponse problem_response(const Problem& problem) {
  HttpResponse response;
  response.status = row_of(problem.type).status;
  response.content_type = "application/problem+json";
  append_problem(response.body, problem);
  if (problem.retry_after_s != 0)
    response.headers.emplace_back("Retry-After", std::to_string(problem.retry_after_s));
  if (!problem.allow.empty()) response.headers.emplace_back("Allow", problem.allow);
  if (problem.type == T::kUnauthorized)
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"postrider\"");
  return response;
}

std::optional<Problem> problem_of(const Answer& answer) {
  Problem problem;
  problem.detail = answer.detail;
  switch (answer.code) {
    case AnswerCode::kAccepted:
    case AnswerCode::kDone:
    case AnswerCode::kNothing:
    case AnswerCode::kPending: return std::nullopt;
    case AnswerCode::kConflict:
      problem.type = T::kKeyConflict;
      // Said in our own words: nothing of what was stored may be told.
      problem.detail =
          "this Idempotency-Key was used with other content; use a new key for a new operation";
      break;
    case AnswerCode::kKeyExpired:
      problem.type = T::kKeyExpired;
      problem.detail.append(
          "; look whether the operation happened, and use a new key if it is to be done again");
      break;
    case AnswerCode::kNotFound: problem.type = T::kNotFound; break;
    case AnswerCode::kDisabled:
      problem.type = T::kDestinationDisabled;
      problem.detail.append("; resume it when it is there again, or put it again to keep it");
      break;
    case AnswerCode::kEnded: problem.type = T::kAlreadyEnded; break;
    case AnswerCode::kMayHaveRun: problem.type = T::kMayHaveRun; break;
    case AnswerCode::kNoRoom: problem.type = T::kMailboxFull; break;
    case AnswerCode::kChanged:
      problem.type = T::kChangedMeanwhile;
      problem.detail.append("; nothing was done: look at it, and ask again if it is still wanted");
      break;
    case AnswerCode::kInvalid: problem.type = T::kInvalidContent; break;
    case AnswerCode::kTooLarge: problem.type = T::kTooLarge; break;
    case AnswerCode::kNotEmpty:
      problem.type = T::kDestinationNotEmpty;
      problem.detail.append("; or ask with ?drain=true to have it removed when it is empty");
      break;
    case AnswerCode::kBusy:
      problem.type = T::kBusy;
      problem.retry_after_s = 1;
      break;
    case AnswerCode::kFull:
      problem.type = T::kBusy;
      problem.retry_after_s = kFullRetryS;
      break;
    case AnswerCode::kUnavailable:
      problem.type = T::kInterrupted;
      problem.detail =
          "we were interrupted and cannot tell whether it happened; repeat the request with the "
          "same Idempotency-Key, or ask GET /v1/operations/{key}";
      problem.retry_after_s = 1;
      break;
  }
  problem.detail = or_else(problem.detail, row_of(problem.type).title);
  return problem;
}

Problem problem_of(Door door) {
  Problem problem;
  switch (door) {
    case Door::kOpen: POSTRIDER_CHECK(false); break;
    case Door::kBusy:
      problem.type = T::kBusy;
      problem.detail = "nothing was done; repeat the request after the time in Retry-After";
      problem.retry_after_s = 1;
      break;
    case Door::kTenantBusy:
      problem.type = T::kTenantBusy;
      problem.detail = "nothing was done; wait for answers before you send more";
      problem.retry_after_s = 1;
      break;
    case Door::kNoSpace:
      problem.type = T::kNoSpace;
      problem.detail =
          "nothing was done; free disk space, and new messages are taken by themselves";
      problem.retry_after_s = 30;
      break;
    case Door::kRestarting:
      problem.type = T::kRestarting;
      problem.detail = "nothing was done; repeat the request after the time in Retry-After";
      problem.retry_after_s = 2;
      break;
    case Door::kStopping:
      problem.type = T::kStopping;
      problem.detail = "nothing was done; repeat the request when the daemon is back";
      problem.retry_after_s = 5;
      break;
  }
  return problem;
}

Problem no_room() {
  Problem problem =
      complaint(T::kBusy,
                "nothing was done: requests and answers of all clients take as much memory as they "
                "may; repeat the request after the time in Retry-After");
  problem.retry_after_s = 1;
  return problem;
}

HttpResponse refusal_response(int status, std::string_view detail) {
  Problem problem;
  problem.type = type_of_status(status);
  problem.detail = or_else(std::string(detail), row_of(problem.type).title);
  HttpResponse response;
  response.status = status;
  response.content_type = "application/problem+json";
  append_problem(response.body, problem, status);
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace postrider::api
