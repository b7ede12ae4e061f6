// What a simulation is asked to do, and what it reports.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/time.h"
#include "postrider/model/answer.h"
#include "postrider/model/destination.h"
#include "postrider/sim/world/faults.h"

namespace postrider::sim {

// Drawn worlds have all kinds of destinations and whatever faults are wanted. A staged one is made
// for one question, and nothing goes wrong but what it is about: who waits for whom when nearly all
// destinations hang, when one tenant floods, and when a far side comes back to a storm.
enum class WorldKind : std::uint8_t { kDrawn, kHang, kFlood, kStorm };
std::optional<WorldKind> parse_world(std::string_view name);
std::string_view name_of(WorldKind world);

struct SimOptions {
  WorldKind world = WorldKind::kDrawn;
  std::string profile;  // its field plans the world; empty: the first field
  std::uint64_t seed = 1;
  Duration span = 10 * 24h;  // of the phase with faults
  std::uint32_t destinations = 20;
  std::uint32_t messages = 500;
  FaultSet faults;
  std::FILE* trace = nullptr;

  // Exhaustive crash points: die right after the n-th store operation or action, with the batch in
  // commit kept or lost.
  struct CrashPoint {
    std::uint64_t after = 0;
    bool keep = false;
  };
  std::optional<CrashPoint> crash_point;
  // Somebody's own destinations instead of drawn ones, as own_destinations() in plan.h makes them,
  // and the file they are from, for the command that does it again.
  std::vector<DestinationConfig> own;
  std::string config_file;

  // What messages make like a template has an idle life, and goes when it is idle.
  bool idle = false;
  bool twins = true;  // compare with a restored copy at quiet moments
  // Destinations of profiles that can send several messages in one request do.
  bool batches = false;
};

// A row of a profile's table, and how often the engine used it.
struct RowUse {
  std::string profile;
  std::string method;
  std::string row;  // "(sending, failed) retry → resting"
  std::uint64_t times = 0;
  std::string unreachable = {};  // why no world can use it; empty: one must
};

// How the messages of one destination ended.
struct DestinationReport {
  std::string name;
  std::uint64_t delivered = 0;
  std::uint64_t dead = 0;
  std::uint64_t expired = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t indeterminate = 0;
  Duration worst_delay{0};  // of those delivered, from when they were wanted
};

// What a staged world was made to find out, and what the rule allows at most.
struct Figure {
  std::string what;
  std::uint64_t worst = 0;
  std::uint64_t most = 0;    // more is a violation
  std::uint64_t looked = 0;  // how often it was looked at; never proves nothing
};

struct Report {
  std::uint64_t seed = 0;
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t messages = 0;  // submitted and accepted
  Duration virtual_time{0};
  Counters counters;
  std::array<std::uint64_t, kFaults> faults{};
  std::vector<std::string> violations;
  std::vector<RowUse> rows;
  std::vector<DestinationReport> destinations;  // by name
  std::vector<Figure> figures;                  // of a staged world
  std::uint64_t points = 0;                     // store operations and actions
  std::uint64_t restarts = 0;
  std::uint64_t twins = 0;  // comparisons with a restored copy
  std::uint64_t attempts = 0;
  std::array<std::uint64_t, kPhases> visits{};  // how often messages came into each phase
};

}  // namespace postrider::sim
