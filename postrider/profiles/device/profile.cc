#include "postrider/profiles/device/profile.h"

#include "postrider/profiles/device/dictionary.h"
#include "postrider/profiles/device/events.h"
#include "postrider/profiles/device/news.h"
#include "postrider/profiles/device/rerun.h"
#include "postrider/profiles/device/settings.h"
#include "postrider/profiles/device/table.h"
#include "postrider/profiles/device/wire.h"

namespace postrider {

namespace {

constexpr device::Typed kTyped = {
    .name = "device",
    .states = device::kStates,
    .methods = device::kMethods,
    .settings = {.rows = device::kSettingRows, .configure = device::configure},
    .door = {.read = device::read, .admit = device::admit, .why_not_again = device::why_not_again},
    .wire = {.judge = device::judge, .encode = device::encode, .classify = device::classify},
    .news = {.receive = device::receive, .notice = device::notice},
    .after = device::after,
    .gates = {.limits = device::gate_limits, .words = device::gate_words},
    .dictionary = &device::kDictionary,
    .bounded = true,
};

}  // namespace

constinit const ProfileSpec kDevice = profile_of<kTyped>();

}  // namespace postrider
