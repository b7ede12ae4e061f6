#include "postrider/sinks/device/chirpstack_sink.h"

#include <unordered_map>

#include "postrider/json/json_writer.h"
#include "postrider/protocols/json_value.h"
#include "postrider/protocols/web/http_text.h"
#include "postrider/sinks/common/sink_listener.h"
#include "postrider/sinks/device/meter_control.h"
#include "postrider/sinks/device/sink_grpc.h"
#include "postrider/transports/http/http_transport.h"
#include "postrider/transports/mqtt/mqtt_transport.h"

namespace postrider {
namespace {

// The operator of a sink says where its events go; there is nothing to guard.
const std::vector<std::string> kEverywhere = {"0.0.0.0/0", "::/0"};

struct EventCounts {
  std::uint64_t posted = 0;   // answered with 2xx
  std::uint64_t unheard = 0;  // not
};

class ChirpstackSink final : public FarSide {
 public:
  explicit ChirpstackSink(ChirpstackSinkOptions options)
      : options_(std::move(options)),
        server_(options_.server, meters_, Rng(options_.seed), loop_.now()) {
    server_.faults = options_.faults;
  }
  Result<void> open();

  std::string address() const override { return grpc_->address(); }
  std::string control_address() const override { return control_->address(); }
  void run(bool until_signal) override {
    pump();
    loop_.run(until_signal);
  }
  void stop() override { loop_.stop(); }
  std::string summary() const override;

 private:
  Result<void> open_http();
  Result<void> open_mqtt();
  void pump();
  void act(sim::NetworkReply reply);
  void act(const sim::NetworkPost& post);
  SinkControlAnswer answer(const SinkRequest& request);
  SinkControlAnswer set_device(std::string_view body);
  SinkControlAnswer set_events(std::string_view body);
  std::string counts() const;

  ChirpstackSinkOptions options_;
  FarSideLoop loop_;  // before everything that lives on it
  sim::Meters meters_;
  sim::NetworkServer server_;
  std::unique_ptr<SinkGrpc> grpc_;
  std::unique_ptr<SinkListener> control_;
  std::unique_ptr<HttpTransport> http_;
  std::unique_ptr<MqttTransport> mqtt_;
  std::unordered_map<std::uint64_t, SinkGrpcResponder> calls_;
  std::uint64_t last_ticket_ = 0;
  std::uint64_t last_attempt_ = 0;
  EventCounts counts_;
};

Result<void> ChirpstackSink::open() {
  for (const std::string& url : options_.events) {
    if (const Result<void> good = check_http_url(url); !good)
      return fail(ErrorCode::kInvalid, url + ": " + good.error().detail);
  }
  const bool good_header = options_.header_name.empty() || (is_header_name(options_.header_name) &&
                                                            is_header_value(options_.header_value));
  if (!good_header) return fail(ErrorCode::kInvalid, "the header of the events is no header");
  POSTRIDER_TRY(calls,
                SinkGrpc::open(loop_.io(), options_.grpc,
                               [this](const SinkGrpcCall& call, SinkGrpcResponder responder) {
                                 calls_.emplace(++last_ticket_, std::move(responder));
                                 server_.call(loop_.now(), {last_ticket_, call.path,
                                                            call.authorization, call.message, 0});
                                 pump();
                               }));
  grpc_ = std::move(calls);
  POSTRIDER_TRY(controls, SinkListener::open(
                              loop_.io(), options_.control,
                              [this](const SinkRequest& request, const SinkResponder& responder) {
                                const SinkControlAnswer its = answer(request);
                                responder.answer({its.status, "application/json", its.body});
                              }));
  control_ = std::move(controls);
  if (const Result<void> opened = open_http(); !opened) return opened;
  return options_.mqtt_host.empty() ? Result<void>() : open_mqtt();
}

Result<void> ChirpstackSink::open_http() {
  HttpTransportOptions options;
  options.allow = kEverywhere;
  POSTRIDER_TRY(http, HttpTransport::make(loop_.io(), options, [this](AttemptId, WireReply reply) {
                  const bool heard = reply.end == WireEnd::kAnswered && reply.status / 100 == 2;
                  ++(heard ? counts_.posted : counts_.unheard);
                }));
  http_ = std::move(http);
  return {};
}

Result<void> ChirpstackSink::open_mqtt() {
  MqttTransportOptions options;
  options.host = options_.mqtt_host;
  options.port = options_.mqtt_port;
  options.client_id = options_.mqtt_client;
  options.allow = kEverywhere;
  options.subscriptions = {"application/" + options_.server.application + "/device/+/command/down"};
  POSTRIDER_TRY(mqtt, MqttTransport::make(
                          loop_.io(), options,
                          [this](AttemptId, const WireReply& reply) {
                            const bool heard = reply.end == WireEnd::kAnswered;
                            ++(heard ? counts_.posted : counts_.unheard);
                          },
                          [this](std::string_view topic, std::string_view bytes,
                                 const MqttTransport::Durable& durable) {
                            server_.command(loop_.now(), topic, bytes);
                            durable(true);
                            pump();
                          }));
  mqtt_ = std::move(mqtt);
  return {};
}

// Lets happen what is due, and wakes up for the next.
void ChirpstackSink::pump() {
  for (sim::NetworkHappening& happening : server_.due(loop_.now())) {
    if (auto* reply = std::get_if<sim::NetworkReply>(&happening.what)) act(std::move(*reply));
    if (auto* post = std::get_if<sim::NetworkPost>(&happening.what)) act(*post);
  }
  loop_.wake_at(server_.next(), [this] { pump(); });
}

void ChirpstackSink::act(sim::NetworkReply reply) {
  const auto found = calls_.find(reply.ticket);
  if (found == calls_.end()) return;
  if (reply.end == sim::CallEnd::kAnswered)
    found->second.answer(reply.status, reply.text, reply.message);
  if (reply.end == sim::CallEnd::kCut) found->second.reset();
  calls_.erase(found);
}

void ChirpstackSink::act(const sim::NetworkPost& post) {
  const Blob body = Blob::copy_of(post.body);
  const std::string event(chirpstack::name_of(post.kind));
  const auto request = [&](std::string target) {
    WireRequest out{.verb = "POST",
                    .target = std::move(target),
                    .owner = body,
                    .body = body.view(),
                    .time_out = options_.event_time_out};
    out.headers.add("content-type", post.content_type);
    if (!options_.header_name.empty()) out.headers.add(options_.header_name, options_.header_value);
    return out;
  };
  for (const std::string& url : options_.events) {
    const char* const mark = url.find('?') == std::string::npos ? "?event=" : "&event=";
    http_->start(AttemptId(++last_attempt_), request(url + mark + event));
  }
  if (mqtt_ == nullptr) return;
  mqtt_->start(
      AttemptId(++last_attempt_),
      request(chirpstack::event_topic({options_.server.application, post.dev_eui, event})));
}

// {"meter": "…", "join": true, "report": true, "unknown": true or false, "class": "A" or "C"}
SinkControlAnswer ChirpstackSink::set_device(std::string_view body) {
  const Result<json::Tree> object = json::parse_object(body);
  if (!object) return control_error(400, object.error().detail);
  const std::string meter = json::text_of(*object, "meter").value_or("");
  if (!chirpstack::dev_eui_of(meter)) return control_error(400, "meter: is missing or no meter");
  const std::string its_class = json::text_of(*object, "class").value_or("");
  if (its_class == "A" || its_class == "C") server_.set_class_a(meter, its_class == "A");
  if (json::find(*object, "unknown") != nullptr)
    server_.set_unknown(meter, json::boolean_of(*object, "unknown").value_or(false));
  const Timestamp now = loop_.now();
  if (json::boolean_of(*object, "join").value_or(false)) server_.join(now, meter);
  if (json::boolean_of(*object, "report").value_or(false)) server_.report(now, meter);
  pump();
  return {200, "{}"};
}

// {"url": "…"}: where events go from now on.
SinkControlAnswer ChirpstackSink::set_events(std::string_view body) {
  const Result<json::Tree> object = json::parse_object(body);
  if (!object) return control_error(400, object.error().detail);
  const std::string url = json::text_of(*object, "url").value_or("");
  if (const Result<void> good = check_http_url(url); !good)
    return control_error(400, "url: " + good.error().detail);
  options_.events = {url};
  return {200, "{}"};
}

std::string ChirpstackSink::counts() const {
  const sim::NetworkCounts& counts = server_.counts();
  std::string text;
  json::JsonWriter object(text);
  object.open_object();
  object.count("enqueues", counts.enqueues);
  object.count("taken", counts.taken);
  object.count("repeats_refused", counts.repeats_refused);
  object.count("looks", counts.looks);
  object.count("radiated", counts.radiated);
  object.count("queued", server_.queued());
  object.count("joins", counts.joins);
  object.count("events", counts.events);
  object.count("events_lost", counts.events_lost);
  object.count("events_repeated", counts.events_repeated);
  object.count("events_posted", counts_.posted);
  object.count("events_unheard", counts_.unheard);
  object.count("runs", meters_.ledger.runs().size());
  object.count("doubled", meters_.ledger.doubled().size());
  object.flag("mqtt_ready", mqtt_ != nullptr && mqtt_->ready());
  object.close_object();
  return text;
}

SinkControlAnswer ChirpstackSink::answer(const SinkRequest& request) {
  auto its =
      answer_control(request.method, request.path, request.body, meters_.ledger, server_.faults);
  if (its) return *its;
  if (request.path == "/counts" && request.method == "GET") return {200, counts()};
  if (request.path == "/devices" && request.method == "POST") return set_device(request.body);
  if (request.path == "/events" && request.method == "POST") return set_events(request.body);
  return control_error(404, "there are /ledger, /faults, /counts, /devices and /events");
}

std::string ChirpstackSink::summary() const {
  const sim::NetworkCounts& counts = server_.counts();
  return std::to_string(counts.enqueues) + " commands: " + std::to_string(counts.taken) +
         " taken, " + std::to_string(meters_.ledger.runs().size()) + " run; " +
         std::to_string(counts_.posted) + " events heard, " + std::to_string(counts_.unheard) +
         " not";
}

}  // namespace

Result<std::unique_ptr<FarSide>> open_chirpstack_sink(ChirpstackSinkOptions options) {
  return open_far_side<ChirpstackSink>(std::move(options));
}

}  // namespace postrider
