#include "postrider/profiles/matrix/settings.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "postrider/base/durations.h"
#include "postrider/base/hash.h"
#include "postrider/model/secrets.h"
#include "postrider/model/setting_table.h"
#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/server_name.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::matrix {
namespace {

constexpr Duration kQuestionTimeOut{10'000};
constexpr Duration kHeldBackPause{2'000};
constexpr Duration kRidesDefault{5'000};
constexpr Duration kReviveEvery{15min};
constexpr std::uint32_t kWindow = 100;  // a transaction takes 90 messages to devices
constexpr std::size_t kUrlBytesMax = 2048;

using settings::Bounds;
using settings::duration_of;
using settings::number_of;
using settings::wrong;

struct Draft {
  Prepared prepared;
  Duration rides = kRidesDefault;
  Duration idle_life{0};
};

Result<void> set_server_name(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(name, parse_server_name(value));
  draft.prepared.origin = std::move(name.text);
  return {};
}

Result<void> set_key(Draft& draft, std::string_view value) {
  if (!is_secrets_name(value)) return wrong(value, "is not the name of a secret");
  draft.prepared.key_name = value;
  return {};
}

// It chooses the numbers that the other settings change, so it is read before them.
Result<void> set_policy(Draft& /*draft*/, std::string_view value) {
  if (!parse_policy(value)) return wrong(value, "is no policy");
  return {};
}

Result<void> set_trust(Draft& draft, std::string_view value) {
  draft.prepared.trust = value;
  return settings::check_trust(value);
}

Result<void> set_catch_up_url(Draft& draft, std::string_view value) {
  if (value.size() > kUrlBytesMax) return fail(ErrorCode::kInvalid, "the address is too long");
  draft.prepared.catch_up_url = value;
  return check_http_url(value);
}

Result<void> set_catch_up_secret(Draft& draft, std::string_view value) {
  if (!is_secrets_name(value)) return wrong(value, "is not the name of a secret");
  draft.prepared.catch_up_secret = value;
  return {};
}

Result<void> set_tries(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(tries, number_of(value, 1, 100));
  draft.prepared.numbers.tries_max = static_cast<std::uint16_t>(tries);
  return {};
}

Result<void> set_pauses(Draft& draft, std::string_view value) {
  auto& pauses = draft.prepared.numbers.pauses;
  POSTRIDER_TRY(steps, parse_durations(value, pauses.size()));
  for (const Duration step : steps) {
    if (step < 100ms || step > 1h) return wrong(to_string(step), "is out of bounds");
  }
  for (std::size_t i = 0; i < pauses.size(); ++i) pauses[i] = steps[std::min(i, steps.size() - 1)];
  return {};
}

// Settings that are one duration, or one number.
template <auto kMember>
Result<void> set_duration(Draft& draft, std::string_view value, const Bounds& bounds) {
  POSTRIDER_TRY(duration, duration_of(value, bounds));
  draft.prepared.numbers.*kMember = duration;
  return {};
}
template <auto kMember>
Result<void> set_number(Draft& draft, std::string_view value, std::uint32_t low,
                        std::uint32_t high) {
  POSTRIDER_TRY(number, number_of(value, low, high));
  auto& member = draft.prepared.numbers.*kMember;
  member = static_cast<std::remove_reference_t<decltype(member)>>(number);
  return {};
}

Result<void> set_time_out(Draft& draft, std::string_view value) {
  return set_duration<&PolicyNumbers::try_time_out>(draft, value, {.low = 1s, .high = 10min});
}
Result<void> set_interval_first(Draft& draft, std::string_view value) {
  return set_duration<&PolicyNumbers::interval_first>(draft, value, {.low = 100ms, .high = 24h});
}
Result<void> set_interval_max(Draft& draft, std::string_view value) {
  return set_duration<&PolicyNumbers::interval_max>(draft, value, {.low = 1s, .high = 30 * 24h});
}
Result<void> set_deep_after(Draft& draft, std::string_view value) {
  return set_duration<&PolicyNumbers::deep_after>(draft, value, {.low = 1s, .high = 30 * 24h});
}
Result<void> set_single_try_after(Draft& draft, std::string_view value) {
  return set_duration<&PolicyNumbers::single_try_after>(
      draft, value, {.low = 1s, .high = 30 * 24h, .or_zero = true});
}
Result<void> set_keep_age(Draft& draft, std::string_view value) {
  return set_duration<&PolicyNumbers::keep_age>(draft, value,
                                                {.low = 1min, .high = 365 * 24h, .or_zero = true});
}
Result<void> set_keep_events(Draft& draft, std::string_view value) {
  return set_number<&PolicyNumbers::keep_count>(draft, value, 0, 10'000'000);
}
Result<void> set_body_bytes_max(Draft& draft, std::string_view value) {
  return set_number<&PolicyNumbers::bytes_max>(draft, value, kEventBytesMax, 8U << 20);
}
Result<void> set_pdus_max(Draft& draft, std::string_view value) {
  return set_number<&PolicyNumbers::pdus_max>(draft, value, 1, 50);
}
Result<void> set_edus_max(Draft& draft, std::string_view value) {
  return set_number<&PolicyNumbers::edus_max>(draft, value, 20, 100);
}
Result<void> set_members_max(Draft& draft, std::string_view value) {
  return set_number<&PolicyNumbers::members_max>(draft, value, 1, 512);
}
Result<void> set_linger(Draft& draft, std::string_view value) {
  return set_duration<&PolicyNumbers::linger>(draft, value,
                                              {.low = 1ms, .high = 1s, .or_zero = true});
}
Result<void> set_open_requests_max(Draft& draft, std::string_view value) {
  return set_number<&PolicyNumbers::open_requests_max>(draft, value, 1, 65'536);
}
Result<void> set_rides(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(rides, duration_of(value, {.low = 100ms, .high = 30s, .or_zero = true}));
  draft.rides = rides;
  return {};
}

Result<void> set_idle_life(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(life, settings::idle_life_of(value));
  draft.idle_life = life;
  return {};
}

// clang-format off
constexpr auto kSettings = std::to_array<settings::Setting<Draft>>({
    {{"server_name", "", "example.org", "the name of a Matrix server", "our own server, in whose name requests are signed"}, set_server_name},
    {{"key", "", "matrix-key", "the name of a secret of [secrets]", "the server's signing key: a file of lines ed25519 VERSION BASE64, as the homeserver has it; requests are held back while it is missing"}, set_key},
    {{"policy", "better", "", "better or compatible", "which numbers hold, and what is done with refused batches, waits that a receiver asks for and events that were missed"}, set_policy},
    {{"trust", "", "", "certificates in PEM", "trusted for this server instead of those of [transport]"}, set_trust},
    {{"catch_up_url", "", "", "an http or https address of up to 2048 bytes, without user or fragment", "where the host is asked what to send instead of an event that was missed; not set: the event is sent"}, set_catch_up_url},
    {{"catch_up_secret", "", "", "the name of a secret of [secrets]", "sent with that question as a bearer token"}, set_catch_up_secret},
    {{"tries", "3, or 11 with compatible", "", "1 to 100", "of one attempt of a transaction, before the server backs off"}, set_tries},
    {{"pauses", "1s, 4s, or 4s, 16s, 60s with compatible", "", "1 to 3 durations of 100ms to 1h", "between tries, each times 0.8 to 1.4; the last one holds for all behind it"}, set_pauses},
    {{"time_out", "1m", "", "1s to 10m", "of one try, the answer included"}, set_time_out},
    {{"interval_first", "5s, or 10m with compatible", "", "100ms to 24h", "for which a server backs off first; each further one is twice as long, times 0.8 to 1.4"}, set_interval_first},
    {{"interval_max", "7d", "", "1s to 30d", "the longest one"}, set_interval_max},
    {{"deep_after", "1h", "", "1s to 30d", "a longer interval is deep: short-lived units are dropped, and the server catches up when it is back"}, set_deep_after},
    {{"single_try_after", "1h, or 0 with compatible", "", "1s to 30d, or 0", "from such an interval on there is one try; 0: never"}, set_single_try_after},
    {{"keep_age", "24h, or 0 with compatible", "", "1m to 365d, or 0", "events of this age are kept for a server that was away; of older ones the newest of each room"}, set_keep_age},
    {{"keep_events", "10000, or 0 with compatible", "", "0 to 10000000", "as many events are kept for a server that was away; of others the newest of each room"}, set_keep_events},
    {{"body_bytes_max", "1048576, or 8388608 with compatible", "", "65536 to 8388608", "of one transaction; a larger item goes alone"}, set_body_bytes_max},
    {{"pdus_max", "50", "", "1 to 50", "events of one transaction"}, set_pdus_max},
    {{"edus_max", "100", "", "20 to 100", "units of one transaction"}, set_edus_max},
    {{"members_max", "512", "", "1 to 512", "items of one transaction; several values of presence or receipts make one unit"}, set_members_max},
    {{"linger", "5ms, or 0 with compatible", "", "1ms to 1s, or 0", "between two transactions, so that they fill"}, set_linger},
    {{"rides", "5s", "", "100ms to 30s, or 0", "so long presence and receipts wait for a transaction to travel with"}, set_rides},
    {{"open_requests_max", "256, or 2000 with compatible", "", "1 to 65536", "to all servers of the same policy together"}, set_open_requests_max},
    {settings::kIdleLife, set_idle_life},
});
// clang-format on
static_assert(kSettings.size() == kSettingCount);

std::string_view row_name(std::string_view name) { return name; }

Result<Draft> draft_of(const NamedTexts& settings) {
  Draft draft;
  if (const std::string* policy = find_text(settings, "policy"))
    draft.prepared.choice = parse_policy(*policy).value_or(PolicyChoice::kBetter);
  draft.prepared.numbers = numbers_of(draft.prepared.choice);
  if (const auto applied = settings::apply_all(draft, settings, kSettings, kSettingRows, row_name);
      !applied)
    return tl::unexpected<Error>(applied.error());
  const PolicyNumbers& numbers = draft.prepared.numbers;
  const auto bad = [](std::string_view what) {
    return fail(ErrorCode::kInvalid, std::string(what));
  };
  if (draft.prepared.origin.empty())
    return bad("server_name is missing: requests are signed in the name of our server");
  if (draft.prepared.key_name.empty())
    return bad("key is missing: requests are signed by the server's key");
  if (numbers.interval_max < numbers.interval_first)
    return bad("interval_max: it must not be below interval_first");
  return draft;
}

RetryRule rule_of(const PolicyNumbers& numbers) {
  RetryRule rule;
  rule.curve = Curve::kList;
  for (std::size_t i = 0; i < numbers.pauses.size(); ++i) rule.steps[i] = numbers.pauses[i];
  rule.steps_used = static_cast<std::uint8_t>(numbers.pauses.size());
  rule.jitter = Jitter::kFactor;
  rule.jitter_low = numbers.jitter_low;
  rule.jitter_high = numbers.jitter_high;
  rule.attempts_max = numbers.tries_max;
  rule.strikes = true;
  return rule;
}

HealthRule health_of(const PolicyNumbers& numbers) {
  return {.strikes_max = 1,
          .wait_base = numbers.interval_first,
          .wait_max = numbers.interval_max,
          .revive_every = kReviveEvery,
          .contact_clears = true,
          .factor_percent = numbers.interval_percent,
          .jitter_low = numbers.jitter_low,
          .jitter_high = numbers.jitter_high,
          .deep_after = numbers.deep_after,
          .begins_behind = numbers.catch_up_at_start};
}

void put_lanes(Policy& policy, const Draft& draft) {
  const PolicyNumbers& numbers = draft.prepared.numbers;
  for (std::uint8_t lane = 0; lane < kMatrixLanes; ++lane) {
    const LaneFacts& facts = kLaneFacts[lane];
    LaneRule& rule = policy.lanes[lane];
    rule.dropped_when_deep = facts.dropped_when_deep;
    rule.latest = facts.latest;
    if (facts.latest == Latest::kWhenBehind) {
      rule.keep = numbers.keep_age;
      rule.keep_max = numbers.keep_count;
    }
    if (facts.rides) rule.rides = draft.rides;
    if (facts.fifo) policy.fifo_lanes = static_cast<std::uint16_t>(policy.fifo_lanes | 1U << lane);
    if (lane == kEventLane || (facts.catches_up && numbers.catch_up_units))
      policy.catch_up_lanes.add(lane);
  }
}

}  // namespace

constinit const std::array<SettingRow, kSettingCount> kSettingRows = settings::rows_of(kSettings);

Result<Policy> configure(const NamedTexts& settings) {
  POSTRIDER_TRY(draft, draft_of(settings));
  const PolicyNumbers& numbers = draft.prepared.numbers;
  Policy policy;
  policy.retry.fill(rule_of(numbers));
  RetryRule& held_back = policy.retry[static_cast<std::size_t>(FailureClass::kHeldBack)];
  held_back = {.curve = Curve::kFixed, .base = kHeldBackPause};
  if (numbers.honours_retry_after) {
    RetryRule& throttled = policy.retry[static_cast<std::size_t>(FailureClass::kThrottled)];
    throttled.retry_after_max = 1h;
    throttled.holds_route = true;
  }
  policy.time_outs[static_cast<std::size_t>(TimeOut::kAttempt)] = numbers.try_time_out;
  policy.time_outs[static_cast<std::size_t>(TimeOut::kProbe)] = kQuestionTimeOut;
  policy.route = {.in_use_max = 1, .spacing = numbers.linger};
  policy.group = std::max<std::uint64_t>(
      1, hash64(name_of(draft.prepared.choice), hash64(draft.prepared.origin)));
  policy.group_limits.in_use_max = numbers.open_requests_max;
  policy.health = health_of(numbers);
  put_lanes(policy, draft);
  policy.members_max = numbers.members_max;
  policy.batches_begin_small = numbers.starts_small;
  policy.window_max = kWindow;
  policy.idle_life = draft.idle_life;
  policy.refuse_when_disabled = false;
  return policy;
}

std::optional<Prepared> prepare(const NamedTexts& settings) {
  auto draft = draft_of(settings);
  if (!draft) return std::nullopt;
  return std::move(draft->prepared);
}

}  // namespace postrider::matrix
