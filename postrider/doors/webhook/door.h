// What the webhook profile adds to the outside: fields of messages, and the sink of `serve --dev`.
#pragma once

#include "postrider/doors/contract/door.h"

namespace postrider::doors {

extern const ProfileDoor kWebhookDoor;

}  // namespace postrider::doors
