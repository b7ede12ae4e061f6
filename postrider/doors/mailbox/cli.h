// postrider box: mailboxes from the command line.
#pragma once

#include "postrider/cli/commands.h"

namespace postrider::mailbox_door {

int run_box(Arguments arguments);

}  // namespace postrider::mailbox_door
