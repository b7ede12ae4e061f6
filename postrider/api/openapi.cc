#include "postrider/api/openapi.h"

#include <array>
#include <string>
#include <vector>

#include "postrider/api/json_names.h"

namespace postrider::api {
namespace {

constexpr std::string_view kAbout =
    "Hand over messages, and ask where each one is, why, and what happens next. Problems follow "
    "RFC 9457. Every call that changes something takes an Idempotency-Key: the same key with the "
    "same content has the same answer (Idempotency-Replayed: true), with other content it is a "
    "conflict (422).";

constexpr std::string_view kSecuritySchemes = R"({"token":{"type":"http","scheme":"bearer"}})";
constexpr std::string_view kHeaders =
    R"({"Replayed":{"description":"true when the key was used before and this is the answer of then","schema":{"const":"true"}}})";

// The object that has the members of all parts.
std::string object_of(std::span<const std::string_view> parts) {
  std::string out = "{";
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    if (out.size() > 1) out.append(",");
    out.append(part);
  }
  return out.append("}");
}

// The same for one member of each door's part, behind our own.
std::string object_of(std::vector<std::string_view> own, std::span<const OpenapiPart> doors,
                      std::string_view OpenapiPart::*member) {
  for (const OpenapiPart& door : doors) own.push_back(door.*member);
  return object_of(own);
}

// Where the API's own texts have room for the words of the doors, and how each part stands there.
struct Mark {
  std::string_view name;
  std::string_view OpenapiPart::*member;
  std::string_view before;
  std::string_view after;
};
constexpr auto kMarks = std::to_array<Mark>({
    {"<<message_fields>>", &OpenapiPart::message_fields, "", ","},
    {"<<message_view>>", &OpenapiPart::message_view, "", ","},
    {"<<message_explained>>", &OpenapiPart::message_explained, "", ","},
    {"<<message_parameters>>", &OpenapiPart::message_parameters, ", ", ""},
    {"<<message_short>>", &OpenapiPart::message_short, ". ", " are short for some of them"},
});

// The text with the words of the doors at its marks.
std::string with_words(std::string_view text, std::span<const OpenapiPart> doors) {
  std::string out(text);
  for (const Mark& mark : kMarks) {
    std::string words;
    for (const OpenapiPart& door : doors) {
      const std::string_view part = door.*mark.member;
      if (!part.empty()) words.append(mark.before).append(part).append(mark.after);
    }
    for (std::size_t at = out.find(mark.name); at != std::string::npos; at = out.find(mark.name))
      out.replace(at, mark.name.size(), words);
  }
  return out;
}

}  // namespace

std::string openapi_document(std::string_view version, std::span<const OpenapiPart> doors) {
  std::string out;
  JsonWriter json(out);
  json.open_object().field("openapi", "3.1.0").name("info").open_object();
  json.field("title", "Postrider").field("version", version.empty() ? "0" : version);
  json.field("description", kAbout).close_object();
  json.name("security").raw(R"([{"token":[]},{}])");
  const std::string messages = with_words(openapi_paths(), doors);
  const std::string groups = with_words(openapi_group_paths(), doors);
  json.name("paths").raw(
      object_of({messages, openapi_job_paths(), groups}, doors, &OpenapiPart::paths));
  const OpenapiPart own = openapi_components();
  const std::string schemas = with_words(own.schemas, doors);
  json.name("components").open_object().name("securitySchemes").raw(kSecuritySchemes);
  json.name("headers").raw(kHeaders);
  json.name("parameters").raw(object_of({own.parameters}, doors, &OpenapiPart::parameters));
  json.name("responses").raw(object_of({own.responses}, doors, &OpenapiPart::responses));
  json.name("schemas").raw(object_of({schemas}, doors, &OpenapiPart::schemas));
  json.close_object().close_object();
  return out;
}

}  // namespace postrider::api
