// The device profile: commands to meters, over a LoRaWAN network server or a vendor's task API.
#pragma once

#include "postrider/model/profile.h"

namespace postrider {

extern const ProfileSpec kDevice;

}  // namespace postrider
