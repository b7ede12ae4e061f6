// GET /v1/mailboxes/{name}/messages and POST /v1/mailboxes/{name}/confirm.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "postrider/api/awaits.h"
#include "postrider/api/json_fields.h"
#include "postrider/api/render.h"
#include "postrider/doors/mailbox/cli.h"
#include "postrider/doors/mailbox/door.h"
#include "postrider/json/json_writer.h"
#include "postrider/model/attributes.h"

namespace postrider {
namespace mailbox_door {
namespace {

using api::Call;
using api::ProblemType;
using json::JsonWriter;

constexpr std::uint32_t kLimitMax = 100;
constexpr std::size_t kConfirmMax = 256;
constexpr std::size_t kPageBytes = std::size_t{2} << 20;  // a page with all that JSON adds

// clang-format off
constexpr auto kRoutes = std::to_array<api::RouteRow>({
    {"GET",  "/v1/mailboxes/{name}/messages", api::kRead,    api::Takes::kNothing, false, "application/json", "cursor limit wait"},
    {"POST", "/v1/mailboxes/{name}/confirm",  api::kReceive, api::Takes::kJson,    true,  "application/json", ""},
});
// clang-format on
enum Route : std::size_t { kReadMessages, kConfirmMessages };

constexpr std::string_view kPaths = R"json("/v1/mailboxes/{name}/messages": {
  "parameters": [{"name": "name", "in": "path", "required": true, "description": "A destination of profile mailbox", "schema": {"type": "string"}}],
  "get": {
    "operationId": "readMailbox", "tags": ["mailboxes"], "summary": "What waits in a mailbox, oldest first, with contents",
    "description": "Reading changes nothing: what is not confirmed is there again. Pass `cursor` on to read behind what was read; leave it out to begin with the oldest again. With `wait` an empty answer comes only after that many seconds.",
    "parameters": [
      {"name": "cursor", "in": "query", "description": "`cursor` of the last answer", "schema": {"type": "string"}},
      {"name": "limit", "in": "query", "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 100}},
      {"name": "wait", "in": "query", "description": "Seconds", "schema": {"type": "integer", "minimum": 0, "maximum": 600, "default": 0}}],
    "responses": {
      "200": {"description": "A page", "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["messages", "more"], "properties": {
        "messages": {"type": "array", "items": {"$ref": "#/components/schemas/MailboxMessage"}},
        "cursor": {"type": "string", "description": "Absent: nothing was read"},
        "more": {"type": "boolean", "description": "More is there already"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}},
"/v1/mailboxes/{name}/confirm": {
  "parameters": [{"name": "name", "in": "path", "required": true, "description": "A destination of profile mailbox", "schema": {"type": "string"}}],
  "post": {
    "operationId": "confirmMessages", "tags": ["mailboxes"], "summary": "The reader has these messages: they are delivered",
    "description": "Answered when that is durable. To confirm again is harmless.",
    "parameters": [{"$ref": "#/components/parameters/IdempotencyKey"}],
    "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["ids"], "properties": {
      "ids": {"type": "array", "maxItems": 256, "items": {"$ref": "#/components/schemas/Id"}}}}}}},
    "responses": {
      "200": {"description": "Durable", "content": {"application/json": {"schema": {"type": "object", "additionalProperties": false, "required": ["confirmed", "gone"], "properties": {
        "confirmed": {"$ref": "#/components/schemas/Count"},
        "gone": {"type": "integer", "minimum": 0, "description": "Had ended before, or was never in this mailbox"}}}}}},
      "default": {"$ref": "#/components/responses/Problem"}}}}
)json";
constexpr std::string_view kSchemas =
    R"json("MailboxMessage": {"type": "object", "additionalProperties": false, "required": ["id", "accepted_at"], "properties": {
  "id": {"$ref": "#/components/schemas/Id"}, "accepted_at": {"$ref": "#/components/schemas/Time"}, "expires_at": {"$ref": "#/components/schemas/Time"},
  "origin": {"$ref": "#/components/schemas/Id"},
  "attributes": {"type": "object", "additionalProperties": {"type": "string"}},
  "body": {"type": "string"}, "body_base64": {"type": "string", "description": "When it is not UTF-8"}}}
)json";

void write_item(JsonWriter& json, const IdCodec& ids, const MailboxPage::Item& item) {
  json.open_object().field("id", ids.text(item.id));
  api::time_field(json, "accepted_at", item.accepted);
  api::time_field(json, "expires_at", item.expires);
  if (item.origin.is_set()) json.field("origin", ids.text(item.origin));
  if (const auto texts = decode_texts(item.attributes); texts && !texts->empty()) {
    json.name("attributes").open_object();
    for (const auto& [name, value] : *texts) json.text_name(name).text(value);
    json.close_object();
  }
  api::write_body(json, item.body);
  json.close_object();
}

class MailboxRoutes final : public doors::OpenDoor,
                            public std::enable_shared_from_this<MailboxRoutes> {
 public:
  std::span<const api::RouteRow> routes() const override { return kRoutes; }
  api::OpenapiPart openapi() const override { return {.paths = kPaths, .schemas = kSchemas}; }
  void open(api::Desk& desk) override { desk_ = &desk; }
  void handle(std::size_t route, Call& call) override {
    if (!may_use(call)) return;
    if (route == kReadMessages) read(call);
    if (route == kConfirmMessages) confirm(call);
  }

 private:
  struct Reading {
    api::Waiting waiting;
    std::string tenant;
    Query query;
    Duration wait{0};
  };

  bool may_use(const Call& call) const;
  void read(Call& call);
  void ask(const std::shared_ptr<Reading>& reading);
  void take(const std::shared_ptr<Reading>& reading, const Answer& answer);
  void confirm(Call& call);
  api::Checked<std::vector<MessageId>> ids_of(const Call& call) const;

  api::Desk* desk_ = nullptr;
};

// A token may be bound to some mailboxes.
bool MailboxRoutes::may_use(const Call& call) const {
  if (call.mailboxes.empty() ||
      std::find(call.mailboxes.begin(), call.mailboxes.end(), call.capture) != call.mailboxes.end())
    return true;
  desk_->refuse(call.waiting,
                api::complaint(ProblemType::kForbidden, "this token is bound to other mailboxes"));
  return false;
}

void MailboxRoutes::read(Call& call) {
  const auto wait = call.query.number("wait", 0, 0, api::kWaitSecondsMax);
  if (!wait) return desk_->refuse(call.waiting, wait.error());
  const auto limit = call.query.number("limit", kLimitMax, 1, kLimitMax);
  if (!limit) return desk_->refuse(call.waiting, limit.error());
  auto reading = std::make_shared<Reading>();
  reading->waiting = call.waiting;
  reading->tenant = call.tenant;
  reading->wait = Duration(1000 * std::int64_t{*wait});
  reading->query.what = Query::What::kReadMailbox;
  reading->query.destination = call.capture;
  reading->query.limit = *limit;
  if (const std::string* cursor = call.query.find("cursor")) {
    const auto id = desk_->host().ids().parse(*cursor);
    if (!id)
      return desk_->refuse(call.waiting,
                           api::complaint(ProblemType::kInvalidParameter,
                                          "this is no cursor of a mailbox", "cursor"));
    reading->query.id = *id;
  }
  ask(reading);
}

void MailboxRoutes::ask(const std::shared_ptr<Reading>& reading) {
  if (!desk_->reserve(reading->waiting, kPageBytes)) return;
  const Door door = desk_->host().post(reading->tenant, reading->query,
                                       [weak = weak_from_this(), reading](const Answer& answer) {
                                         if (const auto self = weak.lock())
                                           self->take(reading, answer);
                                       });
  if (door != Door::kOpen) desk_->refuse(reading->waiting, api::problem_of(door));
}

void MailboxRoutes::take(const std::shared_ptr<Reading>& reading, const Answer& answer) {
  if (const auto problem = api::problem_of(answer))
    return desk_->refuse(reading->waiting, *problem);
  const auto& page = std::get<MailboxPage>(answer.view);
  if (page.items.empty() && !page.more && reading->wait > Duration(0)) {
    reading->waiting.exchange->keep(0);  // whoever only waits holds nothing
    Await event;
    event.destination = reading->query.destination;
    event.after = reading->query.id;
    event.at_most = std::exchange(reading->wait, Duration(0));
    return desk_->await(reading->waiting, reading->tenant, std::move(event),
                        [weak = weak_from_this(), reading](const Answer& told) {
                          const auto self = weak.lock();
                          if (!self) return;
                          if (told.code != AnswerCode::kBusy) return self->ask(reading);
                          self->desk_->refuse(reading->waiting,
                                              api::complaint(ProblemType::kTooManyWaiters,
                                                             "ask without wait, or later"));
                        });
  }
  HttpResponse response;
  JsonWriter json(response.body);
  const IdCodec& ids = desk_->host().ids();
  json.open_object().name("messages").open_array();
  for (const MailboxPage::Item& item : page.items) write_item(json, ids, item);
  json.close_array();
  if (!page.items.empty()) json.field("cursor", ids.text(page.items.back().id));
  json.flag("more", page.more).close_object();
  desk_->finish(reading->waiting, std::move(response));
}

api::Checked<std::vector<MessageId>> MailboxRoutes::ids_of(const Call& call) const {
  const auto root = desk_->root_of(call);
  if (!root) return tl::unexpected<api::Problem>(root.error());
  constexpr std::array<std::string_view, 1> kNames = {"ids"};
  std::array<api::MaybeValue, 1> found;
  if (auto problem = api::read_members(*root, kNames, found))
    return tl::unexpected<api::Problem>(std::move(*problem));
  if (!found[0]) return api::refuse(ProblemType::kMissingField, "ids is missing", "ids");
  if (found[0]->kind() != json::JsonKind::kArray || found[0]->size() > kConfirmMax)
    return api::refuse(ProblemType::kInvalidField,
                       "ids is a list of at most " + std::to_string(kConfirmMax) + " ids", "ids");
  std::vector<MessageId> ids;
  json::JsonValue value = found[0]->first();
  for (std::size_t left = found[0]->size(); left > 0; --left) {
    const auto text = api::read_text(value, "ids");
    if (!text) return tl::unexpected<api::Problem>(text.error());
    const auto id = desk_->host().ids().parse(*text);
    if (!id)
      return api::refuse(ProblemType::kInvalidField, "a message's id has 32 hexadecimal digits",
                         "ids");
    ids.push_back(*id);
    if (left > 1) value = value.next();
  }
  return ids;
}

void MailboxRoutes::confirm(Call& call) {
  auto ids = ids_of(call);
  if (!ids) return desk_->refuse(call.waiting, ids.error());
  Confirm event;
  event.caller = call.caller();
  event.destination = call.capture;
  event.ids = std::move(*ids);
  const Door door =
      desk_->host().post(call.tenant, std::move(event),
                         [weak = weak_from_this(), waiting = call.waiting](const Answer& answer) {
                           const auto self = weak.lock();
                           if (!self) return;
                           if (const auto problem = api::problem_of(answer))
                             return self->desk_->refuse(waiting, *problem);
                           const auto& done = std::get<Confirmed>(answer.view);
                           HttpResponse response;
                           JsonWriter json(response.body);
                           json.open_object()
                               .count("confirmed", done.confirmed)
                               .count("gone", done.gone)
                               .close_object();
                           self->desk_->finish(waiting, std::move(response));
                         });
  if (door != Door::kOpen) desk_->refuse(call.waiting, api::problem_of(door));
}

std::shared_ptr<doors::OpenDoor> open_routes(const Config& /*config*/, doors::DoorTools /*tools*/) {
  return std::make_shared<MailboxRoutes>();
}

constexpr auto kNouns =
    std::to_array<Noun>({{"box", run_box, "mailboxes: put, ls, read, confirm"}});

}  // namespace
}  // namespace mailbox_door

namespace doors {

const ProfileDoor kMailboxDoor{
    .profile = "mailbox", .open = mailbox_door::open_routes, .nouns = mailbox_door::kNouns};

}  // namespace doors
}  // namespace postrider
