#include "postrider/profiles/webhook/settings.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "postrider/base/durations.h"
#include "postrider/base/hash.h"
#include "postrider/model/secrets.h"
#include "postrider/model/setting_table.h"
#include "postrider/profiles/webhook/rules.h"
#include "postrider/protocols/web/body_signature.h"
#include "postrider/protocols/web/http_text.h"
#include "postrider/protocols/web/standard_webhooks.h"

namespace postrider::webhook {
namespace {

constexpr std::string_view kHeaders = "headers.";
constexpr std::size_t kUrlBytesMax = 2048;
constexpr std::size_t kPrefixBytesMax = 32;
constexpr std::size_t kContentTypeBytesMax = 128;
constexpr std::size_t kEventTextBytesMax = 256;
constexpr std::size_t kNameBytesMax = 64;

using settings::duration_of;
using settings::number_of;
using settings::second_of;
using settings::word_of;
using settings::wrong;

enum class Signature : std::uint8_t { kUnsaid, kStandard, kNone, kBody };

// Settings that only together make sense are kept here until all were read.
struct Draft {
  Policy policy;
  std::string_view prefix = kHeaderPrefix;
  std::string_view secret = {};
  std::string_view signature_header = {};
  std::string_view id_header = {};
  std::uint32_t rate = 0;
  std::uint32_t burst = 0;
  std::size_t headers = 0;
  bool has_url = false;
  std::string_view secret_name = {};
  bool has_secret = false;  // given, or named
  Signature signature = Signature::kUnsaid;
};

Result<void> set_url(Draft& draft, std::string_view value) {
  if (value.size() > kUrlBytesMax) return fail(ErrorCode::kInvalid, "the address is too long");
  draft.has_url = true;
  return check_http_url(value);
}

// What it may be depends on the style of the signature, which may be said behind it.
Result<void> set_secret(Draft& draft, std::string_view value) {
  draft.secret = value;
  draft.has_secret = true;
  return {};
}

Result<void> set_secret_name(Draft& draft, std::string_view value) {
  if (!is_secrets_name(value)) return wrong(value, "is not the name of a secret");
  draft.secret_name = value;
  draft.has_secret = true;
  return {};
}

Result<void> set_signature(Draft& draft, std::string_view value) {
  constexpr std::array<std::string_view, 3> kWords = {"standard", "none", kBodySignature};
  constexpr std::array<Signature, 3> kStyles = {Signature::kStandard, Signature::kNone,
                                                Signature::kBody};
  POSTRIDER_TRY(which, word_of(value, kWords));
  draft.signature = kStyles[which];
  return {};
}

Result<void> check_own_header(std::string_view value) {
  if (!is_header_name(value) || value.size() > kHeaderNameBytesMax)
    return wrong(value, "is not the name of a header");
  const std::string lower = to_lower(value);
  if (is_framing_header(lower) || lower == "user-agent" || lower == "traceparent" ||
      lower == "tracestate" || lower.starts_with("ce-"))
    return wrong(value, "has another meaning already");
  return {};
}

Result<void> set_signature_header(Draft& draft, std::string_view value) {
  draft.signature_header = value;
  return check_own_header(value);
}

Result<void> set_id_header(Draft& draft, std::string_view value) {
  draft.id_header = value;
  return check_own_header(value);
}

Result<void> set_header_prefix(Draft& draft, std::string_view value) {
  if (!is_header_name(value) || value.size() > kPrefixBytesMax)
    return wrong(value, "cannot begin a header name");
  draft.prefix = value;
  return {};
}

// The name and the value are checked when the prefix is known.
Result<void> set_header(Draft& draft, std::string_view /*value*/) {
  if (++draft.headers > kCustomHeadersMax)
    return fail(ErrorCode::kInvalid, "there are too many custom headers");
  return {};
}

Result<void> set_content_type(Draft& /*draft*/, std::string_view value) {
  if (value.empty() || value.size() > kContentTypeBytesMax || !is_header_value(value)) {
    return wrong(value, "cannot be sent as a header");
  }
  return {};
}

// Of the destination's failures. What our own limits hold back has a pace of its own, and only the
// budget ends it.
template <class Set>
void for_each_rule(Draft& draft, const Set& set) {
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    if (static_cast<FailureClass>(i) != FailureClass::kHeldBack) set(draft.policy.retry[i]);
  }
}

Result<void> set_ladder(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(steps, parse_durations(value, RetryRule::kSteps));
  for (const Duration step : steps) {
    if (step < 100ms || step > 7 * 24h) return wrong(to_string(step), "is out of bounds");
  }
  for_each_rule(draft, [&](RetryRule& rule) {
    rule.steps = {};
    std::copy(steps.begin(), steps.end(), rule.steps.begin());
    rule.steps_used = static_cast<std::uint8_t>(steps.size());
  });
  return {};
}

Result<void> set_jitter_percent(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(percent, number_of(value, 0, 100));
  for_each_rule(draft, [percent = static_cast<std::uint8_t>(percent)](RetryRule& rule) {
    rule.jitter_percent = percent;
  });
  return {};
}

Result<void> set_attempts_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(most, number_of(value, 0, 1000));
  for_each_rule(draft, [most = static_cast<std::uint16_t>(most)](RetryRule& rule) {
    rule.attempts_max = most;
  });
  return {};
}

Result<void> set_budget(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(budget, duration_of(value, {.low = 1s, .high = 365 * 24h}));
  for (RetryRule& rule : draft.policy.retry) rule.budget = budget;
  return {};
}

RetryRule& rule_of(Policy& policy, FailureClass failure) {
  return policy.retry[static_cast<std::size_t>(failure)];
}

Result<void> set_retry_after_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(most, duration_of(value, {.low = 1s, .high = 7 * 24h, .or_zero = true}));
  rule_of(draft.policy, FailureClass::kServer).retry_after_max = most;
  rule_of(draft.policy, FailureClass::kThrottled).retry_after_max = most;
  return {};
}

Result<void> set_time_out(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(time_out, duration_of(value, {.low = 100ms, .high = 10min}));
  draft.policy.time_outs[static_cast<std::size_t>(TimeOut::kAttempt)] = time_out;
  return {};
}

Result<void> set_in_flight_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(most, number_of(value, 1, 1024));
  draft.policy.route.in_use_max = most;
  return {};
}

Result<void> set_rate(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(rate, number_of(value, 0, 100'000));
  draft.rate = rate;
  return {};
}

Result<void> set_burst(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(burst, number_of(value, 0, 100'000));
  draft.burst = burst;
  return {};
}

Result<void> set_strikes_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(strikes, number_of(value, 0, 1000));
  draft.policy.health.strikes_max = static_cast<std::uint16_t>(strikes);
  return {};
}

Result<void> set_wait_base(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(wait, duration_of(value, {.low = 100ms, .high = 1h}));
  draft.policy.health.wait_base = wait;
  return {};
}

Result<void> set_wait_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(wait, duration_of(value, {.low = 100ms, .high = 24h}));
  draft.policy.health.wait_max = wait;
  return {};
}

Result<void> set_disable_after(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(after, duration_of(value, {.low = 1min, .high = 365 * 24h, .or_zero = true}));
  draft.policy.health.disable_after = after;
  return {};
}

Result<void> set_adapt(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(off, second_of(value, "on", "off"));
  draft.policy.adapts = !off;
  return {};
}

Result<void> set_clears(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(contact, second_of(value, "delivery", "contact"));
  draft.policy.health.contact_clears = contact;
  return {};
}

Result<std::uint64_t> hash_of_name(std::string_view value) {
  if (value.empty() || value.size() > kNameBytesMax || !is_header_value(value))
    return wrong(value, "is no name of printable ASCII");
  return hash64(value);
}

Result<void> set_group(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(group, hash_of_name(value));
  draft.policy.group = std::max<std::uint64_t>(1, group);
  return {};
}

Result<void> set_group_in_flight_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(most, number_of(value, 0, 65'536));
  draft.policy.group_limits.in_use_max = most;
  return {};
}

Result<void> set_group_rate(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(rate, number_of(value, 0, 100'000));
  draft.policy.group_limits.tokens_per_second = rate;
  draft.policy.group_limits.tokens_max = rate;
  return {};
}

Result<void> set_tenant(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(tenant, hash_of_name(value));
  draft.policy.tenant = tenant;
  return {};
}

Result<void> set_tenant_weight(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(weight, number_of(value, 1, 100));
  draft.policy.tenant_weight = static_cast<std::uint16_t>(weight);
  return {};
}

Result<void> set_history(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(on, second_of(value, "off", "on"));
  draft.policy.keeps_history = on;
  return {};
}

Result<void> set_order(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(fifo, second_of(value, "none", "fifo"));
  draft.policy.fifo_lanes = fifo ? std::uint16_t{0xFFFF} : std::uint16_t{0};
  return {};
}

Result<void> set_lower_priority_every(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(starts, number_of(value, 2, 16));
  draft.policy.lower_every = static_cast<std::uint8_t>(starts);
  return {};
}

Result<void> set_priority_ageing(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(step, duration_of(value, {.low = 1s, .high = 24h, .or_zero = true}));
  draft.policy.age_step = step;
  return {};
}

Result<void> set_on_poison(Draft& draft, std::string_view value) {
  constexpr std::array<std::string_view, 3> kWords = {"block", "park", "skip"};
  POSTRIDER_TRY(which, word_of(value, kWords));
  draft.policy.on_poison = static_cast<OnPoison>(which);
  return {};
}

Result<void> set_poison_after(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(attempts, number_of(value, 1, 1000));
  draft.policy.poison_after = static_cast<std::uint16_t>(attempts);
  return {};
}

// Which one it is is asked when a rejection is classified: it chooses the signal, not a number.
Result<void> set_reject(Draft& /*draft*/, std::string_view value) {
  constexpr std::array<std::string_view, 3> kWords = {"dead", "retry", "strict"};
  POSTRIDER_TRY(which, word_of(value, kWords));
  static_cast<void>(which);
  return {};
}

// Failures that say no more than that the destination was not there, or not able.
Result<void> set_when_exhausted(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(park, second_of(value, "dead", "park"));
  for (const FailureClass failure :
       {FailureClass::kConnect, FailureClass::kTimeout, FailureClass::kServer,
        FailureClass::kThrottled, FailureClass::kHeldBack})
    rule_of(draft.policy, failure).parks = park;
  return {};
}

Result<void> set_when_disabled(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(hold, second_of(value, "refuse", "hold"));
  draft.policy.refuse_when_disabled = !hold;
  return {};
}

Result<void> set_trust(Draft& /*draft*/, std::string_view value) {
  return settings::check_trust(value);
}

// Like reject, asked for when a request is made.
Result<void> set_format(Draft& /*draft*/, std::string_view value) {
  POSTRIDER_TRY(events, second_of(value, "plain", "cloudevents"));
  static_cast<void>(events);
  return {};
}

Result<void> set_event_text(Draft& /*draft*/, std::string_view value) {
  if (value.empty() || value.size() > kEventTextBytesMax || !is_header_value(value))
    return wrong(value, "cannot be sent as a header");
  return {};
}

Result<void> set_idle_life(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(life, settings::idle_life_of(value));
  draft.policy.idle_life = life;
  return {};
}

Result<void> set_batch_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(members, number_of(value, 0, kBatchMembersMax));
  draft.policy.members_max = static_cast<std::uint16_t>(members);
  return {};
}

Result<void> set_batch_wait(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(wait, duration_of(value, {.low = 10ms, .high = 1h, .or_zero = true}));
  draft.policy.batch_wait = wait;
  return {};
}

// Asked for when a batch is made, like its format.
Result<void> set_batch_bytes_max(Draft& /*draft*/, std::string_view value) {
  POSTRIDER_TRY(bytes, number_of(value, kBatchBytesLeast, kBatchBytesMost));
  static_cast<void>(bytes);
  return {};
}

Result<void> set_batch_format(Draft& /*draft*/, std::string_view value) {
  POSTRIDER_TRY(events, second_of(value, "array", "cloudevents"));
  static_cast<void>(events);
  return {};
}

// clang-format off
constexpr auto kSettings = std::to_array<settings::Setting<Draft>>({
    {{"url", "", "https://example.com/hook", "an http or https address of up to 2048 bytes, without user or fragment", "where requests go"}, set_url},
    {{"secret", "", "", "up to 4 secrets separated by spaces, each whsec_ and base64 of 24 to 64 bytes, an old one with @ and the time of its end behind it; with the signature hmac-sha256-body any text of 1 to 256 printable bytes", "signs requests; the newest first, the old ones while rotating"}, set_secret},
    {{"secret_name", "", "", "1 to 64 letters, digits, dots, hyphens and underscores: a name in [secrets] of the daemon's file of settings", "signs requests with what the file of that name holds, as secret would say it; instead of secret, so that no record holds it"}, set_secret_name},
    {{"signature", "standard", "", "standard, none or hmac-sha256-body", "how requests are signed; nothing is signed without a secret"}, set_signature},
    {{"signature_header", "X-Device-Messaging-Signature", "", "the name of a header, 1 to 64 bytes", "carries the signature hmac-sha256-body"}, set_signature_header},
    {{"id_header", "", "", "the name of a header, 1 to 64 bytes", "carries the message's attribute event-id, or else its id"}, set_id_header},
    {{"header_prefix", "webhook-", "", "the beginning of a header name, 1 to 32 bytes", "of the headers id, timestamp and signature"}, set_header_prefix},
    {{"headers.*", "", "", "up to 32 headers of printable ASCII, at most 1024 bytes each", "sent with every request"}, set_header},
    {{"content_type", "application/json", "", "a media type of 1 to 128 bytes", "of messages that name none"}, set_content_type},
    {{"ladder", "5s,30s,2m,10m,30m,1h,3h,6h,12h", "", "1 to 12 durations of 100ms to 7d, separated by commas", "waits between attempts; the last one repeats"}, set_ladder},
    {{"jitter_percent", "20", "", "0 to 100", "each wait is drawn from so much around its step"}, set_jitter_percent},
    {{"budget", "72h", "", "1s to 365d", "since the first attempt; held time does not count"}, set_budget},
    {{"attempts_max", "0", "", "0 to 1000, 0 for as many as the budget allows", "attempts of one message"}, set_attempts_max},
    {{"retry_after_max", "1h", "", "1s to 7d, or 0 for never", "how long a Retry-After of 429 or 503 is honoured"}, set_retry_after_max},
    {{"time_out", "15s", "", "100ms to 10m", "of one attempt"}, set_time_out},
    {{"in_flight_max", "8", "", "1 to 1024", "attempts open at a time"}, set_in_flight_max},
    {{"rate", "0", "", "0 to 100000, 0 for no limit", "attempts per second"}, set_rate},
    {{"burst", "0", "", "0 to 100000, 0 for the same as rate", "attempts at once before the rate holds"}, set_burst},
    {{"adapt", "on", "", "on or off", "failures halve the attempts that may be open, successes bring them back to in_flight_max"}, set_adapt},
    {{"group", "", "", "a name of 1 to 64 bytes", "destinations of one group, a site or an address, share its limits"}, set_group},
    {{"group_in_flight_max", "0", "", "0 to 65536, 0 for no limit", "attempts of the whole group open at a time"}, set_group_in_flight_max},
    {{"group_rate", "0", "", "0 to 100000, 0 for no limit", "attempts of the whole group per second"}, set_group_rate},
    {{"tenant", "", "", "a name of 1 to 64 bytes", "whose destination it is; tenants take turns, however many destinations and messages each has"}, set_tenant},
    {{"tenant_weight", "1", "", "1 to 100", "starts that the tenant has in a row"}, set_tenant_weight},
    {{"strikes_max", "5", "", "0 to 1000, 0 for never", "failures in a row that close the route"}, set_strikes_max},
    {{"wait_base", "5s", "", "100ms to 1h", "the first wait of a closed route; it doubles"}, set_wait_base},
    {{"wait_max", "15m", "", "100ms to 1d, not below wait_base", "the longest wait of a closed route"}, set_wait_max},
    {{"clears", "delivery", "", "delivery or contact", "what opens a closed route: a delivery, or any answer"}, set_clears},
    {{"disable_after", "5d", "", "1m to 365d, or 0 for never", "failing so long without a success disables the destination"}, set_disable_after},
    {{"history", "off", "", "on or off", "content of what has ended is kept for engine.history_age, so that it can be sent again"}, set_history},
    {{"order", "none", "", "none or fifo", "of the messages in a lane"}, set_order},
    {{"lower_priority_every", "16", "", "2 to 16", "of so many starts of a lane without order one is for a lower priority, while higher ones keep coming"}, set_lower_priority_every},
    {{"priority_ageing", "0", "", "1s to 1d, or 0 for never", "so much waiting is worth one priority, among the messages in memory"}, set_priority_ageing},
    {{"on_poison", "block", "", "block, park or skip", "what becomes of a message that fails again and again while others of its order wait behind it"}, set_on_poison},
    {{"poison_after", "5", "", "1 to 1000", "attempts after which on_poison counts; those of which nothing was sent, or that were throttled, do not decide"}, set_poison_after},
    {{"reject", "dead", "", "dead, retry or strict", "what becomes of a message that was answered with 4xx; strict counts 410 and 425 in"}, set_reject},
    {{"when_exhausted", "dead", "", "dead or park", "what becomes of a message that ran out of attempts because the destination was out of reach"}, set_when_exhausted},
    {{"trust", "", "", "certificates in PEM, up to 12288 bytes", "authorities that are trusted instead of the system's"}, set_trust},
    {{"format", "plain", "", "plain or cloudevents", "cloudevents adds the headers of CloudEvents in binary mode"}, set_format},
    {{"event_source", "postrider", "", "1 to 256 bytes of printable ASCII", "the source of events that name none"}, set_event_text},
    {{"event_type", "message", "", "1 to 256 bytes of printable ASCII", "the type of events that name none"}, set_event_text},
    {{"when_disabled", "refuse", "", "refuse or hold", "what becomes of new messages while the destination is disabled"}, set_when_disabled},
    {{"batch_max", "0", "", "0 to 512, 0 for one message in each request", "messages in one request, which is a JSON array then; one request is open at a time"}, set_batch_max},
    {{"batch_wait", "0", "", "10ms to 1h, or 0 for not at all", "a batch that is not full waits so long for more, since its first message was accepted"}, set_batch_wait},
    {{"batch_bytes_max", "1048576", "", "1024 to 8388608", "bytes of the body of a batch; a message that is larger goes alone"}, set_batch_bytes_max},
    {{"batch_format", "array", "", "array or cloudevents", "objects with id, timestamp and data, or application/cloudevents-batch+json"}, set_batch_format},
    {settings::kIdleLife, set_idle_life},
});
// clang-format on

static_assert(kSettings.size() == kSettingCount);

std::string_view row_name(std::string_view name) {
  return name.starts_with(kHeaders) ? "headers.*" : name;
}

std::string_view signature_header(const Draft& draft) {
  if (draft.signature != Signature::kBody) return {};
  return draft.signature_header.empty() ? kBodySignatureHeader : draft.signature_header;
}

Result<void> check_headers(const Draft& draft, const NamedTexts& settings) {
  for (const auto& [name, value] : settings) {
    if (!name.starts_with(kHeaders)) continue;
    const std::string_view header = std::string_view(name).substr(kHeaders.size());
    Result<void> good = check_header(header, value, draft.prefix);
    const std::string lower = to_lower(header);
    if (good && (lower == to_lower(draft.id_header) || lower == to_lower(signature_header(draft))))
      good = fail(ErrorCode::kInvalid, "this header cannot be set");
    if (!good) return fail(ErrorCode::kInvalid, name + ": " + good.error().detail);
  }
  return {};
}

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

Result<void> check_secret(const Draft& draft) {
  if (!draft.secret_name.empty() && !draft.secret.empty())
    return fail(ErrorCode::kInvalid, "secret_name: give a secret or the name of one, not both");
  if (!draft.has_secret || !draft.secret_name.empty()) return {};
  const auto refuse = [](const Error& error) {
    const auto is_it = [](const SettingRow& row) { return row.name == "secret"; };
    const auto row = std::find_if(kSettingRows.begin(), kSettingRows.end(), is_it);
    return tl::unexpected<Error>(settings::refused("secret", error, *row));
  };
  if (draft.signature == Signature::kBody) {
    const std::size_t size = draft.secret.size();
    if (size > 0 && size <= kBodySecretBytesMax && is_printable(draft.secret)) return {};
    return refuse({ErrorCode::kInvalid, "it is not such a text"});
  }
  const auto keys = parse_webhook_secrets(draft.secret);
  if (!keys) return refuse(keys.error());
  return {};
}

// Two headers of ours must not have one name.
Result<void> check_own_headers(const Draft& draft) {
  const bool by_body = draft.signature == Signature::kBody;
  if (!by_body && !draft.signature_header.empty())
    return fail(ErrorCode::kInvalid, "signature_header: it needs signature = hmac-sha256-body");
  const std::string id = to_lower(draft.id_header);
  const bool taken =
      by_body ? id == to_lower(signature_header(draft)) : is_reserved_header(id, draft.prefix);
  if (!id.empty() && taken)
    return fail(ErrorCode::kInvalid, "id_header: this header has another meaning already");
  return {};
}

Result<void> check_together(Draft& draft) {
  const auto bad = [](std::string_view what) {
    return fail(ErrorCode::kInvalid, std::string(what));
  };
  if (!draft.has_url) return bad("url is missing: a webhook destination needs an address");
  if (draft.signature == Signature::kStandard && !draft.has_secret)
    return bad("signature: standard needs a secret");
  if (draft.signature == Signature::kBody && !draft.has_secret)
    return bad("signature: hmac-sha256-body needs a secret");
  if (const Result<void> good = check_own_headers(draft); !good) return good;
  if (draft.burst != 0 && draft.rate == 0) return bad("burst: it needs a rate");
  if (draft.policy.batch_wait > Duration(0) && draft.policy.members_max == 0)
    return bad("batch_wait: it needs a batch_max");
  // A batch is made of messages in memory.
  draft.policy.window_max =
      std::max<std::uint32_t>(draft.policy.window_max, draft.policy.members_max);
  const HealthRule& health = draft.policy.health;
  if (health.wait_max < health.wait_base) return bad("wait_max: it must not be below wait_base");
  draft.policy.health.revive_every = health.wait_max;
  draft.policy.route.tokens_per_second = draft.rate;
  draft.policy.route.tokens_max = draft.burst == 0 ? draft.rate : draft.burst;
  return {};
}

}  // namespace

constinit const std::array<SettingRow, kSettingCount> kSettingRows = settings::rows_of(kSettings);

Result<Policy> configure(const NamedTexts& settings) {
  Draft draft{.policy = default_policy()};
  if (const Result<void> good =
          settings::apply_all(draft, settings, kSettings, kSettingRows, row_name);
      !good)
    return tl::unexpected<Error>(good.error());
  if (const Result<void> good = check_secret(draft); !good)
    return tl::unexpected<Error>(good.error());
  if (const Result<void> good = check_headers(draft, settings); !good)
    return tl::unexpected<Error>(good.error());
  if (const Result<void> good = check_together(draft); !good)
    return tl::unexpected<Error>(good.error());
  return draft.policy;
}

}  // namespace postrider::webhook
