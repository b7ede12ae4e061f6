#include "postrider/profiles/webhook/profile.h"

#include "postrider/profiles/webhook/rules.h"
#include "postrider/profiles/webhook/settings.h"
#include "postrider/profiles/webhook/table.h"
#include "postrider/profiles/webhook/wire.h"

namespace postrider {

constinit const ProfileSpec kWebhook = {
    .name = "webhook",
    .states = webhook::kStates,
    .methods = webhook::kMethods,
    .configure = webhook::configure,
    .admit = webhook::admit,
    .judge = judge_due,
    .encode = webhook::encode,
    .classify = webhook::classify,
    .gate_limits = webhook::gate_limits,
    .settings = webhook::kSettingRows,
    .prepare = webhook::prepare,
};

}  // namespace postrider
