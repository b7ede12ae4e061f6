// The webhook profile: plain HTTP, at least once, with Standard Webhooks signatures.
// docs/profiles/webhook.md
#pragma once

#include "postrider/model/profile.h"

namespace postrider {

extern const ProfileSpec kWebhook;

}  // namespace postrider
