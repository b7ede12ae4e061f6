#include "postrider/profiles/matrix/question.h"

#include <string>
#include <utility>

#include "postrider/protocols/matrix/event.h"
#include "postrider/protocols/matrix/json_fields.h"
#include "postrider/protocols/matrix/server_name.h"

namespace postrider::matrix {
namespace {

constexpr std::uint32_t kAnswerBytesOrder = kReplyBytesOrderMax;
constexpr JsonLimits kAnswerLimits{.depth_max = kDepthMax, .values_max = kReplyBytesOrderMax};

std::string body_of(const Facts& facts) {
  std::string out = "{\"event\":";
  out.append(facts.message.body).append(",\"position\":");
  out.append(std::to_string(facts.route == nullptr ? 0 : facts.route->position));
  append_quoted(out.append(",\"room_id\":"), facts.parsed->key);
  append_quoted(out.append(",\"server\":"),
                server_of_destination(facts.destination.name).value_or(""));
  return out.append("}");
}

NestedSubmit replacement(const Facts& facts, std::string_view event) {
  return {.destination = std::string(facts.destination.name),
          .lane = kEventLane,
          .priority = facts.message.id.priority(),
          .attributes = encode_texts({{std::string(kKeyAttribute), facts.parsed->key},
                                      {std::string(kAskedAttribute), "yes"}}),
          .body = std::string(event)};
}

Reading unanswered(std::string reason) {
  Reading reading;
  reading.signal = On::kFailed;
  reading.outcome = {.certainty = Certainty::kNotSent,
                     .failure = FailureClass::kOther,
                     .reason = "the host did not say what to send: " + std::move(reason)};
  return reading;
}

Reading not_understood() {
  Reading reading = unanswered("its answer is neither send nor instead");
  reading.mismatched = true;
  return reading;
}

Reading send_instead(const Facts& facts, JsonValue events) {
  if (events.size() == 0 || events.size() > kInsteadMax) return not_understood();
  Reading reading;
  reading.signal = On::kStaleRoute;
  reading.outcome = {.certainty = Certainty::kNotSent,
                     .failure = FailureClass::kNone,
                     .reason = "the host gave other events to send instead"};
  for_elements(events, [&](JsonValue event) {
    const auto about = read_event(event.raw());
    if (about && about->room_id == facts.parsed->key)
      reading.submits.push_back(replacement(facts, event.raw()));
    return true;
  });
  return reading.submits.size() == events.size() ? reading : not_understood();
}

}  // namespace

WireRequest encode_question(const Facts& facts) {
  WireRequest request;
  request.verb = "POST";
  request.target = facts.prepared->catch_up_url;
  request.headers = {{"content-type", "application/json"}, {"accept", "application/json"}};
  if (!facts.prepared->catch_up_secret.empty()) {
    std::string_view secret = facts.secret(facts.prepared->catch_up_secret);
    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r'))
      secret.remove_suffix(1);
    if (secret.empty())
      request.held_back = "there is no secret '" + facts.prepared->catch_up_secret + "'";
    request.headers.add("authorization", "Bearer " + std::string(secret));
  }
  request.owner = Blob::copy_of(body_of(facts));
  request.body = request.owner.view();
  request.reply_bytes = kAnswerBytesOrder;
  request.trust = facts.prepared->trust;
  return request;
}

Reading classify_question(const Facts& facts, const WireReply& reply) {
  if (reply.end != WireEnd::kAnswered) return unanswered("it did not answer");
  if (reply.status / 100 != 2) return unanswered("HTTP " + std::to_string(reply.status));
  JsonDocument document;
  if (!document.parse(reply.body, kAnswerLimits) || !is_object(document.root()))
    return not_understood();
  const std::optional<JsonValue> send = member_of(document.root(), "send");
  if (send && send->kind() == JsonKind::kTrue) {
    Reading reading;
    reading.signal = On::kAcked;
    reading.outcome = {.certainty = Certainty::kNotSent,
                       .failure = FailureClass::kNone,
                       .reason = "the host says: send it"};
    return reading;
  }
  const std::optional<JsonValue> instead = array_of(document.root(), "instead");
  return instead ? send_instead(facts, *instead) : not_understood();
}

}  // namespace postrider::matrix
