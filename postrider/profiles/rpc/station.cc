#include "postrider/profiles/rpc/station.h"

#include <algorithm>
#include <array>
#include <utility>

namespace postrider::rpc {
namespace {

constexpr std::size_t kGreetersMax = 64;           // beyond the attachments
constexpr std::size_t kFrameRoom = std::size_t{64} << 10;  // beside the arguments
constexpr std::uint64_t kWriteDownNumbers = kNumbersAhead / 2;

Nearness nearness_of(std::string_view listener, std::string_view peer) {
  if (listener.starts_with("unix:")) return Nearness::kSocket;
  const bool loopback = peer.starts_with("127.") || peer.starts_with("[::1]");
  return loopback ? Nearness::kMachine : Nearness::kElsewhere;
}

constexpr std::array<std::string_view, 9> kFaultFigures = {
    "",
    "rpc frames malformed",
    "rpc frames too long",
    "rpc frames of no type",
    "rpc frames of another version",
    "rpc frames unexpected",
    "rpc numbers far ahead",
    "rpc items without credit",
    "rpc faults of ours",
};

}  // namespace

void RpcStation::on(const StationNow& now, const station::Happened& happened, Wants& wanted) {
  Call call{now, now.instant.boot, wanted};
  if (const auto* epoch = std::get_if<station::NewEpoch>(&happened)) {
    begin_epoch(epoch->epoch, call);
  } else if (const auto* open = std::get_if<station::LineOpened>(&happened)) {
    opened(*open, call);
  } else if (const auto* bytes = std::get_if<station::LineTook>(&happened)) {
    took(*bytes, call);
  } else if (const auto* over = std::get_if<station::LineClosed>(&happened)) {
    closed(over->line, call);
  } else if (const auto* answer = std::get_if<station::Told>(&happened)) {
    told(*answer, call);
  } else if (const auto* start = std::get_if<station::Started>(&happened)) {
    // No request has this verb.
    wanted.emplace_back(
        station::Post{{}, AttemptEnded{start->attempt, {.end = WireEnd::kRefused}}});
  } else if (std::holds_alternative<station::DeadlineReached>(happened)) {
    deadlines(call);
  }
  finish(call);
}

// What was posted before may have happened or not. The clients resume, and ask for what is open.
void RpcStation::begin_epoch(Epoch epoch, Call& call) {
  epoch_ = epoch.value();
  pending_.clear();
  asked_services_.clear();
  unwatched_.clear();
  under_way_ = awaits_ = 0;
  for (auto& [line, peer] : peers_) {
    if (peer.leaving) continue;
    if (peer.step == Step::kAttached) {
      bye(peer, ByeReason::kLeaving, "the server begins a new epoch", call);
    } else if (peer.step == Step::kAttaching) {
      refuse(peer, Refusal::kUnavailable, "the server begins a new epoch; come again", call);
    }
  }
  for (auto& [key, one] : orphans_) {
    if (!one.due.is_set()) orphan(key, Orphan(one), call);
  }
  listen(call);
}

void RpcStation::listen(Call& call) {
  for (std::size_t i = 0; i < setup_.listen.size(); ++i) {
    const bool open = std::any_of(listeners_.begin(), listeners_.end(),
                                  [i](const auto& one) { return one.second == i; });
    if (open) continue;
    const LineId line(++last_line_);
    listeners_[line.value()] = i;
    LineOrder order;
    order.address = setup_.listen[i];
    order.listens = true;
    if (order.address.starts_with("tls://")) order.tls = setup_.tls;
    call.wanted.emplace_back(station::OpenLine{line, std::move(order)});
  }
}

void RpcStation::opened(const station::LineOpened& opened, Call& call) {
  const auto listener = listeners_.find(opened.listener.value());
  if (!opened.listener.is_set() || listener == listeners_.end()) return;  // a listener of ours
  if (peers_.size() >= setup_.attachments_max + kGreetersMax) {
    ++counts_.refused;
    call.wanted.emplace_back(station::CloseLine{opened.line});
    return;
  }
  Peer& peer = peers_[opened.line.value()];
  peer.line = opened.line;
  peer.nearness = nearness_of(setup_.listen[listener->second], opened.peer);
  peer.heard = call.boot;
  agenda_.emplace(call.boot + kGreetingTime, Due{.line = opened.line.value()});
}

void RpcStation::took(const station::LineTook& took, Call& call) {
  Peer* const peer = find(took.line.value());
  if (peer == nullptr) return;
  peer->heard = call.boot;
  peer->pinged = false;
  const auto error = peer->reader.feed(
      took.bytes, [&](Frame frame) { return take(*peer, std::move(frame), call); });
  if (!error || peer->leaving) return;
  fault(*peer, error->code, error->detail, call);
}

// False: the connection is over.
bool RpcStation::take(Peer& peer, Frame&& frame, Call& call) {
  if (peer.leaving) return false;
  if (peer.step != Step::kAttached) {
    if (std::holds_alternative<ErrorFrame>(frame) || std::holds_alternative<ByeFrame>(frame))
      return hang_up(peer, call), false;
    auto* const hello = std::get_if<HelloFrame>(&frame);
    if (peer.step == Step::kGreeting && hello != nullptr)
      return take_hello(peer, std::move(*hello), call);
    return fault(peer, FaultCode::kUnexpected, "HELLO comes first, and WELCOME is waited for",
                 call);
  }
  if (!std::exchange(peer.spoke, true) && peer.generation > 1)
    mark(peer, MarkKind::kConfirm, call);
  if (auto* const one = std::get_if<CallFrame>(&frame))
    return take_call(peer, std::move(*one), call);
  if (const auto* one = std::get_if<QueryFrame>(&frame)) return take_query(peer, *one, call);
  if (const auto* one = std::get_if<CancelFrame>(&frame)) return take_cancel(peer, *one, call);
  if (const auto* one = std::get_if<PingFrame>(&frame)) {
    send(peer, PongFrame{one->nonce});
    return true;
  }
  if (const auto* one = std::get_if<PongFrame>(&frame)) return take_pong(peer, *one);
  if (const auto* one = std::get_if<ByeFrame>(&frame)) {
    if (one->reason != ByeReason::kDone) return hang_up(peer, call), false;
    // The session ends with all that may be given up.
    for (const auto& [number, watch] : std::exchange(peer.watches, {})) {
      if (watch.released) give_up({watch.id, watch.service, call.boot}, call);
    }
    mark(peer, MarkKind::kEnd, call);
    return hang_up(peer, call), false;
  }
  if (std::holds_alternative<ErrorFrame>(frame)) return hang_up(peer, call), false;
  const bool of_channel = std::holds_alternative<ItemFrame>(frame) ||
                          std::holds_alternative<CreditFrame>(frame) ||
                          std::holds_alternative<CloseFrame>(frame);
  if (of_channel) return fault(peer, FaultCode::kCredit, "there is no such channel", call);
  return fault(peer, FaultCode::kUnexpected, "a frame that only the server sends, or HELLO again",
               call);
}

bool RpcStation::take_hello(Peer& peer, HelloFrame&& hello, Call& call) {
  peer.step = Step::kAttaching;
  const std::size_t attaching = static_cast<std::size_t>(
      std::count_if(peers_.begin(), peers_.end(),
                    [](const auto& one) { return one.second.step == Step::kAttaching; }));
  const Principals* const principals = call.now.principals;
  const auto found = principals == nullptr ? Principal{"default", "session"}
                                           : principals->find(hello.token, peer.nearness);
  if (!found)
    return refuse(peer, Refusal::kToken, "a token with the scope submit is needed", call), false;
  if (found->tenant.empty() || found->tenant.size() > kPrincipalBytesMax)
    return refuse(peer, Refusal::kToken, "the tenant of this token has too long a name", call),
           false;
  const bool resumes = hello.resume && attached_.contains(hello.resume->session);
  if (!resumes && attached_.size() + attaching > setup_.attachments_max)
    return refuse(peer, Refusal::kBusy, "as many sessions are attached as may be", call), false;
  peer.principal = *found;
  AttachOrder order;
  order.principal = found->tenant;
  call.now.entropy.fill(order.fresh);
  call.now.entropy.fill(peer.key);
  order.next = hash_of(peer.key);
  if (hello.resume) {
    order.session = hello.resume->session;
    order.shown = {hello.resume->generation, hash_of(hello.resume->key)};
  }
  post({.what = Pending::What::kAttach, .line = peer.line.value()}, attach_event(order), call);
  return true;
}

void RpcStation::attached(Peer& peer, const Answer& answer, Call& call) {
  const bool taken = answer.code == AnswerCode::kDone || answer.code == AnswerCode::kAccepted;
  const auto reply = taken ? decode_attach_reply(answer.reply)
                           : Result<AttachReply>(fail(ErrorCode::kUnavailable, {}));
  if (!reply) {
    const bool full = answer.code == AnswerCode::kFull || answer.code == AnswerCode::kBusy;
    return refuse(peer, full ? Refusal::kBusy : Refusal::kUnavailable,
                  "no session can be written down now; come again", call);
  }
  if (reply->verdict == ClaimVerdict::kRefused)
    return refuse(peer, Refusal::kKey, "this is not the key of the session", call);
  welcome(peer, *reply, call);
}

void RpcStation::welcome(Peer& peer, const AttachReply& reply, Call& call) {
  const bool resumed = reply.verdict == ClaimVerdict::kResumed;
  ++(resumed ? counts_.resumed : counts_.begun);
  if (const auto older = attached_.find(reply.session); older != attached_.end()) {
    ++counts_.fenced;
    if (Peer* const fenced = find(older->second))
      bye(*fenced, ByeReason::kFenced, "a newer attachment serves the session", call);
  }
  attached_[reply.session] = peer.line.value();
  peer.step = Step::kAttached;
  peer.session = reply.session;
  peer.generation = reply.generation;
  peer.begun = reply.begun;
  peer.used = peer.written = call.boot - reply.idle;
  peer.highest = peer.highest_written = reply.highest;
  const std::size_t frame_bytes_max =
      std::min(kFrameBytesMax, setup_.arguments_bytes_max + kFrameRoom);
  peer.reader.set_bytes_max(frame_bytes_max);
  Attachment grant;
  grant.resumed = resumed;
  grant.session = reply.session;
  grant.generation = reply.generation;
  grant.key = std::exchange(peer.key, {});
  grant.epoch = epoch_;
  grant.frame_bytes_max = static_cast<std::uint32_t>(frame_bytes_max);
  grant.arguments_bytes_max = setup_.arguments_bytes_max;
  grant.calls_max = setup_.calls_max;
  grant.ping_ms = static_cast<std::uint32_t>(setup_.ping.count());
  send(peer, WelcomeFrame{.attachment = grant});
  agenda_.emplace(call.boot + (setup_.ping > Duration(0) ? setup_.ping : kWriteDown),
                  Due{.line = peer.line.value()});
}

void RpcStation::refuse(Peer& peer, Refusal refusal, std::string detail, Call& call) {
  ++counts_.refused;
  send(peer, WelcomeFrame{.refusal = refusal, .detail = std::move(detail)});
  hang_up(peer, call);
}

void RpcStation::bye(Peer& peer, ByeReason reason, std::string detail, Call& call) {
  send(peer, ByeFrame{reason, std::move(detail)});
  hang_up(peer, call);
}

// Nothing is changed for a bad frame: it is named, and the connection ends.
bool RpcStation::fault(Peer& peer, FaultCode code, std::string detail, Call& call) {
  ++counts_.faults[static_cast<std::size_t>(code)];
  send(peer, ErrorFrame{code, std::move(detail)});
  hang_up(peer, call);
  return false;
}

void RpcStation::closed(LineId line, Call& call) {
  if (const auto listener = listeners_.extract(line.value()); !listener.empty()) {
    agenda_.emplace(call.boot + kListenAgain, Due{.what = Due::What::kListen});
    return;
  }
  Peer* const peer = find(line.value());
  if (peer == nullptr) return;
  ++counts_.lost;
  peer->out.clear();
  lose(*peer, call);
  written_.erase(line.value());
  peers_.erase(line.value());
}

// What is written stays to be sent; `finish` closes the line behind it.
void RpcStation::hang_up(Peer& peer, Call& call) {
  over_.insert(peer.line.value());
  lose(peer, call);
}

void RpcStation::lose(Peer& peer, Call& call) {
  if (std::exchange(peer.leaving, true)) return;
  busy_.erase(peer.line.value());
  if (peer.step != Step::kAttached) return;
  if (const auto found = attached_.find(peer.session);
      found != attached_.end() && found->second == peer.line.value())
    attached_.erase(found);
  note_use(peer, true, call);
  for (const auto& [number, watch] : peer.watches) {
    if (watch.released)
      orphan({peer.session, number}, {watch.id, watch.service, call.boot}, call);
  }
  peer.watches.clear();
  peer.backlog.clear();
}

void RpcStation::send(Peer& peer, const Frame& frame) {
  peer.out += encode(frame);
  written_.insert(peer.line.value());
}

void RpcStation::mark(const Peer& peer, MarkKind kind, Call& call) {
  post({.what = Pending::What::kMark,
        .line = kind == MarkKind::kConfirm ? peer.line.value() : 0},
       mark_event(kind, {peer.session, peer.generation, peer.highest}), call);
}

// The card says when the session was used, now and then, and how far its numbers have come.
void RpcStation::note_use(Peer& peer, bool ends, Call& call) {
  const bool far = peer.highest >= peer.highest_written + kWriteDownNumbers;
  const bool due = peer.used > peer.written && (ends || peer.used - peer.written >= kWriteDown);
  if (!far && !due) return;
  mark(peer, MarkKind::kUse, call);
  peer.written = peer.used;
  peer.highest_written = peer.highest;
}

void RpcStation::told(const station::Told& told, Call& call) {
  auto found = pending_.extract(told.token.value());
  if (found.empty()) return;
  Pending& pending = found.mapped();
  switch (pending.what) {
    case Pending::What::kAttach:
      if (Peer* const peer = find(pending.line); peer != nullptr && !peer->leaving)
        attached(*peer, told.answer, call);
      return;
    case Pending::What::kRequest: return answered(std::move(pending), told.answer, call);
    case Pending::What::kAwait:
      --awaits_;
      if (Peer* const peer = find(pending.line); peer != nullptr && !peer->leaving) {
        const auto watch = peer->watches.find(pending.number);
        if (watch != peer->watches.end() && watch->second.awaited == told.token)
          awaited(*peer, pending.number, told.answer, call);
      }
      return;
    case Pending::What::kMark:
      // The former key would stay good: the next frame says it again.
      if (Peer* const peer = find(pending.line);
          peer != nullptr && told.answer.code != AnswerCode::kDone)
        peer->spoke = false;
      return;
    case Pending::What::kService: return learn_grace(pending.service, told.answer);
  }
}

void RpcStation::deadlines(Call& call) {
  while (!agenda_.empty() && agenda_.begin()->first <= call.boot) {
    const Due due = agenda_.extract(agenda_.begin()).mapped();
    Peer* const peer = find(due.line);
    switch (due.what) {
      case Due::What::kListen: listen(call); break;
      case Due::What::kPeer:
        if (peer != nullptr && !peer->leaving) look_at(*peer, call);
        break;
      case Due::What::kRequest:
        if (peer != nullptr && !peer->backlog.empty()) busy_.insert(due.line);
        break;
      case Due::What::kAwait:
        if (peer != nullptr && !peer->leaving) want_await(*peer, due.orphan.second);
        break;
      case Due::What::kOrphan:
        if (const auto found = orphans_.find(due.orphan);
            found != orphans_.end() && found->second.due <= call.boot) {
          give_up(found->second, call);
          orphans_.erase(found);
        }
        break;
    }
  }
}

// Silence, and what is to be written down of a session.
void RpcStation::look_at(Peer& peer, Call& call) {
  const std::uint64_t line = peer.line.value();
  if (peer.step != Step::kAttached) {
    ++counts_.silent;
    return hang_up(peer, call);
  }
  if (call.boot - peer.used >= kIdleMax) {
    ++counts_.idle;
    mark(peer, MarkKind::kEnd, call);
    return bye(peer, ByeReason::kIdle, "nothing was called for a day: the session is over", call);
  }
  note_use(peer, false, call);
  const Duration ping = setup_.ping;
  if (ping == Duration(0)) {
    agenda_.emplace(call.boot + kWriteDown, Due{.line = line});
    return;
  }
  const Duration silence = call.boot - peer.heard;
  if (silence >= 2 * ping) {
    ++counts_.silent;
    return hang_up(peer, call);
  }
  if (silence >= ping && !std::exchange(peer.pinged, true)) send(peer, PingFrame{0});
  agenda_.emplace(peer.heard + (silence >= ping ? 2 * ping : ping), Due{.line = line});
}

// All that was written for one line in this call leaves as one piece.
void RpcStation::finish(Call& call) {
  pump(call);
  for (const std::uint64_t line : std::exchange(written_, {})) {
    Peer* const peer = find(line);
    if (peer != nullptr && !peer->out.empty())
      call.wanted.emplace_back(
          station::WriteLine{peer->line, std::exchange(peer->out, {}), std::string()});
  }
  for (const std::uint64_t line : std::exchange(over_, {})) {
    if (peers_.erase(line) != 0) call.wanted.emplace_back(station::CloseLine{LineId(line)});
  }
}

RpcStation::Peer* RpcStation::find(std::uint64_t line) {
  const auto found = peers_.find(line);
  return found == peers_.end() ? nullptr : &found->second;
}

void RpcStation::post(Pending pending, Event event, Call& call) {
  const Token token = next_token();
  pending_[token.value()] = std::move(pending);
  call.wanted.emplace_back(station::Post{token, std::move(event)});
}

std::optional<Timestamp> RpcStation::next_deadline() const {
  if (agenda_.empty()) return std::nullopt;
  return agenda_.begin()->first;
}

void RpcStation::tell(StationFigures& figures) const {
  figures.push_back({"rpc sessions attached", attached_.size()});
  figures.push_back({"rpc sessions begun", counts_.begun});
  figures.push_back({"rpc sessions resumed", counts_.resumed});
  figures.push_back({"rpc attachments fenced", counts_.fenced});
  figures.push_back({"rpc attachments lost", counts_.lost});
  figures.push_back({"rpc attachments refused", counts_.refused});
  figures.push_back({"rpc lines silent", counts_.silent});
  figures.push_back({"rpc sessions idle", counts_.idle});
  figures.push_back({"rpc calls", counts_.calls});
  figures.push_back({"rpc calls admitted", counts_.admitted});
  figures.push_back({"rpc queries", counts_.queries});
  figures.push_back({"rpc cancels", counts_.cancels});
  figures.push_back({"rpc outcomes told", counts_.outcomes});
  figures.push_back({"rpc operations given up", counts_.given_up});
  for (std::size_t code = 1; code < kFaultFigures.size(); ++code)
    figures.push_back({kFaultFigures[code], counts_.faults[code]});
}

}  // namespace postrider::rpc
