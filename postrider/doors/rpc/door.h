// What the rpc profile adds to the outside: calls of services over HTTP, and `postrider call` and
// `postrider op`.
#pragma once

#include "postrider/doors/contract/door.h"

namespace postrider::doors {

extern const ProfileDoor kRpcDoor;

}  // namespace postrider::doors
