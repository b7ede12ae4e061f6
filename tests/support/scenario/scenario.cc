#include "tests/support/scenario/scenario.h"

#include "tests/support/scenario/world.h"

namespace postrider::scenario {

std::string play(std::string_view text, std::string_view profile) {
  World world{std::string(profile)};
  std::string out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const bool is_command = line.starts_with("> ");
    if (!is_command && !line.empty() && !line.starts_with('#')) continue;  // the old trace
    out.append(line).append("\n");
    if (!is_command) continue;
    for (const std::string& seen : world.run(line.substr(2))) out.append(seen).append("\n");
  }
  return out;
}

}  // namespace postrider::scenario
