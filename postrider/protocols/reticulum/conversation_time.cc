// The timers of a conversation.
#include "postrider/protocols/reticulum/conversation.h"

namespace postrider::reticulum {
namespace {

constexpr std::size_t kArrivalsMax = 256;

void take_earlier(std::optional<Timestamp>& next, std::optional<Timestamp> other) {
  if (other && (!next || *other < *next)) next = other;
}

}  // namespace

void Conversation::note_arrival(const Address& key, Timestamp now) {
  if (arrived_.size() == kArrivalsMax) arrived_.pop_front();
  arrived_.push_back({key, now});
}

Timestamp Conversation::arrival_of(const Address& key, Timestamp now) {
  for (auto at = arrived_.begin(); at != arrived_.end(); ++at) {
    if (at->key != key) continue;
    const Timestamp out = at->at;
    arrived_.erase(at);
    return out;
  }
  return now - settings_.answer_floor;  // long ago
}

void Conversation::answer_later(std::string raw, Timestamp arrived, Timestamp now,
                                LinkOutput& out) {
  const Timestamp due = arrived + settings_.answer_floor;
  if (link_.rtt() >= settings_.fast_rtt || due <= now)
    out.packets.push_back(std::move(raw));
  else
    later_.push_back({due, std::move(raw)});
}

std::optional<Timestamp> Conversation::next_deadline() const {
  std::optional<Timestamp> next = link_.next_deadline();
  if (!link_.is_usable()) return next;
  for (const auto& [packet, receipt] : receipts_) take_earlier(next, receipt.deadline);
  if (!outgoing_.empty()) take_earlier(next, outgoing_.front().resource.next_deadline());
  for (const Receiving& receiving : incoming_)
    take_earlier(next, receiving.resource.next_deadline());
  for (const Asked& asked : asked_) {
    if (!asked.is_answering) take_earlier(next, asked.deadline);
  }
  for (const Later& later : later_) take_earlier(next, later.due);
  return next;
}

void Conversation::on_time(Timestamp now, Random& random, LinkOutput& out) {
  on_reading(link_.on_time(now, random, out.packets), nullptr, now, random, out);
  if (!link_.is_usable()) return;
  for (std::size_t left = later_.size(); left > 0; --left) {
    Later later = std::move(later_.front());
    later_.pop_front();
    if (later.due <= now)
      out.packets.push_back(std::move(later.raw));
    else
      later_.push_back(std::move(later));
  }
  time_receipts(now, out);
  time_resources(now, random, out);
  time_requests(now, random, out);
}

void Conversation::time_receipts(Timestamp now, LinkOutput& out) {
  for (auto at = receipts_.begin(); at != receipts_.end();) {
    if (at->second.deadline > now) {
      ++at;
      continue;
    }
    out.events.emplace_back(SendEnded{at->second.id, SendEnd::kFailed});
    at = receipts_.erase(at);
  }
}

void Conversation::time_resources(Timestamp now, Random& random, LinkOutput& out) {
  std::vector<ResourceSend> sends;
  for (std::size_t at = incoming_.size(); at-- > 0;) {
    incoming_[at].resource.on_time(now, sends);
    if (incoming_[at].resource.has_ended()) after_receiving(at, now, out);
  }
  if (!outgoing_.empty() && outgoing_.front().has_started)
    outgoing_.front().resource.on_time(now, link_.id(), sends);
  send_all(sends, now, random, out);
  run_resources(now, random, out);
}

void Conversation::time_requests(Timestamp now, Random& random, LinkOutput& out) {
  for (std::size_t at = asked_.size(); at-- > 0;) {
    Asked& asked = asked_[at];
    if (asked.is_answering || asked.deadline > now) continue;
    if (!asked.is_repeated) {
      asked.is_repeated = true;
      if (ask(asked, now, random, out)) continue;
    }
    out.events.emplace_back(SendEnded{asked.id, SendEnd::kFailed});
    asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace postrider::reticulum
