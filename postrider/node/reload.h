// Reload: what a running daemon takes of a configuration that is read again. A pure comparison of
// two configurations; the daemon applies what comes out of it.
//
// Settings are of two kinds. Tokens, destinations, the lists of parts and the sections that say so
// (ConfigSection::reloads) are taken at once. All others need a restart and keep their running
// values together, whatever the file says, and the new ones are judged beside those: tokens cannot
// go while a socket that others reach is bound, although the file moves it to loopback.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/config/config.h"

namespace postrider {

// Reads file and environment again; `bound` wins over both.
using ConfigSource = std::function<Result<Config>(const ConfigOverrides& bound)>;

struct Reload {
  Config config;                  // with the running listeners, and warnings about both together
  std::vector<std::string> kept;  // settings that the file changed and that need a restart, sorted
};

// Fails when the configuration is wrong as it stands, or beside what is bound: nothing is taken.
Result<Reload> reload_config(const Config& running, const ConfigSource& read, ConfigParts parts);

}  // namespace postrider
