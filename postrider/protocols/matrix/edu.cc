#include "postrider/protocols/matrix/edu.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/matrix/server_name.h"
#include "postrider/protocols/matrix/signing.h"

namespace postrider::matrix {
namespace {

struct KnownEdu {
  std::string_view type;
  EduKind kind;
};
constexpr auto kKnownEdus = std::to_array<KnownEdu>({
    {"m.direct_to_device", EduKind::kToDevice},
    {"m.device_list_update", EduKind::kDeviceList},
    {"m.signing_key_update", EduKind::kSigningKeys},
    {"org.matrix.signing_key_update", EduKind::kSigningKeys},  // a second copy, of older times
    {"m.receipt", EduKind::kReceipt},
    {"m.presence", EduKind::kPresence},
    {"m.typing", EduKind::kTyping},
});

// Words of a key stand between blanks, so blanks inside a word are written in another way. A key
// that is too long keeps its last word apart, and the others as a hash.
std::string key_word(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte != 0x7F && c != '%') {
      out.push_back(c);
    } else {
      out.append("%").push_back(kDigits[byte >> 4]);
      out.push_back(kDigits[byte & 15]);
    }
  }
  return out;
}

std::string shortened(std::string word, std::size_t bytes_max) {
  if (word.size() <= bytes_max) return word;
  const std::array<std::uint8_t, 32> hash = sha256(word);
  return "%" + unpadded_base64_url({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

std::string key_of(std::initializer_list<std::string_view> words) {
  std::string head;
  for (auto word = words.begin(); word + 1 != words.end(); ++word)
    head.append(head.empty() ? "" : " ").append(key_word(*word));
  std::string last = key_word(*(words.end() - 1));
  if (head.empty()) return shortened(std::move(last), kEduKeyBytesMax);
  if (head.size() + 1 + last.size() > kEduKeyBytesMax) {
    head = shortened(std::move(head), kEduKeyBytesMax / 2);
    last = shortened(std::move(last), kEduKeyBytesMax / 2);
  }
  return head.append(" ").append(last);
}

std::string edu_of(std::string_view content, std::string_view type) {
  std::string out = "{\"content\":";
  out.append(content).append(",\"edu_type\":");
  append_quoted(out, type);
  return out.append("}");
}

std::string canonical_text(JsonValue value) {
  std::string out;
  static_cast<void>(append_canonical(out, value, Numbers::kAsWritten));
  return out;
}

class TakingApart {
 public:
  TakingApart(JsonValue edu, const EduNames& names) : edu_(edu), names_(names) {}

  EduParts take(EduKind kind, std::string_view type, JsonValue content) {
    kind_ = kind;
    type_ = type;
    switch (kind) {
      case EduKind::kToDevice: take_to_device(content); break;
      case EduKind::kDeviceList: take_own(content, Keyed::kNone); break;
      case EduKind::kSigningKeys: take_own(content, Keyed::kUser); break;
      case EduKind::kTyping: take_own(content, Keyed::kRoomAndUser); break;
      case EduKind::kReceipt: take_receipts(content); break;
      case EduKind::kPresence: take_presence(content); break;
      case EduKind::kOther: add_whole(""); break;
    }
    return std::move(found_);
  }

 private:
  enum class Keyed : std::uint8_t { kNone, kUser, kRoomAndUser };

  void add_whole(std::string key) {
    found_.parts.push_back(
        {.kind = kind_, .key = std::move(key), .bytes = std::string(edu_.raw())});
  }
  void refuse(std::string bytes, std::string_view reason) {
    found_.refused.push_back({.bytes = std::move(bytes), .reason = std::string(reason)});
  }
  void refuse_whole(std::string_view reason) { refuse(std::string(edu_.raw()), reason); }

  // One value of one user of ours.
  void take_own(JsonValue content, Keyed keyed) {
    const std::optional<std::string> user = text_of(content, "user_id");
    if (!user) return refuse_whole("user_id is missing");
    if (!is_user_of(*user, names_.origin)) return refuse_whole("the user is of another server");
    switch (keyed) {
      case Keyed::kNone: return add_whole("");
      case Keyed::kUser: return add_whole(key_of({type_, *user}));
      case Keyed::kRoomAndUser: break;
    }
    const std::optional<std::string> room = text_of(content, "room_id");
    if (!room) return refuse_whole("room_id is missing");
    add_whole(key_of({*room, *user}));
  }

  // What its messages are is the receiver's to judge; only a user of another server is known to
  // fail there.
  void take_to_device(JsonValue content) {
    const std::optional<JsonValue> messages = object_of(content, "messages");
    bool foreign = false;
    if (messages) {
      messages->for_members([&](JsonValue user, JsonValue) {
        foreign = !is_user_of(user.text(), names_.destination);
        return !foreign;
      });
    }
    if (foreign) return refuse_whole("the recipient is of another server");
    add_whole("");
  }

  void take_presence(JsonValue content) {
    const std::optional<JsonValue> push = array_of(content, "push");
    if (!push) return refuse_whole("push is missing");
    for_elements(*push, [this](JsonValue state) {
      const std::optional<std::string> user = text_of(state, "user_id");
      std::string text = canonical_text(state);
      std::string bytes = edu_of("{\"push\":[" + text + "]}", type_);
      if (!user) {
        refuse(std::move(bytes), "user_id is missing");
      } else if (!is_user_of(*user, names_.origin)) {
        refuse(std::move(bytes), "the user is of another server");
      } else {
        found_.parts.push_back({.kind = kind_, .key = key_of({*user}), .bytes = std::move(bytes)});
      }
      return has_room();
    });
  }

  void take_receipts(JsonValue content) {
    content.for_members([this](JsonValue room, JsonValue types) {
      if (!is_object(types)) {
        refuse_whole("receipts of a room must be an object");
        return true;
      }
      types.for_members([&](JsonValue type, JsonValue users) {
        if (!is_object(users)) {
          refuse_whole("receipts of a type must be an object");
          return true;
        }
        users.for_members([&](JsonValue user, JsonValue receipt) {
          take_receipt(room.text(), type.text(), user.text(), receipt);
          return has_room();
        });
        return has_room();
      });
      return has_room();
    });
  }

  void take_receipt(const std::string& room, const std::string& type, const std::string& user,
                    JsonValue receipt) {
    std::string content = "{";
    append_quoted(content, room);
    append_quoted(content.append(":{"), type);
    append_quoted(content.append(":{"), user);
    content.append(":").append(canonical_text(receipt)).append("}}}");
    std::string bytes = edu_of(content, type_);
    if (!is_object(receipt)) return refuse(std::move(bytes), "a receipt must be an object");
    if (!is_user_of(user, names_.origin))
      return refuse(std::move(bytes), "the user is of another server");
    const std::optional<JsonValue> data = object_of(receipt, "data");
    const std::optional<std::string> thread =
        data ? text_of(*data, "thread_id") : std::optional<std::string>();
    // A thread may have any name, so the absence of one is told by what no word of a key has.
    std::string group = key_of({room, type, user});
    group = shortened(std::move(group), kEduKeyBytesMax / 2);
    std::string last =
        shortened(thread ? key_word(*thread) : std::string(), kEduKeyBytesMax / 2 - 1);
    found_.parts.push_back({.kind = kind_,
                            .key = group.append(thread ? " t" : " ").append(last),
                            .bytes = std::move(bytes)});
  }

  bool has_room() {
    if (found_.parts.size() + found_.refused.size() < kEduPartsMax) return true;
    overflowed_ = true;
    return false;
  }

 public:
  bool overflowed() const { return overflowed_; }

 private:
  JsonValue edu_;
  const EduNames& names_;
  EduKind kind_ = EduKind::kOther;
  std::string_view type_;
  EduParts found_;
  bool overflowed_ = false;
};

// The value inside of a part of presence: the only element of its list.
std::optional<std::string> presence_of(const EduPart& part) {
  JsonDocument document;
  if (!document.parse(part.bytes, kItemLimits)) return std::nullopt;
  const std::optional<JsonValue> content = object_of(document.root(), "content");
  const std::optional<JsonValue> push =
      content ? array_of(*content, "push") : std::optional<JsonValue>();
  if (!push || push->size() != 1) return std::nullopt;
  return std::string(push->first().raw());
}

struct ReceiptPlace {
  std::string room;
  std::string type;
  std::string user;
  auto operator<=>(const ReceiptPlace&) const = default;
};

// The one receipt inside of a part.
std::optional<std::pair<ReceiptPlace, std::string>> receipt_of(const EduPart& part) {
  JsonDocument document;
  if (!document.parse(part.bytes, kItemLimits)) return std::nullopt;
  const std::optional<JsonValue> content = object_of(document.root(), "content");
  if (!content || content->size() != 1) return std::nullopt;
  const JsonValue room = content->first();
  const JsonValue types = room.next();
  if (!is_object(types) || types.size() != 1) return std::nullopt;
  const JsonValue type = types.first();
  const JsonValue users = type.next();
  if (!is_object(users) || users.size() != 1) return std::nullopt;
  const JsonValue user = users.first();
  return std::pair(ReceiptPlace{room.text(), type.text(), user.text()},
                   std::string(user.next().raw()));
}

using ReceiptMap = std::map<ReceiptPlace, std::string>;

std::string receipts_edu(const ReceiptMap& receipts) {
  std::string content = "{";
  const ReceiptPlace* last = nullptr;
  for (const auto& [place, receipt] : receipts) {
    const bool same_room = last != nullptr && last->room == place.room;
    const bool same_type = same_room && last->type == place.type;
    if (last != nullptr) content.append(same_type ? "," : (same_room ? "}," : "}},"));
    if (!same_room) {
      append_quoted(content, place.room);
      content.append(":{");
    }
    if (!same_type) {
      append_quoted(content, place.type);
      content.append(":{");
    }
    append_quoted(content, place.user);
    content.append(":").append(receipt);
    last = &place;
  }
  return edu_of(content.append("}}}"), "m.receipt");
}

// Units that are filled while parts come; each remembers where it stands among the others.
class Packing {
 public:
  explicit Packing(const EduPacking& options) : options_(options) {}

  void add(const EduPart& part) {
    if (part.kind == EduKind::kPresence && add_presence(part)) return;
    if (part.kind == EduKind::kReceipt && add_receipt(part)) return;
    edus_.push_back(part.bytes);
  }

  std::vector<std::string> finish() {
    for (const Presence& unit : presence_)
      edus_[unit.place] = edu_of("{\"push\":[" + unit.states + "]}", "m.presence");
    for (const Receipts& unit : receipts_) edus_[unit.place] = receipts_edu(unit.receipts);
    return std::move(edus_);
  }

 private:
  struct Presence {
    std::size_t place = 0;
    std::uint32_t users = 0;
    std::string states;
  };
  struct Receipts {
    std::size_t place = 0;
    ReceiptMap receipts;
  };

  bool add_presence(const EduPart& part) {
    const std::optional<std::string> state = presence_of(part);
    if (!state) return false;
    if (presence_.empty() || presence_.back().users >= options_.presence_users_max) {
      presence_.push_back({.place = edus_.size(), .users = 0, .states = {}});
      edus_.emplace_back();
    }
    Presence& unit = presence_.back();
    if (unit.users > 0) unit.states.push_back(',');
    unit.states.append(*state);
    ++unit.users;
    return true;
  }

  bool add_receipt(const EduPart& part) {
    std::optional<std::pair<ReceiptPlace, std::string>> receipt = receipt_of(part);
    if (!receipt) return false;
    auto unit = std::find_if(receipts_.begin(), receipts_.end(), [&](const Receipts& receipts) {
      return !receipts.receipts.contains(receipt->first);
    });
    if (unit == receipts_.end()) {
      receipts_.push_back({.place = edus_.size(), .receipts = {}});
      edus_.emplace_back();
      unit = receipts_.end() - 1;
    }
    unit->receipts.insert(std::move(*receipt));
    return true;
  }

  const EduPacking& options_;
  std::vector<std::string> edus_;
  std::vector<Presence> presence_;
  std::vector<Receipts> receipts_;
};

}  // namespace

EduKind kind_of_edu(std::string_view type) {
  const auto known = std::find_if(kKnownEdus.begin(), kKnownEdus.end(),
                                  [type](const KnownEdu& edu) { return edu.type == type; });
  return known == kKnownEdus.end() ? EduKind::kOther : known->kind;
}

Result<EduParts> take_apart(std::string_view edu, const EduNames& names) {
  JsonDocument document;
  if (const Result<void> read = document.parse(edu, kItemLimits); !read)
    return tl::unexpected(read.error());
  const JsonValue root = document.root();
  if (!is_object(root)) return fail(ErrorCode::kInvalid, "a unit must be an object");
  const std::optional<std::string> type = text_of(root, "edu_type");
  if (!type || type->empty()) return fail(ErrorCode::kInvalid, "edu_type is missing");
  const std::optional<JsonValue> content = object_of(root, "content");
  if (!content) return fail(ErrorCode::kInvalid, "content is missing");
  TakingApart taking(root, names);
  EduParts parts = taking.take(kind_of_edu(*type), *type, *content);
  if (taking.overflowed())
    return fail(ErrorCode::kLimit,
                "a unit has at most " + std::to_string(kEduPartsMax) + " values");
  return parts;
}

std::vector<std::string> put_together(std::span<const EduPart* const> parts,
                                      const EduPacking& packing) {
  Packing units(packing);
  for (const EduPart* const part : parts) units.add(*part);
  return units.finish();
}

std::string_view receipt_group(std::string_view key) { return key.substr(0, key.rfind(' ')); }

}  // namespace postrider::matrix
