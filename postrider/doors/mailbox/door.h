// What the mailbox profile adds to the outside: routes by which an application reads and confirms
// its messages, and `postrider box`.
#pragma once

#include "postrider/doors/contract/door.h"

namespace postrider::doors {

extern const ProfileDoor kMailboxDoor;

}  // namespace postrider::doors
