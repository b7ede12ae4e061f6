// postrider profile show NAME --live: the state machine with the messages that are in it now.
#pragma once

#include "postrider/cli/options.h"
#include "postrider/model/profile.h"
#include "postrider/profiles/render.h"

namespace postrider {

// Counts the messages of the profile at the daemon, and draws. `method` empty: all. `parsed` has
// the options of every command that asks the daemon.
int show_live(const Parsed& parsed, const ProfileSpec& profile, std::string_view method,
              RenderFormat format);

}  // namespace postrider
