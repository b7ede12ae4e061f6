#include "postrider/sim/fields/drill/peer.h"

#include <array>
#include <map>
#include <string>

namespace postrider::sim {
namespace {

class DrillApplication final : public Application {
 public:
  explicit DrillApplication(Rng nudges) : nudges_(nudges) {}

  PeerAnswer take(Peer& peer, const Call& call, std::vector<Receipt>& receipts) override;

 private:
  struct Held {
    bool finished = false;
    std::string task = {};
  };
  PeerAnswer take_relay(Peer& peer, const Call& call, std::vector<Receipt>& receipts);
  PeerAnswer take_probe(Peer& peer, const Call& call, std::vector<Receipt>& receipts);
  PeerAnswer take_task(Peer& peer, const Call& call, std::vector<Receipt>& receipts);
  PeerAnswer answer_task(Peer& peer, const Call& call);
  void promise_nudges(const Call& call, std::vector<Receipt>& receipts);
  void promise_news(Peer& peer, const Call& call, std::vector<Receipt>& receipts);
  void promise_receipts(Peer& peer, const Call& call, std::vector<Receipt>& receipts);

  Rng nudges_;  // apart, so that the other draws of older worlds stay what they were
  std::map<MessageId, Held> held_;
};

PeerAnswer DrillApplication::take(Peer& peer, const Call& call, std::vector<Receipt>& receipts) {
  promise_nudges(call, receipts);
  if (call.verb == "FIND") return peer.answer_status(peer.rng().chance(7, 8) ? 200 : 404, false);
  if (call.verb == "PROBE" && call.method == "task") return answer_task(peer, call);
  if (call.method == "task") return take_task(peer, call, receipts);
  if (call.verb == "PROBE") return take_probe(peer, call, receipts);
  if (call.method == "relay") return take_relay(peer, call, receipts);
  return peer.answer_status(peer.rng().chance(1, 8) ? 204 : 200, true);
}

PeerAnswer DrillApplication::take_relay(Peer& peer, const Call& call,
                                        std::vector<Receipt>& receipts) {
  // A second request for what is here already changes nothing: the relay knows the message by its
  // id.
  if (held_.contains(call.id)) return peer.answer_status(held_[call.id].finished ? 200 : 202, true);
  switch (peer.rng().below(12)) {
    case 0: return peer.answer_status(301, false);  // the way leads elsewhere
    case 1: held_[call.id].finished = true; return peer.answer_status(200, true);
    case 2: held_[call.id].finished = true; return peer.answer_status(204, true);
    default: break;
  }
  promise_receipts(peer, call, receipts);
  return peer.answer_status(peer.rng().chance(1, 6) ? 206 : 202, true);
}

void DrillApplication::promise_receipts(Peer& peer, const Call& call,
                                        std::vector<Receipt>& receipts) {
  Held& held = held_[call.id];
  const auto later = [&peer] { return Duration(peer.rng().between(100, 600'000)); };
  if (peer.rng().chance(1, 2)) receipts.push_back({call.id, On::kProgressed, later()});
  if (peer.rng().chance(1, 4)) receipts.push_back({call.id, On::kAcked, later()});
  if (peer.rng().chance(1, 6)) receipts.push_back({call.id, On::kStillHeld, later()});
  switch (peer.rng().below(16)) {
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
void DrillApplication::promise_nudges(const Call& call, std::vector<Receipt>& receipts) {
  const auto tell = [&](std::string text) {
    receipts.push_back(
        {{}, On::kConfirmed, Duration(nudges_.between(1, 120'000)), std::move(text)});
  };
  if (!call.order.empty() && nudges_.chance(1, 3)) tell("nudge " + call.order);
  if (call.method == "task" && nudges_.chance(1, 60)) tell("alive all");
  // Each destination of the drill has the number of its peer.
  if (call.method == "patient" && nudges_.chance(1, 8))
    tell("here destination-" + std::to_string(digits_after(call.text, "peer-")));
}

PeerAnswer DrillApplication::take_task(Peer& peer, const Call& call,
                                       std::vector<Receipt>& receipts) {
  if (!held_.contains(call.id)) {
    if (peer.rng().chance(1, 10)) return peer.answer_status(200, true);  // done at once
    held_[call.id].task = "t" + std::to_string(peer.rng().next());
    promise_news(peer, call, receipts);
  }
  const auto held = held_.find(call.id);
  if (held == held_.end()) return peer.answer_status(503, false);
  PeerAnswer answer = peer.answer_status(202, true);
  answer.reply.headers.emplace_back("task", held->second.task);
  return answer;
}

void DrillApplication::promise_news(Peer& peer, const Call& call, std::vector<Receipt>& receipts) {
  const std::string task = held_[call.id].task;
  constexpr std::array<std::int64_t, 3> kWaits = {30, 20'000, 600'000};
  const auto later = [&peer, &kWaits] {
    return Duration(peer.rng().between(1, kWaits[peer.rng().below(kWaits.size())]));
  };
  const auto tell = [&receipts](std::string text, Duration after) {
    receipts.push_back({{}, On::kConfirmed, after, std::move(text)});
  };
  if (peer.rng().chance(1, 6)) tell("seen " + task, later());
  if (peer.rng().chance(1, 12)) {
    const Duration when = later();
    tell("done t" + std::to_string(peer.rng().next()), when);
  }
  if (peer.rng().chance(1, 20)) tell("noise", later());
  switch (peer.rng().below(8)) {
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
      const std::string key = "p" + std::to_string(peer.rng().next());
      const Duration apart(kApart[peer.rng().below(kApart.size())]);
      const Duration first = later();
      const bool ack_first = peer.rng().chance(1, 2);
      tell("ack " + task + " " + key, ack_first ? first : first + apart);
      tell("pair " + key, ack_first ? first + apart : first);
      if (peer.rng().chance(1, 3))
        tell("ack " + task + " again-" + key, first + apart + Duration(500));
      break;
    }
    case 4: return;  // held, and silent
    default: tell("done " + task, later()); break;
  }
  held_[call.id].finished = true;
}

PeerAnswer DrillApplication::answer_task(Peer& peer, const Call& call) {
  const auto at = held_.find(call.id);
  const bool known = at != held_.end() && (call.task.empty() || call.task == at->second.task);
  if (!known) return peer.answer_status(404, false);
  if (at->second.finished && peer.rng().chance(1, 3)) return peer.answer_status(200, false);
  if (peer.rng().chance(1, 4)) at->second.finished = true;
  PeerAnswer answer = peer.answer_status(202, false);
  answer.reply.headers.emplace_back("task", at->second.task);
  return answer;
}

PeerAnswer DrillApplication::take_probe(Peer& peer, const Call& call,
                                        std::vector<Receipt>& receipts) {
  const auto at = held_.find(call.id);
  if (at == held_.end()) return peer.answer_status(404, false);
  if (at->second.finished) return peer.answer_status(200, false);
  if (peer.rng().chance(1, 2)) {
    at->second.finished = true;
    receipts.push_back({call.id, On::kConfirmed, Duration(peer.rng().between(100, 60'000))});
  }
  return peer.answer_status(202, false);
}

}  // namespace

std::unique_ptr<Application> make_drill_application(Rng rng) {
  return std::make_unique<DrillApplication>(rng.fork(1));
}

}  // namespace postrider::sim
