// A daemon with a bug of base/planted.h, for the proof that crash_rounds notices it. It is linked
// to the planted copies of the engine; POSTRIDER_PLANT, which no other program knows, chooses the
// bug.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "postrider/base/planted.h"
#include "postrider/config/config.h"
#include "postrider/doors/all.h"
#include "postrider/node/daemon.h"

namespace {

bool plant_by_name(std::string_view name) {
  for (std::size_t i = 0; i < postrider::kBugs; ++i) {
    const auto bug = static_cast<postrider::Bug>(i);
    if (postrider::name_of(bug) != name) continue;
    postrider::plant(bug);
    return true;
  }
  return false;
}

}  // namespace

int main(int count, char** words) {
  using namespace postrider;
  const char* bug = std::getenv("POSTRIDER_PLANT");
  if (!plant_by_name(bug == nullptr ? "none" : bug)) {
    std::fprintf(stderr, "no bug is called '%s'\n", bug);
    return 2;
  }
  std::string file;
  ConfigOverrides overrides;
  for (int i = 1; i + 1 < count; ++i) {
    const std::string_view option = words[i];
    if (option == "--config") file = words[i + 1];
    if (option == "--data") overrides.push_back({"store.directory", words[i + 1], "--data"});
    if (option == "--listen") overrides.push_back({"server.listen", words[i + 1], "--listen"});
  }
  // The variable is not one of the configuration's.
  ::unsetenv("POSTRIDER_PLANT");
  const auto config =
      load_config(file, process_environment(), overrides, doors::all_config_parts());
  if (!config) {
    std::fprintf(stderr, "%s\n", config.error().detail.c_str());
    return 2;
  }
  auto daemon = Daemon::start({.doors = doors::all_doors(),
                               .config = *config,
                               .reload = {},
                               .version = "planted",
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
