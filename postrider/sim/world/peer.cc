#include "postrider/sim/world/peer.h"

#include <array>
#include <charconv>

#include "postrider/base/check.h"

namespace postrider::sim {

std::uint64_t digits_after(std::string_view text, std::string_view marker) {
  const std::size_t at = text.find(marker);
  if (at == std::string_view::npos) return 0;
  std::uint64_t value = 0;
  const std::string_view rest = text.substr(at + marker.size());
  std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return value;
}

std::uint32_t peer_of(std::string_view target) {
  return static_cast<std::uint32_t>(digits_after(target, "peer-"));
}

Peer::Peer(Rng rng, std::unique_ptr<Application> application)
    : rng_(rng), application_(std::move(application)) {}

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
  if (application_ != nullptr) return application_->take(*this, call, receipts);
  return answer_status(rng_.chance(1, 8) ? 204 : 200, true);
}

}  // namespace postrider::sim
