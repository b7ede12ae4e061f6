// What the benchmarks over HTTP need: a daemon of their own, and many clients on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <sys/types.h>

#include "apps/postrider/bench.h"
#include "postrider/base/result.h"

namespace postrider {

// What a daemon gave to durable commits since its start.
struct StoreFigures {
  double puts = 0;
  double bytes = 0;
};
void add_store(Figures& figures, const StoreFigures& before, const StoreFigures& after,
               std::uint64_t count);

// `postrider serve --dev` in a process of its own, on any port.
class BenchDaemon {
 public:
  static Result<std::unique_ptr<BenchDaemon>> start(const std::string& directory);
  ~BenchDaemon();  // kill -9, if it still runs
  BenchDaemon(const BenchDaemon&) = delete;
  BenchDaemon& operator=(const BenchDaemon&) = delete;

  const std::string& address() const { return address_; }
  std::string url() const { return "http://" + address_; }
  double cpu_seconds() const;
  double resident_mb() const;
  // PUT /v1/destinations/PREFIXn for each n, paused or not.
  Result<void> make_destinations(const std::string& prefix, std::uint32_t count,
                                 const std::string& settings, bool paused) const;
  // A number of /v1/stats under conservation.
  Result<StoreFigures> store() const;
  Result<std::uint64_t> counter(const std::string& name) const;
  Result<void> stop();  // SIGTERM, and an exit of 0
  void kill();

 private:
  BenchDaemon() = default;
  pid_t pid_ = -1;
  int out_ = -1;
  std::string address_;
};

struct LoadOptions {
  std::string address;
  std::uint32_t connections = 64;
  double seconds = 5;
  std::uint64_t requests_max = UINT64_MAX;
  std::function<void(std::uint64_t number, std::string& request)> next;  // appends a whole request
  std::string counted;  // occurrences in the answers are counted, as well as statuses
};

struct LoadResult {
  std::uint64_t answers = 0;  // with status 2xx
  std::uint64_t others = 0;
  std::uint64_t counted = 0;
  double seconds = 0;
  Latencies latencies;
};

// Each connection sends its next request when the last one was answered.
Result<LoadResult> put_load(const LoadOptions& options);

// Appends a POST with this body.
void append_post(std::string& out, std::string_view path, std::string_view type,
                 std::string_view body);

}  // namespace postrider
