#include "postrider/profiles/webhook/profile.h"

#include "postrider/profiles/webhook/batch.h"
#include "postrider/profiles/webhook/rules.h"
#include "postrider/profiles/webhook/settings.h"
#include "postrider/profiles/webhook/table.h"
#include "postrider/profiles/webhook/wire.h"

namespace postrider {

namespace {

constexpr webhook::Typed kTyped = {
    .name = "webhook",
    .states = webhook::kStates,
    .methods = webhook::kMethods,
    .settings = {.rows = webhook::kSettingRows,
                 .configure = webhook::configure,
                 .prepare = webhook::prepare},
    .door = {.read = webhook::read, .admit = webhook::admit},
    .wire = {.compose = webhook::compose, .encode = webhook::encode, .classify = webhook::classify},
    .gates = {.limits = webhook::gate_limits},
};

}  // namespace

constinit const ProfileSpec kWebhook = profile_of<kTyped>();

}  // namespace postrider
