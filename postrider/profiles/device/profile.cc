#include "postrider/profiles/device/profile.h"

#include "postrider/profiles/device/again.h"
#include "postrider/profiles/device/events.h"
#include "postrider/profiles/device/news.h"
#include "postrider/profiles/device/settings.h"
#include "postrider/profiles/device/table.h"
#include "postrider/profiles/device/wire.h"

namespace postrider {

constinit const ProfileSpec kDevice = {
    .name = "device",
    .states = device::kStates,
    .methods = device::kMethods,
    .configure = device::configure,
    .admit = device::admit,
    .judge = device::judge,
    .encode = device::encode,
    .classify = device::classify,
    .gate_limits = device::gate_limits,
    .settings = device::kSettingRows,
    .packs = true,
    .bounded = true,
    .gate_words = device::gate_words,
    .names = device::names,
    .receive = device::receive,
    .notice = device::notice,
    .started = device::started,
    .abandoned = device::abandoned,
    .ended = device::ended,
    .why_not_again = device::why_not_again,
};

}  // namespace postrider
