#include "postrider/profiles/all.h"

#include <array>

#include "postrider/profiles/all_work.h"
#include "postrider/profiles/device/profile.h"
#include "postrider/profiles/lxmf/profile.h"
#include "postrider/profiles/lxmf/work.h"
#include "postrider/profiles/mailbox/profile.h"
#include "postrider/profiles/matrix/profile.h"
#include "postrider/profiles/rpc/profile.h"
#include "postrider/profiles/webhook/profile.h"

namespace postrider {
namespace {

constexpr auto kAll =
    std::to_array<const ProfileSpec*>({&kWebhook, &kDevice, &kMailbox, &kMatrix, &kLxmf, &kRpc});

}  // namespace

std::span<const ProfileSpec* const> all_profiles() { return kAll; }

std::span<const WorkKind> all_work() { return lxmf::kWorkKinds; }

const ProfileSpec* find_profile(std::string_view name) {
  for (const ProfileSpec* profile : kAll) {
    if (profile->name == name) return profile;
  }
  return nullptr;
}

}  // namespace postrider
