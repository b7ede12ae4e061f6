#include "postrider/sinks/common/sink_verb.h"

#include <cstdio>

#include "postrider/cli/output.h"
#include "postrider/json/json_writer.h"

namespace postrider {

int run_far_side(const Parsed& parsed, std::string_view port,
                 const Result<std::unique_ptr<FarSide>>& opened) {
  if (!opened && opened.error().code == ErrorCode::kInvalid)
    return complain(parsed, opened.error());
  if (!opened) {
    complain(parsed.command, opened.error().detail);
    return kExitFailure;
  }
  FarSide& side = **opened;
  std::string ports;
  json::JsonWriter writer(ports);
  writer.open_object().field(port, side.address());
  writer.field("control", side.control_address()).close_object();
  std::puts(ports.c_str());
  std::fflush(stdout);
  side.run(true);
  std::fprintf(stderr, "%s\n", side.summary().c_str());
  return kExitOk;
}

}  // namespace postrider
