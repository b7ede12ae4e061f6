#include "postrider/doors/rpc/answers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include <openssl/rand.h>

#include "postrider/base/check.h"
#include "postrider/json/json_writer.h"
#include "postrider/profiles/rpc/outcome.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::rpc_door {
namespace {

using api::ProblemType;

constexpr std::string_view kPrefer = "prefer";
constexpr std::string_view kWait = "wait=";

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

HttpResponse problem(ProblemType type, std::string detail) {
  return api::problem_response(api::complaint(type, std::move(detail)));
}

HttpResponse sealed(const EndView& end) {
  auto outcome = rpc::decode_outcome(end.outcome.view());
  if (!outcome)
    return problem(ProblemType::kKeyExpired,
                   "the operation is sealed, and its outcome is kept no longer");
  HttpResponse response;
  response.status = outcome->status;
  response.content_type =
      outcome->content_type.empty() ? "application/octet-stream" : std::move(outcome->content_type);
  response.body = std::move(outcome->body);
  return response;
}

}  // namespace

api::Checked<Duration> wait_of(const HttpRequest& request) {
  Duration wait = kWaitUsual;
  for (const HttpHeader& header : request.headers) {
    if (header.first != kPrefer) continue;
    for (std::string_view rest = header.second; !rest.empty();) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string preference = to_lower(trimmed(rest.substr(0, comma)));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      if (preference == "respond-async") wait = Duration(0);
      if (!preference.starts_with(kWait)) continue;
      std::uint32_t seconds = 0;
      const char* const begin = preference.data() + kWait.size();
      const char* const end = preference.data() + preference.size();
      const auto read = std::from_chars(begin, end, seconds);
      if (read.ec != std::errc() || read.ptr != end || begin == end)
        return api::refuse(ProblemType::kInvalidParameter,
                           "Prefer: wait=N takes a whole number of seconds", "Prefer");
      wait = std::min(kWaitMax, Duration(1000 * std::int64_t{seconds}));
    }
  }
  return wait;
}

std::string_view name_of(Origin origin) {
  switch (origin) {
    case Origin::kFirst: return "first";
    case Origin::kAttached: return "attached";
    case Origin::kReplayed: return "replayed";
  }
  POSTRIDER_CHECK(false);
}

void add_operation(HttpResponse& response, const Told& told) {
  response.headers.emplace_back("operation-id", told.operation);
  response.headers.emplace_back("operation-origin", name_of(told.origin));
}

std::string outcome_path(std::string_view operation) {
  constexpr std::string_view kPlain = "-_.~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string path = "/v1/operations/";
  for (const char c : operation) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos;
    if (plain) {
      path.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    path.append("%").push_back(kDigits[byte >> 4U]);
    path.push_back(kDigits[byte & 15U]);
  }
  return path + "/outcome";
}

HttpResponse end_response(const Answer& awaited, bool repeated) {
  const auto* const end = std::get_if<EndView>(&awaited.view);
  if (awaited.code == AnswerCode::kNotFound)
    return problem(ProblemType::kKeyExpired, "how the operation ended is forgotten");
  if (end == nullptr)
    return problem(ProblemType::kNotFound, "the key is of a message, and not of a call");
  const std::string why = end->reason.empty() ? "" : ": " + end->reason;
  switch (end->phase) {
    case Phase::kDelivered: return sealed(*end);
    case Phase::kCancelled:
      if (repeated)
        return problem(ProblemType::kIndeterminate,
                       "the operation was given up, and its method must not run twice; ask the "
                       "service what became of it");
      return problem(ProblemType::kCancelled, "the operation was given up" + why);
    case Phase::kQueued:
    case Phase::kInFlight:
    case Phase::kAwaiting:
    case Phase::kBackoff:
    case Phase::kParked:
    case Phase::kDead:
    case Phase::kExpired:
    case Phase::kIndeterminate: break;
  }
  return problem(ProblemType::kIndeterminate,
                 "the operation may have run, and may not; ask the service" + why);
}

HttpResponse pending_response(std::string_view operation, std::string_view id) {
  HttpResponse response;
  response.status = 202;
  response.headers.emplace_back("Location", outcome_path(operation));
  json::JsonWriter(response.body)
      .open_object()
      .field("operation", operation)
      .field("id", id)
      .close_object();
  return response;
}

std::string mint_key(Timestamp wall) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<std::uint8_t, 16> bytes{};
  POSTRIDER_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  auto time = static_cast<std::uint64_t>(wall.ms());
  for (std::size_t i = 6; i > 0; --i, time >>= 8U) bytes[i - 1] = static_cast<std::uint8_t>(time);
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x70U);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    text.push_back(kDigits[bytes[i] >> 4U]);
    text.push_back(kDigits[bytes[i] & 15U]);
  }
  return text;
}

}  // namespace postrider::rpc_door
