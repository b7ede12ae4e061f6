// What the door of the matrix profile adds to /openapi.json.
#pragma once

#include "postrider/api/door.h"

namespace postrider::matrix_door {

api::OpenapiPart openapi_part();

}  // namespace postrider::matrix_door
