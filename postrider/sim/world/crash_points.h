// Exhaustive crash points: a small world is run once to count its store operations and actions, and
// then again and again, each time dying right after another one of them, with the batch in commit
// kept and with it lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "postrider/sim/world/options.h"
#include "postrider/sim/world/world.h"

namespace postrider::sim {

// The first small world in which every verb of the profile's tables is used and every end is
// reached; small enough to be run thousands of times. nullopt when there is none among the first
// thousand.
std::optional<SimOptions> reference_world(const Field& field, const Equipment& equipment);

// Small worlds, as many as have so many points together.
std::vector<SimOptions> small_worlds(const Field& field, std::uint64_t points,
                                     const Equipment& equipment);

// Phases that states of the profile have, and that no message came into.
std::vector<Phase> phases_never_visited(const ProfileSpec& profile, const Report& report);

struct CrashPoints {
  std::uint64_t points = 0;  // in the run without a crash
  std::uint64_t runs = 0;
  struct Failure {
    std::uint64_t point = 0;
    bool kept = false;
    std::string what;
  };
  std::vector<Failure> failures;
  Report reference;
};

// Points first, first + stride, first + 2·stride …, so that several tests can share the work.
struct Share {
  std::uint64_t first = 1;
  std::uint64_t stride = 1;
};
CrashPoints crash_everywhere(const SimOptions& options, Share share, const Equipment& equipment);

}  // namespace postrider::sim
