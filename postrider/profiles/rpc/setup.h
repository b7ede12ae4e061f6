// What the station is told by [stations.rpc] of the configuration. Pure; any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/attributes.h"
#include "postrider/model/seams/station.h"
#include "postrider/model/secrets.h"

namespace postrider::rpc {

struct StationSetup {
  std::vector<std::string> listen;  // "tcp://127.0.0.1:7420", "tls://…", "unix:/run/postrider/rpc"
  std::string tls;                  // the secret with key and certificate of tls:// addresses
  std::uint32_t attachments_max = 1024;
  std::uint32_t calls_max = 512;  // operations that one attachment may watch
  std::uint32_t arguments_bytes_max = 256 * 1024;
  Duration ping{15'000};  // 0: never
};

inline constexpr std::size_t kListenersMax = 16;

Result<StationSetup> read_station_setup(const NamedTexts& settings);
Result<std::unique_ptr<Station>> make_rpc_station(const NamedTexts& settings,
                                                  const Secrets& secrets);

}  // namespace postrider::rpc
