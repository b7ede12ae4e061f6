// A gate is a named limit on starts: in use, spacing, tokens, closed until. Gates bind starts; late
// news may exceed a count.
#pragma once

#include <cstdint>

#include "postrider/base/time.h"
#include "postrider/model/policy.h"

namespace postrider {

class GateState {
 public:
  struct Permit {
    bool open = false;
    Timestamp again;  // when closed: look again then; unset: when a slot is given back
  };

  Permit permit(const GateLimits& limits, Timestamp now) const;
  // One slot and one token; the permit must be open.
  void take(const GateLimits& limits, Timestamp now);
  // One slot without a start: restore, late news. May exceed the limit.
  void occupy();
  void give_back();
  void close_until(Timestamp at);  // only ever later
  void open();                     // forget closed-until

  // As if everything had just been used: after a restart that is not known.
  void drain(const GateLimits& limits, Timestamp now);
  // From then on it is like a new gate, apart from slots in use.
  Timestamp settled_at(const GateLimits& limits) const;

  std::uint32_t in_use() const { return in_use_; }
  Timestamp closed_until() const { return closed_until_; }

 private:
  std::uint64_t missing_at(const GateLimits& limits, Timestamp now) const;

  // At most 40 bytes: there is one per route.
  std::uint32_t in_use_ = 0;
  Timestamp closed_until_;
  Timestamp last_start_;  // unset: none yet
  // Thousandths of tokens below full, just after the last start; so a new bucket is full.
  std::uint64_t missing_ = 0;
};

}  // namespace postrider
