// Principals: the seam to the tokens of the configuration, for far sides that show one on a line of
// a station. A station knows neither the tokens nor where they come from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace postrider {

// How near the far side of a line is, as far as its address tells.
enum class Nearness : std::uint8_t {
  kSocket,     // by a Unix socket: its file says who may
  kMachine,    // by a loopback address
  kElsewhere,  // by any other one
};

struct Principal {
  std::string tenant;  // whose share and whose operation keys it uses
  std::string actor;   // for the audit
};

class Principals {
 public:
  virtual ~Principals() = default;
  // The far side that shows this token, when it may submit; nothing: it may not. Asked at each
  // greeting, because tokens change while the process runs.
  virtual std::optional<Principal> find(std::string_view token, Nearness nearness) const = 0;
};

}  // namespace postrider
