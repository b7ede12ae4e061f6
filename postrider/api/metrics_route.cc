// /metrics: what the engine counts, and of its queues the deepest. Queues are walked through in
// bounded pieces of the engine, one question after the other, so that everybody else's requests
// pass in between; and not for more than a fifth of the time, however often somebody asks.
#include "postrider/api/http_api_impl.h"

namespace postrider {

struct HttpApi::Impl::QueueWalk {
  std::string tenant;
  std::vector<Waiting> waiting;  // everybody who asks meanwhile
  api::QueueGauges gauges;
  Timestamp began;
  Query query;
};

HttpResponse HttpApi::Impl::metrics_response(const Stats* stats,
                                             const api::QueueGauges* queues) const {
  api::MetricsInput input;
  input.stats = stats;
  input.queues = queues;
  input.figures = figures();
  input.ready = host_.state() == Host::State::kRunning;
  if (host_.has_stations()) input.stations = host_.station_figures();
  input.tails = tails_.size();
  input.batches = batches_.size();
  input.version = options_.version;
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = api::render_metrics(input, counts_, rows_);
  for (const auto& door : options_.doors) door->append_metrics(response.body);
  return response;
}

void HttpApi::Impl::get_metrics(Call& call) {
  const Timestamp now = clock_.read().boot;
  if (queue_walk_) return queue_walk_->waiting.push_back(call.waiting);
  if (queue_gauges_ && now < gauges_until_)
    return answer_metrics(std::string(call.tenant), {call.waiting});
  queue_gauges_.reset();
  queue_walk_ = std::make_shared<QueueWalk>(
      QueueWalk{.tenant = std::string(call.tenant),
                .waiting = {call.waiting},
                .gauges = api::QueueGauges(options_.metrics_destinations_max),
                .began = now,
                .query = {}});
  queue_walk_->query.what = Query::What::kQueues;
  queue_walk_->query.limit = UINT32_MAX;  // as many as the engine likes to tell at once
  go_on_walking(queue_walk_);
}

// By value, because `queue_walk_` is given up on the way.
// NOLINTNEXTLINE(performance-unnecessary-value-param): see above
void HttpApi::Impl::go_on_walking(std::shared_ptr<QueueWalk> walk) {
  const Door door =
      host_.post(walk->tenant, walk->query, [weak = weak_from_this(), walk](Answer answer) {
        if (const auto self = weak.lock()) self->take_queues(walk, answer);
      });
  if (door == Door::kOpen) return;
  queue_walk_.reset();
  answer_metrics(walk->tenant, walk->waiting);
}

void HttpApi::Impl::take_queues(const std::shared_ptr<QueueWalk>& walk, Answer& answer) {
  if (auto* page = std::get_if<QueuePage>(&answer.view)) {
    for (QueueRow& row : page->rows) walk->gauges.add(std::move(row));
    walk->query.cursor = page->next;
    if (!page->next.empty()) return go_on_walking(walk);
    walk->gauges.finish();
    const Timestamp now = clock_.read().boot;
    queue_gauges_ = std::move(walk->gauges);
    gauges_until_ = now + 4 * (now - walk->began);
  }
  queue_walk_.reset();
  answer_metrics(walk->tenant, walk->waiting);
}

// What we know without the engine is better than a gap.
void HttpApi::Impl::answer_metrics(const std::string& tenant, const std::vector<Waiting>& waiting) {
  const auto finish_all = [](Impl& self, const std::vector<Waiting>& all, const Stats* stats) {
    const api::QueueGauges* queues = self.queue_gauges_ ? &*self.queue_gauges_ : nullptr;
    const HttpResponse response = self.metrics_response(stats, queues);
    for (const Waiting& one : all) self.finish(one, response);
  };
  Query query;
  query.what = Query::What::kStats;
  const Door door = host_.post(tenant, std::move(query),
                               [weak = weak_from_this(), waiting, finish_all](Answer it) {
                                 if (const auto self = weak.lock())
                                   finish_all(*self, waiting, std::get_if<Stats>(&it.view));
                               });
  if (door != Door::kOpen) finish_all(*this, waiting, nullptr);
}

}  // namespace postrider
