// What the device profile adds to the outside.
#pragma once

#include "postrider/doors/contract/door.h"

namespace postrider::doors {

extern const ProfileDoor kDeviceDoor;

}  // namespace postrider::doors
