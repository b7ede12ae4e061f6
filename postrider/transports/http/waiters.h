// Waiters: exchanges that wait for a connection, and whose turn it is. The connections are shared
// by all hosts, so no origin, and no crowd of hosts that do not answer, may have all of them: a
// origin that has a connection already leaves one in eight to the others, and one that is not known
// to answer leaves one in sixteen. Origins with the same claim take turns. On the loop's thread;
// owned by the transport.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "postrider/transports/http/exchange.h"
#include "postrider/transports/http/origins.h"

namespace postrider {

class Waiters {
 public:
  Waiters(std::size_t connections_max, std::size_t waiting_max)
      : connections_max_(connections_max), waiting_max_(waiting_max) {}

  // This origin may open one more while fewer than so many are in use.
  std::size_t connections_max(const Origin& origin) const;
  bool has_room(const Origin& origin) const;  // for one more that waits
  void add(Exchange& exchange);  // what is repeated had its turn already, and goes first
  void remove(Exchange& exchange);
  void changed(Origin& origin);  // its connections, or whether it answers
  // Whose turn it is while `in_use` connections cannot be given up; null: nobody's. It stays.
  Exchange* next(std::size_t in_use);
  std::size_t size() const { return size_; }

 private:
  enum class Claim : std::uint8_t { kProven, kUnproven, kAnother };
  static constexpr std::size_t kClaims = 3;
  static Claim claim_of(const Origin& origin);
  std::size_t connections_max(Claim claim) const;
  void stand(Origin& origin, bool last);

  std::size_t connections_max_;
  std::size_t waiting_max_;
  std::size_t size_ = 0;
  std::uint64_t turns_ = 0;
  std::array<LinkedList<Origin, WaitingOrigin>, kClaims> rings_;  // hosts with waiters, by claim
};

}  // namespace postrider
