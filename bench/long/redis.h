// The original device service keeps its queues in Redis. This replays what it asks of Redis for one
// push lifecycle, against a stock server: for comparison, side by side.
#pragma once

#include "apps/postrider/bench.h"
#include "postrider/base/result.h"

namespace postrider {

struct RedisFigures {
  double commands = 0;              // of one lifecycle
  double rate = 0;                  // lifecycles per second
  double bytes_per_lifecycle = 0;   // that the append-only file grew by
  double cpu_us_per_lifecycle = 0;  // of the server
};

// `options.redis` is HOST:PORT. `depth` lifecycles are under way; their commands share one
// connection and are sent together, which is the best that a client can do.
Result<RedisFigures> replay_on_redis(const BenchOptions& options);

}  // namespace postrider
