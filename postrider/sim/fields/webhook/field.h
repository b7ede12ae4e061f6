// The field of webhooks: HTTP receivers that answer by their mood.
#pragma once

#include "postrider/sim/world/field.h"

namespace postrider::sim {

const Field& webhook_field();

}  // namespace postrider::sim
