// unity: alone, its names are those of submit.cc
#include "postrider/api/letters.h"

#include <array>
#include <span>

#include "postrider/api/json_fields.h"
#include "postrider/api/json_names.h"
#include "postrider/api/texts.h"
#include "postrider/model/attributes.h"
#include "postrider/model/letters.h"
#include "postrider/model/message.h"
#include "postrider/protocols/web/base64.h"

namespace postrider::api {
namespace {

enum Field : std::size_t {
  kId,
  kDestination,
  kLane,
  kPriority,
  kAttributes,
  kBody,
  // For people: what became of it where it came from.
  kPhase,
  kCause,
  kAttempts,
  kReason,
  kAcceptedAt,
  kDiedAt,
  // For the engine that takes it: whether to send it again might do it twice.
  kMayHaveRun,
  kFields
};
constexpr std::array<std::string_view, kFields> kNames = {
    "id",    "destination", "lane",   "priority",    "attributes_base64", "body_base64", "phase",
    "cause", "attempts",    "reason", "accepted_at", "died_at",           "may_have_run"};

using Found = std::array<MaybeValue, kFields>;

std::string encoded(std::string_view bytes) {
  return base64_encode(
      std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
}

Problem wrong(Field field, std::string detail) {
  return complaint(ProblemType::kInvalidField, std::move(detail), std::string(kNames[field]));
}

std::optional<Problem> read_bytes(const Found& found, Field field, std::string& out) {
  if (!found[field]) return std::nullopt;
  auto text = read_text(*found[field], kNames[field]);
  if (!text) return text.error();
  auto bytes = base64_decode(*text);
  if (!bytes) return wrong(field, "this is not base64");
  out = std::move(*bytes);
  return std::nullopt;
}

std::optional<Problem> read_number(const Found& found, Field field, std::uint32_t high,
                                   std::uint32_t& out) {
  if (!found[field]) return std::nullopt;
  auto number = api::read_number(*found[field], kNames[field], high);
  if (!number) return number.error();
  out = *number;
  return std::nullopt;
}

std::optional<Problem> read_names(const Found& found, const IdCodec& ids, CarriedLetter& letter) {
  for (const Field field : {kId, kDestination, kBody}) {
    if (!found[field])
      return complaint(ProblemType::kMissingField, std::string(kNames[field]) + " is missing",
                       std::string(kNames[field]));
  }
  auto id = read_text(*found[kId], kNames[kId]);
  if (!id) return id.error();
  const auto parsed = ids.parse(*id);
  if (!parsed) return wrong(kId, "a message's id has 32 hexadecimal digits");
  letter.id = *parsed;
  letter.shown_id = std::move(*id);
  auto destination = read_text(*found[kDestination], kNames[kDestination]);
  if (!destination) return destination.error();
  letter.destination = std::move(*destination);
  return std::nullopt;
}

// What the line says; one that says nothing has not ruled it out, unless there was no attempt.
std::optional<Problem> read_ran(const Found& found, CarriedLetter& letter) {
  letter.ran = true;
  if (const MaybeValue& said = found[kMayHaveRun]) {
    if (said->kind() != JsonKind::kTrue && said->kind() != JsonKind::kFalse)
      return wrong(kMayHaveRun, "this is true or false");
    letter.ran = said->kind() == JsonKind::kTrue;
    return std::nullopt;
  }
  std::uint32_t attempts = 1;
  auto problem = read_number(found, kAttempts, UINT16_MAX, attempts);
  letter.ran = attempts != 0;
  return problem;
}

}  // namespace

void append_letter(std::string& out, const IdCodec& ids, const DeadLetter& letter,
                   const DeadLetters::Content& content) {
  const auto message = decode_message(content.message);
  if (!message) return;
  JsonWriter json(out);
  json.open_object().field("id", ids.text(letter.id));
  if (!content.destination.empty()) json.field("destination", content.destination);
  json.count("lane", letter.id.lane()).count("priority", letter.id.priority());
  if (!message->attributes.empty()) json.field("attributes_base64", encoded(message->attributes));
  json.field("body_base64", encoded(message->body));
  json.field("phase", name_of(letter.phase)).field("cause", name_of(letter.cause));
  json.count("attempts", letter.attempts);
  if (!letter.reason.empty()) json.field("reason", letter.reason);
  json.field("accepted_at", to_text(message->accepted)).field("died_at", to_text(letter.at));
  if (letter.rerun != DeadLetter::Rerun::kNotAsked)
    json.flag("may_have_run", letter.rerun == DeadLetter::Rerun::kMustNot);
  json.close_object();
  out.push_back('\n');
}

Checked<Submit> LetterReader::read(std::string_view line, std::string_view tenant) {
  auto root = read_root(document_, line, limits_.json);
  if (!root) return tl::unexpected<Problem>(std::move(root.error()));
  Found found;
  CarriedLetter letter;
  std::uint32_t lane = 0;
  std::uint32_t priority = 0;
  std::optional<Problem> problem = read_members(*root, kNames, found);
  if (!problem) problem = read_names(found, ids_, letter);
  if (!problem) problem = read_number(found, kLane, kLanes - 1, lane);
  if (!problem) problem = read_number(found, kPriority, UINT16_MAX, priority);
  if (!problem) problem = read_ran(found, letter);
  if (!problem) problem = read_bytes(found, kAttributes, letter.attributes);
  if (!problem && !decode_texts(letter.attributes))
    problem = wrong(kAttributes, "these are not attributes of ours");
  if (!problem) problem = read_bytes(found, kBody, letter.body);
  if (!problem && letter.body.size() > limits_.body_bytes_max)
    problem = complaint(ProblemType::kTooLarge,
                        "a body has at most " + std::to_string(limits_.body_bytes_max) + " bytes",
                        std::string(kNames[kBody]));
  if (problem) return tl::unexpected<Problem>(std::move(*problem));
  letter.lane = static_cast<std::uint8_t>(lane);
  letter.priority = static_cast<std::uint16_t>(priority);
  return import_of(std::move(letter), tenant);
}

}  // namespace postrider::api
