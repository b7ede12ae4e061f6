#include "postrider/sim/world/crash_points.h"

#include <map>

#include "postrider/base/check.h"

namespace postrider::sim {

namespace {

constexpr std::uint64_t kSeedsMax = 4000;

SimOptions small_world(const Field& field) {
  SimOptions options;
  const Trials::Size size = field.trials().crash;
  options.profile = field.profile().name;
  options.span = size.span;
  options.destinations = size.destinations;
  options.messages = size.messages;
  options.twins = false;
  // Peers and network misbehave, so that there is something to survive; store, process and clocks
  // do not.
  const auto faults = parse_faults(
      "request-lost,reply-lost,delay,peer-down,peer-flaky,peer-throttles,peer-rejects,peer-gone,"
      "late-answer,silent-transport,late-receipt");
  POSTRIDER_CHECK(faults.has_value());
  options.faults = *faults;
  return options;
}

// A row's text ends with its verb and where it leads; what is ignored leads nowhere.
bool visits_everything(const Report& report) {
  std::map<std::string, std::uint64_t> times;
  for (const RowUse& row : report.rows) {
    if (!row.unreachable.empty()) continue;
    const std::size_t at = row.row.find(") ");
    const std::string verb = row.row.substr(at == std::string::npos ? 0 : at + 2);
    if (!verb.starts_with("ignore")) times[verb] += row.times;
  }
  for (const auto& [verb, count] : times) {
    if (count == 0) return false;
  }
  return true;
}

}  // namespace

std::vector<Phase> phases_never_visited(const ProfileSpec& profile, const Report& report) {
  std::vector<Phase> list;
  for (std::size_t i = 0; i < kPhases; ++i) {
    const auto phase = static_cast<Phase>(i);
    bool used = false;
    for (const StateRow& state : profile.states) used = used || state.phase == phase;
    if (used && report.visits[i] == 0) list.push_back(phase);
  }
  return list;
}

std::optional<SimOptions> reference_world(const Field& field, const Equipment& equipment) {
  SimOptions options = small_world(field);
  // Where few worlds are so small and visit everything, the search begins near one.
  for (options.seed = field.trials().crash_from_seed; options.seed <= kSeedsMax; ++options.seed) {
    const Report report = simulate(options, equipment);
    if (visits_everything(report) && phases_never_visited(field.profile(), report).empty())
      return options;
  }
  return std::nullopt;
}

std::vector<SimOptions> small_worlds(const Field& field, std::uint64_t points,
                                     const Equipment& equipment) {
  std::vector<SimOptions> list;
  SimOptions options = small_world(field);
  for (std::uint64_t sum = 0; sum < points; ++options.seed) {
    list.push_back(options);
    sum += simulate(options, equipment).points;
  }
  return list;
}

CrashPoints crash_everywhere(const SimOptions& options, Share share, const Equipment& equipment) {
  CrashPoints result;
  result.reference = simulate(options, equipment);
  result.points = result.reference.points;
  for (const std::string& what : result.reference.violations)
    result.failures.push_back({0, false, what});
  for (std::uint64_t point = share.first; point <= result.points; point += share.stride) {
    for (const bool keep : {false, true}) {
      SimOptions crashing = options;
      crashing.crash_point = {point, keep};
      ++result.runs;
      const Report report = simulate(crashing, equipment);
      for (const std::string& what : report.violations)
        result.failures.push_back({point, keep, what});
    }
  }
  return result;
}

}  // namespace postrider::sim
