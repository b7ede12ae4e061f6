// Pack: a protocol for practice whose messages leave in batches. What a pack is made of, how it is
// named and sealed is as plain as can be, so that whatever goes wrong is the engine's doing.
#pragma once

#include "postrider/model/profile.h"

namespace postrider::sim {

const ProfileSpec& pack_profile();

}  // namespace postrider::sim
