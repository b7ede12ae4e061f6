// The drill over links: a profile for practice whose messages go over lines, by a station of its
// own. A message goes to a machine and is proven by it, or to the application behind this machine.
#pragma once

#include <string>
#include <string_view>

#include "postrider/model/profile.h"

namespace postrider::sim {

inline constexpr std::string_view kLinkVerb = "LINK";
inline constexpr std::string_view kLinkProfile = "drill-link";
inline constexpr std::string_view kLinkApplication = "application";  // as a destination's machine
inline constexpr std::string_view kLinkInbox = "inbox";              // the destination of arrivals

// Settings of a destination: "machine", and "way": "stream" or "datagrams".
const ProfileSpec& link_profile();

}  // namespace postrider::sim
