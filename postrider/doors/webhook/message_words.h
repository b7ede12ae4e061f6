// The names that the webhook profile's attributes have in messages of the API.
#pragma once

#include "postrider/api/door.h"

namespace postrider::doors {

extern const api::MessageWords kWebhookWords;
api::OpenapiPart webhook_openapi();

}  // namespace postrider::doors
