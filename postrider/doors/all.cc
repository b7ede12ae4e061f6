#include "postrider/doors/all.h"

#include <array>

#include "postrider/doors/device/door.h"
#include "postrider/doors/lxmf/door.h"
#include "postrider/doors/mailbox/door.h"
#include "postrider/doors/matrix/door.h"
#include "postrider/doors/rpc/door.h"
#include "postrider/doors/webhook/door.h"

namespace postrider::doors {
namespace {

constexpr auto kAll = std::to_array<const ProfileDoor*>(
    {&kWebhookDoor, &kDeviceDoor, &kMailboxDoor, &kMatrixDoor, &kLxmfDoor, &kRpcDoor});

}  // namespace

Doors all_doors() { return kAll; }

ConfigParts all_config_parts() {
  static const std::vector<const ConfigPart*> kParts = config_parts(kAll);
  return kParts;
}

}  // namespace postrider::doors
