// The checkers of drill worlds, one maker each. Numbers are those of the architecture.
#pragma once

#include "postrider/sim/checkers/all.h"

namespace postrider::sim {

CheckerMaker make_intent_checker;   // 18: a resend is the same bytes; questions go by the ladder
CheckerMaker make_pairing_checker;  // 17: news finds its message, and two halves are one answer
CheckerMaker make_starts_checker;   // 19: a first start that sends a message on sends one
CheckerMaker make_frail_checker;    // 26: a gate that failures close lets one call pass, then all
CheckerMaker make_seal_checker;     // 51: a seal is made with the key file that is named
CheckerMaker make_holder_checker;   // 27: the message that holds a gate hears what is said of it
CheckerMaker make_seen_checker;     // 46: a sign of life ends the back-off of messages that hear it

}  // namespace postrider::sim
