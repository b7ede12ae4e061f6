#include "postrider/transports/http/waiters.h"

#include "postrider/base/check.h"

namespace postrider {

Waiters::Claim Waiters::claim_of(const Origin& origin) {
  if (origin.connections > 0) return Claim::kAnother;
  return origin.answers ? Claim::kProven : Claim::kUnproven;
}

std::size_t Waiters::connections_max(Claim claim) const {
  switch (claim) {
    case Claim::kProven: return connections_max_;
    case Claim::kUnproven: return connections_max_ - connections_max_ / 16;
    case Claim::kAnother: return connections_max_ - connections_max_ / 8;
  }
  POSTRIDER_CHECK(false);
}

std::size_t Waiters::connections_max(const Origin& origin) const {
  return connections_max(claim_of(origin));
}

bool Waiters::has_room(const Origin& origin) const {
  return size_ < (origin.waiting.empty() ? waiting_max_ : waiting_max_ - waiting_max_ / 8);
}

void Waiters::add(Exchange& exchange) {
  Origin& origin = *exchange.origin;
  exchange.turn = ++turns_;
  origin.waiting.insert(exchange.repeated ? origin.waiting.begin() : origin.waiting.end(),
                        exchange);
  ++size_;
  stand(origin, false);
}

// Whoever had a turn stands behind the others.
void Waiters::remove(Exchange& exchange) {
  Origin& origin = *exchange.origin;
  origin.waiting.erase(origin.waiting.iterator_to(exchange));
  --size_;
  stand(origin, true);
}

void Waiters::changed(Origin& origin) { stand(origin, false); }

void Waiters::stand(Origin& origin, bool last) {
  const std::size_t claim = static_cast<std::size_t>(claim_of(origin));
  const bool stands = origin.Hook<WaitingOrigin>::is_linked();
  if (stands && !last && origin.ring == claim && !origin.waiting.empty()) return;
  if (stands) origin.Hook<WaitingOrigin>::unlink();
  if (origin.waiting.empty()) return;
  origin.ring = static_cast<std::uint8_t>(claim);
  rings_[claim].push_back(origin);
}

Exchange* Waiters::next(std::size_t in_use) {
  Exchange* out = nullptr;
  for (std::size_t claim = 0; claim < kClaims; ++claim) {
    if (rings_[claim].empty() || in_use >= connections_max(static_cast<Claim>(claim))) continue;
    Exchange& first = rings_[claim].front().waiting.front();
    if (out == nullptr || first.turn < out->turn) out = &first;
  }
  return out;
}

}  // namespace postrider
