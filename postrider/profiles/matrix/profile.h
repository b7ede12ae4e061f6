// The matrix profile: the outbound federation of a Matrix homeserver, in transactions.
// docs/profiles/matrix.md
#pragma once

#include "postrider/model/profile.h"

namespace postrider {

extern const ProfileSpec kMatrix;

}  // namespace postrider
