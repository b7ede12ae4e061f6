// Plan: what a seed makes of the options. Destinations with all kinds of settings, and limits of
// the engine that are legal and nasty.
#pragma once

#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/rng.h"
#include "postrider/model/destination.h"
#include "postrider/model/profile.h"
#include "postrider/shard/shard.h"
#include "postrider/sim/options.h"

namespace postrider::sim {

// The profiles that simulated worlds know: all real ones, and the drill.
std::span<const ProfileSpec* const> sim_profiles();
const ProfileSpec* find_sim_profile(std::string_view name);

struct DestinationPlan {
  DestinationConfig config;
  std::uint32_t peer = 0;
};

// Destinations of a real configuration as the simulated world can have them: their settings, with
// peers of ours for addresses, and nothing in them that is secret. Fails when a profile has no
// modelled peers.
Result<std::vector<DestinationConfig>> own_destinations(std::vector<DestinationConfig> real);

// One of `options.own` when there are any.
DestinationConfig draw_destination(const SimOptions& options, std::uint32_t number, Rng& rng);

// Limits of shard and engine; tight ones with `tight`.
ShardOptions draw_shard_options(const SimOptions& options, bool tight, Rng& rng);

// The longest that a healthy world can take to end one message of such a destination, once its turn
// has come.
Duration longest_wait(const Policy& policy);

}  // namespace postrider::sim
