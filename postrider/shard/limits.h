// The ranges of everything that limits a shard and its engine, and the only place that has them:
// the reader of settings, the library and the simulator refuse what is outside. Inside, whatever
// the combination, the promises of the engine hold; the simulator draws from these ranges.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>

#include "postrider/base/check.h"
#include "postrider/base/result.h"
#include "postrider/shard/shard.h"

namespace postrider {

// Of numbers and bytes themselves, of durations in milliseconds.
struct LimitRange {
  std::int64_t low = 0;
  std::int64_t high = 0;
  bool or_zero = false;  // 0 is allowed below `low`, and means something else

  constexpr bool holds(std::int64_t value) const {
    return (value >= low && value <= high) || (or_zero && value == 0);
  }
};

using LimitField = std::variant<std::uint32_t& (*)(ShardOptions&),
                                std::uint64_t& (*)(ShardOptions&), Duration& (*)(ShardOptions&)>;

struct LimitRow {
  std::string_view name;  // as its setting is called, without the section
  LimitField field;
  LimitRange range;
};

namespace limits {

template <auto... kPath>
auto& at(ShardOptions& options) {
  return (options.*....*kPath);
}
template <auto... kPath>
inline constexpr auto kEngine = &at<&ShardOptions::engine, kPath...>;
template <auto kMember>
inline constexpr auto kLimit = kEngine<&EngineOptions::limits, kMember>;

inline constexpr std::int64_t kKiB = 1024;
inline constexpr std::int64_t kMiB = 1024 * kKiB;
inline constexpr std::int64_t kGiB = 1024 * kMiB;
inline constexpr std::int64_t kSecond = 1000;
inline constexpr std::int64_t kMinute = 60 * kSecond;
inline constexpr std::int64_t kHour = 60 * kMinute;
inline constexpr std::int64_t kDay = 24 * kHour;
inline constexpr std::int64_t kMillion = 1'000'000;
inline constexpr LimitRange kKeptAge{kMinute, 3650 * kDay};
inline constexpr LimitRange kKeptBytes{kKiB, 1024 * kGiB, true};

// clang-format off
inline constexpr auto kRows = std::to_array<LimitRow>({
    {"body_bytes_max", kLimit<&EngineLimits::body_bytes_max>, {kKiB, 16 * kMiB}},
    {"attributes_bytes_max", kLimit<&EngineLimits::attributes_bytes_max>, {kKiB, kMiB}},
    {"key_bytes_max", kLimit<&EngineLimits::key_bytes_max>, {16, 255}},
    {"name_bytes_max", kLimit<&EngineLimits::name_bytes_max>, {16, 255}},
    {"settings_bytes_max", kLimit<&EngineLimits::settings_bytes_max>, {kKiB, kMiB}},
    {"reason_bytes_max", kLimit<&EngineLimits::reason_bytes_max>, {40, 4096}},
    {"attempts_kept_max", kLimit<&EngineLimits::attempts_kept_max>, {0, 64}},
    {"open_attempts_max", kLimit<&EngineLimits::open_attempts_max>, {1, 65'536}},
    {"window_bytes_max", kLimit<&EngineLimits::window_bytes_max>, {1, 64 * kGiB}},
    {"refill_rows_max", kLimit<&EngineLimits::refill_rows_max>, {1, 4096}},
    {"hot_sleepers_max", kLimit<&EngineLimits::hot_sleepers_max>, {0, 10 * kMillion}},
    {"hot_sleep_max", kLimit<&EngineLimits::hot_sleep_max>, {0, kHour}},
    {"residents_max", kLimit<&EngineLimits::residents_max>, {0, 10 * kMillion}},
    {"due_rows_max", kLimit<&EngineLimits::due_rows_max>, {1, 65'536}},
    {"due_horizon", kLimit<&EngineLimits::due_horizon>, {kSecond, kDay}},
    {"restore_rows_max", kLimit<&EngineLimits::restore_rows_max>, {1, 65'536}},
    {"timers_per_step_max", kLimit<&EngineLimits::timers_per_step_max>, {1, 65'536}},
    {"answer_rows_max", kLimit<&EngineLimits::answer_rows_max>, {1, 10'000}},
    {"arrival_bytes_max", kLimit<&EngineLimits::arrival_bytes_max>, {kKiB, 16 * kMiB}},
    {"lane_waiters_max", kLimit<&EngineLimits::lane_waiters_max>, {0, kMillion}},
    {"news_per_name_max", kLimit<&EngineLimits::news_per_name_max>, {1, 1024}},
    {"recent_names_max", kLimit<&EngineLimits::recent_names_max>, {0, 10 * kMillion}},
    {"superseded_max", kLimit<&EngineLimits::superseded_max>, {1, 1024}},
    {"swept_keys_max", kLimit<&EngineLimits::swept_keys_max>, {0, 100 * kMillion}},
    {"sweep_cold_min", kLimit<&EngineLimits::sweep_cold_min>, {1, kMillion}},
    {"live_max", kLimit<&EngineLimits::live_max>, {1, 1000 * kMillion}},
    {"dead_groups_max", kLimit<&EngineLimits::dead_groups_max>, {1, kMillion}},
    {"holds_max", kLimit<&EngineLimits::holds_max>, {1, 1024}},
    {"job_every_min", kLimit<&EngineLimits::job_every_min>, {kSecond, kDay}},
    {"jobs_running_max", kLimit<&EngineLimits::jobs_running_max>, {1, 1024}},
    {"jobs_kept_max", kLimit<&EngineLimits::jobs_kept_max>, {1, 65'536}},
    {"job_rows_max", kLimit<&EngineLimits::job_rows_max>, {1, 1024}},
    {"job_rate_max", kLimit<&EngineLimits::job_rate_max>, {1, kMillion}},
    {"job_rate_usual", kLimit<&EngineLimits::job_rate_usual>, {1, kMillion}},
    {"dry_runs_max", kLimit<&EngineLimits::dry_runs_max>, {1, 1024}},
    {"dry_run_rows_max", kLimit<&EngineLimits::dry_run_rows_max>, {1, 4'000'000'000}},
    {"group_members_max", kLimit<&EngineLimits::group_members_max>, {1, 10'000}},
    {"list_destinations_max", kLimit<&EngineLimits::list_destinations_max>, {1, 10'000}},
    {"templates_max", kLimit<&EngineLimits::templates_max>, {1, 4096}},
    {"group_bytes_max", kLimit<&EngineLimits::group_bytes_max>, {kKiB, 16 * kMiB}},
    {"member_types_max", kLimit<&EngineLimits::member_types_max>, {1, 1024}},
    {"census_pages_max", kLimit<&EngineLimits::census_pages_max>, {1, 65'536}},
    {"census_counts_max", kLimit<&EngineLimits::census_counts_max>, {1, kMillion}},
    {"awaits_max", kLimit<&EngineLimits::awaits_max>, {0, kMillion}},
    {"awaits_of_one_max", kLimit<&EngineLimits::awaits_of_one_max>, {1, 65'536}},
    {"await_max", kLimit<&EngineLimits::await_max>, {kSecond, kDay}},
    {"confirm_ids_max", kLimit<&EngineLimits::confirm_ids_max>, {1, 4096}},
    {"mailbox_rows_max", kLimit<&EngineLimits::mailbox_rows_max>, {1, 1000}},
    {"mailbox_bytes_max", kLimit<&EngineLimits::mailbox_bytes_max>, {kKiB, 64 * kMiB}},
    {"card_bytes_max", kLimit<&EngineLimits::card_bytes_max>, {kKiB, 16 * kMiB}},
    {"cards_of_step_max", kLimit<&EngineLimits::cards_of_step_max>, {1, 65'536}},
    {"card_bytes_of_step_max", kLimit<&EngineLimits::card_bytes_of_step_max>, {kKiB, 64 * kMiB}},
    {"cards_max", kLimit<&EngineLimits::cards_max>, {0, 1000 * kMillion}},
    {"recent_cards_max", kLimit<&EngineLimits::recent_cards_max>, {0, 10 * kMillion}},
    {"recent_card_bytes_max", kLimit<&EngineLimits::recent_card_bytes_max>, {0, 64 * kGiB}},
    {"body_rows_max", kLimit<&EngineLimits::body_rows_max>, {1, 65'536}},
    {"key_window", kEngine<&EngineOptions::key_window>, {kMinute, 30 * kDay}},
    {"key_ahead", kEngine<&EngineOptions::key_ahead>, {0, kDay}},
    {"ledger_age", kEngine<&EngineOptions::ledger, &Retention::age>, {kMinute, 60 * kDay}},
    {"ledger_bytes", kEngine<&EngineOptions::ledger, &Retention::bytes>, kKeptBytes},
    {"log_age", kEngine<&EngineOptions::log, &Retention::age>, kKeptAge},
    {"log_bytes", kEngine<&EngineOptions::log, &Retention::bytes>, kKeptBytes},
    {"ends_age", kEngine<&EngineOptions::ends, &Retention::age>, kKeptAge},
    {"ends_bytes", kEngine<&EngineOptions::ends, &Retention::bytes>, kKeptBytes},
    {"dead_age", kEngine<&EngineOptions::dead, &Retention::age>, kKeptAge},
    {"dead_bytes", kEngine<&EngineOptions::dead, &Retention::bytes>, kKeptBytes},
    {"audit_age", kEngine<&EngineOptions::audit, &Retention::age>, kKeptAge},
    {"audit_bytes", kEngine<&EngineOptions::audit, &Retention::bytes>, kKeptBytes},
    {"history_age", kEngine<&EngineOptions::history, &Retention::age>, kKeptAge},
    {"history_bytes", kEngine<&EngineOptions::history, &Retention::bytes>, kKeptBytes},
    {"names_age", kEngine<&EngineOptions::names, &Retention::age>, {kHour, 3650 * kDay}},
    {"halves_age", kEngine<&EngineOptions::pending_news, &Retention::age>, {kMinute, 30 * kDay}},
    {"halves_count", kEngine<&EngineOptions::pending_news, &Retention::count>, {1, 100 * kMillion}},
    {"arrivals_age", kEngine<&EngineOptions::arrivals, &Retention::age>, kKeptAge},
    {"arrivals_bytes", kEngine<&EngineOptions::arrivals, &Retention::bytes>, kKeptBytes},
    {"event_queue_max", &at<&ShardOptions::event_queue_max>, {1, kMillion}},
    {"parked_max", &at<&ShardOptions::parked_max>, {1, kMillion}},
    {"turn_events_max", &at<&ShardOptions::turn_events_max>, {1, kMillion}},
    {"turn_bytes_max", &at<&ShardOptions::turn_bytes_max>, {1, kGiB}},
});
// clang-format on

// For tables that the compiler makes; a name that is not there does not compile.
consteval LimitRange range_of(std::string_view name) {
  for (const LimitRow& row : kRows) {
    if (row.name == name) return row.range;
  }
  POSTRIDER_CHECK(false);
}

}  // namespace limits

std::int64_t value_of(const LimitRow& row, const ShardOptions& options);

// Fails with the first limit that is outside its range, or that contradicts another one.
Result<void> check_limits(const ShardOptions& options);

}  // namespace postrider
