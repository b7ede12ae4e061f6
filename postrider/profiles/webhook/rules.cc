#include "postrider/profiles/webhook/rules.h"

#include <algorithm>
#include <array>
#include <string>

#include "postrider/protocols/web/http_text.h"

namespace postrider::webhook {
namespace {

constexpr Policy make_default_policy() {
  Policy policy;
  for (RetryRule& rule : policy.retry) {
    rule.curve = Curve::kList;
    rule.steps = {5s, 30s, 2min, 10min, 30min, 1h, 3h, 6h, 12h};
    rule.steps_used = 9;
    rule.jitter = Jitter::kAround;
    rule.jitter_percent = 20;
    rule.budget = 72h;
  }
  for (const FailureClass failure :
       {FailureClass::kConnect, FailureClass::kTimeout, FailureClass::kServer}) {
    policy.retry[static_cast<std::size_t>(failure)].strikes = true;
  }
  // 503 is of the class server: it strikes like any 5xx, and may say when to come back like a 429.
  for (const FailureClass failure : {FailureClass::kServer, FailureClass::kThrottled}) {
    policy.retry[static_cast<std::size_t>(failure)].retry_after_max = 1h;
    policy.retry[static_cast<std::size_t>(failure)].holds_route = true;
  }
  RetryRule& held_back = policy.retry[static_cast<std::size_t>(FailureClass::kHeldBack)];
  held_back.steps = {2s};
  held_back.steps_used = 1;
  held_back.jitter_percent = 50;
  policy.time_outs[static_cast<std::size_t>(TimeOut::kAttempt)] = 15s;
  policy.route.in_use_max = 8;
  policy.adapts = true;
  policy.health = {.strikes_max = 5, .wait_base = 5s, .wait_max = 15min, .disable_after = 120h};
  policy.refuse_when_disabled = true;
  return policy;
}
constexpr Policy kDefaultPolicy = make_default_policy();

}  // namespace

Policy default_policy() { return kDefaultPolicy; }

bool is_framing_header(std::string_view name) {
  constexpr auto kFraming = std::to_array<std::string_view>(
      {"connection", "content-length", "content-type", "expect", "host", "keep-alive",
       "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"});
  return std::find(kFraming.begin(), kFraming.end(), name) != kFraming.end();
}

bool is_reserved_header(std::string_view name, std::string_view prefix) {
  if (is_framing_header(name)) return true;
  const std::string lower_prefix = to_lower(prefix);
  if (!name.starts_with(lower_prefix)) return false;
  const std::string_view rest = name.substr(lower_prefix.size());
  return rest == "id" || rest == "timestamp" || rest == "signature";
}

Result<void> check_header(std::string_view name, std::string_view value, std::string_view prefix) {
  const auto bad = [](std::string_view what) {
    return fail(ErrorCode::kInvalid, std::string(what));
  };
  if (!is_header_name(name) || name.size() > kHeaderNameBytesMax)
    return bad("it is not the name of a header");
  if (is_reserved_header(to_lower(name), prefix)) return bad("this header cannot be set");
  if (value.size() > kHeaderValueBytesMax) return bad("the value has more than 1024 bytes");
  if (!is_header_value(value)) return bad("the value must be printable ASCII without line breaks");
  return {};
}

}  // namespace postrider::webhook
