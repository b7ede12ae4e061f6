// What the LXMF profile adds to the outside: `postrider lxmf`, for identities.
#pragma once

#include "postrider/doors/contract/door.h"

namespace postrider::doors {

extern const ProfileDoor kLxmfDoor;

}  // namespace postrider::doors
