#include "postrider/profiles/rpc/wire.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "postrider/base/nearest.h"
#include "postrider/base/wipe.h"
#include "postrider/profiles/rpc/outcome.h"
#include "postrider/profiles/rpc/table.h"
#include "postrider/profiles/rpc/verdict.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::rpc {
namespace {

constexpr std::size_t kTextBytesMax = 255;  // of an operation id, a principal, a content type
constexpr std::size_t kReasonBytesMax = 200;
constexpr std::string_view kByDoor =
    "a service is called by POST /v1/services/{service}/{method}, not by a message";

bool is_good_text(std::string_view text) {
  return !text.empty() && text.size() <= kTextBytesMax && is_header_value(text);
}

std::string hex_of(std::uint64_t value, int digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(static_cast<std::size_t>(digits), '0');
  for (auto place = out.rbegin(); place != out.rend(); ++place, value >>= 4)
    *place = kDigits[value & 15];
  return out;
}

// Greater as a text for each later start of an operation: messages of a key follow each other by
// their sequence, and the starts of one message by engine time, which never goes back.
std::string fence_of(const Facts& facts, Timestamp started) {
  constexpr int kSequenceDigits = 16;
  constexpr int kTimeDigits = 12;
  return hex_of(facts.message.id.sequence().value(), kSequenceDigits) +
         hex_of(static_cast<std::uint64_t>(started.ms()), kTimeDigits);
}

std::string without_slash(std::string_view address) {
  while (address.ends_with('/')) address.remove_suffix(1);
  return std::string(address);
}

// As webhooks are signed, with the operation id as the id. Nothing leaves unsigned because a file
// is not there.
void sign(WireRequest& request, const CallFactsView& facts) {
  const Service& service = *facts.prepared;
  std::vector<WebhookSecret> named;
  if (!service.secret_name.empty()) {
    auto keys = parse_webhook_secrets(facts.secret(service.secret_name));
    if (!keys) {
      request.held_back = "there is no good secret '" + service.secret_name + "'";
      return;
    }
    named = std::move(*keys);
  }
  const std::vector<WebhookSecret>& keys = named.empty() ? service.keys : named;
  if (!keys.empty()) {
    const std::string timestamp = std::to_string(facts.wall.ms() / 1000);
    request.headers.add("webhook-id", facts.parsed->operation);
    request.headers.add("webhook-timestamp", timestamp);
    request.headers.add(
        "webhook-signature",
        webhook_signatures(
            keys, {.id = facts.parsed->operation, .timestamp = timestamp, .body = request.body},
            facts.wall));
  }
  for (WebhookSecret& key : named) wipe(key.key);
}

void put_operation(WireRequest& request, const CallFactsView& facts) {
  const CallText& call = *facts.parsed;
  request.headers.add("user-agent", "Postrider");
  request.headers.add("operation-id", call.operation);
  request.headers.add("operation-principal", call.principal);
  request.headers.add("operation-method", call.method);
  request.headers.add("operation-message", to_string(facts.id()));
  // One byte more than is kept, so that a larger answer is known from one that just fits.
  request.reply_bytes = facts.prepared->outcome_bytes_max + 1;
  request.once = true;
}

WireRequest encode_call(const CallFactsView& facts) {
  const Service& service = *facts.prepared;
  WireRequest request;
  request.verb = "POST";
  request.target = without_slash(service.handler) + "/" + facts.parsed->method;
  request.owner = facts.message.body_owner();
  request.body = facts.message.body;
  put_operation(request, facts);
  request.headers.add("operation-attempt", std::to_string(facts.state.attempts));
  request.headers.add("operation-fence", fence_of(facts, facts.now));
  Duration time = facts.policy.time_out(TimeOut::kAttempt);
  if (facts.parsed->time_ms != 0) time = std::min(time, Duration(facts.parsed->time_ms));
  request.headers.add("operation-deadline", to_rfc3339(facts.wall + time));
  if (!facts.parsed->content_type.empty())
    request.headers.add("content-type", facts.parsed->content_type);
  sign(request, facts);
  return request;
}

WireRequest encode_question(const CallFactsView& facts) {
  WireRequest request;
  request.verb = "GET";
  request.target = facts.prepared->recover;
  if (request.target.empty()) request.held_back = "the service has no recover address";
  put_operation(request, facts);
  // Of the start in question: a hook that says that it never happened can refuse it from then on.
  if (facts.intent != nullptr)
    request.headers.add("operation-fence", fence_of(facts, facts.intent->at));
  sign(request, facts);
  return request;
}

std::string_view reason_of(WireEnd end) {
  switch (end) {
    case WireEnd::kAnswered: return "answered";
    case WireEnd::kRefused: return "connection refused";
    case WireEnd::kNoName: return "the name does not resolve";
    case WireEnd::kNoTls: return "no trusted TLS connection";
    case WireEnd::kForbidden: return "the address is not allowed";
    case WireEnd::kNoLogin: return "no login";
    case WireEnd::kHeldBack: return "held back by our own limits";
    case WireEnd::kTimedOut: return "no answer in time";
    case WireEnd::kReset: return "cut off before the answer was whole";
  }
  return "";
}

std::string reason_of(const WireReply& reply) {
  if (reply.end == WireEnd::kHeldBack && !reply.body.empty()) return reply.body;
  if (reply.end != WireEnd::kAnswered) return std::string(reason_of(reply.end));
  std::string reason = "HTTP " + std::to_string(reply.status);
  const std::string excerpt = clean_excerpt(reply.body, kReasonBytesMax - reason.size() - 2);
  if (!excerpt.empty()) reason.append(": ").append(excerpt);
  return reason;
}

Certainty certainty_of(WireEnd end) {
  switch (end) {
    case WireEnd::kAnswered: return Certainty::kAnswered;
    case WireEnd::kTimedOut:
    case WireEnd::kReset: return Certainty::kUnknown;
    case WireEnd::kRefused:
    case WireEnd::kNoName:
    case WireEnd::kNoTls:
    case WireEnd::kForbidden:
    case WireEnd::kNoLogin:
    case WireEnd::kHeldBack: return Certainty::kNotSent;
  }
  return Certainty::kUnknown;
}

std::string content_type_of(const WireReply& reply) {
  const std::string* type = find_text(reply.headers, "content-type");
  return type != nullptr && is_good_text(*type) ? *type : std::string();
}

std::string sealed_bytes(const Service& service, const WireReply& reply, bool failure) {
  if (reply.body.size() > service.outcome_bytes_max)
    return encode_outcome(outcome_too_large(reply.status, service.outcome_bytes_max));
  return encode_outcome({failure, reply.status, content_type_of(reply), reply.body});
}

Reading read_call(const CallFactsView& facts, const WireReply& reply) {
  const Service& service = *facts.prepared;
  const HandlerReading handler = read_handler({.end = reply.end,
                                               .status = reply.status,
                                               .body_bytes = reply.body.size(),
                                               .body_bytes_max = service.outcome_bytes_max});
  Reading reading;
  reading.signal = handler.signal;
  reading.outcome = {certainty_of(reply.end), handler.failure, {}};
  const bool sealed =
      handler.verdict == HandlerVerdict::kValue || handler.verdict == HandlerVerdict::kFailure;
  if (handler.verdict != HandlerVerdict::kValue) reading.outcome.reason = reason_of(reply);
  if (sealed)
    reading.outcome_bytes =
        sealed_bytes(service, reply, handler.verdict == HandlerVerdict::kFailure);
  if (handler.failure == FailureClass::kThrottled) {
    if (const std::string* wish = find_text(reply.headers, "retry-after"))
      reading.retry_after = parse_retry_after(*wish, facts.wall);
  }
  return reading;
}

// A hook that has no answer yet is asked ever more seldom: a quarter of the time that has passed.
Duration ask_again(const CallFactsView& facts, const WireReply& reply) {
  if (const std::string* wish = find_text(reply.headers, "retry-after")) {
    if (const auto wait = parse_retry_after(*wish, facts.wall)) return *wait;
  }
  const Timestamp since = facts.state.first_attempt;
  const Duration waited = since.is_set() ? facts.now - since : Duration(0);
  return std::clamp<Duration>(waited / 4, 1s, 1min);
}

Reading read_question(const CallFactsView& facts, const WireReply& reply) {
  Reading reading;
  if (facts.prepared->recover.empty()) {
    reading.signal = On::kNoLink;
    reading.outcome = {Certainty::kUnknown, facts.state.failure,
                       "its fate is open, and the service has no recover address"};
    return reading;
  }
  const bool answered = reply.end == WireEnd::kAnswered;
  reading.signal = read_hook(answered ? reply.status : 0);
  reading.outcome = {certainty_of(reply.end), FailureClass::kNone, {}};
  if (reading.signal == On::kAnswered) {
    const bool fits = reply.body.size() <= facts.prepared->outcome_bytes_max;
    if (!fits) reading.signal = On::kRejected;
    reading.outcome_bytes = sealed_bytes(*facts.prepared, reply, !fits);
  } else if (reading.signal != On::kStaleRoute) {
    reading.outcome.failure = FailureClass::kOther;
    reading.outcome.reason = "its fate is open; the recover address: " + reason_of(reply);
    reading.retry_after = ask_again(facts, reply);
  }
  return reading;
}

// An attribute that is a number; false: it is none, or not a good one.
bool read_number(CallText& call, std::string_view name, std::string_view value) {
  if (name != kTimeAttribute && name != kExpectsAttribute) return false;
  std::uint32_t number = 0;
  const char* const end = value.data() + value.size();
  const auto read = std::from_chars(value.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return false;
  if (name == kTimeAttribute) {
    call.time_ms = number;
    return true;
  }
  if (number >= 8) return false;
  call.expects = policy_of(static_cast<std::uint8_t>(number));
  return true;
}

}  // namespace

std::optional<Service> prepare(const NamedTexts& settings) {
  auto service = parse_service(settings);
  if (!service) return std::nullopt;
  return std::move(*service);
}

Result<std::optional<CallText>> read(std::string_view /*body*/, std::string_view attributes) {
  POSTRIDER_TRY(texts, decode_texts(attributes));
  CallText call;
  for (auto& [name, value] : texts) {
    std::string* const place = name == kMethodAttribute        ? &call.method
                               : name == kOperationAttribute   ? &call.operation
                               : name == kPrincipalAttribute   ? &call.principal
                               : name == kContentTypeAttribute ? &call.content_type
                                                               : nullptr;
    if (place == nullptr && read_number(call, name, value)) continue;
    if (place == nullptr || !is_good_text(value))
      return fail(ErrorCode::kInvalid, std::string(kByDoor));
    *place = std::move(value);
  }
  if (!is_method_name(call.method) || call.operation.empty() || call.principal.empty())
    return fail(ErrorCode::kInvalid, std::string(kByDoor));
  return std::optional<CallText>(std::move(call));
}

Result<Admission> admit(const CallOffer& offer) {
  if (offer.prepared == nullptr || offer.parsed == nullptr)
    return fail(ErrorCode::kInvalid, std::string(kByDoor));
  const Declarations& methods = offer.prepared->methods;
  const auto found = methods.find(offer.parsed->method);
  if (found == methods.end()) {
    std::vector<std::string_view> names;
    for (const auto& [name, policy] : methods) names.push_back(name);
    return fail(ErrorCode::kNotFound, "service '" + std::string(offer.destination.name) +
                                          "' has no method '" + offer.parsed->method + "'" +
                                          did_you_mean(offer.parsed->method, names));
  }
  if (offer.parsed->expects && *offer.parsed->expects != found->second)
    return fail(ErrorCode::kNotFound, "method '" + offer.parsed->method +
                                          "' is declared otherwise than the caller expects");
  Admission admission;
  admission.method = static_cast<std::uint8_t>(operation::method_of(found->second));
  return admission;
}

WireRequest encode(const CallFactsView& facts, AttemptKind kind) {
  if (facts.prepared == nullptr || facts.parsed == nullptr || facts.prepared->handler.empty()) {
    WireRequest request;
    request.verb = kind == AttemptKind::kFindRoute ? "GET" : "POST";
    request.held_back = "the settings of the service cannot be read";
    return request;
  }
  return kind == AttemptKind::kFindRoute ? encode_question(facts) : encode_call(facts);
}

Reading classify(const CallFactsView& facts, AttemptKind kind, const WireReply& reply) {
  if (facts.prepared == nullptr) {
    return {.signal = On::kFailed,
            .outcome = {Certainty::kNotSent, FailureClass::kHeldBack,
                        "the settings of the service cannot be read"}};
  }
  return kind == AttemptKind::kFindRoute ? read_question(facts, reply) : read_call(facts, reply);
}

}  // namespace postrider::rpc
