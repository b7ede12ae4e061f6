#include "postrider/cli/commands.h"

#include <cstdio>

#include "postrider/cli/output.h"

namespace postrider {

int usage_error(std::string_view command, std::string_view complaint) {
  complain(command, complaint);
  std::fprintf(stderr, "Try '%s --help'.\n", typed(command).c_str());
  return kExitUsage;
}

bool wants_help(Arguments arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") return true;
  }
  return false;
}

}  // namespace postrider
