#include "postrider/sim/fields/lxmf/inbox.h"

#include <array>

#include "postrider/base/check.h"

namespace postrider::sim {
namespace {

enum : StateIndex { kWaits, kRead, kLost, kOld, kCalledOff };

// clang-format off
constexpr auto kInboxStates = std::to_array<StateRow>({
    {.name = "waits",      .phase = Phase::kQueued},
    {.name = "read",       .phase = Phase::kDelivered},
    {.name = "lost",       .phase = Phase::kDead},
    {.name = "old",        .phase = Phase::kExpired},
    {.name = "called off", .phase = Phase::kCancelled},
});
constexpr auto kInboxRows = std::to_array<Transition>({
    {in(kWaits), On::kDue,       kWaits,     Do::kAwait,      Raise::kNone, "its reader comes for it"},
    {in(kWaits), On::kConfirmed, kRead,      Do::kComplete,   Raise::kNone, "its reader has it"},
    {in(kWaits), On::kExhausted, kLost,      Do::kDeadLetter, Raise::kNone, "never raised"},
    {in(kWaits), On::kExpired,   kOld,       Do::kDeadLetter, Raise::kNone, "not read in time"},
    {in(kWaits), On::kCancelled, kCalledOff, Do::kDrop,       Raise::kNone, "stopped on request"},
});
// clang-format on
constexpr auto kInboxMethods = std::to_array<Method>(
    {{.name = "keep", .initial = kWaits, .durable_intent = false, .rows = kInboxRows}});
static_assert(sound(kInboxStates, kInboxMethods[0]));

Result<Policy> configure_inbox(const NamedTexts& /*settings*/) {
  Policy policy;
  policy.pulled = true;
  policy.fifo_lanes = 0xFFFF;
  return policy;
}

WireRequest never_encoded(const Facts& /*facts*/, AttemptKind /*kind*/) {
  POSTRIDER_CHECK(false);
  return {};
}
Reading never_classified(const Facts& /*facts*/, AttemptKind /*kind*/, const WireReply& /*reply*/) {
  POSTRIDER_CHECK(false);
  return {};
}

}  // namespace

const ProfileSpec& inbox_profile() {
  static constexpr ProfileSpec kSpec{
      .name = kInboxProfile,
      .states = kInboxStates,
      .methods = kInboxMethods,
      .settings = {.configure = configure_inbox},
      .door = {.admit = admit_first_method},
      .wire = {.judge = judge_due, .encode = never_encoded, .classify = never_classified},
  };
  return kSpec;
}

}  // namespace postrider::sim
