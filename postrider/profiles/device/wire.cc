#include "postrider/profiles/device/wire.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"
#include "postrider/base/planted.h"
#include "postrider/profiles/device/mint.h"
#include "postrider/profiles/device/response.h"
#include "postrider/profiles/device/settings.h"
#include "postrider/profiles/device/table.h"
#include "postrider/protocols/calin/calin.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/protocols/grpc/grpc.h"
#include "postrider/protocols/meter/frame.h"
#include "postrider/protocols/web/http_text.h"

namespace postrider::device {
namespace {

constexpr std::string_view kCall = "CALL";
constexpr std::string_view kPublish = "PUBLISH";
constexpr std::size_t kSecretBytesMin = 4;        // a shorter one would hide half of every sentence
constexpr std::uint32_t kReplyBytes = 64 * 1024;  // of a vendor's answer
constexpr std::size_t kPayloadBytesMax = 1024;    // of one that nobody could read, as it is kept
// Gates of different kinds are told apart by the last bits of their names.
enum GateKind : std::uint8_t { kDevice = 1, kActs = 2, kEndpoint = 3 };
constexpr GateName kKindBits = 3;

GateName gate_of(GateKind kind, std::string_view text) {
  return (hash64(text, kind) & ~kKindBits) | kind;
}

// Zeros in front are padding: the same meter is written with and without them.
std::string_view device_key(std::string_view meter) {
  const std::size_t first = meter.find_first_not_of('0');
  return first == std::string_view::npos ? meter : meter.substr(first);
}

bool is_by_broker(const Facts& facts) {
  return wire_of(facts.destination) == Wire::kChirpstackMqtt;
}

std::string base_of(const Facts& facts) { return std::string(setting(facts.destination, "url")); }

void set_body(WireRequest& request, std::string_view bytes) {
  request.owner = Blob::copy_of(bytes);
  request.body = request.owner.view();
}

// Why the method cannot express a command, or nothing.
std::optional<std::string> unsendable(Wire wire, const Request& request) {
  const auto said = [](const auto& result) -> std::optional<std::string> {
    if (result) return std::nullopt;
    return result.error().detail;
  };
  switch (wire) {
    case Wire::kChirpstack:
    case Wire::kChirpstackMqtt:
      if (!chirpstack::dev_eui_of(request.meter)) return "the reference is no device address";
      return said(encode_request(request));
    case Wire::kCalinV1: return said(calin::create_call_v1({}, request));
    case Wire::kCalinV2: return said(calin::create_call_v2({}, request));
  }
  return std::nullopt;
}

chirpstack::QueueItem item_of(const Facts& facts) {
  const Request& request = command_of(facts).request;
  const auto eui = chirpstack::dev_eui_of(request.meter);
  const auto frame = encode_request(request);
  POSTRIDER_CHECK(eui.has_value() && frame.has_value());  // judge has seen to it
  return chirpstack::make_command(*eui, *frame, expiry_of(facts));
}

WireRequest call(const Facts& facts, std::string_view path, std::string_view message) {
  WireRequest request;
  request.verb = kCall;
  request.target = base_of(facts).append(path);
  const std::string_view key = setting(facts.destination, "api_key");
  if (!key.empty()) request.headers.add("authorization", "Bearer " + std::string(key));
  request.trust = setting(facts.destination, "trust");
  set_body(request, message);
  return request;
}

// By MQTT nobody tells why a command was not taken, so the server is asked for the device first.
WireRequest publish(const Facts& facts) {
  chirpstack::QueueItem item = item_of(facts);
  item.id = uuid_of(facts.id(), facts.now);
  WireRequest request;
  request.verb = kPublish;
  request.target = std::string(setting(facts.destination, "broker")) + ' ' +
                   chirpstack::command_topic(
                       {.application = std::string(setting(facts.destination, "application")),
                        .dev_eui = item.dev_eui});
  set_body(request, chirpstack::encode_downlink_command(item));
  request.first = std::make_shared<const WireRequest>(
      call(facts, chirpstack::kGetDevicePath, chirpstack::encode_get_device(item.dev_eui)));
  return request;
}

Result<calin::Call> vendor_call(const Facts& facts, AttemptKind kind) {
  const Request& request = command_of(facts).request;
  const std::string task = decode_notes(facts.notes).item;
  const bool first = wire_of(facts.destination) == Wire::kCalinV1;
  if (kind == AttemptKind::kSend)
    return first ? calin::create_call_v1(credentials_v1(facts), request)
                 : calin::create_call_v2(credentials_v2(facts), request);
  return first ? calin::poll_call_v1(credentials_v1(facts), request, task)
               : calin::poll_call_v2(credentials_v2(facts), request, task);
}

// The way of a queue may change while commands are at work: then the new far side cannot be asked
// about what the old one has. Without a target the question fails, until the command expires.
WireRequest unaskable() {
  WireRequest request;
  request.verb = "POST";
  return request;
}

struct Missing {  // why there was no answer
  FailureClass failure;
  bool sent;
  std::string_view reason;
};

std::optional<Missing> missing(const WireReply& reply) {
  switch (reply.end) {
    case WireEnd::kAnswered: return std::nullopt;
    case WireEnd::kRefused: return Missing{FailureClass::kConnect, false, "connection refused"};
    case WireEnd::kNoName:
      return Missing{FailureClass::kConnect, false, "the name does not resolve"};
    case WireEnd::kNoTls:
      return Missing{FailureClass::kConnect, false, "no trusted TLS connection"};
    case WireEnd::kForbidden:
      return Missing{FailureClass::kConnect, false, "the address is not allowed"};
    case WireEnd::kNoLogin: return Missing{FailureClass::kConnect, false, "the login failed"};
    case WireEnd::kHeldBack:
      return Missing{FailureClass::kHeldBack, false, "held back by our own limits"};
    case WireEnd::kTimedOut: return Missing{FailureClass::kTimeout, true, "no answer in time"};
    case WireEnd::kReset:
      return Missing{FailureClass::kTimeout, true, "cut off before the answer was whole"};
  }
  POSTRIDER_CHECK(false);  // a value outside the enum: memory is not to be trusted
  return std::nullopt;
}

Reading reading_of(On signal, Certainty certainty, FailureClass failure, std::string_view reason) {
  Reading out;
  out.signal = signal;
  out.outcome = {certainty, failure, std::string(reason)};
  return out;
}

SendReply send_reply_of(const Facts& facts, const WireReply& reply) {
  const std::string* found = find_text(reply.headers, "grpc-message");
  const std::string_view words = found == nullptr ? std::string_view() : *found;
  const grpc::Status status =
      grpc::parse_status(std::to_string(reply.status)).value_or(grpc::Status::kUnknown);
  if (reply.of_first) return chirpstack::read_get_device_reply(status, words);
  switch (wire_of(facts.destination)) {
    case Wire::kChirpstack:
      return chirpstack::read_enqueue_reply(status, words, grpc::encode_frame(reply.body));
    // The broker has it, and the server knows it by the name that we chose.
    case Wire::kChirpstackMqtt:
      return {.verdict = SendVerdict::kAccepted,
              .item = uuid_of(facts.id(), facts.intent->at),
              .reason = ""};
    case Wire::kCalinV1: return calin::read_create_v1(command_of(facts).request, answer_of(reply));
    case Wire::kCalinV2: return calin::read_create_v2(answer_of(reply));
  }
  return {};
}

Reading classify_send(const Facts& facts, const WireReply& reply) {
  if (missing(reply)) return unanswered_send(facts, reply);
  const SendReply said = send_reply_of(facts, reply);
  if (said.verdict != SendVerdict::kAccepted) return refused_send(facts, said);
  Notes notes = decode_notes(facts.notes);
  notes.turn_to(facts.state.attempts);
  Reading out = reading_of(On::kAccepted, Certainty::kAnswered, FailureClass::kNone, "");
  adopt_item(out, notes, said.item);
  // The broker has it; whether the server has it, too, is worth a look while that can be told.
  if (is_by_broker(facts) && is_careful(facts)) out.then = On::kPeerSeen;
  return out;
}

// An expiry that is not ours tells of another attempt. One that is missing tells of nothing: an old
// server forgets it.
bool expires_apart(std::optional<Timestamp> one, std::optional<Timestamp> other) {
  if (!one || !other) return false;
  const Duration apart = *one - *other;
  return apart >= 1s || apart <= -1s;
}

// The item of the current attempt: by its id, or, when nobody told us that, by what we sent. A
// device has one open attempt, so what others left in its queue is older than ours.
const chirpstack::QueueItem* find_item(const Facts& facts, const Notes& notes,
                                       const chirpstack::Queue& queue) {
  const std::string id = notes.item.empty() && is_by_broker(facts)
                             ? uuid_of(facts.id(), facts.intent->at)
                             : notes.item;
  chirpstack::QueueItem wanted = item_of(facts);
  wanted.expires_at = notes.expires.is_set() ? std::optional(notes.expires) : std::nullopt;
  const chirpstack::QueueItem* newest = nullptr;
  for (const chirpstack::QueueItem& item : queue.items) {
    if (!id.empty()) {
      if (item.id == id) return &item;
      continue;
    }
    const bool same = item.data == wanted.data && item.f_port == wanted.f_port &&
                      item.confirmed == wanted.confirmed;
    const bool others =
        (notes.was_of_earlier(item.id) || expires_apart(item.expires_at, wanted.expires_at)) &&
        !planted(Bug::kItemOfAnother);
    if (same && !others) newest = &item;
  }
  return newest;
}

Reading still_open(Duration again, std::string_view reason) {
  Reading out = reading_of(On::kTimedOut, Certainty::kAnswered, FailureClass::kNone, reason);
  out.retry_after = again;
  return out;
}

// By what the server was told when the attempt began: the setting may have changed since.
bool is_long_expired(const Facts& facts, const Notes& notes) {
  return notes.expires.is_set() && facts.wall - facts.doubt >= notes.expires + kExpiryMargin;
}

// A broker keeps commands for a server whose session is away, and nobody can ask it for them. Only
// what was seen at the server has left it when it is there no more.
bool may_be_at_broker(const Facts& facts, const Notes& notes) {
  return is_by_broker(facts) && !notes.seen && !planted(Bug::kUnseenIsAbsence);
}

// From now on it is looked for at the pace of what waits at the server; until the broker has
// acknowledged it, at that of a question that is open.
Reading still_at_broker(const Facts& facts, const Notes& notes) {
  const bool acknowledged = facts.state.state != kCheckSend;
  Reading out = acknowledged
                    ? reading_of(On::kStillHeld, Certainty::kAnswered, FailureClass::kNone, "")
                    : still_open(kExpiryMargin, "");
  out.notes = encode_notes(notes);
  return out;
}

Reading item_absent(const Facts& facts, Notes notes) {
  if (!is_careful(facts) || planted(Bug::kOneLookIsAbsence))
    return closed(facts, std::move(notes), Proof::kAbsent, "the server has it no more");
  if (is_long_expired(facts, notes))
    return closed(facts, std::move(notes), Proof::kExpired, "its expiry has passed");
  if (!notes.absent_since.is_set()) notes.absent_since = facts.now;
  // From when we heard of the first look to when we asked for the second: an answer may lie about
  // for a while before we come to read it.
  const Timestamp second = notes.absent_since + kLooksApart;
  if (facts.state.since >= second && may_be_at_broker(facts, notes))
    return still_at_broker(facts, notes);
  if (facts.state.since >= second && !notes.stranger)
    return closed(facts, std::move(notes), Proof::kAbsent, "the server has it no more");
  // With a stranger about, only the expiry proves anything.
  Reading out =
      still_open(notes.stranger ? kExpiryMargin : std::max(second - facts.now, Duration(0)), "");
  out.notes = encode_notes(notes);
  return out;
}

Reading classify_look(const Facts& facts, const WireReply& reply) {
  Notes notes = decode_notes(facts.notes);
  notes.turn_to(facts.state.attempts);
  const auto none = missing(reply);
  const auto queue = none || reply.status != 0
                         ? Result<chirpstack::Queue>(fail(ErrorCode::kUnavailable, ""))
                         : chirpstack::decode_get_queue_response(reply.body);
  if (!queue) {
    if (planted(Bug::kFailedLookIsAbsence)) return item_absent(facts, std::move(notes));
    // A look that failed says nothing about the item.
    if (is_long_expired(facts, notes))
      return closed(facts, std::move(notes), Proof::kExpired, "its expiry has passed");
    return reading_of(On::kTimedOut, Certainty::kUnknown,
                      none ? none->failure : FailureClass::kServer,
                      none ? none->reason : "the server could not tell its queue");
  }
  const chirpstack::QueueItem* item = find_item(facts, notes, *queue);
  if (item == nullptr) return item_absent(facts, std::move(notes));
  Reading out = reading_of(On::kStillHeld, Certainty::kAnswered, FailureClass::kNone, "");
  notes.absent_since = Timestamp();
  notes.seen = true;
  out.adopted = notes.item.empty();
  if (out.adopted) {
    adopt_item(out, notes, item->id);
  } else {
    out.notes = encode_notes(notes);
  }
  return out;
}

// The far side may repeat what we told it.
void hide_secrets(const Facts& facts, std::string& reason) {
  if (reason.empty()) return;
  const std::string& token = command_of(facts).request.token;
  reason = without(std::move(reason), token, masked_token(token));
  for (const std::string_view name : {"vend_password", "password", "api_key"}) {
    const std::string_view secret = setting(facts.destination, name);
    if (secret.size() >= kSecretBytesMin) reason = without(std::move(reason), secret, "…");
  }
}

Reading classify_poll(const Facts& facts, const WireReply& reply) {
  if (const auto none = missing(reply)) {
    // The vendor is not to blame for what it was not asked.
    if (reply.end == WireEnd::kNoName && !vendor_call(facts, AttemptKind::kProbe))
      return reading_of(On::kFailed, Certainty::kUnknown, FailureClass::kServer,
                        "it was handed over by another way");
    return reading_of(On::kFailed, Certainty::kUnknown, none->failure, none->reason);
  }
  Notes notes = decode_notes(facts.notes);
  const DeviceMessage& command = command_of(facts);
  const PollReply said = wire_of(facts.destination) == Wire::kCalinV1
                             ? calin::read_poll_v1(command.request, notes.item, answer_of(reply))
                             : calin::read_poll_v2(command.request, answer_of(reply));
  switch (said.verdict) {
    case PollVerdict::kPending:
      return reading_of(On::kStillHeld, Certainty::kAnswered, FailureClass::kNone, said.reason);
    case PollVerdict::kAnswered: {
      std::string payload = said.response.reason == kUndecodable ? reply.body : std::string();
      hide_secrets(facts, payload);
      return answered_with(notes, command.request, said.response,
                           marked_excerpt(payload, kPayloadBytesMax));
    }
    case PollVerdict::kRejected: {
      notes.refused = is_token(command.request.command);
      Reading out =
          reading_of(On::kRejected, Certainty::kAnswered, FailureClass::kRejected, said.reason);
      notes.close(facts.state.attempts, Proof::kNotTaken);
      out.notes = encode_notes(notes);
      return out;
    }
    case PollVerdict::kError:
    case PollVerdict::kMismatched:
    case PollVerdict::kLoginNeeded: break;
  }
  Reading out = reading_of(On::kFailed, Certainty::kAnswered, FailureClass::kServer, said.reason);
  out.mismatched = said.verdict == PollVerdict::kMismatched;
  return out;
}

}  // namespace

calin::CredentialsV1 credentials_v1(const Facts& facts) {
  return {.company = std::string(setting(facts.destination, "company")),
          .user = std::string(setting(facts.destination, "user")),
          .password = std::string(setting(facts.destination, "password"))};
}

calin::CredentialsV2 credentials_v2(const Facts& facts) {
  return {.user = std::string(setting(facts.destination, "user")),
          .password = std::string(setting(facts.destination, "password")),
          .company = std::string(setting(facts.destination, "company")),
          .customer = std::string(setting(facts.destination, "customer"))};
}

WireRequest post(const Facts& facts, const calin::Call& made) {
  WireRequest request;
  request.verb = "POST";
  request.target = base_of(facts).append(made.path);
  request.headers.add("content-type", "application/json");
  request.trust = setting(facts.destination, "trust");
  request.reply_bytes = kReplyBytes;
  request.once = true;
  set_body(request, made.body);
  if (wire_of(facts.destination) != Wire::kCalinV2) return request;
  const calin::Call login = calin::login_call_v2(credentials_v2(facts));
  request.login = std::make_shared<const LoginCall>(LoginCall{
      .key = base_of(facts).append(" ").append(setting(facts.destination, "user")),
      .target = base_of(facts).append(login.path),
      .body = login.body,
      .read = [](int status, std::string_view content_type,
                 std::string_view body) -> Result<LoginToken> {
        POSTRIDER_TRY(read, calin::read_login_v2(
                                {.status = status, .content_type = content_type, .body = body}));
        return LoginToken{.authorization = calin::authorization(read),
                          .expires_at = read.expires_at};
      }});
  return request;
}

calin::HttpAnswer answer_of(const WireReply& reply) {
  const std::string* type = find_text(reply.headers, "content-type");
  return {.status = reply.status,
          .content_type = type == nullptr ? std::string_view() : std::string_view(*type),
          .body = reply.body};
}

Reading unanswered_send(const Facts& facts, const WireReply& reply) {
  const auto none = missing(reply);
  POSTRIDER_CHECK(none.has_value());
  if (none->sent && !reply.of_first)
    return reading_of(On::kTimedOut, Certainty::kUnknown, none->failure, none->reason);
  Notes notes = decode_notes(facts.notes);
  notes.turn_to(facts.state.attempts);
  Reading out = closed(facts, std::move(notes), Proof::kNotTaken, none->reason);
  out.outcome.certainty = Certainty::kNotSent;
  out.outcome.failure = none->failure;
  return out;
}

Reading refused_send(const Facts& facts, const SendReply& said) {
  // It settles nothing, but there was an answer: the way to the far side is good.
  if (said.verdict == SendVerdict::kUnknown)
    return reading_of(On::kTimedOut, Certainty::kUnknown, FailureClass::kServer, said.reason);
  Notes notes = decode_notes(facts.notes);
  notes.turn_to(facts.state.attempts);
  if (said.verdict == SendVerdict::kRejected) {
    notes.close(facts.state.attempts, Proof::kNotTaken);
    notes.refused = !is_push(facts) && is_careful(facts);
    Reading out =
        reading_of(On::kRejected, Certainty::kAnswered, FailureClass::kRejected, said.reason);
    out.notes = encode_notes(notes);
    return out;
  }
  Reading out = closed(facts, std::move(notes), Proof::kNotTaken, said.reason);
  out.outcome.failure = FailureClass::kServer;
  out.alarm = said.verdict == SendVerdict::kFailedAlarm;
  return out;
}

Gate endpoint_gate(std::string_view url, const Policy& policy) {
  const GateName name = gate_of(kEndpoint, url);
  return {.name = name, .limits = gate_limits(name, policy)};
}

bool is_push(const Facts& facts) { return way_of(wire_of(facts.destination)) == Way::kPush; }

bool is_careful(const Facts& facts) {
  return facts.state.method != method_of(Way::kPush, Repeat::kFree) &&
         facts.state.method != method_of(Way::kPull, Repeat::kFree);
}

GateName device_gate(std::string_view meter) { return gate_of(kDevice, device_key(meter)); }

std::optional<Timestamp> expiry_of(const Facts& facts) {
  if (setting(facts.destination, "server_expiry", "true") == "false" || facts.intent == nullptr)
    return std::nullopt;
  Duration life = expires_after(facts.destination);
  if (facts.message.expires.is_set())
    life = std::min(life, facts.message.expires - facts.intent->at);
  return facts.intent->wall + life;
}

void adopt_item(Reading& reading, Notes& notes, std::string_view item) {
  notes.item = item;
  notes.absent_since = Timestamp();  // what was looked for before was not this
  reading.notes = encode_notes(notes);
  reading.names.push_back({"item", std::string(item)});
}

Reading closed(const Facts& facts, Notes notes, Proof proof, std::string_view reason) {
  Reading out = reading_of(On::kFailed, Certainty::kAnswered, FailureClass::kOther, reason);
  notes.close(facts.state.attempts, proof);
  out.notes = encode_notes(notes);
  out.closes = true;
  return out;
}

Result<std::optional<Content>> read(std::string_view body, std::string_view attributes) {
  POSTRIDER_TRY(makes_token, says_mint(attributes));
  if (makes_token) {
    POSTRIDER_TRY(mint, parse_mint(body));
    return std::optional<Content>(std::move(mint));
  }
  POSTRIDER_TRY(command, parse_device_message(body));
  return std::optional<Content>(std::move(command));
}

Result<Admission> admit(const Offer& offer) {
  if (is_mint(offer)) return admit_mint(offer);
  const DeviceMessage& command = command_of(offer);
  const std::string_view plugin = setting(offer.destination, "plugin");
  if (command.plugin != plugin)
    return fail(ErrorCode::kInvalid,
                "pluginId: this queue is of the plugin '" + std::string(plugin) + "'");
  const Wire wire = wire_of(offer.destination);
  if (const auto why = unsendable(wire, command.request)) return fail(ErrorCode::kInvalid, *why);
  const bool act = is_act(command.request.command);
  const std::string device(device_key(command.request.meter));
  Admission out;
  out.method = method_of(way_of(wire), repeat_of(offer.destination, command.request.command));
  out.gates[0] = {.name = device_gate(device),
                  .limits = gate_limits(device_gate(device), offer.policy)};
  if (act) {
    const GateName name =
        gate_of(kActs, device + '/' + std::string(name_of(command.request.phase)));
    out.gates[1] = {.name = name, .limits = gate_limits(name, offer.policy), .lasting = true};
  }
  if (way_of(wire) == Way::kPull)
    out.gates[2] = endpoint_gate(setting(offer.destination, "url"), offer.policy);
  if (!command.supersede.empty()) out.supersedes = device + '\n' + command.supersede;
  return out;
}

GateLimits gate_limits(GateName name, const Policy& policy) {
  const bool push = policy.poll.steps_used == 0;
  GateLimits out;
  const auto count = [&](std::uint16_t classes) {
    out.strikes_max = policy.health.strikes_max;
    out.strikes_on = classes;
    out.closed_base = policy.health.wait_base;
    out.closed_max = policy.health.wait_max;
  };
  switch (name & kKindBits) {
    case kDevice:
      out.in_use_max = 1;
      if (push) count(strike_on(FailureClass::kOther));
      break;
    case kActs: out.in_use_max = 1; break;
    case kEndpoint:
      count(strike_on(FailureClass::kConnect) | strike_on(FailureClass::kTimeout));
      out.relents = true;
      break;
    default: break;
  }
  return out;
}

GateWords gate_words(GateName name) {
  switch (name & kKindBits) {
    case kDevice:
      return {.busy = "device busy: another attempt at it is open",
              .closed = "hold-off: the device did not answer several times in a row"};
    case kActs:
      return {.busy = "device busy: an earlier act for it has not ended", .closed = "hold-off"};
    default:
      return {.busy = "breaker: one call decides whether the vendor is back",
              .closed = "breaker: the vendor could not be reached several times in a row"};
  }
}

Judgement judge(const Facts& facts) {
  if (is_mint(facts)) return judge_mint(facts);
  const DeviceMessage& command = command_of(facts);
  const Request& request = command.request;
  // It could be sent by the way that its queue had when it was accepted.
  if (auto why = unsendable(wire_of(facts.destination), request))
    return {On::kRejected, std::move(*why)};
  // Whoever handed it in beside the public contract, or again, may have told the engine no expiry.
  if (command.expires_at && facts.wall - facts.doubt >= *command.expires_at)
    return {On::kExpired, "its expiry has passed"};
  const bool late = facts.age() >= kSetTimeLife;
  if (request.command == Command::kSetTime && late)
    return {On::kExpired, "the clock would be set wrong by now"};
  return {};
}

WireRequest encode(const Facts& facts, AttemptKind kind) {
  if (is_mint(facts)) return encode_mint_call(facts);
  const bool asks = kind != AttemptKind::kSend;
  if (!is_push(facts)) {
    const auto made = vendor_call(facts, kind);
    POSTRIDER_CHECK(asks || made.has_value());  // judge has seen to it
    return made ? post(facts, *made) : unaskable();
  }
  if (asks) {
    const Request& request = command_of(facts).request;
    if (unsendable(wire_of(facts.destination), request)) return unaskable();
    const auto eui = chirpstack::dev_eui_of(request.meter);
    return call(facts, chirpstack::kGetQueuePath, chirpstack::encode_get_queue(*eui));
  }
  if (wire_of(facts.destination) == Wire::kChirpstackMqtt) return publish(facts);
  return call(facts, chirpstack::kEnqueuePath, chirpstack::encode_enqueue(item_of(facts)));
}

Reading classify(const Facts& facts, AttemptKind kind, const WireReply& reply) {
  if (is_mint(facts)) return classify_mint(facts, reply);
  Reading out = kind == AttemptKind::kSend ? classify_send(facts, reply)
                : is_push(facts)           ? classify_look(facts, reply)
                                           : classify_poll(facts, reply);
  hide_secrets(facts, out.outcome.reason);
  return out;
}

}  // namespace postrider::device
