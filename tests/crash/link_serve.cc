// A daemon with the drill over links and its station, for rounds of two real processes. Beside the
// options of `serve`, `--station NAME=VALUE` is what the station is told.
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "postrider/config/config.h"
#include "postrider/doors/all.h"
#include "postrider/node/daemon.h"
#include "postrider/sim/fields/drill/link_profile.h"

int main(int count, char** words) {
  using namespace postrider;
  std::string file;
  ConfigOverrides overrides;
  NamedTexts station;
  for (int i = 1; i + 1 < count; ++i) {
    const std::string_view option = words[i];
    const std::string value = words[i + 1];
    if (option == "--config") file = value;
    if (option == "--data") overrides.push_back({"store.directory", value, "--data"});
    if (option == "--listen") overrides.push_back({"server.listen", value, "--listen"});
    const std::size_t cut = value.find('=');
    if (option == "--station" && cut != std::string::npos)
      station.emplace_back(value.substr(0, cut), value.substr(cut + 1));
  }
  auto config = load_config(file, process_environment(), overrides, doors::all_config_parts());
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().detail.c_str());
    return 2;
  }
  config->stations[std::string(sim::kLinkProfile)] = std::move(station);
  const std::array<const ProfileSpec*, 1> profiles = {&sim::link_profile()};
  auto daemon = Daemon::start({.doors = doors::all_doors(),
                               .profiles = profiles,
                               .config = *config,
                               .reload = {},
                               .version = "links",
                               .dev = false,
                               .drop_unsynced = true});
  if (!daemon) {
    std::fprintf(stderr, "%s\n", daemon.error().detail.c_str());
    return 1;
  }
  std::printf("Postrider listens on %s\n", (*daemon)->addresses().front().c_str());
  std::fflush(stdout);
  return (*daemon)->run();
}
