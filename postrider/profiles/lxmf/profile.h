// The LXMF profile: messages to recipients of a Reticulum network, over links and packets of our
// own station, and messages that arrive from there.
#pragma once

#include "postrider/model/profile.h"

namespace postrider {

extern const ProfileSpec kLxmf;

}  // namespace postrider
