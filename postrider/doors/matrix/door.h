// What the matrix profile adds to the outside: the egress for a homeserver's requests, signs of
// life of other servers, and [matrix].
#pragma once

#include "postrider/doors/contract/door.h"

namespace postrider::doors {

extern const ProfileDoor kMatrixDoor;

}  // namespace postrider::doors
