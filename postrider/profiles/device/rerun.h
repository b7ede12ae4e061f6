// Whether a command may be sent again when somebody asks for that: a redrive, an import, a resend.
// A pure function, asked by the engine before anything is done.
#pragma once

#include <string>

#include "postrider/profiles/device/types.h"

namespace postrider::device {

// Reads may. An act, or the making of a token, may when it is certain that it was not carried out:
// it had no attempt, or its end says that none of them can have run. The sentence names the command
// and says what is in the way.
std::string why_not_again(const Rerun& rerun);

}  // namespace postrider::device
