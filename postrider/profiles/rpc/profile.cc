#include "postrider/profiles/rpc/profile.h"

#include "postrider/profiles/rpc/settings.h"
#include "postrider/profiles/rpc/table.h"
#include "postrider/profiles/rpc/wire.h"

namespace postrider {

namespace {

constexpr rpc::Typed kTyped = {
    .name = "rpc",
    .states = rpc::operation::kStates,
    .methods = rpc::operation::kMethods,
    .settings = {.rows = rpc::kSettingRows, .configure = rpc::configure, .prepare = rpc::prepare},
    .door = {.read = rpc::read, .admit = rpc::admit},
    .wire = {.encode = rpc::encode, .classify = rpc::classify},
    .keeps_outcomes = true,
};

}  // namespace

constinit const ProfileSpec kRpc = profile_of<kTyped>();

}  // namespace postrider
