// ProfileSpec: a protocol as data plus a handful of pure functions. No I/O, no clock, no storage:
// what a profile needs beyond this is missing from the core, and belongs there.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/destination.h"
#include "postrider/model/lifecycle.h"
#include "postrider/model/message.h"
#include "postrider/model/outcome.h"
#include "postrider/model/policy.h"
#include "postrider/model/transport.h"

namespace postrider {

enum class AttemptKind : std::uint8_t { kSend, kProbe, kFindRoute };

// What a profile function may look at. Read-only, and complete: there is nothing else to ask.
struct Facts {
  const Message& message;
  const State& state;
  const DestinationConfig& destination;
  const Policy& policy;
  Timestamp now;
  Timestamp wall;  // for stamps on the wire only
};

struct Offer {  // a message that asks to be accepted
  const DestinationConfig& destination;
  const Policy& policy;
  std::uint8_t lane;
  std::string_view attributes;
  std::string_view body;
};

struct Gate {
  GateName name = 0;
  GateLimits limits;
};

struct Admission {
  std::uint8_t method = 0;
  std::array<Gate, kGatesMax> gates{};
};

// What an answer means.
struct Reading {
  On signal = On::kFailed;
  Outcome outcome;
  std::optional<Duration> retry_after;
};

// What a destination of this profile can be told, for people: `profile show`, suggestions and
// documents.
struct SettingRow {
  std::string_view name;  // ends with '*' when any name may follow
  std::string_view
      fallback;  // what holds when it is not given, as it would be written; empty: nothing
  std::string_view example;  // a good value of a setting that must be given; empty: it need not
  std::string_view may_be;
  std::string_view meaning;
};

struct ProfileSpec {
  std::string_view name;
  std::span<const StateRow> states;
  std::span<const Method> methods;
  // Settings to numbers; the error says which setting is wrong and what it may be.
  Result<Policy> (*configure)(const NamedTexts& settings);
  Result<Admission> (*admit)(const Offer& offer);
  On (*judge)(const Facts& facts);  // when its turn has come: normally due
  WireRequest (*encode)(const Facts& facts, AttemptKind kind);
  Reading (*classify)(const Facts& facts, AttemptKind kind, const WireReply& reply);
  // The limits of a shared gate, asked again after a restart. Null when the profile has no shared
  // gates.
  GateLimits (*gate_limits)(GateName name, const Policy& policy) = nullptr;
  std::span<const SettingRow> settings = {};
};

inline On judge_due(const Facts& /*facts*/) { return On::kDue; }
inline Result<Admission> admit_first_method(const Offer& /*offer*/) { return Admission{}; }

}  // namespace postrider
