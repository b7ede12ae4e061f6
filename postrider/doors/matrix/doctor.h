// Reads the file of a homeserver (Synapse's homeserver.yaml) and says what keeps it from handing
// over its federation well. It looks for a few names and is no reader of YAML: what it cannot find
// it says is missing. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace postrider::matrix_door {

struct Finding {
  bool harmful = false;  // it works against us, or nothing is handed over; else it is good
  std::string text;
  bool operator==(const Finding&) const = default;
};

std::vector<Finding> examine_homeserver(std::string_view yaml);

}  // namespace postrider::matrix_door
