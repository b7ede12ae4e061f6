// postrider serve: the daemon.
#include <cstdio>
#include <string>

#include "apps/postrider/commands.h"
#include "apps/postrider/options.h"
#include "postrider/api/config.h"
#include "postrider/api/daemon.h"

namespace postrider {
namespace {

constexpr OptionRow kOptions[] = {
    {"--config", "FILE", "settings; see 'postrider config init'"},
    {"--data", "DIR", "where messages are kept (store.directory, ./data)"},
    {"--listen", "ADDR", "where to listen (server.listen, 127.0.0.1:8460)"},
    {"--dev", "",
     "to try it out: a destination 'sink' that takes everything, targets on this machine"},
    {"--break", "sync", "rehearse a disk that forgets: never use it with messages that matter"},
};

void welcome(const Config& config, const std::vector<std::string>& addresses, bool dev) {
  for (const std::string& address : addresses)
    std::printf("Postrider listens on %s\n", address.c_str());
  std::printf("Messages are kept in %s\n", config.store.directory.c_str());
  std::puts("Stop it with Ctrl-C; what was accepted is there at the next start.");
  if (dev) {
    std::puts("\nSend something to the built-in sink:\n");
    std::printf(
        "  curl -s http://%s/v1/messages -H 'content-type: application/json' \\\n"
        "       -d '{\"destination\": \"sink\", \"body\": {\"hello\": \"world\"}}'\n\n",
        addresses.front().c_str());
  }
  std::fflush(stdout);
}

int serve(const Parsed& parsed) {
  ConfigOverrides overrides;
  const auto override_by = [&](std::string_view option, std::string_view setting) {
    if (const std::string* value = parsed.find(option))
      overrides.push_back({std::string(setting), *value, std::string(option)});
  };
  override_by("--data", "store.directory");
  override_by("--listen", "server.listen");
  const std::string broken = parsed.text("--break");
  if (!broken.empty() && broken != "sync" && broken != "files")
    return usage_error("serve", "--break: '" + broken + "' cannot be broken; it may be sync");
  const auto load = [file = parsed.text("--config"), overrides] {
    return load_config(file, process_environment(), overrides);
  };
  auto config = load();
  if (!config) {
    std::fprintf(stderr, "postrider serve: %s\n", config.error().detail.c_str());
    return kExitUsage;
  }
  auto daemon = Daemon::start({.config = *config,
                               .reload = load,
                               .version = POSTRIDER_VERSION,
                               .dev = parsed.has("--dev"),
                               .drop_unsynced = !broken.empty(),
                               .skip_sync = broken == "sync"});
  if (!daemon) {
    std::fprintf(stderr, "postrider serve: %s\n", daemon.error().detail.c_str());
    return kExitFailure;
  }
  welcome(*config, (*daemon)->addresses(), parsed.has("--dev"));
  return (*daemon)->run();
}

constexpr Command kServe{.name = "serve",
                         .operands = {},
                         .summary = "run the daemon",
                         .options = kOptions,
                         .asks_daemon = false,
                         .run = serve};

}  // namespace

int run_serve(Arguments arguments) { return run_command("", kServe, arguments); }

}  // namespace postrider
