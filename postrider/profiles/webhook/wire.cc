#include "postrider/profiles/webhook/wire.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"
#include "postrider/base/nearest.h"
#include "postrider/base/wipe.h"
#include "postrider/profiles/webhook/batch.h"
#include "postrider/profiles/webhook/rules.h"
#include "postrider/profiles/webhook/table.h"
#include "postrider/protocols/web/body_signature.h"
#include "postrider/protocols/web/http_text.h"
#include "postrider/protocols/web/standard_webhooks.h"

namespace postrider::webhook {
namespace {

constexpr std::string_view kUserAgent = "Postrider";
constexpr std::size_t kHeaderBytesUsual = 256;  // one allocation for what most requests carry
constexpr std::string_view kHeaderSetting = "headers.";
constexpr auto kAttributes = std::to_array<std::string_view>(
    {"content-type", "traceparent", "tracestate", "header.*", "ce-*", "event-id", "order-key"});

// Headers that we set ourselves, and nobody else. Names in lower case; an empty one is none.
struct OwnHeaders {
  std::string_view prefix;
  std::string id;
  std::string signature;

  bool has(std::string_view name) const {
    return name == id || name == signature || is_reserved_header(name, prefix);
  }
};

OwnHeaders own_headers(const DestinationFacts& destination) {
  OwnHeaders own;
  own.prefix = setting(destination, "header_prefix", kHeaderPrefix);
  own.id = to_lower(setting(destination, "id_header", ""));
  if (setting(destination, "signature", "standard") == kBodySignature)
    own.signature = to_lower(setting(destination, "signature_header", kBodySignatureHeader));
  return own;
}

// Settings may have changed since a message was admitted, so what must not be set is left out here
// once more.
void put_custom(NamedTexts& headers, std::string_view name, std::string_view value,
                const OwnHeaders& own) {
  std::string lower = to_lower(name);
  if (own.has(lower)) return;
  const auto same = std::find_if(headers.begin(), headers.end(),
                                 [&](const NamedText& header) { return header.first == lower; });
  if (same != headers.end()) {
    same->second = value;
  } else {
    headers.emplace_back(std::move(lower), value);
  }
}

// The destination's headers and the message's, which win. Most messages have neither, so the list
// costs nothing.
NamedTexts custom_headers(const DestinationFacts& destination, const NamedTexts& attributes,
                          const OwnHeaders& own) {
  NamedTexts out;
  for (const auto& [name, value] : destination.settings) {
    if (name.starts_with(kHeaderSetting))
      put_custom(out, std::string_view(name).substr(kHeaderSetting.size()), value, own);
  }
  for (const auto& [name, value] : attributes) {
    if (name == kContentTypeAttribute || name == kEventId || name == kOrderKey) continue;
    const bool own_header = name.starts_with(kHeaderAttribute);
    put_custom(out, own_header ? std::string_view(name).substr(kHeaderAttribute.size()) : name,
               value, own);
  }
  return out;
}

// What a destination is signed with: its own secret, or what a key file holds. Nothing must leave
// unsigned because a file is not there, so the request is held back then.
struct Signer {
  std::string_view text;
  std::string missing;  // why there is none, though there should be

  // By the standard; wiped when the request is signed.
  struct Keys {
    Keys() = default;
    ~Keys() {
      for (WebhookSecret& secret : all) wipe(secret.key);
    }
    Keys(const Keys&) = delete;
    Keys& operator=(const Keys&) = delete;
    std::vector<WebhookSecret> all;
  };
  bool read(Keys& keys) {
    auto parsed = parse_webhook_secrets(text);
    if (!parsed) missing = "what the secret's file holds cannot sign: " + parsed.error().detail;
    if (parsed) keys.all = std::move(*parsed);
    return parsed.has_value();
  }
};

Signer signer_by_name(const Facts& facts, std::string_view name) {
  Signer signer{facts.secret(name), {}};
  if (signer.text.empty()) signer.missing = "there is no secret '" + std::string(name) + "'";
  return signer;
}

Signer signer_of(const Facts& facts) {
  const std::string_view name = setting(facts.destination, "secret_name", "");
  if (name.empty()) return {setting(facts.destination, "secret", ""), {}};
  return signer_by_name(facts, name);
}

// What a consumer of the standard expects. One that knows another signature gets that one instead,
// and nothing besides. The body of the request is there already.
void put_signature(WireRequest& request, const Facts& facts, const OwnHeaders& own,
                   const std::string& id) {
  const DestinationFacts& destination = facts.destination;
  HeaderLines& headers = request.headers;
  Signer signer = signer_of(facts);
  if (!own.signature.empty()) {
    request.held_back = std::move(signer.missing);
    return headers.add(own.signature, body_signature(signer.text, request.body));
  }
  const std::string timestamp = std::to_string(facts.wall.ms() / 1000);
  std::string name = to_lower(own.prefix);
  const std::size_t prefix_size = name.size();
  const auto put = [&](std::string_view word, std::string_view value) {
    name.resize(prefix_size);
    headers.add(name.append(word), value);
  };
  Signer::Keys keys;
  if (setting(destination, "signature", "standard") == "standard") {
    if (!signer.text.empty() && signer.read(keys)) {
      put("signature",
          webhook_signatures(keys.all, {.id = id, .timestamp = timestamp, .body = request.body},
                             facts.wall));
    }
    request.held_back = std::move(signer.missing);
  }
  put("id", id);
  put("timestamp", timestamp);
}

// CloudEvents in binary mode: the event's own attributes are headers already; what is required and
// missing is filled in.
void put_event(HeaderLines& headers, const Facts& facts, const NamedTexts& custom) {
  const DestinationFacts& destination = facts.destination;
  const auto put = [&](std::string_view name, std::string_view value) {
    if (find_text(custom, name) == nullptr) headers.add(name, value);
  };
  put("ce-specversion", "1.0");
  put("ce-id", to_string(facts.id()));
  put("ce-source", setting(destination, "event_source", "postrider"));
  put("ce-type", setting(destination, "event_type", "message"));
  put("ce-time", to_rfc3339(accepted_at(facts)));
}

WireRequest encode_plain(const Facts& facts, const Prepared& prepared) {
  WireRequest request;
  request.verb = "POST";
  request.target = prepared.url;
  request.owner = facts.message.body_owner();
  request.body = facts.message.body;
  request.time_out = facts.policy.time_out(TimeOut::kAttempt);
  request.trust = prepared.trust;
  request.headers.reserve(kHeaderBytesUsual);
  request.headers.add_lines(prepared.head.text());
  const std::string id = to_string(facts.id());
  const std::string timestamp = std::to_string(facts.wall.ms() / 1000);
  Signer::Keys named;
  if (!prepared.secret_name.empty()) {
    Signer signer = signer_by_name(facts, prepared.secret_name);
    if (signer.missing.empty()) signer.read(named);
    request.held_back = std::move(signer.missing);
  }
  const std::vector<WebhookSecret>& keys = named.all.empty() ? prepared.keys : named.all;
  if (!keys.empty()) {
    request.headers.add(
        prepared.prefix, "signature",
        webhook_signatures(keys, {.id = id, .timestamp = timestamp, .body = facts.message.body},
                           facts.wall));
  }
  request.headers.add(prepared.prefix, "id", id);
  request.headers.add(prepared.prefix, "timestamp", timestamp);
  return request;
}

// One request for all members. Headers of a message are those of the request only when it is alone
// in it.
WireRequest encode_batch(const Facts& facts) {
  const DestinationFacts& destination = facts.destination;
  const OwnHeaders own = own_headers(destination);
  const BatchFormat format = batch_format(destination);
  WireRequest request;
  request.verb = "POST";
  request.target = setting(destination, "url", "");
  request.time_out = facts.policy.time_out(TimeOut::kAttempt);
  request.trust = setting(destination, "trust", "");
  request.owner = Blob::copy_of(batch_body(facts, format));
  request.body = request.owner.view();
  NamedTexts headers_of_leader;
  if (facts.parsed != nullptr && facts.batch->followers.empty()) {
    for (const NamedText& attribute : *facts.parsed) {
      if (attribute.first.starts_with(kHeaderAttribute)) headers_of_leader.push_back(attribute);
    }
  }
  const NamedTexts custom = custom_headers(destination, headers_of_leader, own);
  request.headers.reserve(kHeaderBytesUsual);
  if (find_text(custom, "user-agent") == nullptr) request.headers.add("user-agent", kUserAgent);
  for (const auto& [name, value] : custom) request.headers.add(name, value);
  request.headers.add("content-type", content_type_of(format));
  const std::string id = batch_id(facts);
  if (!own.id.empty()) request.headers.add(own.id, id);
  put_signature(request, facts, own, id);
  return request;
}

struct Meaning {
  On signal;
  FailureClass failure;
  bool may_wish = false;  // its Retry-After is honoured
};

Meaning meaning_of(int status, std::string_view reject) {
  if (status >= 200 && status <= 299) return {On::kAnswered, FailureClass::kNone};
  const bool strict = reject == "strict" && (status == 410 || status == 425);
  if (strict) return {On::kRejected, FailureClass::kRejected};
  switch (status) {
    // The far side did not get our request in time: to us that is a time-out, told by the other
    // side.
    case 408: return {On::kFailed, FailureClass::kTimeout};
    case 410: return {On::kNoRoute, FailureClass::kGone};
    case 425: return {On::kFailed, FailureClass::kOther};
    case 429: return {On::kFailed, FailureClass::kThrottled, true};
    case 503: return {On::kFailed, FailureClass::kServer, true};
    default: break;
  }
  if (status >= 500 && status <= 599) return {On::kFailed, FailureClass::kServer};
  if (status >= 400 && status <= 499) {
    return {reject == "retry" ? On::kFailed : On::kRejected, FailureClass::kRejected};
  }
  // Redirects are never followed, but they are tried again: an endpoint under maintenance often
  // redirects for a while.
  return {On::kFailed, FailureClass::kOther};
}

std::string reason_of(const WireReply& reply, bool with_excerpt) {
  std::string reason = "HTTP " + std::to_string(reply.status);
  if (!with_excerpt) return reason;
  const std::string excerpt = clean_excerpt(reply.body, kReasonBytesMax - reason.size() - 2);
  if (!excerpt.empty()) reason.append(": ").append(excerpt);
  return reason;
}

Reading read_status(const Facts& facts, const WireReply& reply) {
  const Meaning meaning = meaning_of(reply.status, setting(facts.destination, "reject", "dead"));
  Reading reading;
  reading.signal = meaning.signal;
  reading.outcome.certainty = Certainty::kAnswered;
  reading.outcome.failure = meaning.failure;
  reading.outcome.reason = reason_of(reply, meaning.signal != On::kAnswered);
  if (!meaning.may_wish) return reading;
  if (const std::string* wish = find_text(reply.headers, "retry-after")) {
    reading.retry_after = parse_retry_after(*wish, facts.wall);
  }
  return reading;
}

Reading failed(Certainty certainty, FailureClass failure, std::string_view reason) {
  return {.signal = On::kFailed,
          .outcome = {.certainty = certainty, .failure = failure, .reason = std::string(reason)},
          .retry_after = std::nullopt};
}

// The gate of an order: one message of a destination's lane and key at a time. Two keys that hash
// alike only wait for each other without need. Names of gates are odd.
constexpr GateLimits kOrderLimits{.in_use_max = 1};

GateName order_gate(std::string_view destination, std::uint8_t lane, std::string_view key) {
  return hash64(key, hash64(destination, lane)) | 1;
}

Result<void> check_attribute(std::string_view name, std::string_view value, const OwnHeaders& own) {
  if (name == kContentTypeAttribute) {
    if (!value.empty() && value.size() <= kHeaderValueBytesMax && is_header_value(value)) return {};
    return fail(ErrorCode::kInvalid, "the value must be a media type");
  }
  if (name == kEventId || name == kOrderKey) {
    if (!value.empty() && value.size() <= kKeyBytesMax && is_header_value(value)) return {};
    return fail(ErrorCode::kInvalid, "the value must be 1 to 128 bytes of printable ASCII");
  }
  const bool own_header = name.starts_with(kHeaderAttribute);
  const std::string_view header = own_header ? name.substr(kHeaderAttribute.size()) : name;
  if (own.has(to_lower(header))) return fail(ErrorCode::kInvalid, "this header cannot be set");
  return check_header(header, value, own.prefix);
}

}  // namespace

Result<std::optional<NamedTexts>> read(std::string_view /*body*/, std::string_view attributes) {
  if (attributes.empty()) return std::optional<NamedTexts>();
  POSTRIDER_TRY(texts, decode_texts(attributes));
  return std::optional<NamedTexts>(std::move(texts));
}

Result<Admission> admit(const Offer& offer) {
  Admission admission;
  admission.method = offer.policy.members_max > 0 ? kBatchMethod : kPostMethod;
  if (offer.parsed == nullptr) return admission;
  const NamedTexts& attributes = *offer.parsed;
  const OwnHeaders own = own_headers(offer.destination);
  std::size_t headers = 0;
  for (const auto& [name, value] : attributes) {
    const bool own_header = name.starts_with(kHeaderAttribute) || name.starts_with(kEventAttribute);
    if (!own_header &&
        std::find(kAttributes.begin(), kAttributes.end(), name) == kAttributes.end()) {
      return fail(ErrorCode::kInvalid,
                  "unknown attribute '" + name + "'" + did_you_mean(name, kAttributes));
    }
    if (own_header && ++headers > kCustomHeadersMax) {
      return fail(ErrorCode::kLimit, "a message may have 32 headers of its own at most");
    }
    const Result<void> good = check_attribute(name, value, own);
    if (!good) return fail(ErrorCode::kInvalid, name + ": " + good.error().detail);
  }
  const std::string* key = find_text(attributes, kOrderKey);
  const bool fifo = offer.policy.lane_kind(offer.lane) == LaneKind::kFifo;
  if (key != nullptr && !fifo) {
    admission.gates[0] = {.name = order_gate(offer.destination.name, offer.lane, *key),
                          .limits = kOrderLimits,
                          .lasting = true,
                          .ordered = true};
  }
  return admission;
}

GateLimits gate_limits(GateName /*name*/, const Policy& /*policy*/) { return kOrderLimits; }

std::optional<Prepared> prepare(const NamedTexts& settings) {
  const DestinationFacts destination({}, settings);
  const OwnHeaders own = own_headers(destination);
  if (!own.id.empty() || !own.signature.empty() ||
      setting(destination, "format", "plain") != "plain")
    return std::nullopt;
  std::optional<Prepared> out(std::in_place);
  const NamedTexts custom = custom_headers(destination, {}, own);
  if (find_text(custom, "user-agent") == nullptr) out->head.add("user-agent", kUserAgent);
  for (const auto& [name, value] : custom) out->head.add(name, value);
  out->head.add("content-type", setting(destination, "content_type", kContentType));
  out->prefix = to_lower(own.prefix);
  const std::string_view secret = setting(destination, "secret", "");
  const bool standard = setting(destination, "signature", "standard") == "standard";
  if (standard) out->secret_name = setting(destination, "secret_name", "");
  if (!secret.empty() && standard) {
    auto keys = parse_webhook_secrets(secret);
    POSTRIDER_CHECK(keys.has_value());  // configure has accepted them; a request must never leave
                                        // unsigned by accident
    out->keys = std::move(*keys);
  }
  out->url = setting(destination, "url", "");
  out->trust = setting(destination, "trust", "");
  return out;
}

WireRequest encode(const Facts& facts, AttemptKind /*kind*/) {
  if (facts.batch != nullptr) return encode_batch(facts);
  if (facts.prepared != nullptr && facts.parsed == nullptr)
    return encode_plain(facts, *facts.prepared);
  const DestinationFacts& destination = facts.destination;
  const OwnHeaders own = own_headers(destination);
  WireRequest request;
  request.verb = "POST";
  request.target = setting(destination, "url", "");
  request.owner = facts.message.body_owner();
  request.body = facts.message.body;
  request.time_out = facts.policy.time_out(TimeOut::kAttempt);
  const NamedTexts none;
  const NamedTexts& attributes = facts.parsed == nullptr ? none : *facts.parsed;
  const NamedTexts custom = custom_headers(destination, attributes, own);
  request.headers.reserve(kHeaderBytesUsual);
  if (find_text(custom, "user-agent") == nullptr) request.headers.add("user-agent", kUserAgent);
  for (const auto& [name, value] : custom) request.headers.add(name, value);
  request.headers.add("content-type", content_type_of(facts));
  if (setting(destination, "format", "plain") == "cloudevents")
    put_event(request.headers, facts, custom);
  if (!own.id.empty()) {
    const std::string* event = find_text(attributes, kEventId);
    request.headers.add(own.id, event != nullptr ? *event : to_string(facts.id()));
  }
  put_signature(request, facts, own, to_string(facts.id()));
  request.trust = setting(destination, "trust", "");
  return request;
}

namespace {

Reading classify_one(const Facts& facts, const WireReply& reply) {
  switch (reply.end) {
    case WireEnd::kAnswered: return read_status(facts, reply);
    case WireEnd::kRefused:
      return failed(Certainty::kNotSent, FailureClass::kConnect, "connection refused");
    case WireEnd::kNoName:
      return failed(Certainty::kNotSent, FailureClass::kConnect, "the name does not resolve");
    case WireEnd::kNoTls:
      return failed(Certainty::kNotSent, FailureClass::kConnect, "no trusted TLS connection");
    case WireEnd::kForbidden:
      return failed(Certainty::kNotSent, FailureClass::kConnect, "the address is not allowed");
    case WireEnd::kNoLogin: return failed(Certainty::kNotSent, FailureClass::kConnect, "no login");
    case WireEnd::kHeldBack:
      return failed(Certainty::kNotSent, FailureClass::kHeldBack,
                    reply.body.empty() ? "held back by our own limits" : reply.body);
    case WireEnd::kTimedOut:
      return failed(Certainty::kUnknown, FailureClass::kTimeout, "no answer in time");
    case WireEnd::kReset:
      return failed(Certainty::kUnknown, FailureClass::kTimeout,
                    "cut off before the answer was whole");
  }
  POSTRIDER_CHECK(false);  // a value outside the enum: memory is not to be trusted
  return {};
}

}  // namespace

Reading classify(const Facts& facts, AttemptKind /*kind*/, const WireReply& reply) {
  Reading reading = classify_one(facts, reply);
  if (facts.batch != nullptr && is_to_be_split(facts, reply, reading)) {
    reading.signal = On::kStaleRoute;
    reading.retry_after.reset();
    reading.splits = true;
  }
  return reading;
}

}  // namespace postrider::webhook
