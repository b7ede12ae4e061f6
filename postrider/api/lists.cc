// A message to a list of destinations. What the engine takes in one step is one part; a longer list
// is cut into parts, each of which is accepted as a whole, one after the other. Parts have keys of
// their own, so that a repeat goes on where the last one stopped.
#include <algorithm>

#include "postrider/api/http_api_impl.h"
#include "postrider/api/render.h"

namespace postrider {

struct HttpApi::Impl::SendList {
  Waiting waiting;
  std::string tenant;
  FanOut order;  // with all the names
  std::size_t sent = 0;
  std::uint32_t parts = 0;
  FanoutView whole;
  bool replayed = true;  // all of them so far
};

void HttpApi::Impl::send_list(Call& call, FanOut order) {
  const bool cut = order.destinations.size() > options_.list_part_max;
  if (cut && order.caller.key.key.size() > api::Batches::kKeyBytesMax) {
    return refuse(call.waiting,
                  api::complaint(api::ProblemType::kInvalidKey,
                                 "the Idempotency-Key of a list that is cut into parts has at most "
                                 "240 characters, because part n has the key KEY#n"));
  }
  auto job = std::make_shared<SendList>();
  job->waiting = call.waiting;
  job->tenant = call.tenant;
  job->order = std::move(order);
  job->order.caller.actor = call.actor;
  send_part(job);
}

void HttpApi::Impl::send_part(const std::shared_ptr<SendList>& job) {
  const std::size_t all = job->order.destinations.size();
  const std::size_t part_max = std::max<std::size_t>(1, options_.list_part_max);
  const std::size_t count = std::min(all - job->sent, part_max);
  FanOut part = job->order;
  const auto first = job->order.destinations.begin() + static_cast<std::ptrdiff_t>(job->sent);
  part.destinations.assign(first, first + static_cast<std::ptrdiff_t>(count));
  ++job->parts;
  if (all > part_max && part.caller.key.kind != OperationKey::Kind::kNone)
    part.caller.key.key.append("#").append(std::to_string(job->parts));
  job->sent += count;
  const Door door = host_.post(job->tenant, std::move(part),
                               [weak = weak_from_this(), job](const Answer& answer) {
                                 if (const auto self = weak.lock()) self->part_told(job, answer);
                               });
  if (door != Door::kOpen) refuse_part(job, api::problem_of(door));
}

void HttpApi::Impl::part_told(const std::shared_ptr<SendList>& job, const Answer& answer) {
  if (const auto problem = api::problem_of(answer)) return refuse_part(job, *problem);
  const auto& view = std::get<FanoutView>(answer.view);
  if (job->parts == 1) job->whole.id = view.id;
  job->replayed = job->replayed && answer.replayed;
  job->whole.members.insert(job->whole.members.end(), view.members.begin(), view.members.end());
  job->whole.skipped.insert(job->whole.skipped.end(), view.skipped.begin(), view.skipped.end());
  if (job->sent < job->order.destinations.size()) return send_part(job);
  counts_.took(clock_.read().boot - job->waiting.began);
  HttpResponse response;
  response.status = 202;
  if (job->replayed) response.headers.emplace_back("Idempotency-Replayed", "true");
  api::JsonWriter json(response.body);
  json.open_object();
  api::write_fanout_fields(json, host_.ids(), job->whole);
  json.count("parts", job->parts).field("durability", "synced").close_object();
  finish(job->waiting, std::move(response));
}

// The parts before it stay; the caller must know that.
void HttpApi::Impl::refuse_part(const std::shared_ptr<SendList>& job, api::Problem problem) {
  if (job->parts > 1) {
    const std::size_t done = job->whole.members.size() + job->whole.skipped.size();
    problem.detail.append("; the first ")
        .append(std::to_string(done))
        .append(
            " destinations of the list are done: repeat it with the same Idempotency-Key, and "
            "the rest follows");
  }
  refuse(job->waiting, problem);
}

}  // namespace postrider
