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
    .settings = {.rows = webhook::kSettingRows,
                 .configure = webhook::configure,
                 .prepare = webhook::prepare},
    .door = {.admit = webhook::admit},
    .wire = {.judge = judge_due, .encode = webhook::encode, .classify = webhook::classify},
    .gates = {.limits = webhook::gate_limits},
};

}  // namespace postrider
