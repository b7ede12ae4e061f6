// Commands for devices come in: one, or up to a thousand at once.
#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "postrider/api/json_fields.h"
#include "postrider/doors/device/commands.h"
#include "postrider/doors/device/routes.h"
#include "postrider/json/json_writer.h"
#include "postrider/profiles/device/report.h"
#include "postrider/protocols/device/ulid.h"

namespace postrider::device_door {
namespace {

// The message; of one whose end is forgotten at least its name.
std::string shown_or_named(const MessageView& view, const IdCodec& ids, std::string_view queue) {
  if (auto text = device::report_message({view, ids, queue})) return std::move(*text);
  const PublicId id = ids.outside(view.explanation.id);
  std::string out;
  json::JsonWriter(out)
      .open_object()
      .field("id", device::to_ulid(id.high, id.low))
      .field("deliveryQueueId", queue)
      .close_object();
  return out;
}

}  // namespace

// One request while its messages are on their way to the engine.
struct DeviceRoutes::Enqueue {
  struct Item {
    Submit submit;  // kept, for the queue may have to be made first
    std::string plugin;
    int status = 0;         // 0: not known yet
    std::string text;       // the message, or what is wrong
    std::string why;        // the queue could not be made
    bool repeated = false;  // its queue was gone, and is made anew
  };

  Waiting waiting;
  std::string tenant;
  bool batch = false;
  std::vector<Item> items;
  std::size_t open = 0;  // questions and submits without an answer
  std::uint32_t retry_after_s = 0;

  void fail(Item& item, DeviceRefusal refusal) {
    item.status = refusal.status;
    item.text = std::move(refusal.detail);
    retry_after_s = std::max(retry_after_s, refusal.retry_after_s);
  }
};

// Reads one message; what is wrong with it is its own affair.
void DeviceRoutes::add_item(Enqueue& job, std::string_view text) {
  Enqueue::Item& item = job.items.emplace_back();
  const auto message = device::parse_device_message(text);
  if (!message) {
    const bool large = message.error().code == ErrorCode::kLimit;
    return job.fail(item, {large ? 413 : 400, message.error().detail});
  }
  auto queue = plugins_.queue_of(*message);
  if (!queue) return job.fail(item, {400, queue.error().detail});
  item.plugin = message->plugin;
  item.submit = device_submit(*message, std::move(*queue));
}

void DeviceRoutes::enqueue_device(Call& call) {
  if (call.request.body.size() > device::kMessageBytesMax)
    return finish(call.waiting, device_error({413, "the body is over 64 KiB"}));
  // Strict about what the codec would let pass: a name given twice.
  const auto root = desk_->root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  auto job = std::make_shared<Enqueue>();
  job->waiting = call.waiting;
  job->tenant = call.tenant;
  add_item(*job, call.request.body);
  submit_items(job);
}

void DeviceRoutes::enqueue_devices(Call& call) {
  const auto root = desk_->root_of(call);
  if (!root) return refuse(call.waiting, root.error());
  constexpr std::array<std::string_view, 1> kNames = {"messages"};
  std::array<api::MaybeValue, 1> found;
  if (const auto problem = api::read_members(*root, kNames, found))
    return refuse(call.waiting, *problem);
  const bool list = found[0] && found[0]->kind() == json::JsonKind::kArray;
  if (!list || found[0]->size() == 0 || found[0]->size() > kDeviceBatchMax) {
    return finish(call.waiting,
                  device_error({400, "messages: must be a list of 1 to " +
                                         std::to_string(kDeviceBatchMax) + " messages"}));
  }
  auto job = std::make_shared<Enqueue>();
  job->waiting = call.waiting;
  job->tenant = call.tenant;
  job->batch = true;
  job->items.reserve(found[0]->size());
  json::JsonValue item = found[0]->first();
  for (std::size_t left = found[0]->size(); left > 0; --left) {
    add_item(*job, item.raw());
    if (left > 1) item = item.next();
  }
  submit_items(job);
}

void DeviceRoutes::submit_items(const std::shared_ptr<Enqueue>& job) {
  ++job->open;                                 // nothing is over before all have been posted
  std::unordered_set<std::string_view> later;  // queues of the items behind
  for (std::size_t i = job->items.size(); i > 0; --i) {
    Enqueue::Item& item = job->items[i - 1];
    if (item.status == 0) item.submit.more = !later.insert(item.submit.destination).second;
  }
  for (std::size_t i = 0; i < job->items.size(); ++i) {
    Enqueue::Item& item = job->items[i];
    if (item.status != 0) continue;
    submit_item(job, i);
  }
  --job->open;
  settle_enqueue(job);
}

// The queue, when it may be new, and the message behind it.
void DeviceRoutes::submit_item(const std::shared_ptr<Enqueue>& job, std::size_t index) {
  Enqueue::Item& item = job->items[index];
  const DevicePlugin* const plugin = plugins_.find(item.plugin);
  const std::string& queue = item.submit.destination;
  if (plugin != nullptr && !queues_->has(queue)) {
    const Door door = host().post(job->tenant, queues_->configure(queue, *plugin),
                                  [weak = weak_from_this(), job, index](const Answer& answer) {
                                    const std::shared_ptr<DeviceRoutes> self = weak.lock();
                                    if (!self) return;
                                    Enqueue::Item& made = job->items[index];
                                    if (api::problem_of(answer)) {
                                      made.why = answer.detail;
                                    } else {
                                      self->queues_->learn(made.submit.destination);
                                    }
                                  });
    if (door != Door::kOpen) return job->fail(item, refusal_of(door));
  }
  const Door door = host().post(job->tenant, item.submit,
                                [weak = weak_from_this(), job, index](const Answer& answer) {
                                  const std::shared_ptr<DeviceRoutes> self = weak.lock();
                                  if (!self) return;
                                  --job->open;
                                  self->take_enqueued(job, index, answer);
                                  self->settle_enqueue(job);
                                });
  if (door != Door::kOpen) return job->fail(item, refusal_of(door));
  ++job->open;
}

void DeviceRoutes::take_enqueued(const std::shared_ptr<Enqueue>& job, std::size_t index,
                                 const Answer& answer) {
  Enqueue::Item& item = job->items[index];
  if (answer.code == AnswerCode::kNotFound && !item.repeated) {
    // Somebody took the queue away behind our back.
    item.repeated = true;
    item.submit.more = false;  // the others have been answered, or follow each for itself
    queues_->forget(item.submit.destination);
    return submit_item(job, index);
  }
  if (answer.code == AnswerCode::kNotFound)
    return job->fail(item, {503, "the queue could not be made: " + item.why, 5});
  if (answer.code == AnswerCode::kUnavailable) return job->fail(item, interrupted());
  if (answer.code == AnswerCode::kConflict) {
    return job->fail(
        item, {409, "correlationId and phase were used with other content; nothing was done"});
  }
  if (const auto problem = api::problem_of(answer)) return job->fail(item, refusal_of(*problem));
  if (answer.replayed) return show_existing(job, index, answer.id);
  // What it is now follows from what it was a moment ago: it waits for its turn.
  MessageView view;
  view.explanation.id = answer.id;
  view.explanation.state = "Queued";
  view.explanation.accepted = clock().read().wall;
  view.priority = item.submit.priority;
  view.body = item.submit.body;
  view.has_body = true;
  item.status = 201;
  item.text = shown_or_named(view, host().ids(), item.submit.destination);
}

// A repeat: the message that there is, as it is now; and when it was sent again, its newest run.
void DeviceRoutes::show_existing(const std::shared_ptr<Enqueue>& job, std::size_t index,
                                 MessageId id) {
  job->open += 2;  // one for ourselves, so that nothing is over while we are here
  follow_runs(job->tenant, {id},
              [weak = weak_from_this(), job, index](const std::vector<MessageId>& runs,
                                                    const std::optional<DeviceRefusal>& refusal) {
                const std::shared_ptr<DeviceRoutes> self = weak.lock();
                if (!self) return;
                if (refusal) job->fail(job->items[index], *refusal);
                if (!refusal) self->show_run(job, index, runs.front());
                --job->open;
                self->settle_enqueue(job);
              });
  --job->open;
}

void DeviceRoutes::show_run(const std::shared_ptr<Enqueue>& job, std::size_t index, MessageId id) {
  Query query;
  query.what = Query::What::kMessage;
  query.id = id;
  const Door door = host().post(
      job->tenant, std::move(query), [weak = weak_from_this(), job, index, id](Answer answer) {
        const std::shared_ptr<DeviceRoutes> self = weak.lock();
        if (!self) return;
        Enqueue::Item& item = job->items[index];
        MessageView view;
        if (auto* found = std::get_if<MessageView>(&answer.view)) view = std::move(*found);
        view.explanation.id = id;
        // Its content is known even when the engine keeps it no longer: it
        // is what was repeated.
        view.body = item.submit.body;
        view.has_body = true;
        item.status = 200;
        item.text = shown_or_named(view, self->host().ids(), item.submit.destination);
        --job->open;
        self->settle_enqueue(job);
      });
  if (door != Door::kOpen) return job->fail(job->items[index], refusal_of(door));
  ++job->open;
}

void DeviceRoutes::settle_enqueue(const std::shared_ptr<Enqueue>& job) {
  if (job->open != 0) return;
  desk_->took(clock().read().boot - job->waiting.began);
  HttpResponse response;
  if (job->retry_after_s != 0)
    response.headers.emplace_back("Retry-After", std::to_string(job->retry_after_s));
  if (!job->batch) {
    const Enqueue::Item& item = job->items[0];
    if (item.status >= 300)
      return finish(job->waiting, device_error({item.status, item.text, job->retry_after_s}));
    response.status = item.status;
    response.body = item.text;
    return finish(job->waiting, std::move(response));
  }
  json::JsonWriter json(response.body);
  json.open_object().name("results").open_array();
  for (const Enqueue::Item& item : job->items) {
    json.open_object().count("status", static_cast<std::uint64_t>(item.status));
    if (item.status < 300) {
      json.name("message").raw(item.text);
    } else {
      json.field("error", item.text);
    }
    json.close_object();
  }
  json.close_array().close_object();
  finish(job->waiting, std::move(response));
}

}  // namespace postrider::device_door
