// Outcome: what an attempt came to. Plain data; a delivery that did not work is not an error of
// ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace postrider {

// How sure we are that the destination saw the message.
enum class Certainty : std::uint8_t { kNotSent, kUnknown, kAnswered };

enum class FailureClass : std::uint8_t {
  kNone,       // no failure
  kConnect,    // refused, no such name, no TLS: nothing was sent
  kTimeout,    // no answer in time
  kServer,     // the far side failed (5xx)
  kThrottled,  // asked to come back later (429, 503)
  kRejected,   // refused for good
  kGone,       // the destination says that it exists no more
  kOther,
  kExpired,   // no failure of an attempt: its time was over; the cause of an end only
  kHeldBack,  // our own limits: nothing was sent, and the far side has no part in it
};
inline constexpr std::size_t kFailureClasses = 10;

struct Outcome {
  Certainty certainty = Certainty::kNotSent;
  FailureClass failure = FailureClass::kNone;
  std::string reason;  // for humans: "HTTP 503", "connection refused"
};

std::string_view name_of(Certainty certainty);
std::string_view name_of(FailureClass failure);

}  // namespace postrider
