// Operations of sessions: calls, questions and cancels on their way through the engine, and the
// ends that are told.
#include <algorithm>
#include <utility>

#include "postrider/base/check.h"
#include "postrider/base/codec.h"
#include "postrider/model/attributes.h"
#include "postrider/profiles/rpc/call_attributes.h"
#include "postrider/profiles/rpc/settings.h"
#include "postrider/profiles/rpc/station.h"

namespace postrider::rpc {
namespace {

std::string hex_of(const SessionId& session) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : session) {
    out.push_back(kDigits[byte >> 4U]);
    out.push_back(kDigits[byte & 15U]);
  }
  return out;
}

// A number is bound to the method and its arguments, not to how long the handler may take.
std::string said_by(const CallFrame& call) {
  std::string said;
  Writer(said)
      .text("rpc call")
      .text(call.service)
      .text(call.method)
      .text(call.content_type)
      .raw(call.arguments);
  return said;
}

bool is_shut(AnswerCode code) {
  return code == AnswerCode::kBusy || code == AnswerCode::kUnavailable;
}

bool is_live(Phase phase) {
  switch (phase) {
    case Phase::kQueued:
    case Phase::kInFlight:
    case Phase::kAwaiting:
    case Phase::kBackoff:
    case Phase::kParked: return true;
    case Phase::kDelivered:
    case Phase::kDead:
    case Phase::kExpired:
    case Phase::kCancelled:
    case Phase::kIndeterminate: return false;
  }
  POSTRIDER_CHECK(false);
}

}  // namespace

bool RpcStation::take_call(Peer& peer, CallFrame&& frame, Call& call) {
  ++counts_.calls;
  if (frame.number > peer.highest && frame.number - peer.highest > kNumbersAhead)
    return fault(peer, FaultCode::kNumber,
                 "the highest number of the session is " + std::to_string(peer.highest), call);
  peer.highest = std::max(peer.highest, frame.number);
  const std::uint64_t number = frame.number;
  if (frame.arguments.size() > setup_.arguments_bytes_max) {
    send(peer, outcome_of(number, OutcomeKind::kBadArguments, "the arguments are too large"));
    return true;
  }
  const std::size_t open = peer.watches.size() + peer.backlog.size() + peer.under_way;
  if (open >= setup_.calls_max && !peer.watches.contains(number)) {
    send(peer, outcome_of(number, OutcomeKind::kBusy, "as many operations are watched as may be"));
    return true;
  }
  Request request;
  request.number = number;
  // Where its method may not run twice, an absent operation of another epoch is not begun: what is
  // not written down may have been done then.
  const bool careful =
      !frame.policy.persist && !frame.policy.idem && frame.first_epoch != epoch_;
  request.stage = careful ? Request::Stage::kLook : Request::Stage::kSubmit;
  request.call = std::move(frame);
  push(peer, std::move(request));
  return true;
}

bool RpcStation::take_query(Peer& peer, const QueryFrame& frame, Call& call) {
  ++counts_.queries;
  if (peer.watches.size() >= 2 * std::size_t{setup_.calls_max})
    return fault(peer, FaultCode::kUnexpected, "far more operations than calls_max are watched",
                 call);
  push(peer, {.kind = Request::Kind::kQuery,
              .stage = Request::Stage::kLook,
              .watch = frame.watch,
              .number = frame.number});
  return true;
}

bool RpcStation::take_cancel(Peer& peer, const CancelFrame& frame, Call& call) {
  ++counts_.cancels;
  if (frame.mode == CancelMode::kCancel) {
    push(peer, {.kind = Request::Kind::kCancel,
                .stage = Request::Stage::kLook,
                .number = frame.number});
    return true;
  }
  const auto found = peer.watches.extract(frame.number);
  if (found.empty()) return true;
  const Watch& watch = found.mapped();
  if (watch.released)
    orphan({peer.session, frame.number}, {watch.id, watch.service, call.boot}, call);
  return true;
}

// All that left before the PING has been read.
bool RpcStation::take_pong(Peer& peer, const PongFrame& frame) {
  if (!peer.measuring || frame.nonce != peer.generation) return true;
  peer.measuring = false;
  peer.unconfirmed = 0;
  constexpr std::size_t kAtOnce = 16;
  for (std::size_t i = 0; i < kAtOnce && !peer.later.empty(); ++i)
    want_await(peer, peer.later.extract(peer.later.begin()).value());
  return true;
}

void RpcStation::push(Peer& peer, Request&& request) {
  request.order = ++peer.last_order;
  request.watched = peer.watches.contains(request.number);
  peer.backlog_bytes += request.call.arguments.size();
  peer.backlog.push_back(std::move(request));
  busy_.insert(peer.line.value());
}

// In its place, and nothing of this attachment is asked for a while: a call that goes before one
// with a lower number would make that one expired.
void RpcStation::put_back(Peer& peer, Request&& request, Call& call) {
  if (peer.not_before <= call.boot) {
    peer.not_before = call.boot + kAskAgain;
    agenda_.emplace(peer.not_before,
                    Due{.what = Due::What::kRequest, .line = peer.line.value()});
  }
  peer.backlog_bytes += request.call.arguments.size();
  const auto behind = std::find_if(peer.backlog.begin(), peer.backlog.end(),
                                   [&](const Request& one) { return one.order > request.order; });
  peer.backlog.insert(behind, std::move(request));
}

// Attachments take turns; each goes on until it has its share under way.
void RpcStation::pump(Call& call) {
  for (std::size_t idle = 0; idle < busy_.size() && under_way_ < kRequestsMax;) {
    auto next = busy_.upper_bound(served_);
    if (next == busy_.end()) next = busy_.begin();
    served_ = *next;
    Peer& peer = peers_.at(served_);
    idle = pump_one(peer, call) ? 0 : idle + 1;
    if (peer.backlog.empty()) busy_.erase(served_);
  }
  for (const std::uint64_t line : busy_) {
    Peer& peer = peers_.at(line);
    const bool full =
        peer.backlog.size() > kBacklogMax || peer.backlog_bytes > kBacklogBytesMax;
    if (full && !std::exchange(peer.held, true))
      call.wanted.emplace_back(station::HoldLine{peer.line, true});
  }
  pump_awaits(call);
}

// False: it has to wait for an answer.
bool RpcStation::pump_one(Peer& peer, Call& call) {
  if (peer.backlog.empty() || peer.under_way >= kRequestsOfOneMax) return false;
  if (call.boot < peer.not_before) return false;
  Request& next = peer.backlog.front();
  const bool submits = next.kind == Request::Kind::kCall;
  if (submits && peer.submits > 0 && peer.service != next.call.service) return false;
  if (submits) {
    ++peer.submits;
    peer.service = next.call.service;
  }
  peer.backlog_bytes -= next.call.arguments.size();
  ++peer.under_way;
  Request request = std::move(next);
  peer.backlog.pop_front();
  ask(peer, std::move(request), call);
  if (peer.held && peer.backlog.size() <= kBacklogMax / 2 &&
      peer.backlog_bytes <= kBacklogBytesMax / 2) {
    peer.held = false;
    call.wanted.emplace_back(station::HoldLine{peer.line, false});
  }
  return true;
}

void RpcStation::pump_awaits(Call& call) {
  while (awaits_ < kAwaitsMax && !unwatched_.empty()) {
    const auto [line, number] = unwatched_.front();
    unwatched_.pop_front();
    Peer* const peer = find(line);
    if (peer == nullptr || peer->leaving) continue;
    const auto watch = peer->watches.find(number);
    if (watch == peer->watches.end()) continue;
    Await event;
    event.id = watch->second.id;
    event.at_most = kAwaitFor;
    watch->second.awaited = Token(last_token_ + 1);
    ++awaits_;
    post({.what = Pending::What::kAwait, .line = line, .number = number}, std::move(event), call);
  }
}

void RpcStation::ask(Peer& peer, Request&& request, Call& call) {
  ++under_way_;
  Event event = event_of(peer, request);
  const std::uint64_t line = peer.line.value();
  post({.what = Pending::What::kRequest,
        .line = line,
        .session = peer.session,
        .request = std::move(request)},
       std::move(event), call);
}

OperationKey RpcStation::key_of(const Peer& peer, std::uint64_t number) const {
  OperationKey key;
  key.kind = OperationKey::Kind::kSequenced;
  key.scope = peer.principal.tenant;
  key.key = hex_of(peer.session);
  key.made = peer.begun;
  key.sequence = number;
  return key;
}

Event RpcStation::event_of(const Peer& peer, const Request& request) const {
  if (request.stage == Request::Stage::kLook || request.stage == Request::Stage::kExplain) {
    Query query;
    const bool looks = request.stage == Request::Stage::kLook;
    query.what = looks ? Query::What::kOperation : Query::What::kExplain;
    if (looks) query.key = key_of(peer, request.number);
    query.id = request.id;
    return query;
  }
  if (request.stage == Request::Stage::kCancel) {
    Cancel cancel;
    cancel.caller.actor = peer.principal.actor;
    cancel.id = request.id;
    return cancel;
  }
  const CallFrame& call = request.call;
  Submit submit;
  submit.caller.key = key_of(peer, request.number);
  submit.caller.said = said_by(call);
  submit.caller.actor = peer.principal.actor;
  submit.destination = call.service;
  NamedTexts attributes = {
      {std::string(kMethodAttribute), call.method},
      {std::string(kOperationAttribute),
       submit.caller.key.key + "-" + std::to_string(request.number)},
      {std::string(kPrincipalAttribute), peer.principal.tenant},
      {std::string(kExpectsAttribute), std::to_string(bits_of(call.policy))},
  };
  if (call.time_ms != 0)
    attributes.emplace_back(std::string(kTimeAttribute), std::to_string(call.time_ms));
  if (!call.content_type.empty())
    attributes.emplace_back(std::string(kContentTypeAttribute), call.content_type);
  submit.attributes = encode_texts(attributes);
  submit.body = call.arguments;
  return submit;
}

void RpcStation::answered(Pending&& pending, const Answer& answer, Call& call) {
  --under_way_;
  Request& request = pending.request;
  const bool submitted_here =
      request.kind == Request::Kind::kCall && request.stage == Request::Stage::kSubmit;
  Peer* const peer = find(pending.line);
  if (peer == nullptr || peer->leaving) {
    // Its caller has gone meanwhile, or is fenced.
    const bool begun = submitted_here && answer.code == AnswerCode::kAccepted && !answer.replayed;
    if (begun && !request.call.policy.persist)
      orphan({pending.session, request.number},
             {answer.id, std::move(request.call.service), call.boot}, call);
    return;
  }
  --peer->under_way;
  if (request.kind == Request::Kind::kCall) --peer->submits;
  // Of a submit that was refused at the door nothing happened; whether one happened that was
  // interrupted is asked with its key.
  const bool again =
      submitted_here ? answer.code == AnswerCode::kUnavailable : is_shut(answer.code);
  if (again) return put_back(*peer, std::move(request), call);
  switch (request.stage) {
    case Request::Stage::kLook: return looked(*peer, std::move(request), answer, call);
    case Request::Stage::kSubmit: return submitted(*peer, std::move(request), answer, call);
    case Request::Stage::kCancel:
      request.stage = Request::Stage::kExplain;
      ++peer->under_way;
      return ask(*peer, std::move(request), call);
    case Request::Stage::kExplain: return explained(*peer, std::move(request), answer, call);
  }
}

void RpcStation::looked(Peer& peer, Request&& request, const Answer& answer, Call& call) {
  const std::uint64_t number = request.number;
  const bool calls = request.kind == Request::Kind::kCall;
  if (answer.code == AnswerCode::kNotFound) {
    return send(peer, calls ? outcome_of(number, OutcomeKind::kIndeterminate,
                                         "it was sent first in another epoch, and nothing is known "
                                         "of it; it will not be tried again")
                            : outcome_of(number, OutcomeKind::kAbsent, "it has not been called"));
  }
  if (!calls && !answer.id.is_set()) return send(peer, outcome_of_refusal(number, answer));
  request.id = answer.id;
  if (calls) {
    request.stage = Request::Stage::kSubmit;
    ++peer.submits;
  } else {
    request.stage = request.kind == Request::Kind::kCancel ? Request::Stage::kCancel
                                                           : Request::Stage::kExplain;
  }
  ++peer.under_way;
  ask(peer, std::move(request), call);
}

void RpcStation::submitted(Peer& peer, Request&& request, const Answer& answer, Call& call) {
  if (!answer.id.is_set()) {
    send(peer, outcome_of_refusal(request.number, answer));
    // Of a number above all others that is said when the session's own record is gone: keys are
    // remembered for a shorter time than usual.
    if (answer.code == AnswerCode::kKeyExpired && request.number == peer.highest &&
        call.boot - peer.used >= kWriteDown) {
      mark(peer, MarkKind::kEnd, call);
      bye(peer, ByeReason::kIdle, "the records of the session are gone", call);
    }
    return;
  }
  request.id = answer.id;
  if (answer.replayed) {
    request.repeated = true;
    request.stage = Request::Stage::kExplain;
    ++peer.under_way;
    ++peer.submits;  // `answered` takes it back
    return ask(peer, std::move(request), call);
  }
  ++counts_.admitted;
  peer.used = call.boot;
  note_use(peer, false, call);
  peer.watches.erase(request.number);  // admitted once more: the former end is told no longer
  watch(peer, request, Origin::kFirst, true);
  send(peer, AdmittedFrame{request.number, LiveState::kQueued, Origin::kFirst});
}

void RpcStation::explained(Peer& peer, Request&& request, const Answer& answer, Call& /*call*/) {
  const auto* const explanation = std::get_if<Explanation>(&answer.view);
  const bool lives = explanation != nullptr && is_live(explanation->phase);
  if (lives) {
    const bool runs = explanation->phase == Phase::kInFlight;
    send(peer, AdmittedFrame{request.number, runs ? LiveState::kRunning : LiveState::kQueued,
                             Origin::kAttached});
  }
  const bool told = request.watched && !peer.watches.contains(request.number);
  if (!lives && told) return;
  if (!lives || request.watch) watch(peer, request, Origin::kAttached, lives);
}

// From now on the end is told; of an operation that has ended, at once.
void RpcStation::watch(Peer& peer, const Request& request, Origin origin, bool lives) {
  const auto [at, added] = peer.watches.try_emplace(request.number);
  Watch& watch = at->second;
  if (!added) {
    watch.lived |= lives;
    return;
  }
  watch.id = request.id;
  watch.origin = origin;
  watch.lived = lives;
  watch.repeated = request.repeated;
  if (request.kind == Request::Kind::kCall && !request.call.policy.persist) {
    watch.released = true;
    watch.service = request.call.service;
  }
  if (const auto orphan = orphans_.extract({peer.session, request.number}); !orphan.empty()) {
    watch.released = true;
    watch.service = std::move(orphan.mapped().service);
  }
  want_await(peer, request.number);
}

void RpcStation::want_await(Peer& peer, std::uint64_t number) {
  unwatched_.emplace_back(peer.line.value(), number);
}

void RpcStation::awaited(Peer& peer, std::uint64_t number, const Answer& answer, Call& call) {
  const auto found = peer.watches.find(number);
  if (answer.code == AnswerCode::kPending) return want_await(peer, number);
  if (is_shut(answer.code)) {
    agenda_.emplace(call.boot + kAskAgain, Due{.what = Due::What::kAwait,
                                               .line = peer.line.value(),
                                               .orphan = {peer.session, number}});
    return;
  }
  // The far side reads slowly: the outcome is asked for again when it has read what is on its way.
  if (peer.unconfirmed >= kUnconfirmedBytesMax) {
    found->second.awaited = {};
    peer.later.insert(number);
    return;
  }
  const Watch watch = std::move(found->second);
  peer.watches.erase(found);
  EndOf what{.number = number, .origin = watch.origin};
  if (watch.origin != Origin::kFirst && answer.replayed && !watch.lived) {
    what.origin = Origin::kReplayed;
    what.repeated = watch.repeated;
  }
  tell_outcome(peer, outcome_of_end(what, answer));
}

void RpcStation::tell_outcome(Peer& peer, OutcomeFrame&& frame) {
  ++counts_.outcomes;
  peer.unconfirmed += frame.body.size() + kLengthBytes;
  send(peer, frame);
  if (peer.unconfirmed >= kUnconfirmedBytesMax) {
    if (!std::exchange(peer.measuring, true)) send(peer, PingFrame{peer.generation});
  } else if (!peer.later.empty() && !peer.measuring) {
    want_await(peer, peer.later.extract(peer.later.begin()).value());
  }
}

// Nobody watches it any more: it is given up when nobody asks within the grace of its service.
void RpcStation::orphan(const OrphanKey& key, Orphan&& orphan, Call& call) {
  if (orphans_.size() >= kOrphansMax && !orphans_.contains(key)) return give_up(orphan, call);
  const std::string service = orphan.service;
  orphans_.insert_or_assign(key, std::move(orphan));
  if (!asked_services_.insert(service).second) return;
  Query query;
  query.what = Query::What::kDestination;
  query.destination = service;
  post({.what = Pending::What::kService, .service = service}, std::move(query), call);
}

void RpcStation::learn_grace(const std::string& service, const Answer& answer) {
  asked_services_.erase(service);
  Duration grace = kGraceUsual;
  if (const auto* view = std::get_if<DestinationView>(&answer.view)) {
    if (const auto read = parse_service(view->config.settings)) grace = read->grace;
  }
  for (auto& [key, orphan] : orphans_) {
    if (orphan.service != service || orphan.due.is_set()) continue;
    orphan.due = orphan.since + grace;
    agenda_.emplace(orphan.due, Due{.what = Due::What::kOrphan, .orphan = key});
  }
}

void RpcStation::give_up(const Orphan& orphan, Call& call) {
  ++counts_.given_up;
  Cancel cancel;
  cancel.caller.actor = "the callers have gone";
  cancel.id = orphan.id;
  call.wanted.emplace_back(station::Post{{}, std::move(cancel)});
}

}  // namespace postrider::rpc
