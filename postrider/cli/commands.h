// A command of the program: it gets what follows its name and returns the exit code.
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
using Nouns = std::span<const Noun>;

// Prints the complaint and where help is, on the standard error, and returns kExitUsage. `command`
// may be empty.
int usage_error(std::string_view command, std::string_view complaint);

bool wants_help(Arguments arguments);

}  // namespace postrider
