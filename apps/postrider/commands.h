// The commands of the program, one file each; those of profiles are in their doors.
#pragma once

#include "postrider/cli/commands.h"

namespace postrider {

Nouns nouns();  // all that there are

int run_check(Arguments arguments);
int run_completion(Arguments arguments);
int run_config(Arguments arguments);
int run_demo(Arguments arguments);
int run_dest(Arguments arguments);
int run_dlq(Arguments arguments);
int run_explain(Arguments arguments);
int run_group(Arguments arguments);
int run_hold(Arguments arguments);
int run_job(Arguments arguments);
int run_man(Arguments arguments);
int run_msg(Arguments arguments);
int run_profile(Arguments arguments);
int run_send(Arguments arguments);
int run_serve(Arguments arguments);
int run_shape(Arguments arguments);
int run_sim(Arguments arguments);
int run_audit(Arguments arguments);
int run_bench(Arguments arguments);
int run_sink(Arguments arguments);
int run_status(Arguments arguments);
int run_tail(Arguments arguments);
int run_top(Arguments arguments);

}  // namespace postrider
