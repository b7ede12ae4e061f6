// What a call meets: the table of docs/spec/rpc.md as a function. Checks come in this order:
// expiry, content, state; principals are kept apart before, by the scope of the key. Pure; any
// thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "postrider/protocols/rpc/method_policy.h"

namespace postrider::rpc {

enum class RecordState : std::uint8_t { kAbsent, kLive, kSealed, kReleased, kIndeterminate };

struct CallFacts {
  bool expired = false;  // the id is recognisably too old
  RecordState record = RecordState::kAbsent;
  MethodPolicy policy;       // of the record, as it was admitted; of the declaration when absent
  bool same_content = true;  // method and argument bytes; of no account when absent
  bool same_epoch = true;    // first sent in this life of the server
};

enum class CallVerdict : std::uint8_t {
  kRuns,  // admitted, or admitted again
  kAttached,
  kReplayed,
  kIndeterminate,
  kConflict,
  kExpired,
};
std::string_view name_of(CallVerdict verdict);

CallVerdict judge_call(const CallFacts& facts);

}  // namespace postrider::rpc
