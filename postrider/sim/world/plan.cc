#include "postrider/sim/world/plan.h"

#include <algorithm>
#include <array>

#include "postrider/base/planted.h"
#include "postrider/profiles/all.h"
#include "postrider/profiles/device/table.h"
#include "postrider/shard/limits.h"
#include "postrider/sim/fields/device/plan.h"
#include "postrider/sim/fields/drill/drill.h"
#include "postrider/sim/world/staged.h"

namespace postrider::sim {
namespace {

template <std::size_t kCount>
std::string_view one_of(const std::array<std::string_view, kCount>& choices, Rng& rng) {
  return choices[rng.below(kCount)];
}

template <class Value, std::size_t kCount>
Value pick(const std::array<Value, kCount>& choices, Rng& rng) {
  return choices[rng.below(kCount)];
}

// Sets `name` in one of `often` destinations; the others keep the default.
template <std::size_t kCount>
void maybe(NamedTexts& settings, std::string_view name, std::uint32_t often,
           const std::array<std::string_view, kCount>& choices, Rng& rng) {
  const std::string_view value = one_of(choices, rng);
  if (rng.chance(1, often)) settings.emplace_back(std::string(name), std::string(value));
}

void change(NamedTexts& settings, std::string_view name, std::string_view value) {
  std::erase_if(settings, [name](const NamedText& setting) { return setting.first == name; });
  settings.emplace_back(std::string(name), std::string(value));
}

constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

std::string peer_address(std::uint32_t peer) {
  return "https://peer-" + std::to_string(peer) + ".example/hook";
}

NamedTexts webhook_settings(std::uint32_t peer, Rng& rng) {
  using Texts3 = std::array<std::string_view, 3>;
  NamedTexts settings{{"url", peer_address(peer)}};
  maybe(settings, "secret", 2, Texts3{kSecret, kSecret, kSecret}, rng);
  maybe(settings, "ladder", 3, Texts3{"1s,5s", "10s,1m,10m", "1s,2s,4s,8s,5m"}, rng);
  maybe(settings, "jitter_percent", 4, Texts3{"0", "50", "100"}, rng);
  maybe(settings, "budget", 3, Texts3{"1m", "2h", "20h"}, rng);
  maybe(settings, "retry_after_max", 4, Texts3{"0", "1m", "2h"}, rng);
  maybe(settings, "time_out", 4, Texts3{"2s", "20s", "1m"}, rng);
  maybe(settings, "in_flight_max", 3, Texts3{"1", "2", "20"}, rng);
  maybe(settings, "rate", 5, Texts3{"1", "3", "10"}, rng);
  maybe(settings, "strikes_max", 4, Texts3{"0", "1", "3"}, rng);
  maybe(settings, "wait_max", 4, Texts3{"5s", "1m", "1h"}, rng);
  maybe(settings, "disable_after", 4, Texts3{"10m", "6h", "0"}, rng);
  maybe(settings, "order", 2, Texts3{"fifo", "fifo", "none"}, rng);
  maybe(settings, "reject", 4, Texts3{"retry", "retry", "dead"}, rng);
  maybe(settings, "when_disabled", 3, Texts3{"hold", "hold", "refuse"}, rng);
  // Apart, so that the other draws of older worlds stay what they were.
  Rng more = Rng(rng).fork(1);
  maybe(settings, "when_exhausted", 2, Texts3{"park", "park", "dead"}, more);
  maybe(settings, "attempts_max", 3, Texts3{"1", "3", "6"}, more);
  Rng fair = Rng(rng).fork(2);
  maybe(settings, "adapt", 3, Texts3{"off", "off", "on"}, fair);
  maybe(settings, "tenant", 2, Texts3{"a", "b", "c"}, fair);
  if (fair.chance(1, 3)) {
    settings.emplace_back("group", "site");
    settings.emplace_back("group_in_flight_max", "2");
  }
  Rng kept = Rng(rng).fork(4);
  maybe(settings, "history", 3, Texts3{"on", "on", "off"}, kept);
  Rng lanes = Rng(rng).fork(3);
  maybe(settings, "lower_priority_every", 2, Texts3{"2", "2", "3"}, lanes);
  maybe(settings, "priority_ageing", 4, Texts3{"1s", "1m", "1h"}, lanes);
  maybe(settings, "on_poison", 2, Texts3{"park", "skip", "park"}, lanes);
  maybe(settings, "poison_after", 2, Texts3{"1", "2", "3"}, lanes);
  if (peer % 3 == 1 && lanes.chance(1, 2)) change(settings, "in_flight_max", "1");
  return settings;
}

NamedTexts drill_settings(std::uint32_t peer, Rng& rng) {
  using Texts3 = std::array<std::string_view, 3>;
  NamedTexts settings{{"peer", "peer-" + std::to_string(peer)}};
  maybe(settings, "window", 2, Texts3{"1", "2", "5"}, rng);
  maybe(settings, "fifo", 2, Texts3{"65535", "2", "1"}, rng);
  maybe(settings, "in-use", 2, Texts3{"1", "2", "4"}, rng);
  maybe(settings, "spacing", 5, Texts3{"100", "1000", "7000"}, rng);
  maybe(settings, "tokens", 5, Texts3{"1", "2", "5"}, rng);
  maybe(settings, "burst", 5, Texts3{"1", "2", "10"}, rng);
  maybe(settings, "strikes", 2, Texts3{"1", "3", "5"}, rng);
  maybe(settings, "wait-max", 3, Texts3{"5000", "60000", "3600000"}, rng);
  maybe(settings, "disable-after", 5, Texts3{"600000", "7200000", "86400000"}, rng);
  maybe(settings, "attempts", 2, Texts3{"1", "3", "8"}, rng);
  maybe(settings, "budget", 3, Texts3{"60000", "3600000", "36000000"}, rng);
  maybe(settings, "base", 2, Texts3{"1000", "10000", "60000"}, rng);
  maybe(settings, "cap", 3, Texts3{"1000", "60000", "7200000"}, rng);
  maybe(settings, "cap-after", 4, Texts3{"1", "2", "4"}, rng);
  maybe(settings, "tick", 2, Texts3{"1000", "60000", "7000"}, rng);
  maybe(settings, "jitter", 3, Texts3{"0", "50", "100"}, rng);
  maybe(settings, "stage", 3, Texts3{"5000", "60000", "900000"}, rng);
  maybe(settings, "hold", 3, Texts3{"1", "1", "0"}, rng);
  maybe(settings, "route", 2, Texts3{"ask", "stale", "known"}, rng);
  maybe(settings, "link", 6, Texts3{"cold", "cold", "warm"}, rng);
  maybe(settings, "poll", 3, Texts3{"1000", "30000", "300000"}, rng);
  maybe(settings, "poll-error", 3, Texts3{"0", "1000", "60000"}, rng);
  maybe(settings, "life", 4, Texts3{"600000", "36000000", "172800000"}, rng);
  Rng more = Rng(rng).fork(1);
  maybe(settings, "strand", 2, Texts3{"1", "1", "0"}, more);
  Rng fair = Rng(rng).fork(2);
  maybe(settings, "adapt", 2, Texts3{"1", "1", "0"}, fair);
  maybe(settings, "tenant", 2, Texts3{"1", "2", "3"}, fair);
  maybe(settings, "group", 3, Texts3{"1", "2", "3"}, fair);
  Rng kept = Rng(rng).fork(4);
  maybe(settings, "history", 3, Texts3{"1", "1", "0"}, kept);
  Rng lanes = Rng(rng).fork(3);
  maybe(settings, "lower", 2, Texts3{"2", "2", "3"}, lanes);
  maybe(settings, "ageing", 4, Texts3{"1000", "60000", "3600000"}, lanes);
  maybe(settings, "poison", 2, Texts3{"1", "2", "1"}, lanes);
  maybe(settings, "poison-after", 2, Texts3{"1", "2", "3"}, lanes);
  if (peer % 3 == 1 && lanes.chance(1, 2)) change(settings, "in-use", "1");
  return settings;
}

// Hours and kilobytes instead of weeks and gigabytes, so that a short world sees things go.
void shorten_memory(EngineOptions& engine, Rng& rng) {
  using Durations = std::array<Duration, 3>;
  using Counts = std::array<std::uint32_t, 3>;
  for (Retention* kept : {&engine.log, &engine.ends, &engine.dead}) {
    kept->age = pick(Durations{1h, 7h, 50h}, rng);
    kept->bytes = pick(Counts{0, 3000, 30'000}, rng);
  }
  engine.key_window = pick(Durations{2h, 9h, 24h}, rng);
  engine.key_ahead = pick(Durations{10min, 1h, 2h}, rng);
  engine.ledger.age = engine.key_window + engine.key_ahead;
  engine.arrivals.age = pick(Durations{1h, 7h, 50h}, rng);
  engine.arrivals.bytes = pick(Counts{0, 3000, 30'000}, rng);
  engine.history.age = pick(Durations{1h, 7h, 50h}, rng);
  engine.pending_news.count = pick(Counts{4, 40, 100'000}, rng);
}

void tighten(const SimOptions& options, ShardOptions& shard, Rng& rng) {
  // Each limit is at its smallest in about every third world; all of them together nearly never.
  using Counts = std::array<std::uint32_t, 3>;
  const bool big = options.messages > 5000;
  EngineLimits& limits = shard.engine.limits;
  const auto third = [&rng] { return rng.chance(1, 3); };
  if (third()) limits.open_attempts_max = big ? 64 : pick(Counts{1, 2, 8}, rng);
  if (third()) limits.window_bytes_max = big ? 65'536 : pick(Counts{1, 500, 4000}, rng);
  if (third()) limits.refill_rows_max = pick(Counts{2, 3, 5}, rng);
  if (third()) limits.hot_sleepers_max = pick(Counts{0, 1, 3}, rng);
  if (third()) limits.hot_sleep_max = Duration(pick(Counts{0, 1000, 600'000}, rng));
  if (third()) limits.residents_max = pick(Counts{0, 1, 2}, rng);
  if (third()) limits.due_rows_max = pick(Counts{1, 2, 7}, rng);
  if (third()) limits.due_horizon = Duration(pick(Counts{60'000, 200'000, 7'200'000}, rng));
  if (third()) limits.restore_rows_max = pick(Counts{1, 2, 5}, rng);
  if (third()) limits.timers_per_step_max = pick(Counts{1, 2, 5}, rng);
  if (third()) limits.answer_rows_max = pick(Counts{1, 2, 10}, rng);
  if (third()) shard.event_queue_max = pick(Counts{1, 2, 50}, rng);
  if (third()) shard.parked_max = pick(Counts{1, 2, 10}, rng);
  if (third()) shard.turn_events_max = pick(Counts{1, 2, 10}, rng);
  if (third()) shard.turn_bytes_max = pick(Counts{1, 300, 5000}, rng);
  if (third()) shorten_memory(shard.engine, rng);
  // From the seed, so that the other draws of older worlds stay what they were.
  constexpr Counts kWaiters = {0, 2, 1024};
  limits.lane_waiters_max = kWaiters[shard.engine.seed % kWaiters.size()];
  constexpr Counts kNames = {0, 2, 16'384};
  limits.recent_names_max = kNames[shard.engine.seed / 3 % kNames.size()];
  constexpr Counts kFew = {1, 2, 1000};
  limits.job_rows_max = kFew[shard.engine.seed / 3 % kFew.size()];
  limits.dead_groups_max = kFew[shard.engine.seed / 9 % kFew.size()];
  limits.jobs_running_max = kFew[shard.engine.seed / 27 % kFew.size()];
  limits.body_rows_max = kFew[shard.engine.seed / 243 % kFew.size()];
  limits.jobs_kept_max = kFew[shard.engine.seed / 81 % kFew.size()];
  limits.census_pages_max = kFew[shard.engine.seed / 9 % kFew.size()];
  limits.census_counts_max = kFew[shard.engine.seed / 27 % kFew.size()];
  constexpr Counts kLast = {0, 2, 16};
  limits.attempts_kept_max = kLast[shard.engine.seed / 729 % kLast.size()];
}

// Drawn at random where stores are real; here the seed is all that is drawn.
IdKey id_key_from(std::uint64_t seed) {
  Rng rng = Rng(seed).fork(22);
  IdKey key{};
  for (std::uint8_t& byte : key) byte = static_cast<std::uint8_t>(rng.below(256));
  return key;
}

// The device profile with one row that is wrong: a question that failed sends the command again.
const ProfileSpec& resending_twin(const ProfileSpec& truth) {
  static std::vector<std::vector<Transition>> tables;
  static std::vector<Method> methods;
  static ProfileSpec twin = truth;
  for (const Method& method : truth.methods) {
    std::vector<Transition>& rows = tables.emplace_back(method.rows.begin(), method.rows.end());
    for (Transition& row : rows) {
      if (row.from != in(device::kPolling) || row.on != On::kFailed) continue;
      row.to = device::kToRetry;
      row.verb = Do::kRetry;
    }
    methods.push_back(method);
  }
  for (std::size_t i = 0; i < methods.size(); ++i) methods[i].rows = tables[i];
  twin.methods = methods;
  return twin;
}

}  // namespace

std::span<const ProfileSpec* const> sim_profiles() {
  static const std::vector<const ProfileSpec*> kProfiles = [] {
    const auto real = all_profiles();
    std::vector<const ProfileSpec*> list(real.begin(), real.end());
    list.push_back(&drill_profile());
    return list;
  }();
  if (!planted(Bug::kFailedPollResends)) return kProfiles;
  static const std::vector<const ProfileSpec*> kTwins = [] {
    std::vector<const ProfileSpec*> list = kProfiles;
    for (const ProfileSpec*& profile : list) {
      if (profile->name == kDeviceProfile) profile = &resending_twin(*profile);
    }
    return list;
  }();
  return kTwins;
}

const ProfileSpec* find_sim_profile(std::string_view name) {
  for (const ProfileSpec* profile : sim_profiles()) {
    if (profile->name == name) return profile;
  }
  return nullptr;
}

Result<std::vector<DestinationConfig>> own_destinations(std::vector<DestinationConfig> real) {
  std::uint32_t peer = 0;
  for (DestinationConfig& config : real) {
    if (config.profile != "webhook")
      return fail(ErrorCode::kInvalid, "destination '" + config.name + "': the profile '" +
                                           config.profile + "' cannot be rehearsed");
    NamedTexts settings;
    for (auto& [name, value] : config.settings) {
      if (name == "trust") continue;
      if (name == "url") value = peer_address(peer);
      if (name == "secret") value = kSecret;
      if (name.starts_with("headers.")) value = "x";
      if (name == "id_header") continue;
      settings.emplace_back(name, value);
    }
    // Peers know a message by this header, which one of the signatures leaves out.
    const std::string* signature = find_text(settings, "signature");
    if (signature != nullptr && *signature == "hmac-sha256-body")
      settings.emplace_back("id_header", "webhook-id");
    config.settings = std::move(settings);
    ++peer;
  }
  return real;
}

DestinationConfig draw_destination(const SimOptions& options, std::uint32_t number, Rng& rng) {
  if (options.world != WorldKind::kDrawn) return staged_destination(options, number);
  if (!options.own.empty()) return options.own[number % options.own.size()];
  if (options.profile == kDeviceProfile && !is_consumer(number))
    return draw_device_queue(options, number, rng);
  DestinationConfig config;
  config.name = "destination-" + std::to_string(number);
  config.profile = options.profile == "drill" ? "drill" : "webhook";
  config.settings =
      options.profile == "drill" ? drill_settings(number, rng) : webhook_settings(number, rng);
  return config;
}

ShardOptions draw_shard_options(const SimOptions& options, bool tight, Rng& rng) {
  ShardOptions shard;
  shard.engine.profiles = sim_profiles();
  shard.engine.seed = rng.next();
  shard.engine.id_key = id_key_from(shard.engine.seed);
  stage_limits(options, shard);
  if (tight) tighten(options, shard, rng);
  const auto legal = check_limits(shard);
  POSTRIDER_CHECK(legal.has_value());  // what nobody may set proves nothing
  return shard;
}

Duration longest_wait(const Policy& policy) {
  Duration longest{0};
  for (const RetryRule& rule : policy.retry) {
    Duration delay = rule.cap;
    for (const Duration step : rule.steps) delay = std::max(delay, step);
    if (rule.cap > Duration(0)) delay = rule.cap;
    delay = delay + delay * rule.jitter_percent / 100 + rule.tick;
    longest = std::max({longest, delay, rule.retry_after_max});
  }
  for (const Duration time_out : policy.time_outs) longest = std::max(longest, time_out);
  longest = std::max(longest, policy.health.revive_every);
  longest = std::max({longest, policy.poll.wait_at(policy.life_max), policy.poll.error_cap});
  return std::max(longest, policy.health.wait_max) + policy.route.spacing;
}

}  // namespace postrider::sim
