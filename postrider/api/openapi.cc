#include "postrider/api/openapi.h"

#include "postrider/json/json_writer.h"

namespace postrider::api {
namespace {

constexpr std::string_view kAbout =
    "Hand over messages, and ask where each one is, why, and what happens next. Problems follow "
    "RFC 9457. Every call that changes something takes an Idempotency-Key: the same key with the "
    "same content has the same answer (Idempotency-Replayed: true), with other content it is a "
    "conflict (422).";

// {"a": 1} and {"b": 2} to {"a": 1,"b": 2}.
std::string joined(std::string_view one, std::string_view other) {
  std::string out(one.substr(0, one.rfind('}')));
  return out.append(",").append(other.substr(1));
}

}  // namespace

std::string openapi_document(std::string_view version) {
  std::string out;
  JsonWriter json(out);
  json.open_object().field("openapi", "3.1.0").name("info").open_object();
  json.field("title", "Postrider").field("version", version.empty() ? "0" : version);
  json.field("description", kAbout).close_object();
  json.name("security").raw(R"([{"token":[]},{}])");
  json.name("paths").raw(
      joined(joined(joined(openapi_paths(), openapi_device_paths()), openapi_job_paths()),
             openapi_group_paths()));
  json.name("components").raw(openapi_components()).close_object();
  return out;
}

}  // namespace postrider::api
