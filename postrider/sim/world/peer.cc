#include "postrider/sim/world/peer.h"

#include <array>
#include <charconv>

#include "postrider/base/check.h"
#include "postrider/base/hash.h"
#include "postrider/model/id_address.h"
#include "postrider/protocols/chirpstack/chirpstack.h"
#include "postrider/sim/fields/device/peers/vendor_texts.h"

namespace postrider::sim {
namespace {

std::uint64_t digits_after(std::string_view text, std::string_view marker) {
  const std::size_t at = text.find(marker);
  if (at == std::string_view::npos) return 0;
  std::uint64_t value = 0;
  const std::string_view rest = text.substr(at + marker.size());
  std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return value;
}

// Commands and questions to network servers and vendors, told by verb and path alone.
void read_device_call(const WireRequest& request, Call& call) {
  const std::string_view target = request.target;
  if (request.verb == "PUBLISH") {
    call.to_device = call.sends = true;
  } else if (request.verb == "CALL") {
    call.to_device = true;
    call.sends = target.ends_with(chirpstack::kEnqueuePath);
  } else if (request.verb == "POST") {
    const std::size_t host = target.find("://");
    const std::size_t slash = host == std::string_view::npos ? host : target.find('/', host + 3);
    if (slash == std::string_view::npos) return;
    for (const VendorPath path :
         {read_path_v1(target.substr(slash)), read_path_v2(target.substr(slash))}) {
      if (path.kind == VendorCallKind::kOther) continue;
      call.to_device = true;
      call.sends = path.kind == VendorCallKind::kCreate;
    }
  }
}

}  // namespace

Call read_call(const WireRequest& request, const IdCodec& ids) {
  Call call;
  call.verb = request.verb;
  // Standard webhooks and the drill name the message in different headers; the drill, which nobody
  // outside speaks, by its address.
  for (const NamedText& header : request.headers.list()) {
    if (header.first == "webhook-id") call.id = ids.parse(header.second).value_or(call.id);
    if (header.first == "drill-id") call.id = parse_message_id(header.second).value_or(call.id);
    if (header.first == "drill-method") call.method = header.second;
    if (header.first == "drill-task") call.task = header.second;
    if (header.first == "drill-order") call.order = header.second;
  }
  call.body_hash = hash64(request.body);
  call.text = request.verb + request.target + std::string(request.headers.text());
  call.operation = digits_after(request.body, "\"operation\":");
  call.sends = call.verb == "SEND" || call.verb == "POST";
  read_device_call(request, call);
  return call;
}

std::uint32_t peer_of(std::string_view target) {
  return static_cast<std::uint32_t>(digits_after(target, "peer-"));
}

Peer::Peer(Rng rng) : rng_(rng), nudges_(Rng(rng).fork(1)) {}

WireEnd Peer::reach() const {
  switch (mood_) {
    case Mood::kRefuses: return WireEnd::kRefused;
    case Mood::kNoName: return WireEnd::kNoName;
    case Mood::kNoTls: return WireEnd::kNoTls;
    case Mood::kSwallows: return WireEnd::kTimedOut;
    case Mood::kHealthy:
    case Mood::kSlow:
    case Mood::kFlaky:
    case Mood::kThrottles:
    case Mood::kLimited:
    case Mood::kGone: return WireEnd::kAnswered;
  }
  POSTRIDER_CHECK(false);
  return WireEnd::kReset;
}

PeerAnswer Peer::answer_status(int status, bool executed) {
  PeerAnswer answer;
  answer.reply.status = status;
  answer.reply.body = "status " + std::to_string(status);
  answer.executed = executed;
  answer.thinking =
      Duration(mood_ == Mood::kSlow ? rng_.between(500, 45'000) : rng_.between(1, 200));
  return answer;
}

PeerAnswer Peer::throttle() {
  constexpr std::array<int, 6> kSeconds = {1, 10, 60, 600, 3000, 20'000};
  PeerAnswer answer = answer_status(rng_.chance(1, 2) ? 429 : 503, false);
  if (rng_.chance(3, 4)) {
    answer.reply.headers.emplace_back("retry-after",
                                      std::to_string(kSeconds[rng_.below(kSeconds.size())]));
  }
  return answer;
}

PeerAnswer Peer::take_limited() {
  while (!taken_.empty() && now_ - taken_.front() >= Duration(1'000)) taken_.pop_front();
  const bool takes = taken_.size() < kLimit;
  if (takes) taken_.push_back(now_);
  PeerAnswer answer = answer_status(takes ? 200 : 503, takes);
  answer.thinking = kLimitedThinking;
  return answer;
}

PeerAnswer Peer::receive(const Call& call, std::vector<Receipt>& receipts) {
  if (reject_next_) {
    reject_next_ = false;
    constexpr std::array<int, 4> kRejections = {400, 404, 422, 403};
    return answer_status(kRejections[rng_.below(kRejections.size())], false);
  }
  if (mood_ == Mood::kLimited) return take_limited();
  if (mood_ == Mood::kGone) return answer_status(410, false);
  if (mood_ == Mood::kThrottles && rng_.chance(3, 4)) return throttle();
  if (mood_ == Mood::kFlaky && rng_.chance(1, 2)) {
    constexpr std::array<int, 6> kFailures = {500, 502, 503, 504, 408, 425};
    return answer_status(kFailures[rng_.below(kFailures.size())], false);
  }
  promise_nudges(call, receipts);
  if (call.verb == "FIND") return answer_status(rng_.chance(7, 8) ? 200 : 404, false);
  if (call.verb == "PROBE" && call.method == "task") return answer_task(call);
  if (call.method == "task") return take_task(call, receipts);
  if (call.verb == "PROBE") return take_probe(call, receipts);
  if (call.method == "relay") return take_relay(call, receipts);
  return answer_status(rng_.chance(1, 8) ? 204 : 200, true);
}

PeerAnswer Peer::take_relay(const Call& call, std::vector<Receipt>& receipts) {
  // A second request for what is here already changes nothing: the relay knows the message by its
  // id.
  if (held_.contains(call.id)) return answer_status(held_[call.id].finished ? 200 : 202, true);
  switch (rng_.below(12)) {
    case 0: return answer_status(301, false);  // the way leads elsewhere
    case 1: held_[call.id].finished = true; return answer_status(200, true);
    case 2: held_[call.id].finished = true; return answer_status(204, true);
    default: break;
  }
  promise_receipts(call, receipts);
  return answer_status(rng_.chance(1, 6) ? 206 : 202, true);
}

void Peer::promise_receipts(const Call& call, std::vector<Receipt>& receipts) {
  Held& held = held_[call.id];
  const auto later = [this] { return Duration(rng_.between(100, 600'000)); };
  if (rng_.chance(1, 2)) receipts.push_back({call.id, On::kProgressed, later()});
  if (rng_.chance(1, 4)) receipts.push_back({call.id, On::kAcked, later()});
  if (rng_.chance(1, 6)) receipts.push_back({call.id, On::kStillHeld, later()});
  switch (rng_.below(16)) {
    case 0:
      receipts.push_back({call.id, On::kRejected, later()});
      held_.erase(call.id);
      return;
    case 1:
      receipts.push_back({call.id, On::kFailed, later()});
      held_.erase(call.id);
      return;
    case 2:
      receipts.push_back({call.id, On::kStaleRoute, later()});
      held_.erase(call.id);
      return;
    case 3: held_.erase(call.id); return;  // lost: only a probe will tell
    case 4: return;                        // held, and silent
    case 5: receipts.push_back({call.id, On::kAnswered, later()}); break;
    default: receipts.push_back({call.id, On::kConfirmed, later()}); break;
  }
  held.finished = true;
}

// News that names nobody, only what somebody holds.
void Peer::promise_nudges(const Call& call, std::vector<Receipt>& receipts) {
  const auto tell = [&](std::string text) {
    receipts.push_back(
        {{}, On::kConfirmed, Duration(nudges_.between(1, 120'000)), std::move(text)});
  };
  if (!call.order.empty() && nudges_.chance(1, 3)) tell("nudge " + call.order);
  if (call.method == "task" && nudges_.chance(1, 60)) tell("alive all");
}

PeerAnswer Peer::take_task(const Call& call, std::vector<Receipt>& receipts) {
  if (!held_.contains(call.id)) {
    if (rng_.chance(1, 10)) return answer_status(200, true);  // done at once
    held_[call.id].task = "t" + std::to_string(rng_.next());
    promise_news(call, receipts);
  }
  const auto held = held_.find(call.id);
  if (held == held_.end()) return answer_status(503, false);
  PeerAnswer answer = answer_status(202, true);
  answer.reply.headers.emplace_back("task", held->second.task);
  return answer;
}

void Peer::promise_news(const Call& call, std::vector<Receipt>& receipts) {
  const std::string task = held_[call.id].task;
  constexpr std::array<std::int64_t, 3> kWaits = {30, 20'000, 600'000};
  const auto later = [this, &kWaits] {
    return Duration(rng_.between(1, kWaits[rng_.below(kWaits.size())]));
  };
  const auto tell = [&receipts](std::string text, Duration after) {
    receipts.push_back({{}, On::kConfirmed, after, std::move(text)});
  };
  if (rng_.chance(1, 6)) tell("seen " + task, later());
  if (rng_.chance(1, 12)) {
    const Duration when = later();
    tell("done t" + std::to_string(rng_.next()), when);
  }
  if (rng_.chance(1, 20)) tell("noise", later());
  switch (rng_.below(8)) {
    case 0:
      tell("lost " + task, later());
      held_.erase(call.id);
      return;
    case 1: held_.erase(call.id); return;  // only a question will tell
    case 2:
    case 3: {
      // Two halves, in either order, and often just at the edge of the window.
      constexpr std::array<std::int64_t, 7> kApart = {0,      3'000, 9'999, 10'000,
                                                      10'001, 9'000, 20'000};
      const std::string key = "p" + std::to_string(rng_.next());
      const Duration apart(kApart[rng_.below(kApart.size())]);
      const Duration first = later();
      const bool ack_first = rng_.chance(1, 2);
      tell("ack " + task + " " + key, ack_first ? first : first + apart);
      tell("pair " + key, ack_first ? first + apart : first);
      if (rng_.chance(1, 3)) tell("ack " + task + " again-" + key, first + apart + Duration(500));
      break;
    }
    case 4: return;  // held, and silent
    default: tell("done " + task, later()); break;
  }
  held_[call.id].finished = true;
}

PeerAnswer Peer::answer_task(const Call& call) {
  const auto at = held_.find(call.id);
  const bool known = at != held_.end() && (call.task.empty() || call.task == at->second.task);
  if (!known) return answer_status(404, false);
  if (at->second.finished && rng_.chance(1, 3)) return answer_status(200, false);
  if (rng_.chance(1, 4)) at->second.finished = true;
  PeerAnswer answer = answer_status(202, false);
  answer.reply.headers.emplace_back("task", at->second.task);
  return answer;
}

PeerAnswer Peer::take_probe(const Call& call, std::vector<Receipt>& receipts) {
  const auto at = held_.find(call.id);
  if (at == held_.end()) return answer_status(404, false);
  if (at->second.finished) return answer_status(200, false);
  if (rng_.chance(1, 2)) {
    at->second.finished = true;
    receipts.push_back({call.id, On::kConfirmed, Duration(rng_.between(100, 60'000))});
  }
  return answer_status(202, false);
}

}  // namespace postrider::sim
