// MessageWords: the names that a door gives to attributes of messages. POST /v1/messages takes
// attributes by their own names for any profile. A door may add fields that stand for some of them,
// take attributes from the head of a request, and show them in a message as the API renders it. The
// API itself knows none of these names.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "postrider/api/json_names.h"
#include "postrider/api/problems.h"
#include "postrider/model/attributes.h"
#include "postrider/servers/http/http_server.h"

namespace postrider::api {

struct MessageField {
  std::string_view name;  // of the member; no two doors have the same
  // Appends the attributes that the value stands for, or says what is wrong with the field.
  std::optional<Problem> (*read)(const JsonValue& value, std::string_view name,
                                 NamedTexts& attributes);
};

// A constant of the door. A function that is null adds nothing.
struct MessageWords {
  std::span<const MessageField> fields;    // read in this order, before `attributes`
  std::span<const std::string_view> head;  // headers of a request, in lower case
  // Appends the attributes that those headers stand for, unless the message says them itself. They
  // are not part of what an operation key is bound to: each repeat may have other ones.
  void (*add_head)(const NamedTexts& head, NamedTexts& attributes) = nullptr;
  // Members of a message that is shown whole, and of one that is explained. The attributes may be
  // those of another profile.
  void (*show)(JsonWriter& json, const NamedTexts& attributes) = nullptr;
  void (*show_explained)(JsonWriter& json, const NamedTexts& attributes) = nullptr;
  // Appends the attributes of a body that the API wrote itself, as JSON.
  void (*add_json)(NamedTexts& attributes) = nullptr;
};

using AllWords = std::vector<const MessageWords*>;  // of all doors, in their order

// The headers of the request that the words name, as far as it has them.
NamedTexts head_texts(const AllWords& words, const HttpRequest& request);

}  // namespace postrider::api
