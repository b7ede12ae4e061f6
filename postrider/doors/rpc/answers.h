// The texts of the door: what a caller of a service says, and what it is told. Pure, but for a key
// that is minted; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postrider/api/problems.h"
#include "postrider/base/time.h"
#include "postrider/model/answer.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::rpc_door {

inline constexpr Duration kWaitUsual{60'000};
inline constexpr Duration kWaitMax{600'000};

// How long a caller waits: "Prefer: wait=N" in seconds, "respond-async" for not at all; kWaitUsual
// when it does not say. Preferences that are not known are passed over (RFC 7240).
api::Checked<Duration> wait_of(const HttpRequest& request);

// How an answer came about, for `operation-origin`.
enum class Origin : std::uint8_t { kFirst, kAttached, kReplayed };
std::string_view name_of(Origin origin);

struct Told {
  std::string_view operation;  // its id
  Origin origin = Origin::kFirst;
};
void add_operation(HttpResponse& response, const Told& told);
// Where the outcome of an operation is asked for.
std::string outcome_path(std::string_view operation);

// What became of an operation, as an answer: its sealed outcome as it is, or a problem. `repeated`:
// a call that came after the end of an operation that was given up; what it would do is not done.
HttpResponse end_response(const Answer& awaited, bool repeated);
// It has not ended yet.
HttpResponse pending_response(std::string_view operation, std::string_view id);

std::string mint_key(Timestamp wall);  // a UUID of version 7

}  // namespace postrider::rpc_door
