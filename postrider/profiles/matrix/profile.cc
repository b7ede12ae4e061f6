#include "postrider/profiles/matrix/profile.h"

#include "postrider/profiles/matrix/item.h"
#include "postrider/profiles/matrix/packing.h"
#include "postrider/profiles/matrix/settings.h"
#include "postrider/profiles/matrix/table.h"
#include "postrider/profiles/matrix/wire.h"

namespace postrider {

namespace {

constexpr matrix::Typed kTyped = {
    .name = "matrix",
    .states = matrix::kStates,
    .methods = matrix::kMethods,
    .settings = {.rows = matrix::kSettingRows,
                 .configure = matrix::configure,
                 .prepare = matrix::prepare},
    .door = {.read = matrix::read, .admit = matrix::admit},
    .wire = {.judge = matrix::judge,
             .compose = matrix::compose,
             .encode = matrix::encode,
             .classify = matrix::classify},
    .after = matrix::after,
};

}  // namespace

constinit const ProfileSpec kMatrix = profile_of<kTyped>();

}  // namespace postrider
