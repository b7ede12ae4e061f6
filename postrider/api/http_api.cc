#include "postrider/api/http_api.h"

#include <algorithm>
#include <optional>

#include "postrider/api/assets.h"
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

}  // namespace

// Every path of the API itself. The first one is the hot one.
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

  // clang-format off
  static constexpr auto kRoutes = std::to_array<Route>({
    {{"POST",   "/v1/messages",                     kSubmit,   kBody,    true,  kJson,   "wait"}, &Self::post_message},
    {{"GET",    "/v1/messages",                     kRead,     kNothing, false, kJson,   "destination phase older_than cursor limit"}, &Self::list_messages},
    {{"GET",    "/v1/messages/{id}",                kRead,     kNothing, false, kJson,   "body wait"}, &Self::get_message},
    {{"GET",    "/v1/messages/{id}/timeline",       kRead,     kNothing, false, kJson,   ""}, &Self::get_timeline},
    {{"GET",    "/v1/messages/{id}/explain",        kRead,     kNothing, false, kJson,   ""}, &Self::explain_message},
    {{"POST",   "/v1/messages/{id}/cancel",         kOperate,  kNothing, true,  kJson,   ""}, &Self::cancel_message},
    {{"POST",   "/v1/messages/{id}/retry",          kOperate,  kNothing, true,  kJson,   ""}, &Self::retry_message},
    {{"POST",   "/v1/messages/{id}/resend",         kOperate,  kNothing, true,  kJson,   "even_if_it_ran"}, &Self::resend_message},
    {{"GET",    "/v1/operations/{key}",             kSubmit | kRead, kNothing, false, kJson, ""}, &Self::get_operation},
    {{"DELETE", "/v1/operations/{key}",             kSubmit | kOperate, kNothing, false, kJson, ""}, &Self::cancel_operation},
    {{"GET",    "/v1/destinations",                 kRead,     kNothing, false, kJson,   "prefix health busy degraded cursor limit"}, &Self::list_destinations},
    {{"PUT",    "/v1/destinations/{name}",          kOperate,  kBody,    true,  kJson,   ""}, &Self::put_destination},
    {{"GET",    "/v1/destinations/{name}",          kRead,     kNothing, false, kJson,   ""}, &Self::get_destination},
    {{"DELETE", "/v1/destinations/{name}",          kOperate,  kNothing, true,  kJson,   "drain"}, &Self::delete_destination},
    {{"POST",   "/v1/destinations/{name}/pause",    kOperate,  kMaybe,   true,  kJson,   ""}, &Self::pause_destination},
    {{"POST",   "/v1/destinations/{name}/resume",   kOperate,  kNothing, true,  kJson,   ""}, &Self::resume_destination},
    {{"POST",   "/v1/destinations/{name}/wake",     kOperate,  kNothing, true,  kJson,   ""}, &Self::wake_destination},
    {{"POST",   "/v1/destinations/{name}/seen",     kOperate,  kNothing, false, kJson,   ""}, &Self::see_destination},
    {{"PATCH",  "/v1/destinations/{name}/limits",   kOperate,  kBody,    true,  kJson,   ""}, &Self::patch_limits},
    {{"POST",   "/v1/destinations/{name}/test",     kOperate,  kNothing, true,  kJson,   ""}, &Self::test_destination},
    {{"POST",   "/v1/destinations/{name}/rotate",   kOperate,  kBody,    true,  kJson,   ""}, &Self::rotate_destination},
    {{"GET",    "/v1/dead-letters",                 kRead,     kNothing, false, kJson,   "destination_id cursor limit"}, &Self::list_dead_letters},
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
    {{"GET",    kEvents,                            kRead,     kNothing, false, kStream, "from until destination kind"}, &Self::get_events},
    {{"GET",    "/v1/queues",                       kRead,     kNothing, false, kJson,   "cursor limit"}, &Self::list_queues},
    {{"GET",    "/v1/shape",                        kRead,     kNothing, false, kJson,   "destination cursor limit"}, &Self::get_shape},
    {{"GET",    "/v1/stats",                        kRead,     kNothing, false, kJson,   ""}, &Self::get_stats},
    {{"GET",    "/v1/profiles",                     kAnyScope, kNothing, false, kJson,   ""}, &Self::list_profiles},
    {{"GET",    "/v1/profiles/{name}",              kAnyScope, kNothing, false, kJson,   ""}, &Self::get_profile},
    {{"GET",    "/v1/whoami",                       kAnyScope, kNothing, false, kJson,   ""}, &Self::get_whoami},
    {{"GET",    "/metrics",                         kRead,     kNothing, false, kText,   ""}, &Self::get_metrics},
    {{"GET",    "/livez",                           kNoToken,  kNothing, false, kJson,   ""}, &Self::get_livez},
    {{"GET",    "/readyz",                          kNoToken,  kNothing, false, kJson,   ""}, &Self::get_readyz},
    {{"GET",    "/openapi.json",                    kAnyScope, kNothing, false, kJson,   ""}, &Self::get_openapi},
  });
  // clang-format on

  static constexpr auto kRows = [] {
    std::array<api::RouteRow, kRoutes.size()> rows{};
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = kRoutes[i].row;
    return rows;
  }();
  static constexpr std::size_t kNoRoute = SIZE_MAX;  // counted as "other"
};

std::span<const api::RouteRow> api::route_rows() { return HttpApi::Impl::Table::kRows; }

std::vector<api::RouteRow> HttpApi::Impl::all_rows(
    std::span<const std::shared_ptr<api::HttpDoor>> doors) {
  std::vector<api::RouteRow> rows(Table::kRows.begin(), Table::kRows.end());
  for (const auto& door : doors) {
    const std::span<const api::RouteRow> more = door->routes();
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

api::AllWords HttpApi::Impl::all_words(std::span<const std::shared_ptr<api::HttpDoor>> doors) {
  api::AllWords all;
  for (const auto& door : doors) {
    if (door->words() != nullptr) all.push_back(door->words());
  }
  return all;
}

HttpApi::Impl::Impl(HttpApiOptions options, Host& host, const Clock& clock)
    : options_(std::move(options)),
      rows_(all_rows(options_.doors)),
      words_(all_words(options_.doors)),
      host_(host),
      clock_(clock),
      limits_{
          .body_bytes_max = options_.body_bytes_max,
          .json = {.depth_max = options_.json_depth_max, .values_max = options_.json_values_max}},
      submit_reader_(limits_, words_),
      counts_(rows_.size() + 1),
      tails_(host, {.tails_max = options_.tails_max}),
      batches_(host, clock, api::SubmitReader(limits_, words_), limits_,
               {.lines_waiting_max = options_.lines_waiting_max,
                .line_bytes_max = options_.line_bytes_max}),
      awaits_(host, clock) {
  for (const auto& door : options_.doors) {
    for (std::size_t i = 0; i < door->routes().size(); ++i) door_routes_.push_back({door.get(), i});
  }
  access_.set_tokens(options_.tokens);
  access_.set_names(options_.names);
}

HttpApi::Impl::~Impl() = default;

// Behind the constructor, because a door may post at once and the answer needs a whole desk.
void HttpApi::Impl::open_doors() {
  for (const auto& door : options_.doors) door->open(*this);
}

const api::RouteRow* HttpApi::Impl::row_of(const Waiting& waiting) const {
  return waiting.route == Table::kNoRoute ? nullptr : &rows_[waiting.route];
}

api::HttpDoor* HttpApi::Impl::owner_of(std::size_t route) const {
  const std::size_t own = Table::kRoutes.size();
  return route == Table::kNoRoute || route < own ? nullptr : door_routes_[route - own].door;
}

api::Scopes HttpApi::Impl::scopes_of(const api::RouteRow& row) const {
  if (row.pattern != kMetrics) return row.scopes;
  const bool open = std::any_of(options_.doors.begin(), options_.doors.end(),
                                [](const auto& door) { return door->opens_metrics(); });
  return open ? api::kNoToken : row.scopes;
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
  auto routed = api::find_route(rows_, method, target.path);
  if (!routed) return refused(routed.error());
  waiting.route = routed->route;
  const api::RouteRow& row = rows_[routed->route];
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
              .mailboxes = admitted->mailboxes,
              .capture = std::move(routed->capture),
              .second = std::move(routed->second),
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
  const std::size_t route = call->waiting.route;
  if (auto problem = api::check_forms(request, rows_[route]))
    return refuse(call->waiting, *problem);
  if (route < Table::kRoutes.size()) return (this->*Table::kRoutes[route].handle)(*call);
  const DoorRoute& other = door_routes_[route - Table::kRoutes.size()];
  other.door->handle(other.route, *call);
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
                         .head = api::head_texts(words_, request),
                         .letters = letters,
                         .even_if_it_ran = regardless});
}

// True: it is answered, and its body not wanted.
bool HttpApi::Impl::refuse_head(Call& call) {
  const std::size_t route = call.waiting.route;
  const api::RouteRow& row = rows_[route];
  api::HttpDoor* const door = owner_of(route);
  if (door != nullptr && door->refuse_head(door_routes_[route - Table::kRoutes.size()].route, call))
    return true;
  auto problem = api::check_forms(call.request, row);
  // In chunks, so that nobody knows yet whether it is one; but here everybody could send it.
  if (!problem && row.takes == Takes::kNothing && scopes_of(row) == api::kNoToken)
    problem = api::complaint(api::ProblemType::kInvalidContent, "this takes no body; send none");
  if (problem) refuse(call.waiting, *problem, true);
  return problem.has_value();
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
  if (call.query.find("wait") != nullptr)
    return api::complaint(api::ProblemType::kInvalidParameter,
                          "many messages are not waited for together: ask for each by its id",
                          "wait");
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
  const api::RouteRow* const row = row_of(waiting);
  const bool own = row != nullptr && row->errors == api::Errors::kOwn;
  const api::HttpDoor* const door = own ? owner_of(waiting.route) : nullptr;
  HttpResponse response = door != nullptr ? door->refusal(problem) : api::problem_response(problem);
  response.close = close;
  finish(waiting, std::move(response));
}

api::Checked<api::JsonValue> HttpApi::Impl::root_of(const Call& call) {
  api::JsonLimits limits = limits_.json;
  const std::uint32_t deep = rows_[call.waiting.route].json_depth_max;
  if (deep != 0) limits.depth_max = deep;
  return api::read_root(document_, call.request.body, limits);
}

std::uint64_t HttpApi::Impl::body_bytes_max(const HttpRequest& request) const {
  const auto routed = api::find_route(rows_, request.method, split_target(request.target).path);
  return routed ? rows_[routed->route].body_bytes_max : 0;
}

void HttpApi::Impl::set_tokens(const std::vector<AccessToken>& tokens) {
  access_.set_tokens(tokens);
  // Whoever reads on needs a token that is still good.
  tails_.cut_all();
}

void HttpApi::Impl::tick() {
  const Timestamp boot = clock_.read().boot;
  if (host_.state() == Host::State::kStopped) tails_.cut_all();
  tails_.tick(boot);
  batches_.tick();
  awaits_.tick();
  for (const auto& door : options_.doors) door->tick();
  if (!exports_.empty()) look_at_exports();
}

HttpApi::HttpApi(HttpApiOptions options, Host& host, const Clock& clock)
    : impl_(std::make_shared<Impl>(std::move(options), host, clock)) {
  impl_->open_doors();
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
  handler.body_bytes_max = [impl](const HttpRequest& request) {
    return impl->body_bytes_max(request);
  };
  handler.refuse = [](int status, std::string_view detail) {
    return api::refusal_response(status, detail);
  };
  return handler;
}

void HttpApi::set_tokens(const std::vector<AccessToken>& tokens) { impl_->set_tokens(tokens); }
std::span<const api::RouteRow> HttpApi::routes() const { return impl_->routes(); }
void HttpApi::tick() { impl_->tick(); }

}  // namespace postrider
