// How the file descriptors of the process are shared out. A store that cannot open a file has to
// stop, so it gets its part before clients and attempts may have any. Pure but for the first.
#pragma once

#include <cstdint>

#include "postrider/base/result.h"

namespace postrider {

inline constexpr std::uint64_t kDescriptorsMin = 64;  // with fewer the daemon does not start

// Raises the limit of this process as far as it may; what it is then.
std::uint64_t raise_descriptor_limit();

struct DescriptorShares {
  std::uint32_t store_files_max = 0;
  int network_max = 0;  // sockets get no descriptor with this number or a higher one
};

// Fails below kDescriptorsMin.
Result<DescriptorShares> share_descriptors(std::uint64_t limit, std::uint32_t store_files_wanted);

// How many connections each side may have. Clients, HTTP, gRPC and the lines of stations never take
// descriptors from each other: when there are fewer than they may use together, one half is for
// clients and one for the others, as far as it is wanted, and none that wants some gets none.
struct ConnectionShares {
  std::uint32_t server = 0;
  std::uint32_t http = 0;
  std::uint32_t grpc = 0;
  std::uint32_t lines = 0;  // 0: there is no station
  friend bool operator==(const ConnectionShares&, const ConnectionShares&) = default;
};
ConnectionShares share_connections(const ConnectionShares& wanted, std::uint64_t most);

}  // namespace postrider
