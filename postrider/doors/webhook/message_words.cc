#include "postrider/doors/webhook/message_words.h"

#include <array>
#include <string>

#include "postrider/api/json_fields.h"
#include "postrider/api/render.h"
#include "postrider/profiles/webhook/rules.h"
#include "postrider/protocols/web/http_text.h"
#include "postrider/protocols/web/trace_context.h"

namespace postrider::doors {
namespace {

using api::JsonValue;
using api::JsonWriter;
using api::Problem;
using api::ProblemType;

constexpr std::string_view kContentType = "content-type";
constexpr std::string_view kTraceparent = "traceparent";
constexpr std::string_view kTracestate = "tracestate";
constexpr std::string_view kOrderKey = "order-key";
constexpr std::string_view kEventId = "event-id";
constexpr std::string_view kHeader = "header.";

std::optional<Problem> read_content_type(const JsonValue& value, std::string_view name,
                                         NamedTexts& attributes) {
  auto text = api::read_text(value, name);
  if (!text) return text.error();
  attributes.emplace_back(kContentType, std::move(*text));
  return std::nullopt;
}

std::optional<Problem> read_traceparent(const JsonValue& value, std::string_view name,
                                        NamedTexts& attributes) {
  auto text = api::read_text(value, name);
  if (!text) return text.error();
  if (!is_traceparent(*text)) {
    return api::complaint(ProblemType::kInvalidField,
                          "traceparent is 00-TRACE-SPAN-FLAGS in lower-case hexadecimal digits",
                          std::string(name));
  }
  attributes.emplace_back(kTraceparent, std::move(*text));
  return std::nullopt;
}

std::optional<Problem> read_tracestate(const JsonValue& value, std::string_view name,
                                       NamedTexts& attributes) {
  auto text = api::read_text(value, name);
  if (!text) return text.error();
  if (!is_tracestate(*text)) {
    return api::complaint(ProblemType::kInvalidField,
                          "tracestate is printable and has at most 512 bytes", std::string(name));
  }
  attributes.emplace_back(kTracestate, std::move(*text));
  return std::nullopt;
}

// Here and not only in the profile, so that the field is named as it was written.
std::optional<Problem> read_key(const JsonValue& value, std::string_view name,
                                std::string_view attribute, NamedTexts& attributes) {
  auto text = api::read_text(value, name);
  if (!text) return text.error();
  if (text->empty() || text->size() > webhook::kKeyBytesMax || !is_header_value(*text)) {
    return api::complaint(ProblemType::kInvalidField,
                          std::string(name) + " has 1 to " + std::to_string(webhook::kKeyBytesMax) +
                              " printable ASCII characters, and no blank at its ends",
                          std::string(name));
  }
  attributes.emplace_back(attribute, std::move(*text));
  return std::nullopt;
}

std::optional<Problem> read_order_key(const JsonValue& value, std::string_view name,
                                      NamedTexts& attributes) {
  return read_key(value, name, kOrderKey, attributes);
}

std::optional<Problem> read_event_id(const JsonValue& value, std::string_view name,
                                     NamedTexts& attributes) {
  return read_key(value, name, kEventId, attributes);
}

std::optional<Problem> read_headers(const JsonValue& value, std::string_view field,
                                    NamedTexts& attributes) {
  if (value.kind() != api::JsonKind::kObject) {
    return api::complaint(ProblemType::kInvalidField, "headers is an object of texts",
                          std::string(field));
  }
  std::optional<Problem> problem;
  const std::size_t first = attributes.size();
  value.for_members([&](const JsonValue& name, const JsonValue& text) {
    std::string attribute = std::string(kHeader) + to_lower(name.text());
    if (!text.is_string()) {
      problem = api::complaint(ProblemType::kInvalidField, "the value of a header is a text",
                               "headers." + name.text());
      return false;
    }
    for (std::size_t i = first; i < attributes.size(); ++i) {
      if (attributes[i].first != attribute) continue;
      problem = api::complaint(ProblemType::kDuplicateField,
                               "headers are equal whatever their case", "headers." + name.text());
      return false;
    }
    attributes.emplace_back(std::move(attribute), text.text());
    return true;
  });
  return problem;
}

// The order is part of what an operation key is bound to.
constexpr auto kFields = std::to_array<api::MessageField>({{"content_type", read_content_type},
                                                           {"traceparent", read_traceparent},
                                                           {"tracestate", read_tracestate},
                                                           {"order_key", read_order_key},
                                                           {"event_id", read_event_id},
                                                           {"headers", read_headers}});
constexpr auto kHead = std::to_array<std::string_view>({kTraceparent, kTracestate});

// A message with a trace of its own keeps it. A header that is no trace is ignored: a proxy that
// writes nonsense is no reason to refuse a message.
void add_head(const NamedTexts& head, NamedTexts& attributes) {
  const std::string* const parent = find_text(head, kTraceparent);
  if (parent == nullptr || !is_traceparent(*parent)) return;
  if (find_text(attributes, kTraceparent) != nullptr) return;
  attributes.emplace_back(kTraceparent, *parent);
  const std::string* const state = find_text(head, kTracestate);
  if (state == nullptr || !is_tracestate(*state)) return;
  if (find_text(attributes, kTracestate) == nullptr) attributes.emplace_back(kTracestate, *state);
}

void show(JsonWriter& json, const NamedTexts& attributes) {
  for (const auto& [name, value] : attributes) {
    if (name == kContentType) json.field("content_type", value);
    if (name == kOrderKey) json.field("order_key", value);
    if (name == kEventId) json.field("event_id", value);
    if (name == kTraceparent || name == kTracestate) json.field(name, value);
  }
  json.name("headers").open_object();
  for (const auto& [name, value] : attributes) {
    if (!name.starts_with(kHeader)) continue;
    const std::string_view header = std::string_view(name).substr(kHeader.size());
    json.text_name(header).text(api::is_secret_name(header) ? api::kHidden
                                                            : std::string_view(value));
  }
  json.close_object();
}

void show_explained(JsonWriter& json, const NamedTexts& attributes) {
  if (const std::string* key = find_text(attributes, kOrderKey)) json.field("order_key", *key);
}

void add_json(NamedTexts& attributes) { attributes.emplace_back(kContentType, "application/json"); }

constexpr std::string_view kParameters =
    R"json(  "Traceparent": {"name": "traceparent", "in": "header", "description": "W3C Trace Context; sent with the message", "schema": {"type": "string"}},
  "Tracestate": {"name": "tracestate", "in": "header", "schema": {"type": "string"}}
)json";

constexpr std::string_view kSchemas =
    R"json(  "OrderKey": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]([ -~]*[!-~])?$", "description": "Messages of one lane and key go one after the other; they have no priority"},
  "EventId": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[!-~]([ -~]*[!-~])?$", "description": "What the destination's id_header carries instead of the message's id"}
)json";

constexpr std::string_view kMessageFields =
    R"json("content_type": {"type": "string"},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}},
    "traceparent": {"type": "string"}, "tracestate": {"type": "string"},
    "order_key": {"$ref": "#/components/schemas/OrderKey"}, "event_id": {"$ref": "#/components/schemas/EventId"})json";

constexpr std::string_view kMessageView =
    R"json("content_type": {"type": "string"}, "traceparent": {"type": "string"}, "tracestate": {"type": "string"},
    "order_key": {"type": "string"}, "event_id": {"type": "string"},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Those that hold secrets are ***"})json";

constexpr std::string_view kExplained =
    R"json("order_key": {"type": "string", "description": "Not in lists"})json";

constexpr std::string_view kMessageParameters =
    R"json({"$ref": "#/components/parameters/Traceparent"}, {"$ref": "#/components/parameters/Tracestate"})json";

}  // namespace

const api::MessageWords kWebhookWords{.fields = kFields,
                                      .head = kHead,
                                      .add_head = add_head,
                                      .show = show,
                                      .show_explained = show_explained,
                                      .add_json = add_json};

api::OpenapiPart webhook_openapi() {
  return {
      .paths = {},
      .parameters = kParameters,
      .responses = {},
      .schemas = kSchemas,
      .message_fields = kMessageFields,
      .message_view = kMessageView,
      .message_explained = kExplained,
      .message_parameters = kMessageParameters,
      .message_short = "content_type, headers, traceparent, tracestate, order_key and event_id"};
}

}  // namespace postrider::doors
