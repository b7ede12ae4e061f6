#include "postrider/api/metrics.h"

#include <algorithm>
#include <cstdio>

#include "postrider/api/render.h"

namespace postrider::api {
namespace {

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
  out.append(name).append(" ").append(type).append("\n");
}

void sample(std::string& out, std::string_view name, std::string_view labels, std::uint64_t value) {
  out.append(name);
  if (!labels.empty()) out.append("{").append(labels).append("}");
  out.append(" ").append(std::to_string(value)).append("\n");
}

void one(std::string& out, std::string_view name, std::string_view type, std::string_view help,
         std::uint64_t value) {
  head(out, name, type, help);
  sample(out, name, {}, value);
}

// Times are kept in milliseconds and told in seconds, the base unit.
std::string seconds(std::uint64_t ms) {
  std::array<char, 40> text{};
  const int size = std::snprintf(text.data(), text.size(), "%llu.%03llu",
                                 static_cast<unsigned long long>(ms / 1000),
                                 static_cast<unsigned long long>(ms % 1000));
  return {text.data(), static_cast<std::size_t>(size)};
}

void sample_seconds(std::string& out, std::string_view name, std::string_view labels,
                    std::uint64_t ms) {
  out.append(name);
  if (!labels.empty()) out.append("{").append(labels).append("}");
  out.append(" ").append(seconds(ms)).append("\n");
}

void one_seconds(std::string& out, std::string_view name, std::string_view type,
                 std::string_view help, std::uint64_t ms) {
  head(out, name, type, help);
  sample_seconds(out, name, {}, ms);
}

void words(std::string& out, std::string_view name, std::string_view help, std::string_view label,
           const CountedWords& counted) {
  head(out, name, "counter", help);
  for (const Counted& it : counted)
    sample(out, name, std::string(label) + "=\"" + std::string(it.word) + "\"", it.times);
}

void append_counters(std::string& out, const Stats& stats) {
  const Counters& it = stats.counters;
  one(out, "postrider_messages_accepted_total", "counter", "Messages made durable.", it.accepted);
  constexpr std::string_view kEnded = "postrider_messages_ended_total";
  head(out, kEnded, "counter", "Messages that have ended, by how.");
  sample(out, kEnded, "end=\"delivered\"", it.delivered);
  sample(out, kEnded, "end=\"dead\"", it.dead);
  sample(out, kEnded, "end=\"expired\"", it.expired);
  sample(out, kEnded, "end=\"cancelled\"", it.cancelled);
  sample(out, kEnded, "end=\"indeterminate\"", it.indeterminate);
  one(out, "postrider_messages_live", "gauge", "Messages accepted and not ended.", it.live());
  one(out, "postrider_dead_letters_redriven_total", "counter",
      "Dead letters sent again as new messages.", it.redriven);
  one(out, "postrider_dead_letters_dropped_total", "counter",
      "Dead letters removed by an operator.", it.dropped);
  constexpr std::string_view kLetters = "postrider_dead_letters";
  head(out, kLetters, "gauge", "Dead letters that are there, by cause.");
  for (std::size_t i = 0; i < kFailureClasses; ++i) {
    sample(out, kLetters, "cause=\"" + std::string(name_of(static_cast<FailureClass>(i))) + "\"",
           stats.dead_letters[i]);
  }
  sample(out, kLetters, "cause=\"ungrouped\"", stats.dead_letters_ungrouped);
  one(out, "postrider_messages_parked", "gauge", "Messages that wait for an operator or a route.",
      stats.parked);
  one(out, "postrider_dead_letter_groups", "gauge", "Groups by destination, phase and cause.",
      stats.dead_groups);
  one(out, "postrider_history_messages", "gauge",
      "Messages that have ended and whose content is kept.", stats.history);
  one(out, "postrider_history_bytes", "gauge", "Bytes of that.", stats.history_bytes);
  one(out, "postrider_holds", "gauge", "Holds that keep destinations paused.", stats.holds);
  one(out, "postrider_jobs_running", "gauge", "Jobs that are under way.", stats.jobs_running);
  one(out, "postrider_jobs_ended_total", "counter", "Jobs done or cancelled since the start.",
      stats.tallies.jobs_ended);
  one(out, "postrider_fanout_accepted_total", "counter",
      "Messages to groups that were made durable for all members.", it.fanouts);
  one(out, "postrider_fanout_shared_bodies", "gauge", "Bodies that several messages share.",
      it.shared_bodies);
  one(out, "postrider_fanout_shared_body_bytes", "gauge", "Bytes of these bodies, each once.",
      it.shared_bytes);
  one(out, "postrider_quarantined_total", "counter", "Records that nobody could read.",
      it.quarantined);
  constexpr std::string_view kRemoved = "postrider_removed_total";
  head(out, kRemoved, "counter", "Records removed by retention.");
  sample(out, kRemoved, "what=\"ends\"", it.removed_ends);
  sample(out, kRemoved, "what=\"dead_letters\"", it.removed_dead);
  sample(out, kRemoved, "what=\"operations\"", it.removed_ledger);
}

// All buckets, also empty ones: a bucket that first appears with its first value has no zero before
// it, so that rate() would miss that value and quantiles over several daemons would be wrong.
void histogram(std::string& out, const std::string& name, std::string_view help,
               const Histogram& it) {
  head(out, name, "histogram", help);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < it.counts.size(); ++i) {
    sum += it.counts[i];
    const bool last = i + 1 == it.counts.size();
    const std::string edge = last ? "+Inf" : seconds(std::uint64_t{1} << i);
    sample(out, name + "_bucket", "le=\"" + edge + "\"", sum);
  }
  sample_seconds(out, name + "_sum", {}, it.sum_ms);
  sample(out, name + "_count", {}, sum);
}

// Messages by state.
void append_places(std::string& out, const Stats& stats) {
  const auto by_state = [&](std::string_view name, std::string_view help,
                            std::uint64_t Stats::InState::*count) {
    head(out, name, "gauge", help);
    for (const Stats::InState& it : stats.in_states) {
      sample(out, name,
             "profile=\"" + std::string(it.profile) + "\",state=\"" + std::string(it.state) + "\"",
             it.*count);
    }
  };
  by_state("postrider_window_state_messages", "Messages in memory, by state.",
           &Stats::InState::in_memory);
  // Numbers that are known to be too small would be taken for the whole.
  if (stats.all_counted)
    by_state("postrider_state_messages", "Messages that live, by state.",
             &Stats::InState::messages);
}

std::uint64_t age_ms(Timestamp oldest, Timestamp now) {
  if (!oldest.is_set()) return 0;
  return static_cast<std::uint64_t>(std::max<std::int64_t>((now - oldest).count(), 0));
}

// By destination. Their names need no escaping, and none of them has parentheses.
void append_queues(std::string& out, const QueueGauges& queues, Timestamp now) {
  one(out, "postrider_queues", "gauge", "Destinations with messages that live.", queues.count());
  one_seconds(out, "postrider_oldest_age_seconds", "gauge",
              "Age of the oldest message that lives, wherever it is.",
              age_ms(queues.oldest(), now));
  struct Row {
    std::string_view name;
    std::string_view help;
    std::uint64_t (*value)(const QueueRow&, Timestamp);
    bool of_others = true;
    decltype(&sample) write = sample;
  };
  constexpr Row kRows[] = {
      {"postrider_queue_messages", "Messages of a destination that live.",
       [](const QueueRow& it, Timestamp) { return it.messages; }},
      {"postrider_queue_more_on_disk", "1 when some of them are on disk only.",
       [](const QueueRow& it, Timestamp) { return std::uint64_t{it.more}; }},
      {"postrider_queue_oldest_age_seconds", "Age of the oldest of them.",
       [](const QueueRow& it, Timestamp at) { return age_ms(it.oldest, at); }, true,
       sample_seconds},
      {"postrider_queue_slots", "Places of the destination that are taken.",
       [](const QueueRow& it, Timestamp) { return it.slots; }},
      {"postrider_queue_slots_max", "Places that it may take now, as its route has learnt.",
       [](const QueueRow& it, Timestamp) { return it.slots_max; }, false},
      {"postrider_queue_next_slot_seconds", "Until its next message may start.",
       [](const QueueRow& it, Timestamp) {
         return static_cast<std::uint64_t>(it.next_slot.count());
       },
       false, sample_seconds},
  };
  for (const Row& row : kRows) {
    head(out, row.name, "gauge", row.help);
    for (const QueueRow& it : queues.told())
      row.write(out, row.name, "destination=\"" + it.destination + "\"", row.value(it, now));
    if (row.of_others && queues.others_count() > 0)
      row.write(out, row.name, "destination=\"(other)\"", row.value(queues.others(), now));
  }
  constexpr std::string_view kUnread = "postrider_mailbox_oldest_age_seconds";
  head(out, kUnread, "gauge",
       "Age of the oldest message of a mailbox that its reader has not confirmed.");
  for (const QueueRow& it : queues.told()) {
    if (it.pulled)
      sample_seconds(out, kUnread, "destination=\"" + it.destination + "\"",
                     age_ms(it.oldest, now));
  }
  if (const Timestamp oldest = queues.oldest_unread_of_others(); oldest.is_set())
    sample_seconds(out, kUnread, "destination=\"(other)\"", age_ms(oldest, now));
  constexpr std::string_view kHealth = "postrider_queue_health";
  head(out, kHealth, "gauge", "1 for what the route of a destination is: normal, wait, probe …");
  for (const QueueRow& it : queues.told()) {
    sample(
        out, kHealth,
        "destination=\"" + it.destination + "\",health=\"" + std::string(name_of(it.health)) + "\"",
        1);
  }
}

// The first tenants by name, the others together. Names are a setting, so they may need escaping.
void append_tenants(std::string& out, const Tallies& it) {
  constexpr std::string_view kStarts = "postrider_tenant_starts_total";
  head(out, kStarts, "counter", "Attempts started, by the tenant of their destination.");
  for (const Tallies::Tenant& tenant : it.tenants) {
    std::string name;
    for (const char c : tenant.name) {
      if (c == '"' || c == '\\') name += '\\';
      name += c == '\n' ? ' ' : c;
    }
    sample(out, kStarts, "tenant=\"" + name + "\"", tenant.starts);
  }
  if (it.other_tenants > 0) sample(out, kStarts, "tenant=\"other tenants\"", it.other_tenants);
}

void append_engine(std::string& out, const Stats& stats) {
  const Tallies& it = stats.tallies;
  one(out, "postrider_attempts_total", "counter", "Attempts started since the start.", it.attempts);
  one(out, "postrider_attempts_open", "gauge", "Attempts under way.", stats.open_attempts);
  one(out, "postrider_window_messages", "gauge", "Messages in memory.", stats.in_window);
  const std::uint64_t live = stats.counters.live();
  one(out, "postrider_waiting_outside_messages", "gauge",
      "Live messages that are not in memory: behind a window, or asleep until their next attempt.",
      live > stats.in_window ? live - stats.in_window : 0);
  one(out, "postrider_destinations_in_memory", "gauge", "Destinations in memory.", stats.residents);
  one(out, "postrider_restoring", "gauge", "1 while an earlier life is still being read.",
      stats.restoring ? 1 : 0);
  one(out, "postrider_clock_doubt_seconds", "gauge",
      "How far the wall clock was ahead at the start and is not believed; 0: it is.",
      static_cast<std::uint64_t>(stats.clock_doubt / Duration(1s)));
  one(out, "postrider_late_outcomes_total", "counter", "Outcomes of attempts that were given up.",
      it.late_outcomes);
  one(out, "postrider_late_receipts_total", "counter", "Receipts for messages that had ended.",
      it.late_receipts);
  constexpr std::string_view kRetries = "postrider_retries_total";
  head(out, kRetries, "counter", "Attempts that follow a failed one, by how that failed.");
  for (std::size_t i = 0; i < it.retries.size(); ++i) {
    if (it.retries[i] == 0) continue;
    const std::string cause(name_of(static_cast<FailureClass>(i)));
    sample(out, kRetries, "cause=\"" + cause + "\"", it.retries[i]);
  }
  constexpr std::string_view kNotices = "postrider_notices_total";
  head(out, kNotices, "counter", "Entries of the outcome log since the start, by kind.");
  for (std::size_t i = 0; i < stats.noted.size(); ++i) {
    const std::string kind(name_of(static_cast<LogEntry::Kind>(i)));
    sample(out, kNotices, "kind=\"" + kind + "\"", stats.noted[i]);
  }
  one(out, "postrider_probes_total", "counter", "Attempts that only asked.", it.probes);
  one(out, "postrider_arrivals_total", "counter", "News that came unasked.", it.arrivals);
  one(out, "postrider_arrivals_repeated_total", "counter", "Of those, doubles that did nothing.",
      it.repeated_arrivals);
  one(out, "postrider_unknown_names_total", "counter", "News about names that nobody had yet.",
      it.unknown_names);
  one(out, "postrider_mismatched_total", "counter", "Answers and news that fit no question.",
      it.mismatched);
  one(out, "postrider_adopted_total", "counter", "Attempts whose name was learnt by the way.",
      it.adopted);
  one(out, "postrider_lower_priority_turns_total", "counter",
      "Starts that lower priorities had by turns.", it.lower_turns);
  one(out, "postrider_slow_starts_total", "counter",
      "Routes that closed, and begin with one place again.", it.slow_starts);
  one(out, "postrider_deep_waits_total", "counter", "Routes whose wait became deep.",
      it.deep_waits);
  one(out, "postrider_deep_dropped_total", "counter",
      "Messages that ended because of that, in lanes that say so.", it.dropped_deep);
  one(out, "postrider_superseded_total", "counter",
      "Messages that a newer one of their lane and key replaced.", it.superseded);
  one(out, "postrider_roused_total", "counter", "Messages whose back-off a sign of life ended.",
      it.roused);
  one(out, "postrider_batches_total", "counter", "Batches that were opened.", it.batches);
  one(out, "postrider_batch_members_total", "counter", "Messages in these batches.",
      it.batch_members);
  one(out, "postrider_batch_splits_total", "counter",
      "Batches that were too much for their far side.", it.batch_splits);
  append_tenants(out, it);
  one(out, "postrider_gates_closed_total", "counter", "Shared gates closed by failures in a row.",
      it.gates_closed);
  words(out, "postrider_gate_closings_total", "Of those, by kind.", "kind", it.closings);
  words(out, "postrider_outcomes_total", "Ended messages of profiles that tell an outcome.",
        "outcome", it.outcomes);
  one(out, "postrider_alarms_total", "counter", "Refusals that somebody has to look at.",
      it.alarms);
  one(out, "postrider_altered_resends_total", "counter",
      "Resends that were not the bytes of the attempt they repeat.", it.altered_resends);
  histogram(out, "postrider_attempt_duration_seconds",
            "From the start of an attempt until it ended or was given up.", it.attempt_took);
  histogram(out, "postrider_until_sent_seconds", "From acceptance to the first attempt.",
            it.until_sent);
  histogram(out, "postrider_until_ended_seconds", "From acceptance to the end.", it.until_ended);
  histogram(out, "postrider_until_answered_seconds",
            "From the last stage (a device has it) to its answer.", it.until_answered);
  histogram(out, "postrider_timers_late_seconds", "How late timers were looked at.",
            it.timers_late);
  append_places(out, stats);
  one(out, "postrider_steps_total", "counter", "Decisions of the engine.", it.steps);
  one(out, "postrider_reads_needed_total", "counter", "Decisions that had to read first.",
      it.needs);
}

// The names that every Prometheus client library gives to figures of its process.
void append_process(std::string& out, const ProcessFigures& it) {
  one_seconds(out, "process_cpu_seconds_total", "counter",
              "Total user and system CPU time spent in seconds.", it.cpu_ms);
  one(out, "process_open_fds", "gauge", "Number of open file descriptors.", it.open_files);
  one(out, "process_max_fds", "gauge", "Maximum number of open file descriptors.",
      it.open_files_max);
  one(out, "process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.",
      it.virtual_bytes);
  one(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
      it.resident_bytes);
  one_seconds(out, "process_start_time_seconds", "gauge",
              "Start time of the process since unix epoch in seconds.", it.started_ms);
  one(out, "process_threads", "gauge", "Number of threads of the process.", it.threads);
}

void append_daemon(std::string& out, const ProcessFigures& it) {
  one(out, "postrider_store_free_bytes", "gauge", "Free space where the store lies.",
      it.free_bytes);
  constexpr std::string_view kConnections = "postrider_connections";
  head(out, kConnections, "gauge", "Open connections.");
  sample(out, kConnections, "direction=\"in\"", it.connections_in);
  sample(out, kConnections, "direction=\"out\"", it.connections_out);
  one(out, "postrider_http_held_bytes", "gauge",
      "Held for clients: requests, and answers that were not taken (server.held_bytes_max).",
      it.held_bytes);
}

void append_cards(std::string& out, const Stats& stats) {
  if (stats.cards.empty()) return;
  constexpr std::string_view kCards = "postrider_cards";
  head(out, kCards, "gauge", "Cards that a profile keeps (engine.cards_max).");
  for (const auto& [profile, count] : stats.cards)
    sample(out, kCards, "profile=\"" + profile + "\"", count);
}

void append_stations(std::string& out, const Stations::Figures& it) {
  one(out, "postrider_station_lines", "gauge", "Open lines of stations (stations.lines_max).",
      it.lines);
  one(out, "postrider_station_lines_refused_total", "counter",
      "Lines that were refused because as many were open as may be.", it.lines_refused);
  one(out, "postrider_station_posts_refused_total", "counter",
      "Posts of stations that were told busy or unavailable.", it.posts_refused);
  one(out, "postrider_station_news_lost_total", "counter",
      "Posts without an answer that the door did not take.", it.news_lost);
  one(out, "postrider_station_overflows_total", "counter",
      "Calls of stations that wanted more than may be (stations.wants_max).", it.overflows);
  one(out, "postrider_station_attempts_overdue_total", "counter",
      "Attempts that their station did not end in time.", it.attempts_overdue);
  one(out, "postrider_station_misuses_total", "counter",
      "Breaches of contract by a station: a bug, see the log.", it.misuses);
}

void append_store(std::string& out, const CommitCounters& it) {
  one(out, "postrider_store_commits_total", "counter", "Commits made durable, one sync each.",
      it.commits);
  one(out, "postrider_store_commit_failures_total", "counter", "Commits that were not.", it.failed);
  constexpr std::string_view kRecords = "postrider_store_records_total";
  head(out, kRecords, "counter", "Records in durable commits.");
  sample(out, kRecords, "kind=\"put\"", it.puts);
  sample(out, kRecords, "kind=\"removed\"", it.records - it.puts);
  one(out, "postrider_store_committed_bytes_total", "counter", "Bytes given to durable commits.",
      it.bytes);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(it.time).count();
  one_seconds(out, "postrider_store_commit_seconds_total", "counter",
              "Time that durable commits took.", static_cast<std::uint64_t>(ms));
  one(out, "postrider_store_reads_total", "counter", "Reads from the store.", it.reads);
}

}  // namespace

void RequestCounts::count(std::size_t route, int status) {
  const auto status_class = static_cast<std::size_t>(status / 100 - 1);
  if (status_class < kClasses) ++by_route_[std::min(route, by_route_.size() - 1)][status_class];
}

void RequestCounts::took(Duration duration) {
  std::size_t bucket = 0;
  while (bucket < kBucketsMs.size() && duration.count() > kBucketsMs[bucket]) ++bucket;
  ++by_duration_[bucket];
  if (duration.count() > 0) duration_ms_sum_ += static_cast<std::uint64_t>(duration.count());
}

void append_requests(std::string& out, const RequestCounts& counts,
                     std::span<const RouteRow> rows) {
  constexpr std::string_view kRequests = "postrider_http_requests_total";
  head(out, kRequests, "counter", "Requests answered, by route and class of status.");
  for (std::size_t route = 0; route < counts.by_route_.size(); ++route) {
    for (std::size_t i = 0; i < RequestCounts::kClasses; ++i) {
      const std::uint64_t value = counts.by_route_[route][i];
      if (value == 0) continue;
      const bool known = route < rows.size();
      const std::string labels = "method=\"" + std::string(known ? rows[route].method : "other") +
                                 "\",route=\"" +
                                 std::string(known ? rows[route].pattern : "other") + "\",code=\"" +
                                 std::to_string(i + 1) + "xx\"";
      sample(out, kRequests, labels, value);
    }
  }
  const std::string name = "postrider_accept_duration_seconds";
  head(out, name, "histogram", "From a message's arrival to its durable acceptance.");
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counts.by_duration_.size(); ++i) {
    sum += counts.by_duration_[i];
    const std::string edge =
        i < RequestCounts::kBucketsMs.size() ? seconds(RequestCounts::kBucketsMs[i]) : "+Inf";
    sample(out, name + "_bucket", "le=\"" + edge + "\"", sum);
  }
  sample_seconds(out, name + "_sum", {}, counts.duration_ms_sum_);
  sample(out, name + "_count", {}, sum);
}

void append_counter(std::string& out, std::string_view name, std::string_view help,
                    std::uint64_t value) {
  one(out, name, "counter", help, value);
}

std::string render_metrics(const MetricsInput& input, const RequestCounts& counts,
                           std::span<const RouteRow> rows) {
  std::string out;
  constexpr std::string_view kBuild = "postrider_build_info";
  head(out, kBuild, "gauge", "The version that runs.");
  sample(out, kBuild, "version=\"" + input.version + "\"", 1);
  one(out, "postrider_ready", "gauge", "1 when requests are taken.", input.ready ? 1 : 0);
  if (input.stats != nullptr) {
    append_counters(out, *input.stats);
    append_engine(out, *input.stats);
    if (input.queues != nullptr) append_queues(out, *input.queues, input.stats->now);
  }
  append_process(out, input.figures);
  append_daemon(out, input.figures);
  append_store(out, input.figures.store);
  if (input.stats != nullptr) append_cards(out, *input.stats);
  if (input.stations) append_stations(out, *input.stations);
  one(out, "postrider_event_readers", "gauge", "Clients that follow the events.", input.tails);
  one(out, "postrider_batches", "gauge", "NDJSON requests under way.", input.batches);
  append_requests(out, counts, rows);
  return out;
}

}  // namespace postrider::api
