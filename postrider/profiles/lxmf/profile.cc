#include "postrider/profiles/lxmf/profile.h"

#include "postrider/model/typed_profile.h"
#include "postrider/profiles/lxmf/cards.h"
#include "postrider/profiles/lxmf/letter.h"
#include "postrider/profiles/lxmf/setup.h"
#include "postrider/profiles/lxmf/table.h"
#include "postrider/profiles/lxmf/wire.h"

namespace postrider {
namespace lxmf {
namespace {

Reading notice_nothing(const Typed::FactsView& /*facts*/, const Notice& /*notice*/) {
  Reading reading;
  reading.declines = true;
  return reading;
}

constexpr Typed kTyped = {
    .name = kProfileName,
    .states = kStates,
    .methods = kMethods,
    .settings = {.rows = kSettingRows, .configure = configure, .prepare = prepare},
    .door = {.read = read_letter, .admit = admit_letter},
    .wire = {.judge = judge_letter, .encode = encode_attempt, .classify = classify_end},
    .news = {.receive = receive_arrival, .notice = notice_nothing},
    .gates = {.limits = gate_limits, .words = gate_words},
    .bounded = true,
    .keeps_arrivals = false,
    .make_station = make_lxmf_station,
};

}  // namespace
}  // namespace lxmf

constinit const ProfileSpec kLxmf = profile_of<lxmf::kTyped>();

}  // namespace postrider
