// The rpc profile: calls of services that may be repeated after any failure.
#pragma once

#include "postrider/model/profile.h"

namespace postrider {

extern const ProfileSpec kRpc;

}  // namespace postrider
