#include "postrider/sim/world/plan.h"

#include <algorithm>
#include <array>
#include <memory>

#include "postrider/base/check.h"
#include "postrider/model/secrets.h"
#include "postrider/shard/limits.h"
#include "postrider/sim/world/staged.h"

namespace postrider::sim {
namespace {

template <class Value, std::size_t kCount>
Value pick(const std::array<Value, kCount>& choices, Rng& rng) {
  return choices[rng.below(kCount)];
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
  limits.recent_cards_max = kNames[shard.engine.seed / 3 % kNames.size()];
  constexpr Counts kFew = {1, 2, 1000};
  limits.job_rows_max = kFew[shard.engine.seed / 3 % kFew.size()];
  limits.dead_groups_max = kFew[shard.engine.seed / 9 % kFew.size()];
  limits.jobs_running_max = kFew[shard.engine.seed / 27 % kFew.size()];
  limits.body_rows_max = kFew[shard.engine.seed / 243 % kFew.size()];
  limits.jobs_kept_max = kFew[shard.engine.seed / 81 % kFew.size()];
  limits.census_pages_max = kFew[shard.engine.seed / 9 % kFew.size()];
  limits.census_counts_max = kFew[shard.engine.seed / 27 % kFew.size()];
  limits.sweep_cold_min = kFew[shard.engine.seed / 9 % kFew.size()] + 1;
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

// A world's key files, of which no byte may be seen anywhere.
std::shared_ptr<const Secrets> secrets_from(std::uint64_t seed) {
  Rng rng = Rng(seed).fork(23);
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes.push_back(static_cast<char>('a' + rng.below(26)));
  auto secrets = std::make_shared<Secrets>();
  secrets->put("seal", std::move(bytes));
  return secrets;
}

}  // namespace

Result<std::vector<DestinationConfig>> own_destinations(const Fields& fields,
                                                        std::vector<DestinationConfig> real) {
  std::uint32_t peer = 0;
  for (DestinationConfig& config : real) {
    const Field* field = fields.find(config.profile);
    if (field == nullptr)
      return fail(ErrorCode::kInvalid, "destination '" + config.name + "': the profile '" +
                                           config.profile + "' cannot be rehearsed");
    POSTRIDER_TRY(own, field->rehearse(std::move(config), peer++));
    config = std::move(own);
  }
  return real;
}

DestinationConfig draw_destination(const Fields& fields, const SimOptions& options,
                                   std::uint32_t number, Rng& rng) {
  const Field& field = fields.of(options);
  if (options.world != WorldKind::kDrawn) {
    auto staged = field.stage(staged_destination(options, number));
    POSTRIDER_CHECK(staged.has_value());
    return std::move(*staged);
  }
  if (!options.own.empty()) return options.own[number % options.own.size()];
  const Field* its = fields.find(field.profile_of(number));
  POSTRIDER_CHECK(its != nullptr);
  return its->draw_destination(options, number, rng);
}

ShardOptions draw_shard_options(const SimOptions& options, bool tight, Rng& rng) {
  ShardOptions shard;
  shard.engine.seed = rng.next();
  shard.engine.id_key = id_key_from(shard.engine.seed);
  shard.engine.secrets = secrets_from(shard.engine.seed);
  stage_limits(options, shard);
  if (tight) tighten(options, shard, rng);
  const auto legal = check_limits(shard);
  POSTRIDER_CHECK(legal.has_value());  // what nobody may set proves nothing
  return shard;
}

std::shared_ptr<const Secrets> with_secrets_of(const Field& field, const Secrets& secrets) {
  auto all = std::make_shared<Secrets>();
  for (const std::string_view name : secrets.names())
    all->put(std::string(name), std::string(secrets.find(name)));
  field.add_secrets(*all);
  return all;
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
