// Commands for devices by their callers' own ids: where is it, what became of it, and cancel it.
#include <algorithm>
#include <map>

#include "postrider/api/json_fields.h"
#include "postrider/doors/device/commands.h"
#include "postrider/doors/device/routes.h"
#include "postrider/json/json_writer.h"
#include "postrider/profiles/device/report.h"
#include "postrider/protocols/device/ulid.h"

namespace postrider::device_door {
namespace {

constexpr auto kPhases = std::to_array<std::string_view>({"", "A", "B", "C"});
constexpr std::size_t kCancelsAtOnce = 50;
constexpr std::string_view kNotThere = "there is no such message, or it has ended";

std::vector<std::string_view> phases_of(const std::string* wanted) {
  if (wanted == nullptr) return {kPhases.begin(), kPhases.end()};
  return {*wanted};
}

Query ask_for(MessageId id) {
  Query query;
  query.what = Query::What::kMessage;
  query.id = id;
  return query;
}

// The first that is alive; with `ended`, else the first that there is.
const MessageView* choose(const std::vector<api::Told>& told, bool ended) {
  const MessageView* chosen = nullptr;
  for (const api::Told& one : told) {
    const auto* view = std::get_if<MessageView>(&one.answer.view);
    if (view == nullptr) continue;
    if (!is_end(view->explanation.phase)) return view;
    if (ended && chosen == nullptr) chosen = view;
  }
  return chosen;
}

// The newest run first: it says where the command is now.
void add_runs(const api::Told& told, MessageId id, std::vector<MessageId>& out) {
  const auto* page = std::get_if<MessagePage>(&told.answer.view);
  if (page == nullptr) return out.push_back(id);
  for (auto run = page->messages.rbegin(); run != page->messages.rend(); ++run)
    out.push_back(run->id);
}

// As it is told to callers, or as the other routes tell it.
std::optional<MessageId> parse_any_id(const IdCodec& ids, const std::string& text) {
  if (const auto ulid = device::parse_ulid(text)) return ids.inside({ulid->high, ulid->low});
  return ids.parse(text);
}

// One answer of all phases: whatever stays alive could not be cancelled.
std::string_view result_of(const std::vector<api::Told>& told) {
  bool cancelled = false;
  for (const api::Told& one : told) {
    if (one.answer.code == AnswerCode::kNothing) return "NOT_CANCELLABLE";
    cancelled = cancelled || (one.door == Door::kOpen && one.answer.code == AnswerCode::kDone);
  }
  return cancelled ? "CANCELLED" : "NOT_FOUND";
}

bool read_ids(const json::JsonValue& list, std::vector<std::string>& ids) {
  if (list.kind() != json::JsonKind::kArray) return false;
  if (list.size() == 0 || list.size() > kDeviceBatchMax) return false;
  json::JsonValue item = list.first();
  for (std::size_t left = list.size(); left > 0; --left) {
    if (!item.is_string()) return false;
    ids.push_back(item.text());
    if (ids.back().empty() || ids.back().size() > device::kIdBytesMax) return false;
    if (left > 1) item = item.next();
  }
  return true;
}

}  // namespace

// The messages of a correlation id, of all phases or of one; or the one that has it as its id. Of
// each all runs, when it was sent again, the newest first. Nothing was found when `ids` is empty;
// `refusal` says when nobody could tell.
void DeviceRoutes::find_device(std::string_view tenant, const std::string& name,
                               const std::string* phase, DeviceFound then) {
  std::vector<Event> events;
  for (const std::string_view one : phases_of(phase)) {
    Query query;
    query.what = Query::What::kOperation;
    query.key = device_key(name, one);
    events.emplace_back(std::move(query));
  }
  api::ask_all(host(), tenant, std::move(events),
               [weak = weak_from_this(), tenant = std::string(tenant), name,
                then = std::move(then)](const std::vector<api::Told>& told) {
                 const std::shared_ptr<DeviceRoutes> self = weak.lock();
                 if (!self) return;
                 std::vector<MessageId> ids;
                 for (const api::Told& one : told) {
                   if (one.answer.code == AnswerCode::kAccepted && one.answer.id.is_set())
                     ids.push_back(one.answer.id);
                 }
                 const auto refusal = unanswered(told);
                 const auto id = parse_any_id(self->host().ids(), name);
                 if (!refusal && !ids.empty()) return self->follow_runs(tenant, ids, then);
                 if (!id || refusal) return then(ids, refusal);
                 self->check_device(tenant, *id, then);
               });
}

void DeviceRoutes::follow_runs(std::string_view tenant, const std::vector<MessageId>& ids,
                               const DeviceFound& then) {
  std::vector<Event> events;
  for (const MessageId id : ids) {
    Query query;
    query.what = Query::What::kRuns;
    query.id = id;
    events.emplace_back(std::move(query));
  }
  api::ask_all(host(), tenant, std::move(events), [ids, then](const std::vector<api::Told>& told) {
    std::vector<MessageId> runs;
    for (std::size_t i = 0; i < ids.size(); ++i) add_runs(told[i], ids[i], runs);
    then(runs, unanswered(told));
  });
}

// Ids of messages are no secrets, and these routes are for those of the device profile only.
void DeviceRoutes::check_device(std::string_view tenant, MessageId id, const DeviceFound& then) {
  std::vector<Event> events;
  events.emplace_back(ask_for(id));
  api::ask_all(host(), tenant, std::move(events),
               [weak = weak_from_this(), tenant = std::string(tenant), id,
                then](const std::vector<api::Told>& told) {
                 const std::shared_ptr<DeviceRoutes> self = weak.lock();
                 if (!self) return;
                 const auto* view = std::get_if<MessageView>(&told[0].answer.view);
                 if (view == nullptr) return then({}, unanswered(told));
                 Query query;
                 query.what = Query::What::kDestination;
                 query.destination = view->explanation.destination;
                 std::vector<Event> more;
                 more.emplace_back(std::move(query));
                 api::ask_all(self->host(), tenant, std::move(more),
                              [weak, tenant, id, then](const std::vector<api::Told>& about) {
                                const std::shared_ptr<DeviceRoutes> still = weak.lock();
                                if (!still) return;
                                const auto* queue =
                                    std::get_if<DestinationView>(&about[0].answer.view);
                                const bool ours =
                                    queue != nullptr && queue->config.profile == kDeviceProfile;
                                if (!ours) return then({}, unanswered(about));
                                still->follow_runs(tenant, {id}, then);
                              });
               });
}

void DeviceRoutes::show_device(Call& call, bool history) {
  const std::string* phase = call.query.find("phase");
  const bool known = phase == nullptr || device::parse_meter_phase(*phase).has_value();
  if (!known) return finish(call.waiting, device_error({400, "phase: must be A, B or C"}));
  if (call.capture.size() > device::kIdBytesMax)
    return finish(call.waiting, device_error({404, std::string(kNotThere)}));
  if (!desk_->reserve(call.waiting, device::kMessageBytesMax)) return;
  find_device(
      call.tenant, call.capture, phase,
      [weak = weak_from_this(), waiting = call.waiting, tenant = std::string(call.tenant), history](
          const std::vector<MessageId>& ids, const std::optional<DeviceRefusal>& refusal) {
        const std::shared_ptr<DeviceRoutes> self = weak.lock();
        if (!self) return;
        if (refusal) return self->finish(waiting, device_error(*refusal));
        self->show_first(waiting, tenant, ids, history);
      });
}

void DeviceRoutes::show_first(const Waiting& waiting, std::string_view tenant,
                              const std::vector<MessageId>& ids, bool history) {
  std::vector<Event> events;
  for (const MessageId id : ids) events.emplace_back(ask_for(id));
  api::ask_all(host(), tenant, std::move(events),
               [weak = weak_from_this(), waiting, history](const std::vector<api::Told>& told) {
                 const std::shared_ptr<DeviceRoutes> self = weak.lock();
                 if (!self) return;
                 if (const auto refusal = unanswered(told))
                   return self->finish(waiting, device_error(*refusal));
                 const MessageView* const view = choose(told, history);
                 if (view == nullptr)
                   return self->finish(waiting, device_error({404, std::string(kNotThere)}));
                 std::vector<const MessageView*> runs;  // the oldest first
                 for (auto one = told.rbegin(); one != told.rend(); ++one) {
                   if (const auto* run = std::get_if<MessageView>(&one->answer.view))
                     runs.push_back(run);
                 }
                 const device::DeviceView shown{*view, self->host().ids(),
                                                view->explanation.destination, runs};
                 auto text =
                     history ? device::report_history(shown) : device::report_message(shown);
                 if (!text) return self->finish(waiting, device_error({404, text.error().detail}));
                 HttpResponse response;
                 response.body = std::move(*text);
                 self->finish(waiting, std::move(response));
               });
}

void DeviceRoutes::get_device(Call& call) { show_device(call, false); }
void DeviceRoutes::get_device_history(Call& call) { show_device(call, true); }

// One request while its ids are cancelled, a few at a time.
struct DeviceRoutes::Cancels {
  Waiting waiting;
  std::string tenant;
  bool batch = false;
  std::vector<std::string> asked;              // as they were given, repeats included
  std::vector<std::string> ids;                // each once
  std::map<std::string, std::string> results;  // CANCELLED, NOT_CANCELLABLE, NOT_FOUND
  std::optional<DeviceRefusal> refusal;
  std::size_t next = 0;
  std::size_t open = 0;
};

void DeviceRoutes::cancel_device(Call& call) {
  const auto root = desk_->root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  constexpr std::array<std::string_view, 1> kNames = {"correlationId"};
  std::array<api::MaybeValue, 1> found;
  if (const auto problem = api::read_members(*root, kNames, found))
    return refuse(call.waiting, *problem);
  const std::string id = found[0] && found[0]->is_string() ? found[0]->text() : std::string();
  if (id.empty() || id.size() > device::kIdBytesMax)
    return finish(call.waiting,
                  device_error({400, "correlationId: must be a text of 1 to 128 bytes"}));
  auto job = std::make_shared<Cancels>();
  job->waiting = call.waiting;
  job->tenant = call.tenant;
  job->asked = {id};
  job->ids = {id};
  go_on_cancelling(job);
}

void DeviceRoutes::cancel_devices(Call& call) {
  const auto root = desk_->root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  constexpr std::array<std::string_view, 1> kNames = {"correlationIds"};
  std::array<api::MaybeValue, 1> found;
  if (const auto problem = api::read_members(*root, kNames, found))
    return refuse(call.waiting, *problem);
  auto job = std::make_shared<Cancels>();
  if (!found[0] || !read_ids(*found[0], job->asked)) {
    return finish(call.waiting, device_error({400, "correlationIds: must be a list of 1 to " +
                                                       std::to_string(kDeviceBatchMax) +
                                                       " texts of 1 to 128 bytes"}));
  }
  job->waiting = call.waiting;
  job->tenant = call.tenant;
  job->batch = true;
  for (const std::string& id : job->asked) {
    if (job->results.emplace(id, std::string()).second) job->ids.push_back(id);
  }
  go_on_cancelling(job);
}

void DeviceRoutes::go_on_cancelling(const std::shared_ptr<Cancels>& job) {
  ++job->open;  // nothing is over while there is something to begin
  while (job->next < job->ids.size() && job->open <= kCancelsAtOnce && !job->refusal) {
    const std::string& id = job->ids[job->next++];
    ++job->open;
    find_device(job->tenant, id, nullptr,
                [weak = weak_from_this(), job, id](const std::vector<MessageId>& ids,
                                                   const std::optional<DeviceRefusal>& bad) {
                  const std::shared_ptr<DeviceRoutes> self = weak.lock();
                  if (!self) return;
                  if (bad) return self->take_cancelled(job, id, {}, bad);
                  self->cancel_each(job, id, ids);
                });
  }
  --job->open;
  if (job->open == 0) finish_cancelling(*job);
}

void DeviceRoutes::cancel_each(const std::shared_ptr<Cancels>& job, const std::string& id,
                               const std::vector<MessageId>& messages) {
  std::vector<Event> events;
  for (const MessageId message : messages) {
    Cancel cancel;
    cancel.id = message;
    events.emplace_back(std::move(cancel));
  }
  api::ask_all(host(), job->tenant, std::move(events),
               [weak = weak_from_this(), job, id](const std::vector<api::Told>& told) {
                 const std::shared_ptr<DeviceRoutes> self = weak.lock();
                 if (self) self->take_cancelled(job, id, result_of(told), unanswered(told));
               });
}

void DeviceRoutes::take_cancelled(const std::shared_ptr<Cancels>& job, const std::string& id,
                                  std::string_view result,
                                  const std::optional<DeviceRefusal>& refusal) {
  job->results[id] = result;
  if (refusal && !job->refusal) job->refusal = refusal;
  --job->open;
  go_on_cancelling(job);
}

void DeviceRoutes::finish_cancelling(const Cancels& job) {
  if (job.refusal) return finish(job.waiting, device_error(*job.refusal));
  HttpResponse response;
  json::JsonWriter json(response.body);
  if (job.batch) json.open_array();
  for (const std::string& id : job.asked) {
    json.open_object().field("correlationId", id).field("result", job.results.at(id));
    json.close_object();
  }
  if (job.batch) json.close_array();
  finish(job.waiting, std::move(response));
}

}  // namespace postrider::device_door
