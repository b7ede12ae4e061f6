#include "postrider/transports/http/waiters.h"

#include "postrider/base/check.h"

namespace postrider {

Waiters::Claim Waiters::claim_of(const Host& host) {
  if (host.connections > 0) return Claim::kAnother;
  return host.answers ? Claim::kProven : Claim::kUnproven;
}

std::size_t Waiters::connections_max(Claim claim) const {
  switch (claim) {
    case Claim::kProven: return connections_max_;
    case Claim::kUnproven: return connections_max_ - connections_max_ / 16;
    case Claim::kAnother: return connections_max_ - connections_max_ / 8;
  }
  POSTRIDER_CHECK(false);
}

std::size_t Waiters::connections_max(const Host& host) const {
  return connections_max(claim_of(host));
}

bool Waiters::has_room(const Host& host) const {
  return size_ < (host.waiting.empty() ? waiting_max_ : waiting_max_ - waiting_max_ / 8);
}

void Waiters::add(Exchange& exchange) {
  Host& host = *exchange.host;
  exchange.turn = ++turns_;
  host.waiting.insert(exchange.repeated ? host.waiting.begin() : host.waiting.end(), exchange);
  ++size_;
  stand(host, false);
}

// Whoever had a turn stands behind the others.
void Waiters::remove(Exchange& exchange) {
  Host& host = *exchange.host;
  host.waiting.erase(host.waiting.iterator_to(exchange));
  --size_;
  stand(host, true);
}

void Waiters::changed(Host& host) { stand(host, false); }

void Waiters::stand(Host& host, bool last) {
  const std::size_t claim = static_cast<std::size_t>(claim_of(host));
  const bool stands = host.Hook<WaitingHost>::is_linked();
  if (stands && !last && host.ring == claim && !host.waiting.empty()) return;
  if (stands) host.Hook<WaitingHost>::unlink();
  if (host.waiting.empty()) return;
  host.ring = static_cast<std::uint8_t>(claim);
  rings_[claim].push_back(host);
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
