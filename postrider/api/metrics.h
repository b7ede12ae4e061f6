// Metrics: what the daemon counts, as text for Prometheus. Names begin with postrider_, units are
// base units, and no label has more values than this source names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "postrider/api/http_api.h"
#include "postrider/api/queue_gauges.h"
#include "postrider/api/router.h"
#include "postrider/base/time.h"
#include "postrider/model/answer.h"
#include "postrider/runtime/host.h"

namespace postrider::api {

// Requests by route and class of status, and how long accepted messages waited for the sync.
class RequestCounts {
 public:
  static constexpr std::size_t kClasses = 5;  // 1xx to 5xx
  static constexpr std::array<std::uint32_t, 10> kBucketsMs = {1,  2,   5,   10,   25,
                                                               50, 100, 250, 1000, 5000};

  // The last one counts the requests of no route.
  explicit RequestCounts(std::size_t routes) : by_route_(routes) {}
  void count(std::size_t route, int status);
  void took(Duration duration);
  std::uint64_t requests(std::size_t route, std::size_t status_class) const {
    return by_route_[route][status_class];
  }

 private:
  friend void append_requests(std::string& out, const RequestCounts& counts,
                              std::span<const RouteRow> rows);
  std::vector<std::array<std::uint64_t, kClasses>> by_route_;
  std::array<std::uint64_t, kBucketsMs.size() + 1> by_duration_{};
  std::uint64_t duration_ms_sum_ = 0;
};

struct MetricsInput {
  const Stats* stats = nullptr;         // null: the engine cannot be asked now
  const QueueGauges* queues = nullptr;  // null: the same
  ProcessFigures figures;
  std::optional<Stations::Figures> stations;  // nothing: there is none
  bool ready = false;
  std::uint64_t tails = 0;
  std::uint64_t batches = 0;
  std::string version;
};

// One counter without labels: for the rows of doors, too.
void append_counter(std::string& out, std::string_view name, std::string_view help,
                    std::uint64_t value);

std::string render_metrics(const MetricsInput& input, const RequestCounts& counts,
                           std::span<const RouteRow> rows);

}  // namespace postrider::api
