// Holds: named rules that pause every destination they fit, for as long as they stand, with a
// reason that is told with each message they keep waiting.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"

namespace postrider {

// Everything that is set must fit; a rule with nothing set fits every destination.
struct HoldRule {
  std::string name;
  std::string reason;
  std::string destination_prefix;
  std::string profile;
  std::string tenant;  // the destination's setting of that name
  friend bool operator==(const HoldRule&, const HoldRule&) = default;
};

struct Hold {
  HoldRule rule;
  std::string actor;
  Timestamp since;
  friend bool operator==(const Hold&, const Hold&) = default;
};
std::string encode_hold(const Hold& hold);
Result<Hold> decode_hold(std::string_view record);

struct HoldList {
  std::vector<Hold> holds;  // by name
};

}  // namespace postrider
