// Every door there is. No registry and no static registration: this list is the list.
#pragma once

#include <vector>

#include "postrider/doors/contract/door.h"

namespace postrider::doors {

Doors all_doors();
// What they add to the configuration.
ConfigParts all_config_parts();

}  // namespace postrider::doors
