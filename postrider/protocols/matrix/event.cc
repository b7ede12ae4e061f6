#include "postrider/protocols/matrix/event.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/matrix/signing.h"

namespace postrider::matrix {
namespace {

// Room versions whose redaction is the same.
enum class Redaction : std::uint8_t { kTo5, kTo7, k8, kTo10, kFrom11 };

constexpr auto kKept =
    std::to_array<std::string_view>({"event_id", "type", "room_id", "sender", "state_key", "hashes",
                                     "depth", "prev_events", "auth_events", "origin_server_ts"});
constexpr auto kKeptTo10 = std::to_array<std::string_view>({"origin", "membership", "prev_state"});
constexpr auto kPowerLevels =
    std::to_array<std::string_view>({"ban", "events", "events_default", "kick", "redact",
                                     "state_default", "users", "users_default"});

bool has_word(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool keeps_top(Redaction redaction, std::string_view name) {
  return has_word(kKept, name) || (redaction != Redaction::kFrom11 && has_word(kKeptTo10, name));
}

bool keeps_content(Redaction redaction, std::string_view type, std::string_view name) {
  const bool from_11 = redaction == Redaction::kFrom11;
  if (type == "m.room.member")
    return name == "membership" ||
           (redaction >= Redaction::kTo10 && name == "join_authorised_via_users_server");
  if (type == "m.room.create") return from_11 || name == "creator";
  if (type == "m.room.join_rules")
    return name == "join_rule" || (redaction >= Redaction::k8 && name == "allow");
  if (type == "m.room.power_levels")
    return has_word(kPowerLevels, name) || (from_11 && name == "invite");
  if (type == "m.room.history_visibility") return name == "history_visibility";
  if (type == "m.room.aliases") return redaction == Redaction::kTo5 && name == "aliases";
  if (type == "m.room.redaction") return from_11 && name == "redacts";
  return false;
}

std::string rendered(JsonValue value) {
  std::string out;
  // Numbers stay as they are written, so nothing is refused.
  static_cast<void>(append_canonical(out, value, Numbers::kAsWritten));
  return out;
}

// Of an invitation of a third party only its signed part is kept.
std::string redacted_invite(JsonValue invite) {
  std::vector<CanonicalMember> members;
  if (const std::optional<JsonValue> kept = member_of(invite, "signed"))
    members.push_back({"signed", rendered(*kept)});
  std::string out;
  append_object(out, std::move(members));
  return out;
}

std::string redacted_content(JsonValue content, std::string_view type, Redaction redaction) {
  std::vector<CanonicalMember> members;
  if (is_object(content)) {
    content.for_members([&](JsonValue name, JsonValue value) {
      if (keeps_content(redaction, type, name.text())) {
        members.push_back({name.text(), rendered(value)});
      } else if (redaction == Redaction::kFrom11 && type == "m.room.member" &&
                 name.text_is("third_party_invite") && is_object(value)) {
        members.push_back({name.text(), redacted_invite(value)});
      }
      return true;
    });
  }
  std::string out;
  append_object(out, std::move(members));
  return out;
}

// What the id is the hash of: the redacted event, without signatures.
std::string redacted_event(JsonValue event, std::string_view type, Redaction redaction) {
  std::vector<CanonicalMember> members;
  event.for_members([&](JsonValue name, JsonValue value) {
    if (name.text_is("content")) {
      members.push_back({"content", redacted_content(value, type, redaction)});
    } else if (keeps_top(redaction, name.text())) {
      members.push_back({name.text(), rendered(value)});
    }
    return true;
  });
  std::string out;
  append_object(out, std::move(members));
  return out;
}

std::vector<std::string> ids_of(JsonValue event) {
  if (!is_object(event)) return {};
  if (std::optional<std::string> carried = text_of(event, "event_id")) return {*carried};
  const std::string type = text_of(event, "type").value_or("");
  std::vector<std::string> ids;
  std::string last;
  const auto add = [&ids](std::string id) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(std::move(id));
  };
  for (const Redaction redaction :
       {Redaction::kFrom11, Redaction::kTo10, Redaction::k8, Redaction::kTo7, Redaction::kTo5}) {
    std::string form = redacted_event(event, type, redaction);
    if (form == last && redaction != Redaction::kTo5) continue;
    const std::array<std::uint8_t, 32> hash = sha256(form);
    const std::string_view bytes(reinterpret_cast<const char*>(hash.data()), hash.size());
    add("$" + unpadded_base64_url(bytes));
    if (redaction == Redaction::kTo5) add("$" + unpadded_base64(bytes));  // version 3
    last = std::move(form);
  }
  return ids;
}

Result<void> check_depth(JsonValue event) {
  const std::optional<JsonValue> depth = member_of(event, "depth");
  if (!depth) return {};
  const std::optional<std::int64_t> number = integer_of(event, "depth");
  if (!number || *number < -kIntegerMax || *number > kIntegerMax)
    return fail(ErrorCode::kInvalid, "depth must be an integer of at most 2^53 - 1");
  return {};
}

}  // namespace

Result<EventFacts> read_event(std::string_view event) {
  if (event.size() > kEventBytesMax)
    return fail(ErrorCode::kLimit,
                "an event has at most " + std::to_string(kEventBytesMax) + " bytes");
  JsonDocument document;
  if (const Result<void> read = document.parse(event, kItemLimits); !read)
    return tl::unexpected(read.error());
  const JsonValue root = document.root();
  if (!is_object(root)) return fail(ErrorCode::kInvalid, "an event must be an object");
  const std::optional<std::string> type = text_of(root, "type");
  if (!type || type->empty()) return fail(ErrorCode::kInvalid, "type is missing");
  const std::optional<std::string> sender = text_of(root, "sender");
  if (!sender) return fail(ErrorCode::kInvalid, "sender is missing");
  if (const Result<void> checked = check_depth(root); !checked)
    return tl::unexpected(checked.error());
  EventFacts facts{.type = *type,
                   .sender = *sender,
                   .room_id = text_of(root, "room_id").value_or(""),
                   .state_key = text_of(root, "state_key"),
                   .event_id = text_of(root, "event_id").value_or(""),
                   .has_previous = false};
  if (facts.room_id.empty()) {
    const std::vector<std::string> ids = ids_of(root);
    if (facts.type != "m.room.create" || ids.empty() || ids.front().empty())
      return fail(ErrorCode::kInvalid, "room_id is missing");
    facts.room_id = "!" + ids.front().substr(1);
  }
  const std::optional<JsonValue> previous = array_of(root, "prev_events");
  facts.has_previous = previous && previous->size() > 0;
  return facts;
}

std::vector<std::string> event_ids(std::string_view event) {
  JsonDocument document;
  if (!document.parse(event, kItemLimits)) return {};
  return ids_of(document.root());
}

}  // namespace postrider::matrix
