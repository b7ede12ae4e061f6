#include "postrider/api/submit.h"

#include <algorithm>
#include <array>

#include "postrider/api/json_fields.h"
#include "postrider/api/texts.h"
#include "postrider/base/codec.h"
#include "postrider/protocols/web/base64.h"

namespace postrider::api {
namespace {

// Those that a message of some kinds cannot have stand first.
enum Field : std::size_t {
  kType,            // of a fan-out only
  kIdempotencyKey,  // of a line only
  kDestination,
  kTo,          // of a list only
  kSkipClosed,  // … too
  kBody,
  kBodyBase64,
  kAttributes,
  kLane,
  kPriority,
  kNotBefore,
  kDelay,
  kExpiresAt,
  kExpiresIn,
  kFields  // behind them are the fields of the doors
};
constexpr std::array<std::string_view, kFields> kNames = {
    "type",       "idempotency_key", "destination", "to",        "skip_closed",
    "body",       "body_base64",     "attributes",  "lane",      "priority",
    "not_before", "delay",           "expires_at",  "expires_in"};
constexpr std::size_t kAttributeNameBytesMax = 128;
constexpr std::uint32_t kPriorityMax = 65535;

using Found = std::span<const MaybeValue>;  // by the index of the field

// What a message says about itself, before times are counted from now: this is what a key is bound
// to.
struct Draft {
  Submit submit;
  Duration delay{0};
  Duration expires_in{0};
  NamedTexts attributes;
};

// The members from `first` on, by their names; what stands before is not found.
std::optional<Problem> read_names(const JsonValue& root, Field first,
                                  std::span<const std::string_view> names,
                                  std::span<MaybeValue> found) {
  std::fill(found.begin(), found.end(), std::nullopt);
  auto problem = read_members(root, names.subspan(first), found.subspan(first));
  if (problem && problem->field == kNames[kIdempotencyKey]) {
    problem->detail = "the key of a single message is the header Idempotency-Key";
    problem->suggestion = "Idempotency-Key";
  }
  return problem;
}

std::optional<Problem> read_message_names(const JsonValue& root, bool line,
                                          std::span<const std::string_view> names,
                                          std::span<MaybeValue> found) {
  return read_names(root, line ? kIdempotencyKey : kDestination, names, found);
}

std::optional<Problem> both(const Found& found, Field one, Field other) {
  if (!found[one] || !found[other]) return std::nullopt;
  return complaint(
      ProblemType::kInvalidField,
      "say " + std::string(kNames[one]) + " or " + std::string(kNames[other]) + ", not both",
      std::string(kNames[other]));
}

std::optional<Problem> read_body(const Found& found, std::uint32_t bytes_max, std::string& body) {
  if (auto problem = both(found, kBody, kBodyBase64)) return problem;
  if (found[kBody]) {
    if (found[kBody]->is_string()) {
      found[kBody]->append_text(body);
    } else {
      found[kBody]->append_compact(body);
    }
  } else if (found[kBodyBase64]) {
    auto text = read_text(*found[kBodyBase64], kNames[kBodyBase64]);
    if (!text) return text.error();
    auto bytes = base64_decode(*text);
    if (!bytes) {
      return complaint(ProblemType::kInvalidField,
                       "body_base64 is not base64 of the usual alphabet", "body_base64");
    }
    body = std::move(*bytes);
  } else {
    return complaint(ProblemType::kMissingField,
                     "body is missing: a text is sent as it is, any other value as JSON; or say "
                     "body_base64",
                     "body");
  }
  if (body.size() <= bytes_max) return std::nullopt;
  return complaint(ProblemType::kTooLarge,
                   "the body has " + std::to_string(body.size()) + " bytes, at most " +
                       std::to_string(bytes_max) + " are taken",
                   "body");
}

bool is_attribute_name(std::string_view name) {
  return !name.empty() && name.size() <= kAttributeNameBytesMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                  c == '.';
         });
}

// Attributes by their own names, for any profile; its `admit` judges them. The fields of the doors
// stand for attributes, too: each attribute is said once.
std::optional<Problem> read_texts(const JsonValue& value, NamedTexts& attributes) {
  if (value.kind() != JsonKind::kObject)
    return complaint(ProblemType::kInvalidField, "attributes is an object of texts", "attributes");
  std::optional<Problem> problem;
  value.for_members([&](const JsonValue& given, const JsonValue& text) {
    std::string name = given.text();
    const std::string field = "attributes." + name;
    if (!is_attribute_name(name)) {
      problem = complaint(ProblemType::kInvalidField,
                          "the name of an attribute has 1 to 128 lower-case letters, digits, and "
                          "any of - _ .",
                          field);
    } else if (!text.is_string()) {
      problem = complaint(ProblemType::kInvalidField, "the value of an attribute is a text", field);
    } else if (find_text(attributes, name) != nullptr) {
      problem = complaint(ProblemType::kDuplicateField,
                          "the attribute is said by a field of its own already", field);
    }
    if (!problem) attributes.emplace_back(std::move(name), text.text());
    return !problem.has_value();
  });
  return problem;
}

std::optional<Problem> read_attributes(const Found& found, std::span<const MessageField> fields,
                                       NamedTexts& attributes) {
  std::optional<Problem> problem;
  for (std::size_t i = 0; i < fields.size() && !problem; ++i) {
    const MaybeValue& value = found[kFields + i];
    if (value) problem = fields[i].read(*value, fields[i].name, attributes);
  }
  if (!problem && found[kAttributes]) problem = read_texts(*found[kAttributes], attributes);
  return problem;
}

std::optional<Problem> read_times(const Found& found, Draft& draft) {
  if (auto problem = both(found, kNotBefore, kDelay)) return problem;
  if (auto problem = both(found, kExpiresAt, kExpiresIn)) return problem;
  if (found[kNotBefore]) {
    auto time = read_time(*found[kNotBefore], kNames[kNotBefore]);
    if (!time) return time.error();
    draft.submit.not_before = *time;
  }
  if (found[kDelay]) {
    auto delay = read_duration(*found[kDelay], kNames[kDelay], Duration(0));
    if (!delay) return delay.error();
    draft.delay = *delay;
  }
  if (found[kExpiresAt]) {
    auto time = read_time(*found[kExpiresAt], kNames[kExpiresAt]);
    if (!time) return time.error();
    draft.submit.expires = *time;
  }
  if (found[kExpiresIn]) {
    auto life = read_duration(*found[kExpiresIn], kNames[kExpiresIn], Duration(1));
    if (!life) return life.error();
    draft.expires_in = *life;
  }
  return std::nullopt;
}

std::optional<Problem> read_place(const Found& found, Submit& submit) {
  if (!found[kDestination]) {
    return complaint(ProblemType::kMissingField,
                     "destination is missing: the name of one that was put", "destination");
  }
  if (found[kTo] || found[kSkipClosed]) {
    return complaint(ProblemType::kInvalidField,
                     "say destination for one, or to for a list of destinations, not both", "to");
  }
  auto destination = read_text(*found[kDestination], kNames[kDestination]);
  if (!destination) return destination.error();
  if (destination->empty() || destination->size() > kDestinationNameBytesMax) {
    return complaint(ProblemType::kInvalidField, std::string(kDestinationNameRule), "destination");
  }
  submit.destination = std::move(*destination);
  return std::nullopt;
}

std::optional<Problem> read_list(const Found& found, std::uint32_t names_max, FanOut& fanout) {
  if (found[kDestination])
    return complaint(ProblemType::kInvalidField,
                     "say destination for one, or to for a list of destinations, not both", "to");
  if (found[kTo]->kind() != JsonKind::kArray)
    return complaint(ProblemType::kInvalidField, "to is an array of destinations' names", "to");
  JsonValue element = found[kTo]->first();
  for (std::size_t left = found[kTo]->size(); left > 0; --left) {
    auto name = read_text(element, kNames[kTo]);
    if (!name) return std::move(name.error());
    if (!is_destination_name(*name))
      return complaint(ProblemType::kInvalidField, std::string(kDestinationNameRule), "to");
    if (fanout.destinations.size() == names_max) {
      return complaint(ProblemType::kTooLarge,
                       "a list has at most " + std::to_string(names_max) + " destinations", "to");
    }
    fanout.destinations.push_back(std::move(*name));
    if (left > 1) element = element.next();
  }
  if (fanout.destinations.empty())
    return complaint(ProblemType::kInvalidField, "to names at least one destination", "to");
  std::vector<std::string_view> seen(fanout.destinations.begin(), fanout.destinations.end());
  std::sort(seen.begin(), seen.end());
  if (const auto twice = std::adjacent_find(seen.begin(), seen.end()); twice != seen.end())
    return complaint(ProblemType::kInvalidField, "'" + std::string(*twice) + "' is given twice",
                     "to");
  if (!found[kSkipClosed]) return std::nullopt;
  const JsonKind kind = found[kSkipClosed]->kind();
  if (kind != JsonKind::kTrue && kind != JsonKind::kFalse)
    return complaint(ProblemType::kInvalidField, "skip_closed is true or false", "skip_closed");
  fanout.skip_closed = kind == JsonKind::kTrue;
  return std::nullopt;
}

std::optional<Problem> read_lane(const Found& found, Submit& submit) {
  if (found[kLane]) {
    auto lane = read_number(*found[kLane], kNames[kLane], kLanes - 1);
    if (!lane) return lane.error();
    submit.lane = static_cast<std::uint8_t>(*lane);
  }
  if (found[kPriority]) {
    auto priority = read_number(*found[kPriority], kNames[kPriority], kPriorityMax);
    if (!priority) return priority.error();
    submit.priority = static_cast<std::uint16_t>(*priority);
  }
  return std::nullopt;
}

std::optional<Problem> read_key(const Found& found, SubmitDefaults& defaults) {
  if (!found[kIdempotencyKey]) return std::nullopt;
  auto text = read_text(*found[kIdempotencyKey], kNames[kIdempotencyKey]);
  if (!text) return text.error();
  if (!is_line(*text)) text->clear();
  auto key = parse_operation_key(*text, defaults.tenant);
  if (!key) {
    return complaint(ProblemType::kInvalidKey, key.error().detail,
                     std::string(kNames[kIdempotencyKey]));
  }
  defaults.key = std::move(*key);
  return std::nullopt;
}

std::optional<Problem> read_rest(const Found& found, const SubmitForm& form, Draft& draft) {
  std::optional<Problem> problem = read_lane(found, draft.submit);
  if (!problem) problem = read_attributes(found, form.fields, draft.attributes);
  if (!problem) problem = read_times(found, draft);
  if (!problem) problem = read_body(found, form.limits.body_bytes_max, draft.submit.body);
  return problem;
}

// What the key stands for. What the head of the request says is not in it: each repeat may have
// another one.
std::string said_by(const Draft& draft) {
  std::string said;
  Writer(said)
      .text("message")
      .text(draft.submit.destination)
      .u8(draft.submit.lane)
      .u16(draft.submit.priority)
      .i64(draft.submit.not_before.ms())
      .i64(draft.delay.count())
      .i64(draft.submit.expires.ms())
      .i64(draft.expires_in.count())
      .text(encode_texts(draft.attributes))
      .raw(draft.submit.body);
  return said;
}

void add_head(const SubmitForm& form, const SubmitDefaults& defaults, NamedTexts& attributes) {
  if (defaults.head == nullptr || defaults.head->empty()) return;
  for (const MessageWords* words : form.words) {
    if (words->add_head != nullptr) words->add_head(*defaults.head, attributes);
  }
}

Checked<Submit> read_submit(const Found& found, const SubmitForm& form, SubmitDefaults defaults) {
  Draft draft;
  std::optional<Problem> problem = read_place(found, draft.submit);
  if (!problem) problem = read_key(found, defaults);
  if (!problem) problem = read_rest(found, form, draft);
  if (problem) return tl::unexpected<Problem>(std::move(*problem));

  Submit& submit = draft.submit;
  if (defaults.key.kind != OperationKey::Kind::kNone) {
    submit.caller.said = said_by(draft);
    submit.caller.key = std::move(defaults.key);
  }
  if (draft.delay > Duration(0)) submit.not_before = defaults.wall + draft.delay;
  if (draft.expires_in > Duration(0)) submit.expires = defaults.wall + draft.expires_in;
  add_head(form, defaults, draft.attributes);
  if (!draft.attributes.empty()) submit.attributes = encode_texts(draft.attributes);
  return std::move(submit);
}

// Everything but where it goes.
Checked<FanOut> read_content(const Found& found, const SubmitForm& form, SubmitDefaults defaults,
                             FanOut fanout) {
  Draft draft;
  std::optional<Problem> problem = read_rest(found, form, draft);
  if (problem) return tl::unexpected<Problem>(std::move(*problem));

  Submit& submit = draft.submit;
  if (defaults.key.kind != OperationKey::Kind::kNone) {
    submit.destination = fanout.group;
    for (const std::string& name : fanout.destinations) submit.destination.append(" ").append(name);
    if (fanout.skip_closed) submit.destination += " ?";
    fanout.caller.said = "fan-out " + fanout.type + '\n' + said_by(draft);
    fanout.caller.key = std::move(defaults.key);
  }
  fanout.lane = submit.lane;
  fanout.priority = submit.priority;
  fanout.not_before = draft.delay > Duration(0) ? defaults.wall + draft.delay : submit.not_before;
  fanout.expires =
      draft.expires_in > Duration(0) ? defaults.wall + draft.expires_in : submit.expires;
  add_head(form, defaults, draft.attributes);
  if (!draft.attributes.empty()) fanout.attributes = encode_texts(draft.attributes);
  fanout.body = std::move(submit.body);
  return fanout;
}

}  // namespace

SubmitReader::SubmitReader(SubmitLimits limits, AllWords words)
    : form_{limits, std::move(words), {}}, names_(kNames.begin(), kNames.end()) {
  for (const MessageWords* door : form_.words) {
    for (const MessageField& field : door->fields) {
      form_.fields.push_back(field);
      names_.push_back(field.name);
    }
  }
  found_.resize(names_.size());
}

Checked<Submit> SubmitReader::read(std::string_view text, SubmitDefaults defaults) {
  auto root = read_root(document_, text, form_.limits.json);
  if (!root) return tl::unexpected<Problem>(std::move(root.error()));
  if (auto problem = read_message_names(*root, defaults.line, names_, found_))
    return tl::unexpected<Problem>(std::move(*problem));
  return read_submit(found_, form_, std::move(defaults));
}

Checked<SubmitReader::One> SubmitReader::read_any(std::string_view text, SubmitDefaults defaults) {
  auto root = read_root(document_, text, form_.limits.json);
  if (!root) return tl::unexpected<Problem>(std::move(root.error()));
  if (auto problem = read_message_names(*root, defaults.line, names_, found_))
    return tl::unexpected<Problem>(std::move(*problem));
  if (!found_[kTo]) {
    auto submit = read_submit(found_, form_, std::move(defaults));
    if (!submit) return tl::unexpected<Problem>(std::move(submit.error()));
    return One(std::move(*submit));
  }
  FanOut fanout;
  if (auto problem = read_list(found_, form_.limits.list_destinations_max, fanout))
    return tl::unexpected<Problem>(std::move(*problem));
  auto whole = read_content(found_, form_, std::move(defaults), std::move(fanout));
  if (!whole) return tl::unexpected<Problem>(std::move(whole.error()));
  return One(std::move(*whole));
}

Checked<FanOut> SubmitReader::read_fanout(std::string_view text, std::string group,
                                          SubmitDefaults defaults) {
  auto root = read_root(document_, text, form_.limits.json);
  if (!root) return tl::unexpected<Problem>(std::move(root.error()));
  std::optional<Problem> problem = read_names(*root, kType, names_, found_);
  const Found found = found_;
  if (!problem && (found[kDestination] || found[kTo] || found[kSkipClosed]))
    problem = complaint(ProblemType::kInvalidField, "a group names the destinations; say none",
                        "destination");
  if (!problem && found[kIdempotencyKey])
    problem = complaint(ProblemType::kInvalidField, "the key is the header Idempotency-Key",
                        std::string(kNames[kIdempotencyKey]));
  FanOut fanout;
  fanout.group = std::move(group);
  if (!problem && found[kType]) {
    auto type = read_text(*found[kType], kNames[kType]);
    if (type && !is_event_type(*type))
      problem =
          complaint(ProblemType::kInvalidField,
                    "a type has 1 to 128 letters, digits, dots, hyphens and underscores", "type");
    if (!type) problem = std::move(type.error());
    if (!problem) fanout.type = std::move(*type);
  }
  if (problem) return tl::unexpected<Problem>(std::move(*problem));
  return read_content(found_, form_, std::move(defaults), std::move(fanout));
}

}  // namespace postrider::api
