#include "tests/example_profile/door.h"

#include <array>
#include <memory>
#include <utility>

#include "postrider/api/json_fields.h"
#include "postrider/cli/options.h"
#include "postrider/cli/session.h"
#include "postrider/json/json_writer.h"
#include "tests/example_profile/wire_format.h"

namespace postrider {
namespace pager {
namespace {

using api::Call;

// [pager], kept in Config::parts.
struct PagerConfig {
  std::string destination = "pager";
};

auto& destination_of(Config& config) { return config.parts.of<PagerConfig>().destination; }

constexpr auto kSections =
    std::to_array<ConfigSection>({{"pager", "the route of the pager profile"}});
constexpr auto kConfigRows =
    std::to_array<ConfigRow>({{"pager",
                               "destination",
                               ConfigKind::kText,
                               &destination_of,
                               {1, 200},
                               "the destination that POST /pages sends to"}});

constexpr auto kRoutes = std::to_array<api::RouteRow>(
    {{"POST", "/pages", api::kSubmit, api::Takes::kJson, true, "application/json", ""}});

constexpr std::string_view kPaths = R"json("/pages": {
  "post": {
    "operationId": "sendPage", "tags": ["pager"], "summary": "Send a text to a pager",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["number", "text"], "properties": {
      "number": {"type": "string"}, "text": {"type": "string"}}}}}},
    "responses": {
      "202": {"description": "Durable", "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["id"], "properties": {"id": {"$ref": "#/components/schemas/Id"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}}
)json";

class PagerRoutes final : public doors::OpenDoor, public std::enable_shared_from_this<PagerRoutes> {
 public:
  explicit PagerRoutes(PagerConfig config) : config_(std::move(config)) {}

  std::span<const api::RouteRow> routes() const override { return kRoutes; }
  api::OpenapiPart openapi() const override { return {.paths = kPaths}; }
  void open(api::Desk& desk) override { desk_ = &desk; }
  void reload(const Config& config) override { config_ = config.parts.of<PagerConfig>(); }
  void handle(std::size_t /*route*/, Call& call) override;

 private:
  api::Checked<Page> page_of(const Call& call);

  PagerConfig config_;
  api::Desk* desk_ = nullptr;
};

api::Checked<Page> PagerRoutes::page_of(const Call& call) {
  const auto root = desk_->root_of(call);
  if (!root) return tl::unexpected<api::Problem>(root.error());
  constexpr std::array<std::string_view, 2> kNames = {"number", "text"};
  std::array<api::MaybeValue, 2> found;
  if (auto problem = api::read_members(*root, kNames, found))
    return tl::unexpected<api::Problem>(std::move(*problem));
  std::array<std::string, 2> texts;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (!found[i])
      return api::refuse(api::ProblemType::kMissingField, std::string(kNames[i]) + " is missing",
                         std::string(kNames[i]));
    auto text = api::read_text(*found[i], kNames[i]);
    if (!text) return tl::unexpected<api::Problem>(text.error());
    texts[i] = std::move(*text);
  }
  return Page{.number = std::move(texts[0]), .text = std::move(texts[1])};
}

void PagerRoutes::handle(std::size_t /*route*/, Call& call) {
  const auto page = page_of(call);
  if (!page) return desk_->refuse(call.waiting, page.error());
  Submit submit;
  submit.caller = call.caller();
  submit.destination = config_.destination;
  submit.body = encode_page(*page);
  submit.caller.said = submit.body;  // what an Idempotency-Key stands for
  const Timestamp began = call.waiting.began;
  const Door door = desk_->host().post(
      call.tenant, std::move(submit),
      [weak = weak_from_this(), waiting = call.waiting, began](const Answer& answer) {
        const std::shared_ptr<PagerRoutes> self = weak.lock();
        if (!self) return;
        if (const auto problem = api::problem_of(answer))
          return self->desk_->refuse(waiting, *problem);
        self->desk_->took(self->desk_->clock().read().boot - began);
        HttpResponse response;
        response.status = 202;
        const std::string id = to_string(self->desk_->host().ids().outside(answer.id));
        json::JsonWriter(response.body).open_object().field("id", id).close_object();
        self->desk_->finish(waiting, std::move(response));
      });
  if (door != Door::kOpen) desk_->refuse(call.waiting, api::problem_of(door));
}

std::shared_ptr<doors::OpenDoor> open_routes(const Config& config, doors::DoorTools /*tools*/) {
  return std::make_shared<PagerRoutes>(config.parts.of<PagerConfig>());
}

int page(const Parsed& parsed) {
  int code = kExitOk;
  const std::optional<Session> session = Session::open(parsed, code);
  if (!session) return code;
  ClientRequest request;
  request.method = "POST";
  request.path = "/pages";
  json::JsonWriter(request.body)
      .open_object()
      .field("number", parsed.operands[0])
      .field("text", parsed.operands[1])
      .close_object();
  const std::optional<Json> answer = session->ask(request);
  if (!answer) return kExitFailure;
  if (!session->json()) print(shown(answer->at("id")) + "\n");
  return kExitOk;
}

constexpr Command kPage{.name = "page",
                        .operands = {"NUMBER TEXT", 2, 2},
                        .summary = "Sends a text to a pager and prints its id.",
                        .options = {},
                        .asks_daemon = true,
                        .run = page};

int run_page(Arguments arguments) { return run_command("", kPage, arguments); }

constexpr auto kNouns = std::to_array<Noun>({{"page", run_page, "send a text to a pager"}});

}  // namespace

constexpr ConfigPart kConfigPart{.sections = kSections, .rows = kConfigRows};

}  // namespace pager

namespace doors {

const ProfileDoor kPagerDoor{.profile = "pager",
                             .config = &pager::kConfigPart,
                             .open = pager::open_routes,
                             .nouns = pager::kNouns};

}  // namespace doors
}  // namespace postrider
