// POST /v1/services/{service}/{method} and GET /v1/operations/{key}/outcome.
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "postrider/api/awaits.h"
#include "postrider/api/texts.h"
#include "postrider/doors/rpc/answers.h"
#include "postrider/doors/rpc/cli.h"
#include "postrider/doors/rpc/door.h"
#include "postrider/doors/rpc/interest.h"
#include "postrider/doors/rpc/openapi.h"
#include "postrider/model/attributes.h"
#include "postrider/profiles/rpc/call_attributes.h"
#include "postrider/profiles/rpc/settings.h"

namespace postrider {
namespace rpc_door {
namespace {

using api::Call;
using api::ProblemType;

constexpr Duration kKnownFor{5'000};  // a service, before its settings are looked at again
constexpr std::size_t kKnownMax = 1024;

// clang-format off
constexpr auto kRoutes = std::to_array<api::RouteRow>({
    {"POST", "/v1/services/{service}/{method}", api::kSubmit,              api::Takes::kAnything, true,  "*/*", ""},
    {"GET",  "/v1/operations/{key}/outcome",    api::kSubmit | api::kRead, api::Takes::kAnything, false, "*/*", "wait"},
});
// clang-format on
enum Route : std::size_t { kCallService, kGetOutcome };

// A service as the door knows it. What a method is, its profile decides at admission; this is for
// what must be known before.
struct KnownService {
  rpc::Declarations methods;
  Duration grace{0};
  Timestamp until;  // boot time
};

// A call on its way.
struct Operation {
  api::Waiting waiting;
  std::string tenant;
  std::string actor;
  OperationKey key;
  std::string service;
  std::string method;
  std::string content_type;
  std::string body;
  Duration wait{0};
  bool acts = true;  // else it only asks
  MessageId id = {};
  bool repeated = false;  // the key was known
};
using OperationPtr = std::shared_ptr<Operation>;

class RpcRoutes final : public doors::OpenDoor, public std::enable_shared_from_this<RpcRoutes> {
 public:
  std::span<const api::RouteRow> routes() const override { return kRoutes; }
  api::OpenapiPart openapi() const override {
    return {.paths = kPaths, .parameters = {}, .responses = kResponses, .schemas = {}};
  }
  void open(api::Desk& desk) override { desk_ = &desk; }
  void handle(std::size_t route, Call& call) override {
    if (route == kCallService) begin_call(call);
    if (route == kGetOutcome) begin_question(call);
  }
  void tick() override;

 private:
  Timestamp now() const { return desk_->clock().read().boot; }
  template <class Take>
  void post(const OperationPtr& operation, Event event, Take take);
  void begin_call(Call& call);
  void begin_question(Call& call);
  const KnownService* known(const std::string& name) const;
  void look_at_service(const OperationPtr& operation);
  void learn(const OperationPtr& operation, const Answer& answer);
  void submit(const OperationPtr& operation);
  void take_admission(const OperationPtr& operation, const Answer& answer);
  void await(const OperationPtr& operation);
  void take_end(const OperationPtr& operation, const Answer& answer);
  void refuse(const OperationPtr& operation, ProblemType type, std::string detail);

  api::Desk* desk_ = nullptr;
  std::map<std::string, KnownService, std::less<>> services_;
  Interest interest_;
};

template <class Take>
void RpcRoutes::post(const OperationPtr& operation, Event event, Take take) {
  const Door door =
      desk_->host().post(operation->tenant, std::move(event),
                         [weak = weak_from_this(), operation, take](const Answer& answer) {
                           if (const auto self = weak.lock()) ((*self).*take)(operation, answer);
                         });
  if (door != Door::kOpen) desk_->refuse(operation->waiting, api::problem_of(door));
}

void RpcRoutes::refuse(const OperationPtr& operation, ProblemType type, std::string detail) {
  desk_->refuse(operation->waiting, api::complaint(type, std::move(detail)));
}

void RpcRoutes::begin_call(Call& call) {
  const auto wait = wait_of(call.request);
  if (!wait) return desk_->refuse(call.waiting, wait.error());
  auto operation = std::make_shared<Operation>();
  operation->waiting = call.waiting;
  operation->tenant = call.tenant;
  operation->actor = call.actor;
  operation->key = std::move(call.key);
  operation->service = call.capture;
  operation->method = call.second;
  operation->content_type = call.request.header("content-type");
  operation->body = call.request.body;
  operation->wait = *wait;
  const KnownService* const service = known(operation->service);
  if (service != nullptr && service->methods.contains(operation->method)) return submit(operation);
  look_at_service(operation);
}

void RpcRoutes::begin_question(Call& call) {
  const auto wait = call.query.number("wait", 0, 0, api::kWaitSecondsMax);
  if (!wait) return desk_->refuse(call.waiting, wait.error());
  auto key = api::parse_operation_key(call.capture, call.tenant);
  if (!key)
    return desk_->refuse(call.waiting,
                         api::complaint(ProblemType::kInvalidKey, key.error().detail, "key"));
  auto operation = std::make_shared<Operation>();
  operation->waiting = call.waiting;
  operation->tenant = call.tenant;
  operation->key = std::move(*key);
  operation->wait = Duration(1000 * std::int64_t{*wait});
  operation->acts = false;
  Query query;
  query.what = Query::What::kOperation;
  query.key = operation->key;
  post(operation, std::move(query), &RpcRoutes::take_admission);
}

const KnownService* RpcRoutes::known(const std::string& name) const {
  const auto found = services_.find(name);
  return found == services_.end() || found->second.until < now() ? nullptr : &found->second;
}

void RpcRoutes::look_at_service(const OperationPtr& operation) {
  Query query;
  query.what = Query::What::kDestination;
  query.destination = operation->service;
  post(operation, std::move(query), &RpcRoutes::learn);
}

void RpcRoutes::learn(const OperationPtr& operation, const Answer& answer) {
  const auto* const view = std::get_if<DestinationView>(&answer.view);
  const bool missing = answer.code == AnswerCode::kNotFound;
  if (const auto problem = api::problem_of(answer); problem && !missing)
    return desk_->refuse(operation->waiting, *problem);
  auto service = view != nullptr && view->config.profile == "rpc"
                     ? rpc::parse_service(view->config.settings)
                     : Result<rpc::Service>(fail(ErrorCode::kNotFound, {}));
  services_.erase(operation->service);
  if (!service)
    return refuse(operation, ProblemType::kNotFound,
                  "there is no service '" + operation->service + "'");
  if (services_.size() >= kKnownMax) services_.clear();
  const auto& known = services_[operation->service] = {std::move(service->methods), service->grace,
                                                       now() + kKnownFor};
  if (!known.methods.contains(operation->method))
    return refuse(operation, ProblemType::kUnknownMethod,
                  "service '" + operation->service + "' has no method '" + operation->method + "'");
  submit(operation);
}

void RpcRoutes::submit(const OperationPtr& operation) {
  const rpc::MethodPolicy policy = services_.at(operation->service).methods.at(operation->method);
  if (operation->key.kind == OperationKey::Kind::kNone) {
    if (policy.persist)
      return refuse(operation, ProblemType::kInvalidKey,
                    "a persist method needs an Idempotency-Key: make one for each intention, and "
                    "repeat it with each repeat");
    operation->key =
        api::make_operation_key(mint_key(desk_->clock().read().wall), operation->tenant);
  }
  if (!policy.persist && interest_.is_full())
    return refuse(operation, ProblemType::kBusy, "too many volatile operations live already");
  Submit event;
  event.caller.key = operation->key;
  event.caller.actor = operation->actor;
  event.destination = operation->service;
  NamedTexts attributes = {{std::string(rpc::kMethodAttribute), operation->method},
                           {std::string(rpc::kOperationAttribute), operation->key.key},
                           {std::string(rpc::kPrincipalAttribute), operation->tenant}};
  if (!operation->content_type.empty())
    attributes.emplace_back(rpc::kContentTypeAttribute, operation->content_type);
  event.attributes = encode_texts(attributes);
  event.body = std::move(operation->body);
  post(operation, std::move(event), &RpcRoutes::take_admission);
}

void RpcRoutes::take_admission(const OperationPtr& operation, const Answer& answer) {
  if (auto problem = api::problem_of(answer)) {
    if (answer.code == AnswerCode::kNotFound && operation->acts) {
      services_.erase(operation->service);
      problem->type = ProblemType::kUnknownMethod;
    }
    HttpResponse response = api::problem_response(*problem);
    response.headers.emplace_back("operation-id", operation->key.key);
    return desk_->finish(operation->waiting, std::move(response));
  }
  if (!answer.id.is_set())
    return refuse(operation, ProblemType::kNotFound, "the key is not of a call");
  if (operation->acts) desk_->took(now() - operation->waiting.began);
  operation->id = answer.id;
  operation->repeated = answer.replayed;
  const auto service = services_.find(operation->service);
  if (operation->acts && service != services_.end()) {
    const auto method = service->second.methods.find(operation->method);
    if (method != service->second.methods.end() && !method->second.persist)
      interest_.add(operation->id, operation->tenant, service->second.grace, now(),
                    operation->waiting.exchange);
  }
  interest_.see(operation->id, now());
  await(operation);
}

void RpcRoutes::await(const OperationPtr& operation) {
  Await event;
  event.id = operation->id;
  event.at_most = operation->wait;
  desk_->await(operation->waiting, operation->tenant, std::move(event),
               [weak = weak_from_this(), operation](const Answer& answer) {
                 if (const auto self = weak.lock()) self->take_end(operation, answer);
               });
}

void RpcRoutes::take_end(const OperationPtr& operation, const Answer& answer) {
  // Where too many wait, the answer comes at once: what was admitted is not refused afterwards.
  const bool lives = answer.code == AnswerCode::kPending || answer.code == AnswerCode::kBusy;
  Told told{.operation = operation->key.key, .origin = Origin::kFirst};
  const bool replayed = !operation->acts || (operation->repeated && answer.replayed);
  if (replayed) told.origin = Origin::kReplayed;
  if (!replayed && operation->repeated) told.origin = Origin::kAttached;
  HttpResponse response;
  if (lives) {
    interest_.leave(operation->id, operation->waiting.exchange, now());
    response = pending_response(told.operation, desk_->host().ids().text(operation->id));
    if (!operation->acts) told.origin = Origin::kAttached;
  } else {
    interest_.end(operation->id);
    response = end_response(answer, operation->acts && replayed);
  }
  add_operation(response, told);
  if (!desk_->reserve(operation->waiting, response.body.size())) return;
  desk_->finish(operation->waiting, std::move(response));
}

void RpcRoutes::tick() {
  interest_.tick(now(), [this](MessageId id, std::string_view tenant) {
    Cancel cancel;
    cancel.caller.actor = "the callers have gone";
    cancel.id = id;
    static_cast<void>(desk_->host().post(tenant, std::move(cancel), [](const Answer&) {}));
  });
}

std::shared_ptr<doors::OpenDoor> open_routes(const Config& /*config*/, doors::DoorTools /*tools*/) {
  return std::make_shared<RpcRoutes>();
}

constexpr auto kNouns = std::to_array<Noun>({
    {"call", run_call, "call a method of a service"},
    {"op", run_op, "operations of services: ls, show, wait, cancel"},
});

}  // namespace
}  // namespace rpc_door

namespace doors {

const ProfileDoor kRpcDoor{
    .profile = "rpc", .open = rpc_door::open_routes, .nouns = rpc_door::kNouns};

}  // namespace doors
}  // namespace postrider
