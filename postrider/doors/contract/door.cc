#include "postrider/doors/contract/door.h"

namespace postrider::doors {

std::vector<const ConfigPart*> config_parts(Doors doors) {
  std::vector<const ConfigPart*> parts;
  for (const ProfileDoor* door : doors) {
    if (door->config != nullptr) parts.push_back(door->config);
  }
  return parts;
}

}  // namespace postrider::doors
