#include "postrider/protocols/matrix/key_object.h"

#include <algorithm>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/protocols/matrix/json_fields.h"

namespace postrider::matrix {
namespace {

constexpr JsonLimits kKeyObjectLimits{.depth_max = 16, .values_max = 10'000};

auto not_believed(std::string_view why) {
  return fail(ErrorCode::kInvalid, "key object: " + std::string(why));
}

Result<std::vector<VerifyKey>> read_keys(JsonValue listed) {
  if (listed.size() > kKeysMax) return fail(ErrorCode::kLimit, "key object: too many keys");
  std::vector<VerifyKey> keys;
  Result<void> read;
  listed.for_members([&](JsonValue name, JsonValue value) {
    std::string id = name.text();
    if (!is_key_id(id)) return true;
    const std::optional<std::string> base64 = text_of(value, "key");
    const Result<PublicKey> key = parse_public_key(base64.value_or(""));
    if (!key) {
      read = not_believed("a key must be 32 bytes as base64");
      return false;
    }
    keys.push_back({.id = std::move(id), .key = *key});
    return true;
  });
  if (!read) return tl::unexpected(read.error());
  if (keys.empty()) return not_believed("it has no ed25519 key");
  return keys;
}

bool has_signature(JsonValue object, std::string_view server, std::string_view key_id) {
  const std::optional<JsonValue> signatures = object_of(object, "signatures");
  const std::optional<JsonValue> theirs =
      signatures ? object_of(*signatures, server) : std::optional<JsonValue>();
  return theirs && member_of(*theirs, key_id).has_value();
}

Result<void> check_signatures(JsonValue object, const ServerKeys& found) {
  bool signed_once = false;
  for (const VerifyKey& key : found.keys) {
    if (!has_signature(object, found.server, key.id)) continue;
    if (!verify_object(object, found.server, key.id, key.key))
      return not_believed("its own signature is wrong");
    signed_once = true;
  }
  if (!signed_once) return not_believed("it is not signed with a key of its own");
  return {};
}

}  // namespace

Result<ServerKeys> read_key_object(std::string_view body, std::string_view server, Timestamp wall) {
  if (body.size() > kKeyObjectBytesMax)
    return fail(ErrorCode::kLimit, "key object: it is too large");
  JsonDocument document;
  if (const Result<void> read = document.parse(body, kKeyObjectLimits); !read)
    return tl::unexpected(read.error());
  const JsonValue root = document.root();
  if (!is_object(root)) return not_believed("it is no object");
  if (text_of(root, "server_name") != server) return not_believed("it is of another server");
  const std::optional<std::int64_t> until = integer_of(root, "valid_until_ts");
  if (!until) return not_believed("it has no valid_until_ts");
  if (*until <= wall.ms()) return not_believed("its time has passed");
  const std::optional<JsonValue> listed = object_of(root, "verify_keys");
  if (!listed) return not_believed("it has no verify_keys");
  ServerKeys found{.server = std::string(server), .valid_until = {}, .keys = {}};
  found.valid_until = std::min(Timestamp(*until), wall + kKeyLifeMax);
  POSTRIDER_TRY(keys, read_keys(*listed));
  found.keys = std::move(keys);
  if (const Result<void> checked = check_signatures(root, found); !checked)
    return tl::unexpected(checked.error());
  return found;
}

std::string write_key_object(std::string_view server, Timestamp valid_until,
                             const SigningKey& key) {
  const PublicKey& bytes = key.public_key();
  std::string object = "{\"old_verify_keys\":{},\"server_name\":";
  append_quoted(object, server);
  object.append(",\"valid_until_ts\":").append(std::to_string(valid_until.ms()));
  object.append(",\"verify_keys\":{");
  append_quoted(object, key.id());
  object.append(":{\"key\":");
  append_quoted(object,
                unpadded_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  object.append("}}}");
  Result<std::string> signed_object = sign_object(object, server, key);
  POSTRIDER_CHECK(signed_object.has_value());
  return std::move(*signed_object);
}

}  // namespace postrider::matrix
