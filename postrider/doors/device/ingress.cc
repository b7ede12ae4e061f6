// What network servers tell about devices comes in, and may be fed in again.
#include <array>

#include "postrider/api/json_fields.h"
#include "postrider/api/texts.h"
#include "postrider/doors/device/commands.h"
#include "postrider/doors/device/events.h"
#include "postrider/doors/device/routes.h"
#include "postrider/json/json_writer.h"

namespace postrider::device_door {
namespace {

constexpr std::uint32_t kReplayRows = 100;

HttpResponse no_content() {
  HttpResponse response;
  response.status = 204;
  return response;
}

DeviceRefusal no_plugin(const std::string& name) {
  return {404, "there is no plugin '" + name + "' that takes events"};
}

}  // namespace

// What can be told from the head. True: it is answered.
bool DeviceRoutes::refuse_ingress(const Call& call) {
  const DevicePlugin* const plugin = plugins_.find(call.capture);
  const std::string* const word = call.query.find("event");
  std::optional<DeviceRefusal> refusal;
  if (plugin == nullptr || !is_push(*plugin)) {
    refusal = no_plugin(call.capture);
  } else if (!plugins_.admits(*plugin, call.request.header(plugin->secret_header))) {
    refusal = {401, "the shared secret is missing or wrong"};
  } else if (word == nullptr || word->empty()) {
    refusal = {400, "the parameter event is missing"};
  }
  if (refusal) finish(call.waiting, device_error(*refusal));
  return refusal.has_value();
}

// 204 says that the event is durable; a double is one that already was.
void DeviceRoutes::take_ingress(Call& call) {
  if (refuse_ingress(call)) return;
  const DevicePlugin* const plugin = plugins_.find(call.capture);
  const std::string* const word = call.query.find("event");
  if (call.request.body.size() > kIngressBytesMax)
    return finish(call.waiting, device_error({413, "an event has at most 256 KiB"}));
  const chirpstack::EventKind kind = chirpstack::parse_event_kind(*word);
  if (kind == chirpstack::EventKind::kOther) {
    ++unknown_events_;
    return finish(call.waiting, no_content());
  }
  const bool bytes =
      api::is_media_type(call.request.header("content-type"), "application/octet-stream");
  auto arrived = make_arrival({.plugin = plugin->name,
                               .kind = kind,
                               .format = bytes ? EventFormat::kProtobuf : EventFormat::kJson,
                               .bytes = call.request.body,
                               .settings = plugin->settings});
  if (!arrived) return finish(call.waiting, device_error({400, arrived.error().detail}));
  const Door door =
      host().post(kIngressTenant, std::move(*arrived),
                  [weak = weak_from_this(), waiting = call.waiting](const Answer& answer) {
                    const std::shared_ptr<DeviceRoutes> self = weak.lock();
                    if (!self) return;
                    if (answer.code == AnswerCode::kUnavailable)
                      return self->finish(waiting, device_error(interrupted()));
                    if (const auto problem = api::problem_of(answer))
                      return self->finish(waiting, device_error(*problem));
                    self->finish(waiting, no_content());
                  });
  if (door != Door::kOpen) finish(call.waiting, device_error(refusal_of(door)));
}

// Events of a plugin that are fed in once more, page by page, in the order of their arrival. What
// is fed in is stored anew, behind everything else; so first of all the last one is looked for, or
// it would never end.
struct DeviceRoutes::Replay {
  Waiting waiting;
  std::string tenant;
  DevicePlugin plugin;  // that brought them
  Timestamp since;
  Timestamp until;
  Sequence last{0};      // of those that are meant
  bool feeding = false;  // the last one is known
  std::string cursor;
  std::uint64_t replayed = 0;

  bool means(const Arrival& arrival) const {
    return arrival.profile == kDeviceProfile && arrival.source.origin == plugin.name &&
           arrival.at >= since && arrival.at <= until;
  }
};

void DeviceRoutes::replay_ingress(Call& call) {
  const auto root = desk_->root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  constexpr std::array<std::string_view, 2> kNames = {"since", "until"};
  std::array<api::MaybeValue, 2> found;
  if (const auto problem = api::read_members(*root, kNames, found))
    return refuse(call.waiting, *problem);
  if (!found[0]) return finish(call.waiting, device_error({400, "since: is missing"}));
  auto job = std::make_shared<Replay>();
  const auto since = api::read_time(*found[0], kNames[0]);
  if (!since) return refuse(call.waiting, since.error());
  job->since = *since;
  job->until = Timestamp::never();
  if (found[1]) {
    const auto until = api::read_time(*found[1], kNames[1]);
    if (!until) return refuse(call.waiting, until.error());
    job->until = *until;
  }
  const DevicePlugin* const plugin = plugins_.find(call.capture);
  if (plugin == nullptr || !is_push(*plugin))
    return finish(call.waiting, device_error(no_plugin(call.capture)));
  job->waiting = call.waiting;
  job->tenant = call.tenant;
  job->plugin = *plugin;
  next_replay(job);
}

void DeviceRoutes::next_replay(const std::shared_ptr<Replay>& job) {
  if (job->waiting.exchange->gone()) return;
  Query query;
  query.what = Query::What::kArrivals;
  query.cursor = job->cursor;
  query.limit = kReplayRows;
  const Door door =
      host().post(job->tenant, std::move(query), [weak = weak_from_this(), job](Answer answer) {
        const std::shared_ptr<DeviceRoutes> self = weak.lock();
        if (!self) return;
        if (auto* page = std::get_if<ArrivalPage>(&answer.view))
          return self->feed_again(job, std::move(*page));
        self->finish(job->waiting, device_error(interrupted()));
      });
  if (door != Door::kOpen) finish(job->waiting, device_error(refusal_of(door)));
}

void DeviceRoutes::feed_again(const std::shared_ptr<Replay>& job, ArrivalPage page) {
  std::vector<Event> events;
  for (Arrival& arrival : page.arrivals) {
    if (!job->means(arrival)) continue;
    if (!job->feeding) job->last = arrival.sequence;
    if (!job->feeding || arrival.sequence > job->last) continue;
    // Without its key: it is meant to be taken once more.
    Arrived again;
    again.profile = std::move(arrival.profile);
    again.source = std::move(arrival.source);
    again.settings = job->plugin.settings;
    again.bytes = std::move(arrival.bytes);
    events.emplace_back(std::move(again));
  }
  const bool behind = !page.arrivals.empty() && page.arrivals.back().sequence > job->last;
  const bool over = page.next.empty() || (job->feeding && behind);
  job->cursor = over ? std::string() : std::move(page.next);
  if (!job->feeding && over) {
    job->feeding = true;
    return next_replay(job);
  }
  job->replayed += events.size();
  api::ask_all(host(), job->tenant, std::move(events),
               [weak = weak_from_this(), job, over](const std::vector<api::Told>& told) {
                 const std::shared_ptr<DeviceRoutes> self = weak.lock();
                 if (!self) return;
                 if (const auto refusal = unanswered(told))
                   return self->finish(job->waiting, device_error(*refusal));
                 if (!over) return self->next_replay(job);
                 HttpResponse response;
                 json::JsonWriter(response.body)
                     .open_object()
                     .count("replayed", job->replayed)
                     .close_object();
                 self->finish(job->waiting, std::move(response));
               });
}

}  // namespace postrider::device_door
