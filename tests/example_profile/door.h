// What the pager profile adds to the outside: POST /pages, [pager], and 'postrider page'.
#pragma once

#include "postrider/doors/contract/door.h"

namespace postrider::doors {

extern const ProfileDoor kPagerDoor;

}  // namespace postrider::doors
