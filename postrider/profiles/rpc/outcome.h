// Outcome of an operation as it is kept with the end of its message: what the handler answered, or
// what is told in its place. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "postrider/base/result.h"

namespace postrider::rpc {

struct SealedOutcome {
  bool failure = false;  // the application's own, or that there is no room for what it answered
  int status = 200;
  std::string content_type;
  std::string body;
  friend bool operator==(const SealedOutcome&, const SealedOutcome&) = default;
};

std::string encode_outcome(const SealedOutcome& outcome);
Result<SealedOutcome> decode_outcome(std::string_view bytes);

// What is sealed instead of an answer that is larger than a service keeps. The status of a failure
// stays.
SealedOutcome outcome_too_large(int status, std::size_t bytes_max);

}  // namespace postrider::rpc
