// postrider config init | check | reference: the file of settings.
#include "postrider/config/config.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include "apps/postrider/commands.h"
#include "postrider/cli/options.h"
#include "postrider/cli/output.h"
#include "postrider/doors/all.h"

namespace postrider {
namespace {

constexpr auto kInitOptions =
    std::to_array<OptionRow>({{"--force", "", "write over a file that is there"}});
constexpr auto kCheckOptions =
    std::to_array<OptionRow>({{"--config", "FILE", "the same as FILE, as serve takes it"}});

int failure(const Parsed& parsed, const std::string& what) {
  complain(parsed.command, what);
  return kExitFailure;
}

// Only the owner may read it: tokens will be written into it.
int init(const Parsed& parsed) {
  const std::string text = config_template(doors::all_config_parts());
  if (parsed.operands.empty()) {
    print(text);
    return kExitOk;
  }
  const std::string& path = parsed.operands[0];
  const int mode = parsed.has("--force") ? O_TRUNC : O_EXCL;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | mode, 0600);
  if (fd < 0 && errno == EEXIST)
    return failure(parsed, path + " is there already; --force writes over it");
  if (fd < 0) return failure(parsed, path + ": " + std::generic_category().message(errno));
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int reason = errno;
  if (close(fd) != 0 || !written)
    return failure(parsed, path + ": " + std::generic_category().message(reason));
  print("wrote " + path + "; 'postrider config check " + path +
        "' checks it, and 'postrider serve "
        "--config " +
        path + "' uses it\n");
  return kExitOk;
}

// What the daemon would say, with the environment as it is here.
int check(const Parsed& parsed) {
  const std::string path = parsed.operands.empty() ? parsed.text("--config") : parsed.operands[0];
  const Result<Config> config =
      load_config(path, process_environment(), {}, doors::all_config_parts());
  if (!config) {
    std::fprintf(stderr, "%s\n", shown_lines(config.error().detail).c_str());
    return kExitFailure;
  }
  for (const std::string& warning : config->warnings)
    std::fprintf(stderr, "warning: %s\n", shown(warning, 1000).c_str());
  for (const UnheardEvents& it : unheard_events(*config, doors::all_config_parts()))
    std::fprintf(stderr,
                 "warning: %s '%s' tells its events to the destination '%s', which is not in "
                 "this file: until somebody puts it, nobody hears them\n",
                 std::string(it.kind).c_str(), it.teller.c_str(), it.destination.c_str());
  std::string listens;
  for (const HttpListen& listener : listeners(*config))
    listens.append(listens.empty() ? "" : ", ").append(listener.address);
  FactList facts;
  facts.add("file", path.empty() ? "none: defaults and environment" : path);
  facts.add("listens on", listens);
  facts.add("TLS", config->server.tls_certificate.empty() ? "no" : "yes");
  facts.add("stores in", config->store.directory);
  facts.add("tokens", std::to_string(config->api.tokens.size()));
  facts.add("destinations", std::to_string(config->destinations.size()));
  print(facts.text() + "good\n");
  return kExitOk;
}

int reference(const Parsed& /*parsed*/) {
  print(config_reference(doors::all_config_parts()));
  return kExitOk;
}

// clang-format off
constexpr auto kVerbTable = std::to_array<Command>({
    {"init", {"[FILE]", 0, 1}, "Writes a file with every setting and what it means.", kInitOptions, false, init},
    {"check", {"[FILE]", 0, 1}, "Says what is wrong with a file, or what it amounts to.", kCheckOptions, false, check},
    {"reference", {}, "Prints all settings as Markdown.", {}, false, reference},
});
// clang-format on

}  // namespace

int run_config(Arguments arguments) { return run_verbs("config", kVerbTable, arguments); }

}  // namespace postrider
