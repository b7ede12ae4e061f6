// The field of the mailbox profile: applications that read and confirm, and quotas that are small.
#pragma once

#include "postrider/sim/world/field.h"

namespace postrider::sim {

const Field& mailbox_field();

}  // namespace postrider::sim
