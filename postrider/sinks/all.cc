#include "postrider/sinks/all.h"

#include <array>

#include "postrider/sinks/common/sink_verb.h"
#include "postrider/sinks/device/commands.h"
#include "postrider/sinks/matrix/commands.h"

namespace postrider {

const std::vector<Command>& sink_commands() {
  static const std::vector<Command> kAll = [] {
    std::vector<Command> all;
    for (const SinkVerbs verbs : {device_sinks(), matrix_sinks()}) {
      for (const SinkVerb verb : verbs) all.push_back(verb());
    }
    return all;
  }();
  return kAll;
}

std::string sink_names(std::string_view between) {
  std::string names;
  for (const Command& command : sink_commands()) {
    if (!names.empty()) names += between;
    names += command.name;
  }
  return names;
}

}  // namespace postrider
