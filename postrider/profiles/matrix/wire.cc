#include "postrider/profiles/matrix/wire.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "postrider/profiles/matrix/notes.h"
#include "postrider/profiles/matrix/packing.h"
#include "postrider/profiles/matrix/question.h"
#include "postrider/profiles/matrix/table.h"
#include "postrider/profiles/matrix/verdict.h"
#include "postrider/protocols/matrix/answer.h"
#include "postrider/protocols/matrix/server_name.h"
#include "postrider/protocols/matrix/transaction.h"
#include "postrider/protocols/matrix/x_matrix.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::matrix {
namespace {

constexpr std::string_view kUserAgent = "Postrider";
constexpr std::string_view kMethod = "PUT";
constexpr std::size_t kReasonBytesMax = 500;

std::uint32_t claim_of(const Facts& facts) {
  return facts.batch == nullptr ? 1 : facts.batch->claim;
}

// The units and events of a transaction; views into the members and into `made`.
struct Content {
  std::vector<std::string> made;  // units
  std::vector<std::string_view> pdus;
  std::vector<std::string_view> edus;
  bool canonical = true;
};

Content content_of(const Facts& leader) {
  Content content;
  std::vector<EduPart> parts;
  for (const Member& member : members_of(leader)) {
    const Facts facts(*member.facts);
    content.canonical = content.canonical && facts.parsed != nullptr && facts.parsed->canonical;
    const std::string_view body = facts.message.body;
    switch (static_cast<Lane>(facts.message.id.lane())) {
      case kEventLane: content.pdus.push_back(body); break;
      case kPresenceLane: parts.push_back({EduKind::kPresence, {}, std::string(body)}); break;
      case kReceiptLane: parts.push_back({EduKind::kReceipt, {}, std::string(body)}); break;
      case kToDeviceLane:
      case kDeviceLane:
      case kTypingLane:
      case kOtherLane: parts.push_back({EduKind::kOther, {}, std::string(body)}); break;
    }
  }
  std::vector<const EduPart*> views;
  for (const EduPart& part : parts) views.push_back(&part);
  content.made = put_together(views, {.presence_users_max = kPresenceUsersMax});
  for (const std::string& unit : content.made) content.edus.emplace_back(unit);
  return content;
}

// Written once: the signed bytes and the body are one buffer, unless an item is not canonical. Then
// it is carried as it came, and its canonical form is signed.
struct Written {
  Blob owner;
  std::string_view body;
  std::string signature;
};

Written write(const TransactionParts& parts, const RequestWords& words, bool canonical,
              const SigningKey& key) {
  Written written;
  if (canonical) {
    const SplicedRequest request =
        SplicedRequest::make(words, [&parts](std::string& out) { append_transaction(out, parts); });
    written.signature = key.sign(request.signed_bytes());
    written.owner = Blob::copy_of(request.signed_bytes());
    const auto begin =
        static_cast<std::size_t>(request.body().data() - request.signed_bytes().data());
    written.body = written.owner.view().substr(begin, request.body().size());
    return written;
  }
  std::string body;
  append_transaction(body, parts);
  std::string scratch;
  const auto content = signed_content(body, scratch);
  // Every item was read when it was accepted, so there is a canonical form.
  POSTRIDER_CHECK(content.has_value());
  written.signature = key.sign(signed_request(words, *content));
  written.owner = Blob::copy_of(body);
  written.body = written.owner.view();
  return written;
}

WireRequest held_back(std::string why) {
  WireRequest request;
  request.held_back = std::move(why);
  return request;
}

WireRequest encode_transaction(const Facts& facts) {
  const auto server = server_of_destination(facts.destination.name);
  if (!server || facts.prepared == nullptr || facts.parsed == nullptr)
    return held_back("the destination must be named matrix:SERVER");
  const std::string& key_name = facts.prepared->key_name;
  const std::string_view secret = facts.secret(key_name);
  if (secret.empty()) return held_back("there is no secret '" + key_name + "'");
  const auto file = parse_key_file(secret);
  if (!file)
    return held_back("the secret '" + key_name + "' is no signing key: " + file.error().detail);
  const std::string path = send_path(transaction_id(facts));
  const RequestWords words{
      .method = kMethod, .uri = path, .origin = facts.prepared->origin, .destination = *server};
  const Content content = content_of(facts);
  Written written = write({.origin = facts.prepared->origin,
                           .origin_server_ts = facts.wall,
                           .pdus = content.pdus,
                           .edus = content.edus},
                          words, content.canonical, file->key);
  WireRequest request;
  request.verb = kMethod;
  request.target = matrix_target(*server, path);
  request.headers = {{"user-agent", kUserAgent}, {"content-type", "application/json"}};
  request.headers.add("authorization", authorization_of(words, file->key.id(), written.signature));
  request.owner = std::move(written.owner);
  request.body = written.body;
  request.time_out = facts.policy.time_out(TimeOut::kAttempt);
  request.trust = facts.prepared->trust;
  request.reply_bytes = kReplyBytesOrderMax;
  return request;
}

// Something is aside, and nothing was delivered since: what is refused now may be the server's
// fault, so it is no reason to set another item aside.
bool nothing_since(const Facts& facts, const ItemNotes& notes) {
  if (facts.route == nullptr) return true;
  const Route& route = *facts.route;
  if (notes.is_suspect()) return route.delivered_at <= notes.aside;
  if (!route.revive_at.is_set()) return false;
  return route.delivered_at <= route.revive_at - facts.policy.health.revive_every;
}

std::string reason_of(const WireReply& reply) {
  switch (reply.end) {
    case WireEnd::kRefused: return "connection refused";
    case WireEnd::kNoName: return "the name does not resolve";
    case WireEnd::kNoTls: return "no trusted TLS connection";
    case WireEnd::kForbidden: return "the address is not allowed";
    case WireEnd::kTimedOut: return "no answer in time";
    case WireEnd::kReset: return "the connection was cut off";
    case WireEnd::kNoLogin: return "no login";
    case WireEnd::kHeldBack: return reply.body.empty() ? "held back by our own limits" : reply.body;
    case WireEnd::kAnswered: break;
  }
  std::string reason = "HTTP " + std::to_string(reply.status);
  std::string said = to_text(read_refusal(reply.body));
  if (said.empty()) said = clean_excerpt(reply.body, kReasonBytesMax);
  if (!said.empty()) reason.append(": ").append(said);
  return reason;
}

FailureClass failure_of(On signal, const WireReply& reply) {
  if (signal == On::kAnswered) return FailureClass::kNone;
  if (signal == On::kRejected) return FailureClass::kRejected;
  switch (reply.end) {
    case WireEnd::kRefused:
    case WireEnd::kNoName:
    case WireEnd::kNoTls:
    case WireEnd::kForbidden:
    case WireEnd::kNoLogin: return FailureClass::kConnect;
    case WireEnd::kHeldBack: return FailureClass::kHeldBack;
    case WireEnd::kTimedOut:
    case WireEnd::kReset: return FailureClass::kTimeout;
    case WireEnd::kAnswered: break;
  }
  if (reply.status == 429) return FailureClass::kThrottled;
  if (reply.status >= 500) return FailureClass::kServer;
  return reply.status / 100 == 4 ? FailureClass::kRejected : FailureClass::kOther;
}

Certainty certainty_of(const WireReply& reply) {
  if (reply.end == WireEnd::kAnswered) return Certainty::kAnswered;
  const bool sent = reply.end == WireEnd::kTimedOut || reply.end == WireEnd::kReset;
  return sent ? Certainty::kUnknown : Certainty::kNotSent;
}

// What a 200 says of single events.
std::vector<Remark> remarks_of(const Facts& facts, const std::vector<PduError>& errors) {
  std::vector<Remark> remarks;
  if (errors.empty()) return remarks;
  std::vector<std::string_view> pdus;
  std::vector<std::size_t> places;
  for (const Member& member : members_of(facts)) {
    if (member.facts->message.id.lane() != kEventLane) continue;
    pdus.push_back(member.facts->message.body);
    places.push_back(member.place);
  }
  const auto found = errors_of(pdus, errors);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i]) remarks.push_back({.member = places[i], .text = *found[i]});
  }
  return remarks;
}

// What is to be remembered of a refusal, for the next one.
void note_refusal(Reading& reading, const Facts& facts, ItemNotes notes, int status) {
  const ItemNotes before = notes;
  if (reading.signal == On::kFailed && status == 500) notes.failed_claim = claim_of(facts);
  const bool refused = status == 400 || status == 413 || status == 500;
  if (reading.signal == On::kNoRoute && refused) notes.struck = true;
  if (reading.signal == On::kNoLink) {
    notes.aside = facts.now;
    notes.struck = false;
  }
  if (notes != before) reading.notes = to_text(notes);
}

// A batch was refused, and the item that is to blame is being looked for.
bool is_looking(const Facts& facts) {
  return facts.route != nullptr && !facts.route->refused.empty();
}

// A server that was away for long gets one try, and then backs off again.
bool is_single_try(const Facts& facts) {
  if (facts.prepared == nullptr || facts.route == nullptr) return false;
  const Duration single = facts.prepared->numbers.single_try_after;
  return single > Duration(0) && facts.route->interval >= single;
}

Reading classify_transaction(const Facts& facts, const WireReply& reply) {
  const PolicyChoice choice =
      facts.prepared == nullptr ? PolicyChoice::kBetter : facts.prepared->choice;
  const bool good = reply.end == WireEnd::kAnswered && reply.status / 100 == 2;
  const auto errors = good ? read_send_answer(reply.body) : std::vector<PduError>();
  const ItemNotes notes = read_notes(facts.notes);
  const TryFacts tried{.end = reply.end,
                       .status = reply.status,
                       .object = good && errors.has_value(),
                       .alone = facts.batch == nullptr || facts.batch->followers.empty(),
                       .refused_before = notes.failed_claim == claim_of(facts) ||
                                         notes.is_suspect() || is_looking(facts),
                       .was_aside = notes.is_suspect(),
                       .nothing_since = nothing_since(facts, notes),
                       .struck = notes.struck};
  Reading reading;
  reading.signal = verdict_of(choice, tried);
  reading.outcome = {.certainty = certainty_of(reply),
                     .failure = failure_of(reading.signal, reply),
                     .reason = reason_of(reply)};
  if (reading.signal == On::kAnswered && errors) reading.remarks = remarks_of(facts, *errors);
  if (reading.signal == On::kStillHeld) {
    const std::string* header = find_text(reply.headers, "retry-after");
    reading.retry_after = hold_of(header == nullptr ? "" : *header, reply.body, facts.wall);
  }
  const bool tried_in_vain = reading.signal == On::kFailed || reading.signal == On::kTimedOut;
  if (tried_in_vain && reply.end != WireEnd::kHeldBack && is_single_try(facts))
    reading.signal = On::kNoRoute;
  reading.splits = reading.signal == On::kStaleRoute;
  if (choice == PolicyChoice::kBetter) note_refusal(reading, facts, notes, reply.status);
  return reading;
}

}  // namespace

std::string transaction_id(const Facts& facts) {
  return to_string(facts.id()) + "-" + std::to_string(claim_of(facts));
}

Judgement judge(const Facts& facts) {
  const StateIndex state = facts.state.state;
  if (state == kQueued || state == kAsked) {
    if (facts.parsed == nullptr) return {On::kRejected, "the item cannot be read"};
    if (!facts.parsed->fault.empty()) return {On::kRejected, facts.parsed->fault};
  }
  if (facts.prepared == nullptr || facts.route == nullptr) return {};
  const bool claimed = state == kAgain || state == kHeld;
  if (claimed && facts.intent != nullptr && facts.now - facts.intent->at >= kClaimAgeMax)
    return {On::kStaleRoute, "receivers remember a transaction for a day only"};
  const bool asks = !facts.prepared->catch_up_url.empty() &&
                    facts.route->health == Health::kCatchUp && state == kQueued &&
                    facts.message.id.lane() == kEventLane && !facts.parsed->asked;
  if (asks) return {On::kNoRoute, ""};
  return {};
}

WireRequest encode(const Facts& facts, AttemptKind kind) {
  return kind == AttemptKind::kFindRoute ? encode_question(facts) : encode_transaction(facts);
}

Reading classify(const Facts& facts, AttemptKind kind, const WireReply& reply) {
  return kind == AttemptKind::kFindRoute ? classify_question(facts, reply)
                                         : classify_transaction(facts, reply);
}

Aftermath after(const Facts& facts, const Moment& moment) {
  Aftermath left;
  const bool delivered = moment.kind == Moment::Kind::kEnded && moment.end == kDelivered;
  if (delivered && facts.parsed != nullptr) left.position = facts.parsed->position;
  return left;
}

}  // namespace postrider::matrix
