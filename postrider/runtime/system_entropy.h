// The seeds that the system gives for the turns of a shard (base/entropy.h). Any thread.
#pragma once

#include "postrider/base/entropy.h"

namespace postrider {

// Waits, once after the machine has booted, until the system has any. Ends the process when the
// system gives none: a key that can be guessed is worse than none.
EntropySeed system_entropy();

}  // namespace postrider
