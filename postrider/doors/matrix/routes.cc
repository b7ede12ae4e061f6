#include "postrider/doors/matrix/routes.h"

#include <array>
#include <fstream>
#include <iterator>
#include <utility>

#include "postrider/api/metrics.h"
#include "postrider/doors/matrix/openapi.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix_door {
namespace {

using api::Call;
using api::ProblemType;

// Whose share of the event queue questions about servers use. No token can have it, for it is no
// name of a tenant.
constexpr std::string_view kMatrixTenant = "(matrix)";
constexpr std::string_view kUserAgent = "postrider";
constexpr std::string_view kKeyPath = "/_matrix/key/v2/server";
constexpr std::string_view kMethodHeader = "x-original-method";
constexpr std::string_view kUriHeader = "x-original-uri";
constexpr Duration kKeyTimeOut{10'000};
constexpr std::size_t kTrustBytesMax = 1U << 20;
// Of the door's own; transactions have theirs.
constexpr std::uint32_t kOwnConnectionsMax = 64;
constexpr std::uint32_t kOwnIdleMax = 16;

// clang-format off
constexpr auto kRoutes = std::to_array<api::RouteRow>({
    {"POST", "/v1/matrix/seen/{server}", api::kOperate, api::Takes::kNothing,  false, "application/json", ""},
    {"POST", "/v1/matrix/inbound",       api::kNoToken, api::Takes::kAnything, false, "application/json", ""},
    {"POST", "/v1/matrix/events",        api::kSubmit,  api::Takes::kJson,     false, "application/json", "", api::Errors::kProblem, api::kLargeBodyBytesMax, api::kDeepJsonMax},
    {"GET",  "/v1/matrix/events/{id}",   api::kRead,    api::Takes::kNothing,  false, "application/json", "cursor"},
    {"POST", "/v1/matrix/edus",          api::kSubmit,  api::Takes::kJson,     false, "application/json", "", api::Errors::kProblem, api::kLargeBodyBytesMax, api::kDeepJsonMax},
    {"GET",  "/v1/matrix/rooms/{server}", api::kRead,   api::Takes::kNothing,  false, "application/json", "cursor"},
});
// clang-format on
enum Route : std::size_t {
  kSeenServer,
  kInboundRequest,
  kHostEvents,
  kFindEvent,
  kHostUnits,
  kListRooms,
};

HttpResponse no_content() {
  HttpResponse response;
  response.status = 204;
  return response;
}

Result<std::string> read_trust(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file.good() && !file.eof())
    return fail(ErrorCode::kInvalid, "matrix.trust_file: '" + path + "' cannot be read");
  if (text.empty() || text.size() > kTrustBytesMax)
    return fail(ErrorCode::kInvalid, "matrix.trust_file: '" + path + "' has no certificates");
  return text;
}

Result<std::string> read_secret(const std::string& path) {
  if (path.empty())
    return fail(ErrorCode::kInvalid,
                "matrix.egress needs matrix.secret_file: without a secret it does not open");
  auto bytes = read_private_file(path, kSecretBytesMax + 2);
  if (!bytes) return fail(ErrorCode::kInvalid, "matrix.secret_file: " + bytes.error().detail);
  std::string secret = std::move(*bytes);
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.size() < kSecretBytesMin || secret.size() > kSecretBytesMax)
    return fail(ErrorCode::kInvalid, "matrix.secret_file: the secret must have " +
                                         std::to_string(kSecretBytesMin) + " to " +
                                         std::to_string(kSecretBytesMax) + " bytes");
  return secret;
}

WaysOptions ways_options(const doors::DoorGround& ground, const MatrixConfig& config) {
  WaysOptions options;
  options.http = ground.transport;
  options.http.connections_max = kOwnConnectionsMax;
  options.http.idle_connections_max = kOwnIdleMax;
  options.http.reply_bytes_max = matrix::kKeyObjectBytesMax + 1;
  options.discovery.srv.ares = {.servers = ground.transport.name_servers,
                                .ask_time_out = ground.transport.name_time_out,
                                .asks_max = ground.transport.name_asks_max};
  options.discovery.srv.ttl_max = ground.transport.name_ttl_max;
  options.discovery.seed = static_cast<std::uint64_t>(ground.clock.read().wall.ms());
  options.streams.streams_max = config.relays_max;
  options.streams.silence_max = config.relay_time_out;
  return options;
}

}  // namespace

MatrixRoutes::MatrixRoutes(MatrixConfig config) : config_(std::move(config)) {}
MatrixRoutes::~MatrixRoutes() = default;

std::span<const api::RouteRow> MatrixRoutes::routes() const { return kRoutes; }
api::OpenapiPart MatrixRoutes::openapi() const { return openapi_part(); }
void MatrixRoutes::open(api::Desk& desk) {
  desk_ = &desk;
  const HostEventsOptions host{.server_name = config_.server_name,
                               .allow_servers = config_.allow_servers};
  events_ = std::make_shared<HostEvents>(host, desk);
  units_ = std::make_shared<HostUnits>(host, desk);
  inspection_ = std::make_shared<Inspection>(desk);
}

Result<void> MatrixRoutes::make_ways(const doors::DoorGround& ground) {
  WaysOptions options = ways_options(ground, config_);
  if (change_ways_) change_ways_(options);
  POSTRIDER_TRY(ways, Ways::make(ground.loop, ground.clock, std::move(options)));
  ways_ = std::move(ways);
  return {};
}

// Without a server name there is nothing that others could sign for us, and no egress.
Result<std::vector<std::string>> MatrixRoutes::listen(const doors::DoorGround& ground) {
  if (config_.server_name.empty()) return std::vector<std::string>();
  POSTRIDER_TRY(trust, read_trust(config_.trust_file));
  trust_ = trust;
  if (const auto made = make_ways(ground); !made) return tl::unexpected<Error>(made.error());
  const auto closed = [this](const std::string& server, const std::function<void(bool)>& then) {
    ask_closed(server, then);
  };
  const auto seen = [this](const std::string& server) { post_seen(server); };
  keys_ = std::make_unique<KeyRing>(ground.clock,
                                    [this](const std::string& server, KeyRing::Body then) {
                                      fetch_keys(server, std::move(then));
                                    });
  inbound_ = std::make_unique<Inbound>(
      InboundOptions{.server_name = config_.server_name, .ask_closed = closed, .seen = seen},
      *keys_);
  if (config_.egress.empty()) return std::vector<std::string>();
  POSTRIDER_TRY(secret, read_secret(config_.secret_file));
  relays_ =
      std::make_unique<Relays>(*ways_, RelayOptions{.relays_max = config_.relays_max,
                                                    .per_server_max = config_.relays_per_server_max,
                                                    .time_out = config_.relay_time_out,
                                                    .trust = trust_,
                                                    .user_agent = std::string(kUserAgent),
                                                    .ask_closed = closed,
                                                    .seen = seen});
  intake_ = std::make_shared<Intake>(
      IntakeOptions{.server_name = config_.server_name,
                    .tenant = kMatrixTenant,
                    .closed_delay = config_.closed_delay,
                    .ask_closed = closed},
      desk_->host(), ground.clock);
  egress_ = std::make_unique<Egress>(
      EgressOptions{.secret = secret,
                    .server_name = config_.server_name,
                    .allow_servers = config_.allow_servers},
      *relays_, [this](const HandedOver& transaction) { intake_->take(transaction); });
  server_ = std::make_unique<HttpServer>(ground.loop, Egress::limits(ground.limits),
                                         egress_->handler(), ground.clock);
  auto address = server_->listen({.address = config_.egress});
  if (!address) return fail(address.error().code, "matrix.egress: " + address.error().detail);
  return std::vector<std::string>{*address};
}

void MatrixRoutes::stop_listening() {
  if (server_ != nullptr) server_->stop_accepting();
  if (intake_ != nullptr) intake_->answer_all();
}

std::size_t MatrixRoutes::connections() const {
  return server_ == nullptr ? 0 : server_->connections();
}

void MatrixRoutes::tick() {
  if (relays_ != nullptr) relays_->look();
  if (intake_ != nullptr) intake_->look();
}

// A server that the engine does not know, or cannot tell about now, is not closed.
void MatrixRoutes::ask_closed(const std::string& server, const std::function<void(bool)>& then) {
  Query query;
  query.what = Query::What::kDestination;
  query.destination = matrix::destination_name(server);
  const Door door = desk_->host().post(
      kMatrixTenant, std::move(query), [weak = weak_from_this(), then](const Answer& answer) {
        if (weak.expired()) return;
        const auto* view = std::get_if<DestinationView>(&answer.view);
        then(view != nullptr && view->route.closed_until.is_set());
      });
  if (door != Door::kOpen) then(false);
}

void MatrixRoutes::post_seen(const std::string& server) {
  PeerSeen seen;
  seen.destination = matrix::destination_name(server);
  desk_->host().tell(std::move(seen));
}

void MatrixRoutes::fetch_keys(const std::string& server, KeyRing::Body then) {
  WireRequest request;
  request.verb = "GET";
  request.target = matrix::matrix_target(server, kKeyPath);
  request.headers.add("accept", "application/json");
  request.headers.add("user-agent", kUserAgent);
  request.time_out = kKeyTimeOut;
  request.trust = trust_;
  request.reply_bytes = matrix::kKeyObjectBytesMax + 1;
  ways_->ask(std::move(request), [then = std::move(then)](WireReply reply) {
    if (reply.end == WireEnd::kAnswered && reply.status == 200) return then(std::move(reply.body));
    then(fail(ErrorCode::kUnavailable, "the server gave no keys"));
  });
}

void MatrixRoutes::handle(std::size_t route, Call& call) {
  if (route == kSeenServer) take_seen(call);
  if (route == kInboundRequest) take_inbound(call);
  if (route == kFindEvent) inspection_->find_event(call);
  if (route == kListRooms) inspection_->list_rooms(call);
  if (route != kHostEvents && route != kHostUnits) return;
  if (config_.server_name.empty())
    return desk_->refuse(call.waiting,
                         api::complaint(ProblemType::kNotFound, "matrix.server_name is not set"));
  if (route == kHostEvents) events_->take(call);
  if (route == kHostUnits) units_->take(call);
}

bool MatrixRoutes::refuse_head(std::size_t route, Call& call) {
  if (route != kInboundRequest) return false;
  if (inbound_ == nullptr) {
    desk_->refuse(call.waiting,
                  api::complaint(ProblemType::kNotFound, "matrix.server_name is not set"), true);
    return true;
  }
  const std::string_view uri = call.request.header(kUriHeader);
  if (!call.request.header(kMethodHeader).empty() && uri.starts_with('/')) return false;
  desk_->refuse(call.waiting,
                api::complaint(ProblemType::kBadRequest,
                               "the proxy must send X-Original-Method and X-Original-URI"),
                true);
  return true;
}

void MatrixRoutes::take_seen(Call& call) {
  const auto server = matrix::parse_server_name(call.capture);
  if (!server)
    return desk_->refuse(call.waiting, api::complaint(ProblemType::kInvalidParameter,
                                                      server.error().detail, "server"));
  Query query;
  query.what = Query::What::kDestination;
  query.destination = matrix::destination_name(server->text);
  const Door door = desk_->host().post(
      call.tenant, std::move(query),
      [weak = weak_from_this(), waiting = call.waiting, name = server->text](const Answer& answer) {
        const auto self = weak.lock();
        if (!self) return;
        if (const auto problem = api::problem_of(answer))
          return self->desk_->refuse(waiting, *problem);
        self->post_seen(name);
        self->desk_->finish(waiting, no_content());
      });
  if (door != Door::kOpen) desk_->refuse(call.waiting, api::problem_of(door));
}

void MatrixRoutes::take_inbound(Call& call) {
  if (refuse_head(kInboundRequest, call)) return;
  const HttpRequest& request = call.request;
  if (!desk_->reserve(call.waiting, request.body.size())) return;
  inbound_->take({.method = std::string(request.header(kMethodHeader)),
                  .uri = std::string(request.header(kUriHeader)),
                  .authorization = std::string(request.header("authorization")),
                  .body = std::string(request.body)},
                 [weak = weak_from_this(), waiting = call.waiting](Verdict verdict) {
                   const auto self = weak.lock();
                   if (!self) return;
                   const std::string words = "the request is not verified: ";
                   const auto no = [&](ProblemType type) {
                     self->desk_->refuse(
                         waiting, api::complaint(type, words + std::string(name_of(verdict))));
                   };
                   switch (status_of(verdict)) {
                     case 400: return no(ProblemType::kBadRequest);
                     case 401: return no(ProblemType::kUnauthorized);
                     case 503: return no(ProblemType::kBusy);
                     default: return self->desk_->finish(waiting, no_content());
                   }
                 });
}

void MatrixRoutes::append_metrics(std::string& out) const {
  const auto counter = [&out](std::string_view name, std::string_view help, std::uint64_t value) {
    api::append_counter(out, "postrider_matrix_" + std::string(name) + "_total", help, value);
  };
  if (egress_ != nullptr) {
    const EgressCounts& egress = egress_->counts();
    counter("egress_unauthorized", "Requests at the egress without the right secret.",
            egress.unauthorized);
    counter("egress_refused", "Requests at the egress with a target or a server that is not taken.",
            egress.refused);
    const IntakeCounts& intake = intake_->counts();
    counter("egress_transactions", "Transactions that were handed over.", egress.transactions);
    counter("egress_taken", "Transactions that are durable.", intake.taken);
    counter("egress_items", "Events and values of units in them.", intake.items);
    counter("egress_faulty_items", "Items that cannot be sent.", intake.faulty_items);
    counter("egress_bad_transactions", "Transactions that were refused.", intake.refused);
    counter("egress_delayed", "Answers that waited because their server backs off.",
            intake.delayed);
    counter("egress_not_now", "Transactions that were to be handed over later.", intake.not_now);
    const RelayCounts& relays = relays_->counts();
    counter("relays_begun", "Requests that were to be relayed.", relays.begun);
    counter("relays_answered", "Relayed requests with a whole answer.", relays.answered);
    counter("relays_failed", "Relayed requests without an answer, told as 502.", relays.failed);
    counter("relays_refused", "Relays that our own limits did not allow, told as 502.",
            relays.refused);
    counter("relays_broken", "Relayed answers that were cut off.", relays.broken);
    counter("relays_abandoned", "Relays whose client had gone.", relays.abandoned);
  }
  if (inbound_ == nullptr) return;
  counter("key_fetches", "Key objects of other servers that were asked for.",
          keys_->counts().fetches);
  out +=
      "# HELP postrider_matrix_inbound_total Mirrored requests of other servers, by verdict.\n"
      "# TYPE postrider_matrix_inbound_total counter\n";
  for (std::size_t i = 0; i < kVerdicts; ++i) {
    const auto verdict = static_cast<Verdict>(i);
    out += "postrider_matrix_inbound_total{verdict=\"" + std::string(name_of(verdict)) + "\"} " +
           std::to_string(inbound_->count(verdict)) + "\n";
  }
}

}  // namespace postrider::matrix_door
