#include "postrider/doors/device/queues.h"

namespace postrider::device_door {
namespace {

constexpr std::uint32_t kPageRows = 200;
constexpr std::size_t kKnownMax = 100'000;
constexpr std::string_view kQueuesTenant = "plugins";
constexpr std::string_view kActor = "device";  // in the audit

}  // namespace

DeviceQueues::DeviceQueues(Host& host, const DevicePlugins& plugins, Warn warn)
    : host_(host), plugins_(plugins), warn_(std::move(warn)) {
  if (!warn_) warn_ = [](std::string_view, std::string_view) {};
}

void DeviceQueues::begin() {
  wanted_ = true;
  tick();
}

void DeviceQueues::tick() {
  if (closed_ || running_ || !wanted_) return;
  wanted_ = false;
  failed_ = false;
  cursor_.clear();
  look();
}

void DeviceQueues::close() { closed_ = true; }

void DeviceQueues::learn(const std::string& queue) {
  if (known_.size() >= kKnownMax) known_.clear();
  known_.insert(queue);
}

Configure DeviceQueues::configure(const std::string& queue, const DevicePlugin& plugin) const {
  Configure configure;
  configure.caller.actor = kActor;
  configure.config.name = queue;
  configure.config.profile = plugin.profile;
  configure.config.settings = queue_settings(plugin);
  return configure;
}

void DeviceQueues::look() {
  Query query;
  query.what = Query::What::kDestinations;
  query.cursor = cursor_;
  query.limit = kPageRows;
  running_ = true;
  const Door door =
      host_.post(kQueuesTenant, std::move(query), [weak = weak_from_this()](const Answer& answer) {
        const std::shared_ptr<DeviceQueues> self = weak.lock();
        if (!self || self->closed_) return;
        self->running_ = false;
        if (const auto* page = std::get_if<DestinationPage>(&answer.view)) return self->take(*page);
        self->wanted_ = true;
      });
  if (door == Door::kOpen) return;
  running_ = false;
  wanted_ = true;
}

void DeviceQueues::take(const DestinationPage& page) {
  for (const DestinationView& queue : page.destinations) {
    if (queue.config.profile == kDeviceProfile) mend(queue);
  }
  // A change of the plugins meanwhile begins again.
  if (wanted_) return;
  cursor_ = page.next;
  if (!cursor_.empty()) return look();
  wanted_ = failed_;
}

void DeviceQueues::mend(const DestinationView& queue) {
  const std::string& name = queue.config.name;
  const std::string plugin_name(plugin_of_queue(name));
  const DevicePlugin* const plugin = plugins_.find(plugin_name);
  const bool paused = queue.route.health == Health::kPaused;
  if (plugin == nullptr) {
    if (paused) return;
    warn_("the messages of a queue wait: its plugin is not configured", name);
    Pause pause;
    pause.caller.actor = kActor;
    pause.destination = name;
    pause.reason = std::string(kUnserved) + ": the plugin '" + plugin_name + "' is not configured";
    return post(std::move(pause), name);
  }
  learn(name);
  if (queue.config.settings != queue_settings(*plugin)) post(configure(name, *plugin), name);
  if (!paused || !queue.route.reason.starts_with(kUnserved)) return;
  Resume resume;
  resume.caller.actor = kActor;
  resume.destination = name;
  post(std::move(resume), name);
}

void DeviceQueues::post(Event event, std::string queue) {
  const Door door = host_.post(
      kQueuesTenant, std::move(event),
      [weak = weak_from_this(), queue = std::move(queue)](const Answer& answer) {
        const std::shared_ptr<DeviceQueues> self = weak.lock();
        if (!self || self->closed_) return;
        if (answer.code == AnswerCode::kUnavailable) self->wanted_ = true;
        if (answer.code == AnswerCode::kInvalid)
          self->warn_("a queue could not be given its plugin's settings: " + answer.detail, queue);
      });
  if (door != Door::kOpen) failed_ = true;
}

}  // namespace postrider::device_door
