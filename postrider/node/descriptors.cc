#include "postrider/node/descriptors.h"

#include <algorithm>
#include <limits>
#include <string>
#include <sys/resource.h>

namespace postrider {
namespace {

constexpr std::uint64_t kStoreFilesMin = 20;  // RocksDB takes no less
constexpr std::uint64_t kOthersMax = 64;      // logs, files being written, name servers
constexpr std::uint64_t kLimitMax = std::numeric_limits<int>::max();

}  // namespace

std::uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kDescriptorsMin;
  const rlimit raised{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
  if (limit.rlim_cur < limit.rlim_max && ::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return std::min<std::uint64_t>(limit.rlim_cur, kLimitMax);
}

Result<DescriptorShares> share_descriptors(std::uint64_t limit, std::uint32_t store_files_wanted) {
  if (limit < kDescriptorsMin)
    return fail(ErrorCode::kLimit, "the process may open " + std::to_string(limit) +
                                       " files; it needs at least " +
                                       std::to_string(kDescriptorsMin) + " (ulimit -n)");
  const std::uint64_t store = std::max<std::uint64_t>(
      kStoreFilesMin, std::min<std::uint64_t>(store_files_wanted, limit / 4));
  const std::uint64_t others = std::min(kOthersMax, limit / 8);
  return DescriptorShares{
      .store_files_max = static_cast<std::uint32_t>(store),
      .network_max = static_cast<int>(std::min(limit, kLimitMax) - store - others)};
}

ConnectionShares share_connections(const ConnectionShares& wanted, std::uint64_t most) {
  const std::uint64_t outward = std::uint64_t{wanted.http} + wanted.grpc + wanted.lines;
  if (outward + wanted.server <= most) return wanted;
  const std::uint64_t left = most > wanted.server ? most - wanted.server : 0;
  const std::uint64_t out = std::min(outward, std::max(most / 2, left));
  const auto at_least_one = [](std::uint64_t number) {
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, number));
  };
  return {.server = at_least_one(std::min<std::uint64_t>(wanted.server, most - out)),
          .http = at_least_one(wanted.http * out / outward),
          .grpc = at_least_one(wanted.grpc * out / outward),
          .lines = wanted.lines == 0 ? 0 : at_least_one(wanted.lines * out / outward)};
}

}  // namespace postrider
