// What a caller of a session is told: answers of the engine as frames. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "postrider/model/answer.h"
#include "postrider/protocols/rpc/frames.h"

namespace postrider::rpc {

inline constexpr std::uint32_t kRetryMs = 1'000;  // of busy

OutcomeFrame outcome_of(std::uint64_t number, OutcomeKind kind, std::string why);

// A submit that was not accepted.
OutcomeFrame outcome_of_refusal(std::uint64_t number, const Answer& answer);

struct EndOf {
  std::uint64_t number = 1;
  Origin origin = Origin::kFirst;
  // A call was repeated after the end, and its method may not run again.
  bool repeated = false;
};
// An await that was answered because the message has ended.
OutcomeFrame outcome_of_end(const EndOf& what, const Answer& awaited);

}  // namespace postrider::rpc
