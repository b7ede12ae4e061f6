#include "postrider/doors/device/routes.h"

#include <array>
#include <charconv>

#include "postrider/api/metrics.h"
#include "postrider/doors/device/config.h"
#include "postrider/doors/device/events.h"
#include "postrider/doors/device/openapi.h"
#include "postrider/json/json_writer.h"
#include "postrider/protocols/device/message.h"

namespace postrider::device_door {

struct DeviceRoutes::Route {
  api::RouteRow row;
  void (DeviceRoutes::*handle)(Call& call);
  std::size_t body_bytes_max = 0;  // told from the head, in the route's own words; 0: not
};

struct DeviceRoutes::Table {
  using Self = DeviceRoutes;
  static constexpr api::Scopes kSubmit = api::kSubmit;
  static constexpr api::Scopes kRead = api::kRead;
  static constexpr api::Scopes kOperate = api::kOperate;
  static constexpr api::Scopes kNoToken = api::kNoToken;
  static constexpr api::Takes kNothing = api::Takes::kNothing;
  static constexpr api::Takes kBody = api::Takes::kJson;
  static constexpr api::Takes kAny = api::Takes::kAnything;
  static constexpr api::Errors kOwn = api::Errors::kOwn;
  static constexpr std::string_view kJson = "application/json";
  static constexpr std::string_view kIngress = "/ingress/{plugin}";

  // clang-format off
  static constexpr auto kRoutes = std::to_array<Route>({
    {{"POST", "/message/enqueue",         kSubmit,  kBody,    false, kJson, "",      kOwn}, &Self::enqueue_device, device::kMessageBytesMax},
    {{"POST", "/messages/enqueue",        kSubmit,  kBody,    false, kJson, "",      kOwn}, &Self::enqueue_devices},
    {{"GET",  "/message/{id}",            kRead,    kNothing, false, kJson, "phase", kOwn}, &Self::get_device},
    {{"GET",  "/message/{id}/history",    kRead,    kNothing, false, kJson, "phase", kOwn}, &Self::get_device_history},
    {{"POST", "/message/cancel",          kSubmit,  kBody,    false, kJson, "",      kOwn}, &Self::cancel_device},
    {{"POST", "/messages/cancel",         kSubmit,  kBody,    false, kJson, "",      kOwn}, &Self::cancel_devices},
    {{"POST", "/token/generate",          kSubmit,  kBody,    true,  kJson, "",      kOwn}, &Self::generate_token, device::kMessageBytesMax},
    {{"POST", kIngress,                   kNoToken, kAny,     false, kJson, "event", kOwn}, &Self::take_ingress, kIngressBytesMax},
    {{"POST", "/ingress/{plugin}/replay", kOperate, kBody,    false, kJson, "",      kOwn}, &Self::replay_ingress, kIngressBytesMax},
    {{"GET",  "/healthz",                 kNoToken, kNothing, false, kJson, ""},            &Self::get_healthz},
  });
  // clang-format on

  static constexpr auto kRows = [] {
    std::array<api::RouteRow, kRoutes.size()> rows{};
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = kRoutes[i].row;
    return rows;
  }();
};

namespace {

bool is_over(const HttpRequest& request, std::size_t bytes_max) {
  const std::string_view text = request.header("content-length");
  std::uint64_t length = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), length);
  return !text.empty() && read.ec == std::errc() && length > bytes_max;
}

}  // namespace

DeviceRoutes::DeviceRoutes(DeviceOptions options) : options_(std::move(options)) {
  plugins_.set(options_.plugins);
}

DeviceRoutes::~DeviceRoutes() {
  if (queues_) queues_->close();
}

std::span<const api::RouteRow> DeviceRoutes::routes() const { return Table::kRows; }

api::OpenapiPart DeviceRoutes::openapi() const { return openapi_part(); }

void DeviceRoutes::open(api::Desk& desk) {
  desk_ = &desk;
  queues_ = std::make_shared<DeviceQueues>(desk.host(), plugins_, options_.warn);
  queues_->begin();
}

void DeviceRoutes::handle(std::size_t route, Call& call) {
  (this->*Table::kRoutes[route].handle)(call);
}

// A body that is too long is refused here in the words of the routes; the server, which collects no
// such body, would say it in its own.
bool DeviceRoutes::refuse_head(std::size_t route, Call& call) {
  const Route& it = Table::kRoutes[route];
  if (it.body_bytes_max != 0 && is_over(call.request, it.body_bytes_max)) {
    const bool event = it.body_bytes_max == kIngressBytesMax;
    finish(call.waiting,
           device_error({413, event ? "an event has at most 256 KiB" : "the body is over 64 KiB"}));
    return true;
  }
  return it.row.pattern == Table::kIngress && refuse_ingress(call);
}

HttpResponse DeviceRoutes::refusal(const api::Problem& problem) const {
  return device_error(problem);
}

// The service that the profile replaces shows its figures without a token.
bool DeviceRoutes::opens_metrics() const { return !plugins_.empty() && options_.metrics == "open"; }

void DeviceRoutes::append_metrics(std::string& out) const {
  api::append_counter(out, "postrider_device_events_unknown_total",
                      "Events at ingress whose names nobody knows; taken and left.",
                      unknown_events_);
}

void DeviceRoutes::tick() {
  queues_->tick();
  if (!mints_.empty()) look_at_mints();
}

void DeviceRoutes::reload(const Config& config) {
  set_plugins(config.parts.of<DeviceConfig>().plugins);
}

Result<Arrived> DeviceRoutes::arrival(const BrokerEvent& event) const {
  const DevicePlugin* const plugin = plugins_.find(event.source);
  if (plugin == nullptr) return fail(ErrorCode::kNotFound, "there is no such plugin");
  return device_arrival(event, plugin->settings);
}

void DeviceRoutes::set_plugins(std::vector<DevicePlugin> plugins) {
  plugins_.set(std::move(plugins));
  queues_->begin();
}

void DeviceRoutes::get_healthz(Call& call) {
  HttpResponse response;
  json::JsonWriter(response.body).open_object().field("status", "ok").close_object();
  finish(call.waiting, std::move(response));
}

}  // namespace postrider::device_door
