// Plan: what a seed makes of the options. Destinations with all kinds of settings, and limits of
// the engine that are legal and nasty.
#pragma once

#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/rng.h"
#include "postrider/model/destination.h"
#include "postrider/shard/shard.h"
#include "postrider/sim/world/field.h"
#include "postrider/sim/world/options.h"

namespace postrider::sim {

// Destinations of a real configuration as the simulated world can have them, by the fields of their
// profiles. Fails when a field cannot rehearse.
Result<std::vector<DestinationConfig>> own_destinations(const Fields& fields,
                                                        std::vector<DestinationConfig> real);

// One of `options.own` when there are any.
DestinationConfig draw_destination(const Fields& fields, const SimOptions& options,
                                   std::uint32_t number, Rng& rng);

// Limits of shard and engine; tight ones with `tight`. The profiles are the matter of the caller.
ShardOptions draw_shard_options(const SimOptions& options, bool tight, Rng& rng);

// The same key files, and those of the field.
std::shared_ptr<const Secrets> with_secrets_of(const Field& field, const Secrets& secrets);

// The longest that a healthy world can take to end one message of such a destination, once its turn
// has come.
Duration longest_wait(const Policy& policy);

}  // namespace postrider::sim
