#include "postrider/profiles/device/settings.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "postrider/base/durations.h"
#include "postrider/model/setting_table.h"
#include "postrider/protocols/device/message.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::device {
namespace {

constexpr std::size_t kUrlBytesMax = 2048;
constexpr std::size_t kTextBytesMax = 1024;
constexpr std::size_t kNameBytesMax = 200;
constexpr std::string_view kRepeat = "repeat.";
constexpr std::array<std::string_view, 4> kWires = {"chirpstack", "chirpstack-mqtt", "calin-v1",
                                                    "calin-v2"};
constexpr Duration kExpiresAfter = 24h;

using settings::duration_of;
using settings::number_of;
using settings::word_of;
using settings::wrong;

struct Draft {
  Policy policy;
  Wire wire = Wire::kChirpstack;
};

Result<std::vector<Duration>> durations_of(std::string_view value) {
  std::vector<Duration> out;
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t comma = std::min(value.find(',', from), value.size());
    POSTRIDER_TRY(duration, parse_duration(value.substr(from, comma - from)));
    if (duration < 100ms || duration > 24h) return wrong(value, "is out of bounds");
    out.push_back(duration);
    from = comma + 1;
  }
  return out;
}

// Something else reads the value later.
template <class Value>
Result<void> checked(const Result<Value>& value) {
  if (!value) return tl::unexpected<Error>(value.error());
  return {};
}

Duration& time_out(Draft& draft, TimeOut which) {
  return draft.policy.time_outs[static_cast<std::size_t>(which)];
}

Result<void> set_plugin(Draft& /*draft*/, std::string_view value) {
  if (is_plugin_name(value)) return {};
  return wrong(value, "is not the name of a plugin");
}

Result<void> set_way(Draft& /*draft*/, std::string_view value) {
  return checked(word_of(value, kWires));
}

Result<void> set_url(Draft& /*draft*/, std::string_view value) {
  if (value.size() > kUrlBytesMax) return fail(ErrorCode::kInvalid, "the address is too long");
  if (value.ends_with('/')) return wrong(value, "ends with a slash");
  return check_http_url(value);
}

// Secrets among them: what is wrong is told without the value.
Result<void> set_text(Draft& /*draft*/, std::string_view value) {
  if (value.empty() || value.size() > kTextBytesMax || !is_header_value(value))
    return fail(ErrorCode::kInvalid, "it is empty, too long or has other than printable ASCII");
  return {};
}

Result<void> set_name(Draft& /*draft*/, std::string_view value) {
  const auto plain = [](char c) { return c > ' ' && c < '\x7f' && c != '/'; };
  if (value.empty() || value.size() > kNameBytesMax ||
      !std::all_of(value.begin(), value.end(), plain))
    return wrong(value, "is not a name");
  return {};
}

Result<void> set_trust(Draft& /*draft*/, std::string_view value) {
  return settings::check_trust(value);
}

Result<void> set_flag(Draft& /*draft*/, std::string_view value) {
  if (value == "true" || value == "false") return {};
  return wrong(value, "is neither true nor false");
}

Result<void> set_spacing(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(spacing, duration_of(value, {.low = 1ms, .high = 1h, .or_zero = true}));
  draft.policy.route.spacing = spacing;
  return {};
}

Result<void> set_in_flight_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(number, number_of(value, 0, 65535));
  draft.policy.route.in_use_max = number;
  return {};
}

Result<void> set_age_step(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(step, duration_of(value, {.low = 1s, .high = 24h, .or_zero = true}));
  draft.policy.age_step = step;
  return {};
}

// Of the far side's failures: what our own limits hold back has a pace of its own.
template <class Set>
Result<void> set_rules(Draft& draft, Set set) {
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    if (static_cast<FailureClass>(i) != FailureClass::kHeldBack) set(draft.policy.retry[i]);
  }
  return {};
}

Result<void> set_retries(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(number, number_of(value, 0, 1000));
  return set_rules(draft, [n = number](RetryRule& rule) {
    rule.attempts_max = static_cast<std::uint16_t>(n + 1);
  });
}

Result<void> set_retry_base(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(base, duration_of(value, {.low = 1ms, .high = 1h}));
  return set_rules(draft, [d = base](RetryRule& rule) { rule.base = d; });
}

Result<void> set_retry_cap(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(cap, duration_of(value, {.low = 1s, .high = 24h}));
  return set_rules(draft, [d = cap](RetryRule& rule) { rule.cap = d; });
}

Result<void> set_jitter(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(percent, number_of(value, 0, 100));
  return set_rules(draft, [n = percent](RetryRule& rule) {
    rule.jitter = n == 0 ? Jitter::kNone : Jitter::kAbove;
    rule.jitter_percent = static_cast<std::uint8_t>(n);
  });
}

Result<void> set_tick(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(tick, duration_of(value, {.low = 1ms, .high = 1min, .or_zero = true}));
  return set_rules(draft, [d = tick](RetryRule& rule) { rule.tick = d; });
}

template <TimeOut kWhich>
Result<void> set_time_out(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(after, duration_of(value, {.low = 100ms, .high = 24h}));
  time_out(draft, kWhich) = after;
  return {};
}

// News that waits for its other half is not kept for as long as other time-outs may be.
Result<void> set_pair_window(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(window, duration_of(value, {.low = 100ms, .high = 10min}));
  time_out(draft, TimeOut::kPair) = window;
  return {};
}

Result<void> set_life(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(life, duration_of(value, {.low = 1min, .high = 7 * 24h}));
  draft.policy.life_max = life;
  return {};
}

Result<void> set_expires_after(Draft& /*draft*/, std::string_view value) {
  return checked(duration_of(value, {.low = 1min, .high = kExpiresAfterMax}));
}

Result<void> set_poll_first(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(first, duration_of(value, {.low = 100ms, .high = 1h}));
  draft.policy.poll.first = first;
  return {};
}

Result<void> set_poll_waits(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(waits, durations_of(value));
  if (waits.size() != 4) return wrong(value, "must be four durations");
  for (std::size_t i = 0; i < waits.size(); ++i) draft.policy.poll.steps[i].wait = waits[i];
  return {};
}

Result<void> set_poll_ages(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(ages, durations_of(value));
  if (ages.size() != 3 || !std::is_sorted(ages.begin(), ages.end()))
    return wrong(value, "must be three durations that rise");
  for (std::size_t i = 0; i < ages.size(); ++i) draft.policy.poll.steps[i].below = ages[i];
  return {};
}

Result<void> set_ask_again_base(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(base, duration_of(value, {.low = 100ms, .high = 24h}));
  draft.policy.poll.error_base = base;
  return {};
}

Result<void> set_ask_again_cap(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(cap, duration_of(value, {.low = 100ms, .high = 24h}));
  draft.policy.poll.error_cap = cap;
  return {};
}

Result<void> set_repeat(Draft& /*draft*/, std::string_view value) {
  const std::array<std::string_view, 2> words = {"class", "document"};
  return checked(word_of(value, words));
}

Result<void> set_repeat_of(Draft& /*draft*/, std::string_view value) {
  const std::array<std::string_view, 4> words = {"free", "closed", "never", "document"};
  return checked(word_of(value, words));
}

Result<void> set_strikes(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(number, number_of(value, 0, 1000));
  draft.policy.health.strikes_max = static_cast<std::uint16_t>(number);
  return {};
}

Result<void> set_closed_base(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(base, duration_of(value, {.low = 100ms, .high = 24h}));
  draft.policy.health.wait_base = base;
  return {};
}

Result<void> set_closed_max(Draft& draft, std::string_view value) {
  POSTRIDER_TRY(most, duration_of(value, {.low = 100ms, .high = 24h}));
  draft.policy.health.wait_max = most;
  return {};
}

// clang-format off
constexpr std::array<settings::Setting<Draft>, kSettingCount> kSettings = {{
    {{"plugin", "", "lorawan", "1 to 64 letters, digits, '_' and '-'", "whose queue it is"}, set_plugin},
    {{"way", "", "chirpstack", "chirpstack, chirpstack-mqtt, calin-v1 or calin-v2", "how commands travel"}, set_way},
    {{"url", "", "http://127.0.0.1:8080", "an http or https address without a slash at its end", "of the network server's gRPC, or of the vendor"}, set_url},
    {{"api_key", "", "", "up to 1024 bytes of printable ASCII", "chirpstack: the token for its API"}, set_text},
    {{"application", "", "", "a name", "chirpstack-mqtt: the id of the devices' application"}, set_name},
    {{"broker", "", "", "a name", "chirpstack-mqtt: the broker of the configuration that takes commands"}, set_name},
    {{"company", "", "", "up to 1024 bytes of printable ASCII", "calin: the company"}, set_text},
    {{"user", "", "", "up to 1024 bytes of printable ASCII", "calin: the user"}, set_text},
    {{"password", "", "", "up to 1024 bytes of printable ASCII", "calin: the password"}, set_text},
    {{"customer", "", "", "up to 1024 bytes of printable ASCII", "calin-v2: the customer id"}, set_text},
    {{"vend_password", "", "", "up to 1024 bytes of printable ASCII", "calin: the password for making tokens"}, set_text},
    {{"sts_url", "", "", "an http or https address without a slash at its end", "a service that makes tokens from decoder keys, instead of the vendor"}, set_url},
    {{"trust", "", "", "certificates in PEM, up to 12288 bytes", "authorities that are trusted instead of the system's"}, set_trust},
    {{"events", "", "", "the name of a destination", "a webhook destination that hears what becomes of commands"}, set_name},
    {{"events_cancelled", "false", "", "true or false", "whether it hears of cancelled ones, too"}, set_flag},
    {{"spacing", "2s", "", "1ms to 1h, or 0 for none", "between two picks; 0 for pull"}, set_spacing},
    {{"in_flight_max", "5", "", "0 to 65535, 0 for no limit", "commands at work at once; 0 for push"}, set_in_flight_max},
    {{"age_step", "0", "", "1s to 24h, or 0 for never", "so much waiting is worth one priority, among the commands in memory (16384 of a queue)"}, set_age_step},
    {{"retries", "11", "", "0 to 1000", "after the first attempt"}, set_retries},
    {{"retry_base", "2s", "", "1ms to 1h", "the first back-off; it doubles"}, set_retry_base},
    {{"retry_cap", "1h", "", "1s to 24h", "the longest back-off, before jitter"}, set_retry_cap},
    {{"jitter_percent", "50", "", "0 to 100", "each back-off is longer by a random part of itself"}, set_jitter},
    {{"tick", "0", "", "1ms to 1m, or 0 for exact", "back-offs end at multiples of it, as a sweep would"}, set_tick},
    {{"call_time_out", "20s", "", "100ms to 24h", "of handing a command over; 120s for pull"}, set_time_out<TimeOut::kAttempt>},
    {{"probe_time_out", "10s", "", "100ms to 24h", "of asking the server for its queue"}, set_time_out<TimeOut::kProbe>},
    {{"poll_time_out", "120s", "", "100ms to 24h", "of asking the vendor for a task"}, set_time_out<TimeOut::kCall>},
    {{"server_time_out", "15m", "", "100ms to 24h", "until the server is asked whether it still has a command"}, set_time_out<TimeOut::kStage>},
    {{"air_time_out", "12s", "", "100ms to 24h", "from transmission to acknowledgement"}, set_time_out<TimeOut::kLate>},
    {{"pair_window", "10s", "", "100ms to 10m", "an acknowledgement and the uplink with the answer are less than this apart"}, set_pair_window},
    {{"life_max", "7d", "", "1m to 7d", "a command expires at this age; 48h for pull"}, set_life},
    {{"expires_after", "24h", "", "1m to 7d", "how long the server may keep a command"}, set_expires_after},
    {{"server_expiry", "true", "", "true or false", "whether the server knows expires_at: ChirpStack from 4.10 on does"}, set_flag},
    {{"poll_first", "10s", "", "100ms to 1h", "from the vendor's acceptance to the first question"}, set_poll_first},
    {{"poll_waits", "10s,15s,20s,30s", "", "four durations", "between questions, by the age of the command"}, set_poll_waits},
    {{"poll_ages", "20s,50s,90s", "", "three durations that rise", "from which the second, third and fourth wait hold"}, set_poll_ages},
    {{"ask_again_base", "30s", "", "100ms to 24h", "the first wait after a question that failed; it doubles; 2s for push"}, set_ask_again_base},
    {{"ask_again_cap", "15m", "", "100ms to 24h", "the longest such wait; 60s for push"}, set_ask_again_cap},
    {{"repeat", "class", "", "class or document", "document: everything may be repeated, as the original did"}, set_repeat},
    {{"repeat.*", "", "", "free, closed, never or document", "what may follow an open attempt at this command"}, set_repeat_of},
    {{"strikes_max", "5", "", "0 to 1000, 0 for never", "pull: failed calls in a row that close the vendor; push: silent attempts in a row that hold a device off, 0 there"}, set_strikes},
    {{"closed_base", "60s", "", "100ms to 24h", "how long that lasts at first"}, set_closed_base},
    {{"closed_max", "60s", "", "100ms to 24h", "and at most, doubling; 15m for push"}, set_closed_max},
}};
// clang-format on

std::string_view row_name(std::string_view name) {
  if (!name.starts_with(kRepeat)) return name;
  const auto command = parse_command(name.substr(kRepeat.size()));
  return command && is_submittable(*command) ? "repeat.*" : "";
}

Wire parse_wire(std::string_view word) {
  const auto found = std::find(kWires.begin(), kWires.end(), word);
  return found == kWires.end() ? Wire::kChirpstack : static_cast<Wire>(found - kWires.begin());
}

Result<void> check_together(const Draft& draft, const NamedTexts& settings) {
  const auto need = [&](std::string_view name) -> Result<void> {
    if (find_text(settings, name) != nullptr) return {};
    return fail(ErrorCode::kInvalid, std::string(name) + " is missing: way '" +
                                         std::string(kWires[static_cast<std::size_t>(draft.wire)]) +
                                         "' needs it");
  };
  std::vector<std::string_view> needed = {"plugin", "way", "url"};
  if (draft.wire == Wire::kChirpstackMqtt) needed.insert(needed.end(), {"application", "broker"});
  if (way_of(draft.wire) == Way::kPull)
    needed.insert(needed.end(), {"company", "user", "password"});
  for (const std::string_view name : needed) {
    if (Result<void> there = need(name); !there) return there;
  }
  if (draft.policy.health.wait_max < draft.policy.health.wait_base)
    return fail(ErrorCode::kInvalid, "closed_max: it must not be below closed_base");
  return {};
}

}  // namespace

constinit const std::array<SettingRow, kSettingCount> kSettingRows = settings::rows_of(kSettings);

Result<Policy> configure(const NamedTexts& settings) {
  Draft draft;
  if (const std::string* way = find_text(settings, "way")) draft.wire = parse_wire(*way);
  draft.policy = default_policy(way_of(draft.wire));
  if (const Result<void> good =
          settings::apply_all(draft, settings, kSettings, kSettingRows, row_name);
      !good)
    return tl::unexpected<Error>(good.error());
  if (const Result<void> good = check_together(draft, settings); !good)
    return tl::unexpected<Error>(good.error());
  return draft.policy;
}

std::string_view setting(const DestinationFacts& queue, std::string_view name,
                         std::string_view fallback) {
  const std::string* given = find_text(queue.settings, name);
  return given == nullptr ? fallback : std::string_view(*given);
}

Wire wire_of(const DestinationFacts& queue) { return parse_wire(setting(queue, "way")); }

Way way_of(Wire wire) {
  return wire == Wire::kCalinV1 || wire == Wire::kCalinV2 ? Way::kPull : Way::kPush;
}

Repeat repeat_of(const DestinationFacts& queue, Command command) {
  const std::string own = std::string(kRepeat).append(name_of(command));
  if (const std::string* word = find_text(queue.settings, own)) {
    if (const auto repeat = parse_repeat(*word)) return *repeat;
  }
  if (setting(queue, "repeat", "class") == "document") return Repeat::kFree;
  return default_repeat(command);
}

Duration expires_after(const DestinationFacts& queue) {
  const std::string_view given = setting(queue, "expires_after");
  return given.empty() ? kExpiresAfter : parse_duration(given).value_or(kExpiresAfter);
}

}  // namespace postrider::device
