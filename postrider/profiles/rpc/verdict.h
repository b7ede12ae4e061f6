// What the answer of a handler or of a hook means: the tables of docs/spec/rpc.md as functions.
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "postrider/model/lifecycle.h"
#include "postrider/model/outcome.h"
#include "postrider/model/seams/transport.h"

namespace postrider::rpc {

enum class HandlerVerdict : std::uint8_t {
  kValue,        // sealed
  kFailure,      // sealed, too: the application's own
  kDidNotBegin,  // may be started again, whatever the policy
  kOpen,         // it may have run
};
std::string_view name_of(HandlerVerdict verdict);

struct HandlerFacts {
  WireEnd end = WireEnd::kAnswered;
  int status = 0;
  std::size_t body_bytes = 0;
  std::size_t body_bytes_max = SIZE_MAX;  // `outcome_bytes_max` of the service
};

struct HandlerReading {
  HandlerVerdict verdict = HandlerVerdict::kOpen;
  On signal = On::kTimedOut;
  FailureClass failure = FailureClass::kNone;
};

HandlerReading read_handler(const HandlerFacts& facts);
// Of an exchange with the hook of a service; `status` 0: it was not answered.
On read_hook(int status);

}  // namespace postrider::rpc
