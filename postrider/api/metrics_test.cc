// What /metrics says of the engine's figures, held against figures that are all different.
#include "postrider/api/metrics.h"

#include <map>
#include <sstream>

#include <gtest/gtest.h>

namespace postrider::api {
namespace {

class Metrics : public ::testing::Test {
 protected:
  std::string text() {
    MetricsInput input;
    input.stats = &stats;
    input.figures = figures;
    input.stations = stations;
    QueueGauges queues(1);
    for (const QueueRow& row : rows) queues.add(row);
    queues.finish();
    input.queues = &queues;
    return render_metrics(input, RequestCounts(0), {});
  }
  bool says(const std::string& line) {
    return ("\n" + text()).find("\n" + line + "\n") != std::string::npos;
  }
  Stats stats;
  ProcessFigures figures;
  std::optional<Stations::Figures> stations;
  std::vector<QueueRow> rows;
};

// req: station.figures.1
TEST_F(Metrics, TellOfStationsAndCardsWhereThereAreSome) {
  EXPECT_EQ(text().find("postrider_station_"), std::string::npos);
  EXPECT_EQ(text().find("postrider_cards"), std::string::npos);
  stats.cards = {{"one", 21}, {"two", 22}};
  stations = Stations::Figures{.lines = 31,
                               .lines_refused = 32,
                               .posts_refused = 33,
                               .news_lost = 34,
                               .overflows = 35,
                               .attempts_overdue = 36,
                               .misuses = 37};
  for (const char* line :
       {R"(postrider_cards{profile="one"} 21)", R"(postrider_cards{profile="two"} 22)",
        "postrider_station_lines 31", "postrider_station_lines_refused_total 32",
        "postrider_station_posts_refused_total 33", "postrider_station_news_lost_total 34",
        "postrider_station_overflows_total 35", "postrider_station_attempts_overdue_total 36",
        "postrider_station_misuses_total 37"})
    EXPECT_TRUE(says(line)) << line;
}

// req: device.obs.2
TEST_F(Metrics, TellEveryCounter) {
  Tallies& it = stats.tallies;
  it.attempts = 1;
  it.retries[static_cast<std::size_t>(FailureClass::kConnect)] = 2;
  it.retries[static_cast<std::size_t>(FailureClass::kServer)] = 3;
  it.outcomes = {{"executed", 4}, {"unknown", 5}};
  it.late_outcomes = 6;
  it.late_receipts = 7;
  it.mismatched = 8;
  it.repeated_arrivals = 9;
  it.adopted = 10;
  it.probes = 11;
  it.lower_turns = 14;
  it.closings = {{"breaker", 12}, {"hold-off", 13}};
  for (const char* line :
       {"postrider_attempts_total 1", R"(postrider_retries_total{cause="connect"} 2)",
        R"(postrider_retries_total{cause="server"} 3)",
        R"(postrider_outcomes_total{outcome="executed"} 4)",
        R"(postrider_outcomes_total{outcome="unknown"} 5)", "postrider_late_outcomes_total 6",
        "postrider_late_receipts_total 7", "postrider_mismatched_total 8",
        "postrider_arrivals_repeated_total 9", "postrider_adopted_total 10",
        "postrider_probes_total 11", "postrider_lower_priority_turns_total 14",
        R"(postrider_gate_closings_total{kind="breaker"} 12)",
        R"(postrider_gate_closings_total{kind="hold-off"} 13)"})
    EXPECT_TRUE(says(line)) << line;
}

// req: device.obs.2
TEST_F(Metrics, TellEveryTimeThatIsMeasured) {
  Tallies& it = stats.tallies;
  it.until_sent.add(1ms);
  it.until_answered.add(3s);
  it.until_ended.add(100s);
  it.timers_late.add(20ms);
  it.timers_late.add(40ms);
  for (const char* line : {"postrider_until_sent_seconds_sum 0.001",
                           R"(postrider_until_sent_seconds_bucket{le="0.002"} 1)",
                           R"(postrider_until_answered_seconds_bucket{le="4.096"} 1)",
                           "postrider_until_ended_seconds_sum 100.000",
                           R"(postrider_timers_late_seconds_bucket{le="0.032"} 1)",
                           R"(postrider_timers_late_seconds_bucket{le="0.064"} 2)",
                           R"(postrider_timers_late_seconds_bucket{le="+Inf"} 2)",
                           "postrider_timers_late_seconds_count 2"})
    EXPECT_TRUE(says(line)) << line;
}

// req: api.metrics.3
TEST_F(Metrics, TellEveryBucketOfEveryHistogramBeforeAnythingHappened) {
  const std::string all = text();
  std::map<std::string, std::size_t> buckets;
  std::size_t histograms = 0;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ") && line.ends_with(" histogram")) ++histograms;
    if (const std::size_t at = line.find("_bucket{le="); at != std::string::npos) {
      ++buckets[line.substr(0, at)];
      EXPECT_TRUE(line.ends_with("} 0")) << line;
    }
  }
  EXPECT_EQ(buckets.size(), histograms);
  ASSERT_TRUE(buckets.contains("postrider_accept_duration_seconds"));
  EXPECT_EQ(buckets.extract("postrider_accept_duration_seconds").mapped(),
            RequestCounts::kBucketsMs.size() + 1);
  for (const auto& [name, number] : buckets) EXPECT_EQ(number, Histogram::kBuckets) << name;
}

// req: api.metrics.4
TEST_F(Metrics, TellHowLongAttemptsTook) {
  stats.tallies.attempt_took.add(3ms);
  stats.tallies.attempt_took.add(15s);
  for (const char* line : {R"(postrider_attempt_duration_seconds_bucket{le="0.002"} 0)",
                           R"(postrider_attempt_duration_seconds_bucket{le="0.004"} 1)",
                           R"(postrider_attempt_duration_seconds_bucket{le="8.192"} 1)",
                           R"(postrider_attempt_duration_seconds_bucket{le="16.384"} 2)",
                           R"(postrider_attempt_duration_seconds_bucket{le="+Inf"} 2)",
                           "postrider_attempt_duration_seconds_sum 15.003",
                           "postrider_attempt_duration_seconds_count 2"})
    EXPECT_TRUE(says(line)) << line;
}

// req: api.metrics.5
TEST_F(Metrics, TellOfTheProcessByTheUsualNames) {
  figures = {.resident_bytes = 1,
             .virtual_bytes = 2,
             .cpu_ms = 3456,
             .started_ms = 1'700'000'000'123,
             .threads = 4,
             .open_files = 5,
             .open_files_max = 6};
  for (const char* line :
       {"process_resident_memory_bytes 1", "process_virtual_memory_bytes 2",
        "process_cpu_seconds_total 3.456", "process_start_time_seconds 1700000000.123",
        "process_threads 4", "process_open_fds 5", "process_max_fds 6"})
    EXPECT_TRUE(says(line)) << line;
}

// req: engine.deep.10, engine.batch.15, engine.latest.12
TEST_F(Metrics, TellOfDeepWaitsAndSignsOfLife) {
  stats.tallies.deep_waits = 2;
  stats.tallies.batches = 7;
  stats.tallies.batch_members = 21;
  stats.tallies.batch_splits = 1;
  stats.tallies.dropped_deep = 5;
  stats.tallies.superseded = 9;
  stats.tallies.roused = 7;
  for (const char* line : {"postrider_batches_total 7", "postrider_batch_members_total 21",
                           "postrider_batch_splits_total 1", "postrider_deep_waits_total 2",
                           "postrider_deep_dropped_total 5", "postrider_superseded_total 9",
                           "postrider_roused_total 7"})
    EXPECT_TRUE(says(line)) << line;
}

// req: engine.fair.7
TEST_F(Metrics, TellOfTenantsAndSlowStarts) {
  stats.tallies.slow_starts = 3;
  stats.tallies.tenants = {{7, "shop", 12}, {8, "a \"b\"", 2}};
  EXPECT_FALSE(says(R"(postrider_tenant_starts_total{tenant="other tenants"} 0)"));
  stats.tallies.other_tenants = 9;
  for (const char* line :
       {"postrider_slow_starts_total 3", R"(postrider_tenant_starts_total{tenant="shop"} 12)",
        R"(postrider_tenant_starts_total{tenant="a \"b\""} 2)",
        R"(postrider_tenant_starts_total{tenant="other tenants"} 9)"})
    EXPECT_TRUE(says(line)) << line;
}

// req: device.obs.1
TEST_F(Metrics, TellOfEachQueueAndEachState) {
  stats.now = Timestamp(10'000);
  rows.push_back({.id = DestinationId(1),
                  .destination = "lora.network:7",
                  .messages = 3,
                  .more = true,
                  .oldest = Timestamp(9'500),
                  .slots = 1,
                  .next_slot = 1500ms,
                  .slots_max = 4,
                  .health = Health::kWait});
  for (const std::uint64_t number : {2U, 3U}) {
    rows.push_back({.id = DestinationId(number),
                    .destination = "shop",
                    .messages = 1,
                    .oldest = Timestamp(9'900 - 500 * static_cast<std::int64_t>(number)),
                    .slots = 2});
  }
  stats.in_states.push_back({"device", "AtServer", 5, 2});
  stats.all_counted = true;
  for (const char* line :
       {R"(postrider_queue_messages{destination="lora.network:7"} 3)",
        R"(postrider_queue_more_on_disk{destination="lora.network:7"} 1)",
        R"(postrider_queue_oldest_age_seconds{destination="lora.network:7"} 0.500)",
        R"(postrider_queue_slots{destination="lora.network:7"} 1)",
        R"(postrider_queue_next_slot_seconds{destination="lora.network:7"} 1.500)",
        "postrider_queues 3", "postrider_oldest_age_seconds 1.600",
        R"-(postrider_queue_messages{destination="(other)"} 2)-",
        R"-(postrider_queue_more_on_disk{destination="(other)"} 0)-",
        R"-(postrider_queue_oldest_age_seconds{destination="(other)"} 1.600)-",
        R"-(postrider_queue_slots{destination="(other)"} 4)-",
        R"(postrider_queue_slots_max{destination="lora.network:7"} 4)",
        R"(postrider_queue_health{destination="lora.network:7",health="wait"} 1)",
        R"(postrider_window_state_messages{profile="device",state="AtServer"} 2)",
        R"(postrider_state_messages{profile="device",state="AtServer"} 5)"})
    EXPECT_TRUE(says(line)) << line;
}

// req: engine.mailbox.6
TEST_F(Metrics, TellOfMailboxesApart) {
  stats.now = Timestamp(10'000);
  for (const std::uint64_t number : {1U, 2U, 3U}) {
    rows.push_back({.id = DestinationId(number),
                    .destination = "inbox-" + std::to_string(number),
                    .messages = 10 - number,
                    .oldest = Timestamp(static_cast<std::int64_t>(10'000 - 1'000 * number)),
                    .pulled = number != 2});
  }
  EXPECT_TRUE(says(R"(postrider_mailbox_oldest_age_seconds{destination="inbox-1"} 1.000)"));
  EXPECT_TRUE(says(R"-(postrider_queue_oldest_age_seconds{destination="(other)"} 3.000)-"));
  EXPECT_TRUE(says(R"-(postrider_mailbox_oldest_age_seconds{destination="(other)"} 3.000)-"));
  rows.pop_back();
  EXPECT_FALSE(says(R"-(postrider_mailbox_oldest_age_seconds{destination="(other)"} 2.000)-"))
      << "no mailbox is among the others";
}

}  // namespace
}  // namespace postrider::api
