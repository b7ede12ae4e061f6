#include "postrider/profiles/rpc/profile.h"

#include "postrider/profiles/rpc/session_news.h"
#include "postrider/profiles/rpc/settings.h"
#include "postrider/profiles/rpc/setup.h"
#include "postrider/profiles/rpc/table.h"
#include "postrider/profiles/rpc/wire.h"

namespace postrider {

namespace {

Reading notice_nothing(const rpc::Typed::FactsView& /*facts*/, const Notice& /*notice*/) {
  Reading reading;
  reading.declines = true;
  return reading;
}

constexpr rpc::Typed kTyped = {
    .name = "rpc",
    .states = rpc::operation::kStates,
    .methods = rpc::operation::kMethods,
    .settings = {.rows = rpc::kSettingRows, .configure = rpc::configure, .prepare = rpc::prepare},
    .door = {.read = rpc::read, .admit = rpc::admit},
    .wire = {.encode = rpc::encode, .classify = rpc::classify},
    .news = {.receive = rpc::receive_session, .notice = notice_nothing},
    .keeps_arrivals = false,
    .keeps_outcomes = true,
    .make_station = rpc::make_rpc_station,
};

}  // namespace

constinit const ProfileSpec kRpc = profile_of<kTyped>();

}  // namespace postrider
