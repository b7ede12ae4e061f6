#include "postrider/api/http_api.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "postrider/api/assets.h"
#include "postrider/api/device.h"
#include "postrider/api/device_ingress.h"
#include "postrider/api/http_api_impl.h"
#include "postrider/api/json_fields.h"
#include "postrider/api/texts.h"

namespace postrider {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kNdjson = "application/x-ndjson";
constexpr std::string_view kMetrics = "/metrics";
constexpr std::string_view kImport = "/v1/dead-letters/import";
constexpr std::string_view kEvents = "/v1/events";
constexpr std::string_view kIngress = "/ingress/{plugin}";

using api::Takes;

struct Split {
  std::string_view path;
  std::string_view query;
};

Split split_target(std::string_view target) {
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {target, {}};
  return {target.substr(0, mark), target.substr(mark + 1)};
}

// The device routes say no in their own words, also to bodies that nobody collects.
std::optional<HttpResponse> too_large(const HttpRequest& request, std::string_view path) {
  const bool event = path.starts_with("/ingress/");
  if (!event && path != "/message/enqueue" && path != "/token/generate") return std::nullopt;
  const std::string_view text = request.header("content-length");
  std::uint64_t length = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), length);
  const std::uint64_t most = event ? api::kIngressBytesMax : device::kMessageBytesMax;
  if (text.empty() || read.ec != std::errc() || length <= most) return std::nullopt;
  return api::device_error(
      {413, event ? "an event has at most 256 KiB" : "the body is over 64 KiB"});
}

}  // namespace

// Every path there is. The first one is the hot one.
struct HttpApi::Impl::Table {
  using Self = HttpApi::Impl;
  static constexpr api::Scopes kSubmit = api::kSubmit;
  static constexpr api::Scopes kRead = api::kRead;
  static constexpr api::Scopes kOperate = api::kOperate;
  static constexpr api::Scopes kAnyScope = api::kAnyScope;
  static constexpr api::Scopes kNoToken = api::kNoToken;
  static constexpr Takes kNothing = Takes::kNothing;
  static constexpr Takes kBody = Takes::kJson;
  static constexpr Takes kMaybe = Takes::kJsonOrNothing;
  static constexpr std::string_view kText = "text/plain";
  static constexpr std::string_view kStream = "text/event-stream";
  static constexpr Takes kAny = Takes::kAnything;
  static constexpr api::Errors kPlain = api::Errors::kPlain;

  // clang-format off
  static constexpr auto kRoutes = std::to_array<Route>({
    {{"POST",   "/v1/messages",                     kSubmit,   kBody,    true,  kJson,   ""}, &Self::post_message},
    {{"GET",    "/v1/messages",                     kRead,     kNothing, false, kJson,   "destination phase older_than cursor limit"}, &Self::list_messages},
    {{"GET",    "/v1/messages/{id}",                kRead,     kNothing, false, kJson,   "body"}, &Self::get_message},
    {{"GET",    "/v1/messages/{id}/timeline",       kRead,     kNothing, false, kJson,   ""}, &Self::get_timeline},
    {{"GET",    "/v1/messages/{id}/explain",        kRead,     kNothing, false, kJson,   ""}, &Self::explain_message},
    {{"POST",   "/v1/messages/{id}/cancel",         kOperate,  kNothing, true,  kJson,   ""}, &Self::cancel_message},
    {{"POST",   "/v1/messages/{id}/retry",          kOperate,  kNothing, true,  kJson,   ""}, &Self::retry_message},
    {{"POST",   "/v1/messages/{id}/resend",         kOperate,  kNothing, true,  kJson,   "even_if_it_ran"}, &Self::resend_message},
    {{"GET",    "/v1/operations/{key}",             kSubmit | kRead, kNothing, false, kJson, ""}, &Self::get_operation},
    {{"GET",    "/v1/destinations",                 kRead,     kNothing, false, kJson,   "prefix health busy degraded cursor limit"}, &Self::list_destinations},
    {{"PUT",    "/v1/destinations/{name}",          kOperate,  kBody,    true,  kJson,   ""}, &Self::put_destination},
    {{"GET",    "/v1/destinations/{name}",          kRead,     kNothing, false, kJson,   ""}, &Self::get_destination},
    {{"DELETE", "/v1/destinations/{name}",          kOperate,  kNothing, true,  kJson,   "drain"}, &Self::delete_destination},
    {{"POST",   "/v1/destinations/{name}/pause",    kOperate,  kMaybe,   true,  kJson,   ""}, &Self::pause_destination},
    {{"POST",   "/v1/destinations/{name}/resume",   kOperate,  kNothing, true,  kJson,   ""}, &Self::resume_destination},
    {{"POST",   "/v1/destinations/{name}/wake",     kOperate,  kNothing, true,  kJson,   ""}, &Self::wake_destination},
    {{"PATCH",  "/v1/destinations/{name}/limits",   kOperate,  kBody,    true,  kJson,   ""}, &Self::patch_limits},
    {{"POST",   "/v1/destinations/{name}/test",     kOperate,  kNothing, true,  kJson,   ""}, &Self::test_destination},
    {{"GET",    "/v1/dead-letters",                 kRead,     kNothing, false, kJson,   "cursor limit"}, &Self::list_dead_letters},
    {{"GET",    "/v1/dead-letters/export",          kRead,     kNothing, false, kNdjson, "cursor limit"}, &Self::export_dead_letters},
    {{"POST",   kImport,                            kOperate,  kAny,     false, kNdjson, "even_if_it_ran"}, &Self::import_dead_letters},
    {{"GET",    "/v1/dead-letters/groups",          kRead,     kNothing, false, kJson,   "destination limit"}, &Self::list_dead_groups},
    {{"GET",    "/v1/dead-letters/{id}",            kRead,     kNothing, false, kJson,   "body"}, &Self::get_dead_letter},
    {{"POST",   "/v1/dead-letters/{id}/redrive",    kOperate,  kNothing, true,  kJson,   "even_if_it_ran"}, &Self::redrive_dead_letter},
    {{"DELETE", "/v1/dead-letters/{id}",            kOperate,  kNothing, true,  kJson,   ""}, &Self::drop_dead_letter},
    {{"POST",   "/v1/jobs",                         kOperate,  kBody,    true,  kJson,   ""}, &Self::post_job},
    {{"GET",    "/v1/jobs",                         kRead,     kNothing, false, kJson,   "limit"}, &Self::list_jobs},
    {{"GET",    "/v1/jobs/{id}",                    kRead,     kNothing, false, kJson,   ""}, &Self::get_job},
    {{"POST",   "/v1/jobs/{id}/cancel",             kOperate,  kNothing, true,  kJson,   ""}, &Self::cancel_job},
    {{"GET",    "/v1/groups",                       kRead,     kNothing, false, kJson,   "cursor limit"}, &Self::list_groups},
    {{"PUT",    "/v1/groups/{name}",                kOperate,  kBody,    true,  kJson,   ""}, &Self::put_group},
    {{"GET",    "/v1/groups/{name}",                kRead,     kNothing, false, kJson,   ""}, &Self::get_group},
    {{"DELETE", "/v1/groups/{name}",                kOperate,  kNothing, true,  kJson,   ""}, &Self::delete_group},
    {{"POST",   "/v1/groups/{name}/members",        kOperate,  kBody,    true,  kJson,   ""}, &Self::add_members},
    {{"DELETE", "/v1/groups/{name}/members",        kOperate,  kNothing, true,  kJson,   "destination"}, &Self::remove_member},
    {{"POST",   "/v1/groups/{name}/messages",       kSubmit,   kBody,    true,  kJson,   ""}, &Self::post_fanout},
    {{"GET",    "/v1/holds",                        kRead,     kNothing, false, kJson,   ""}, &Self::list_holds},
    {{"PUT",    "/v1/holds/{name}",                 kOperate,  kBody,    true,  kJson,   ""}, &Self::put_hold},
    {{"DELETE", "/v1/holds/{name}",                 kOperate,  kNothing, true,  kJson,   ""}, &Self::delete_hold},
    {{"GET",    "/v1/audit",                        kRead,     kNothing, false, kJson,   "cursor limit order"}, &Self::list_audit},
    {{"GET",    kEvents,                            kRead,     kNothing, false, kStream, "from"}, &Self::get_events},
    {{"GET",    "/v1/shape",                        kRead,     kNothing, false, kJson,   "destination cursor limit"}, &Self::get_shape},
    {{"GET",    "/v1/stats",                        kRead,     kNothing, false, kJson,   ""}, &Self::get_stats},
    {{"GET",    "/v1/profiles",                     kAnyScope, kNothing, false, kJson,   ""}, &Self::list_profiles},
    {{"GET",    "/v1/profiles/{name}",              kAnyScope, kNothing, false, kJson,   ""}, &Self::get_profile},
    {{"GET",    "/v1/whoami",                       kAnyScope, kNothing, false, kJson,   ""}, &Self::get_whoami},
    {{"GET",    "/metrics",                         kRead,     kNothing, false, kText,   ""}, &Self::get_metrics},
    {{"GET",    "/livez",                           kNoToken,  kNothing, false, kJson,   ""}, &Self::get_livez},
    {{"GET",    "/readyz",                          kNoToken,  kNothing, false, kJson,   ""}, &Self::get_readyz},
    {{"POST",   "/message/enqueue",                 kSubmit,   kBody,    false, kJson,   "", kPlain}, &Self::enqueue_device},
    {{"POST",   "/messages/enqueue",                kSubmit,   kBody,    false, kJson,   "", kPlain}, &Self::enqueue_devices},
    {{"GET",    "/message/{id}",                    kRead,     kNothing, false, kJson,   "phase", kPlain}, &Self::get_device},
    {{"GET",    "/message/{id}/history",            kRead,     kNothing, false, kJson,   "phase", kPlain}, &Self::get_device_history},
    {{"POST",   "/message/cancel",                  kSubmit,   kBody,    false, kJson,   "", kPlain}, &Self::cancel_device},
    {{"POST",   "/messages/cancel",                 kSubmit,   kBody,    false, kJson,   "", kPlain}, &Self::cancel_devices},
    {{"POST",   "/token/generate",                  kSubmit,   kBody,    true,  kJson,   "", kPlain}, &Self::generate_token},
    {{"POST",   kIngress,                           kNoToken,  kAny,     false, kJson,   "event", kPlain}, &Self::take_ingress},
    {{"POST",   "/ingress/{plugin}/replay",         kOperate,  kBody,    false, kJson,   "", kPlain}, &Self::replay_ingress},
    {{"GET",    "/healthz",                         kNoToken,  kNothing, false, kJson,   ""}, &Self::get_healthz},
    {{"GET",    "/openapi.json",                    kAnyScope, kNothing, false, kJson,   ""}, &Self::get_openapi},
  });
  // clang-format on

  static constexpr auto kRows = [] {
    std::array<api::RouteRow, kRoutes.size()> rows{};
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = kRoutes[i].row;
    return rows;
  }();
  static constexpr std::size_t kNoRoute = kRoutes.size();  // counted as "other"
};

std::span<const api::RouteRow> api::route_rows() { return HttpApi::Impl::Table::kRows; }

HttpApi::Impl::Impl(HttpApiOptions options, Host& host, const Clock& clock)
    : options_(std::move(options)),
      host_(host),
      clock_(clock),
      limits_{
          .body_bytes_max = options_.body_bytes_max,
          .json = {.depth_max = options_.json_depth_max, .values_max = options_.json_values_max}},
      submit_reader_(limits_),
      counts_(Table::kRoutes.size() + 1),
      tails_(host, {.tails_max = options_.tails_max}),
      batches_(host, clock, limits_,
               {.lines_waiting_max = options_.lines_waiting_max,
                .line_bytes_max = options_.line_bytes_max}),
      queues_(std::make_shared<api::DeviceQueues>(host, plugins_, options_.device.warn)) {
  access_.set_tokens(options_.tokens);
  access_.set_names(options_.names);
}

HttpApi::Impl::~Impl() { queues_->close(); }

// The original of the device profile shows its figures to everybody.
api::Scopes HttpApi::Impl::scopes_of(const api::RouteRow& row) const {
  const bool open = !plugins_.empty() && options_.device.metrics == "open";
  return open && row.pattern == kMetrics ? api::kNoToken : row.scopes;
}

// Who asks for what; everything that can be told from the head.
api::Checked<HttpApi::Impl::Call> HttpApi::Impl::look_at(const HttpRequest& request,
                                                         Waiting& waiting) {
  const auto refused = [](api::Problem& problem) {
    return tl::unexpected<api::Problem>(std::move(problem));
  };
  if (auto misdirected = access_.misdirected(request)) return refused(*misdirected);
  const Split target = split_target(request.target);
  // The server leaves the body of an answer to HEAD away.
  const std::string_view method = request.method == "HEAD" ? "GET" : request.method;
  auto routed = api::find_route(Table::kRows, method, target.path);
  if (!routed) return refused(routed.error());
  waiting.route = routed->route;
  const api::RouteRow& row = Table::kRows[routed->route];
  // Nothing of it could be read there, but each one takes a place that others need.
  if (row.pattern == kEvents && !request.local && api::is_foreign_page(request))
    return api::refuse(api::ProblemType::kForbidden,
                       "a page of another site asked the browser for the events");
  auto admitted = access_.admit(request, scopes_of(row));
  if (!admitted) return refused(admitted.error());
  const std::string_view tenant = admitted->tenant;
  auto query = api::UrlQuery::read(target.query, row.parameters);
  if (!query) return refused(query.error());
  auto key = api::read_key(request, tenant, row.changes);
  if (!key) return refused(key.error());
  if (auto problem = api::check_coding(request)) return refused(*problem);
  return Call{.request = request,
              .waiting = waiting,
              .tenant = tenant,
              .actor = admitted->actor,
              .capture = std::move(routed->capture),
              .query = std::move(*query),
              .key = std::move(*key)};
}

void HttpApi::Impl::handle(const HttpRequest& request, HttpExchangePtr exchange) {
  if (auto misdirected = access_.misdirected(request))
    return refuse({std::move(exchange), Table::kNoRoute, clock_.read().boot}, *misdirected);
  if (auto asset = api::asset_response(request, api::web_assets(), api::missing_why())) {
    counts_.count(Table::kNoRoute, asset->status);
    return exchange->respond(std::move(*asset));
  }
  Waiting waiting{std::move(exchange), Table::kNoRoute, clock_.read().boot};
  auto call = look_at(request, waiting);
  if (!call) return refuse(waiting, call.error());
  const Route& route = Table::kRoutes[call->waiting.route];
  if (auto problem = api::check_forms(request, route.row)) return refuse(call->waiting, *problem);
  (this->*route.handle)(*call);
}

// A body that is still to come is asked for only when nothing of its head is wrong: neither memory
// nor `100 Continue` for a request that will be refused anyway. A whole request goes to handle(),
// which says the same and keeps the connection.
HttpBodySink HttpApi::Impl::stream(const HttpRequest& request, const HttpExchangePtr& exchange) {
  const std::string_view path = split_target(request.target).path;
  const bool letters = path == kImport;
  const bool batch = request.method == "POST" && (letters || path == Table::kRows[0].pattern) &&
                     api::is_media_type(request.header("content-type"), kNdjson);
  if (!batch && !request.body_waits) return {};
  Waiting waiting{exchange, Table::kNoRoute, clock_.read().boot};
  const HttpBodySink nothing = [](std::string_view, bool) {};
  auto call = look_at(request, waiting);
  if (!call) {
    refuse(waiting, call.error(), true);
    return nothing;
  }
  if (!batch) return refuse_head(*call) ? nothing : HttpBodySink();
  bool regardless = false;
  if (const auto problem = judge_batch(*call, regardless)) {
    refuse(waiting, *problem, true);
    return nothing;
  }
  counts_.count(call->waiting.route, 200);
  HttpResponse head;
  head.content_type = kNdjson;
  add_usual_headers(head);
  exchange->begin(std::move(head));
  return batches_.begin({.exchange = exchange,
                         .tenant = std::string(call->tenant),
                         .key = std::move(call->key),
                         .traceparent = std::string(request.header("traceparent")),
                         .tracestate = std::string(request.header("tracestate")),
                         .letters = letters,
                         .even_if_it_ran = regardless});
}

// True: it is answered, and its body not wanted.
bool HttpApi::Impl::refuse_head(Call& call) {
  const api::RouteRow& row = Table::kRows[call.waiting.route];
  if (auto refusal = too_large(call.request, split_target(call.request.target).path)) {
    finish(call.waiting, std::move(*refusal));
    return true;
  }
  auto problem = api::check_forms(call.request, row);
  // In chunks, so that nobody knows yet whether it is one; but here everybody could send it.
  if (!problem && row.takes == Takes::kNothing && scopes_of(row) == api::kNoToken)
    problem = api::complaint(api::ProblemType::kInvalidContent, "this takes no body; send none");
  if (problem) refuse(call.waiting, *problem, true);
  if (problem) return true;
  return row.pattern == kIngress && refuse_ingress(call);
}

std::optional<api::Problem> HttpApi::Impl::judge_batch(const Call& call,
                                                       bool& even_if_it_ran) const {
  if (!api::accepts(call.request.header("accept"), kNdjson))
    return api::complaint(api::ProblemType::kNotAcceptable,
                          "NDJSON is answered with NDJSON: accept application/x-ndjson");
  if (call.key.key.size() > api::Batches::kKeyBytesMax)
    return api::complaint(api::ProblemType::kInvalidKey,
                          "the Idempotency-Key of a batch has at most 240 characters, because "
                          "line n has the key KEY#n");
  auto said = call.query.flag("even_if_it_ran");
  if (!said) return std::move(said.error());
  even_if_it_ran = *said;
  if (!call.waiting.exchange->has_room(api::Batches::kKeptMin)) return api::no_room();
  return std::nullopt;
}

// Nothing of ours is to be guessed at, or kept by anybody in between.
void HttpApi::Impl::add_usual_headers(HttpResponse& response) {
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
}

void HttpApi::Impl::finish_replayed(const Waiting& waiting, const Answer& answer,
                                    HttpResponse response) {
  if (answer.replayed) response.headers.emplace_back("Idempotency-Replayed", "true");
  finish(waiting, std::move(response));
}

void HttpApi::Impl::finish(const Waiting& waiting, HttpResponse response) {
  counts_.count(waiting.route, response.status);
  add_usual_headers(response);
  waiting.exchange->respond(std::move(response));
}

void HttpApi::Impl::refuse(const Waiting& waiting, const api::Problem& problem, bool close) {
  const bool plain =
      waiting.route != Table::kNoRoute && Table::kRows[waiting.route].errors == api::Errors::kPlain;
  HttpResponse response = plain ? api::device_error(problem) : api::problem_response(problem);
  response.close = close;
  finish(waiting, std::move(response));
}

api::Checked<api::JsonValue> HttpApi::Impl::root_of(const Call& call) {
  return api::read_root(document_, call.request.body, limits_.json);
}

void HttpApi::Impl::set_tokens(const std::vector<AccessToken>& tokens) {
  access_.set_tokens(tokens);
  // Whoever reads on needs a token that is still good.
  tails_.cut_all();
}

void HttpApi::Impl::set_plugins(std::vector<DevicePlugin> plugins) {
  plugins_.set(std::move(plugins));
  queues_->begin();
}

void HttpApi::Impl::tick() {
  const Timestamp boot = clock_.read().boot;
  if (host_.state() == Host::State::kStopped) tails_.cut_all();
  tails_.tick(boot);
  batches_.tick();
  queues_->tick();
  if (!mints_.empty()) look_at_mints();
  if (!exports_.empty()) look_at_exports();
}

HttpApi::HttpApi(HttpApiOptions options, Host& host, const Clock& clock) {
  std::vector<DevicePlugin> plugins = options.device.plugins;
  impl_ = std::make_shared<Impl>(std::move(options), host, clock);
  impl_->set_plugins(std::move(plugins));
}

HttpApi::~HttpApi() = default;

HttpHandler HttpApi::handler() {
  HttpHandler handler;
  Impl* const impl = impl_.get();
  handler.handle = [impl](const HttpRequest& request, HttpExchangePtr exchange) {
    impl->handle(request, std::move(exchange));
  };
  handler.stream = [impl](const HttpRequest& request, const HttpExchangePtr& exchange) {
    return impl->stream(request, exchange);
  };
  handler.refuse = [](int status, std::string_view detail) {
    return api::refusal_response(status, detail);
  };
  return handler;
}

void HttpApi::set_tokens(const std::vector<AccessToken>& tokens) { impl_->set_tokens(tokens); }
void HttpApi::set_plugins(std::vector<DevicePlugin> plugins) {
  impl_->set_plugins(std::move(plugins));
}
void HttpApi::tick() { impl_->tick(); }

}  // namespace postrider
