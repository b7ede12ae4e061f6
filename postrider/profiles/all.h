// Every profile there is. No registry and no static registration: this list is the list.
#pragma once

#include <span>
#include <string_view>

#include "postrider/model/profile.h"

namespace postrider {

std::span<const ProfileSpec* const> all_profiles();

const ProfileSpec* find_profile(std::string_view name);  // null: there is none of this name

}  // namespace postrider
