// The lists of a tree that has the pager profile: each is the real one and one line.
#pragma once

#include <span>

#include "postrider/doors/contract/door.h"
#include "postrider/model/profile.h"
#include "postrider/sim/world/field.h"

namespace postrider::pager {

std::span<const ProfileSpec* const> all_profiles();
doors::Doors all_doors();
const sim::Fields& all_fields();

}  // namespace postrider::pager
