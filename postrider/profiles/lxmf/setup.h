// What the station is told by [stations.lxmf] of the configuration: its interfaces and identities.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "postrider/base/result.h"
#include "postrider/base/time.h"
#include "postrider/model/attributes.h"
#include "postrider/model/seams/station.h"
#include "postrider/model/secrets.h"
#include "postrider/protocols/reticulum/identity.h"

namespace postrider::lxmf {

struct InterfaceSetup {
  enum class Kind : std::uint8_t { kCalls, kListens, kDatagrams };
  std::string name;
  Kind kind = Kind::kCalls;
  std::string address;
  std::string to;  // of datagrams: where they go
};

struct IdentitySetup {
  std::string name;  // of its key file
  reticulum::Identity identity;
  std::string inbox;         // the destination of what arrives for it
  std::string display_name;  // that it announces; empty: none
  std::uint8_t stamp_cost = 0;  // that it wants of what arrives for it; 0: none
  bool enforces_stamps = false;  // else what lacks one is marked
};

// Our own propagation node.
struct NodeSetup {
  std::string name;  // of its key file
  reticulum::Identity identity;
  std::string display_name;
  std::uint8_t cost = 16;  // of an upload; a stamp may fall short of it by the flexibility
  std::uint8_t flexibility = 3;
  std::uint32_t message_kb_max = 256;
  std::uint32_t sync_kb_max = 10'240;
};

struct StationSetup {
  std::vector<InterfaceSetup> interfaces;
  std::optional<NodeSetup> node;
  std::vector<IdentitySetup> identities;
  Duration announce_every = 15min;  // 0: at the start and when asked only
};

inline constexpr std::size_t kInterfacesMax = 64;
inline constexpr std::size_t kIdentitiesMax = 128;

// Settings:
//   interface.NAME = "tcp://HOST:PORT"                    calls a server, again after 5 s
//   interface.NAME = "listen tcp://ADDRESS:PORT"          each caller is an interface of its own
//   interface.NAME = "udp://ADDRESS:PORT to HOST:PORT"    datagrams
//   identity.NAME = "DESTINATION"                         NAME is a secret; what arrives goes there
//   display_name.NAME = "TEXT"                            of an identity
//   announce_every = "15m"
Result<StationSetup> read_setup(const NamedTexts& settings, const Secrets& secrets);
Result<std::unique_ptr<Station>> make_lxmf_station(const NamedTexts& settings,
                                                   const Secrets& secrets);

}  // namespace postrider::lxmf
