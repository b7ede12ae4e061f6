#include "postrider/sim/runner.h"

#include <algorithm>

#include "postrider/base/hash.h"
#include "postrider/sim/checkers/all.h"
#include "postrider/sim/fields/all.h"

namespace postrider::sim {
namespace {

constexpr std::uint64_t kStandardMessages = 20'000;  // over all seeds
constexpr Duration kStandardSpan = 10 * 24h;

std::string faults_text(const FaultSet& set) {
  if (set.all()) return "all";
  if (set.none()) return "none";
  std::string text;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (!set[i]) continue;
    if (!text.empty()) text += ',';
    text += name_of(static_cast<Fault>(i));
  }
  return text;
}

void add_destinations(Summary& summary, const Report& report) {
  for (const DestinationReport& one : report.destinations) {
    const auto place = std::lower_bound(
        summary.destinations.begin(), summary.destinations.end(), one.name,
        [](const DestinationReport& each, const std::string& name) { return each.name < name; });
    if (place == summary.destinations.end() || place->name != one.name) {
      summary.destinations.insert(place, one);
      continue;
    }
    place->delivered += one.delivered;
    place->dead += one.dead;
    place->expired += one.expired;
    place->cancelled += one.cancelled;
    place->indeterminate += one.indeterminate;
    place->worst_delay = std::max(place->worst_delay, one.worst_delay);
  }
}

void add_figures(Summary& summary, const Report& report) {
  if (summary.figures.empty()) {
    summary.figures = report.figures;
    return;
  }
  for (std::size_t i = 0; i < report.figures.size() && i < summary.figures.size(); ++i) {
    summary.figures[i].worst = std::max(summary.figures[i].worst, report.figures[i].worst);
    summary.figures[i].looked += report.figures[i].looked;
  }
}

}  // namespace

Equipment equipment() { return {all_fields(), make_checkers}; }

Report simulate(const SimOptions& options) { return simulate(options, equipment()); }

void add(Summary& summary, const Report& report) {
  ++summary.seeds;
  summary.events += report.events;
  summary.messages += report.messages;
  summary.attempts += report.attempts;
  summary.restarts += report.restarts;
  summary.comparisons += report.twins;
  summary.virtual_time += report.virtual_time;
  summary.trace_hash = summary.seeds == 1
                           ? report.trace_hash
                           : hash64(std::to_string(report.trace_hash), summary.trace_hash);
  summary.counters.accepted += report.counters.accepted;
  summary.counters.delivered += report.counters.delivered;
  summary.counters.dead += report.counters.dead;
  summary.counters.expired += report.counters.expired;
  summary.counters.cancelled += report.counters.cancelled;
  summary.counters.indeterminate += report.counters.indeterminate;
  summary.counters.quarantined += report.counters.quarantined;
  for (std::size_t i = 0; i < kFaults; ++i) summary.faults[i] += report.faults[i];
  add_destinations(summary, report);
  add_figures(summary, report);
  for (const std::string& what : report.violations)
    summary.violations.push_back({report.seed, what});
  if (summary.rows.empty()) {
    summary.rows = report.rows;
    return;
  }
  for (std::size_t i = 0; i < summary.rows.size() && i < report.rows.size(); ++i)
    summary.rows[i].times += report.rows[i].times;
}

std::vector<Fault> Summary::never_struck(const FaultSet& enabled) const {
  std::vector<Fault> list;
  for (std::size_t i = 0; i < kFaults; ++i) {
    if (enabled[i] && faults[i] == 0) list.push_back(static_cast<Fault>(i));
  }
  return list;
}

std::vector<Summary::Missed> Summary::rows_never_hit() const {
  std::vector<Missed> list;
  for (const RowUse& row : rows) {
    if (row.times == 0) list.push_back({row.method + " " + row.row, row.unreachable});
  }
  return list;
}

bool is_standard(const SimOptions& options, std::uint64_t seeds) {
  return options.world == WorldKind::kDrawn && options.own.empty() && options.faults.all() &&
         options.span >= kStandardSpan && seeds * options.messages >= kStandardMessages;
}

std::string reproduction(const SimOptions& options, std::uint64_t seed) {
  if (options.world != WorldKind::kDrawn) {
    return "postrider sim --world " + std::string(name_of(options.world)) + " --seed " +
           std::to_string(seed) +
           (options.world == WorldKind::kFlood ? " --messages " + std::to_string(options.messages)
                                               : "");
  }
  const bool own = !options.own.empty();
  return "postrider sim " +
         (own ? "--config " + options.config_file : "--profile " + options.profile) + " --seed " +
         std::to_string(seed) + " --days " + std::to_string(options.span / Duration(24h)) +
         (own ? "" : " --destinations " + std::to_string(options.destinations)) + " --messages " +
         std::to_string(options.messages) + " --faults " + faults_text(options.faults) +
         (options.idle ? " --idle" : "") + (options.batches ? " --batches" : "") +
         (options.twins ? "" : " --no-twins");
}

}  // namespace postrider::sim
