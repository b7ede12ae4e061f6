#include "postrider/doors/matrix/host_events.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "postrider/json/json_writer.h"
#include "postrider/model/attributes.h"
#include "postrider/profiles/matrix/types.h"
#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix_door {
namespace {

constexpr std::string_view kScope = "matrix-events";

FanOut order_of(const HostEvent& event, std::string_view actor) {
  FanOut order;
  order.caller.actor = actor;
  order.caller.said = std::string(event.body);
  order.skip_closed = true;
  order.lane = matrix::kEventLane;
  NamedTexts texts = {{std::string(matrix::kKeyAttribute), event.room_id}};
  if (event.position != 0)
    texts.emplace_back(matrix::kPositionAttribute, std::to_string(event.position));
  order.attributes = encode_texts(texts);
  order.body = std::string(event.body);
  return order;
}

}  // namespace

OperationKey host_event_key(std::string_view event_id, std::size_t part) {
  return {.kind = OperationKey::Kind::kOpaque,
          .scope = std::string(kScope),
          .key = std::string(event_id) + "#" + std::to_string(part),
          .made = {},
          .sequence = 0};
}

struct HostEvents::Job {
  api::Waiting waiting;
  std::string tenant;
  std::string actor;
  std::vector<Part> parts;
  std::size_t sent = 0;
  std::vector<Told> told;
};

HostEvents::HostEvents(HostEventsOptions options, api::Desk& desk)
    : options_(std::move(options)), desk_(desk) {}

void HostEvents::take(api::Call& call) {
  const auto root = desk_.root_of(call);
  if (!root) return desk_.refuse(call.waiting, root.error());
  const auto events = matrix::array_of(*root, "events");
  const auto refuse = [&](std::string what) {
    desk_.refuse(call.waiting,
                 api::complaint(api::ProblemType::kInvalidField, std::move(what), "events"));
  };
  if (!events || root->size() != 1) return refuse("the body must be {\"events\": […]}");
  if (events->size() == 0 || events->size() > kHostEventsMax)
    return refuse("there must be 1 to " + std::to_string(kHostEventsMax) + " events");
  auto job = std::make_shared<Job>();
  job->waiting = call.waiting;
  job->tenant = call.tenant;
  job->actor = call.actor;
  if (const auto planned = plan(*job, *events); !planned) return refuse(planned.error().detail);
  send(job);
}

// Everything is read before anything is kept.
Result<void> HostEvents::plan(Job& job, json::JsonValue events) const {
  Result<void> good;
  matrix::for_elements(events, [&](json::JsonValue value) {
    const std::string where = "event " + std::to_string(job.told.size()) + ": ";
    const auto event = read_host_event(value);
    if (!event) good = fail(event.error().code, where + event.error().detail);
    if (!event) return false;
    auto fan = fan_of(*event, {options_.server_name, options_.allow_servers});
    if (!fan) good = fail(fan.error().code, where + fan.error().detail);
    if (!fan) return false;
    const FanOut order = order_of(*event, job.actor);
    for (std::size_t from = 0; from < fan->servers.size(); from += options_.part_max) {
      FanOut part = order;
      part.caller.key = host_event_key(event->event_id, from / options_.part_max);
      const std::size_t end = std::min(from + options_.part_max, fan->servers.size());
      for (std::size_t i = from; i < end; ++i)
        part.destinations.push_back(matrix::destination_name(fan->servers[i]));
      job.parts.push_back({job.told.size(), std::move(part)});
    }
    job.told.push_back({event->event_id, fan->servers.size(), fan->why});
    return true;
  });
  return good;
}

// One after the other, so that a failure leaves a beginning and no gaps.
void HostEvents::send(const std::shared_ptr<Job>& job) {
  if (job->sent == job->parts.size()) return finish(job);
  FanOut order = std::move(job->parts[job->sent].order);
  const Door door = desk_.host().post(job->tenant, std::move(order),
                                      [weak = weak_from_this(), job](const Answer& answer) {
                                        const auto self = weak.lock();
                                        if (!self) return;
                                        if (const auto problem = api::problem_of(answer))
                                          return self->desk_.refuse(job->waiting, *problem);
                                        ++job->sent;
                                        self->send(job);
                                      });
  if (door != Door::kOpen) desk_.refuse(job->waiting, api::problem_of(door));
}

void HostEvents::finish(const std::shared_ptr<Job>& job) {
  HttpResponse response;
  response.status = 202;
  json::JsonWriter json(response.body);
  json.open_object().name("events").open_array();
  for (const Told& told : job->told) {
    json.open_object().field("event_id", told.event_id).count("servers", told.servers);
    if (!told.why.empty()) json.field("why", told.why);
    json.close_object();
  }
  json.close_array().field("durability", "synced").close_object();
  desk_.finish(job->waiting, std::move(response));
}

}  // namespace postrider::matrix_door
