// The drill over links: a profile for practice whose messages go over lines, by a station of its
// own. A message goes to a machine and is proven by it; there it waits in the mailbox of the
// application behind that machine. Arrivals are numbered by sender, with a card that counts them.
#pragma once

#include <string>
#include <string_view>

#include "postrider/model/profile.h"

namespace postrider::sim {

inline constexpr std::string_view kLinkVerb = "LINK";
inline constexpr std::string_view kLinkProfile = "drill-link";
inline constexpr std::string_view kLinkApplication = "application";  // as a destination's machine
inline constexpr std::string_view kLinkInbox = "inbox";              // the mailbox of arrivals
inline constexpr std::string_view kLinkCounts = "counts";  // a drawer: arrivals, by sender
inline constexpr std::string_view kLinkSeen = "seen";      // a drawer: ids of arrivals, for a while
inline constexpr Duration kLinkSeenFor{600'000};

// What arrives: a message with its count, or, as a planted bug has it, one without the other.
inline constexpr std::string_view kLinkRequest = "request";
inline constexpr std::string_view kLinkUncounted = "request-uncounted";
inline constexpr std::string_view kLinkCount = "count";

// Settings of a destination: "machine"; "way": "stream" or "datagrams"; "until": "proof", which it
// also is when it is left out, or "done", when the application there has confirmed it; "cap": the
// longest wait between two attempts, in milliseconds.
const ProfileSpec& link_profile();

}  // namespace postrider::sim
