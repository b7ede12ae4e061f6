#include "postrider/profiles/rpc/settings.h"

#include <string_view>
#include <utility>

#include "postrider/model/secrets.h"
#include "postrider/model/setting_table.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::rpc {
namespace {

constexpr std::size_t kUrlBytesMax = 2048;

struct Draft {
  Service service;
  bool has_handler = false;
};

Result<void> check_url(std::string_view value) {
  if (value.size() > kUrlBytesMax) return fail(ErrorCode::kInvalid, "the address is too long");
  return check_http_url(value);
}

Result<void> set_handler(Draft& draft, std::string_view value) {
  draft.has_handler = true;
  if (value == kInProcess) return {};
  draft.service.handler = value;
  if (value.find_first_of("?#") != std::string_view::npos)
    return settings::wrong(value, "has a query, and the name of the method goes behind its path");
  return check_url(value);
}

Result<void> set_recover(Draft& draft, std::string_view value) {
  draft.service.recover = value;
  return check_url(value);
}

Result<void> set_secret(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(keys, parse_webhook_secrets(value));
  draft.service.keys = std::move(keys);
  return {};
}

Result<void> set_secret_name(Draft& draft, std::string_view value) {
  if (!is_secrets_name(value)) return settings::wrong(value, "is not the name of a secret");
  draft.service.secret_name = value;
  return {};
}

// All of them are read together, when the others are known to be good.
Result<void> set_method(Draft& /*draft*/, std::string_view /*value*/) { return {}; }

Result<void> set_time_out(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(duration, settings::duration_of(value, {100ms, 1h}));
  draft.service.policy.time_outs[static_cast<std::size_t>(TimeOut::kAttempt)] = duration;
  return {};
}

Result<void> set_in_flight_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(number, settings::number_of(value, 1, 1024));
  draft.service.policy.route.in_use_max = number;
  return {};
}

Result<void> set_grace(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(duration, settings::duration_of(value, {100ms, 1h, true}));
  draft.service.grace = duration;
  return {};
}

Result<void> set_outcome_bytes_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(number, settings::number_of(value, 1024, 480 * 1024));
  draft.service.outcome_bytes_max = number;
  return {};
}

// clang-format off
constexpr auto kServiceSettings = std::to_array<settings::Setting<Draft>>({
    {{"handler", "", "https://bank.example/rpc", "an address by http or https, or in-process", "what runs the methods; the name of the method is added to the address"}, set_handler},
    {{"method.*", "", "persist, idem", "volatile or persist, then idem, then channels", "a method and what may be done with its operations"}, set_method},
    {{"recover", "", "", "an address by http or https", "is asked how an operation ended whose fate is open"}, set_recover},
    {{"time_out", "30s", "", "100ms to 1h", "how long a handler may take"}, set_time_out},
    {{"in_flight_max", "64", "", "1 to 1024", "handlers of the service that run at once"}, set_in_flight_max},
    {{"grace", "30s", "", "100ms to 1h, or 0", "so long a volatile operation goes on when its callers are gone"}, set_grace},
    {{"secret", "", "", "up to 4 secrets separated by spaces, each whsec_ and base64 of 24 to 64 bytes, an old one with @ and the time of its end behind it", "signs calls and questions as webhooks are signed; the newest first"}, set_secret},
    {{"secret_name", "", "", "1 to 64 letters, digits, dots, hyphens and underscores: a name in [secrets] of the daemon's file of settings", "signs with what the file of that name holds; instead of secret, so that no record holds it"}, set_secret_name},
    {{"outcome_bytes_max", "262144", "", "1024 to 491520", "the largest outcome that is kept; a larger one is sealed as a failure"}, set_outcome_bytes_max},
});
// clang-format on
static_assert(kServiceSettings.size() == kSettingCount);

std::string_view service_row_name(std::string_view name) {
  return name.starts_with(kMethodSetting) ? "method.*" : name;
}

RetryRule rule_of(Duration cap, Duration budget) {
  return {.curve = Curve::kExponential,
          .base = 1s,
          .cap = cap,
          .jitter = Jitter::kAround,
          .jitter_percent = 20,
          .budget = budget};
}

// What did not begin waits without an end: a persist operation is not given up, and a volatile one
// ends with the interest of its callers. An open fate has a day. An answer is no strike, whatever it
// says: the handler is there, and what it makes of one operation must not keep the others waiting.
Policy service_policy() {
  Policy policy;
  policy.retry.fill(rule_of(1min, 24h));
  const auto rule = [&policy](FailureClass failure) -> RetryRule& {
    return policy.retry[static_cast<std::size_t>(failure)];
  };
  rule(FailureClass::kTimeout).strikes = true;
  rule(FailureClass::kConnect) = rule_of(30s, Duration(0));
  rule(FailureClass::kConnect).strikes = true;
  rule(FailureClass::kThrottled) = rule_of(30s, Duration(0));
  rule(FailureClass::kThrottled).retry_after_max = 1h;
  rule(FailureClass::kThrottled).holds_route = true;
  // Of answers of a hook: the next question may be asked later than the rule says.
  rule(FailureClass::kOther).retry_after_max = 1h;
  rule(FailureClass::kHeldBack) = {.base = 2s, .jitter = Jitter::kAround, .jitter_percent = 50};
  policy.time_outs[static_cast<std::size_t>(TimeOut::kAttempt)] = 30s;
  policy.time_outs[static_cast<std::size_t>(TimeOut::kProbe)] = 10s;
  policy.route.in_use_max = 64;
  policy.health = {.strikes_max = 5, .wait_base = 1s, .wait_max = 30s, .contact_clears = true};
  return policy;
}

}  // namespace

constinit const std::array<SettingRow, kSettingCount> kSettingRows =
    settings::rows_of(kServiceSettings);

Result<Service> parse_service(const NamedTexts& settings) {
  Draft draft;
  draft.service.policy = service_policy();
  if (const Result<void> good =
          settings::apply_all(draft, settings, kServiceSettings, kSettingRows, service_row_name);
      !good)
    return tl::unexpected<Error>(good.error());
  if (!draft.has_handler)
    return fail(ErrorCode::kInvalid, "handler is missing: a service needs one");
  if (!draft.service.keys.empty() && !draft.service.secret_name.empty())
    return fail(ErrorCode::kInvalid, "say secret or secret_name, not both");
  POSTRIDER_TRY(methods, parse_declarations(settings));
  if (!draft.service.handler.empty()) {
    for (const auto& [name, policy] : methods) {
      if (policy.channels)
        return fail(ErrorCode::kInvalid,
                    "method." + name + ": channels need a handler in the process");
    }
  }
  draft.service.methods = std::move(methods);
  return std::move(draft.service);
}

Result<Policy> configure(const NamedTexts& settings) {
  POSTRIDER_TRY(service, parse_service(settings));
  if (service.handler.empty())
    return fail(ErrorCode::kInvalid,
                "handler: handlers in the process are not there yet; give an address");
  return service.policy;
}

}  // namespace postrider::rpc
