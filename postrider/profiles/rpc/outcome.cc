#include "postrider/profiles/rpc/outcome.h"

#include <cstdint>

#include "postrider/base/codec.h"

namespace postrider::rpc {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr int kStatusLow = 200;
constexpr int kStatusHigh = 599;

}  // namespace

std::string encode_outcome(const SealedOutcome& outcome) {
  std::string out;
  Writer(out)
      .u8(kVersion)
      .u8(outcome.failure ? 1 : 0)
      .u16(static_cast<std::uint16_t>(outcome.status))
      .text(outcome.content_type)
      .raw(outcome.body);
  return out;
}

Result<SealedOutcome> decode_outcome(std::string_view bytes) {
  Reader reader(bytes);
  SealedOutcome outcome;
  const std::uint8_t version = reader.u8();
  const std::uint8_t failure = reader.u8();
  outcome.status = reader.u16();
  outcome.content_type = reader.text();
  if (!reader.ok() || version != kVersion || failure > 1 || outcome.status < kStatusLow ||
      outcome.status > kStatusHigh)
    return fail(ErrorCode::kCorrupt, "stored outcome");
  outcome.failure = failure == 1;
  outcome.body = reader.rest();
  return outcome;
}

SealedOutcome outcome_too_large(int status, std::size_t bytes_max) {
  constexpr int kBadGateway = 502;
  SealedOutcome outcome;
  outcome.failure = true;
  outcome.status = status >= 400 ? status : kBadGateway;
  outcome.content_type = "application/problem+json";
  const std::string status_text = std::to_string(outcome.status);
  outcome.body =
      "{\"type\":\"urn:postrider:problem:outcome-too-large\",\"title\":\"The handler answered more "
      "than the service keeps\",\"status\":" +
      status_text + ",\"detail\":\"it has run, and its answer has more than " +
      std::to_string(bytes_max) + " bytes (outcome_bytes_max)\"}";
  return outcome;
}

}  // namespace postrider::rpc
