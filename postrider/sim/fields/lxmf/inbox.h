// A mailbox for worlds: what arrives waits for its reader.
#pragma once

#include <string_view>

#include "postrider/model/profile.h"

namespace postrider::sim {

inline constexpr std::string_view kInboxProfile = "inbox";
const ProfileSpec& inbox_profile();

}  // namespace postrider::sim
