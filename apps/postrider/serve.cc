// postrider serve: the daemon.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "apps/postrider/commands.h"
#include "postrider/cli/options.h"
#include "postrider/cli/output.h"
#include "postrider/config/config.h"
#include "postrider/doors/all.h"
#include "postrider/node/daemon.h"

namespace postrider {
namespace {

constexpr OptionRow kOptions[] = {
    {"--config", "FILE", "settings; see 'postrider config init'"},
    {"--data", "DIR", "where messages are kept (store.directory, ./data)"},
    {"--listen", "ADDR", "where to listen (server.listen, 127.0.0.1:8460)"},
    {"--dev", "",
     "to try it out: a destination 'sink' that takes everything, targets on this machine"},
    {"--break", "files|sync",
     "rehearse a disk that forgets at a kill what was not synced, or never syncs"},
};

void welcome(const Config& config, const std::vector<std::string>& addresses, bool dev) {
  for (const std::string& address : addresses)
    std::printf("Postrider listens on %s\n", address.c_str());
  std::printf("Messages are kept in %s\n", config.store.directory.c_str());
  std::puts("Stop it with Ctrl-C; what was accepted is there at the next start.");
  const auto is_local = [](const std::string& address) { return address.starts_with("unix:"); };
  const auto address = std::find_if_not(addresses.begin(), addresses.end(), is_local);
  // Who listens on a Unix socket only has no sink: it could not be reached.
  if (dev && address != addresses.end()) {
    const char* const scheme = config.server.tls_certificate.empty() ? "http" : "https";
    std::printf("The dashboard is at %s://%s/\n", scheme, address->c_str());
    std::puts("\nSend something to the built-in sink:\n");
    std::printf(
        "  curl -s %s://%s/v1/messages -H 'content-type: application/json' \\\n"
        "       -d '{\"destination\": \"sink\", \"body\": {\"hello\": \"world\"}}'\n",
        scheme, address->c_str());
    std::puts("\nThen, in another terminal, ask where it is: postrider explain ID\n");
  }
  std::fflush(stdout);
}

struct Broken {
  bool files = false;  // the bytes that were not synced are lost with the process
  bool sync = false;   // and nothing is ever synced
  DiskFault fault = DiskFault::kNone;
  std::string fault_while;
};

// Empty: there is no such thing to be broken.
std::optional<Broken> parse_broken(const std::string& text) {
  if (text.empty()) return Broken();
  if (text == "files") return Broken{.files = true};
  if (text == "sync") return Broken{.files = true, .sync = true};
  // For our own tests, and therefore not in the help.
  constexpr std::pair<std::string_view, DiskFault> kFaults[] = {
      {"write-error-while=", DiskFault::kWriteError},
      {"sync-error-while=", DiskFault::kSyncError},
      {"full-while=", DiskFault::kFull},
  };
  for (const auto& [name, fault] : kFaults) {
    if (text.starts_with(name))
      return Broken{.fault = fault, .fault_while = text.substr(name.size())};
  }
  return std::nullopt;
}

int serve(const Parsed& parsed) {
  ConfigOverrides overrides;
  const auto override_by = [&](std::string_view option, std::string_view setting) {
    if (const std::string* value = parsed.find(option))
      overrides.push_back({std::string(setting), *value, std::string(option)});
  };
  override_by("--data", "store.directory");
  override_by("--listen", "server.listen");
  const std::optional<Broken> broken = parse_broken(parsed.text("--break"));
  if (!broken)
    return usage_error("serve", "--break: '" + parsed.text("--break") +
                                    "' cannot be broken; it may be files or sync");
  const auto load = [file = parsed.text("--config"), overrides](const ConfigOverrides& bound) {
    ConfigOverrides all = overrides;
    all.insert(all.end(), bound.begin(), bound.end());
    return load_config(file, process_environment(), all, doors::all_config_parts());
  };
  auto config = load({});
  if (!config) {
    complain("serve", config.error().detail);
    return kExitUsage;
  }
  auto daemon = Daemon::start({.doors = doors::all_doors(),
                               .config = *config,
                               .reload = load,
                               .version = POSTRIDER_VERSION,
                               .dev = parsed.has("--dev"),
                               .drop_unsynced = broken->files,
                               .skip_sync = broken->sync,
                               .fault = broken->fault,
                               .fault_while = broken->fault_while});
  if (!daemon) {
    complain("serve", daemon.error().detail);
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
