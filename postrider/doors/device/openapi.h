// The device profile's part of /openapi.json, written by hand; the tests hold every answer against
// it.
#pragma once

#include "postrider/api/door.h"

namespace postrider::device_door {

api::OpenapiPart openapi_part();

}  // namespace postrider::device_door
