// The commands of the program, one file each. A command gets what follows its name and returns the
// exit code.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace postrider {

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;
inline constexpr int kExitUsage = 2;

using Arguments = std::span<const std::string>;

// The first word of a command.
struct Noun {
  std::string_view name;
  int (*run)(Arguments arguments);
  std::string_view summary;
  std::string_view more = "";  // words that lead to commands of their own, beside the plain one
};
std::span<const Noun> nouns();

int run_check(Arguments arguments);
int run_completion(Arguments arguments);
int run_config(Arguments arguments);
int run_demo(Arguments arguments);
int run_dest(Arguments arguments);
int run_device(Arguments arguments);
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

// Prints the complaint and where help is, on the standard error, and returns kExitUsage. `command`
// may be empty.
int usage_error(std::string_view command, std::string_view complaint);

bool wants_help(Arguments arguments);

}  // namespace postrider
