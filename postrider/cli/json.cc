#include "postrider/cli/json.h"

namespace postrider {

Result<Json> parse_json(std::string_view text) {
  auto tree = json::parse_tree(text, {.values_max = UINT32_MAX, .names_twice = true});
  if (!tree) return fail(ErrorCode::kInvalid, "this is no JSON: " + tree.error().detail);
  return tree;
}

std::string with_member(std::string_view object, std::string_view name, std::string_view value) {
  const std::string_view before = object.substr(0, object.rfind('}'));
  std::string out(before);
  out.append(before.ends_with('{') ? "" : ",").append(json_text(name)).append(":");
  return out.append(json_text(value)).append("}");
}

std::string json_text(std::string_view text) { return json::quoted(text); }
bool is_utf8_text(std::string_view text) { return json::is_utf8(text); }

}  // namespace postrider
