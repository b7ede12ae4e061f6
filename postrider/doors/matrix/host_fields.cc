#include "postrider/doors/matrix/host_fields.h"

#include <utility>

#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix_door {

using json::JsonKind;
using json::JsonValue;

tl::unexpected<Error> bad(std::string what) { return fail(ErrorCode::kInvalid, std::move(what)); }

Result<std::string> text_in(std::string_view name, JsonValue value) {
  if (!value.is_string()) return bad(std::string(name) + " must be a text");
  return value.text();
}

Result<bool> flag_in(std::string_view name, JsonValue value) {
  if (value.kind() == JsonKind::kTrue) return true;
  if (value.kind() == JsonKind::kFalse) return false;
  return bad(std::string(name) + " must be true or false");
}

Result<std::vector<std::string>> servers_in(std::string_view name, JsonValue value) {
  if (value.kind() != JsonKind::kArray) return bad(std::string(name) + " must be a list");
  if (value.size() > kHostServersMax)
    return bad(std::string(name) + " has more than " + std::to_string(kHostServersMax) +
               " servers");
  std::vector<std::string> servers;
  std::string wrong;
  matrix::for_elements(value, [&](JsonValue server) {
    const std::string text = server.is_string() ? server.text() : std::string();
    const auto parsed = matrix::parse_server_name(text);
    if (!parsed) wrong = "'" + text + "': " + parsed.error().detail;
    if (parsed) servers.push_back(parsed->text);
    return wrong.empty();
  });
  if (!wrong.empty()) return bad(std::string(name) + ": " + wrong);
  return servers;
}

}  // namespace postrider::matrix_door
