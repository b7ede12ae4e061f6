#include "postrider/doors/lxmf/door.h"

#include <array>

#include "postrider/doors/lxmf/cli.h"

namespace postrider::doors {
namespace {

constexpr auto kLxmfNouns =
    std::to_array<Noun>({{"lxmf", lxmf_door::run_lxmf, "identities of LXMF: new, id, sync"}});

}  // namespace

const ProfileDoor kLxmfDoor{.profile = "lxmf", .nouns = kLxmfNouns};

}  // namespace postrider::doors
