// Daemon: `postrider serve`. Puts node, API and server together, reacts to signals, watches the
// disk. Runs on the thread that calls run().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "postrider/base/result.h"
#include "postrider/doors/contract/door.h"
#include "postrider/node/reload.h"

namespace postrider {

// The disk failed, or the store cannot go on: a restart by itself would not help.
inline constexpr int kExitStoreFailed = 3;

enum class DiskFault : std::uint8_t { kNone, kWriteError, kSyncError, kFull };

struct DaemonOptions {
  doors::Doors doors;  // of the profiles; the configuration was read with their parts
  std::span<const ProfileSpec* const> profiles = {};  // none: all
  Config config;
  ConfigSource reload;  // on SIGHUP; none: a reload changes nothing
  std::string version;
  bool dev = false;  // a sink of our own, and targets on this machine are allowed
  // Rehearsals of a broken disk, for `demo` and the crash tests only.
  bool drop_unsynced = false;
  bool skip_sync = false;
  DiskFault fault = DiskFault::kNone;
  std::string fault_while;  // the fault strikes as long as there is a file of this name
};

class Daemon {
 public:
  // An Error says what to change; nothing runs then.
  static Result<std::unique_ptr<Daemon>> start(DaemonOptions options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Addresses really bound, the first being the one to show.
  const std::vector<std::string>& addresses() const;

  // Until a signal ends it; returns the exit code.
  int run();

 private:
  class Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
