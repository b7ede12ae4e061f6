// The pager profile: short texts to a pager centre, over HTTP and in a format of its own.
#pragma once

#include "postrider/model/profile.h"

namespace postrider {

extern const ProfileSpec kPager;

}  // namespace postrider
